/* Families with state layers (Mamba, gated delta nets, short convolutions): see hf_config_parts.h.
 */
#include "core/hf_config_parts.h"

#include <math.h>
#include <string.h>

static void no_attention(struct layer_kind *kind)
{
	kind->attention = ATTENTION_NONE;
	kind->heads = kind->kv_heads = kind->head_dim = kind->v_head_dim = 0;
	kind->attention_bias = kind->output_bias = kind->qk_norm = false;
}

/* Mamba-1: `inner` channels, each with its own state; dt comes through a low rank. */
static void mamba1(struct layer_kind *kind, uint64_t hidden, uint64_t inner, uint64_t state,
		   uint64_t conv, uint64_t rank, bool conv_bias, bool bias)
{
	kind->mixer_parameters = 2 * hidden * inner + inner * conv + inner * (rank + 2 * state) +
				 rank * inner + inner + inner * state + inner + inner * hidden;
	if (conv_bias)
		kind->mixer_parameters += inner;
	if (bias)
		kind->mixer_parameters += 2 * inner + hidden;
	kind->state_elements = (double)inner * (double)(state + conv - 1);
}

struct mamba2 {
	uint64_t inner, heads, groups, state, conv;
	bool conv_bias, bias, norm;
};

static void add_mamba2(struct layer_kind *kind, uint64_t hidden, const struct mamba2 *mamba)
{
	uint64_t channels = mamba->inner + 2 * mamba->groups * mamba->state;
	uint64_t projected = mamba->inner + channels + mamba->heads;

	kind->mixer_parameters = hidden * projected + channels * mamba->conv + 3 * mamba->heads +
				 mamba->inner * hidden;
	if (mamba->norm)
		kind->mixer_parameters += mamba->inner;
	if (mamba->conv_bias)
		kind->mixer_parameters += channels;
	if (mamba->bias)
		kind->mixer_parameters += projected + hidden;
	kind->state_elements = (double)mamba->inner * (double)mamba->state +
			       (double)channels * (double)(mamba->conv - (mamba->conv > 0));
}

/* The spellings of Bamba, Granite, Falcon-H1 and Nemotron-H. */
static struct mamba2 read_mamba2(struct hf_reader *reader, uint64_t inner)
{
	struct mamba2 mamba = {
		.heads = (unsigned)hf_dim(reader, "mamba_n_heads|mamba_num_heads", 128),
		.groups = (unsigned)hf_dim(reader, "mamba_n_groups|n_groups", 1),
		.state = (unsigned)hf_dim(reader, "mamba_d_state|ssm_state_size", 256),
		.conv = (unsigned)hf_dim(reader, "mamba_d_conv|conv_kernel", 4),
		.conv_bias = hf_bool(reader, "mamba_conv_bias|use_conv_bias", true),
		.bias = hf_bool(reader, "mamba_proj_bias", false),
		.norm = true,
	};

	mamba.inner = inner ? inner
			    : mamba.heads * (unsigned)hf_dim(reader, "mamba_d_head|mamba_head_dim",
							     HF_REQUIRED);
	return mamba;
}

void hf_jamba_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	int period = hf_int(reader, "attn_layer_period", 8);
	const struct config_value *rank = hf_value(reader, "mamba_dt_rank");
	uint64_t state, dt_rank;

	if (period > 0 && index % period == hf_int(reader, "attn_layer_offset", 4))
		return;
	no_attention(kind);
	state = (unsigned)hf_dim(reader, "mamba_d_state", 16);
	dt_rank = rank && rank->type == CONFIG_NUMBER ? (unsigned)hf_dim(reader, "mamba_dt_rank", 0)
						      : (hidden + 15) / 16;
	mamba1(kind, hidden, hidden * (unsigned)hf_dim(reader, "mamba_expand", 2), state,
	       (unsigned)hf_dim(reader, "mamba_d_conv", 4), dt_rank,
	       hf_bool(reader, "mamba_conv_bias", true), hf_bool(reader, "mamba_proj_bias", false));
	kind->mixer_parameters += dt_rank + 2 * state; /* norms on dt, B and C */
}

void hf_mamba_prepare(struct hf_reader *reader)
{
	reader->base.attention = ATTENTION_NONE;
}

void hf_mamba_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	const struct config_value *rank = hf_value(reader, "time_step_rank");
	uint64_t inner = (unsigned)hf_int(reader, "intermediate_size|d_inner", 0);

	(void)index;
	no_attention(kind);
	kind->ffn = 0;
	kind->extra_parameters = (unsigned)reader->norm;
	if (!inner)
		inner = hidden * (unsigned)hf_dim(reader, "expand", 2);
	mamba1(kind, hidden, inner, (unsigned)hf_dim(reader, "state_size", 16),
	       (unsigned)hf_dim(reader, "conv_kernel", 4),
	       rank && rank->type == CONFIG_NUMBER ? (unsigned)hf_dim(reader, "time_step_rank", 0)
						   : (hidden + 15) / 16,
	       hf_bool(reader, "use_conv_bias", true), hf_bool(reader, "use_bias", false));
}

void hf_mamba2_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	struct mamba2 mamba = {
		.inner = hidden * (unsigned)hf_dim(reader, "expand", 2),
		.heads = (unsigned)hf_dim(reader, "num_heads", 128),
		.groups = (unsigned)hf_dim(reader, "n_groups", 8),
		.state = (unsigned)hf_dim(reader, "state_size", 128),
		.conv = (unsigned)hf_dim(reader, "conv_kernel", 4),
		.conv_bias = hf_bool(reader, "use_conv_bias", true),
		.bias = hf_bool(reader, "use_bias", false),
		.norm = true,
	};

	(void)index;
	no_attention(kind);
	kind->ffn = 0;
	kind->extra_parameters = (unsigned)reader->norm;
	add_mamba2(kind, hidden, &mamba);
}

static bool is_attention_layer(struct hf_reader *reader, int index)
{
	const char *type = hf_layer_text(reader, "layer_types|layers_block_type", index);

	if (type && strcmp(type, "mamba") != 0 && strcmp(type, "conv") != 0) {
		if (strcmp(type, "attention") != 0 && strcmp(type, "full_attention") != 0)
			hf_unknown_layer(reader);
		return true;
	}
	if (type)
		return false;
	/* Lfm2Config: all layers attend when nothing says which. */
	if (strncmp(reader->out->family, "lfm2", 4) == 0 && !hf_has(reader, "full_attn_idxs"))
		return true;
	return hf_list_holds(reader, "attn_layer_indices|full_attn_idxs", index);
}

/* Bamba and Granite 4: Mamba-2 or attention, then a dense or shared MLP with or without experts. */
void hf_granite_hybrid_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	struct mamba2 mamba;

	if (!kind->experts)
		kind->ffn =
			hf_int(reader, "shared_intermediate_size|intermediate_size", reader->ffn);
	if (is_attention_layer(reader, index))
		return;
	no_attention(kind);
	mamba = read_mamba2(reader, (uint64_t)(unsigned)reader->out->hidden *
					    (unsigned)hf_dim(reader, "mamba_expand", 2));
	add_mamba2(kind, (unsigned)reader->out->hidden, &mamba);
}

/* Attention and Mamba-2 side by side in every layer. */
void hf_falcon_h1_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	/* FalconH1Config: 1024, and null for the width times the expansion. */
	bool has_width = config_member(reader->text, "mamba_d_ssm") != NULL;
	uint64_t inner = (unsigned)hf_dim(reader, "mamba_d_ssm", has_width ? 0 : 1024);
	struct mamba2 mamba;

	(void)index;
	if (!inner)
		inner = (uint64_t)(unsigned)reader->out->hidden *
			(unsigned)hf_dim(reader, "mamba_expand", 2);
	mamba = read_mamba2(reader, inner);
	mamba.norm = hf_bool(reader, "mamba_rms_norm", false);
	add_mamba2(kind, (unsigned)reader->out->hidden, &mamba);
}

/* Each entry of the pattern is one sub-layer behind one norm: mixer, attention, MLP or experts. */
static void nemotron_sublayer(struct hf_reader *reader, char what, int index)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	struct layer_kind kind;
	struct mamba2 mamba;
	int latent = hf_dim(reader, "moe_latent_size", 0);

	memcpy(&kind, &reader->base, sizeof(kind));
	kind.extra_parameters = (unsigned)reader->norm;
	kind.ffn = 0;
	if (what != '*')
		no_attention(&kind);
	if (what == 'M') {
		mamba = read_mamba2(reader, 0);
		add_mamba2(&kind, hidden, &mamba);
	} else if (what == '-') {
		kind.ffn = hf_layer_int(reader, "intermediate_size", index, HF_REQUIRED);
	} else if (what == 'E') {
		hf_experts(reader, index, &kind);
		kind.moe_hidden = latent;
		kind.extra_linear += 2 * hidden * (unsigned)latent;
	}
	hf_add_layer(reader, &kind);
}

void hf_nemotron_h_finish(struct hf_reader *reader)
{
	const struct config_value *pattern = hf_value(reader, "hybrid_override_pattern");
	const struct config_value *list = hf_value(reader, "layers_block_type");

	reader->base.heads = hf_dim(reader, "num_attention_heads", HF_REQUIRED);
	if (list && list->type == CONFIG_ARRAY) {
		for (size_t i = 0; i < list->count && !reader->failed; i++) {
			const char *type = hf_layer_text(reader, "layers_block_type", (int)i);
			char what = !type			     ? '?'
				    : strcmp(type, "mamba") == 0     ? 'M'
				    : strcmp(type, "attention") == 0 ? '*'
				    : strcmp(type, "moe") == 0	     ? 'E'
				    : strcmp(type, "mlp") == 0	     ? '-'
								     : '?';
			if (what == '?')
				hf_fail(reader, "layers_block_type", "unknown_layer",
					"This holds mamba, attention, moe and mlp.");
			else
				nemotron_sublayer(reader, what, (int)i);
		}
		return;
	}
	if (!pattern || pattern->type != CONFIG_STRING) {
		hf_fail(reader, "hybrid_override_pattern", "missing",
			"The layers stand in this text.");
		return;
	}
	for (int i = 0; pattern->text[i] && !reader->failed; i++) {
		if (pattern->text[i] == '|')
			continue; /* a pipeline boundary */
		if (!strchr("M*-E", pattern->text[i]))
			hf_fail(reader, "hybrid_override_pattern", "unknown_layer",
				"This holds M, *, - and E.");
		else
			nemotron_sublayer(reader, pattern->text[i], i);
	}
}

/* Gated delta net; attention with an output gate in every fourth layer. */
void hf_qwen3_next_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	const char *type = hf_layer_text(reader, "layer_types", index);
	int interval = hf_int(reader, "full_attention_interval", 4);
	bool full = type ? strcmp(type, "full_attention") == 0
			 : interval > 0 && (index + 1) % interval == 0;
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t key_dim, value_dim, heads, conv, key, value;

	if (type && !full && strcmp(type, "linear_attention") != 0)
		hf_unknown_layer(reader);
	if (full) {
		kind->query_gate = hf_bool(reader, "attn_output_gate", true);
		return;
	}
	no_attention(kind);
	heads = (unsigned)hf_dim(reader, "linear_num_value_heads", 32);
	key_dim = (unsigned)hf_dim(reader, "linear_key_head_dim", 128);
	value_dim = (unsigned)hf_dim(reader, "linear_value_head_dim", 128);
	key = key_dim * (unsigned)hf_dim(reader, "linear_num_key_heads", 16);
	value = value_dim * heads;
	conv = (unsigned)hf_dim(reader, "linear_conv_kernel_dim", 4);
	kind->mixer_parameters = hidden * (2 * key + 2 * value + 2 * heads) +
				 (2 * key + value) * conv + 2 * heads + value_dim + value * hidden;
	kind->state_elements = (double)heads * (double)key_dim * (double)value_dim +
			       (double)(2 * key + value) * (double)(conv - (conv > 0));
}

/* Kimi delta attention: q, k and v with short convolutions, decay and gate through low ranks. */
static void kimi_delta(struct hf_reader *reader, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t heads = (unsigned)hf_dim(reader, "linear_attn_config.num_heads", HF_REQUIRED);
	uint64_t dim = (unsigned)hf_dim(reader, "linear_attn_config.head_dim", HF_REQUIRED);
	uint64_t conv = (unsigned)hf_dim(reader, "linear_attn_config.short_conv_kernel_size", 4);
	uint64_t width = heads * dim, low = hidden * dim + dim * width;
	bool full_gate = hf_bool(reader, "linear_attn_config.use_full_rank_gate", false);

	no_attention(kind);
	kind->q_rank = kind->kv_rank = kind->rope_dim = kind->nope_dim = 0;
	kind->extra_parameters = 2 * (uint64_t)(unsigned)reader->norm;
	kind->mixer_parameters = 4 * hidden * width + 3 * width * conv + heads + low + width +
				 hidden * heads + dim + (full_gate ? hidden * width : low);
	kind->state_elements = (double)heads * (double)dim * (double)dim +
			       3.0 * (double)width * (double)(conv - (conv > 0));
}

void hf_kimi_linear_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t latent = (unsigned)hf_dim(reader, "routed_expert_hidden_size", 0);

	/* These lists count from 1. */
	if (!hf_list_holds(reader, "linear_attn_config.full_attn_layers", index + 1))
		kimi_delta(reader, kind);
	else if (hf_bool(reader, "mla_use_output_gate", false))
		kind->extra_linear += hidden * (unsigned)kind->heads * (unsigned)kind->v_head_dim;
	if (kind->experts) {
		kind->moe_hidden = (int)latent;
		kind->extra_linear += 2 * hidden * latent;
		/* Bias of the router, and the norm in front of latent experts. */
		kind->extra_parameters += (unsigned)kind->experts;
		if (latent && hf_bool(reader, "latent_moe_use_norm", false))
			kind->extra_parameters += latent;
	}
	/* Attention over earlier residuals: a query and a norm for each half. */
	if (hf_has(reader, "attn_res_block_size"))
		kind->extra_parameters += 4 * hidden;
}

void hf_kimi_linear_finish(struct hf_reader *reader)
{
	if (hf_has(reader, "attn_res_block_size"))
		reader->out->extra_parameters += 2 * (uint64_t)(unsigned)reader->out->hidden;
}

void hf_minimax_text_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t width = (uint64_t)(unsigned)kind->heads * (unsigned)kind->head_dim;
	double state = (double)width * kind->head_dim;
	const char *type = hf_layer_text(reader, "layer_types", index);

	if (type ? strcmp(type, "full_attention") == 0
	    : hf_has(reader, "attn_type_list")
		    ? hf_layer_int(reader, "attn_type_list", index, HF_REQUIRED) == 1
		    : index % 2 == 0) /* MiniMaxConfig's own */
		return;
	no_attention(kind);
	/* q, k, v, the gate and o, all as wide as the heads, and a norm. */
	kind->mixer_parameters = 5 * hidden * width + width;
	kind->state_elements = state;
}

/* The width that the class really uses: two thirds, rounded up. */
static int lfm2_width(struct hf_reader *reader, int width)
{
	double multiplier = hf_number(reader, "block_ffn_dim_multiplier", 1);
	int step = hf_dim(reader, "block_multiple_of", 256);

	if (!hf_bool(reader, "block_auto_adjust_ff_dim", true) || step < 1)
		return width;
	if (!(multiplier > 0 && multiplier <= 8) || width > 100000000) {
		hf_fail(reader, "block_ffn_dim_multiplier", "out_of_range",
			"The MLP would be too wide.");
		return 0;
	}
	width = (int)(floor(2.0 * width / 3) * multiplier);
	return (width + step - 1) / step * step;
}

void hf_lfm2_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t conv = (unsigned)hf_dim(reader, "conv_L_cache", 3);
	bool bias = hf_bool(reader, "conv_bias", false);

	if (!(reader->flags & HF_MOE))
		kind->ffn = lfm2_width(reader, hf_int(reader, "block_ff_dim|intermediate_size",
						      reader->family->defaults.ffn));
	if (is_attention_layer(reader, index))
		return;
	no_attention(kind);
	kind->mixer_parameters = 3 * hidden * hidden + hidden * conv + hidden * hidden;
	if (bias)
		kind->mixer_parameters += 5 * hidden;
	kind->state_elements = (double)hidden * (double)(conv - (conv > 0));
}
