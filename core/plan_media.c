/*
 * Layouts of a pipeline that serves: a copy on one GPU, or on several that share the sequence of
 * every pass (context parallelism) and the passes of guidance; as many copies as the node has room
 * for, and as many nodes as the rate needs. A copy never spans nodes, and copies need no fabric.
 */
#include "core/plan_parts.h"

#include <math.h>

/* Sharded weights go with sharing the sequence: each GPU keeps a part and gathers the rest. */
static const enum sharding shardings[] = {SHARDING_NONE, SHARDING_ZERO3};

/* Whether the heads of every attention over the whole item can be shared out that many ways. */
static bool divides_sequence(const struct media *media, int ways)
{
	const struct media_denoiser *denoiser = &media->denoiser;

	if (ways == 1)
		return true;
	if (denoiser->unet.levels > 0)
		return false;
	for (int i = 0; i < denoiser->blocks_count; i++)
		if (denoiser->blocks[i].heads % ways)
			return false;
	return true;
}

static void miss_time(struct planning *planning, const struct plan *plan, double distance)
{
	struct plan_set *set = planning->out;

	if (set->count || (set->slow_distance > 0 && distance >= set->slow_distance))
		return;
	set->slow = *plan;
	set->slow_distance = distance;
}

/* As many nodes as answer the rate; false when more than there may be. */
static bool spread(struct planning *planning, int fidelity, struct plan *plan)
{
	const struct workload *workload = planning->basis->workload;
	double rate = workload->items_per_hour / SECONDS_PER_HOUR / PLAN_TARGET_LOAD;
	double copies = plan->layout.replicas, nodes = 1, late = 0;

	plan_time(planning, fidelity, plan);
	if (rate > 0)
		nodes = fmax(nodes, ceil(rate / plan->speed.items_per_second - 1e-9));
	nodes = fmax(nodes, ceil((double)workload->min_replicas / copies));
	if (nodes > planning->max_nodes) {
		if (workload->max_item_seconds > 0)
			late = plan->speed.batch_seconds / workload->max_item_seconds;
		miss_time(planning, plan, fmax(late, nodes / planning->max_nodes));
		return false;
	}
	plan->layout.nodes = (int)nodes;
	plan->layout.replicas = (int)(copies * nodes);
	plan_time(planning, fidelity, plan);
	return true;
}

static void try_copy(struct planning *planning, int fidelity, int sequence, int guidance,
		     enum sharding sharding)
{
	const struct workload *workload = planning->basis->workload;
	const struct plan_format *format = &planning->basis->formats[fidelity];
	double limit = workload->max_item_seconds;
	struct plan plan = {.layout = layout_single};

	plan.layout.gpus_per_node = planning->gpus;
	plan.layout.context_parallel = sequence;
	plan.layout.guidance_parallel = guidance;
	plan.layout.sharding = sharding;
	plan.layout.weight_format = format->weight;
	plan.layout.kv_format = format->kv;
	plan.layout.replicas = planning->gpus / (sequence * guidance);
	plan_judge(planning, &plan);
	if (plan.fit == FIT_NO) {
		plan_miss(planning, &plan);
		return;
	}
	if (!spread(planning, fidelity, &plan))
		return;
	if (limit > 0 && plan.speed.batch_seconds > limit) {
		miss_time(planning, &plan, plan.speed.batch_seconds / limit);
		return;
	}
	plan_keep(planning, &plan, fidelity);
	/* So many items at a time of one's choosing: a deadline may want more machines. */
	if (!(workload->items > 0) || workload->items_per_hour > 0)
		return;
	for (int nodes = plan.layout.nodes * 2, copies = plan.layout.replicas * 2;
	     nodes <= planning->max_nodes && copies <= workload->items && !plan_is_spent(planning);
	     nodes *= 2, copies *= 2) {
		plan.layout.nodes = nodes;
		plan.layout.replicas = copies;
		plan_time(planning, fidelity, &plan);
		plan_keep(planning, &plan, fidelity);
	}
}

void plan_media(struct planning *planning, int fidelity)
{
	const struct workload *workload = planning->basis->workload;
	const struct media *media = workload->architecture->media;
	int most = planning->can_talk ? planning->gpus : 1;
	bool is_asked = workload_has(workload, WORKLOAD_context_parallel);

	for (int guidance = 1; guidance <= most && guidance <= workload->guidance_passes;
	     guidance++)
		for (int ways = 1; ways * guidance <= most && !plan_is_spent(planning); ways++) {
			if ((is_asked && workload->context_parallel != ways) ||
			    !divides_sequence(media, ways))
				continue;
			for (int i = 0; i < (ways > 1 ? 2 : 1); i++)
				if (ways == 1 || workload->sharding == SHARDING_AUTO ||
				    workload->sharding == (int)shardings[i])
					try_copy(planning, fidelity, ways, guidance, shardings[i]);
		}
}

void plan_media_most(const struct workload *workload, struct plan *plan)
{
	plan->most_requests_per_second = plan->speed.items_per_second;
	plan->utilisation =
		workload->items_per_hour / SECONDS_PER_HOUR / plan->most_requests_per_second;
}
