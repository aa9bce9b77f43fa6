/*
 * Denoisers of video from their config.json, as media_config_pictures.c.
 */
#include "core/media_config_parts.h"

static void patch_of(struct hf_reader *reader, struct media_denoiser *out)
{
	const struct config_value *list = hf_value(reader, "patch_size");

	/* Three numbers (time, height, width), or one for height and width. */
	if (list && list->type == CONFIG_ARRAY) {
		out->patch_time = media_item_most(reader, "patch_size", 0, 1, MEDIA_PATCH_MOST);
		out->patch = media_item_most(reader, "patch_size", 1, 2, MEDIA_PATCH_MOST);
		return;
	}
	out->patch = media_most(reader, "patch_size", 2, MEDIA_PATCH_MOST);
	out->patch_time = media_most(reader, "patch_size_t", 1, MEDIA_PATCH_MOST);
}

/* Self-attention, cross-attention to the text, a plain MLP; modulated by a table. */
void media_read_wan(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 40, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 128, MEDIA_HEADS_MOST),
	    width = heads * head_dim;
	int channels = media_most(reader, "in_channels", 16, MEDIA_CHANNELS_MOST),
	    to = media_most(reader, "out_channels", 16, MEDIA_CHANNELS_MOST);
	int image = hf_dim(reader, "image_dim", 0), volume;
	struct media_block *block =
		media_add_block(out, hf_dim(reader, "num_layers", 40), heads, head_dim);

	patch_of(reader, out);
	volume = out->patch_time * out->patch * out->patch;
	block->ffn = hf_dim(reader, "ffn_dim", 13824);
	block->cross_width = width;
	block->image_cross_width = hf_dim(reader, "added_kv_proj_dim", 0);
	/* Biases of both attentions and the MLP, norms of queries and keys, the cross-attention's
	 * norm, the table of six. */
	block->extra_parameters = (4 + 4 + 4 + 1 + 6) * (unsigned)width + (unsigned)block->ffn;
	if (hf_bool(reader, "cross_attn_norm", true))
		block->extra_parameters += 2 * (unsigned)width;
	if (block->image_cross_width)
		block->extra_parameters += 3 * (unsigned)width;
	media_add_time(out, width);
	out->vector_weights += 6 * media_product(width, width);
	out->text_weights = media_product(hf_dim(reader, "text_dim", 4096), width) +
			    media_product(width, width);
	out->token_weights = media_product(volume * (channels + to), width);
	out->extra_parameters += (6 + 2 + 2 + 1) * (unsigned)width + (unsigned)(volume * to);
	if (image) {
		out->vector_weights += media_product(image, image) + media_product(image, width);
		out->extra_parameters += 3 * (unsigned)image + 3 * (unsigned)width;
	}
	out->in_channels = channels;
	out->out_channels = to;
}

void media_read_ltx(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 32, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 64, MEDIA_HEADS_MOST),
	    width = heads * head_dim;
	int channels = media_most(reader, "in_channels", 128, MEDIA_CHANNELS_MOST),
	    to = media_most(reader, "out_channels", 128, MEDIA_CHANNELS_MOST);
	struct media_block *block =
		media_add_block(out, hf_dim(reader, "num_layers", 28), heads, head_dim);

	block->ffn = 4 * width;
	block->cross_width = hf_dim(reader, "cross_attention_dim", 2048);
	block->extra_parameters = (4 + 4 + 4 + 5 + 6) * (unsigned)width;
	media_add_time(out, width);
	out->vector_weights += 6 * media_product(width, width);
	out->text_weights = media_product(hf_dim(reader, "caption_channels", 4096), width) +
			    media_product(width, width);
	out->token_weights = media_product(channels + to, width);
	out->extra_parameters += (6 + 2 + 2 + 1) * (unsigned)width + (unsigned)to;
	out->in_channels = channels;
	out->out_channels = to;
	out->patch = media_most(reader, "patch_size", 1, MEDIA_PATCH_MOST);
	out->patch_time = media_most(reader, "patch_size_t", 1, MEDIA_PATCH_MOST);
}

/* Text and latents in one stream, both modulated out of a narrow embedding of the time. */
void media_read_cogvideox(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 30, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 64, MEDIA_HEADS_MOST),
	    width = heads * head_dim;
	int channels = media_most(reader, "in_channels", 16, MEDIA_CHANNELS_MOST),
	    to = media_most(reader, "out_channels", 16, MEDIA_CHANNELS_MOST);
	int time = hf_dim(reader, "time_embed_dim", 512), volume;
	struct media_block *block =
		media_add_block(out, hf_dim(reader, "num_layers", 30), heads, head_dim);

	patch_of(reader, out);
	volume = out->patch * out->patch * out->patch_time;
	block->is_joint = true;
	block->ffn = 4 * width;
	block->vector_weights = 12 * media_product(width, time);
	block->extra_parameters = (12 + 4 + 4 + 5) * (unsigned)width + 4 * (unsigned)head_dim;
	if (!hf_bool(reader, "attention_bias", true))
		block->extra_parameters -= 3 * (unsigned)width;
	out->vector_weights = media_product(width, time) + media_product(time, time) +
			      2 * media_product(width, time);
	out->text_weights = media_product(hf_dim(reader, "text_embed_dim", 4096), width);
	out->token_weights = media_product(volume * (channels + to), width);
	out->extra_parameters =
		2 * (unsigned)time + (2 + 2 + 2 + 2) * (unsigned)width + (unsigned)(volume * to);
	out->in_channels = channels;
	out->out_channels = to;
	out->text_tokens = hf_dim(reader, "max_text_seq_length", 226);
}

/* Two streams of different widths, gated MLPs of two thirds of 4 widths. */
void media_read_mochi(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 24, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 128, MEDIA_HEADS_MOST),
	    width = heads * head_dim;
	int channels = media_most(reader, "in_channels", 12, MEDIA_CHANNELS_MOST),
	    layers = hf_dim(reader, "num_layers", 48);
	int text = hf_dim(reader, "pooled_projection_dim", 1536);
	int embed = hf_dim(reader, "text_embed_dim", 4096),
	    patch = media_most(reader, "patch_size", 2, MEDIA_PATCH_MOST);
	int volume = patch * patch;

	for (int last = 0; last < 2; last++) {
		struct media_block *block =
			media_add_block(out, last ? 1 : layers - 1, heads, head_dim);

		block->is_joint = block->gated = true;
		block->drops_text = last;
		block->text_width = text;
		block->ffn = 4 * width * 2 / 3;
		block->text_ffn = last ? 0 : 4 * text * 2 / 3;
		block->vector_weights = 4 * media_product(width, width) +
					(last ? 1 : 4) * media_product(text, width);
		block->extra_parameters = (4 + 1) * (unsigned)width + 4 * (unsigned)head_dim +
					  (last ? 1 : 5) * (unsigned)text;
	}
	media_add_time(out, width);
	/* The text's pooled vector by attention, and the captions' way in. */
	out->vector_weights += 2 * media_product(width, width);
	out->vector_weights += 2 * media_product(embed, embed) + media_product(embed, embed) +
			       media_product(embed, width);
	out->text_weights = media_product(embed, text);
	out->token_weights = 2 * media_product(volume * channels, width);
	out->extra_parameters += (2 + 1 + 1) * (unsigned)width + (unsigned)(volume * channels) +
				 (unsigned)text + 3 * (unsigned)embed +
				 3 * (unsigned)(heads * (head_dim / 2));
	out->in_channels = out->out_channels = channels;
	out->patch = patch;
}

/* The prompt passes blocks of its own first. */
static void add_refiner(struct media_denoiser *out, int blocks, int text, int width)
{
	uint64_t square = media_product(width, width);

	media_add_time(out, width);
	out->text_weights += media_product(text, width);
	out->vector_weights += media_product(text, width) + square;
	out->text_weights += (unsigned)blocks * (4 + 8) * square;
	out->vector_weights += (unsigned)blocks * 2 * square;
	out->extra_parameters +=
		(1 + 2) * (unsigned)width + (unsigned)blocks * (4 + 4 + 5 + 2) * (unsigned)width;
}

void media_read_hunyuan_video(struct hf_reader *reader, struct media_denoiser *out)
{
	int heads = media_most(reader, "num_attention_heads", 24, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 128, MEDIA_HEADS_MOST),
	    width = heads * head_dim;
	int channels = media_most(reader, "in_channels", 16, MEDIA_CHANNELS_MOST),
	    to = media_most(reader, "out_channels", 16, MEDIA_CHANNELS_MOST);
	int pooled = hf_dim(reader, "pooled_projection_dim", 768), volume;
	uint64_t square = media_product(width, width);
	struct media_block *block =
		media_add_block(out, hf_dim(reader, "num_layers", 20), heads, head_dim);

	patch_of(reader, out);
	volume = out->patch_time * out->patch * out->patch;
	block->is_joint = true;
	block->text_width = width;
	block->ffn = block->text_ffn = 4 * width;
	block->vector_weights = 12 * square;
	block->extra_parameters = 30 * (unsigned)width + 4 * (unsigned)head_dim;
	block = media_add_block(out, hf_dim(reader, "num_single_layers", 40), heads, head_dim);
	block->is_joint = block->is_parallel = true;
	block->ffn = 4 * width;
	block->vector_weights = 3 * square;
	block->extra_parameters = 11 * (unsigned)width + 2 * (unsigned)head_dim;
	add_refiner(out, hf_dim(reader, "num_refiner_layers", 2),
		    hf_dim(reader, "text_embed_dim", 4096), width);
	media_add_time(out, width);
	if (hf_bool(reader, "guidance_embeds", true))
		media_add_time(out, width);
	out->vector_weights += media_product(pooled, width) + square + 2 * square;
	out->token_weights = media_product(volume * (channels + to), width);
	out->extra_parameters += (2 + 2 + 1) * (unsigned)width + (unsigned)(volume * to);
	out->in_channels = channels;
	out->out_channels = to;
}
