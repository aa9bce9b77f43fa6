/* Classes of diffusers that are known: denoisers, VAEs, and the encoders beside them. */
#include "core/media_config_parts.h"

#include "core/model.h"

#include <stdio.h>
#include <string.h>

#define PICTURE(side, count, many)                                                                 \
	.width = (side), .height = (side), .frames = 1, .steps = (count), .passes = (many)

static const struct media_class classes[] = {
	{"UNet2DConditionModel", "unet", MODALITY_IMAGE, media_read_unet, 77, PICTURE(1024, 50, 2)},
	{"UNetSpatioTemporalConditionModel", "unet", MODALITY_VIDEO, media_read_unet_video, 1,
	 .width = 1024, .height = 576, .frames = 25, .fps = 7, .steps = 25, .passes = 2},
	{"FluxTransformer2DModel", "flux", MODALITY_IMAGE, media_read_flux, 512,
	 PICTURE(1024, 28, 1)},
	{"Flux2Transformer2DModel", "flux2", MODALITY_IMAGE, media_read_flux2, 512,
	 PICTURE(1024, 50, 2)},
	{"ChromaTransformer2DModel", "chroma", MODALITY_IMAGE, media_read_chroma, 512,
	 PICTURE(1024, 40, 2)},
	{"SD3Transformer2DModel", "sd3", MODALITY_IMAGE, media_read_sd3, 333, PICTURE(1024, 28, 2)},
	{"PixArtTransformer2DModel", "pixart", MODALITY_IMAGE, media_read_pixart, 300,
	 PICTURE(1024, 20, 2)},
	{"QwenImageTransformer2DModel", "qwen_image", MODALITY_IMAGE, media_read_qwen_image, 512,
	 PICTURE(1328, 50, 2)},
	{"AuraFlowTransformer2DModel", "auraflow", MODALITY_IMAGE, media_read_auraflow, 256,
	 PICTURE(1024, 50, 2)},
	{"HunyuanVideoTransformer3DModel", "hunyuan_video", MODALITY_VIDEO,
	 media_read_hunyuan_video, 256, .width = 1280, .height = 720, .frames = 129, .fps = 24,
	 .steps = 50, .passes = 1},
	{"WanTransformer3DModel", "wan", MODALITY_VIDEO, media_read_wan, 512, .width = 832,
	 .height = 480, .frames = 81, .fps = 16, .steps = 50, .passes = 2},
	{"LTXVideoTransformer3DModel", "ltx", MODALITY_VIDEO, media_read_ltx, 128, .width = 704,
	 .height = 512, .frames = 161, .fps = 25, .steps = 50, .passes = 2},
	{"CogVideoXTransformer3DModel", "cogvideox", MODALITY_VIDEO, media_read_cogvideox, 226,
	 .width = 720, .height = 480, .frames = 49, .fps = 8, .steps = 50, .passes = 2},
	{"MochiTransformer3DModel", "mochi", MODALITY_VIDEO, media_read_mochi, 256, .width = 848,
	 .height = 480, .frames = 163, .fps = 30, .steps = 64, .passes = 2},
};

const struct media_class *media_class_find(const char *name)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strcmp(classes[i].name, name) == 0)
			return &classes[i];
	return NULL;
}

/* Two convolutions of 3 x 3, two norms, a shortcut where widths differ. */
static uint64_t resnet(int in, int out)
{
	uint64_t weights = 9 * (media_product(in, out) + media_product(out, out));

	weights += 2 * (unsigned)in + 4 * (unsigned)out;
	return weights + (in != out ? media_product(in, out) + (unsigned)out : 0);
}

static uint64_t convolution(int in, int out)
{
	return 9 * media_product(in, out) + (unsigned)out;
}

/* Two resnets about an attention of one head. */
static uint64_t middle(int width)
{
	return 2 * resnet(width, width) + 2 * (unsigned)width +
	       4 * (media_product(width, width) + (unsigned)width);
}

static void count_autoencoder(struct media_vae *vae, bool has_quant, bool has_post_quant)
{
	int last = vae->levels - 1, latent = vae->latent_channels;
	int bottom = vae->channels[last], before = vae->channels[0];
	uint64_t down = convolution(vae->pixel_channels, before), up;

	for (int i = 0; i <= last; before = vae->channels[i++]) {
		down += resnet(before, vae->channels[i]);
		down += (unsigned)(vae->encoder_resnets - 1) *
			resnet(vae->channels[i], vae->channels[i]);
		down += i < last ? convolution(vae->channels[i], vae->channels[i]) : 0;
	}
	down += middle(bottom) + 2 * (unsigned)bottom + convolution(bottom, 2 * latent);
	if (has_quant)
		down += media_product(2 * latent, 2 * latent) + 2 * (unsigned)latent;
	up = convolution(latent, bottom) + middle(bottom);
	before = bottom;
	for (int i = last; i >= 0; before = vae->channels[i--]) {
		up += resnet(before, vae->channels[i]);
		up += (unsigned)(vae->decoder_resnets - 1) *
		      resnet(vae->channels[i], vae->channels[i]);
		up += i > 0 ? convolution(vae->channels[i], vae->channels[i]) : 0;
	}
	up += 2 * (unsigned)vae->channels[0] + convolution(vae->channels[0], vae->pixel_channels);
	if (has_post_quant)
		up += media_product(latent, latent) + (unsigned)latent;
	vae->encoder_parameters = down;
	vae->decoder_parameters = up;
}

static bool read_autoencoder(struct hf_reader *reader, struct media_vae *out)
{
	const struct config_value *channels = hf_value(reader, "block_out_channels");
	int resnets = hf_dim(reader, "layers_per_block", 2);

	if (!channels || channels->type != CONFIG_ARRAY || channels->count < 1 ||
	    channels->count > MEDIA_LEVELS_MAX) {
		hf_fail(reader, "block_out_channels", "missing",
			"This must be a list of 1 to 6 widths.");
		return false;
	}
	*out = (struct media_vae){.name = "AutoencoderKL",
				  .levels = (int)channels->count,
				  .encoder_resnets = resnets,
				  .decoder_resnets = resnets + 1,
				  .latent_channels = hf_dim(reader, "latent_channels", 4),
				  .pixel_channels =
					  media_most(reader, "in_channels", 3, MEDIA_CHANNELS_MOST),
				  .temporal = 1,
				  .tile = hf_dim(reader, "sample_size", 512),
				  .has_attention = true,
				  .is_upcast = hf_bool(reader, "force_upcast", true) &&
					       hf_number(reader, "scaling_factor", 0.18215) < 0.15};
	out->spatial = 1 << (out->levels - 1);
	for (int i = 0; i < out->levels; i++) {
		out->channels[i] = hf_layer_int(reader, "block_out_channels", i, 0);
		if (out->channels[i] < 1 || out->channels[i] > 65536) {
			hf_fail(reader, "block_out_channels", "out_of_range",
				"Widths are from 1 to 65536.");
			return false;
		}
	}
	if (reader->failed)
		return false;
	count_autoencoder(out, hf_bool(reader, "use_quant_conv", true),
			  hf_bool(reader, "use_post_quant_conv", true));
	return !reader->failed;
}

bool media_config_vae(struct hf_reader *reader, const char *name, struct media_vae *out)
{
	int latent = hf_dim(reader, "latent_channels|z_dim", 0);

	if (strcmp(name, "AutoencoderKL") == 0)
		return read_autoencoder(reader, out);
	for (size_t i = 0; i < models_count; i++) {
		const struct media *known = models[i].architecture.media;

		if (known && strcmp(known->vae.name, name) == 0 &&
		    (!latent || known->vae.latent_channels == latent)) {
			*out = known->vae;
			return !reader->failed;
		}
	}
	return error_set(reader->error, ERROR_UNSUPPORTED,
			 "The VAE's class \"%.60s\" is not known with these latents.", name);
}

/* CLIP's text model: 77 learned positions, biases, a projection where it has one. */
static void read_clip(struct hf_reader *reader, struct media_encoder *out)
{
	int width = hf_dim(reader, "hidden_size", 768), vocab = hf_int(reader, "vocab_size", 49408);
	int positions = hf_dim(reader, "max_position_embeddings", 77);
	int ffn = hf_dim(reader, "intermediate_size", 3072);
	int layers = hf_dim(reader, "num_hidden_layers", 12);
	const char *built = hf_layer_text(reader, "architectures", 0);
	uint64_t layer = 4 * media_product(width, width) + 2 * media_product(width, ffn) +
			 (4 + 4 + 1) * (unsigned)width + (unsigned)ffn;

	*out = (struct media_encoder){
		.kind = MEDIA_ENCODER_TEXT,
		.layers = layers,
		.hidden = width,
		.heads = media_most(reader, "num_attention_heads", 12, MEDIA_HEADS_MOST),
		.ffn = ffn,
		.tokens = positions};
	out->head_dim = out->heads > 0 ? width / out->heads : 0;
	out->embedding = media_product(vocab, width) + media_product(positions, width);
	out->parameters = out->embedding + (unsigned)layers * layer + 2 * (unsigned)width;
	if (built && strstr(built, "WithProjection"))
		out->parameters += media_product(width, hf_dim(reader, "projection_dim", 512));
}

/* The encoder of T5 alone: positions by a table of 32 distances a head, in UMT5 in every layer. */
static void read_t5(struct hf_reader *reader, bool is_in_every_layer, int tokens,
		    struct media_encoder *out)
{
	int width = hf_dim(reader, "d_model", 512), vocab = hf_int(reader, "vocab_size", 32128);
	int heads = media_most(reader, "num_heads", 8, MEDIA_HEADS_MOST),
	    head_dim = media_most(reader, "d_kv", 64, MEDIA_HEADS_MOST);
	int ffn = hf_dim(reader, "d_ff", 2048), layers = hf_dim(reader, "num_layers", 6);
	const struct config_value *form = hf_value(reader, "feed_forward_proj");
	bool is_gated = form && form->type == CONFIG_STRING && strstr(form->text, "gated");
	int distances = hf_dim(reader, "relative_attention_num_buckets", 32);
	uint64_t layer = 4 * media_product(width, heads * head_dim) +
			 (is_gated ? 3 : 2) * media_product(width, ffn) + 2 * (unsigned)width;

	*out = (struct media_encoder){.kind = MEDIA_ENCODER_TEXT,
				      .layers = layers,
				      .hidden = width,
				      .heads = heads,
				      .head_dim = head_dim,
				      .ffn = ffn,
				      .tokens = tokens};
	out->embedding = media_product(vocab, width);
	out->kept = (unsigned)layers * media_product(ffn, width);
	out->parameters =
		out->embedding + (unsigned)layers * layer + (unsigned)width +
		media_product(distances, heads) * (is_in_every_layer ? (unsigned)layers : 1);
}

/* A language model, whose hidden states are what the denoiser reads; or a tower of pictures. */
static bool read_other(struct hf_reader *reader, int tokens, struct media_encoder *out)
{
	struct architecture architecture;
	struct parameter_count count;
	const struct layer_kind *kind = &architecture.kinds[0];

	if (!hf_config_read(reader->text, &architecture, reader->error))
		return false;
	architecture_count(&architecture, &count);
	*out = (struct media_encoder){.kind = architecture.vocab ? MEDIA_ENCODER_TEXT
								 : MEDIA_ENCODER_IMAGE,
				      .layers = architecture_layers(&architecture),
				      .hidden = architecture.hidden,
				      .heads = kind->heads,
				      .head_dim = kind->head_dim,
				      .ffn = kind->ffn,
				      .tokens = tokens,
				      .parameters = count.total,
				      .embedding = count.embedding + count.head};
	return true;
}

bool media_config_encoder(struct hf_reader *reader, int tokens, struct media_encoder *out)
{
	const struct config_value *type = hf_value(reader, "model_type");
	const char *name = type && type->type == CONFIG_STRING ? type->text : "";
	bool is_t5 =
		strcmp(name, "t5") == 0 || strcmp(name, "umt5") == 0 || strcmp(name, "mt5") == 0;

	if (!*name) {
		hf_fail(reader, "model_type", "missing",
			"The config.json of an encoder names its model_type.");
		return false;
	}
	if (strcmp(name, "clip_text_model") == 0)
		read_clip(reader, out);
	else if (is_t5)
		read_t5(reader, strcmp(name, "umt5") == 0, tokens, out);
	else if (!read_other(reader, tokens, out))
		return false;
	snprintf(out->name, sizeof(out->name), "%s", name);
	return !reader->failed;
}
