/*
 * Training layouts: every set of degrees of tensor, pipeline, context and expert parallelism that
 * the stack offers, with data parallelism over the rest; plan_batch.c finds the best of each.
 *
 * Nodes are tried by doubling. Twice the nodes give at most twice the speed, so that a set of
 * degrees that was slow on few is not tried again on many before it could win.
 */
#include "core/plan_parts.h"

#include <math.h>
#include <stdlib.h>

/* Context parallelism pays for itself only on long sequences. */
#define CONTEXT_PARALLEL_LENGTH 32768
#define WAYS_MOST 8
#define ASKED_WAYS_MOST 1024
#define WAYS_CHOICES 4 /* 1, 2, 4, 8 */
#define DEGREES_MAX (WAYS_CHOICES * WAYS_CHOICES * WAYS_CHOICES * WAYS_CHOICES)
/* A rank may be a little faster among more: its share of the optimizer step shrinks. */
#define RANK_GAIN 1.05
/* Doublings of the nodes without a gain in speed before no more are tried, where a batch that was
 * given cannot be shared among more; our own default may grow with the nodes. */
#define IDLE_DOUBLINGS 2

/* Layouts that one stack offers. */
struct stack_abilities {
	bool has_model_parallel; /* tensor, pipeline, context and expert parallelism */
	struct choices shardings;
};

static const struct stack_abilities abilities[STACKS] = {
	[STACK_HUGGINGFACE] = {false, {{SHARDING_NONE, SHARDING_ZERO2, SHARDING_ZERO3}, 3}},
	[STACK_TORCHTITAN] = {true, {{SHARDING_ZERO3, SHARDING_HYBRID}, 2}},
	[STACK_MEGATRON] = {true, {{SHARDING_ZERO1}, 1}},
	[STACK_DEEPSPEED] = {false,
			     {{SHARDING_NONE, SHARDING_ZERO1, SHARDING_ZERO2, SHARDING_ZERO3}, 4}},
	[STACK_UNSLOTH] = {false, {{SHARDING_NONE}, 1}},
};

struct degrees {
	int tensor, stages, context, experts;
	int place;	   /* in the list as it was made */
	int ranks;	   /* on the nodes at hand; 0 = does not go with them */
	double rank_speed; /* an upper bound of tokens a second and rank */
	double bound;	   /* of tokens a second on the nodes at hand */
};

struct degrees_list {
	struct degrees items[DEGREES_MAX];
	int count;
};

static bool has_model_parallel(const struct workload *workload)
{
	return abilities[workload->stack].has_model_parallel && !workload->architecture->media;
}

static struct choices offload_choices(const struct workload *workload)
{
	if (workload->offload != OFFLOAD_AUTO)
		return (struct choices){{workload->offload}, 1};
	if (workload->optimizer_in_backward)
		return (struct choices){{OFFLOAD_NONE}, 1};
	return (struct choices){{OFFLOAD_NONE, OFFLOAD_OPTIMIZER, OFFLOAD_PARAMETERS}, 3};
}

static struct choices sharding_choices(const struct workload *workload)
{
	if (workload->sharding != SHARDING_AUTO)
		return (struct choices){{workload->sharding}, 1};
	if (workload->optimizer == OPTIMIZER_GALORE_ADAMW)
		return (struct choices){{SHARDING_NONE}, 1};
	if (workload->optimizer_in_backward && workload->stack == STACK_HUGGINGFACE)
		return (struct choices){{SHARDING_NONE, SHARDING_ZERO3}, 2};
	return abilities[workload->stack].shardings;
}

static int most_ways(const struct planning *planning, int layers)
{
	if (!has_model_parallel(planning->basis->workload))
		return 1;
	return layers < WAYS_MOST ? layers : WAYS_MOST;
}

static void add_degrees(struct degrees_list *list, int tensor, int stages, int context, int experts)
{
	list->items[list->count] = (struct degrees){
		.tensor = tensor,
		.stages = stages,
		.context = context,
		.experts = experts,
		.place = list->count,
		.rank_speed = HUGE_VAL,
	};
	list->count++;
}

/* Degrees of one kind that are tried: doubling up to `most`, or the one that was asked. */
struct ways {
	int least, most;
};

static struct ways ways_of(int64_t asked, int most, int most_asked)
{
	if (asked == 0)
		return (struct ways){1, most};
	return asked <= most_asked ? (struct ways){(int)asked, (int)asked} : (struct ways){1, 0};
}

/* Every set of degrees that some number of nodes may take. */
static void list_degrees(const struct planning *planning, struct degrees_list *out)
{
	const struct workload *workload = planning->basis->workload;
	const struct architecture *architecture = workload->architecture;
	bool is_parallel = has_model_parallel(workload);
	bool is_long = is_parallel && workload->sequence_length >= CONTEXT_PARALLEL_LENGTH;
	int experts = is_parallel ? architecture_experts(architecture) : 0;
	int tensor_most = is_parallel ? plan_domain(planning) : 1;
	int layers = architecture_layers(architecture);
	struct ways tensors =
		ways_of(workload->tensor_parallel,
			tensor_most < WAYS_MOST ? tensor_most : WAYS_MOST, tensor_most);
	struct ways stages = ways_of(workload->pipeline_parallel, most_ways(planning, layers),
				     is_parallel ? layers : 1);
	struct ways contexts = ways_of(workload->context_parallel, is_long ? WAYS_MOST : 1,
				       is_parallel ? ASKED_WAYS_MOST : 1);
	struct ways expert =
		ways_of(workload->expert_parallel, experts ? WAYS_MOST : 1, experts ? experts : 1);

	out->count = 0;
	for (int t = tensors.least; t <= tensors.most; t *= 2) {
		if (!plan_divides_heads(planning->basis, t))
			continue;
		for (int p = stages.least; p <= stages.most; p *= 2)
			for (int c = contexts.least; c <= contexts.most; c *= 2)
				for (int e = expert.least;
				     e <= expert.most && (e == 1 || experts % e == 0); e *= 2)
					add_degrees(out, t, p, c, e);
	}
}

/* Ranks that are left for data parallelism; 0 where the degrees do not go with the nodes. */
static int ranks_of(const struct planning *planning, const struct degrees *degrees, int nodes)
{
	int gpus = planning->can_talk ? nodes * planning->gpus : 1;
	int ranks = gpus / (degrees->tensor * degrees->stages * degrees->context);

	return ranks % degrees->experts || ranks < degrees->experts ? 0 : ranks;
}

static int compare_bounds(const void *left, const void *right)
{
	const struct degrees *a = left, *b = right;

	return a->bound > b->bound ? -1 : a->bound < b->bound ? 1 : a->place - b->place;
}

/* Puts those first that may be fastest on so many nodes. */
static void set_bounds(const struct planning *planning, struct degrees_list *list, int nodes)
{
	for (int i = 0; i < list->count; i++) {
		struct degrees *item = &list->items[i];

		item->ranks = ranks_of(planning, item, nodes);
		item->bound = item->ranks ? item->rank_speed * item->ranks * RANK_GAIN : 0;
	}
	if (list->count > 1)
		qsort(list->items, (size_t)list->count, sizeof(list->items[0]), compare_bounds);
}

static void set_layout(struct training *training, const struct degrees *degrees, int nodes,
		       enum offload offload)
{
	const struct planning *planning = training->planning;

	training->plan = (struct plan){
		.layout = {.gpus_per_node = planning->gpus,
			   .nodes = nodes,
			   .tensor_parallel = degrees->tensor,
			   .pipeline_parallel = degrees->stages,
			   .context_parallel = degrees->context,
			   .expert_parallel = degrees->experts,
			   .sequence_parallel = degrees->tensor > 1 &&
						planning->basis->workload->sequence_parallel,
			   .offload = offload,
			   .weight_format = training->format->weight,
			   .kv_format = training->format->kv,
			   .replicas = 1},
	};
}

static void try_degrees(struct training *training, struct degrees_list *list, int nodes,
			enum offload offload)
{
	struct planning *planning = training->planning;

	set_bounds(planning, list, nodes);
	for (int i = 0; i < list->count && !plan_is_spent(planning); i++) {
		struct degrees *degrees = &list->items[i];

		if (!degrees->ranks || (training->best.fit == FIT_FITS &&
					degrees->bound <= training->best.tokens_per_second))
			break;
		set_layout(training, degrees, nodes, offload);
		plan_batches(training, degrees->ranks);
		/* States on the host cost time that no other layout has: no bound for those. */
		if (training->rank_speed > 0 && offload == OFFLOAD_NONE)
			degrees->rank_speed = training->rank_speed;
	}
}

/* Whether so many nodes hold the job in any layout. */
static bool has_room(struct training *training, struct degrees_list *list, int nodes,
		     enum offload offload)
{
	set_bounds(training->planning, list, nodes);
	/* The widest first: those hold most. */
	for (int i = list->count - 1; i >= 0; i--) {
		if (!list->items[i].ranks)
			continue;
		set_layout(training, &list->items[i], nodes, offload);
		if (!plan_is_hopeless(training, list->items[i].ranks))
			return true;
	}
	return false;
}

/* The fewest nodes, of one, two, four ... and `most`, that hold the job; 0 when none do. More nodes
 * never hold less. */
static int least_nodes(struct training *training, struct degrees_list *list, int most)
{
	struct choices offloads = offload_choices(training->planning->basis->workload);
	enum offload offload = (enum offload)offloads.values[offloads.count - 1];
	int low = 0, high = 0; /* places of 1 << place */

	while (1 << high < most)
		high++;
	if (!has_room(training, list, most, offload))
		return 0;
	while (low < high) {
		int middle = (low + high) / 2;

		if (has_room(training, list, 1 << middle, offload))
			high = middle;
		else
			low = middle + 1;
	}
	return 1 << low < most ? 1 << low : most;
}

static void try_nodes(struct training *training, struct degrees_list *list, int nodes)
{
	struct planning *planning = training->planning;
	struct choices offloads = offload_choices(planning->basis->workload);
	struct plan plan = {0};

	training->best = (struct plan_pick){.fit = FIT_NO};
	/* Offload is for what does not fit without. */
	for (int i = 0; i < offloads.count && training->best.fit != FIT_FITS; i++)
		try_degrees(training, list, nodes, (enum offload)offloads.values[i]);
	if (training->best.fit == FIT_NO)
		return;
	plan.layout = training->best.layout;
	plan_judge(planning, &plan);
	plan_time(planning, training->fidelity, &plan);
	plan_keep(planning, &plan, training->fidelity);
}

void plan_training(struct planning *planning, int fidelity)
{
	const struct workload *workload = planning->basis->workload;
	struct training training = {
		.planning = planning,
		.format = &planning->basis->formats[fidelity],
		.fidelity = fidelity,
		.recomputes = plan_recomputes(workload),
		.shardings = sharding_choices(workload),
	};
	/* unsloth drives the GPUs of one machine. */
	int most = planning->shape->has_cluster && planning->can_talk &&
				   workload->stack != STACK_UNSLOTH
			   ? planning->max_nodes
			   : 1;
	/* 12 KiB that need no zeroing: only what was added is read. */
	struct degrees_list list __attribute__((uninitialized));
	double fastest = 0;
	int idle = 0, nodes;

	list_degrees(planning, &list);
	nodes = least_nodes(&training, &list, most);
	while (nodes > 0) {
		try_nodes(&training, &list, nodes);
		if (training.best.fit == FIT_FITS &&
		    workload_has(workload, WORKLOAD_global_batch)) {
			idle = training.best.tokens_per_second > fastest ? 0 : idle + 1;
			fastest = fmax(fastest, training.best.tokens_per_second);
		}
		if (nodes >= most || idle == IDLE_DOUBLINGS || plan_is_spent(planning))
			break;
		nodes = nodes * 2 < most ? nodes * 2 : most;
	}
}
