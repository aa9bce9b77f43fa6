/*
 * Sizing: see sizing.h. Layouts are enumerated here without regard to speed; what the caller fixed
 * (sharding, recompute, formats) is kept, what is left to choose is listed side by side.
 */
#include "core/sizing.h"

#include "core/support.h"

#include <math.h>

static const int gpu_counts[] = {1, 2, 4, 8, 16};
#define GPU_COUNTS (int)(sizeof(gpu_counts) / sizeof(gpu_counts[0]))
#define NODE_GPUS 8
#define SPREAD_MOST 8192

/* Choices that are listed where the caller left them open, by fidelity. */
#define WEIGHT_CHOICES 3
static const enum format weight_formats[WEIGHT_CHOICES - 1] = {FORMAT_FP8, FORMAT_AWQ};
static const enum format gguf_formats[WEIGHT_CHOICES - 1] = {FORMAT_Q8_0, FORMAT_Q4_K_M};
static const enum format converted_formats[WEIGHT_CHOICES - 1] = {FORMAT_INT8};
static const enum format pipeline_formats[WEIGHT_CHOICES - 1] = {FORMAT_FP8, FORMAT_NF4};
static const enum format kv_formats[] = {FORMAT_BF16, FORMAT_FP8};
/* llama.cpp's 8 bits are integers; transformers' cache is tried in 16 bit alone. */
static const enum format gguf_kv_formats[] = {FORMAT_BF16, FORMAT_INT8};
static const enum sharding shardings[] = {SHARDING_NONE, SHARDING_ZERO2, SHARDING_ZERO3};
static const enum recompute recomputes[] = {RECOMPUTE_NONE, RECOMPUTE_FULL};

#define LAYOUTS_MAX ((GPU_COUNTS + 1) * 6)

struct enumeration {
	const struct workload *workload;
	struct memory_basis basis;
	struct sizing_layout *layouts;
	int count;
};

void sizing_single_layout(const struct workload *workload, struct layout *out)
{
	bool is_serving = workload->task == TASK_INFERENCE;
	int64_t micro = workload->micro_batch > 0 ? workload->micro_batch : 1;

	*out = layout_single;
	if (workload->recompute != RECOMPUTE_AUTO)
		out->recompute = (enum recompute)workload->recompute;
	if (workload->offload != OFFLOAD_AUTO)
		out->offload = (enum offload)workload->offload;
	if (workload->base_format != FORMAT_AUTO)
		out->weight_format = (enum format)workload->base_format;
	out->micro_batch = micro;
	if (!is_serving) {
		out->accumulation =
			workload->global_batch > micro && !workload->optimizer_in_backward
				? workload->global_batch / micro
				: 1;
		return;
	}
	out->sequences = workload->concurrency > 0 ? (double)workload->concurrency : 1;
	out->weight_format = workload->weight_format == FORMAT_AUTO
				     ? workload->architecture->native_format
				     : (enum format)workload->weight_format;
	if (out->weight_format == FORMAT_AUTO || out->weight_format == FORMAT_FP32)
		out->weight_format = FORMAT_BF16;
	if (workload->kv_format != FORMAT_AUTO)
		out->kv_format = (enum format)workload->kv_format;
}

/* As the planner judges: an engine is told to leave a share of the card alone. */
static enum fit fit_of(const struct workload *workload, const struct memory_estimate *memory,
		       double usable)
{
	double limit = usable;

	if (workload->task == TASK_INFERENCE)
		limit *= workload->gpu_memory_utilization;
	if (memory->device_bytes > limit)
		return FIT_NO;
	return memory->high_bytes <= usable ? FIT_FITS : FIT_TIGHT;
}

/* Sure fits before tight ones, then the smallest card first, then by name. */
static bool goes_before(const struct sizing_holder *a, const struct sizing_holder *b)
{
	if (a->fit != b->fit)
		return a->fit > b->fit;
	return a->usable_bytes < b->usable_bytes;
}

static void hold(struct sizing_layout *item, const struct sizing_holder *holder)
{
	int at = item->holders_count;

	if (at == SIZING_HOLDERS_MAX) {
		if (!goes_before(holder, &item->holders[at - 1]))
			return;
		at--;
	} else {
		item->holders_count++;
	}
	for (; at > 0 && goes_before(holder, &item->holders[at - 1]); at--)
		item->holders[at] = item->holders[at - 1];
	item->holders[at] = *holder;
}

/* A trained model's format is its precision's business, which `workload` tells. */
static enum format asked_format(const struct workload *workload, const struct layout *layout)
{
	return workload->task == TASK_INFERENCE || workload_base_is_frozen(workload)
		       ? layout->weight_format
		       : FORMAT_AUTO;
}

static void find_holders(const struct enumeration *list, struct sizing_layout *item)
{
	const struct workload *workload = list->workload;
	enum format format = asked_format(workload, &item->layout);
	size_t i;

	for (i = 0; i < accelerators_count; i++) {
		struct sizing_holder holder = {.accelerator = &accelerators[i]};
		struct support_verdict verdict = support_of(workload, format, holder.accelerator);
		struct memory_estimate memory;

		if (verdict.support == SUPPORT_NO || verdict.support == SUPPORT_UNKNOWN)
			continue;
		memory_estimate(&list->basis, &item->layout, holder.accelerator, &memory);
		holder.usable_bytes = accelerator_memory_bytes(holder.accelerator);
		holder.total_bytes = memory.device_bytes;
		holder.headroom_bytes = holder.usable_bytes - memory.device_bytes;
		holder.fit = fit_of(workload, &memory, holder.usable_bytes);
		if (holder.fit != FIT_NO)
			hold(item, &holder);
	}
}

static void add(struct enumeration *list, const struct layout *layout)
{
	struct sizing_layout *item = &list->layouts[list->count++];

	item->layout = *layout;
	memory_estimate(&list->basis, layout, NULL, &item->memory);
	find_holders(list, item);
}

static void set_gpus(struct layout *layout, int gpus)
{
	layout->gpus_per_node = gpus < NODE_GPUS ? gpus : NODE_GPUS;
	layout->nodes = gpus / layout->gpus_per_node;
}

/* The weights as published, then in the formats that the engine knows with fewer bits. */
static int weight_choices(const struct workload *workload, enum format out[WEIGHT_CHOICES])
{
	const enum format *list = workload->architecture->media		   ? pipeline_formats
				  : workload->engine == ENGINE_LLAMA_CPP   ? gguf_formats
				  : workload->engine == ENGINE_CTRANSLATE2 ? converted_formats
									   : weight_formats;
	struct layout single;
	int count = 1;

	sizing_single_layout(workload, &single);
	out[0] = single.weight_format;
	for (int i = 0; workload->weight_format == FORMAT_AUTO && i < WEIGHT_CHOICES - 1; i++)
		if (list[i] != FORMAT_AUTO &&
		    format_facts(list[i])->linear_bits < format_facts(out[0])->linear_bits)
			out[count++] = list[i];
	return count;
}

/* A pipeline over all GPUs of a node: they share the sequence of tokens, and may share the weights.
 */
static void pipeline_on(struct enumeration *list, int gpus)
{
	static const enum sharding ways[] = {SHARDING_NONE, SHARDING_ZERO3};
	const struct workload *workload = list->workload;
	const struct media_denoiser *denoiser = &workload->architecture->media->denoiser;
	enum format weights[WEIGHT_CHOICES];
	struct layout layout;

	if (gpus > NODE_GPUS ||
	    (workload_has(workload, WORKLOAD_context_parallel) &&
	     workload->context_parallel != gpus) ||
	    (gpus > 1 && (denoiser->unet.levels || denoiser->blocks[0].heads % gpus ||
			  workload->media_offload != MEDIA_OFFLOAD_NONE)))
		return;
	sizing_single_layout(workload, &layout);
	set_gpus(&layout, gpus);
	layout.context_parallel = gpus;
	for (int w = 0, choices = weight_choices(workload, weights); w < choices; w++)
		for (int i = 0; i < (gpus > 1 ? 2 : 1); i++) {
			if (gpus > 1 && workload->sharding != SHARDING_AUTO &&
			    workload->sharding != (int)ways[i])
				continue;
			layout.weight_format = weights[w];
			layout.sharding = ways[i];
			add(list, &layout);
		}
}

/* One model over all GPUs of a node: more copies only repeat the same memory. */
static int asked(int64_t degree, int otherwise)
{
	return degree > 0 ? (int)degree : otherwise;
}

static void serve_on(struct enumeration *list, int gpus)
{
	const struct workload *workload = list->workload;
	int divisor = architecture_heads_divisor(workload->architecture), choices;
	enum format weights[WEIGHT_CHOICES];
	struct layout layout;

	sizing_single_layout(workload, &layout);
	set_gpus(&layout, gpus);
	layout.pipeline_parallel =
		asked(workload->pipeline_parallel,
		      workload->tensor_parallel ? gpus / (int)workload->tensor_parallel : 1);
	if (gpus > NODE_GPUS || layout.pipeline_parallel < 1 ||
	    (gpus > 1 && !workload_may_split(workload)))
		return;
	layout.tensor_parallel = asked(workload->tensor_parallel, gpus / layout.pipeline_parallel);
	if (layout.tensor_parallel < 1 ||
	    layout.tensor_parallel * layout.pipeline_parallel != gpus ||
	    (divisor > 0 && divisor % layout.tensor_parallel != 0))
		return;
	choices = weight_choices(workload, weights);
	for (int w = 0; w < choices; w++) {
		layout.weight_format = weights[w];
		for (size_t k = 0; k < sizeof(kv_formats) / sizeof(kv_formats[0]); k++) {
			if (workload->kv_format == FORMAT_AUTO)
				layout.kv_format = workload->engine == ENGINE_LLAMA_CPP
							   ? gguf_kv_formats[k]
							   : kv_formats[k];
			add(list, &layout);
			if (workload->kv_format != FORMAT_AUTO || workload_only_reads(workload) ||
			    workload->engine == ENGINE_TRANSFORMERS ||
			    workload->engine == ENGINE_CTRANSLATE2)
				break;
		}
	}
}

static void train_with(struct enumeration *list, struct layout *layout)
{
	const struct workload *workload = list->workload;
	size_t i;

	if (workload->recompute != RECOMPUTE_AUTO) {
		layout->recompute = (enum recompute)workload->recompute;
		add(list, layout);
		return;
	}
	for (i = 0; i < sizeof(recomputes) / sizeof(recomputes[0]); i++) {
		layout->recompute = recomputes[i];
		add(list, layout);
	}
}

static bool takes_sharding(const struct workload *workload, enum sharding sharding)
{
	if (workload->optimizer == OPTIMIZER_GALORE_ADAMW)
		return sharding == SHARDING_NONE;
	return !workload->optimizer_in_backward || sharding != SHARDING_ZERO2;
}

static void train_on(struct enumeration *list, int gpus)
{
	const struct workload *workload = list->workload;
	struct layout layout;
	int64_t passes;
	size_t i;

	sizing_single_layout(workload, &layout);
	set_gpus(&layout, gpus);
	/* Megatron splits the model inside the node. */
	layout.tensor_parallel =
		asked(workload->tensor_parallel,
		      workload->stack == STACK_MEGATRON && !workload->architecture->media
			      ? layout.gpus_per_node
			      : 1);
	layout.pipeline_parallel = asked(workload->pipeline_parallel, 1);
	layout.context_parallel = asked(workload->context_parallel, 1);
	layout.expert_parallel = asked(workload->expert_parallel, 1);
	layout.sequence_parallel = layout.tensor_parallel > 1 && workload->sequence_parallel;
	if (gpus % layout_gpus_per_replica(&layout))
		return;
	layout.data_parallel = gpus / layout_gpus_per_replica(&layout);
	if (layout.data_parallel % layout.expert_parallel)
		return;
	passes = workload->global_batch / (layout.micro_batch * layout.data_parallel);
	layout.accumulation = passes > 1 && !workload->optimizer_in_backward ? passes : 1;
	if (layout.data_parallel == 1) {
		train_with(list, &layout);
		return;
	}
	if (workload->sharding != SHARDING_AUTO) {
		layout.sharding = (enum sharding)workload->sharding;
		train_with(list, &layout);
		return;
	}
	for (i = 0; i < sizeof(shardings) / sizeof(shardings[0]); i++) {
		if (!takes_sharding(workload, shardings[i]))
			continue;
		layout.sharding = shardings[i];
		train_with(list, &layout);
	}
}

bool sizing_compute(const struct workload *workload, struct arena *arena, struct sizing *out,
		    struct error *error)
{
	struct enumeration list = {.workload = workload};
	struct layout single;
	int64_t ways;
	int i;

	list.layouts = arena_array(arena, LAYOUTS_MAX, sizeof(*list.layouts));
	if (!list.layouts)
		return error_set(error, ERROR_TOO_LARGE, "the request needs too much memory");
	memory_prepare(workload, &list.basis);
	sizing_single_layout(workload, &single);
	memory_estimate(&list.basis, &single, NULL, &out->memory);
	for (i = 0; i < GPU_COUNTS; i++) {
		if (workload->task == TASK_INFERENCE && workload->architecture->media)
			pipeline_on(&list, gpu_counts[i]);
		else if (workload->task == TASK_INFERENCE)
			serve_on(&list, gpu_counts[i]);
		else
			train_on(&list, gpu_counts[i]);
	}
	ways = (int64_t)asked(workload->tensor_parallel, 1) *
	       asked(workload->pipeline_parallel, 1) * asked(workload->context_parallel, 1);
	/* One copy of a model that was asked to be spread wider than that. */
	if (workload->task != TASK_INFERENCE && ways > gpu_counts[GPU_COUNTS - 1] &&
	    ways <= SPREAD_MOST && ways % NODE_GPUS == 0)
		train_on(&list, (int)ways);
	out->layouts = list.layouts;
	out->layouts_count = list.count;
	return true;
}

/* Whether any card takes the work in the layout's formats; if none does, what the last one lacks.
 */
static bool is_supported(const struct workload *workload, const struct layout *layout,
			 struct support_verdict *verdict)
{
	for (size_t i = 0; i < accelerators_count; i++) {
		*verdict = support_of(workload, asked_format(workload, layout), &accelerators[i]);
		if (verdict->support == SUPPORT_RUNS || verdict->support == SUPPORT_SLOW)
			return true;
	}
	return false;
}

void sizing_warn(const struct workload *workload, const struct sizing *sizing, const char *prefix,
		 struct error *warnings)
{
	struct support_verdict verdict = {.code = NULL};

	for (int i = 0; i < sizing->layouts_count; i++)
		if (sizing->layouts[i].holders_count > 0)
			return;
	if (sizing->layouts_count == 0) {
		error_add(warnings, prefix, "no_layout", NULL,
			  "no layout of 1 to %d GPUs has the degrees that are asked",
			  gpu_counts[GPU_COUNTS - 1]);
		return;
	}
	for (int i = 0; i < sizing->layouts_count; i++)
		if (is_supported(workload, &sizing->layouts[i].layout, &verdict)) {
			error_add(warnings, prefix, "no_room", NULL,
				  "no card has room for any of these layouts");
			return;
		}
	error_add(warnings, prefix, verdict.code, NULL, "%s", verdict.reason);
}
