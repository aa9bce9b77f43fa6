/*
 * Memory of training a pipeline's denoiser: its weights, gradients and states, or a frozen base
 * with adapters; what the forward pass leaves; and encoders and VAE unless prompts and latents are
 * cached.
 *
 * Peak: the end of the backward pass of the first block, or the optimizer's step, or the encoding
 * of the samples before them.
 */
#include "core/memory/internal.h"

#include "core/fitted.h"

#include <math.h>

/* What a block leaves, in parts of what its shapes tell: inputs in fp32 of norms, masks. */
FITTED(SAVED_COPIES, 0.9, 0.6, 2);
/* Of the block at hand in the backward pass: what it leaves when it is passed again, and gradients
 * of it, of each tensor one at most. */
FITTED(BLOCK_COPIES, 1.4, 1, 2);
/* Of what a block leaves, what is left when attention and MLP are recomputed but for q, k, v. */
FITTED(SELECTIVE_SHARE, 0.32, 0.25, 0.6);

/* A sharded block and the next are whole. */
#define GROUPS_HELD 2

/* Parameters that are trained beside the denoiser's, or in place of them. */
struct trained {
	double denoiser, adapters, encoders;
};

static bool is_inversion(const struct workload *workload)
{
	return workload->task == TASK_FINETUNE && workload->method == METHOD_TEXTUAL_INVERSION;
}

static bool is_adapted(const struct workload *workload)
{
	return workload->task == TASK_FINETUNE &&
	       (workload->method == METHOD_LORA || workload->method == METHOD_QLORA);
}

static struct trained trained_of(const struct memory_basis *basis)
{
	const struct workload *workload = basis->workload;
	struct trained out = {0};

	if (is_adapted(workload))
		out.adapters = memory_adapter_parameters(workload);
	else if (is_inversion(workload))
		out.adapters = memory_adapter_parameters(workload);
	else
		out.denoiser = (double)basis->media.count.denoiser;
	if (workload->train_text_encoder && !is_adapted(workload) && !is_inversion(workload))
		out.encoders = (double)basis->media.count.text_encoders;
	return out;
}

/* Samples of one pass: those of the subject go with those of their class. */
static double samples_of(const struct workload *workload, const struct layout *layout)
{
	return (double)layout->micro_batch * (workload->prior_preservation ? 2 : 1);
}

/* Of the block that the backward pass comes to last, with what holds its gradients. */
static double block_activations(const struct memory_basis *basis, const struct layout *layout)
{
	double element = basis->workload->precision == PRECISION_FP32 ? 4 : 2;

	return samples_of(basis->workload, layout) * BLOCK_COPIES *
	       basis->media.denoise.block_elements * element;
}

static double activations(const struct memory_basis *basis, const struct layout *layout)
{
	const struct workload *workload = basis->workload;
	const struct media_work *work = &basis->media.denoise;
	double samples = samples_of(workload, layout);
	double element = workload->precision == PRECISION_FP32 ? 4 : 2;
	double left;

	switch (layout->recompute) {
	case RECOMPUTE_FULL:
		left = work->boundary_elements + BLOCK_COPIES * work->block_elements;
		break;
	case RECOMPUTE_SELECTIVE:
		left = SELECTIVE_SHARE * work->saved_elements + BLOCK_COPIES * work->block_elements;
		break;
	case RECOMPUTE_AUTO:
	case RECOMPUTE_NONE:
	case RECOMPUTES:
	default:
		left = SAVED_COPIES * work->saved_elements + work->block_elements;
	}
	if (!workload->fused_attention)
		left += 2 * work->score_elements;
	return samples * left * element;
}

/* The samples on their way to latents and embeddings, nothing left for a way back. */
static double encoding(const struct memory_basis *basis, const struct layout *layout)
{
	const struct workload *workload = basis->workload;
	double samples = samples_of(workload, layout);
	double pictures =
		workload->cached_latents
			? 0
			: memory_vae_activations(basis, FORMAT_BF16, samples, &basis->media.decode);
	double prompts =
		workload->cached_embeddings ? 0 : samples * basis->media.encode.peak_elements * 2;

	return fmax(pictures, prompts);
}

static void frozen_terms(const struct memory_basis *basis, const struct layout *layout, double ways,
			 struct memory_estimate *out)
{
	const struct workload *workload = basis->workload;
	bool are_cached = workload->cached_embeddings && !workload->train_text_encoder;

	if (!are_cached && !workload->text_encoders_on_cpu)
		out->text_encoders_bytes = memory_encoder_bytes(basis, FORMAT_BF16);
	else if (!are_cached)
		out->host_bytes = memory_encoder_bytes(basis, FORMAT_BF16) * layout->gpus_per_node;
	if (!workload->cached_latents)
		out->vae_bytes = memory_vae_bytes(basis, FORMAT_BF16);
	if (workload_base_is_frozen(workload) && workload->method != METHOD_DREAMBOOTH)
		out->weights_bytes = memory_denoiser_bytes(basis, layout->weight_format) / ways;
}

/* As for models of tokens, but that autocast's 16-bit copies live no longer than a block where all
 * is recomputed. */
static struct static_bytes kept_bytes(const struct workload *workload, const struct layout *layout,
				      bool is_frozen)
{
	struct static_bytes bytes = memory_static_bytes(workload, layout, is_frozen);
	bool is_cast = workload->precision == PRECISION_AMP_BF16 ||
		       workload->precision == PRECISION_AMP_FP16;

	if (!is_frozen && is_cast && layout->recompute == RECOMPUTE_FULL &&
	    workload->stack == STACK_HUGGINGFACE && bytes.master > 0) {
		bytes.weights = bytes.master;
		bytes.master = 0;
	}
	return bytes;
}

/* DeepSpeed's ZeRO-2 sends gradients to the host as buckets of so many are full. */
#define HOST_BUCKET_PARAMETERS 5e8

void memory_media_training_terms(const struct memory_basis *basis, const struct layout *layout,
				 struct memory_estimate *out)
{
	const struct workload *workload = basis->workload;
	const struct trained trained = trained_of(basis);
	bool is_frozen = trained.denoiser <= 0;
	struct static_bytes bytes = kept_bytes(workload, layout, is_frozen);
	double parameters = trained.denoiser + trained.adapters + trained.encoders;
	double d = layout->data_parallel > 1 ? layout->data_parallel : 1;
	double weights_ways = layout_shards_weights(layout) ? d : 1;
	double gradient_ways =
		layout->sharding == SHARDING_ZERO2 || layout_shards_weights(layout) ? d : 1;
	double state_ways = layout->sharding == SHARDING_NONE ? 1 : d;
	bool is_hosted = layout->offload != OFFLOAD_NONE && layout->offload != OFFLOAD_AUTO;
	double pass, encode, step;

	frozen_terms(basis, layout, weights_ways, out);
	if (is_frozen)
		out->adapters_bytes = bytes.weights * parameters;
	else
		out->weights_bytes = bytes.weights * parameters / weights_ways;
	out->master_weights_bytes = bytes.master * parameters / state_ways;
	out->gradients_bytes = bytes.gradients * parameters / gradient_ways;
	out->optimizer_bytes = bytes.optimizer * parameters / state_ways;
	if (workload->ema)
		out->master_weights_bytes +=
			parameters * (workload->precision == PRECISION_BF16 ? 2 : 4);
	if (is_hosted) {
		out->host_bytes +=
			(out->optimizer_bytes + out->master_weights_bytes) * layout->gpus_per_node;
		out->optimizer_bytes = out->master_weights_bytes = 0;
		/* torchao's optimizer sends each block's gradients as they come. */
		out->gradients_bytes =
			fmin(out->gradients_bytes,
			     workload->stack == STACK_DEEPSPEED
				     ? 2 * HOST_BUCKET_PARAMETERS
				     : bytes.gradients * GROUPS_HELD *
					       (double)basis->media.count.largest_block);
		if (layout->offload == OFFLOAD_PARAMETERS) {
			out->host_bytes += out->weights_bytes * layout->gpus_per_node;
			out->weights_bytes = GROUPS_HELD * (double)basis->media.count.largest_block;
		}
	}
	if (layout_shards_weights(layout))
		out->communication_bytes =
			GROUPS_HELD * (double)basis->media.count.largest_block * 2;
	/* Gradients come as activations go, unless they have a buffer of their own or those of
	 * earlier passes are there. */
	pass = activations(basis, layout);
	if (layout->accumulation <= 1 && workload->stack == STACK_HUGGINGFACE)
		pass = fmax(pass - out->gradients_bytes, block_activations(basis, layout));
	encode = encoding(basis, layout);
	step = is_hosted ? 0
			 : memory_step_states(workload) * parameters / state_ways *
				   (workload->precision == PRECISION_BF16 ? 2 : 4);
	out->phase_bytes[MEDIA_ENCODE] = encode;
	out->phase_bytes[MEDIA_DENOISE] = fmax(pass, step);
	if (step > fmax(pass, encode))
		out->optimizer_step_bytes = step;
	else
		out->activations_bytes = fmax(pass, encode);
	/* Feature maps of the VAE and activations of the denoiser are of sizes that do not fit each
	 * other: the pool keeps both. */
	if (!workload->cached_latents)
		out->pool_left_bytes = fmin(pass, encode);
}
