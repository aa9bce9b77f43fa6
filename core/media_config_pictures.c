/*
 * Denoisers of pictures from their config.json: transformers of diffusers, class by class. Names
 * and defaults are those of each class's __init__. Biases and norms go to `extra_parameters`.
 */
#include "core/media_config_parts.h"

#include <math.h>
#include <string.h>

#define TIME_WIDTH 256
#define MLP_RATIO_MOST 64

uint64_t media_product(int a, int b)
{
	return (uint64_t)(unsigned)a * (unsigned)b;
}

static int at_most(struct hf_reader *reader, const char *name, int value, int most)
{
	if (value <= most)
		return value;
	hf_fail(reader, name, "out_of_range", "This is more than any model of this class has.");
	return 0;
}

int media_most(struct hf_reader *reader, const char *name, int fallback, int most)
{
	return at_most(reader, name, hf_int(reader, name, fallback), most);
}

int media_item_most(struct hf_reader *reader, const char *names, int index, int fallback, int most)
{
	const char *name = hf_key(reader, names);

	return at_most(reader, name ? name : names, hf_layer_int(reader, names, index, fallback),
		       most);
}

struct media_block *media_add_block(struct media_denoiser *out, int count, int heads, int head_dim)
{
	/* What there is none of is written where no class has a block, and not counted. */
	int at = count < 1 ? MEDIA_BLOCKS_MAX - 1 : out->blocks_count++;
	struct media_block *block = &out->blocks[at];

	memset(block, 0, sizeof(*block));
	block->count = count;
	block->heads = heads;
	block->head_dim = head_dim;
	block->width = heads * head_dim;
	return block;
}

void media_add_time(struct media_denoiser *out, int width)
{
	out->vector_weights += media_product(TIME_WIDTH, width) + media_product(width, width);
	out->extra_parameters += 2 * (unsigned)width;
}

/* A pooled vector of the text beside the time: two matrices more. */
static void add_pooled(struct media_denoiser *out, int pooled, int width)
{
	out->vector_weights += media_product(pooled, width) + media_product(width, width);
	out->extra_parameters += 2 * (unsigned)width;
}

/* Matrices into the first block and out of the last, and the last norm's modulation. */
static void add_ends(struct media_denoiser *out, int in, int to, int text, int width)
{
	out->token_weights += media_product(in + to, width);
	out->text_weights += media_product(text, width);
	out->extra_parameters += 2 * (unsigned)width + (unsigned)to;
}

static void add_last_norm(struct media_denoiser *out, int width)
{
	out->vector_weights += 2 * media_product(width, width);
	out->extra_parameters += 2 * (unsigned)width;
}

/* Two streams, each with its modulation (of as many widths) and MLP of 4 widths. */
static struct media_block *add_double(struct media_denoiser *out, int count, int heads,
				      int head_dim, int modulation)
{
	struct media_block *block = media_add_block(out, count, heads, head_dim);
	unsigned width = (unsigned)block->width;

	block->is_joint = true;
	block->text_width = block->width;
	block->ffn = block->text_ffn = 4 * block->width;
	block->vector_weights =
		2 * (unsigned)modulation * media_product(block->width, block->width);
	block->extra_parameters = (2 * (unsigned)modulation + 8 + 10) * width;
	return block;
}

/* One stream, attention and MLP side by side. */
static struct media_block *add_single(struct media_denoiser *out, int count, int heads,
				      int head_dim, int modulation)
{
	struct media_block *block = media_add_block(out, count, heads, head_dim);
	unsigned width = (unsigned)block->width;

	block->is_joint = block->is_parallel = true;
	block->ffn = 4 * block->width;
	block->vector_weights = (unsigned)modulation * media_product(block->width, block->width);
	block->extra_parameters =
		((unsigned)modulation + 8) * width + 2 * (unsigned)block->head_dim;
	return block;
}

static void add_head_norms(struct media_block *block, unsigned norms)
{
	block->extra_parameters += norms * (unsigned)block->head_dim;
}

/* Folds 2 x 2 latents into a token before the model: in_channels counts all four. */
static void fold(struct media_denoiser *out, int channels)
{
	out->in_channels = out->out_channels = channels / 4;
	out->patch = 2;
}

void media_read_flux(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 24, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 128, MEDIA_HEADS_MOST);
	int channels = media_most(reader, "in_channels", 64, MEDIA_CHANNELS_MOST),
	    width = heads * head_dim;
	int text = hf_dim(reader, "joint_attention_dim", 4096);
	struct media_block *block;

	block = add_double(out, hf_dim(reader, "num_layers", 19), heads, head_dim, 6);
	add_head_norms(block, 4);
	add_single(out, hf_dim(reader, "num_single_layers", 38), heads, head_dim, 3);
	media_add_time(out, width);
	if (hf_bool(reader, "guidance_embeds", false))
		media_add_time(out, width);
	add_pooled(out, hf_dim(reader, "pooled_projection_dim", 768), width);
	add_ends(out, channels, media_most(reader, "out_channels", channels, MEDIA_CHANNELS_MOST),
		 text, width);
	add_last_norm(out, width);
	fold(out, channels);
}

/* As Flux, but modulated by one network of its own for all blocks. */
void media_read_chroma(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 24, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 128, MEDIA_HEADS_MOST);
	int channels = media_most(reader, "in_channels", 64, MEDIA_CHANNELS_MOST),
	    width = heads * head_dim;
	int inner = hf_dim(reader, "approximator_hidden_dim", 5120);
	int layers = hf_dim(reader, "approximator_layers", 5);
	int from = hf_dim(reader, "approximator_num_channels", 64);
	struct media_block *block;

	block = add_double(out, hf_dim(reader, "num_layers", 19), heads, head_dim, 0);
	add_head_norms(block, 4);
	add_single(out, hf_dim(reader, "num_single_layers", 38), heads, head_dim, 0);
	out->vector_weights += media_product(from, inner) + media_product(inner, width) +
			       2 * (unsigned)layers * media_product(inner, inner);
	out->extra_parameters +=
		(unsigned)inner + (unsigned)width + 3 * (unsigned)layers * (unsigned)inner;
	add_ends(out, channels, media_most(reader, "out_channels", channels, MEDIA_CHANNELS_MOST),
		 hf_dim(reader, "joint_attention_dim", 4096), width);
	fold(out, channels);
}

/* Modulated once for all blocks, gated MLPs of 3 widths, no biases. */
void media_read_flux2(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 48, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 128, MEDIA_HEADS_MOST);
	int channels = media_most(reader, "in_channels", 128, MEDIA_CHANNELS_MOST),
	    width = heads * head_dim;
	int mlp = (int)(fmin(fmax(hf_number(reader, "mlp_ratio", 3), 0), MLP_RATIO_MOST) * width);
	struct media_block *block =
		media_add_block(out, hf_dim(reader, "num_layers", 8), heads, head_dim);

	block->is_joint = block->gated = true;
	block->text_width = width;
	block->ffn = block->text_ffn = mlp;
	add_head_norms(block, 4);
	block = media_add_block(out, hf_dim(reader, "num_single_layers", 48), heads, head_dim);
	block->is_joint = block->gated = block->is_parallel = true;
	block->ffn = mlp;
	add_head_norms(block, 2);
	out->vector_weights =
		(hf_bool(reader, "guidance_embeds", true) ? 2 : 1) *
			(media_product(TIME_WIDTH, width) + media_product(width, width)) +
		(6 + 6 + 3 + 2) * media_product(width, width);
	out->token_weights = media_product(
		channels + media_most(reader, "out_channels", channels, MEDIA_CHANNELS_MOST),
		width);
	out->text_weights = media_product(hf_dim(reader, "joint_attention_dim", 15360), width);
	fold(out, channels);
}

void media_read_sd3(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 18, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 64, MEDIA_HEADS_MOST),
	    width = heads * head_dim;
	int layers = hf_dim(reader, "num_layers", 18), twice = 0;
	int patch = media_most(reader, "patch_size", 2, MEDIA_PATCH_MOST),
	    channels = media_most(reader, "in_channels", 16, MEDIA_CHANNELS_MOST);
	unsigned norms = hf_has(reader, "qk_norm") ? 2 : 0;
	int to = patch * patch * media_most(reader, "out_channels", 16, MEDIA_CHANNELS_MOST);
	struct media_block *block;

	for (int i = 0; i < layers; i++)
		twice += hf_list_holds(reader, "dual_attention_layers", i);
	if (twice > 0) {
		block = add_double(out, twice, heads, head_dim, 6);
		block->has_second = true;
		block->vector_weights += 3 * media_product(width, width);
		block->extra_parameters += (3 + 4) * (unsigned)width;
		add_head_norms(block, 3 * norms);
	}
	block = add_double(out, layers - twice - 1, heads, head_dim, 6);
	add_head_norms(block, 2 * norms);
	/* Of the text's stream the last block needs only keys, values and queries. */
	block = add_double(out, 1, heads, head_dim, 6);
	block->drops_text = true;
	block->text_ffn = 0;
	block->vector_weights -= 4 * media_product(width, width);
	block->extra_parameters -= (4 + 6) * (unsigned)width;
	add_head_norms(block, 2 * norms);
	media_add_time(out, width);
	add_pooled(out, hf_dim(reader, "pooled_projection_dim", 2048), width);
	add_ends(out, patch * patch * channels, to, hf_dim(reader, "joint_attention_dim", 4096),
		 width);
	add_last_norm(out, width);
	out->in_channels = channels;
	out->out_channels = channels;
	out->patch = patch;
}

/* Self-attention, cross-attention and a plain MLP, modulated by a table and one matrix for all. */
void media_read_pixart(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 16, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 72, MEDIA_HEADS_MOST),
	    width = heads * head_dim;
	int patch = media_most(reader, "patch_size", 2, MEDIA_PATCH_MOST),
	    channels = media_most(reader, "in_channels", 4, MEDIA_CHANNELS_MOST);
	int to = patch * patch * media_most(reader, "out_channels", 8, MEDIA_CHANNELS_MOST);
	int caption = hf_dim(reader, "caption_channels", 4096), third = width / 3;
	bool has_sizes = hf_bool(reader, "use_additional_conditions",
				 hf_int(reader, "sample_size", 128) == 128);
	struct media_block *block =
		media_add_block(out, hf_dim(reader, "num_layers", 28), heads, head_dim);

	block->ffn = 4 * width;
	block->cross_width = hf_dim(reader, "cross_attention_dim", 1152);
	block->extra_parameters = (6 + 4 + 4 + 5) * (unsigned)width;
	media_add_time(out, width);
	if (has_sizes) {
		out->vector_weights +=
			2 * (media_product(TIME_WIDTH, third) + media_product(third, third));
		out->extra_parameters += 4 * (unsigned)third;
	}
	out->vector_weights += 6 * media_product(width, width);
	out->text_weights = media_product(caption, width) + media_product(width, width);
	out->token_weights = media_product(patch * patch * channels + to, width);
	out->extra_parameters += (6 + 2 + 2 + 1) * (unsigned)width + (unsigned)to;
	out->in_channels = out->out_channels = channels;
	out->patch = patch;
}

void media_read_qwen_image(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 24, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 128, MEDIA_HEADS_MOST),
	    width = heads * head_dim;
	int channels = media_most(reader, "in_channels", 64, MEDIA_CHANNELS_MOST);
	int text = hf_dim(reader, "joint_attention_dim", 3584);
	int to = 4 * media_most(reader, "out_channels", 16, MEDIA_CHANNELS_MOST);

	add_head_norms(add_double(out, hf_dim(reader, "num_layers", 60), heads, head_dim, 6), 4);
	media_add_time(out, width);
	add_ends(out, channels, to, text, width);
	add_last_norm(out, width);
	out->extra_parameters += (unsigned)text;
	fold(out, channels);
}

/* Gated MLPs of two thirds of 4 widths in whole 256s, no biases, a table of positions. */
void media_read_auraflow(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 12, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 256, MEDIA_HEADS_MOST),
	    width = heads * head_dim;
	int patch = media_most(reader, "patch_size", 2, MEDIA_PATCH_MOST),
	    channels = media_most(reader, "in_channels", 4, MEDIA_CHANNELS_MOST);
	int mlp = (2 * 4 * width / 3 + 255) / 256 * 256;
	int ends = patch * patch * channels;
	struct media_block *block =
		media_add_block(out, hf_dim(reader, "num_mmdit_layers", 4), heads, head_dim);

	block->is_joint = block->gated = true;
	block->text_width = width;
	block->ffn = block->text_ffn = mlp;
	block->vector_weights = 12 * media_product(width, width);
	block = media_add_block(out, hf_dim(reader, "num_single_dit_layers", 32), heads, head_dim);
	block->is_joint = block->gated = true;
	block->ffn = mlp;
	block->vector_weights = 6 * media_product(width, width);
	media_add_time(out, width);
	out->vector_weights += 2 * media_product(width, width);
	out->token_weights = 2 * media_product(ends, width);
	out->text_weights = media_product(hf_dim(reader, "joint_attention_dim", 2048), width);
	out->extra_parameters +=
		media_product(hf_dim(reader, "pos_embed_max_size", 1024) + 8 + 1, width);
	out->in_channels = out->out_channels = channels;
	out->patch = patch;
}
