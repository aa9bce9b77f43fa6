/* Media: parameters by component, the grid of latents, weights by format: see media.h. */
#include "core/media_parts.h"

#include <math.h>
#include <string.h>

static const char *const phase_text[MEDIA_PHASES] = {
	[MEDIA_ENCODE] = "encode",
	[MEDIA_DENOISE] = "denoise",
	[MEDIA_DECODE] = "decode",
};
const struct names media_phase_names = {phase_text, MEDIA_PHASES};

static uint64_t mul(int a, int b)
{
	return (uint64_t)(unsigned)a * (unsigned)b;
}

int media_block_inner(const struct media_block *block)
{
	return block->heads * block->head_dim;
}

int media_block_kv(const struct media_block *block)
{
	return (block->kv_heads ? block->kv_heads : block->heads) * block->head_dim;
}

static int cross_kv(const struct media_block *block)
{
	return (block->cross_heads ? block->cross_heads : block->heads) * block->head_dim;
}

/* q, k, v and the way back of one stream. */
static uint64_t attention_weights(const struct media_block *block, int width, bool has_output)
{
	int inner = media_block_inner(block);

	return mul(width, inner) + 2 * mul(width, media_block_kv(block)) +
	       (has_output ? mul(inner, width) : 0);
}

void media_block_weights(const struct media_block *block, struct media_weights *out)
{
	int inner = media_block_inner(block);
	unsigned matrices = block->gated ? 3 : 2;
	uint64_t expert = 3 * mul(block->width, block->expert_ffn);
	uint64_t shared = 0;

	memset(out, 0, sizeof(*out));
	if (block->heads)
		shared = attention_weights(block, block->width, true);
	out->latent = shared + (block->has_second ? shared : 0);
	out->latent += matrices * mul(block->width, block->ffn) + block->token_weights;
	out->idle = expert * (unsigned)(block->experts - block->experts_active);
	out->latent += expert * (unsigned)block->experts_active + mul(block->width, block->experts);
	if (block->cross_width) {
		out->latent += mul(block->width, inner) + mul(inner, block->width);
		out->text += 2 * mul(block->cross_width, cross_kv(block));
	}
	out->image = 2 * mul(block->image_cross_width, inner);
	if (block->text_width) {
		out->text += attention_weights(block, block->text_width, !block->drops_text);
		if (!block->drops_text)
			out->text += matrices * mul(block->text_width, block->text_ffn);
	}
	out->vector = block->vector_weights;
	out->all = out->latent + out->idle + out->text + out->image + out->vector +
		   block->extra_parameters;
}

static void count_blocks(const struct media_denoiser *denoiser, struct media_count *out)
{
	struct media_weights weights;

	out->denoiser_linear =
		denoiser->token_weights + denoiser->text_weights + denoiser->vector_weights;
	out->denoiser = out->denoiser_linear + denoiser->extra_parameters;
	out->denoiser_active = denoiser->token_weights;
	for (int i = 0; i < denoiser->blocks_count; i++) {
		const struct media_block *block = &denoiser->blocks[i];
		unsigned count = (unsigned)block->count;

		media_block_weights(block, &weights);
		out->denoiser += weights.all * count;
		out->denoiser_linear += (weights.all - block->extra_parameters) * count;
		out->denoiser_active += weights.latent * count;
		if (weights.all > out->largest_block)
			out->largest_block = weights.all;
	}
}

void media_count(const struct media *media, struct media_count *out)
{
	memset(out, 0, sizeof(*out));
	if (media->denoiser.unet.levels)
		media_unet_count(&media->denoiser, out);
	else
		count_blocks(&media->denoiser, out);
	for (int i = 0; i < media->encoders_count; i++) {
		const struct media_encoder *encoder = &media->encoders[i];

		if (encoder->kind == MEDIA_ENCODER_TEXT)
			out->text_encoders += encoder->parameters;
		else
			out->image_encoders += encoder->parameters;
		if (encoder->parameters > out->largest_encoder)
			out->largest_encoder = encoder->parameters;
	}
	out->vae = media->vae.encoder_parameters + media->vae.decoder_parameters;
	out->other = media->other_parameters;
	out->total = out->denoiser * (unsigned)media->denoiser.copies + out->text_encoders +
		     out->image_encoders + out->vae + out->other;
}

void media_count_parameters(const struct media *media, struct parameter_count *out)
{
	struct media_count count;

	media_count(media, &count);
	out->total = out->active = count.total;
	out->linear = count.denoiser_linear * (unsigned)media->denoiser.copies;
	out->mlp = count.denoiser * (unsigned)media->denoiser.copies;
	out->tower = count.total - out->mlp;
}

void media_grid(const struct media *media, const struct media_size *size, struct media_grid *out)
{
	const struct media_vae *vae = &media->vae;
	const struct media_denoiser *denoiser = &media->denoiser;
	int patch = denoiser->patch > 0 ? denoiser->patch : 1;
	int patch_time = denoiser->patch_time > 0 ? denoiser->patch_time : 1;
	double spatial = vae->spatial > 0 ? vae->spatial : 1;
	double temporal = vae->temporal > 0 ? vae->temporal : 1;

	memset(out, 0, sizeof(*out));
	out->text_tokens = denoiser->text_tokens;
	if (size->samples > 0) {
		out->latent_width = ceil(size->samples / spatial);
		out->latent_height = out->latent_frames = 1;
		out->pixels = size->samples;
		out->frame_tokens = out->tokens = ceil(out->latent_width / patch);
		return;
	}
	out->latent_width = ceil(size->width / spatial);
	out->latent_height = ceil(size->height / spatial);
	out->latent_frames = vae->is_causal ? 1 + ceil((size->frames - 1) / temporal)
					    : ceil(size->frames / temporal);
	out->pixels = size->width * size->height * size->frames;
	out->frame_tokens = ceil(out->latent_width / patch) * ceil(out->latent_height / patch);
	out->tokens = out->frame_tokens * ceil(out->latent_frames / patch_time);
	out->tokens += size->references * out->frame_tokens;
}

/* What a quantised format leaves alone stays in 16 bit; fp32 is fp32 throughout. */
double media_bytes(double linear, double rest, enum format format)
{
	const struct format_facts *facts = format_facts(format);

	return linear * facts->linear_bits / 8 + rest * (format == FORMAT_FP32 ? 4 : 2);
}

double media_denoiser_bytes(const struct media *media, enum format format)
{
	struct media_count count;

	media_count(media, &count);
	return media_bytes((double)count.denoiser_linear,
			   (double)(count.denoiser - count.denoiser_linear), format);
}

double media_encoder_bytes(const struct media *media, enum format format)
{
	double bytes = 0;

	for (int i = 0; i < media->encoders_count; i++) {
		const struct media_encoder *encoder = &media->encoders[i];

		bytes += media_bytes((double)(encoder->parameters - encoder->embedding),
				     (double)encoder->embedding, format);
		if (format_is_bitsandbytes(format))
			bytes +=
				(double)encoder->kept * (4 - format_facts(format)->linear_bits / 8);
	}
	return bytes;
}

static bool within(int value, int least, int most)
{
	return value >= least && value <= most;
}

static const char *block_fault(const struct media_block *block)
{
	if (!within(block->count, 1, 10000) || !within(block->width, 1, 65536))
		return "a block's count or width is out of range";
	if (!within(block->heads, 0, 65536) || !within(block->head_dim, 0, 65536) ||
	    !within(block->kv_heads, 0, block->heads) || !within(block->cross_heads, 0, 65536))
		return "a block's heads are out of range";
	if ((int64_t)block->heads * block->head_dim > 65536)
		return "a block's queries are wider than 65536";
	if (!within(block->ffn, 0, 10000000) || !within(block->text_ffn, 0, 10000000) ||
	    !within(block->expert_ffn, 0, 10000000))
		return "an MLP width is out of range";
	if (!within(block->text_width, 0, 1000000) || !within(block->cross_width, 0, 1000000) ||
	    !within(block->image_cross_width, 0, 1000000))
		return "the text's width is out of range";
	if (!within(block->experts, 0, 4096) || !within(block->experts_active, 0, block->experts))
		return "experts are out of range";
	return NULL;
}

static const char *unet_fault(const struct media_unet *unet)
{
	if (!within(unet->levels, 1, MEDIA_LEVELS_MAX) || !within(unet->resnets, 1, 16) ||
	    !within(unet->middle_depth, 0, 64) || !within(unet->cross_width, 0, 1000000) ||
	    !within(unet->time_width, 1, 1000000))
		return "the U-Net's shape is out of range";
	for (int i = 0; i < unet->levels; i++)
		if (!within(unet->channels[i], 1, 65536) || !within(unet->depth[i], 0, 64) ||
		    !within(unet->heads[i], 0, 4096))
			return "a level of the U-Net is out of range";
	return NULL;
}

static const char *vae_fault(const struct media_vae *vae)
{
	if (!within(vae->levels, 1, MEDIA_LEVELS_MAX) || !within(vae->latent_channels, 1, 65536) ||
	    !within(vae->pixel_channels, 1, 4096) || !within(vae->spatial, 1, 65536) ||
	    !within(vae->temporal, 1, 1024))
		return "the VAE's shape is out of range";
	for (int i = 0; i < vae->levels; i++)
		if (!within(vae->channels[i], 1, 65536))
			return "a level of the VAE is out of range";
	return NULL;
}

bool media_denoiser_check(const struct media_denoiser *denoiser, const char **reason)
{
	*reason = NULL;
	if (denoiser->unet.levels)
		*reason = unet_fault(&denoiser->unet);
	else if (!within(denoiser->blocks_count, 1, MEDIA_BLOCKS_MAX))
		*reason = "there are no blocks, or too many different kinds of them";
	for (int i = 0; !*reason && i < denoiser->blocks_count; i++)
		*reason = block_fault(&denoiser->blocks[i]);
	if (!*reason && (!within(denoiser->copies, 1, 16) || !within(denoiser->patch, 1, 64) ||
			 !within(denoiser->patch_time, 1, 64)))
		*reason = "copies or patches of the denoiser are out of range";
	return !*reason;
}

bool media_check(const struct media *media, const char **reason)
{
	if (!media_denoiser_check(&media->denoiser, reason))
		return false;
	*reason = vae_fault(&media->vae);
	if (!*reason && !within(media->encoders_count, 0, MEDIA_ENCODERS_MAX))
		*reason = "there are too many encoders";
	for (int i = 0; !*reason && i < media->encoders_count; i++)
		if (media->encoders[i].parameters > 1000000000000)
			*reason = "an encoder has more than 1e12 parameters";
	return !*reason;
}
