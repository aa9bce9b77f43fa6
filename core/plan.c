/*
 * Plan: what fits, which layouts are kept, and how far the search for them goes: see plan.h.
 * Layouts are made in plan_train.c and plan_serve.c.
 */
#include "core/plan.h"

#include "core/plan_parts.h"

#include <string.h>

static const char *const failure_text[PLAN_FAILURES] = {
	[PLAN_OK] = "ok",
	[PLAN_UNSUPPORTED] = "unsupported",
	[PLAN_NO_MEMORY] = "memory",
	[PLAN_NO_FIGURES] = "no_figures",
	[PLAN_TOO_SLOW] = "too_slow",
	[PLAN_NO_CLUSTER] = "no_cluster",
	[PLAN_NO_LAYOUT] = "no_layout",
};
const struct names plan_failure_names = {failure_text, PLAN_FAILURES};

/* Of a node's RAM, what offloaded states may take: the rest is the system's and the data loader's.
 */
#define RAM_SHARE 0.85

static bool is_serving(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE;
}

static bool is_pipeline(const struct workload *workload)
{
	return workload->architecture->media != NULL;
}

void plan_prepare(const struct workload *workload, struct plan_basis *basis)
{
	basis->workload = workload;
	basis->heads = architecture_heads_divisor(workload->architecture);
	basis->kv_heads = architecture_kv_heads_divisor(workload->architecture);
	basis->accelerator = NULL;
	basis->formats_count = basis->divisors_count = 0;
	basis->evaluations = 0;
	plan_memo_clear(&basis->memo);
	memory_prepare(workload, &basis->memory);
	speed_prepare_work(workload, &basis->speed);
	if (!is_serving(workload) && workload_has(workload, WORKLOAD_global_batch))
		plan_divisors(workload->global_batch, basis);
}

static int devices_of(const struct accelerator *accelerator)
{
	return accelerator->devices > 1 ? accelerator->devices : 1;
}

/* A slice of a card, and a device of several on a card, has its share of everything. */
static void prepare_accelerator(struct plan_basis *basis, const struct accelerator *accelerator,
				int32_t share_milli)
{
	double share = (double)share_milli / COUNT_MILLI_ONE;
	struct accelerator *slice = &basis->slice;

	if (basis->accelerator == accelerator && basis->share_milli == share_milli)
		return;
	basis->accelerator = accelerator;
	basis->share_milli = share_milli;
	basis->memo.card++;
	*slice = *accelerator;
	if (share_milli < COUNT_MILLI_ONE) {
		slice->memory_gb *= share;
		slice->memory_usable_mib *= share;
		slice->bandwidth_gb_s *= share;
		slice->fp32_tflops *= share;
		slice->tf32_tflops *= share;
		slice->fp16_tflops *= share;
		slice->bf16_tflops *= share;
		slice->fp8_tflops *= share;
		slice->int8_tops *= share;
		slice->fp4_tflops *= share;
	}
	plan_formats(basis);
}

bool plan_divides_heads(const struct plan_basis *basis, int ways)
{
	int heads = basis->heads, kv_heads = basis->kv_heads;

	if (ways > 1 && !workload_may_split(basis->workload))
		return false;
	/* Fewer KV heads than ways are copied, as engines do. */
	return (heads == 0 || heads % ways == 0) &&
	       (kv_heads == 0 || kv_heads % ways == 0 || ways % kv_heads == 0);
}

int plan_domain(const struct planning *planning)
{
	const struct fabric *fabric = &planning->fabric;

	switch (fabric->node_link) {
	case NODE_LINK_NVSWITCH:
	case NODE_LINK_NVLINK_MESH:
	case NODE_LINK_NVLINK_PAIR:
	case NODE_LINK_XGMI:
	case NODE_LINK_TORUS:
		if (fabric->domain_gpus > 0 && fabric->domain_gpus < planning->gpus)
			return fabric->domain_gpus;
		return planning->gpus;
	case NODE_LINK_UNKNOWN:
	case NODE_LINK_SINGLE:
	case NODE_LINK_PCIE_PEER:
	case NODE_LINK_PCIE_HOST:
	case NODE_LINKS:
		break;
	}
	return 1;
}

bool plan_is_spent(struct planning *planning)
{
	if (planning->evaluations < planning->evaluations_most)
		return false;
	planning->out->is_cut = true;
	return true;
}

void plan_time(struct planning *planning, int fidelity, struct plan *plan)
{
	const struct plan_format *format = &planning->basis->formats[fidelity];

	planning->evaluations++;
	plan->support = format->support;
	speed_estimate(&format->speed, &plan->layout, &planning->fabric, &plan->speed);
}

void plan_judge(struct planning *planning, struct plan *plan)
{
	planning->evaluations++;
	memory_estimate(&planning->basis->memory, &plan->layout, &planning->basis->slice,
			&plan->memory);
	plan_fit(planning, plan);
}

void plan_fit(const struct planning *planning, struct plan *plan)
{
	const struct memory_estimate *memory = &plan->memory;
	double usable = planning->usable_bytes;

	plan->usable_bytes = usable;
	plan->headroom_bytes = usable - memory->device_bytes;
	plan->fit = FIT_NO;
	if (memory->host_bytes > 0 && planning->ram_bytes > 0 &&
	    memory->host_bytes > planning->ram_bytes)
		return;
	if (memory->device_bytes <= planning->limit_bytes)
		plan->fit = memory->high_bytes <= usable ? FIT_FITS : FIT_TIGHT;
	/* Offload to RAM that nobody told of cannot be promised. */
	if (plan->fit == FIT_FITS && memory->host_bytes > 0 && !(planning->ram_bytes > 0))
		plan->fit = FIT_TIGHT;
}

/* More is better: speed; under a rate, which any plan kept answers, the time that a request takes.
 */
static double merit_of(const struct planning *planning, const struct speed_estimate *speed)
{
	const struct workload *workload = planning->basis->workload;

	if (is_pipeline(workload) && is_serving(workload))
		return workload->items_per_hour > 0 ? -speed->batch_seconds
						    : speed->items_per_second;
	if (!(workload->requests_per_second > 0))
		return speed->tokens_per_second;
	return -(speed->ttft_seconds + speed->tpot_seconds * (double)workload->output_tokens);
}

/* Which of two plans on equally many nodes. */
static bool is_better(const struct planning *planning, const struct plan *a, int fidelity_a,
		      const struct plan *b, int fidelity_b)
{
	if (a->fit != b->fit)
		return a->fit > b->fit;
	if (fidelity_a != fidelity_b)
		return fidelity_a < fidelity_b;
	return merit_of(planning, &a->speed) > merit_of(planning, &b->speed);
}

static int fidelity_of(const struct planning *planning, const struct plan *plan)
{
	const struct plan_basis *basis = planning->basis;

	for (int i = 0; i < basis->formats_count; i++)
		if (basis->formats[i].weight == plan->layout.weight_format &&
		    basis->formats[i].kv == plan->layout.kv_format)
			return i;
	return basis->formats_count;
}

bool plan_may_win(const struct planning *planning, int nodes, int fidelity)
{
	const struct plan_set *set = planning->out;

	for (int i = 0; i < set->count && set->plans[i].layout.nodes <= nodes; i++)
		if (set->plans[i].fit == FIT_FITS &&
		    fidelity_of(planning, &set->plans[i]) < fidelity)
			return false;
	return true;
}

int plan_nodes_left(const struct planning *planning, int fidelity)
{
	const struct plan_set *set = planning->out;
	int most = planning->max_nodes;

	for (int i = 0; i < set->count; i++)
		if (set->plans[i].fit == FIT_FITS && set->plans[i].layout.nodes <= most &&
		    fidelity_of(planning, &set->plans[i]) < fidelity)
			most = set->plans[i].layout.nodes - 1;
	return most;
}

bool plan_is_beaten(const struct planning *planning, int nodes, const struct speed_estimate *speed,
		    int fidelity)
{
	const struct plan_set *set = planning->out;

	for (int i = 0; i < set->count && set->plans[i].layout.nodes <= nodes; i++)
		if (set->plans[i].fit == FIT_FITS &&
		    fidelity_of(planning, &set->plans[i]) <= fidelity &&
		    merit_of(planning, speed) <= merit_of(planning, &set->plans[i].speed))
			return true;
	return false;
}

void plan_keep(struct planning *planning, const struct plan *plan, int fidelity)
{
	struct plan_set *set = planning->out;
	int at = 0;

	while (at < set->count && set->plans[at].layout.nodes < plan->layout.nodes)
		at++;
	if (at < set->count && set->plans[at].layout.nodes == plan->layout.nodes) {
		if (is_better(planning, plan, fidelity, &set->plans[at],
			      fidelity_of(planning, &set->plans[at])))
			set->plans[at] = *plan;
		return;
	}
	if (at == PLANS_MAX)
		return;
	if (set->count < PLANS_MAX)
		set->count++;
	for (int i = set->count - 1; i > at; i--)
		set->plans[i] = set->plans[i - 1];
	set->plans[at] = *plan;
}

bool plan_is_nearer(const struct planning *planning, double distance)
{
	const struct plan_set *set = planning->out;

	return !set->count &&
	       (!(set->nearest.usable_bytes > 0) || distance < set->nearest_distance);
}

void plan_miss(struct planning *planning, const struct plan *plan)
{
	struct plan_set *set = planning->out;
	double memory = plan->memory.device_bytes / planning->limit_bytes;
	double nodes = (double)plan->layout.nodes / planning->max_nodes;
	double host = planning->ram_bytes > 0 ? plan->memory.host_bytes / planning->ram_bytes : 0;
	double distance = memory > nodes ? memory : nodes;
	struct support_verdict support = set->nearest.support;

	if (host > distance)
		distance = host;
	if (!plan_is_nearer(planning, distance))
		return;
	set->nearest = *plan;
	set->nearest.support = support;
	set->nearest_limit_bytes = planning->limit_bytes;
	set->nearest_ram_bytes = planning->ram_bytes;
	set->nearest_distance = distance;
}

/* More nodes that give nothing over fewer are no choice. */
static void drop_dominated(struct planning *planning)
{
	struct plan_set *set = planning->out;
	int kept = 0;

	for (int i = 0; i < set->count; i++) {
		bool is_dominated = false;

		for (int j = 0; j < kept && !is_dominated; j++)
			is_dominated = !is_better(
				planning, &set->plans[i], fidelity_of(planning, &set->plans[i]),
				&set->plans[j], fidelity_of(planning, &set->plans[j]));
		if (!is_dominated)
			set->plans[kept++] = set->plans[i];
	}
	set->count = kept;
}

static bool has_asked_degrees(const struct workload *workload)
{
	return workload->tensor_parallel || workload->pipeline_parallel ||
	       workload->context_parallel || workload->expert_parallel;
}

static enum plan_failure failure_of(const struct planning *planning, bool is_supported,
				    bool has_figures)
{
	if (!is_supported)
		return PLAN_UNSUPPORTED;
	if (!has_figures)
		return PLAN_NO_FIGURES;
	if (planning->out->slow_distance > 0)
		return PLAN_TOO_SLOW;
	if (has_asked_degrees(planning->basis->workload) &&
	    planning->out->nearest.layout.gpus_per_node == 0)
		return PLAN_NO_LAYOUT;
	/* A cluster shares out what one machine holds at best: no more than it has machines. */
	if (planning->max_nodes > 1 && !planning->shape->has_cluster &&
	    planning->basis->workload->task != TASK_INFERENCE &&
	    planning->out->nearest_distance <= planning->max_nodes)
		return PLAN_NO_CLUSTER;
	return PLAN_NO_MEMORY;
}

/* What is told of a plan that was kept. */
static void finish(struct planning *planning, struct plan *plan)
{
	const struct layout *layout = &plan->layout;
	int copies =
		is_serving(planning->basis->workload) ? layout->replicas : layout->data_parallel;

	plan->is_cut = planning->out->is_cut;
	plan->idle_gpus = planning->gpus * layout->nodes - layout_gpus_per_replica(layout) * copies;
	if (is_serving(planning->basis->workload) && is_pipeline(planning->basis->workload)) {
		if (planning->basis->workload->items_per_hour > 0)
			plan_media_most(planning->basis->workload, plan);
		return;
	}
	if (is_serving(planning->basis->workload) &&
	    planning->basis->workload->requests_per_second > 0)
		plan_serving_most(planning, fidelity_of(planning, plan), plan);
}

static int evaluations_left(const struct plan_basis *basis)
{
	int64_t left = PLAN_EVALUATIONS_MAX - basis->evaluations;

	if (left < PLAN_EVALUATIONS_LEAST)
		return PLAN_EVALUATIONS_LEAST;
	return left < PLAN_EVALUATIONS_SHAPE ? (int)left : PLAN_EVALUATIONS_SHAPE;
}

void plan_shape(struct plan_basis *basis, const struct shape *shape, int max_nodes,
		struct plan_set *out)
{
	int32_t share = shape->count_milli < COUNT_MILLI_ONE ? shape->count_milli : COUNT_MILLI_ONE;
	int devices = devices_of(shape->accelerator);
	struct planning planning = {
		.basis = basis,
		.shape = shape,
		.fabric = shape->fabric,
		.gpus = share < COUNT_MILLI_ONE ? 1
						: shape->count_milli / COUNT_MILLI_ONE * devices,
		.max_nodes = max_nodes < 1 ? 1 : max_nodes,
		.ram_bytes = shape->ram_gib * GIB * RAM_SHARE,
		.evaluations_most = evaluations_left(basis),
		.out = out};
	bool is_supported = false, has_figures = false;

	planning.can_talk = strcmp(shape->accelerator->form_factor, "MIG") != 0;
	/* Dies of one card are joined as well as cards are, at least. */
	if (devices > 1 && planning.fabric.node_link == NODE_LINK_SINGLE)
		planning.fabric = fabric_of_accelerator(shape->accelerator, devices);
	out->count = 0;
	out->is_cut = false;
	out->failure = PLAN_OK;
	out->nearest = out->slow = (struct plan){0};
	out->nearest_limit_bytes = out->nearest_ram_bytes = 0;
	out->nearest_distance = out->slow_distance = 0;
	prepare_accelerator(basis, shape->accelerator, share / devices);
	planning.usable_bytes = accelerator_memory_bytes(&basis->slice);
	planning.limit_bytes = planning.usable_bytes;
	if (is_serving(basis->workload) && !is_pipeline(basis->workload))
		planning.limit_bytes *= basis->workload->gpu_memory_utilization;
	for (int i = 0; i < basis->formats_count; i++) {
		const struct plan_format *format = &basis->formats[i];

		if (format->support.support == SUPPORT_NO ||
		    format->support.support == SUPPORT_UNKNOWN) {
			if (!out->count && !out->nearest.support.code)
				out->nearest.support = format->support;
			continue;
		}
		is_supported = true;
		if (!plan_format_has_speed(basis, i))
			continue;
		has_figures = true;
		if (is_serving(basis->workload) && is_pipeline(basis->workload))
			plan_media(&planning, i);
		else if (is_serving(basis->workload))
			plan_serving(&planning, i);
		else
			plan_training(&planning, i);
		/* A format of less fidelity gains nothing over one that fits on a single node. */
		if (out->count && out->plans[0].layout.nodes == 1 && out->plans[0].fit == FIT_FITS)
			break;
	}
	basis->evaluations += planning.evaluations;
	drop_dominated(&planning);
	for (int i = 0; i < out->count; i++)
		finish(&planning, &out->plans[i]);
	if (!out->count)
		out->failure = failure_of(&planning, is_supported, has_figures);
}
