/* Gemma 3n and 4: per-layer embeddings, shared KV, two head shapes: see hf_config_parts.h. */
#include "core/hf_config_parts.h"

/* The last layers reuse the keys and values of earlier ones. */
static bool shares_kv(struct hf_reader *reader, int index, int fallback)
{
	return index >= reader->layers - hf_dim(reader, "num_kv_shared_layers", fallback);
}

/* The gate, projection and norm that feed a layer its own embedding. */
static void add_layer_input(struct hf_reader *reader, int width, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;

	kind->extra_linear += 2 * hidden * (unsigned)width;
	kind->extra_parameters += hidden;
}

/* The table of per-layer embeddings, and the projection into it. */
static void add_layer_table(struct hf_reader *reader, int width, int vocab)
{
	struct architecture *out = reader->out;
	uint64_t row = (uint64_t)(unsigned)reader->layers * (unsigned)width;

	out->lookup_parameters += (unsigned)vocab * row;
	out->extra_parameters += (unsigned)out->hidden * row + (unsigned)width;
}

void hf_gemma3n_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t inputs = (unsigned)hf_dim(reader, "altup_num_inputs", 4);
	uint64_t rank = (unsigned)hf_dim(reader, "laurel_rank", 64);

	kind->ffn = hf_layer_int(reader, "intermediate_size", index, reader->family->defaults.ffn);
	kind->window = hf_is_sliding(reader, index, (index + 1) % 5 != 0)
			       ? hf_int(reader, "sliding_window", 512)
			       : 0;
	kind->shares_kv = shares_kv(reader, index, 15);
	/* AltUp: scale, correction and prediction coefficients, router and its norm. */
	kind->extra_parameters +=
		2 * hidden + inputs * inputs + inputs * inputs * inputs + hidden * inputs;
	/* LAuReL: a low-rank residual with its norm. */
	kind->extra_linear += 2 * rank * hidden;
	kind->extra_parameters += hidden;
	add_layer_input(reader, hf_dim(reader, "hidden_size_per_layer_input", 256), kind);
}

void hf_gemma3n_finish(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	uint64_t others = (unsigned)hf_dim(reader, "altup_num_inputs", 4) - 1u;

	add_layer_table(reader, hf_dim(reader, "hidden_size_per_layer_input", 256),
			hf_int(reader, "vocab_size_per_layer_input", 262144));
	out->extra_parameters +=
		2 * others * (uint64_t)(unsigned)out->hidden * (unsigned)out->hidden;
}

/* Full layers have heads of their own width and may take V from K. */
void hf_gemma4_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	int width = hf_dim(reader, "hidden_size_per_layer_input", 256);
	int experts = hf_bool(reader, "enable_moe_block", false)
			      ? hf_dim(reader, "num_experts", HF_REQUIRED)
			      : 0;

	if (hf_is_sliding(reader, index, (index + 1) % 6 != 0)) {
		kind->window = hf_int(reader, "sliding_window", 512);
	} else {
		kind->head_dim = kind->v_head_dim = hf_dim(reader, "global_head_dim", 512);
		kind->kv_heads = hf_dim(reader, "num_global_key_value_heads", kind->kv_heads);
		kind->kv_omitted = hf_bool(reader, "attention_k_eq_v", false);
	}
	if (shares_kv(reader, index, 0)) {
		kind->shares_kv = true;
		kind->kv_omitted = 2;
		if (hf_bool(reader, "use_double_wide_mlp", false))
			kind->ffn *= 2;
	}
	kind->extra_parameters += 1; /* a scale of the layer */
	if (width)
		add_layer_input(reader, width, kind);
	if (!experts)
		return;
	/* Experts beside the dense MLP, behind three more norms; the router scales its input and
	 * them. */
	kind->experts = experts;
	kind->experts_active = hf_dim(reader, "top_k_experts", HF_REQUIRED);
	kind->moe_ffn = hf_int(reader, "moe_intermediate_size", HF_REQUIRED);
	kind->extra_parameters += 4 * hidden + (unsigned)experts;
}

void hf_gemma4_finish(struct hf_reader *reader)
{
	int width = hf_dim(reader, "hidden_size_per_layer_input", 256);

	if (width)
		add_layer_table(reader, width,
				hf_int(reader, "vocab_size_per_layer_input", 262144));
}
