/*
 * Media work: what one pass of one item through a diffusion transformer or an encoder computes,
 * moves and leaves. Matrices count 2 FLOPs a weight and token; scores 4 an inner element and pair.
 */
#include "core/media_parts.h"

#include <math.h>
#include <string.h>

/* Latent tokens that pass a block, and text tokens that stand in its sequence. */
struct sequence {
	double latent, text;
};

/* Pairs that are scored, over all tokens. */
static double pairs(const struct media_block *block, const struct media_grid *grid,
		    const struct sequence *sequence)
{
	double all = sequence->latent + (block->is_joint ? sequence->text : 0);
	double frames = grid->frame_tokens > 0 ? sequence->latent / grid->frame_tokens : 1;

	switch (block->attention) {
	case MEDIA_ATTENTION_FULL:
		return all * all;
	case MEDIA_ATTENTION_FRAME:
		return sequence->latent * grid->frame_tokens;
	case MEDIA_ATTENTION_TIME:
		return sequence->latent * frames;
	case MEDIA_ATTENTION_LINEAR:
		return all * block->head_dim;
	case MEDIA_ATTENTION_NONE:
		break;
	}
	return 0;
}

/* The same with the block's other attentions. */
static double all_pairs(const struct media_block *block, const struct media_grid *grid,
			const struct sequence *sequence)
{
	double all = pairs(block, grid, sequence);

	if (block->has_second)
		all += sequence->latent * sequence->latent;
	if (block->cross_width)
		all += sequence->latent * sequence->text;
	return all;
}

/*
 * Elements that are written in one block: the modulated norms and residuals of both halves, q, k, v
 * and what attention puts out, the MLP before and after its activation.
 */
static double written_elements(const struct media_block *block, const struct sequence *sequence)
{
	double inner = media_block_inner(block), kv = media_block_kv(block);
	double ffn = block->ffn + (double)block->experts_active * block->expert_ffn;
	double token = 6.0 * block->width + 2 * inner + 2 * kv + (block->gated ? 3 : 2) * ffn;
	double text = 0;

	/* Its input, its square's root, the scaled, the weighted and the sum. */
	if (block->has_response_norm)
		token += 5 * 2 * ffn;
	if (block->has_second)
		token += 2 * inner + 2 * kv + 2.0 * block->width;
	if (block->cross_width)
		token += 2 * inner + 2.0 * block->width;
	if (block->text_width)
		text = 6.0 * block->text_width + 2 * inner + 2 * kv + 2.0 * block->text_ffn;
	else if (block->is_joint)
		text = token;
	return sequence->latent * token + sequence->text * text;
}

/* Queries and keys of the attention over the item. */
static double rotated_elements(const struct media_block *block, const struct sequence *sequence)
{
	double all = sequence->latent + (block->is_joint ? sequence->text : 0);

	return all * (media_block_inner(block) + media_block_kv(block));
}

/*
 * Elements alive at the worst moment of one block: the residual stream and its norm, and either q,
 * k, v (rotated copies of two) and the output of attention, or the MLP twice. Parallel blocks keep
 * both.
 */
static double alive_elements(const struct media_block *block, const struct sequence *sequence)
{
	double inner = media_block_inner(block), kv = media_block_kv(block);
	double all = sequence->latent + (block->is_joint ? sequence->text : 0);
	double ffn = block->ffn + (double)block->experts_active * block->expert_ffn;
	double attention = 3 * inner + 3 * kv;
	double mlp = (block->gated ? 3 : 2) * ffn;

	if (block->is_parallel) /* what goes out is joined once more */
		return all * (2.0 * block->width + attention + mlp + inner + ffn);
	return all * (2.0 * block->width + fmax(attention, mlp));
}

/* Kernels of one block: matrices, norms, modulation, rotation, attention, residuals. */
#define BLOCK_KERNELS 24
#define STREAM_KERNELS 18
#define CROSS_KERNELS 10

static void add_block(const struct media_block *block, const struct media_grid *grid,
		      struct media_work *out)
{
	struct sequence sequence = {grid->tokens, grid->text_tokens};
	struct media_weights weights;
	double count = block->count, text, written = written_elements(block, &sequence);
	double inner = media_block_inner(block);
	double boundary = sequence.latent * block->width;

	media_block_weights(block, &weights);
	text = 2 * sequence.text * (double)weights.text;
	if (block->is_joint && !block->text_width)
		text += 2 * sequence.text * (double)weights.latent;
	if (block->is_joint)
		boundary += sequence.text * (block->text_width ? block->text_width : block->width);
	out->matrix_flops += count * (2 * sequence.latent * (double)weights.latent + text +
				      2 * (double)weights.vector);
	out->text_flops += count * text;
	out->attention_flops += count * 4 * inner * all_pairs(block, grid, &sequence);
	if (block->attention != MEDIA_ATTENTION_LINEAR)
		out->scores += count * block->heads * all_pairs(block, grid, &sequence);
	out->traffic_elements += count * 2 * written;
	out->rotated_elements += count * rotated_elements(block, &sequence);
	out->kernels += count * (BLOCK_KERNELS + (block->text_width ? STREAM_KERNELS : 0) +
				 (block->cross_width ? CROSS_KERNELS : 0));
	out->peak_elements = fmax(out->peak_elements, alive_elements(block, &sequence));
	out->head_elements =
		fmax(out->head_elements, inner > 0 ? pairs(block, grid, &sequence) : 0);
	out->score_elements = fmax(out->score_elements,
				   inner > 0 ? pairs(block, grid, &sequence) * block->heads : 0);
	out->saved_elements += count * written;
	out->boundary_elements += count * (block->is_kept ? written : boundary);
	out->block_elements = fmax(out->block_elements, written);
}

void media_denoiser_work(const struct media *media, const struct media_grid *grid,
			 struct media_work *out)
{
	const struct media_denoiser *denoiser = &media->denoiser;

	memset(out, 0, sizeof(*out));
	if (denoiser->unet.levels) {
		media_unet_work(denoiser, grid, out);
		return;
	}
	for (int i = 0; i < denoiser->blocks_count; i++)
		add_block(&denoiser->blocks[i], grid, out);
	out->matrix_flops += 2 * grid->tokens * (double)denoiser->token_weights +
			     2 * grid->text_tokens * (double)denoiser->text_weights +
			     2 * (double)denoiser->vector_weights;
	out->text_flops += 2 * grid->text_tokens * (double)denoiser->text_weights;
}

/* Of one picture a vision transformer sees as many patches. */
#define ENCODER_KERNELS 14

void media_encoder_work(const struct media *media, const struct media_grid *grid,
			struct media_work *out)
{
	(void)grid; /* prompts are padded to one length */
	memset(out, 0, sizeof(*out));
	for (int i = 0; i < media->encoders_count; i++) {
		const struct media_encoder *encoder = &media->encoders[i];
		double inner = (double)encoder->heads * encoder->head_dim;
		double tokens = encoder->tokens;
		double written = tokens * (6.0 * encoder->hidden + 4 * inner + 3.0 * encoder->ffn);

		out->matrix_flops +=
			2 * tokens * (double)(encoder->parameters - encoder->embedding);
		out->attention_flops += encoder->layers * 4 * inner * tokens * tokens;
		out->scores += (double)encoder->layers * encoder->heads * tokens * tokens;
		out->traffic_elements += encoder->layers * 2 * written;
		out->kernels += encoder->layers * ENCODER_KERNELS;
		out->peak_elements = fmax(out->peak_elements, written);
		out->score_elements = fmax(out->score_elements, tokens * tokens * encoder->heads);
		out->saved_elements += encoder->layers * written;
		out->boundary_elements += encoder->layers * tokens * encoder->hidden;
		out->block_elements = fmax(out->block_elements, written);
	}
	out->text_flops = out->matrix_flops;
}
