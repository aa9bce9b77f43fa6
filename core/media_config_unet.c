/* Denoisers that are U-Nets from their config.json: UNet2DConditionModel and its kin over time. */
#include "core/media_config_parts.h"

#include <string.h>

/* A size of each level: a list, or one for all. */
static int level_int(struct hf_reader *reader, const char *names, int level, int fallback)
{
	return media_item_most(reader, names, level, fallback, MEDIA_LEVEL_MOST);
}

/* Given, and not as null, which is as if it were not. */
static bool is_given(const struct config_value *value)
{
	return value && value->type != CONFIG_NULL;
}

static bool has_attention(struct hf_reader *reader, int level, bool fallback)
{
	const char *type = hf_layer_text(reader, "down_block_types", level);

	if (type)
		return strstr(type, "CrossAttn") != NULL;
	if (is_given(hf_value(reader, "down_block_types")))
		hf_fail(reader, "down_block_types", "invalid_type",
			"This must be a list of names, one for every level.");
	return fallback;
}

static void read_levels(struct hf_reader *reader, struct media_unet *unet)
{
	const struct config_value *channels = hf_value(reader, "block_out_channels");
	static const int usual[] = {320, 640, 1280, 1280};
	bool is_list = channels && channels->type == CONFIG_ARRAY;

	if (is_given(channels) && !is_list)
		hf_fail(reader, "block_out_channels", "invalid_type",
			"This must be a list of 1 to 6 widths.");
	unet->levels =
		is_list ? (int)(channels->count < MEDIA_LEVELS_MAX + 1 ? channels->count : 0) : 4;
	if (unet->levels < 1 || unet->levels > MEDIA_LEVELS_MAX) {
		hf_fail(reader, "block_out_channels", "out_of_range",
			"This must be a list of 1 to 6 widths.");
		unet->levels = 1;
	}
	for (int i = 0; i < unet->levels; i++) {
		bool has = has_attention(reader, i, i + 1 < unet->levels);

		unet->channels[i] =
			is_list ? level_int(reader, "block_out_channels", i, 0) : usual[i];
		if (unet->channels[i] > 65536)
			hf_fail(reader, "block_out_channels", "out_of_range",
				"This is more than 65536.");
		unet->depth[i] = has ? level_int(reader, "transformer_layers_per_block", i, 1) : 0;
		unet->heads[i] = level_int(reader, "num_attention_heads|attention_head_dim", i, 8);
	}
}

static void read_unet(struct hf_reader *reader, struct media_denoiser *out)
{
	struct media_unet *unet = &out->unet;
	int embedded, last;

	read_levels(reader, unet);
	last = unet->levels - 1;
	unet->resnets = hf_dim(reader, "layers_per_block", 2);
	unet->middle_depth = level_int(reader, "transformer_layers_per_block", last, 1);
	unet->cross_width = hf_dim(reader, "cross_attention_dim", 1280);
	unet->time_width = 4 * unet->channels[0];
	unet->linear_projection = hf_bool(reader, "use_linear_projection", false);
	/* Sizes and a pooled prompt (SDXL), or frames, motion and noise (video). */
	embedded = hf_dim(reader, "projection_class_embeddings_input_dim", 0);
	if (embedded)
		unet->extra_parameters = media_product(embedded, unet->time_width) +
					 media_product(unet->time_width, unet->time_width) +
					 2 * (unsigned)unet->time_width;
	out->in_channels = media_most(reader, "in_channels", 4, MEDIA_CHANNELS_MOST);
	out->out_channels = media_most(reader, "out_channels", 4, MEDIA_CHANNELS_MOST);
	out->patch = 1;
}

void media_read_unet(struct hf_reader *reader, struct media_denoiser *out)
{
	read_unet(reader, out);
}

void media_read_unet_video(struct hf_reader *reader, struct media_denoiser *out)
{
	read_unet(reader, out);
	out->unet.has_time = out->unet.linear_projection = true;
	if (!hf_has(reader, "in_channels"))
		out->in_channels = 8;
	if (!hf_has(reader, "cross_attention_dim"))
		out->unet.cross_width = 1024;
	/* A picture gives one token. */
	out->text_tokens = 1;
}
