/*
 * BART and its kin: encoder and decoder with learned or counted positions and biases everywhere:
 * see hf_config_parts.h. T5 is in hf_config_encoder.c.
 */
#include "core/hf_config_parts.h"

#include <string.h>

/* Where the families differ. */
struct style {
	const char *families;
	bool positions;		    /* a table of positions for each side, part of the weights */
	int padding;		    /* rows of it beyond the longest sequence */
	bool first_norm, last_norm; /* behind the embedding; behind the last layer */
};

static const struct style styles[] = {
	{"bart|plbart", true, 2, true, false}, {"mbart", true, 2, true, true},
	{"pegasus", true, 0, false, true},     {"m2m_100|nllb", false, 0, false, true},
	{"marian", true, 0, false, false},     {"whisper", false, 0, false, true},
};

static const struct style *style_of(const char *family)
{
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (strstr(styles[i].families, family))
			return &styles[i];
	return &styles[0];
}

/* Heads and width of the MLP of one side. */
static void set_side(struct hf_reader *reader, const char *heads, const char *ffn,
		     struct layer_kind *kind)
{
	kind->heads = hf_dim(reader, heads, reader->base.heads);
	kind->kv_heads = kind->heads;
	kind->head_dim = kind->v_head_dim =
		kind->heads ? reader->out->hidden / kind->heads : reader->base.head_dim;
	kind->ffn = hf_int(reader, ffn, reader->ffn);
}

static void add_side(struct hf_reader *reader, int layers, const struct layer_kind *kind)
{
	for (int i = 0; i < layers && !reader->failed; i++)
		hf_add_layer(reader, kind);
}

void hf_bart_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	const struct style *style = style_of(out->family);
	const struct hf_defaults *defaults = &reader->family->defaults;
	uint64_t hidden = (unsigned)out->hidden, norm = (unsigned)reader->norm;
	struct layer_kind encoder, decoder;

	memcpy(&encoder, &reader->base, sizeof(encoder));
	encoder.is_encoder = true;
	encoder.extra_parameters = 2 * norm;
	memcpy(&decoder, &reader->base, sizeof(decoder));
	decoder.has_cross_attention = true;
	decoder.extra_parameters = 3 * norm;
	set_side(reader, "encoder_attention_heads", "encoder_ffn_dim", &encoder);
	set_side(reader, "decoder_attention_heads", "decoder_ffn_dim", &decoder);
	out->modality = MODALITY_TEXT; /* "BartModel" too: it has both sides */
	out->extra_parameters =
		norm * ((style->first_norm ? 2u : 0u) + (style->last_norm ? 2u : 0u));
	if (style->positions)
		out->lookup_parameters +=
			2 * hidden * (unsigned)(out->max_context + style->padding);
	add_side(reader, hf_dim(reader, "encoder_layers|num_hidden_layers", defaults->layers),
		 &encoder);
	add_side(reader, hf_dim(reader, "decoder_layers", defaults->layers), &decoder);
}

/*
 * Two convolutions over the spectrogram, positions of both sides; keys have no bias. The encoder
 * always sees 30 seconds: max_source_positions.
 */
#define WHISPER_RATE 50.0 /* positions a second: frames of 10 ms, two by two */

void hf_whisper_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	uint64_t hidden = (unsigned)out->hidden;
	uint64_t mels = (unsigned)hf_dim(reader, "num_mel_bins", 80);
	uint64_t sources = (unsigned)hf_dim(reader, "max_source_positions", 1500);

	out->max_context = hf_dim(reader, "max_target_positions", 448);
	hf_bart_finish(reader);
	for (int i = 0; i < out->kinds_count; i++)
		out->kinds[i].extra_parameters -=
			hidden * (out->kinds[i].has_cross_attention ? 2 : 1);
	out->extra_parameters += 3 * hidden * (mels + hidden) + 2 * hidden;
	out->lookup_parameters += hidden * (sources + (unsigned)out->max_context);
	out->modality = MODALITY_AUDIO;
	out->sound = (struct sound){.heard_positions = WHISPER_RATE,
				    .window_seconds = (double)sources / WHISPER_RATE};
}
