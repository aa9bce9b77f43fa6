/*
 * Memory of a pipeline (media.h) at work: the largest of its phases, each of which holds the
 * weights that are resident then and the activations of its own component.
 *
 *   encode   prompts pass the encoders, one after the other
 *   denoise  latents of a batch pass one copy of the denoiser, twice as many where guidance is
 * batched decode   the VAE turns them into pixels: all items at once, one by one (slicing), tile by
 * tile
 *
 * Offload keeps whole components, groups of blocks or single matrices on the card by turns
 * (facts/memory-notes.md 8 and 9). Shards of FSDP divide weights, sequence parallelism divides the
 * latents' tokens.
 */
#include "core/memory/internal.h"

#include "core/fitted.h"

#include <math.h>

/* Bytes an element that a pass keeps beside what the shapes tell, in parts of them: copies that
 * norms and rotations make in fp32, and what the allocator cannot place. */
FITTED(DENOISE_COPIES, 2.1, 1, 4);
/* Feature maps of the VAE's largest resnet that are alive at once: in, norm, activation, out. */
FITTED(DECODE_MAPS, 4, 3, 6);
/* The same where convolutions run over time: what is padded in time is joined anew. */
FITTED(DECODE_TIME_MAPS, 6, 3, 12);
/* A scale and a shift made of the latents, and the scaled map. */
#define MODULATED_MAPS 3
/* Pictures as they leave, joined and clamped: copies of the pixels. */
#define PIXEL_COPIES 3
/* Of a component that is fetched group by group: this one and the next. */
#define GROUPS_HELD 2
/* What modulates by the time, kept for each token in fp32: six widths, and six with the block's
 * own. */
#define TOKEN_TIME_BYTES (12 * 4)
/* A matrix of a block, in parts of the block, where each comes by itself. */
#define MATRIX_SHARE 0.3

static double compute_bytes(enum format format)
{
	return format == FORMAT_FP32 ? 4 : 2;
}

/* In + out of the attention matrices of one block that adapters join; with the MLP's. */
static double block_sides(const struct media_block *block, enum lora_targets targets)
{
	double inner = (double)block->heads * block->head_dim;
	double kv = (double)(block->kv_heads ? block->kv_heads : block->heads) * block->head_dim;
	double one = 2 * (block->width + inner) + 2 * (block->width + kv);
	double sides = targets == LORA_MLP ? 0 : one * (block->has_second ? 2 : 1);
	double matrices = block->gated ? 3 : 2;

	if (targets != LORA_MLP && block->cross_width)
		sides += 2 * (block->width + inner) + 2 * (block->cross_width + inner);
	if (targets != LORA_MLP && block->text_width)
		sides += 4 * (block->text_width + inner);
	if (targets == LORA_ATTENTION_QV)
		sides /= 2;
	if (targets == LORA_MLP || targets == LORA_ALL_LINEAR)
		sides += matrices *
			 ((double)block->width + block->ffn + block->text_width + block->text_ffn);
	return sides * block->count;
}

/* Of a U-Net: each level has its transformers on the way down and, once more, up. */
static double unet_sides(const struct media_unet *unet, enum lora_targets targets)
{
	double sides = 0;

	for (int i = 0; i < unet->levels; i++) {
		int transformers = unet->resnets * 2 + 1;
		double blocks = (double)unet->depth[i] * transformers;
		struct media_block block = {.count = 1,
					    .width = unet->channels[i],
					    .heads = 1,
					    .head_dim = unet->channels[i],
					    .ffn = 4 * unet->channels[i],
					    .gated = true,
					    .cross_width = unet->cross_width};

		if (i + 1 == unet->levels)
			blocks += unet->middle_depth;
		sides += blocks * block_sides(&block, targets);
	}
	return sides;
}

double memory_media_sides(const struct media *media, enum lora_targets targets)
{
	double sides = unet_sides(&media->denoiser.unet, targets);

	for (int i = 0; i < media->denoiser.blocks_count; i++)
		sides += block_sides(&media->denoiser.blocks[i], targets);
	return sides;
}

void memory_media_prepare(struct memory_basis *basis)
{
	const struct workload *workload = basis->workload;
	const struct media *media = workload->architecture->media;
	enum lora_targets targets = workload->task == TASK_FINETUNE
					    ? (enum lora_targets)workload->lora_targets
					    : LORA_ATTENTION;
	bool is_training = workload->task != TASK_INFERENCE;
	struct memory_media *out = &basis->media;
	struct media_size size;
	struct media_grid grid;

	workload_media_size(workload, &size);
	media_grid(media, &size, &grid);
	media_count(media, &out->count);
	media_encoder_work(media, &grid, &out->encode);
	media_denoiser_work(media, &grid, &out->denoise);
	media_vae_work(media, &grid, is_training, workload->vae_tiling, &out->decode);
	out->tokens = grid.tokens;
	out->pixels = grid.pixels * media->vae.pixel_channels;
	out->adapter_sides = memory_media_sides(media, targets);
}

double memory_denoiser_bytes(const struct memory_basis *basis, enum format format)
{
	const struct media_count *count = &basis->media.count;

	return media_bytes((double)count->denoiser_linear,
			   (double)(count->denoiser - count->denoiser_linear), format);
}

double memory_encoder_bytes(const struct memory_basis *basis, enum format format)
{
	enum format own = (enum format)basis->workload->text_encoder_format;

	if (own == FORMAT_AUTO)
		own = format == FORMAT_FP32 ? FORMAT_FP32 : FORMAT_BF16;
	return media_encoder_bytes(basis->workload->architecture->media, own);
}

double memory_vae_bytes(const struct memory_basis *basis, enum format format)
{
	const struct media *media = basis->workload->architecture->media;

	return ((double)basis->media.count.vae + (double)basis->media.count.other) *
	       (media->vae.is_upcast ? 4 : compute_bytes(format));
}

double memory_denoise_bytes(const struct memory_basis *basis, enum format format, double items)
{
	const struct workload *workload = basis->workload;
	const struct media_denoiser *denoiser = &workload->architecture->media->denoiser;
	const struct media_work *work = &basis->media.denoise;
	double bytes = items * work->peak_elements * DENOISE_COPIES *
		       (denoiser->unet.levels ? compute_bytes(format) : 2);

	if (denoiser->has_token_time)
		bytes += items * basis->media.tokens * denoiser->blocks[0].width * TOKEN_TIME_BYTES;
	if (!workload->fused_attention)
		bytes += 2 * compute_bytes(format) *
			 (workload->attention_slicing ? work->head_elements
						      : items * work->score_elements);
	return bytes;
}

double memory_vae_activations(const struct memory_basis *basis, enum format format, double items,
			      const struct media_work *work)
{
	const struct media_vae *vae = &basis->workload->architecture->media->vae;
	double maps =
		(vae->kernel_time > 1 ? DECODE_TIME_MAPS : DECODE_MAPS) +
		(vae->is_modulated && basis->workload->task == TASK_INFERENCE ? MODULATED_MAPS : 0);

	return (items * (work->peak_elements * maps + work->kept_elements) +
		basis->media.pixels * PIXEL_COPIES) *
	       (vae->is_upcast ? 4 : compute_bytes(format));
}

/* Of weights that are resident while they are not at work, what is held while they are. */
static double at_work(enum media_offload offload, double whole, double block)
{
	switch (offload) {
	case MEDIA_OFFLOAD_GROUP:
		return fmin(whole, GROUPS_HELD * block);
	case MEDIA_OFFLOAD_SEQUENTIAL:
		return fmin(whole, MATRIX_SHARE * block);
	case MEDIA_OFFLOAD_NONE:
	case MEDIA_OFFLOAD_MODEL:
	case MEDIA_OFFLOADS:
		break;
	}
	return whole;
}

/* Weights of the three components in one phase. */
struct resident {
	double denoiser, encoders, vae;
};

static double sum(const struct resident *resident)
{
	return resident->denoiser + resident->encoders + resident->vae;
}

/* The layout shards weights: the block at hand is gathered, and the next. */
static double gathered(const struct memory_basis *basis, const struct layout *layout)
{
	return layout_shards_weights(layout)
		       ? 2.0 * GROUPS_HELD * (double)basis->media.count.largest_block
		       : 0;
}

/* Of all components whole, those that a phase holds. */
static struct resident resident_in(enum media_phase phase, const struct memory_basis *basis,
				   const struct resident *whole)
{
	const struct workload *workload = basis->workload;
	const struct media *media = workload->architecture->media;
	const struct media_count *count = &basis->media.count;
	enum media_offload offload = (enum media_offload)workload->media_offload;
	double copies = media->denoiser.copies;
	double encoders = (double)(count->text_encoders + count->image_encoders);
	double block =
		whole->denoiser / copies * (double)count->largest_block / (double)count->denoiser;
	struct resident out = *whole;

	if (workload->text_encoders_on_cpu)
		out.encoders = 0;
	if (offload == MEDIA_OFFLOAD_NONE)
		return out;
	/* Encoders come one by one; their largest part is a layer or the table. */
	out.encoders *= encoders > 0 ? (double)count->largest_encoder / encoders : 0;
	out.encoders =
		phase == MEDIA_ENCODE ? at_work(offload, out.encoders, out.encoders / 12) : 0;
	out.denoiser = phase == MEDIA_DENOISE ? at_work(offload, out.denoiser / copies, block) : 0;
	out.vae = phase == MEDIA_DECODE ? out.vae : 0;
	return out;
}

static double activations_in(enum media_phase phase, const struct memory_basis *basis,
			     const struct layout *layout)
{
	const struct workload *workload = basis->workload;
	const struct memory_media *media = &basis->media;
	double batch = (double)workload->batch;
	double passes = (double)workload->guidance_passes;
	double ways = layout->context_parallel > 1 ? layout->context_parallel : 1;
	double side = layout->guidance_parallel > 1 ? layout->guidance_parallel : 1;

	switch (phase) {
	case MEDIA_ENCODE:
		return workload->text_encoders_on_cpu
			       ? 0
			       : batch * passes * media->encode.peak_elements * 2;
	case MEDIA_DENOISE:
		return memory_denoise_bytes(
			       basis, layout->weight_format,
			       batch * (workload->guidance_batched ? ceil(passes / side) : 1) /
				       ways) +
		       gathered(basis, layout);
	case MEDIA_DECODE:
		return memory_vae_activations(basis, layout->weight_format,
					      workload->vae_slicing ? 1 : batch, &media->decode);
	case MEDIA_PHASES:
		break;
	}
	return 0;
}

void memory_media_terms(const struct memory_basis *basis, const struct layout *layout,
			struct memory_estimate *out)
{
	const struct workload *workload = basis->workload;
	const struct media *media = workload->architecture->media;
	double ways = layout_shards_weights(layout) ? layout_gpus_per_replica(layout) : 1;
	struct resident whole = {
		.denoiser = memory_denoiser_bytes(basis, layout->weight_format) *
			    media->denoiser.copies / ways,
		.encoders = memory_encoder_bytes(basis, layout->weight_format) / ways,
		.vae = memory_vae_bytes(basis, layout->weight_format),
	};
	double adapters = (double)workload->lora_adapters * (double)workload->lora_rank *
			  basis->media.adapter_sides * 2;
	double most = 0;

	for (int phase = 0; phase < MEDIA_PHASES; phase++) {
		struct resident held = resident_in((enum media_phase)phase, basis, &whole);
		double activations = activations_in((enum media_phase)phase, basis, layout);
		double bytes = sum(&held) + activations + adapters;

		out->phase_bytes[phase] = bytes;
		if (bytes <= most)
			continue;
		most = bytes;
		out->weights_bytes = held.denoiser;
		out->text_encoders_bytes = held.encoders;
		out->vae_bytes = held.vae;
		out->activations_bytes = activations;
	}
	out->adapters_bytes = adapters;
	if (workload->media_offload != MEDIA_OFFLOAD_NONE)
		out->host_bytes = sum(&whole) * layout->gpus_per_node;
	else if (workload->text_encoders_on_cpu)
		out->host_bytes = whole.encoders * ways * layout->gpus_per_node;
}
