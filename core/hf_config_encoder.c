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

/* Word, position and type tables narrower than the model, and the projection out of them. */
static void narrow_tables(struct hf_reader *reader, int fallback)
{
	struct architecture *out = reader->out;
	uint64_t width = (unsigned)hf_dim(reader, "embedding_size", fallback);
	uint64_t hidden = (unsigned)out->hidden;
	int types = hf_dim(reader, "type_vocab_size", 2);

	tables(reader, 0, 0);
	out->embedding_dim = (int)width;
	out->lookup_parameters += (uint64_t)(unsigned)(out->max_context + types) * width;
	out->extra_parameters = 2 * width;
	if (width != hidden)
		out->extra_parameters += width * hidden + hidden;
}

/* One group of layers (or a few) is passed again and again. */
void hf_albert_finish(struct hf_reader *reader)
{
	int64_t groups = (int64_t)hf_dim(reader, "num_hidden_groups", 1) *
			 hf_dim(reader, "inner_group_num", 1);
	struct layer_kind again;

	narrow_tables(reader, 128);
	/* Even where the widths agree. */
	if (reader->out->embedding_dim == reader->out->hidden)
		reader->out->extra_parameters +=
			(uint64_t)(unsigned)reader->out->hidden * (unsigned)reader->out->hidden +
			(unsigned)reader->out->hidden;
	pooler(reader);
	if (groups < 1 || groups >= reader->layers || reader->out->kinds_count != 1)
		return;
	reader->out->kinds[0].count = (int)groups;
	memcpy(&again, &reader->out->kinds[0], sizeof(again));
	again.count = reader->layers - (int)groups;
	again.reuses_weights = true;
	again.extra_parameters = 0;
	memcpy(&reader->out->kinds[reader->out->kinds_count++], &again, sizeof(again));
}

void hf_electra_finish(struct hf_reader *reader)
{
	narrow_tables(reader, 128);
}

/* The first DeBERTa: q, k and v in one matrix with biases on q and v, and the projections of
 * relative positions, in every layer. */
void hf_deberta1_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	uint64_t hidden = (unsigned)out->hidden;
	bool absolute = hf_bool(reader, "position_biased_input", true);
	const struct config_value *kinds = hf_value(reader, "pos_att_type");
	int reach = out->max_context;

	tables(reader, absolute ? out->max_context : 0, hf_dim(reader, "type_vocab_size", 0));
	for (int i = 0; i < out->kinds_count; i++)
		out->kinds[i].extra_parameters -= hidden; /* no bias on k */
	if (!hf_bool(reader, "relative_attention", false))
		return;
	/* -1 means as many as positions. */
	if (hf_value(reader, "max_relative_positions") &&
	    hf_value(reader, "max_relative_positions")->number >= 1)
		reach = hf_dim(reader, "max_relative_positions", reach);
	out->lookup_parameters += 2 * (uint64_t)(unsigned)reach * hidden;
	for (int i = 0; i < out->kinds_count; i++) {
		bool has_list = kinds && kinds->type == CONFIG_ARRAY;
		bool has_text = kinds && kinds->type == CONFIG_STRING;

		for (size_t k = 0; has_list && k < kinds->count; k++) {
			if (config_is_text(kinds->items[k], "c2p"))
				out->kinds[i].extra_linear += hidden * hidden;
			if (config_is_text(kinds->items[k], "p2c")) {
				out->kinds[i].extra_linear += hidden * hidden;
				out->kinds[i].extra_parameters += hidden;
			}
		}
		if (has_text && strstr(kinds->text, "c2p"))
			out->kinds[i].extra_linear += hidden * hidden;
		if (has_text && strstr(kinds->text, "p2c")) {
			out->kinds[i].extra_linear += hidden * hidden;
			out->kinds[i].extra_parameters += hidden;
		}
	}
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

/*
 * Encoders of images: a position for each patch and one for the class, the projection of a patch,
 * a norm at the end. DINOv2 adds a mask token and scales; CLIP's has a norm in front and no bias on
 * the patches; SigLIP has no class token. A sequence is one image.
 */
void hf_vit_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	bool is_dino = strstr(out->family, "dinov2"), is_clip = strstr(out->family, "clip_");
	bool is_siglip = strstr(out->family, "siglip");
	uint64_t hidden = (unsigned)out->hidden, norm = (unsigned)reader->norm;
	uint64_t patch = (unsigned)hf_dim(reader, "patch_size", is_dino ? 14 : is_clip ? 32 : 16);
	uint64_t image = (unsigned)hf_dim(reader, "image_size", 224);
	uint64_t channels = (unsigned)hf_dim(reader, "num_channels", 3);
	uint64_t side = patch ? image / patch : 0;

	if (!side || side > 4096 || channels > 1024) {
		hf_fail(reader, "patch_size", "out_of_range",
			"An image must have from 1 to 4096 patches a side.");
		return;
	}
	out->max_context = (int)(side * side + !is_siglip);
	for (int i = 0; i < out->kinds_count; i++) {
		out->kinds[i].is_encoder = true;
		if (is_dino)
			out->kinds[i].extra_parameters += 2 * hidden;
	}
	out->lookup_parameters = (unsigned)out->max_context * hidden;
	out->extra_parameters = channels * patch * patch * hidden + norm;
	if (!is_siglip)
		out->extra_parameters += hidden;
	if (!is_clip)
		out->extra_parameters += hidden;
	if (is_clip)
		out->extra_parameters += norm;
	if (is_dino)
		out->extra_parameters += hidden;
}

void hf_t5_prepare(struct hf_reader *reader)
{
	const struct config_value *act = hf_value(reader, "feed_forward_proj");
	/* T5Config's default is relu, that of mT5 and UMT5 gated-gelu. */
	bool gated = act ? act->type == CONFIG_STRING && strncmp(act->text, "gated", 5) == 0
			 : strcmp(reader->out->family, "t5") != 0;

	if (!gated)
		reader->flags |= HF_PLAIN_MLP;
}

/* Encoder layers, then decoder layers with a second attention over the encoder. Relative positions
 * are one table in each half. */
void hf_t5_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	int encoders = hf_dim(reader, "num_layers", reader->family->defaults.layers);
	int decoders = hf_dim(reader, "num_decoder_layers", encoders);
	const struct config_value *name = config_item(config_get(reader->root, "architectures"), 0);
	bool only_encoder = config_is_text(name, "T5EncoderModel") ||
			    config_is_text(name, "UMT5EncoderModel") ||
			    config_is_text(name, "MT5EncoderModel");
	/* UMT5 has a table in every layer. */
	bool per_layer = strcmp(out->family, "umt5") == 0;
	uint64_t table, norm = (unsigned)reader->norm;
	struct layer_kind kind;

	reader->base.heads = hf_dim(reader, "num_heads", reader->family->defaults.heads);
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
