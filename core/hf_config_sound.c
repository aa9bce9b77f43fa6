/*
 * Models that hear and speak: generators of music and speech with their text encoder and codec, and
 * encoders of sound: see hf_config_parts.h. Whisper is in hf_config_translate.c, towers of sound in
 * hf_config_tower.c.
 */
#include "core/hf_config_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RATIOS_MAX 8
#define WIDTH_MAX 200000
#define WORDS_MAX 10000000
/* Frames a second that a codec can have: none has under one or over a thousand. */
#define FRAMES_LEAST 0.1
#define FRAMES_MOST 100000.0
#define QUANTIZERS_MOST 1024.0

static uint64_t count_of(const struct config_value *object, const char *name, int fallback,
			 double most)
{
	const struct config_value *value = config_get(object, name);

	if (!value || value->type != CONFIG_NUMBER)
		return (unsigned)fallback;
	return value->number >= 0 && value->number <= most ? (uint64_t)value->number : 0;
}

/* A count or a width of a part, no larger than any may be. */
static uint64_t part(const struct config_value *object, const char *name, int fallback)
{
	return count_of(object, name, fallback, WIDTH_MAX);
}

static bool part_flag(const struct config_value *object, const char *name, bool fallback)
{
	const struct config_value *value = config_get(object, name);

	return value && value->type == CONFIG_BOOL ? value->boolean : fallback;
}

static double part_number(const struct config_value *object, const char *name, double fallback)
{
	const struct config_value *value = config_get(object, name);

	return value && value->type == CONFIG_NUMBER && value->number > 0 ? value->number
									  : fallback;
}

/* A convolution with weight norm: a gain for every output. */
static uint64_t convolution(uint64_t in, uint64_t out, uint64_t kernel)
{
	return in * out * kernel + 2 * out;
}

struct codec {
	uint64_t parameters;
	double frames; /* a second */
};

/* Samples a frame; `ratios` and `count` are what EncodecConfig has. */
static double read_ratios(const struct config_value *config, uint64_t ratios[RATIOS_MAX],
			  size_t *count)
{
	static const uint64_t usual[] = {8, 5, 4, 2};
	const struct config_value *list = config_get(config, "upsampling_ratios");
	double hop = 1;

	*count = list && list->type == CONFIG_ARRAY ? list->count : 4;
	if (*count > RATIOS_MAX)
		*count = RATIOS_MAX;
	for (size_t i = 0; i < *count; i++) {
		const struct config_value *item = list ? config_item(list, i) : NULL;

		ratios[i] = usual[i % 4];
		if (item && item->type == CONFIG_NUMBER && item->number >= 1 &&
		    item->number <= 1024)
			ratios[i] = (uint64_t)item->number;
		hop *= (double)ratios[i];
	}
	return hop;
}

/* One side of EnCodec's autoencoder: a convolution in, a block and a resampling by each ratio, an
 * LSTM, a convolution out. */
static uint64_t codec_side(const struct config_value *config, const uint64_t *ratios, size_t count,
			   bool is_decoder)
{
	uint64_t width = part(config, "num_filters", 32), latent = part(config, "hidden_size", 128);
	uint64_t kernel = part(config, "kernel_size", 7);
	uint64_t residual = part(config, "residual_kernel_size", 3);
	uint64_t squeeze = part(config, "compress", 2),
		 channels = part(config, "audio_channels", 1);
	bool has_shortcut = part_flag(config, "use_conv_shortcut", true);
	uint64_t total = is_decoder
				 ? convolution(width, channels, part(config, "last_kernel_size", 7))
				 : convolution(channels, width, kernel);

	for (size_t i = 0; i < count && squeeze && width <= WIDTH_MAX; i++) {
		/* The encoder halves the rate in the reverse order. */
		uint64_t ratio = ratios[count - 1 - i];

		total += convolution(width, width / squeeze, residual) +
			 convolution(width / squeeze, width, 1) +
			 (has_shortcut ? convolution(width, width, 1) : 0);
		total += 4 * width * width * ratio + (is_decoder ? 3 * width : 4 * width);
		width *= 2;
	}
	total += part(config, "num_lstm_layers", 2) * (8 * width * width + 8 * width);
	return total + (is_decoder
				? convolution(latent, width, kernel)
				: convolution(width, latent, part(config, "last_kernel_size", 7)));
}

/* EnCodec, with its codebooks and the means that it keeps of them; of other codecs the rate alone,
 * if the file has it. */
static struct codec codec_of(const struct config_value *config)
{
	uint64_t ratios[RATIOS_MAX], quantizers;
	uint64_t codes = part(config, "codebook_size", 1024);
	uint64_t width = part(config, "codebook_dim", (int)part(config, "hidden_size", 128));
	const struct config_value *bands = config_get(config, "target_bandwidths");
	const struct config_value *last = bands && bands->type == CONFIG_ARRAY && bands->count
						  ? config_item(bands, bands->count - 1)
						  : NULL;
	struct codec codec = {0, 0};
	size_t count;
	double band = last && last->type == CONFIG_NUMBER ? last->number : 24;

	codec.frames =
		part_number(config, "sampling_rate", 24000) / read_ratios(config, ratios, &count);
	if (!config_is_text(config_get(config, "model_type"), "encodec")) {
		codec.frames = fmin(FRAMES_MOST, part_number(config, "frame_rate", 0));
		return codec;
	}
	if (!(codec.frames >= FRAMES_LEAST && codec.frames <= FRAMES_MOST) || !(band > 0)) {
		codec.frames = 0;
		return codec;
	}
	quantizers = (uint64_t)fmin(QUANTIZERS_MOST, 1000 * band / (codec.frames * 10));
	codec.parameters = codec_side(config, ratios, count, false) +
			   codec_side(config, ratios, count, true) +
			   quantizers * (2 * codes * width + codes + 1);
	return codec;
}

/* T5's encoder: one table of positions, norms without bias. */
static uint64_t text_encoder_of(const struct config_value *config)
{
	const struct config_value *act = config_get(config, "feed_forward_proj");
	bool is_gated = act && act->type == CONFIG_STRING && strncmp(act->text, "gated", 5) == 0;
	uint64_t width = part(config, "d_model", 512), ffn = part(config, "d_ff", 2048);
	uint64_t heads = part(config, "num_heads", 8), layers = part(config, "num_layers", 6);
	uint64_t inner = heads * part(config, "d_kv", 64);
	uint64_t block = 4 * width * inner + (is_gated ? 3u : 2u) * width * ffn + 2 * width;

	if (layers > 1000 || inner > WIDTH_MAX)
		return 0;
	return count_of(config, "vocab_size", 32128, WORDS_MAX) * width + layers * block +
	       part(config, "relative_attention_num_buckets", 32) * heads + width;
}

/*
 * MusicGen and Parler-TTS: a decoder over several codebooks that asks a T5 encoder; sums of tables
 * in, a head for each codebook out. Guidance is on in MusicGen's own recipe.
 */
void hf_codebooks_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	bool is_parler = strstr(out->family, "parler") != NULL;
	const struct config_value *text = config_get(reader->root, "text_encoder");
	struct codec codec = codec_of(config_get(reader->root, "audio_encoder"));
	uint64_t hidden = (unsigned)out->hidden, source = part(text, "d_model", 768);
	int books = hf_dim(reader, "num_codebooks", is_parler ? 9 : 4);

	if (books < 1 || books > 64 || out->vocab > 1000000) {
		hf_fail(reader, "num_codebooks", "out_of_range", "This must be from 1 to 64.");
		return;
	}
	out->modality = MODALITY_AUDIO;
	out->vocab *= books;
	out->tied_embeddings = false;
	out->lookup_parameters = (unsigned)books * hidden;
	out->extra_parameters = 2 * hidden;
	if (source != hidden)
		out->extra_parameters += source * hidden + hidden;
	/* Parler's prompt is of words, with a table of its own. */
	if (is_parler)
		out->lookup_parameters =
			count_of(reader->root, "vocab_size", 32128, WORDS_MAX) * hidden;
	out->tower_parameters = text_encoder_of(text) + codec.parameters;
	for (int i = 0; i < out->kinds_count; i++) {
		out->kinds[i].has_cross_attention = true;
		out->kinds[i].extra_parameters = 6 * hidden;
	}
	out->sound = (struct sound){.spoken_steps = codec.frames > 0 ? codec.frames
						    : is_parler	     ? 86
								     : 50,
				    .codebooks = books,
				    .guided = is_parler ? 1 : 2};
}

/*
 * Dia: a decoder over nine codebooks behind an encoder of bytes, which is narrower. Its
 * cross-attention has heads of its own: what they weigh beyond those of the first attention.
 */
void hf_dia_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	const struct config_value *encoder = config_get(reader->root, "encoder_config");
	uint64_t hidden = (unsigned)out->hidden, width = part(encoder, "hidden_size", 1024);
	uint64_t source = part(reader->text, "cross_hidden_size", 1024);
	uint64_t inner = part(reader->text, "cross_num_attention_heads", 16) *
			 part(reader->text, "cross_head_dim", 128);
	uint64_t keys = part(reader->text, "cross_num_key_value_heads", 16) *
			part(reader->text, "cross_head_dim", 128);
	uint64_t own = (unsigned)reader->base.heads * (uint64_t)(unsigned)reader->base.head_dim;
	uint64_t heard = part(encoder, "num_attention_heads", 16) * part(encoder, "head_dim", 128);
	uint64_t layers = part(encoder, "num_hidden_layers", 12);
	uint64_t cross = 2 * hidden * inner + 2 * source * keys;
	uint64_t same = 2 * hidden * own + 2 * hidden * (unsigned)reader->base.kv_heads *
						   (uint64_t)(unsigned)reader->base.head_dim;
	int books = hf_dim(reader, "num_channels", 9);

	if (books < 1 || books > 64 || out->vocab > 1000000 || layers > 1000 || cross < same) {
		hf_fail(reader, "num_channels", "out_of_range",
			"There must be from 1 to 64 codebooks, and no fewer heads that ask the "
			"encoder than others.");
		return;
	}
	out->modality = MODALITY_AUDIO;
	out->vocab *= books;
	out->tied_embeddings = false;
	for (int i = 0; i < out->kinds_count; i++) {
		out->kinds[i].has_cross_attention = true;
		out->kinds[i].extra_linear = cross - same;
		out->kinds[i].extra_parameters = 3 * hidden;
	}
	out->tower_parameters =
		layers * (4 * width * heard + 3 * width * part(encoder, "intermediate_size", 4096) +
			  2 * width) +
		part(encoder, "vocab_size", 256) * width + width;
	/* 44.1 kHz in frames of 512 samples. */
	out->sound = (struct sound){.spoken_steps = 44100.0 / 512, .codebooks = books, .guided = 2};
}

/* Semantic tokens a second, and codes of its coarse codebooks, in Bark's generation settings. */
#define BARK_SEMANTIC_RATE 49.9
#define BARK_COARSE_RATE (2 * 75.0)

/*
 * Bark: three decoders of one size in turn, for meaning, for coarse and for fine codes, the last
 * over all codes at once. A second takes steps of the first and of the second; together they are as
 * many of both.
 */
void hf_bark_finish(struct hf_reader *reader)
{
	static const char *const names[] = {"semantic_config", "coarse_acoustics_config",
					    "fine_acoustics_config"};
	struct architecture *out = reader->out;
	struct codec codec = codec_of(config_get(reader->root, "codec_config"));
	uint64_t hidden = (unsigned)out->hidden, biases = hf_bool(reader, "bias", true) ? 1 : 0;
	uint64_t norm = hidden * (1 + biases);

	snprintf(out->family, sizeof(out->family), "bark");
	out->modality = MODALITY_AUDIO;
	out->tied_embeddings = true;
	out->max_context = (int)part(reader->text, "block_size", 1024);
	out->extra_parameters = out->lookup_parameters = 0;
	for (int i = 0; i < 3; i++) {
		const struct config_value *config = config_get(reader->root, names[i]);
		uint64_t words = part(config, "input_vocab_size", 10048);
		uint64_t codes = part(config, "output_vocab_size", 10048);
		uint64_t layers = part(config, "num_layers", 12);
		uint64_t all = part(config, "n_codes_total", 8);
		uint64_t given = part(config, "n_codes_given", 1);
		struct layer_kind kind;

		if (layers > 1000 || all > 64 || given > all) {
			hf_fail(reader, "num_layers", "out_of_range", "A part is too large.");
			return;
		}
		memcpy(&kind, &reader->base, sizeof(kind));
		kind.is_encoder = i == 2;
		kind.attention_bias = kind.output_bias = kind.mlp_bias = biases && i < 2;
		kind.extra_parameters = i == 2 ? 4 * hidden : 2 * norm;
		for (uint64_t layer = 0; layer < layers && !reader->failed; layer++)
			hf_add_layer(reader, &kind);
		if (i == 0)
			out->vocab = (int)words;
		else
			out->lookup_parameters += (i == 2 ? all : 1u) * words * hidden;
		out->lookup_parameters += part(config, "block_size", 1024) * hidden;
		out->extra_parameters += (i == 2 ? all - given : 1u) * codes * hidden;
		out->extra_parameters += i == 2 ? 2 * hidden : norm;
	}
	out->tower_parameters = codec.parameters;
	out->sound = (struct sound){.spoken_steps = (BARK_SEMANTIC_RATE + BARK_COARSE_RATE) / 2};
}

/* Wav2Vec2 and its kin: convolutions from samples to frames, and one over positions. */
void hf_wav2vec2_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	uint64_t hidden = (unsigned)out->hidden;
	int channels = hf_layer_int(reader, "conv_dim", 0, 512);
	uint64_t width = channels > 0 && channels <= WIDTH_MAX ? (unsigned)channels : 512;
	uint64_t taps = (unsigned)hf_dim(reader, "num_conv_pos_embeddings", 128);
	uint64_t groups = (unsigned)hf_dim(reader, "num_conv_pos_embedding_groups", 16);
	const struct config_value *norm = hf_value(reader, "feat_extract_norm");
	bool is_layer_norm = config_is_text(norm, "layer");
	bool has_bias = hf_bool(reader, "conv_bias", false);

	if (!groups) {
		hf_fail(reader, "num_conv_pos_embedding_groups", "out_of_range",
			"This must be more than zero.");
		return;
	}
	out->modality = MODALITY_AUDIO;
	out->vocab = 0; /* a head over characters that is no table */
	out->max_context = 0;
	/* Kernels 10, then 3 four times and 2 twice, as every published one has. */
	out->extra_parameters = width * (10 + 4 * 3 * width + 2 * 2 * width) +
				(is_layer_norm ? 7u : 1u) * 2 * width + (has_bias ? 7 * width : 0) +
				2 * width + width * hidden + hidden +
				hidden * (hidden / groups) * taps + hidden + taps + 3 * hidden;
	for (int i = 0; i < out->kinds_count; i++)
		out->kinds[i].is_encoder = true;
	out->sound = (struct sound){.heard_positions = 50};
}
