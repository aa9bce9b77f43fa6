/* Encoders and encoder-decoders: see hf_config_parts.h. */
#include "core/hf_config_parts.h"

#include <string.h>

/* Word, position and type tables, and the norm behind them. */
static void tables(struct hf_reader *reader, int positions, int types)
{
	reader->out->lookup_parameters +=
		(uint64_t)(unsigned)(positions + types) * (unsigned)reader->out->hidden;
	reader->out->extra_parameters = (unsigned)reader->norm;
	for (int i = 0; i < reader->out->kinds_count; i++)
		reader->out->kinds[i].is_encoder = true;
}

static void pooler(struct hf_reader *reader)
{
	uint64_t hidden = (unsigned)reader->out->hidden;

	reader->out->extra_parameters += hidden * hidden + hidden;
}

/* RoBERTa's first position is behind the padding index: two rows never count as context. */
void hf_bert_finish(struct hf_reader *reader)
{
	tables(reader, reader->out->max_context, hf_dim(reader, "type_vocab_size", 2));
	pooler(reader);
	if (strstr(reader->out->family, "roberta") && reader->out->max_context > 2)
		reader->out->max_context -= 2;
}

void hf_distilbert_finish(struct hf_reader *reader)
{
	tables(reader, reader->out->max_context, 0);
}

void hf_mpnet_finish(struct hf_reader *reader)
{
	tables(reader, reader->out->max_context, 0);
	pooler(reader);
	reader->out->extra_parameters +=
		(uint64_t)(unsigned)hf_dim(reader, "relative_attention_num_buckets", 32) *
		(unsigned)reader->base.heads;
	if (reader->out->max_context > 2)
		reader->out->max_context -= 2;
}

/* Relative positions: one table for all layers, as many rows as twice the buckets, with a norm. */
void hf_deberta_finish(struct hf_reader *reader)
{
	bool absolute = hf_bool(reader, "position_biased_input", true);
	int buckets = hf_int(reader, "position_buckets", 0);
	const struct config_value *norm = hf_value(reader, "norm_rel_ebd");

	tables(reader, absolute ? reader->out->max_context : 0,
	       hf_dim(reader, "type_vocab_size", 0));
	if (!hf_bool(reader, "relative_attention", false))
		return;
	if (!buckets)
		buckets = reader->out->max_context;
	reader->out->lookup_parameters +=
		2 * (uint64_t)(unsigned)buckets * (unsigned)reader->out->hidden;
	if (norm && norm->type == CONFIG_STRING && strstr(norm->text, "layer_norm"))
		reader->out->extra_parameters += (unsigned)reader->norm;
}

void hf_nomic_finish(struct hf_reader *reader)
{
	tables(reader, 0, hf_dim(reader, "type_vocab_size", 2));
}

/* Biases on qkv, o and the way down, none on the gated way up. */
void hf_gte_finish(struct hf_reader *reader)
{
	tables(reader, 0, hf_dim(reader, "type_vocab_size", 0));
	for (int i = 0; i < reader->out->kinds_count; i++)
		reader->out->kinds[i].extra_parameters += (unsigned)reader->out->hidden;
}

void hf_modernbert_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	int period = hf_int(reader, "global_attn_every_n_layers", 3);

	if (period > 0 && index % period != 0)
		kind->window = hf_int(reader, "local_attention", 128);
	if (index == 0)
		kind->extra_parameters -=
			(unsigned)reader->norm; /* no norm before the first attention */
}

void hf_modernbert_finish(struct hf_reader *reader)
{
	tables(reader, 0, 0);
	reader->out->extra_parameters +=
		(unsigned)reader->norm; /* final norm beside the embedding's */
}

void hf_t5_prepare(struct hf_reader *reader)
{
	const struct config_value *act = hf_value(reader, "feed_forward_proj");
	bool gated = act && act->type == CONFIG_STRING && strncmp(act->text, "gated", 5) == 0;

	if (!gated)
		reader->flags |= HF_PLAIN_MLP;
}

/* Encoder layers, then decoder layers with a second attention over the encoder. Relative positions
 * are one table in each half. */
void hf_t5_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	int encoders = hf_dim(reader, "num_layers", HF_REQUIRED);
	int decoders = hf_dim(reader, "num_decoder_layers", encoders);
	const struct config_value *name = config_item(config_get(reader->root, "architectures"), 0);
	bool only_encoder = config_is_text(name, "T5EncoderModel") ||
			    config_is_text(name, "UMT5EncoderModel") ||
			    config_is_text(name, "MT5EncoderModel");
	/* UMT5 has a table in every layer. */
	bool per_layer = strcmp(out->family, "umt5") == 0;
	uint64_t table, norm = (unsigned)reader->norm;
	struct layer_kind kind;

	reader->base.heads = hf_dim(reader, "num_heads", HF_REQUIRED);
	reader->base.kv_heads = reader->base.heads;
	table = (uint64_t)(unsigned)hf_dim(reader, "relative_attention_num_buckets", 32) *
		(unsigned)reader->base.heads;
	memcpy(&kind, &reader->base, sizeof(kind));
	kind.is_encoder = true;
	kind.extra_parameters = 2 * norm + (per_layer ? table : 0);
	out->extra_parameters = norm + (per_layer ? 0 : table);
	for (int i = 0; i < encoders && !reader->failed; i++)
		hf_add_layer(reader, &kind);
	if (only_encoder) {
		out->modality = MODALITY_EMBEDDING;
		return;
	}
	out->modality = MODALITY_TEXT;
	kind.is_encoder = false;
	kind.has_cross_attention = true;
	kind.extra_parameters = 3 * norm + (per_layer ? table : 0);
	out->extra_parameters += norm + (per_layer ? 0 : table);
	for (int i = 0; i < decoders && !reader->failed; i++)
		hf_add_layer(reader, &kind);
}
