/* Experts, and the decoder families that have them: see hf_config_parts.h. */
#include "core/hf_config_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A string list such as "3,4,5". */
static bool text_list_holds(const char *list, int value)
{
	while (*list) {
		char *end;
		long number = strtol(list, &end, 10);

		if (end == list)
			return false;
		if (number == value)
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

/* By first_k_dense_replace and, behind those, every moe_layer_freq-th. */
static bool is_past_dense(struct hf_reader *reader, int index)
{
	const struct config_value *freq = hf_value(reader, "moe_layer_freq");
	int dense = hf_int(reader, "first_k_dense_replace|num_dense_layers",
			   reader->family->defaults.first_dense);
	int period = 1;

	if (freq && freq->type == CONFIG_ARRAY)
		return hf_layer_int(reader, "moe_layer_freq", index, 0) > 0;
	if (freq)
		period = hf_int(reader, "moe_layer_freq", 1);
	return index >= dense && (period < 2 || index % period == 0);
}

bool hf_is_moe_layer(struct hf_reader *reader, int index)
{
	const char *type = hf_layer_text(reader, "mlp_layer_types", index);
	const struct config_value *list = hf_value(reader, "moe_layers_enum");
	int step;

	if (type)
		return strcmp(type, "sparse") == 0;
	if (list && list->type == CONFIG_STRING && strnlen(list->text, 65536) < 65536)
		return text_list_holds(list->text, index);
	list = hf_value(reader, "moe_layers");
	if (list && list->type == CONFIG_ARRAY && list->count)
		return hf_list_holds(reader, "moe_layers", index);
	step = hf_int(reader, "interleave_moe_layer_step", 0);
	if (step)
		return (index + 1) % step == 0;
	step = hf_int(reader, "decoder_sparse_step", 0);
	if (step)
		return (index + 1) % step == 0 && !hf_list_holds(reader, "mlp_only_layers", index);
	step = hf_int(reader, "expert_layer_period", 0);
	if (step)
		return index % step == hf_int(reader, "expert_layer_offset", 0);
	if (hf_has(reader, "moe_layer_start_index")) {
		const struct config_value *end = hf_value(reader, "moe_layer_end_index");
		int first = hf_layer_int(reader, "moe_layer_start_index", 0, 0);
		int last = end && end->type == CONFIG_NUMBER && end->number >= 0
				   ? (int)end->number
				   : reader->layers - 1;
		int interval = hf_int(reader, "moe_layer_interval", 1);

		return index >= first && index <= last &&
		       (interval < 2 || (index + 1) % interval == 0);
	}
	return is_past_dense(reader, index);
}

/* Width of all shared experts together. */
static int shared_width(struct hf_reader *reader, int index, int moe_ffn)
{
	static const char direct[] = "shared_expert_intermediate_size|share_expert_dim|"
				     "shared_intermediate_size|moe_shared_expert_intermediate_size";
	static const char numbers[] = "n_shared_experts|num_shared_experts|moe_num_shared_experts|"
				      "num_shared_expert";
	int count;
	double width;

	if (hf_has(reader, direct))
		return hf_layer_int(reader, direct, index, 0);
	/* Null means none, a missing key the class default. */
	count = config_member(reader->text, "n_shared_experts") ? 0
								: reader->family->defaults.shared;
	count = hf_layer_int(reader, numbers, index, count);
	width = (double)count * moe_ffn;
	if (width > 1e8) {
		hf_fail(reader, "n_shared_experts", "out_of_range",
			"The shared experts are too wide.");
		return 0;
	}
	return (int)width;
}

void hf_experts(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	const struct hf_defaults *defaults = &reader->family->defaults;
	int at = reader->flags & HF_BY_MODALITY ? 0 : index;
	/* A null says that there are none, a missing key what the class has. */
	bool is_dense = config_member(reader->text, "n_routed_experts") ||
			config_member(reader->text, "num_local_experts") ||
			config_member(reader->text, "num_experts");
	int experts = hf_layer_int(reader,
				   "num_local_experts|num_experts|n_routed_experts|moe_num_experts|"
				   "ffn_config.moe_num_experts",
				   at, is_dense ? 0 : defaults->experts);

	if (experts < 2 || !hf_is_moe_layer(reader, index)) {
		/* Families of state layers alone have no MLP. */
		if (!kind->ffn && reader->base.attention != ATTENTION_NONE)
			kind->ffn = hf_layer_int(reader, "intermediate_size", index, HF_REQUIRED);
		return;
	}
	kind->experts = experts;
	kind->experts_active = hf_layer_int(
		reader,
		"num_experts_per_tok|num_experts_per_token|experts_per_token|moe_topk|moe_k|"
		"moe_top_k|top_k_experts|ffn_config.moe_top_k",
		at, defaults->top_k ? defaults->top_k : HF_REQUIRED);
	kind->moe_ffn = hf_layer_int(reader,
				     "moe_intermediate_size|expert_ffn_hidden_size|"
				     "ffn_config.ffn_hidden_size|intermediate_size",
				     at,
				     defaults->moe_ffn	 ? defaults->moe_ffn
				     : defaults->ffn > 0 ? defaults->ffn
							 : HF_REQUIRED);
	kind->shared_ffn = shared_width(reader, index, kind->moe_ffn);
	kind->ffn = 0;
	if (reader->flags & HF_ROUTER_BIAS)
		kind->extra_parameters += (unsigned)experts;
	if (reader->flags & HF_SHARED_GATE && kind->shared_ffn)
		kind->extra_parameters += (unsigned)reader->out->hidden;
}

/* Biases everywhere, and one sink a head that attention may look at instead of any token. */
void hf_gpt_oss_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	kind->expert_bias = true;
	kind->extra_parameters += (unsigned)kind->heads;
	kind->window = hf_is_sliding(reader, index, index % 2 == 0)
			       ? hf_int(reader, "sliding_window", 128)
			       : 0;
}

/* Rotary layers attend in chunks; every fourth has no positions and sees all. */
void hf_llama4_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	const struct config_value *rope = hf_value(reader, "no_rope_layers");
	bool chunked = (index + 1) % 4 != 0;

	if (rope && rope->type == CONFIG_ARRAY && rope->count)
		chunked = hf_layer_int(reader, "no_rope_layers", index, 1) > 0;
	chunked = hf_is_sliding(reader, index, chunked);
	kind->window = chunked ? hf_int(reader, "attention_chunk_size", 8192) : 0;
	if (kind->experts)
		kind->shared_ffn = kind->moe_ffn;
	else
		kind->ffn = hf_int(reader, "intermediate_size_mlp", kind->ffn);
}

/* A dense MLP as wide as hidden runs beside the experts, behind a norm of its own. */
void hf_arctic_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	(void)index;
	if (!kind->experts)
		return;
	kind->ffn = reader->out->hidden;
	kind->extra_parameters += (unsigned)reader->norm;
}

void hf_minimax_m2_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	(void)index;
	if (!hf_bool(reader, "use_qk_norm", true))
		kind->extra_parameters -= (uint64_t)(unsigned)(kind->heads + kind->kv_heads) *
					  (unsigned)kind->head_dim;
}

/* Sliding layers have their own heads, head dimensions and sinks. */
void hf_mimo_v2_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	kind->v_head_dim = hf_int(reader, "v_head_dim", kind->head_dim);
	if (hf_layer_int(reader, "hybrid_layer_pattern", index, 0) > 0) {
		kind->window = hf_int(reader, "sliding_window", HF_REQUIRED);
		kind->heads = hf_dim(reader, "swa_num_attention_heads", kind->heads);
		kind->kv_heads = hf_dim(reader, "swa_num_key_value_heads", kind->kv_heads);
		kind->head_dim = hf_dim(reader, "swa_head_dim", kind->head_dim);
		kind->v_head_dim = hf_dim(reader, "swa_v_head_dim", kind->v_head_dim);
		if (hf_bool(reader, "add_swa_attention_sink_bias", false))
			kind->extra_parameters += (unsigned)kind->heads;
	} else if (hf_bool(reader, "add_full_attention_sink_bias", false)) {
		kind->extra_parameters += (unsigned)kind->heads;
	}
}

void hf_step_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	if (hf_is_sliding(reader, index, false)) {
		kind->window = hf_int(reader, "sliding_window", HF_REQUIRED);
		kind->heads =
			hf_dim(reader, "attention_other_setting.num_attention_heads", kind->heads);
		kind->kv_heads = hf_dim(reader, "attention_other_setting.num_attention_groups",
					kind->kv_heads);
	}
	if (hf_bool(reader, "use_head_wise_attn_gate", true))
		kind->extra_linear +=
			(uint64_t)(unsigned)reader->out->hidden * (unsigned)kind->heads;
}

/* Sparse layers pick blocks of keys by a small indexer. */
void hf_minimax_m3_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t heads, dim;

	if (!kind->experts)
		kind->ffn = hf_int(reader, "dense_intermediate_size", kind->ffn);
	if (!hf_layer_int(reader, "sparse_attention_config.sparse_attention_freq", index, 0))
		return;
	heads = (unsigned)hf_dim(reader, "sparse_attention_config.sparse_num_index_heads",
				 HF_REQUIRED);
	dim = (unsigned)hf_dim(reader, "sparse_attention_config.sparse_index_dim", HF_REQUIRED);
	kind->index_dim = (int)dim;
	kind->extra_linear += hidden * (heads * dim + dim);
	kind->extra_parameters += 2 * dim;
}

/* DeepSeek sparse attention: an indexer scores the keys, with its own key cache. */
void hf_deepseek_v32_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	const char *type = hf_layer_text(reader, "indexer_types", index);
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t heads, dim;

	if (!hf_has(reader, "index_head_dim") || (type && strcmp(type, "full") != 0))
		return;
	heads = (unsigned)hf_dim(reader, "index_n_heads", HF_REQUIRED);
	dim = (unsigned)hf_dim(reader, "index_head_dim", HF_REQUIRED);
	kind->index_dim = (int)dim;
	kind->extra_linear += (unsigned)kind->q_rank * heads * dim + hidden * dim + hidden * heads;
	kind->extra_parameters += 2 * dim;
}

/* Hunyuan-Large: layers between share the keys and values of the first of their group. */
void hf_hunyuan_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	int group = hf_int(reader, "cla_share_factor", 1);

	if (!hf_bool(reader, "use_cla", false) || group < 2 || index % group == 0)
		return;
	kind->shares_kv = true;
	kind->kv_omitted = 2;
}

/* The smallest DeepSeek-VL2 keeps plain attention in a class made for latent. */
void hf_deepseek_prepare(struct hf_reader *reader)
{
	if (!hf_bool(reader, "use_mla", true))
		reader->flags &= ~(unsigned)HF_LATENT;
}

void hf_bailing_prepare(struct hf_reader *reader)
{
	if (hf_bool(reader, "use_qkv_bias", false))
		reader->flags |= HF_QKV_BIAS;
	if (hf_bool(reader, "use_bias", false))
		reader->flags |= HF_OUTPUT_BIAS;
	if (hf_bool(reader, "use_qk_norm", false))
		reader->flags |= HF_QK_NORM;
	if (hf_bool(reader, "moe_router_enable_expert_bias", false))
		reader->flags |= HF_ROUTER_BIAS;
}

void hf_glm4_moe_prepare(struct hf_reader *reader)
{
	if (hf_bool(reader, "use_qk_norm", false))
		reader->flags |= HF_QK_NORM;
}

/* Images have experts of their own, second in each list: they are the tower's. */
void hf_ernie_vl_finish(struct hf_reader *reader)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	const struct config_value *counts = hf_value(reader, "moe_num_experts");
	const struct config_value *widths = hf_value(reader, "moe_intermediate_size");
	uint64_t experts, width;

	if (!counts || counts->type != CONFIG_ARRAY || counts->count < 2 || !widths ||
	    widths->type != CONFIG_ARRAY || widths->count < 2)
		return;
	experts = (unsigned)hf_layer_int(reader, "moe_num_experts", 1, 0);
	width = (unsigned)hf_layer_int(reader, "moe_intermediate_size", 1, 0);
	if ((double)experts * (double)width > 1e9)
		return;
	for (int i = 0; i < reader->out->kinds_count; i++)
		if (reader->out->kinds[i].experts)
			reader->out->tower_parameters +=
				(unsigned)reader->out->kinds[i].count *
				(3 * hidden * width * experts + hidden * experts + experts);
}

/* Each layer holds two latent attentions and two dense MLPs, and experts beside the first. */
void hf_longcat_finish(struct hf_reader *reader)
{
	struct layer_kind first, second;

	reader->layers = hf_dim(reader, "num_layers|num_hidden_layers", HF_REQUIRED);
	memcpy(&second, &reader->base, sizeof(second));
	second.heads = hf_dim(reader, "num_attention_heads", HF_REQUIRED);
	second.ffn = hf_int(reader, "ffn_hidden_size|intermediate_size", HF_REQUIRED);
	memcpy(&first, &second, sizeof(first));
	first.experts = hf_int(reader, "n_routed_experts", HF_REQUIRED);
	first.experts_active = hf_int(reader, "moe_topk|num_experts_per_tok", HF_REQUIRED);
	first.moe_ffn = hf_int(reader, "expert_ffn_hidden_size|moe_intermediate_size", HF_REQUIRED);
	/* Experts that compute nothing have rows in the router, and a bias as all have. */
	first.extra_parameters += (unsigned)hf_dim(reader, "zero_expert_num", 0) *
					  (uint64_t)(unsigned)reader->out->hidden +
				  (unsigned)first.experts +
				  (unsigned)hf_dim(reader, "zero_expert_num", 0);
	for (int i = 0; i < reader->layers && !reader->failed; i++) {
		hf_add_layer(reader, &first);
		hf_add_layer(reader, &second);
	}
}

/* One layer of DeepSeek-V4: low-rank projections, one latent K=V head, and by its ratio a
 * compressor of far tokens and an indexer over what it made. */
static void deepseek_v4_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t dim = (unsigned)kind->head_dim, heads = (unsigned)kind->heads;
	uint64_t q_rank = (unsigned)hf_dim(reader, "q_lora_rank", HF_REQUIRED);
	uint64_t o_rank = (unsigned)hf_dim(reader, "o_lora_rank", HF_REQUIRED);
	uint64_t groups = (unsigned)hf_dim(reader, "o_groups", HF_REQUIRED);
	uint64_t streams = (unsigned)hf_dim(reader, "hc_mult", HF_REQUIRED);
	uint64_t mix = (2 + streams) * streams;
	uint64_t ratio = (unsigned)hf_layer_int(reader, "compress_ratios", index, 0);
	uint64_t wide = ratio == 4 ? 2 : 1; /* windows of 4 overlap */

	kind->projections_elsewhere = true;
	kind->window = hf_int(reader, "sliding_window", HF_REQUIRED);
	kind->extra_linear += hidden * q_rank + q_rank * heads * dim + hidden * dim +
			      heads * dim * o_rank + groups * o_rank * hidden;
	kind->extra_parameters += q_rank + dim + heads + 2 * (mix * streams * hidden + mix + 3);
	if (ratio) {
		kind->compress_ratio = (int)ratio;
		kind->extra_linear += 2 * hidden * wide * dim;
		kind->extra_parameters += ratio * wide * dim + dim;
	}
	if (ratio == 4) {
		uint64_t index_heads = (unsigned)hf_dim(reader, "index_n_heads", HF_REQUIRED);
		uint64_t index_dim = (unsigned)hf_dim(reader, "index_head_dim", HF_REQUIRED);

		kind->extra_linear += q_rank * index_heads * index_dim + hidden * index_heads +
				      4 * hidden * index_dim;
		kind->extra_parameters += 2 * ratio * index_dim + index_dim;
	}
	/* The first layers route by a table of tokens instead of a bias. */
	if (index >= hf_int(reader, "num_hash_layers", 0))
		kind->extra_parameters += (unsigned)kind->experts;
}

void hf_deepseek_v4_finish(struct hf_reader *reader)
{
	uint64_t streams = (unsigned)hf_dim(reader, "hc_mult", HF_REQUIRED);

	if (streams > 64) {
		hf_fail(reader, "hc_mult", "out_of_range", "This must be from 1 to 64.");
		return;
	}
	reader->layers = hf_dim(reader, "num_hidden_layers", HF_REQUIRED);
	reader->base.heads = hf_dim(reader, "num_attention_heads", HF_REQUIRED);
	for (int i = 0; i < reader->layers && !reader->failed; i++) {
		struct layer_kind kind;

		memcpy(&kind, &reader->base, sizeof(kind));
		hf_experts(reader, i, &kind);
		deepseek_v4_layer(reader, i, &kind);
		hf_add_layer(reader, &kind);
	}
	reader->out->extra_parameters +=
		streams * streams * (unsigned)reader->out->hidden + streams + 1;
}
