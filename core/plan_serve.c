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

struct serving {
	struct planning *planning;
	const struct workload *workload;
	const struct plan_format *format;
	int fidelity;
	struct plan plan; /* of one replica count, being tried */
};

/* How many times over its latency limits a layout is; up to 1 keeps them. */
static double latency_distance(const struct workload *workload, const struct speed_estimate *speed)
{
	double distance = 0;

	if (workload->max_ttft_seconds > 0)
		distance = speed->ttft_seconds / workload->max_ttft_seconds;
	if (workload->max_tpot_seconds > 0)
		distance = fmax(distance, speed->tpot_seconds / workload->max_tpot_seconds);
	return distance;
}

static void set_speed(struct serving *serving)
{
	speed_estimate(&serving->format->speed, &serving->plan.layout,
		       &serving->planning->shape->fabric, &serving->plan.speed);
}

static void miss_speed(struct serving *serving, double distance)
{
	struct plan_set *set = serving->planning->out;

	if (set->slow_distance > 0 && distance >= set->slow_distance)
		return;
	set->slow = serving->plan;
	set->slow_distance = distance;
}

/* Judges the replica with that many sequences; true when it fits at least as `wanted` says and
 * keeps the latency limits. */
static bool holds(struct serving *serving, double sequences, enum fit wanted)
{
	double distance;

	serving->plan.layout.sequences = sequences;
	plan_judge(serving->planning, &serving->plan);
	if (serving->plan.fit < wanted)
		return false;
	if (!(serving->workload->max_ttft_seconds > 0) &&
	    !(serving->workload->max_tpot_seconds > 0))
		return true;
	set_speed(serving);
	distance = latency_distance(serving->workload, &serving->plan.speed);
	if (distance <= 1)
		return true;
	miss_speed(serving, distance);
	return false;
}

/* A whole number strictly between low and high, near `guess`. */
static double between(double low, double high, double guess)
{
	return fmax(low + 1, fmin(high - 1, floor(guess)));
}

/*
 * Most sequences, up to `wanted`, that one replica holds; 0 when not even one. Memory and time per
 * token grow with the sequences, and memory almost linearly: every other guess trusts that.
 */
static double sequences_held(struct serving *serving, double wanted, enum fit fit)
{
	const struct memory_estimate *memory = &serving->plan.memory;
	double low = 1, high = wanted, at_low, at_high, most;
	bool is_guess = true;

	if (!holds(serving, 1, fit))
		return 0;
	at_low = memory->device_bytes;
	if (holds(serving, wanted, fit))
		return wanted;
	at_high = memory->device_bytes;
	most = serving->planning->limit_bytes;
	if (fit == FIT_FITS)
		most = fmin(most, serving->planning->usable_bytes * at_high / memory->high_bytes);
	while (high - low > 1) {
		double guess = (low + high) / 2;

		if (is_guess && at_high > at_low)
			guess = low + (high - low) * (most - at_low) / (at_high - at_low);
		is_guess = !is_guess;
		guess = between(low, high, guess);
		if (holds(serving, guess, fit)) {
			low = guess;
			at_low = memory->device_bytes;
		} else {
			high = guess;
			at_high = memory->device_bytes;
		}
	}
	return low;
}

/*
 * Fewest sequences a replica at which it answers `rate` requests a second; `most` when none does.
 * The time of a request is a constant and a share for each sequence beside it, so that 1/rate is
 * almost linear in 1/sequences: every other guess trusts that.
 */
static double sequences_for_rate(struct serving *serving, double rate, double most)
{
	const struct speed_estimate *speed = &serving->plan.speed;
	double low = 1, high = most, at_low, at_high;
	bool is_guess = true;

	serving->plan.layout.sequences = high;
	set_speed(serving);
	at_high = speed->requests_per_second;
	serving->plan.layout.sequences = low;
	set_speed(serving);
	at_low = speed->requests_per_second;
	if (at_low >= rate)
		return low;
	while (high - low > 1) {
		double guess = (low + high) / 2;

		if (is_guess && at_high > at_low) {
			double share = (1 / rate - 1 / at_high) / (1 / at_low - 1 / at_high);

			guess = ceil(1 / (1 / high + share * (1 / low - 1 / high)));
		}
		is_guess = !is_guess;
		guess = between(low, high, guess);
		serving->plan.layout.sequences = guess;
		set_speed(serving);
		if (speed->requests_per_second >= rate) {
			high = guess;
			at_high = speed->requests_per_second;
		} else {
			low = guess;
			at_low = speed->requests_per_second;
		}
	}
	return high;
}

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

/* Settles nodes, replicas and sequences, then offers the plan. `held` is the most of one replica.
 */
static void settle(struct serving *serving, int replicas_a_node, int nodes_a_copy, double held)
{
	const struct workload *workload = serving->workload;
	struct planning *planning = serving->planning;
	struct layout *layout = &serving->plan.layout;
	bool is_rate = workload->requests_per_second > 0;
	bool is_open = workload->mode == SERVING_BATCH &&
		       !workload_has(workload, WORKLOAD_concurrency) && !is_rate;
	double needed = 1, nodes, sequences, replicas;

	layout->sequences = held;
	layout->replicas = 1;
	if (is_rate) {
		set_speed(serving);
		needed = ceil(workload->requests_per_second /
			      (PLAN_TARGET_LOAD * serving->plan.speed.requests_per_second));
	} else if (!is_open) {
		needed = ceil((double)workload->concurrency / held);
	}
	nodes = nodes_a_copy > 1 ? needed * nodes_a_copy : ceil(needed / replicas_a_node);
	if (nodes < 1)
		nodes = 1;
	if (nodes > planning->max_nodes) {
		layout->nodes = nodes < 1e6 ? (int)nodes : 1000000;
		plan_judge(planning, &serving->plan);
		if (is_rate)
			miss_speed(serving, nodes / planning->max_nodes);
		else
			plan_miss(planning, &serving->plan);
		return;
	}
	layout->nodes = (int)nodes;
	if (!plan_may_win(planning, layout->nodes, serving->fidelity))
		return;
	replicas = nodes_a_copy > 1 ? needed : nodes * replicas_a_node;
	if (is_rate)
		sequences = sequences_for_rate(
			serving, workload->requests_per_second / (PLAN_TARGET_LOAD * replicas),
			held);
	else
		sequences = is_open ? held : ceil((double)workload->concurrency / replicas);
	layout->replicas = (int)replicas;
	layout->sequences = sequences;
	plan_judge(planning, &serving->plan);
	set_speed(serving);
	set_capacity(serving, layout->replicas);
	serving->plan.support = serving->format->support;
	plan_keep(planning, &serving->plan, serving->fidelity);
}

/* Nobody says how many sequences run at once: as many as it takes, or as there is room for. */
static bool is_open_ended(const struct workload *workload)
{
	return workload->requests_per_second > 0 ||
	       (workload->mode == SERVING_BATCH && !workload_has(workload, WORKLOAD_concurrency));
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
	plan_judge(serving->planning, &serving->plan);
	plan_miss(serving->planning, &serving->plan);
}

/* One way to hold a copy: `tensor` x `stages` GPUs, the stages on `nodes_a_copy` nodes. True when
 * it holds all sequences that are wanted of it with room to spare. */
static bool try_copy(struct serving *serving, int tensor, int stages, int nodes_a_copy)
{
	struct planning *planning = serving->planning;
	int copies = planning->gpus / (tensor * stages);
	double wanted = sequences_wanted(serving->workload), held;

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
	held = sequences_held(serving, wanted, FIT_FITS);
	if (held >= wanted) {
		settle(serving, copies, nodes_a_copy, held);
		return true;
	}
	if (held < 1)
		held = sequences_held(serving, wanted, FIT_TIGHT);
	if (held >= 1)
		settle(serving, copies, nodes_a_copy, held);
	else if (serving->plan.fit == FIT_NO && nodes_a_copy == 1)
		miss_room(serving, wanted);
	return false;
}

void plan_serving(struct planning *planning, int fidelity)
{
	struct serving serving = {.planning = planning,
				  .workload = planning->basis->workload,
				  .format = &planning->basis->formats[fidelity],
				  .fidelity = fidelity};
	const struct architecture *architecture = serving.workload->architecture;
	int layers = architecture_layers(architecture);

	for (int tensor = 1; tensor <= planning->gpus; tensor++) {
		if (!plan_divides_heads(architecture, tensor))
			continue;
		/* Stages add memory, not speed: no more of them than hold the load. */
		for (int stages = 1; tensor * stages <= planning->gpus && stages <= layers;
		     stages *= 2)
			if (try_copy(&serving, tensor, stages, 1))
				break;
		if (!planning->shape->has_cluster || planning->gpus % tensor)
			continue;
		for (int nodes = 2; nodes <= planning->max_nodes && nodes <= layers; nodes *= 2)
			if (tensor == planning->gpus && try_copy(&serving, tensor, nodes, nodes))
				break;
	}
}
