/*
 * Changes: the other ways that remedies try, each as a change of the request: what a workload can
 * do without, and what its caller might.
 *
 * A change is one that the caller could make: a field counts as given from then on, and defaults
 * are filled in anew, so that the changed request gets the answer that its remedy names.
 */
#include "core/recommend_parts.h"

#define GIVE(workload, field, value)                                                               \
	((workload)->given |= WORKLOAD_BIT(WORKLOAD_##field), (workload)->field = (value))

static bool is_training(const struct workload *workload)
{
	return workload->task != TASK_INFERENCE;
}

static bool is_method(const struct workload *workload, enum method method)
{
	return workload->task == TASK_FINETUNE && workload->method == (int)method;
}

static bool apply_lora(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_method(workload, METHOD_FULL))
		return false;
	GIVE(workload, method, METHOD_LORA);
	return true;
}

static bool apply_qlora(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_method(workload, METHOD_FULL) && !is_method(workload, METHOD_LORA))
		return false;
	GIVE(workload, method, METHOD_QLORA);
	/* Asked of LoRA; QLoRA has its own. */
	workload->given &= ~WORKLOAD_BIT(WORKLOAD_base_format);
	return true;
}

static bool apply_small_optimizer(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) || workload_base_is_frozen(workload) ||
	    workload->optimizer != OPTIMIZER_ADAMW)
		return false;
	GIVE(workload, optimizer, OPTIMIZER_ADAMW_8BIT);
	return true;
}

static bool apply_pure_bf16(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) || workload_base_is_frozen(workload) ||
	    workload->precision == PRECISION_BF16 || workload->stack == STACK_MEGATRON)
		return false;
	GIVE(workload, precision, PRECISION_BF16);
	return true;
}

static bool apply_recompute(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) ||
	    (workload->recompute != RECOMPUTE_NONE && workload->recompute != RECOMPUTE_SELECTIVE))
		return false;
	GIVE(workload, recompute, RECOMPUTE_FULL);
	return true;
}

static bool apply_micro_batch(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) || workload->micro_batch <= 1)
		return false;
	GIVE(workload, micro_batch, 1);
	return true;
}

static bool apply_offload(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) || workload->offload != OFFLOAD_NONE)
		return false;
	GIVE(workload, offload, OFFLOAD_AUTO);
	return true;
}

static bool apply_sharding(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) || workload->sharding == SHARDING_AUTO ||
	    workload->sharding == SHARDING_ZERO3)
		return false;
	GIVE(workload, sharding, SHARDING_ZERO3);
	return true;
}

/* Bits of a format that is asked for; left to the planner, those that it tries first. */
static double bits_of(int format, enum format first)
{
	return format_facts(format == FORMAT_AUTO ? first : (enum format)format)->linear_bits;
}

static bool apply_kv_fp8(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (is_training(workload) || workload->architecture->media ||
	    bits_of(workload->kv_format, FORMAT_BF16) <= 8)
		return false;
	GIVE(workload, kv_format, FORMAT_FP8);
	return true;
}

static bool apply_weights(struct recommend_request *request, enum format format)
{
	struct workload *workload = &request->workload;
	enum format native = workload->architecture->native_format;

	if (is_training(workload) || workload->engine == ENGINE_LLAMA_CPP ||
	    bits_of(workload->weight_format, native == FORMAT_AUTO ? FORMAT_BF16 : native) <=
		    format_facts(format)->linear_bits)
		return false;
	GIVE(workload, weight_format, (int)format);
	return true;
}

static bool apply_weights_fp8(struct recommend_request *request)
{
	return apply_weights(request, FORMAT_FP8);
}

static bool apply_weights_awq(struct recommend_request *request)
{
	return !request->workload.architecture->media && apply_weights(request, FORMAT_AWQ);
}

static bool apply_weights_nf4(struct recommend_request *request)
{
	return request->workload.architecture->media && apply_weights(request, FORMAT_NF4);
}

static bool is_pipeline(const struct workload *workload)
{
	return workload->architecture->media && !is_training(workload);
}

static bool apply_compile(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_pipeline(workload) || workload->compile ||
	    workload->media_engine != MEDIA_ENGINE_PYTORCH)
		return false;
	GIVE(workload, compile, true);
	return true;
}

static bool apply_tiling(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_pipeline(workload) || workload->vae_tiling ||
	    workload->architecture->media->vae.tile <= 0)
		return false;
	GIVE(workload, vae_tiling, true);
	return true;
}

static bool apply_media_offload(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_pipeline(workload) || workload->media_offload != MEDIA_OFFLOAD_NONE)
		return false;
	GIVE(workload, media_offload, MEDIA_OFFLOAD_MODEL);
	return true;
}

static bool apply_group_offload(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_pipeline(workload) || workload->media_offload == MEDIA_OFFLOAD_GROUP ||
	    workload->media_offload == MEDIA_OFFLOAD_SEQUENTIAL)
		return false;
	GIVE(workload, media_offload, MEDIA_OFFLOAD_GROUP);
	return true;
}

/* Half as many, in whole latents. */
static bool apply_fewer_frames(struct recommend_request *request)
{
	struct workload *workload = &request->workload;
	int64_t step, first, frames;

	if (!is_pipeline(workload) || workload->frames < 2)
		return false;
	step = workload->architecture->media->vae.temporal;
	if (step < 1)
		step = 1;
	first = workload->architecture->media->vae.is_causal ? 1 : 0;
	frames = first + (workload->frames / 2 - first) / step * step;
	if (frames < 1)
		return false;
	GIVE(workload, frames, frames);
	workload->given &= ~WORKLOAD_BIT(WORKLOAD_seconds);
	return true;
}

static bool apply_cached_inputs(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!workload->architecture->media || !is_training(workload) ||
	    (workload->cached_latents && workload->cached_embeddings) ||
	    workload->train_text_encoder)
		return false;
	GIVE(workload, cached_latents, true);
	GIVE(workload, cached_embeddings, true);
	return true;
}

/* Half of each side: a quarter of the tokens where the model keeps an image's size. */
static bool apply_smaller_images(struct recommend_request *request)
{
	struct workload *workload = &request->workload;
	double before = workload->media_tokens;

	if (is_training(workload) || workload->architecture->media || !(before > 0) ||
	    workload->width < 64 || workload->height < 64)
		return false;
	GIVE(workload, width, workload->width / 2);
	GIVE(workload, height, workload->height / 2);
	return true;
}

static bool apply_one_beam(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (is_training(workload) || workload->beams <= 1)
		return false;
	GIVE(workload, beams, 1);
	return true;
}

/* Training of every weight keeps to one node unless told: spread_remedy() looks beyond. */
bool recommend_may_spread(const struct recommend_request *request)
{
	const struct workload *workload = &request->workload;

	return request->constraints.max_nodes == 0 &&
	       (workload->task == TASK_PRETRAIN || is_method(workload, METHOD_FULL));
}

static bool apply_more_nodes(struct recommend_request *request)
{
	int nodes = recommend_max_nodes(request);

	if (nodes >= 16 || recommend_may_spread(request))
		return false;
	request->constraints.max_nodes = nodes < 4 ? 4 : 16;
	return true;
}

static bool apply_spot(struct recommend_request *request)
{
	if (!is_training(&request->workload) || request->workload.fault_tolerant)
		return false;
	GIVE(&request->workload, fault_tolerant, true);
	return true;
}

static bool apply_no_deadline(struct recommend_request *request)
{
	if (!(request->constraints.deadline_seconds > 0))
		return false;
	request->constraints.deadline_seconds = 0;
	return true;
}

static bool apply_no_budget(struct recommend_request *request)
{
	struct constraints *constraints = &request->constraints;

	if (constraints->max_total_micros == PRICE_UNKNOWN &&
	    constraints->max_usd_per_hour_micros == PRICE_UNKNOWN)
		return false;
	constraints->max_total_micros = constraints->max_usd_per_hour_micros = PRICE_UNKNOWN;
	return true;
}

static bool has_filters(const struct filters *filters)
{
	return filters->providers_count || filters->excluded_providers_count ||
	       filters->regions_count || filters->countries_count || filters->accelerators_count ||
	       filters->price_kinds || filters->features || filters->least_gpus > 0 ||
	       filters->most_gpus > 0 || filters->available_only || filters->max_age_seconds > 0;
}

static bool apply_no_filters(struct recommend_request *request)
{
	if (!has_filters(&request->filters))
		return false;
	request->filters = (struct filters){0};
	return true;
}

/* Least intrusive first; what the caller ruled out comes last. */
const struct change recommend_changes[] = {
	{"recompute", apply_recompute, "With full recomputation of activations", .delay = 3},
	{"micro_batch", apply_micro_batch, "With a micro-batch of one and more accumulation",
	 .delay = 2},
	{"shard", apply_sharding, "With full sharding (ZeRO-3, FSDP)", .delay = 3},
	{"quantise_kv", apply_kv_fp8, "With the KV cache in fp8", .delay = 1},
	{"compile", apply_compile, "With the denoiser compiled", .delay = 0},
	{"cache_inputs", apply_cached_inputs,
	 "With latents and embeddings made once, before the training", .delay = 1},
	{"vae_tiling", apply_tiling, "With the VAE working tile by tile", .delay = 1},
	{"media_offload", apply_media_offload, "With the parts that are not at work in host memory",
	 .delay = 2},
	{"one_beam", apply_one_beam, "With greedy decoding instead of a search over beams",
	 .delay = 1},
	{"smaller_images", apply_smaller_images, "With images of half the width and height",
	 .delay = 1},
	{"more_nodes", apply_more_nodes, "With more machines", .delay = 0},
	{"small_optimizer", apply_small_optimizer, "With 8-bit AdamW", .delay = 1},
	{"pure_bf16", apply_pure_bf16, "With weights, gradients and states all in bf16",
	 .delay = 1},
	{"quantise_weights", apply_weights_fp8, "With weights in fp8", .delay = 1},
	{"quantise_weights", apply_weights_awq, "With weights in 4 bits (AWQ)", .delay = 2},
	{"quantise_weights", apply_weights_nf4, "With weights in 4 bits (NF4)", .delay = 3},
	{"media_offload", apply_group_offload,
	 "With the denoiser in host memory, coming block by block", .delay = 4},
	{"fewer_frames", apply_fewer_frames, "With half of the frames", .delay = 5},
	{"lora", apply_lora, "With LoRA instead of training every weight", .delay = 0},
	{"qlora", apply_qlora, "With QLoRA, the base frozen in 4 bits", .delay = 4},
	{"offload", apply_offload, "With states offloaded to host memory", .delay = 5},
	{"spot", apply_spot, "With checkpoints that make the work fault-tolerant, on spot",
	 .delay = 0},
	{"relax_deadline", apply_no_deadline, "Without the deadline", .is_of_caller = true},
	{"relax_budget", apply_no_budget, "Without the budget", .is_of_caller = true},
	{"relax_filters", apply_no_filters, "Without the filters", .is_of_caller = true},
};
const size_t recommend_changes_count = sizeof(recommend_changes) / sizeof(recommend_changes[0]);

bool recommend_change(const struct change *change, struct recommend_request *request,
		      struct arena *arena)
{
	struct error error;

	error_init(&error, arena);
	return change->apply(request) && workload_complete(&request->workload, "", &error);
}
