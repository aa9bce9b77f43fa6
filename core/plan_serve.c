/*
 * Serving layouts: a copy of the model over as few GPUs as hold it (or over more when that is
 * faster), as many copies as the node has room for, and as many nodes as the load needs.
 *
 * Copies share nothing, so nodes of copies need no fabric. A model larger than a node is spread
 * over nodes as pipeline stages, and that needs one.
 */
#include "core/plan_parts.h"

#include <math.h>

/* What engines run at once by default at most, when nobody says how many. */
#define SEQUENCES_MOST 256

/* Room for sequences in one replica beyond the fixed terms, with the allocator's slack. */
static void set_capacity(struct serving *serving, int replicas)
{
	struct plan *plan = &serving->plan;
	const struct memory_estimate *memory = &plan->memory;
	const struct workload *workload = serving->workload;
	double slack =
		memory->allocated_bytes > 0 ? memory->reserved_bytes / memory->allocated_bytes : 1;
	double limit = plan->usable_bytes * workload->gpu_memory_utilization;
	double room = (limit - (memory->device_bytes - memory->reserved_bytes)) / slack -
		      (memory->allocated_bytes - memory->kv_cache_bytes);
	double each = memory->kv_cache_bytes / plan->layout.sequences;

	plan->kv_tokens_capacity = 0;
	plan->max_concurrency = SEQUENCES_MOST * replicas; /* no cache: bounded by the engine */
	if (each > 0) {
		plan->kv_tokens_capacity = room / each * workload->context;
		plan->max_concurrency = floor(room / each) * replicas;
	}
}

/* Nobody says how many sequences run at once: as many as it takes, or as there is room for. */
static bool is_open_ended(const struct workload *workload)
{
	return workload->requests_per_second > 0 ||
	       (workload->mode == SERVING_BATCH && !workload_has(workload, WORKLOAD_concurrency));
}

/* Whether the complete layout keeps the limit on the first token at the load that comes, with the
 * wait for it; fills both, and the speed. */
static bool is_in_time(struct serving *serving)
{
	const struct workload *workload = serving->workload;
	struct plan *plan = &serving->plan;

	plan_load_time(serving);
	plan->wait_seconds = 0;
	if (!(workload->requests_per_second > 0))
		return true;
	plan->wait_seconds =
		speed_wait_seconds(&plan->speed, &plan->layout,
				   workload->requests_per_second / plan->speed.requests_per_second);
	return !(workload->max_ttft_seconds > 0) ||
	       plan->speed.ttft_seconds + plan->wait_seconds <= workload->max_ttft_seconds;
}

/* Offers the plan, whose layout is complete and timed. */
static void offer(struct serving *serving)
{
	if (fabs(serving->plan.layout.sequences - serving->judged) > 0)
		plan_load_judge(serving);
	set_capacity(serving, serving->plan.layout.replicas);
	plan_keep(serving->planning, &serving->plan, serving->fidelity);
}

/* Copies that the load takes, of those that hold `held` sequences each. */
static double copies_needed(struct serving *serving, double held)
{
	const struct workload *workload = serving->workload;
	double needed = 1;

	serving->plan.layout.replicas = 1;
	if (workload->requests_per_second > 0)
		needed = ceil(workload->requests_per_second /
			      (PLAN_TARGET_LOAD * plan_load_rate(serving, held)));
	else if (!is_open_ended(workload))
		needed = ceil((double)workload->concurrency / held);
	return fmax(needed, fmax(1, (double)workload->min_replicas));
}

/* Too many nodes: told by the load of one copy. */
static void miss_nodes(struct serving *serving, double nodes, double held)
{
	struct planning *planning = serving->planning;

	serving->plan.layout.sequences = held;
	serving->plan.layout.nodes = nodes < 1e6 ? (int)nodes : 1000000;
	plan_load_judge(serving);
	if (serving->workload->requests_per_second > 0)
		plan_load_miss(serving, nodes / planning->max_nodes);
	else
		plan_miss(planning, &serving->plan);
}

/* Shares the load among so many copies; false when the first token then comes too late: few
 * sequences go fast but wait for a place, many wait for none but for each other. */
static bool share_load(struct serving *serving, double replicas, double held)
{
	const struct workload *workload = serving->workload;
	struct layout *layout = &serving->plan.layout;
	double fewest;

	if (workload->requests_per_second > 0)
		layout->sequences = plan_load_for_rate(
			serving, workload->requests_per_second / (PLAN_TARGET_LOAD * replicas),
			held);
	else
		layout->sequences = is_open_ended(workload)
					    ? held
					    : ceil((double)workload->concurrency / replicas);
	layout->replicas = (int)replicas;
	if (is_in_time(serving))
		return true;
	fewest = layout->sequences;
	for (double many = held; many > fewest; many = floor((many + fewest) / 2)) {
		layout->sequences = many;
		if (is_in_time(serving))
			return true;
	}
	return false;
}

/* Settles nodes, replicas and sequences, then offers the plan. `held` is the most of one replica.
 */
static void settle(struct serving *serving, int replicas_a_node, int nodes_a_copy, double held)
{
	struct planning *planning = serving->planning;
	struct layout *layout = &serving->plan.layout;
	double needed = copies_needed(serving, held);
	double nodes = nodes_a_copy > 1 ? needed * nodes_a_copy : ceil(needed / replicas_a_node);
	double replicas;

	for (; nodes <= planning->max_nodes; nodes += nodes_a_copy) {
		layout->nodes = (int)nodes;
		if (!plan_may_win(planning, layout->nodes, serving->fidelity))
			return;
		replicas = nodes_a_copy > 1 ? nodes / nodes_a_copy : nodes * replicas_a_node;
		layout->replicas = 1;
		if (share_load(serving, replicas, held)) {
			serving->plan.most_sequences = held;
			offer(serving);
			return;
		}
		if (plan_is_spent(planning))
			return;
	}
	miss_nodes(serving, nodes, held);
}

static double sequences_wanted(const struct workload *workload)
{
	return is_open_ended(workload) ? SEQUENCES_MOST : (double)workload->concurrency;
}

/* The need of all sequences that are asked on one machine: a figure of the shape that is named, not
 * of what is left of it when several machines share a copy. */
static void miss_room(struct serving *serving, double wanted)
{
	serving->plan.layout.sequences = is_open_ended(serving->workload) ? 1 : wanted;
	plan_load_judge(serving);
	plan_miss(serving->planning, &serving->plan);
}

/* The weights of a copy over so many GPUs on one of them, over what it may use. */
static double weights_share(const struct serving *serving, int ways)
{
	const struct planning *planning = serving->planning;

	return planning->basis->memory.weight_bytes[serving->format->weight] / ways /
	       planning->limit_bytes;
}

/* Whether the copies would not hold their share of the load on as many nodes as they may take. */
static bool is_too_small(struct serving *serving, int copies, int nodes_a_copy)
{
	int nodes = plan_nodes_left(serving->planning, serving->fidelity) / nodes_a_copy;

	if (!serving->planning->out->count || is_open_ended(serving->workload))
		return false;
	serving->is_late = true; /* stages need no fewer nodes */
	return nodes < 1 ||
	       plan_load(serving,
			 ceil((double)serving->workload->concurrency / ((double)copies * nodes)),
			 FIT_TIGHT) > 1;
}

/*
 * Whether these copies would lose to what is kept, had they room for everything: a rate then takes
 * as many nodes as it does with the most sequences, and is answered soonest by sequences alone.
 */
static bool is_beaten(struct serving *serving, int copies, int nodes_a_copy)
{
	struct planning *planning = serving->planning;
	struct layout *layout = &serving->plan.layout;
	double rate = serving->workload->requests_per_second, nodes = nodes_a_copy;

	if (!planning->out->count || !(rate > 0))
		return false;
	nodes *= ceil(fmax(rate / (PLAN_TARGET_LOAD * plan_load_rate(serving, SEQUENCES_MOST)),
			   (double)serving->workload->min_replicas) /
		      copies);
	if (nodes > planning->max_nodes || !plan_may_win(planning, (int)nodes, serving->fidelity))
		return true;
	layout->replicas = copies;
	layout->sequences = 1;
	plan_load_time(serving);
	layout->replicas = 1;
	return plan_is_beaten(planning, (int)nodes, &serving->plan.speed, serving->fidelity);
}

/* Whether one node of these copies answers the rate with room to spare; offers the plan if so. Else
 * `wanted` becomes the most sequences that are of use. */
static bool answers_alone(struct serving *serving, int copies, double *wanted)
{
	double rate = serving->workload->requests_per_second / (PLAN_TARGET_LOAD * copies);
	double sequences = plan_load_for_rate(serving, rate, SEQUENCES_MOST);

	if (copies < serving->workload->min_replicas || plan_load_rate(serving, sequences) < rate)
		return false;
	if (!(serving->workload->max_ttft_seconds > 0))
		*wanted = sequences;
	if (plan_load(serving, sequences, FIT_FITS) > 1)
		return false;
	serving->plan.layout.replicas = copies;
	if (is_in_time(serving)) {
		offer(serving);
		return true;
	}
	serving->plan.layout.replicas = 1;
	return false;
}

/* One way to hold a copy: `tensor` x `stages` GPUs, the stages on `nodes_a_copy` nodes. True when
 * more stages would give nothing. */
static bool try_copy(struct serving *serving, int tensor, int stages, int nodes_a_copy)
{
	struct planning *planning = serving->planning;
	int copies = planning->gpus / (tensor * stages);
	double wanted = sequences_wanted(serving->workload), held;
	double share = weights_share(serving, tensor * stages);
	bool is_enough = false;

	/* Not even the weights have room: told when no other came as near. */
	if (share > 1 && (nodes_a_copy > 1 || !plan_is_nearer(planning, share)))
		return false;
	if (nodes_a_copy > 1)
		copies = 1;
	/* A share of the load is all that one of several copies must hold. */
	if (!(serving->workload->requests_per_second > 0) && copies > 1 &&
	    workload_has(serving->workload, WORKLOAD_concurrency))
		wanted = ceil(wanted / copies);
	serving->plan = (struct plan){
		.layout = {.gpus_per_node = planning->gpus,
			   .nodes = nodes_a_copy,
			   .tensor_parallel = tensor,
			   .pipeline_parallel = stages,
			   .data_parallel = 1,
			   .context_parallel = 1,
			   .expert_parallel = 1,
			   .sharding = SHARDING_NONE,
			   .recompute = RECOMPUTE_NONE,
			   .offload = OFFLOAD_NONE,
			   .micro_batch = 1,
			   .accumulation = 1,
			   .weight_format = serving->format->weight,
			   .kv_format = serving->format->kv,
			   .replicas = 1},
	};
	serving->copy = plan_memo_copy(planning, &serving->plan.layout);
	if (share > 1) {
		miss_room(serving, wanted);
		return false;
	}
	if (is_too_small(serving, copies, nodes_a_copy))
		return serving->is_late;
	if (is_beaten(serving, copies, nodes_a_copy))
		return true;
	if (workload_has(serving->workload, WORKLOAD_requests_per_second) && nodes_a_copy == 1 &&
	    answers_alone(serving, copies, &wanted))
		return true;
	held = plan_load_held(serving, wanted, FIT_FITS);
	if (held < 1 && serving->plan.fit == FIT_TIGHT)
		held = plan_load_held(serving, wanted, FIT_TIGHT);
	else if (held >= wanted)
		is_enough = true;
	/* What memory does not limit, stages do not mend. */
	is_enough = is_enough || serving->is_late;
	if (held >= 1)
		settle(serving, copies, nodes_a_copy, held);
	else if (serving->plan.fit == FIT_NO && nodes_a_copy == 1)
		miss_room(serving, wanted);
	return is_enough;
}

void plan_serving_most(struct planning *planning, int fidelity, struct plan *plan)
{
	struct serving serving = {.planning = planning,
				  .workload = planning->basis->workload,
				  .format = &planning->basis->formats[fidelity],
				  .fidelity = fidelity,
				  .plan = *plan,
				  .copy = plan_memo_copy(planning, &plan->layout)};
	double held = plan->most_sequences, most;

	serving.plan.layout.replicas = 1;
	if (!(held > 0))
		held = plan_load_held(&serving, SEQUENCES_MOST, plan->fit);
	most = plan_load_rate(&serving, fmax(held, plan->layout.sequences)) * plan->layout.replicas;
	plan->most_requests_per_second = fmax(most, plan->speed.requests_per_second);
	plan->utilisation = serving.workload->requests_per_second / plan->most_requests_per_second;
}

static bool is_asked(int64_t asked, int ways)
{
	return asked == 0 || asked == ways;
}

void plan_serving(struct planning *planning, int fidelity)
{
	struct serving serving = {.planning = planning,
				  .workload = planning->basis->workload,
				  .format = &planning->basis->formats[fidelity],
				  .fidelity = fidelity};
	bool may_split = planning->can_talk && workload_may_split(serving.workload);
	int layers = may_split ? architecture_layers(serving.workload->architecture) : 1;
	int asked_stages = (int)serving.workload->pipeline_parallel;

	/* Widest first: it comes nearest where nothing fits, and the others need not be judged. */
	for (int tensor = planning->gpus; tensor >= 1; tensor--) {
		if (!plan_divides_heads(planning->basis, tensor) ||
		    (tensor > 1 && !planning->can_talk) ||
		    !is_asked(serving.workload->tensor_parallel, tensor))
			continue;
		/* Stages add memory, not speed: no more of them than hold the load. */
		for (int stages = asked_stages ? asked_stages : 1;
		     tensor * stages <= planning->gpus && stages <= layers &&
		     !plan_is_spent(planning);
		     stages *= 2)
			if (try_copy(&serving, tensor, stages, 1) || asked_stages)
				break;
		if (!planning->shape->has_cluster || tensor < planning->gpus ||
		    !plan_may_win(planning, 1, fidelity + 1))
			continue;
		for (int nodes = 2;
		     nodes <= planning->max_nodes && nodes <= layers && !plan_is_spent(planning);
		     nodes *= 2)
			if (is_asked(asked_stages, nodes) &&
			    try_copy(&serving, tensor, nodes, nodes))
				break;
	}
}
