/* Decoder families without experts, where they differ from Llama: see hf_config_parts.h. */
#include "core/hf_config_parts.h"

#include <math.h>
#include <string.h>

bool hf_is_sliding(struct hf_reader *reader, int index, bool fallback)
{
	const char *type = hf_layer_text(reader, "layer_types", index);

	if (!type)
		return fallback;
	if (strcmp(type, "sliding_attention") == 0 || strcmp(type, "chunked_attention") == 0)
		return true;
	if (strcmp(type, "full_attention") != 0 && strcmp(type, "attention") != 0)
		hf_unknown_layer(reader);
	return false;
}

static void slide(struct hf_reader *reader, int index, bool fallback, struct layer_kind *kind)
{
	int window = hf_int(reader, "sliding_window|attention_chunk_size", 0);

	/* A window as long as the context never bites. */
	if (reader->out->max_context && window >= reader->out->max_context)
		window = 0;
	kind->window = hf_is_sliding(reader, index, fallback) ? window : 0;
}

void hf_window_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	slide(reader, index, true, kind);
}

/* MistralConfig slides by 4096 unless the key says otherwise, and null says "no". */
void hf_mistral_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	slide(reader, index, true, kind);
	if (!config_member(reader->text, "sliding_window") && reader->out->max_context > 4096)
		kind->window = 4096;
}

void hf_qwen2_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	bool slides = hf_bool(reader, "use_sliding_window", false) &&
		      index >= hf_int(reader, "max_window_layers", 28);

	slide(reader, index, slides, kind);
}

/* Full attention every `sliding_window_pattern`th layer; exaone spells it "LLLG". */
static void every(struct hf_reader *reader, int index, int period, struct layer_kind *kind)
{
	const struct config_value *pattern =
		hf_value(reader, "sliding_window_pattern|_sliding_window_pattern");

	if (pattern && pattern->type == CONFIG_STRING && pattern->text[0]) {
		size_t length = strlen(pattern->text);

		slide(reader, index, pattern->text[(size_t)index % length] != 'G', kind);
		return;
	}
	if (pattern && pattern->type == CONFIG_NUMBER)
		period = hf_int(reader, "sliding_window_pattern|_sliding_window_pattern", period);
	slide(reader, index, period > 0 && (index + 1) % period != 0, kind);
}

void hf_gemma2_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	slide(reader, index, index % 2 == 0, kind);
	if (!hf_has(reader, "sliding_window"))
		kind->window = index % 2 == 0 ? 4096 : 0;
}

void hf_gemma3_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	every(reader, index, 6, kind);
	if (!hf_has(reader, "sliding_window") && kind->window == 0 && (index + 1) % 6 != 0)
		kind->window = 4096; /* Gemma3TextConfig's default */
}

void hf_every_fourth_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	every(reader, index, 4, kind);
	/* Default of Olmo3Config and Exaone4Config; null means that none slides. */
	if (!config_member(reader->text, "sliding_window") &&
	    hf_is_sliding(reader, index, (index + 1) % 4 != 0))
		kind->window = 4096;
}

void hf_cohere2_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	every(reader, index, 4, kind);
	if (!hf_has(reader, "sliding_window") && (index + 1) % 4 != 0)
		kind->window = 4096;
}

/* attention_types is [[["global", "local"], 12]]: a pattern and how often it repeats. */
void hf_gpt_neo_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	const struct config_value *groups = hf_value(reader, "attention_types");
	bool local = index % 2 == 1;
	int at = index;

	for (size_t i = 0; groups && groups->type == CONFIG_ARRAY && i < groups->count; i++) {
		const struct config_value *pattern = config_item(groups->items[i], 0);
		const struct config_value *repeat = config_item(groups->items[i], 1);
		int length;

		if (!pattern || pattern->type != CONFIG_ARRAY || !pattern->count || !repeat ||
		    !(repeat->number >= 0 && repeat->number < 100000))
			break;
		length = (int)((double)pattern->count * repeat->number);
		if (at < length) {
			local = config_is_text(pattern->items[(size_t)at % pattern->count],
					       "local");
			break;
		}
		at -= length;
	}
	kind->window = local ? hf_int(reader, "window_size", 256) : 0;
}

/* Trainable slopes of xIELU, two a layer. */
void hf_apertus_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	(void)reader;
	(void)index;
	kind->extra_parameters += 2;
}

/* A norm behind attention's output and one behind the product in the MLP. */
void hf_bitnet_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	(void)index;
	kind->extra_parameters += (unsigned)reader->out->hidden + (unsigned)kind->ffn;
}

/* Learned positions. */
void hf_positions_finish(struct hf_reader *reader)
{
	reader->out->lookup_parameters +=
		(uint64_t)(unsigned)reader->out->max_context * (unsigned)reader->out->hidden;
}

/* Qwen-1 writes the width of both halves. */
void hf_qwen1_finish(struct hf_reader *reader)
{
	for (int i = 0; i < reader->out->kinds_count; i++)
		reader->out->kinds[i].ffn /= 2;
}

void hf_falcon_prepare(struct hf_reader *reader)
{
	bool bias = hf_bool(reader, "bias", false);
	bool is_new = hf_bool(reader, "new_decoder_architecture", false);
	int norms = hf_int(reader, "num_ln_in_parallel_attn", is_new ? 2 : 1);

	if (bias)
		reader->flags |= HF_QKV_BIAS | HF_OUTPUT_BIAS | HF_MLP_BIAS;
	if (hf_bool(reader, "parallel_attn", true) && norms == 1)
		reader->flags |= HF_ONE_NORM;
}

void hf_falcon_finish(struct hf_reader *reader)
{
	struct layer_kind *kind = &reader->out->kinds[0];

	/* multi_query counts only before the new decoder, which names its KV heads. */
	if (hf_bool(reader, "multi_query", true) &&
	    !hf_bool(reader, "new_decoder_architecture", false))
		kind->kv_heads = 1;
}

void hf_gpt_bigcode_finish(struct hf_reader *reader)
{
	if (hf_bool(reader, "multi_query", true))
		reader->out->kinds[0].kv_heads = 1;
	hf_positions_finish(reader);
}

void hf_stablelm_prepare(struct hf_reader *reader)
{
	if (hf_bool(reader, "use_qkv_bias", false))
		reader->flags |= HF_QKV_BIAS;
	if (hf_bool(reader, "use_parallel_residual", false))
		reader->flags |= HF_ONE_NORM;
	/* A norm without bias for every head: as wide as q and k. */
	if (hf_bool(reader, "qk_layernorm", false))
		reader->flags |= HF_QK_NORM_WIDE;
}

void hf_phi_prepare(struct hf_reader *reader)
{
	if (hf_bool(reader, "qk_layernorm", false))
		reader->flags |= HF_QK_NORM;
}

void hf_cohere_prepare(struct hf_reader *reader)
{
	if (hf_bool(reader, "use_qk_norm", false))
		reader->flags |= HF_QK_NORM_WIDE;
}

/* One key for every bias: starcoder2, ernie. */
void hf_use_bias_prepare(struct hf_reader *reader)
{
	if (hf_bool(reader, "use_bias", reader->flags & HF_LAYER_NORM))
		reader->flags |= HF_QKV_BIAS | HF_OUTPUT_BIAS | HF_MLP_BIAS;
}

void hf_internlm_prepare(struct hf_reader *reader)
{
	if (hf_bool(reader, "bias", strcmp(reader->out->family, "internlm") == 0))
		reader->flags |= HF_QKV_BIAS | HF_OUTPUT_BIAS;
	if (hf_bool(reader, "qkv_bias", false))
		reader->flags |= HF_QKV_BIAS;
}

void hf_chatglm_prepare(struct hf_reader *reader)
{
	if (hf_bool(reader, "add_qkv_bias", true))
		reader->flags |= HF_QKV_BIAS;
	if (hf_bool(reader, "add_bias_linear", false))
		reader->flags |= HF_OUTPUT_BIAS | HF_MLP_BIAS;
}

void hf_chatglm_finish(struct hf_reader *reader)
{
	if (hf_bool(reader, "multi_query_attention", false))
		reader->out->kinds[0].kv_heads =
			hf_dim(reader, "multi_query_group_num", HF_REQUIRED);
}

void hf_seed_prepare(struct hf_reader *reader)
{
	if (hf_bool(reader, "attention_bias", true))
		reader->flags |= HF_QKV_BIAS;
	if (hf_bool(reader, "attention_out_bias", false))
		reader->flags |= HF_OUTPUT_BIAS;
}

void hf_opt_prepare(struct hf_reader *reader)
{
	if (!hf_bool(reader, "enable_bias", true))
		reader->flags &= ~(unsigned)(HF_QKV_BIAS | HF_OUTPUT_BIAS | HF_MLP_BIAS);
}

void hf_opt_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	uint64_t hidden = (unsigned)out->hidden;
	uint64_t width = (unsigned)hf_dim(reader, "word_embed_proj_dim", out->hidden);

	/* Two positions are reserved for padding. */
	out->lookup_parameters += (unsigned)(out->max_context + 2) * hidden;
	if (width != hidden) {
		out->embedding_dim = (int)width;
		out->extra_parameters += 2 * width * hidden;
	}
	if (!hf_bool(reader, "do_layer_norm_before", true))
		out->extra_parameters -= (unsigned)reader->norm; /* no final norm */
}

/* A norm right behind the embedding. */
void hf_bloom_finish(struct hf_reader *reader)
{
	reader->out->extra_parameters += (unsigned)reader->norm;
}

void hf_mpt_prepare(struct hf_reader *reader)
{
	if (!hf_bool(reader, "no_bias", true))
		reader->flags |= HF_QKV_BIAS | HF_OUTPUT_BIAS | HF_MLP_BIAS | HF_LAYER_NORM;
}

void hf_mpt_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	double ratio = hf_number(reader, "expansion_ratio", 4);

	if (!(ratio > 0 && ratio < 100)) {
		hf_fail(reader, "expansion_ratio", "out_of_range",
			"This must be above 0 and below 100.");
		return;
	}
	for (int i = 0; i < out->kinds_count; i++)
		out->kinds[i].ffn = (int)(ratio * out->hidden);
	if (hf_bool(reader, "learned_pos_emb", false) &&
	    !hf_bool(reader, "attn_config.alibi", true))
		hf_positions_finish(reader);
}

/* One layer of a network found by search: both halves may be missing or a plain linear layer. */
static void nas_layer(struct hf_reader *reader, const struct config_value *block)
{
	const struct config_value *attention = config_get(block, "attention");
	const struct config_value *ffn = config_get(block, "ffn");
	const struct config_value *group = config_get(attention, "n_heads_in_group");
	const struct config_value *mult = config_get(ffn, "ffn_mult");
	const struct config_value *flag;
	struct layer_kind kind;
	int hidden = reader->out->hidden;
	double width;

	memcpy(&kind, &reader->base, sizeof(kind));
	kind.extra_parameters = 2 * (uint64_t)(unsigned)hidden;
	kind.ffn = 0;
	flag = config_get(attention, "replace_with_linear");
	if (flag && flag->boolean)
		kind.extra_linear += (uint64_t)(unsigned)hidden * (unsigned)hidden;
	if (group && group->number >= 1 && group->number <= kind.heads) {
		kind.kv_heads = kind.heads / (int)group->number;
	} else {
		kind.attention = ATTENTION_NONE;
		kind.heads = kind.kv_heads = kind.head_dim = kind.v_head_dim = 0;
		flag = config_get(attention, "no_op");
		if (flag && flag->boolean)
			kind.extra_parameters -= (unsigned)hidden;
	}
	flag = config_get(ffn, "replace_with_linear");
	if (flag && flag->boolean)
		kind.extra_linear += (uint64_t)(unsigned)hidden * (unsigned)hidden;
	flag = config_get(ffn, "no_op");
	if (flag && flag->boolean)
		kind.extra_parameters -= (unsigned)hidden;
	if (mult && mult->number > 0 && mult->number < 100 && !(flag && flag->boolean)) {
		width = floor(2 * mult->number * hidden / 3);
		kind.ffn = (int)(ceil(width / 256) * 256);
	}
	hf_add_layer(reader, &kind);
}

void hf_nas_finish(struct hf_reader *reader)
{
	const struct config_value *blocks = hf_value(reader, "block_configs");

	if (!blocks || blocks->type != CONFIG_ARRAY) {
		hf_fail(reader, "block_configs", "missing",
			"The layers of this family stand in this list.");
		return;
	}
	for (size_t i = 0; i < blocks->count && !reader->failed; i++)
		nas_layer(reader, blocks->items[i]);
}

/* Cross-attention layers read the image's tokens and stand between the text's own. */
void hf_mllama_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	/* MllamaTextConfig's own list: the fourth and every fifth behind it. */
	if (hf_has(reader, "cross_attention_layers")
		    ? !hf_list_holds(reader, "cross_attention_layers", index)
		    : index % 5 != 3)
		return;
	kind->is_cross_only = true;
	kind->qk_norm = true;
	kind->extra_parameters += 2; /* gates of attention and MLP */
}

/* Eight rows of the input table belong to image markers that are never put out. */
void hf_mllama_finish(struct hf_reader *reader)
{
	reader->out->lookup_parameters += 8 * (uint64_t)(unsigned)reader->out->hidden;
}

static int round_up_to(double value, int step)
{
	int rounded = (int)((value + step / 2.0) / step) * step;

	if (rounded < step)
		rounded = step;
	return rounded < 0.9 * value ? rounded + step : rounded;
}

/* OpenELM gives heads and widths by layer, and the widths as multipliers. */
void hf_openelm_finish(struct hf_reader *reader)
{
	const struct config_value *mults = hf_value(reader, "ffn_multipliers");
	int step = hf_int(reader, "ffn_dim_divisor", 256);

	for (int i = 0; i < reader->layers && !reader->failed; i++) {
		const struct config_value *mult = config_item(mults, (size_t)i);
		struct layer_kind kind;

		memcpy(&kind, &reader->base, sizeof(kind));
		kind.heads = hf_layer_int(reader, "num_query_heads", i, HF_REQUIRED);
		kind.kv_heads = hf_layer_int(reader, "num_kv_heads", i, HF_REQUIRED);
		kind.gated = hf_bool(reader, "ffn_with_glu", true);
		kind.qk_norm = hf_bool(reader, "normalize_qk_projections", true);
		if (!mult || !(mult->number > 0 && mult->number < 100) || step < 1) {
			hf_fail(reader, "ffn_multipliers", "missing",
				"Each layer needs its multiplier.");
			return;
		}
		kind.ffn = round_up_to(mult->number * reader->out->hidden, step);
		hf_add_layer(reader, &kind);
	}
	reader->out->tied_embeddings = hf_bool(reader, "share_input_output_layers", true);
}
