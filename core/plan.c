/*
 * Plan: formats in order of fidelity, what fits, and which layouts are kept: see plan.h. Layouts
 * are made in plan_train.c and plan_serve.c.
 */
#include "core/plan.h"

#include "core/plan_parts.h"

static const char *const failure_text[PLAN_FAILURES] = {
	[PLAN_OK] = "ok",
	[PLAN_UNSUPPORTED] = "unsupported",
	[PLAN_NO_MEMORY] = "memory",
	[PLAN_NO_FIGURES] = "no_figures",
	[PLAN_TOO_SLOW] = "too_slow",
	[PLAN_NO_CLUSTER] = "no_cluster",
};
const struct names plan_failure_names = {failure_text, PLAN_FAILURES};

/* Of a node's RAM, what offloaded states may take: the rest is the system's and the data loader's.
 */
#define RAM_SHARE 0.85

static bool is_serving(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE;
}

/* Weights that an engine serves in, best fidelity first, behind the model's own format. */
static int weight_candidates(const struct workload *workload, enum format out[PLAN_FORMATS_MAX])
{
	static const enum format server[] = {FORMAT_BF16, FORMAT_FP16, FORMAT_FP8, FORMAT_INT8,
					     FORMAT_AWQ};
	static const enum format transformers[] = {FORMAT_BF16, FORMAT_FP16, FORMAT_INT8,
						   FORMAT_NF4};
	static const enum format gguf[] = {FORMAT_FP16, FORMAT_Q8_0, FORMAT_Q6_K, FORMAT_Q5_K_M,
					   FORMAT_Q4_K_M};
	const enum format *list = server;
	int length = sizeof(server) / sizeof(server[0]), count = 0;
	enum format native = workload->architecture->native_format;

	if (workload->weight_format != FORMAT_AUTO) {
		out[0] = (enum format)workload->weight_format;
		return 1;
	}
	if (workload->engine == ENGINE_TRANSFORMERS) {
		list = transformers;
		length = sizeof(transformers) / sizeof(transformers[0]);
	} else if (workload->engine == ENGINE_LLAMA_CPP) {
		list = gguf;
		length = sizeof(gguf) / sizeof(gguf[0]);
	} else if (native != FORMAT_AUTO && native != FORMAT_FP32) {
		out[count++] = native;
	}
	for (int i = 0; i < length; i++)
		if (!count || list[i] != out[0])
			out[count++] = list[i];
	return count;
}

/* Formats of a KV cache for weights in `weight`, best fidelity first. */
static int kv_candidates(const struct plan_basis *basis, enum format weight, enum format out[2])
{
	const struct workload *workload = basis->workload;
	const struct accelerator *accelerator = basis->accelerator;
	bool is_nvidia = accelerator->vendor == VENDOR_NVIDIA;
	int count = 0;

	if (workload->kv_format != FORMAT_AUTO) {
		out[0] = (enum format)workload->kv_format;
		return 1;
	}
	out[count++] = weight == FORMAT_FP16 || workload->engine == ENGINE_LLAMA_CPP ||
				       (is_nvidia && accelerator->compute_capability < 80)
			       ? FORMAT_FP16
			       : FORMAT_BF16;
	if (workload->engine == ENGINE_LLAMA_CPP)
		out[count++] = FORMAT_INT8;
	else if (workload->engine != ENGINE_TRANSFORMERS &&
		 (!is_nvidia || accelerator->compute_capability >= 80))
		out[count++] = FORMAT_FP8; /* stored in 8 bits; Ampere converts as it reads */
	return count;
}

static void add_format(struct plan_basis *basis, enum format weight, enum format kv)
{
	struct plan_format *format = &basis->formats[basis->formats_count];
	const struct workload *workload = basis->workload;
	/* Full training has no quantised base under trial. */
	bool is_trial = is_serving(workload) || workload_base_is_frozen(workload);

	if (basis->formats_count == PLAN_FORMATS_MAX)
		return;
	*format = (struct plan_format){.weight = weight, .kv = kv};
	format->support = support_of(workload, is_trial ? weight : FORMAT_AUTO, basis->accelerator);
	format->has_speed = speed_prepare(workload, &basis->slice, is_trial ? weight : FORMAT_AUTO,
					  &format->speed);
	basis->formats_count++;
}

static void serving_formats(struct plan_basis *basis)
{
	enum format weights[PLAN_FORMATS_MAX], kvs[2];
	int weights_count = weight_candidates(basis->workload, weights);
	bool is_open = basis->workload->weight_format == FORMAT_AUTO;
	bool has_sixteen = false;

	for (int i = 0; i < weights_count; i++) {
		bool is_sixteen = weights[i] == FORMAT_BF16 || weights[i] == FORMAT_FP16;
		struct support_verdict verdict;

		/* One 16-bit format is enough: the second is for cards without the first. */
		if (is_open && is_sixteen && has_sixteen)
			continue;
		verdict = support_of(basis->workload, weights[i], basis->accelerator);
		if (is_open && verdict.support == SUPPORT_NO && i + 1 < weights_count)
			continue;
		has_sixteen = has_sixteen || is_sixteen;
		for (int j = 0, n = kv_candidates(basis, weights[i], kvs); j < n; j++)
			add_format(basis, weights[i], kvs[j]);
	}
}

/* Found once: a search for ranks that divide the batch, layout by layout, took seconds for a large
 * prime. */
static void list_divisors(int64_t batch, struct plan_basis *basis)
{
	int64_t low = 1, high;
	int *count = &basis->divisors_count;

	for (; low * low <= batch && *count < PLAN_DIVISORS_MAX; low++)
		if (batch % low == 0)
			basis->divisors[(*count)++] = (int32_t)low;
	for (int i = *count - 1; i >= 0 && *count < PLAN_DIVISORS_MAX; i--) {
		high = batch / basis->divisors[i];
		if (high > basis->divisors[*count - 1])
			basis->divisors[(*count)++] = (int32_t)high;
	}
}

void plan_prepare(const struct workload *workload, struct plan_basis *basis)
{
	*basis = (struct plan_basis){.workload = workload};
	memory_prepare(workload, &basis->memory);
	if (!is_serving(workload) && workload_has(workload, WORKLOAD_global_batch))
		list_divisors(workload->global_batch, basis);
}

/* A slice of a card has its share of everything. */
static void prepare_accelerator(struct plan_basis *basis, const struct accelerator *accelerator,
				int32_t share_milli)
{
	const struct workload *workload = basis->workload;
	double share = (double)share_milli / COUNT_MILLI_ONE;
	struct accelerator *slice = &basis->slice;

	if (basis->accelerator == accelerator && basis->share_milli == share_milli)
		return;
	basis->accelerator = accelerator;
	basis->share_milli = share_milli;
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
	basis->formats_count = 0;
	if (is_serving(workload))
		serving_formats(basis);
	else
		add_format(basis,
			   workload_base_is_frozen(workload) ? (enum format)workload->base_format
							     : FORMAT_BF16,
			   FORMAT_BF16);
}

bool plan_divides_heads(const struct architecture *architecture, int ways)
{
	int heads = architecture_heads_divisor(architecture);
	int kv_heads = architecture_kv_heads_divisor(architecture);

	/* Fewer KV heads than ways are copied, as engines do. */
	return (heads == 0 || heads % ways == 0) &&
	       (kv_heads == 0 || kv_heads % ways == 0 || ways % kv_heads == 0);
}

int plan_domain(const struct planning *planning)
{
	const struct fabric *fabric = &planning->shape->fabric;

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

void plan_judge(const struct planning *planning, struct plan *plan)
{
	struct memory_estimate *memory = &plan->memory;
	double usable = planning->usable_bytes;

	memory_estimate(&planning->basis->memory, &plan->layout, &planning->basis->slice, memory);
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

/* Which of two plans on equally many nodes. */
static bool is_better(const struct plan *a, int fidelity_a, const struct plan *b, int fidelity_b)
{
	if (a->fit != b->fit)
		return a->fit > b->fit;
	if (fidelity_a != fidelity_b)
		return fidelity_a < fidelity_b;
	return a->speed.tokens_per_second > b->speed.tokens_per_second;
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

void plan_keep(struct planning *planning, const struct plan *plan, int fidelity)
{
	struct plan_set *set = planning->out;
	int at = 0;

	while (at < set->count && set->plans[at].layout.nodes < plan->layout.nodes)
		at++;
	if (at < set->count && set->plans[at].layout.nodes == plan->layout.nodes) {
		if (is_better(plan, fidelity, &set->plans[at],
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
	if (set->nearest.usable_bytes > 0 && distance >= set->nearest_distance)
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
			is_dominated =
				!is_better(&set->plans[i], fidelity_of(planning, &set->plans[i]),
					   &set->plans[j], fidelity_of(planning, &set->plans[j]));
		if (!is_dominated)
			set->plans[kept++] = set->plans[i];
	}
	set->count = kept;
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
	if (planning->max_nodes > 1 && !planning->shape->has_cluster &&
	    planning->basis->workload->task != TASK_INFERENCE)
		return PLAN_NO_CLUSTER;
	return PLAN_NO_MEMORY;
}

void plan_shape(struct plan_basis *basis, const struct shape *shape, int max_nodes,
		struct plan_set *out)
{
	int32_t share = shape->count_milli < COUNT_MILLI_ONE ? shape->count_milli : COUNT_MILLI_ONE;
	struct planning planning = {
		.basis = basis,
		.shape = shape,
		.gpus = share < COUNT_MILLI_ONE ? 1 : shape->count_milli / COUNT_MILLI_ONE,
		.max_nodes = max_nodes < 1 ? 1 : max_nodes,
		.ram_bytes = shape->ram_gib * GIB * RAM_SHARE,
		.out = out};
	bool is_supported = false, has_figures = false;

	out->count = 0;
	out->failure = PLAN_OK;
	out->nearest = (struct plan){0};
	out->nearest_distance = out->slow_distance = 0;
	prepare_accelerator(basis, shape->accelerator, share);
	planning.usable_bytes = accelerator_memory_bytes(&basis->slice);
	planning.limit_bytes = planning.usable_bytes;
	if (is_serving(basis->workload))
		planning.limit_bytes *= basis->workload->gpu_memory_utilization;
	for (int i = 0; i < basis->formats_count; i++) {
		const struct plan_format *format = &basis->formats[i];

		if (format->support.support == SUPPORT_NO ||
		    format->support.support == SUPPORT_UNKNOWN) {
			if (!out->nearest.support.code)
				out->nearest.support = format->support;
			continue;
		}
		is_supported = true;
		if (!format->has_speed)
			continue;
		has_figures = true;
		if (is_serving(basis->workload))
			plan_serving(&planning, i);
		else
			plan_training(&planning, i);
		/* A format of less fidelity gains nothing over one that fits on a single node. */
		if (out->count && out->plans[0].layout.nodes == 1 && out->plans[0].fit == FIT_FITS)
			break;
	}
	drop_dominated(&planning);
	if (!out->count)
		out->failure = failure_of(&planning, is_supported, has_figures);
}
