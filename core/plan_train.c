/*
 * Training layouts: tensor, pipeline, context and expert parallelism as the stack offers them, data
 * parallelism over the rest, and of each the largest micro-batch that fits.
 *
 * More data-parallel sharding and more recomputation only cost time, so they are tried from none
 * upwards and given up as soon as the job fits with room for a large micro-batch.
 */
#include "core/plan_parts.h"

/* Beyond this many tokens a pass, larger micro-batches gain nothing on any card. */
#define PASS_TOKENS 32768
#define MICRO_BATCH_MOST 64
/* And this many keep any card busy: to recompute for more costs more than it gives. */
#define AMPLE_TOKENS 4096
/* Context parallelism pays for itself only on long sequences. */
#define CONTEXT_PARALLEL_LENGTH 32768
#define WAYS_MOST 8

struct choices {
	int values[4];
	int count;
};

/* Layouts that one stack offers. */
struct stack_abilities {
	bool has_model_parallel; /* tensor, pipeline, context and expert parallelism */
	bool has_selective;	 /* selective recomputation */
	struct choices shardings;
};

static const struct stack_abilities abilities[STACKS] = {
	[STACK_HUGGINGFACE] = {false, false, {{SHARDING_NONE, SHARDING_ZERO2, SHARDING_ZERO3}, 3}},
	[STACK_TORCHTITAN] = {true, true, {{SHARDING_ZERO3, SHARDING_HYBRID}, 2}},
	[STACK_MEGATRON] = {true, true, {{SHARDING_ZERO1}, 1}},
	[STACK_DEEPSPEED] = {false,
			     false,
			     {{SHARDING_NONE, SHARDING_ZERO1, SHARDING_ZERO2, SHARDING_ZERO3}, 4}},
	[STACK_UNSLOTH] = {false, false, {{SHARDING_NONE}, 1}},
};

static const struct stack_abilities *abilities_of(const struct workload *workload)
{
	return &abilities[workload->stack];
}

static struct choices recompute_choices(const struct workload *workload)
{
	if (workload->recompute != RECOMPUTE_AUTO)
		return (struct choices){{workload->recompute}, 1};
	if (abilities_of(workload)->has_selective)
		return (struct choices){{RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL}, 3};
	return (struct choices){{RECOMPUTE_NONE, RECOMPUTE_FULL}, 2};
}

static struct choices sharding_choices(const struct workload *workload, const struct layout *layout)
{
	struct choices all = abilities_of(workload)->shardings;

	/* One rank has nothing to shard over. */
	if (layout->data_parallel == 1)
		return (struct choices){{SHARDING_NONE}, 1};
	if (workload->sharding != SHARDING_AUTO)
		return (struct choices){{workload->sharding}, 1};
	/* Hybrid differs from full sharding only across nodes. */
	if (layout->nodes == 1 && all.values[all.count - 1] == SHARDING_HYBRID)
		all.count--;
	return all;
}

static struct choices offload_choices(const struct workload *workload)
{
	if (workload->offload != OFFLOAD_AUTO)
		return (struct choices){{workload->offload}, 1};
	return (struct choices){{OFFLOAD_NONE, OFFLOAD_OPTIMIZER, OFFLOAD_PARAMETERS}, 3};
}

/* The place of the largest divisor of the global batch up to `most`, which is at least 1. */
static int last_divisor(const struct plan_basis *basis, int most)
{
	int low = 0, high = basis->divisors_count;

	while (high - low > 1) {
		int middle = low + (high - low) / 2;

		if (basis->divisors[middle] <= most)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Data-parallel ranks and passes for a micro-batch. A global batch that the caller gave is kept to
 * the sequence, so that ranks beyond its divisors stay idle; our own default is only a target.
 */
static bool set_batch(const struct plan_basis *basis, struct layout *layout, int ranks,
		      int64_t micro_batch)
{
	const struct workload *workload = basis->workload;
	int64_t batch = workload->global_batch;
	int i;

	layout->micro_batch = micro_batch;
	if (!workload_has(workload, WORKLOAD_global_batch)) {
		int64_t pass = ranks * micro_batch;

		layout->data_parallel = ranks;
		layout->accumulation = batch > pass ? (batch + pass - 1) / pass : 1;
		return true;
	}
	if (batch % micro_batch)
		return false;
	batch /= micro_batch;
	/* Whatever divides a part of the batch divides the batch. */
	i = last_divisor(basis, ranks);
	while (batch % basis->divisors[i])
		i--;
	layout->data_parallel = basis->divisors[i];
	layout->accumulation = batch / layout->data_parallel;
	return true;
}

static int64_t micro_batch_most(const struct workload *workload, int ranks)
{
	int64_t most = PASS_TOKENS / workload->sequence_length;
	int64_t share = workload->global_batch / ranks;

	if (most > MICRO_BATCH_MOST)
		most = MICRO_BATCH_MOST;
	if (most > share)
		most = share;
	return most < 1 ? 1 : most;
}

/* Speed of a judged plan, kept when it fits. */
static void keep(struct planning *planning, struct plan *plan, int fidelity)
{
	const struct plan_format *format = &planning->basis->formats[fidelity];

	plan->support = format->support;
	speed_estimate(&format->speed, &plan->layout, &planning->shape->fabric, &plan->speed);
	plan_keep(planning, plan, fidelity);
}

/* How well a way to spread the job does; a later one makes others that only cost time pointless. */
enum reach {
	REACH_NONE,
	REACH_TIGHT,
	REACH_FITS,
	REACH_AMPLE, /* fits with passes as large as the cards can use */
};

static enum reach better_reach(enum reach a, enum reach b)
{
	return a > b ? a : b;
}

/*
 * The largest micro-batch that fits, and with a pipeline the smallest too, since more passes make a
 * smaller bubble.
 */
static enum reach try_micro_batches(struct planning *planning, struct plan *plan, int fidelity)
{
	const struct workload *workload = planning->basis->workload;
	int ranks = plan->layout.data_parallel;
	int64_t most = micro_batch_most(workload, ranks), next = 1;
	struct plan best;
	bool has_best = false, is_largest = false;

	if (workload_has(workload, WORKLOAD_micro_batch))
		most = next = workload->micro_batch;
	for (; next <= most; next *= 2) {
		if (!set_batch(planning->basis, &plan->layout, ranks, next))
			continue;
		plan_judge(planning, plan);
		if (plan->fit == FIT_NO)
			break;
		/* A larger pass that is only tight does not replace a smaller one that fits. */
		if (has_best && plan->fit < best.fit)
			break;
		if (!has_best && plan->layout.pipeline_parallel > 1)
			keep(planning, plan, fidelity);
		best = *plan;
		has_best = true;
		is_largest = next * 2 > most;
	}
	if (has_best)
		keep(planning, &best, fidelity);
	else
		plan_miss(planning, plan);
	plan->layout.data_parallel = ranks;
	if (!has_best)
		return REACH_NONE;
	if (best.fit != FIT_FITS)
		return REACH_TIGHT;
	return is_largest || best.layout.micro_batch * workload->sequence_length >= AMPLE_TOKENS
		       ? REACH_AMPLE
		       : REACH_FITS;
}

static enum reach try_sharding(struct planning *planning, struct plan *plan, int fidelity)
{
	const struct workload *workload = planning->basis->workload;
	struct choices offloads = offload_choices(workload);
	struct choices recomputes = recompute_choices(workload);
	struct choices shardings = sharding_choices(workload, &plan->layout);
	enum reach reach = REACH_NONE, best = REACH_NONE;

	/* Offload is for what does not fit without. */
	for (int i = 0; i < offloads.count && best < REACH_FITS; i++) {
		plan->layout.offload = (enum offload)offloads.values[i];
		for (int j = 0; j < shardings.count; j++) {
			plan->layout.sharding = (enum sharding)shardings.values[j];
			for (int k = 0; k < recomputes.count; k++) {
				plan->layout.recompute = (enum recompute)recomputes.values[k];
				reach = try_micro_batches(planning, plan, fidelity);
				best = better_reach(best, reach);
				if (reach == REACH_AMPLE)
					break;
			}
			/* With nothing recomputed already: sharding has nothing to give. */
			if (reach == REACH_AMPLE &&
			    (int)plan->layout.recompute == recomputes.values[0])
				return best;
		}
	}
	return best;
}

static enum reach try_experts(struct planning *planning, struct plan *plan, int fidelity)
{
	int experts = architecture_experts(planning->basis->workload->architecture);
	int ranks = plan->layout.data_parallel;
	enum reach best = REACH_NONE;

	for (int ways = 1; ways <= ranks && ways <= WAYS_MOST && best < REACH_FITS; ways *= 2) {
		if (ways > 1 && (experts == 0 || experts % ways || ranks % ways ||
				 !abilities_of(planning->basis->workload)->has_model_parallel))
			break;
		plan->layout.expert_parallel = ways;
		best = better_reach(best, try_sharding(planning, plan, fidelity));
	}
	return best;
}

/* The job over so many ways of tensor and pipeline parallelism; context parallelism where the
 * sequences are long and nothing else fits. */
static enum reach try_ways(struct planning *planning, int nodes, int tensor, int stages,
			   int fidelity)
{
	const struct workload *workload = planning->basis->workload;
	const struct plan_format *format = &planning->basis->formats[fidelity];
	bool is_long = abilities_of(workload)->has_model_parallel &&
		       workload->sequence_length >= CONTEXT_PARALLEL_LENGTH;
	int total = nodes * planning->gpus;
	enum reach best = REACH_NONE;

	for (int context = 1; context <= (is_long ? WAYS_MOST : 1) && best < REACH_FITS;
	     context *= 2) {
		struct plan plan = {
			.layout = {.gpus_per_node = planning->gpus,
				   .nodes = nodes,
				   .tensor_parallel = tensor,
				   .pipeline_parallel = stages,
				   .context_parallel = context,
				   .sequence_parallel = tensor > 1,
				   .weight_format = format->weight,
				   .kv_format = format->kv,
				   .replicas = 1},
		};

		if (tensor * stages * context > total)
			break;
		plan.layout.data_parallel = total / (tensor * stages * context);
		best = better_reach(best, try_experts(planning, &plan, fidelity));
	}
	return best;
}

static void try_node_count(struct planning *planning, int nodes, int fidelity)
{
	const struct workload *workload = planning->basis->workload;
	bool is_parallel = abilities_of(workload)->has_model_parallel;
	int layers = architecture_layers(workload->architecture);
	int tensor_most = is_parallel ? plan_domain(planning) : 1;
	int stages_most = is_parallel && layers < WAYS_MOST ? layers : is_parallel ? WAYS_MOST : 1;

	for (int tensor = 1; tensor <= tensor_most && tensor <= WAYS_MOST; tensor *= 2) {
		int fitting = 0;

		if (!plan_divides_heads(workload->architecture, tensor))
			continue;
		/* A pipeline deeper than what fits may still spare traffic: one step further. */
		for (int stages = 1; stages <= stages_most && fitting < 2; stages *= 2)
			fitting +=
				try_ways(planning, nodes, tensor, stages, fidelity) >= REACH_FITS;
	}
}

void plan_training(struct planning *planning, int fidelity)
{
	bool can_join = planning->shape->has_cluster;
	/* unsloth drives the GPUs of one machine. */
	int most = can_join && planning->basis->workload->stack != STACK_UNSLOTH
			   ? planning->max_nodes
			   : 1;

	for (int nodes = 1; nodes < most; nodes *= 2)
		try_node_count(planning, nodes, fidelity);
	try_node_count(planning, most, fidelity);
}
