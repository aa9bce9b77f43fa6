/* Launch: see launch.h. Here the tasks are put together; who serves whom is launch_providers.c. */
#include "core/launch.h"

#include "core/cost.h"
#include "core/launch_parts.h"

#include <math.h>
#include <string.h>

/* Room for the system and its software; disks are sold in steps. */
#define SYSTEM_GB 100.0
#define DISK_STEP_GB 50.0

/* What the writing of one tool's task needs. */
struct writing {
	const struct workload *workload;
	const struct recommendation *item;
	const struct launch_run *run;
	const struct launch_way *way;
	struct arena *arena;
	const char *tool, *card; /* its name of the card, or NULL */
};

static int disk_of(const struct workload *workload)
{
	struct cost_work work;

	cost_work_prepare(workload, NULL, &work);
	/* A checkpoint is written while the last one is still kept. */
	return (int)(ceil((SYSTEM_GB + work.weights_gb + work.data_gb + 2 * work.checkpoint_gb) /
			  DISK_STEP_GB) *
		     DISK_STEP_GB);
}

static bool has_id(const struct workload *workload)
{
	return strcmp(workload->model, "config") != 0 && strcmp(workload->model, "parameters") != 0;
}

static bool prepare_run(const struct workload *workload, const struct plan *plan,
			struct arena *arena, struct launch_run *out)
{
	struct text run;

	*out = (struct launch_run){.disk_gb = disk_of(workload), .needs_model = !has_id(workload)};
	text_init(&run, arena);
	if (workload->architecture->media && workload->task == TASK_INFERENCE)
		launch_media_serve(&run, workload, plan, out);
	else if (workload->architecture->media)
		launch_media_train(&run, workload, plan, out);
	else if (workload->task == TASK_INFERENCE)
		launch_serve(&run, workload, plan, out);
	else
		launch_train(&run, workload, plan, out);
	out->run = text_take(&run);
	return out->run != NULL;
}

/* SkyPilot takes a place as "cloud/region/zone", where a star stands for any. */
static bool is_place(const struct offer *offer)
{
	return !strpbrk(offer->region, "/*") && !strpbrk(offer->zone, "/*") &&
	       !strpbrk(offer->country, "/*");
}

static const char *why_not(const struct writing *task, const char *provider)
{
	const struct recommendation *item = task->item;
	const struct layout *layout = &item->plan.layout;
	const char *tool = task->tool;
	unsigned can = task->way->can;

	if (item->shape->accelerator->vendor != VENDOR_NVIDIA)
		return arena_printf(task->arena,
				    "The commands are for CUDA: %s needs the software image of its "
				    "vendor.",
				    item->shape->accelerator->name);
	if (item->offer->price_kind == PRICE_RESERVED)
		return "A reserved price is a contract with the provider: no task can buy it.";
	if (item->offer->count_milli % COUNT_MILLI_ONE && task->way->by != BY_TYPE)
		return "This is a slice of a card, and the task could only ask for a whole one.";
	if (!task->way->name)
		return arena_printf(task->arena, "%s does not serve %s.", tool, provider);
	if (task->way->by == BY_NOTHING ||
	    ((task->way->by == BY_ACCELERATOR || task->way->by == BY_BOTH) && !task->card))
		return arena_printf(task->arena,
				    "No name of %s is known that means just this machine at %s.",
				    tool, provider);
	if (item->offer->price_kind == PRICE_SPOT && !(can & CAN_SPOT))
		return arena_printf(task->arena, "%s takes no spot machines at %s.", tool,
				    provider);
	if (layout->nodes > 1 && !(can & CAN_NODES))
		return arena_printf(task->arena,
				    "%s starts single machines at %s; this plan needs %d of them.",
				    tool, provider, layout->nodes);
	return NULL;
}

/* What only the caller can say is asked for before anything runs. */
static void guards(struct text *yaml, const struct launch_run *run, int indent)
{
	if (run->needs_model)
		text_add(yaml, "%*s: \"${MODEL:?the id or path of the model's weights}\"\n", indent,
			 "");
	if (run->needs_data)
		text_add(yaml, "%*s: \"${DATASET:?the id or path of your training data}\"\n",
			 indent, "");
	if (run->also)
		text_add(yaml, "%*s: \"${%s:?%s}\"\n", indent, "", run->also, run->also_is);
	if (run->has_key)
		text_add(yaml,
			 "%*s: \"${API_KEY:?a key of your choice, which callers must send}\"\n",
			 indent, "");
}

static void skypilot_place(struct text *yaml, const struct writing *task)
{
	const struct offer *offer = task->item->offer;
	unsigned can = task->way->can;
	const char *infra = task->way->name;

	if ((can & HAS_COUNTRY) && *offer->country)
		infra = arena_printf(task->arena, "%s/%s%s%s", infra, offer->country,
				     *offer->region ? "/" : "", offer->region);
	else if ((can & HAS_REGION) && *offer->region)
		infra = arena_printf(task->arena, "%s/%s%s%s", infra, offer->region,
				     (can & HAS_ZONE) && *offer->zone ? "/" : "",
				     can & HAS_ZONE ? offer->zone : "");
	infra = infra ? launch_yaml(task->arena, infra) : NULL;
	text_add(yaml, "resources:\n  infra: %s\n", infra ? infra : "");
	if (task->way->by != BY_ACCELERATOR) {
		const char *type = launch_yaml(task->arena, offer->instance_type);

		text_add(yaml, "  instance_type: %s\n", type ? type : "");
	}
	if (task->card && task->way->by != BY_TYPE)
		text_add(yaml, "  accelerators: \"%s:%d\"\n", task->card,
			 task->item->plan.layout.gpus_per_node);
	text_add(yaml, "  use_spot: %s\n", offer->price_kind == PRICE_SPOT ? "true" : "false");
	if (can & HAS_DISK)
		text_add(yaml, "  disk_size: %d\n", task->run->disk_gb);
	if (task->item->plan.layout.nodes > 1 && !task->run->serves &&
	    (strcmp(task->way->name, "gcp") == 0 || strcmp(task->way->name, "nebius") == 0))
		text_add(yaml, "  network_tier: best\n");
	/* An open port needs a key in front of it. */
	if (task->run->serves && task->run->has_key && (can & CAN_PORTS))
		text_add(yaml, "  ports: %d\n", LAUNCH_PORT);
}

/* A run that ends is put on managed jobs where its machines may be taken away, else on a cluster
 * that goes with it. */
static const char *skypilot_verb(const struct writing *task)
{
	if (task->run->serves)
		return "launch";
	return task->item->offer->price_kind == PRICE_SPOT ? "jobs launch" : "launch --down";
}

static void skypilot_variables(struct text *yaml, const struct writing *task)
{
	const struct launch_run *run = task->run;
	const char *model =
		launch_yaml(task->arena, run->needs_model ? "" : launch_model(task->workload));

	text_add(yaml, "envs:\n  MODEL: %s\n%s", model ? model : "",
		 run->needs_data ? "  DATASET: \"\"\n" : "");
	if (run->also)
		text_add(yaml, "  %s: \"\"\n", run->also);
	text_add(yaml, "secrets:\n  HF_TOKEN: \"\"\n%s", run->has_key ? "  API_KEY: \"\"\n" : "");
}

static const char *skypilot(const struct writing *task)
{
	const struct launch_run *run = task->run;
	int nodes = task->item->plan.layout.nodes;
	char name[LAUNCH_NAME];
	struct text yaml;

	launch_name(task->workload, name);
	text_init(&yaml, task->arena);
	text_add(&yaml, "# sky %s --secret HF_TOKEN%s%s%s", skypilot_verb(task),
		 run->has_key ? " --secret API_KEY" : "", run->needs_model ? " --env MODEL" : "",
		 run->needs_data ? " --env DATASET" : "");
	if (run->also)
		text_add(&yaml, " --env %s", run->also);
	text_add(&yaml, " task.yaml\nname: %s\n%s", name, run->needs_files ? "workdir: .\n" : "");
	if (nodes > 1)
		text_add(&yaml, "num_nodes: %d\n", nodes);
	skypilot_place(&yaml, task);
	skypilot_variables(&yaml, task);
	text_add(&yaml, "setup: |\n");
	text_indented(&yaml, 2, run->setup);
	text_add(&yaml, "run: |\n");
	guards(&yaml, run, 2);
	if (nodes > 1 && !run->serves)
		text_add(&yaml, "  MASTER_ADDR=$(echo \"$SKYPILOT_NODE_IPS\" | head -n 1)\n"
				"  NODE_RANK=$SKYPILOT_NODE_RANK\n");
	text_indented(&yaml, 2, run->run);
	return text_take(&yaml);
}

static void dstack_list(struct text *yaml, struct arena *arena, const char *key, const char *value)
{
	const char *quoted = launch_yaml(arena, value);

	text_add(yaml, "%s: [%s]\n", key, quoted ? quoted : "");
}

/* dstack writes Nebius' platform and preset apart. */
static const char *dstack_type(const struct writing *task)
{
	char *type = arena_strdup(task->arena, task->item->offer->instance_type);
	char *mark = type && strcmp(task->way->name, "nebius") == 0 ? strchr(type, '_') : NULL;

	if (mark)
		*mark = ' ';
	return type ? type : "";
}

static void dstack_place(struct text *yaml, const struct writing *task)
{
	const struct offer *offer = task->item->offer;
	const struct layout *layout = &task->item->plan.layout;

	dstack_list(yaml, task->arena, "backends", task->way->name);
	if ((task->way->can & HAS_REGION) && *offer->region)
		dstack_list(yaml, task->arena, "regions", offer->region);
	if (task->way->by == BY_TYPE)
		dstack_list(yaml, task->arena, "instance_types", dstack_type(task));
	text_add(yaml, "spot_policy: %s\nresources:\n",
		 offer->price_kind == PRICE_SPOT ? "spot" : "on-demand");
	if (task->way->by == BY_TYPE)
		text_add(yaml, "  gpu: nvidia:%d\n", layout->gpus_per_node);
	else
		text_add(yaml, "  gpu: %s:%d\n", task->card, layout->gpus_per_node);
	if (layout->gpus_per_node > 1)
		text_add(yaml, "  shm_size: 16GB\n");
	if (task->way->can & HAS_DISK)
		text_add(yaml, "  disk: %dGB..\n", task->run->disk_gb);
}

/* A variable without a value is taken from who applies the task, and must be set there. */
static void dstack_variables(struct text *yaml, const struct writing *task)
{
	const struct launch_run *run = task->run;
	const char *model = arena_printf(task->arena, "MODEL=%s", launch_model(task->workload));

	model = run->needs_model ? "MODEL" : model ? launch_yaml(task->arena, model) : NULL;
	text_add(yaml, "env:\n  - %s\n  - HF_TOKEN\n%s%s", model ? model : "",
		 run->needs_data ? "  - DATASET\n" : "", run->has_key ? "  - API_KEY\n" : "");
	if (run->also)
		text_add(yaml, "  - %s\n", run->also);
}

static const char *dstack(const struct writing *task)
{
	const struct launch_run *run = task->run;
	int nodes = task->item->plan.layout.nodes;
	char name[LAUNCH_NAME];
	struct text yaml;

	launch_name(task->workload, name);
	text_init(&yaml, task->arena);
	text_add(&yaml, "# dstack apply -f task.dstack.yml%s\ntype: task\nname: %s\n",
		 nodes > 1 && !run->serves ? ", with a fleet that has placement: cluster" : "",
		 name);
	if (nodes > 1)
		text_add(&yaml, "nodes: %d\n", nodes);
	text_add(&yaml, "python: \"3.12\"\n");
	if (run->needs_files)
		text_add(&yaml, "files:\n  - .:work\n");
	dstack_variables(&yaml, task);
	text_add(&yaml, "commands:\n  - |\n");
	guards(&yaml, run, 4);
	if (nodes > 1 && !run->serves)
		text_add(&yaml, "    MASTER_ADDR=$DSTACK_MASTER_NODE_IP\n"
				"    NODE_RANK=$DSTACK_NODE_RANK\n");
	text_indented(&yaml, 4, run->setup);
	if (run->needs_files)
		text_add(&yaml, "    cd work\n");
	text_indented(&yaml, 4, run->run);
	if (run->serves)
		text_add(&yaml, "ports:\n  - %d\n", LAUNCH_PORT);
	dstack_place(&yaml, task);
	return text_take(&yaml);
}

/* Cards on machines with ARM processors: dstack's default image is for x86. */
static bool is_on_arm(const struct offer *offer)
{
	return strncmp(offer->accelerator, "GH", 2) == 0 ||
	       strncmp(offer->accelerator, "GB", 2) == 0 ||
	       strncmp(offer->accelerator, "T4G", 3) == 0;
}

/* What it asks for besides the type is a number of whole cards. */
static const char *why_not_dstack(const struct writing *task)
{
	const struct offer *offer = task->item->offer;

	if (is_on_arm(offer))
		return "dstack's own image is for x86; this machine has ARM processors.";
	if (offer->count_milli % COUNT_MILLI_ONE)
		return "This is a slice of a card, and dstack asks for whole ones.";
	return why_not(task, offer->provider);
}

static void write_command(const struct workload *workload, const struct recommendation *item,
			  const struct launch_provider *provider, int disk_gb, struct arena *arena,
			  struct launch_text *out)
{
	char name[LAUNCH_NAME];
	struct text text;

	text_init(&text, arena);
	launch_name(workload, name);
	if (item->offer->price_kind == PRICE_RESERVED)
		out->reason = "A reserved price is a contract: ask at the provider's page.";
	else if (provider && provider->command && provider->command(&text, item, name, disk_gb))
		out->text = text_take(&text);
	else
		out->reason = "No command is known for this machine: rent it at the page.";
}

static bool are_names(const struct offer *offer)
{
	return launch_is_name(offer->instance_type) && launch_is_name(offer->region) &&
	       launch_is_name(offer->zone) && launch_is_name(offer->country);
}

static void refuse(struct launch *out, const char *reason)
{
	out->skypilot.reason = out->dstack.reason = out->command.reason = reason;
}

bool launch_write(const struct workload *workload, const struct recommendation *item,
		  struct arena *arena, struct launch *out)
{
	static const struct launch_provider nobody = {.provider = ""};
	const struct offer *offer = item->offer;
	const struct launch_provider *provider = launch_provider_find(offer->provider);
	const struct terms *terms = terms_find(offer->provider);
	struct launch_run run;
	struct writing task = {.workload = workload, .item = item, .run = &run, .arena = arena};

	*out = (struct launch){.page = terms ? terms->page : NULL};
	provider = provider ? provider : &nobody;
	if (!are_names(offer)) {
		refuse(out, "The provider's name of the machine or of its place holds characters "
			    "that no command can be trusted with.");
		return true;
	}
	if (!prepare_run(workload, &item->plan, arena, &run))
		return false;
	task.tool = "SkyPilot";
	task.way = &provider->skypilot;
	task.card = launch_skypilot_card(offer->provider, offer);
	out->skypilot.reason = is_place(offer) ? why_not(&task, offer->provider)
					       : "SkyPilot cannot write the name of the place.";
	if (!out->skypilot.reason)
		out->skypilot.text = skypilot(&task);
	task.tool = "dstack";
	task.way = &provider->dstack;
	task.card = launch_dstack_card(offer);
	out->dstack.reason = why_not_dstack(&task);
	if (!out->dstack.reason)
		out->dstack.text = dstack(&task);
	write_command(workload, item, provider, run.disk_gb, arena, &out->command);
	return (out->skypilot.text || out->skypilot.reason) &&
	       (out->dstack.text || out->dstack.reason) &&
	       (out->command.text || out->command.reason);
}
