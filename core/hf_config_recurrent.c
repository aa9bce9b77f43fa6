/* RWKV, RecurrentGemma and Zamba2: layers with a state of their own kind, and shared blocks: see
 * hf_config_parts.h. */
#include "core/hf_config_parts.h"

#include <string.h>

static uint64_t width_of(struct hf_reader *reader, const char *names, uint64_t fallback)
{
	return (unsigned)hf_dim(reader, names, (int)fallback);
}

/* A layer that mixes tokens by a state: no heads. */
static void clear_attention(struct layer_kind *kind)
{
	kind->attention = ATTENTION_NONE;
	kind->heads = kind->kv_heads = kind->head_dim = kind->v_head_dim = 0;
	kind->attention_bias = kind->output_bias = kind->qk_norm = false;
}

void hf_rwkv_prepare(struct hf_reader *reader)
{
	reader->base.attention = ATTENTION_NONE;
}

/*
 * Time mixing (r, k, v, o and their decays) and channel mixing (k, v, r). Version 5 keeps a matrix
 * for every head, has a gate, a norm over heads and a narrower channel mix. The very first norm
 * stands before the first layer.
 */
void hf_rwkv_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	bool is_five = strcmp(reader->out->family, "rwkv5") == 0;
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t width = width_of(reader, "attention_hidden_size", hidden);
	uint64_t head = is_five ? width_of(reader, "head_size", 64) : 0;
	uint64_t ffn = (unsigned)hf_int(reader, "intermediate_size",
					(int)(is_five ? hidden * 7 / 2 / 32 * 32 : 4 * hidden));

	clear_attention(kind);
	kind->ffn = 0;
	kind->mixer_parameters = (is_five ? 5 : 4) * hidden * width + 2 * hidden * ffn +
				 hidden * hidden + 2 * hidden + (is_five ? 4 : 3) * hidden +
				 2 * width + (is_five ? 2 * width : 0);
	kind->extra_parameters = 4 * hidden + (index == 0 ? 2 * hidden : 0);
	kind->state_elements = is_five ? (double)width * (double)head + 2.0 * (double)hidden
				       : 5.0 * (double)hidden;
}

void hf_rwkv_finish(struct hf_reader *reader)
{
	reader->out->extra_parameters = 2 * (uint64_t)(unsigned)reader->out->hidden;
}

/* The MLP is half as wide as the key says, and has biases. */
void hf_recurrent_gemma_finish(struct hf_reader *reader)
{
	for (int i = 0; i < reader->out->kinds_count; i++)
		reader->out->kinds[i].ffn /= 2;
}

/* Real-gated linear recurrence, two of three layers; local attention in the others. */
void hf_recurrent_gemma_layer(struct hf_reader *reader, int index, struct layer_kind *kind)
{
	const struct config_value *types = hf_value(reader, "block_types");
	uint64_t hidden = (unsigned)reader->out->hidden, heads = (unsigned)kind->heads;
	uint64_t width = width_of(reader, "lru_width", hidden);
	uint64_t conv = width_of(reader, "conv1d_width", 4);
	const char *type = index % 3 == 2 ? "attention" : "recurrent";

	if (types && types->type == CONFIG_ARRAY && types->count)
		type = hf_layer_text(reader, "block_types", (int)((size_t)index % types->count));
	if (!type || (strcmp(type, "attention") != 0 && strcmp(type, "recurrent") != 0)) {
		hf_fail(reader, "block_types", "unknown_layer",
			"This holds recurrent and attention.");
		return;
	}
	if (strcmp(type, "attention") == 0) {
		kind->window = hf_int(reader, "attention_window_size", 2048);
		return;
	}
	clear_attention(kind);
	/* In twice, out once, the convolution, and two gates that are diagonal by heads. */
	kind->mixer_parameters = 3 * hidden * width + 2 * width + hidden + width * (conv + 1) +
				 3 * width + (heads ? 2 * width * width / heads : 0);
	kind->state_elements = (double)width * (double)conv;
}

struct zamba2 {
	struct layer_kind mamba; /* every layer */
	uint64_t adapters;	 /* of one position of the shared block */
	int blocks;		 /* shared blocks, used in turn */
};

/* The shared block reads the hidden state beside the embedding: twice as wide. */
static struct layer_kind zamba2_hybrid(struct hf_reader *reader, const struct zamba2 *zamba,
				       int position)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	struct layer_kind kind;

	memcpy(&kind, &zamba->mamba, sizeof(kind));
	kind.attention = ATTENTION_GROUPED;
	kind.heads = reader->base.heads;
	kind.kv_heads = reader->base.kv_heads;
	kind.head_dim = kind.v_head_dim = kind.heads ? 2 * reader->out->hidden / kind.heads : 0;
	kind.attention_input = 2 * reader->out->hidden;
	kind.ffn = reader->ffn;
	kind.gated = true;
	kind.extra_linear += hidden * hidden + zamba->adapters;
	if (position < zamba->blocks)
		kind.extra_parameters += 3 * hidden;
	else
		kind.reuses_weights = true;
	return kind;
}

static bool is_zamba2_hybrid(struct hf_reader *reader, int index)
{
	const char *type = hf_layer_text(reader, "layers_block_type|layer_types", index);

	if (type)
		return strcmp(type, "hybrid") == 0;
	/* The class's own: every sixth up to the 42nd, then 47 and 51. */
	return index == 47 || index == 51 || (index % 6 == 0 && index > 0 && index <= 42);
}

void hf_zamba2_finish(struct hf_reader *reader)
{
	uint64_t hidden = (unsigned)reader->out->hidden;
	uint64_t rank = width_of(reader, "adapter_rank", 128), ffn = (unsigned)reader->ffn;
	uint64_t inner = hidden * width_of(reader, "mamba_expand", 2);
	uint64_t heads = width_of(reader, "n_mamba_heads", 8);
	uint64_t channels = inner + 2 * width_of(reader, "mamba_ngroups", 1) *
					    width_of(reader, "mamba_d_state", 64);
	uint64_t conv = width_of(reader, "mamba_d_conv", 4);
	struct zamba2 zamba = {.blocks = hf_dim(reader, "num_mem_blocks", 1)};
	int position = 0;

	memcpy(&zamba.mamba, &reader->base, sizeof(zamba.mamba));
	clear_attention(&zamba.mamba);
	zamba.mamba.ffn = 0;
	zamba.mamba.extra_parameters = hidden;
	zamba.mamba.mixer_parameters = hidden * (inner + channels + heads) + channels * (conv + 1) +
				       3 * heads + inner + inner * hidden;
	zamba.mamba.state_elements = (double)inner * (double)width_of(reader, "mamba_d_state", 64) +
				     (double)channels * (double)(conv - (conv > 0));
	zamba.adapters = rank * (hidden + 2 * ffn);
	if (hf_bool(reader, "use_shared_attention_adapter", false))
		zamba.adapters += 3 * 4 * hidden * rank;
	for (int i = 0; i < reader->layers && !reader->failed; i++) {
		struct layer_kind kind;

		memcpy(&kind, &zamba.mamba, sizeof(kind));
		if (is_zamba2_hybrid(reader, i))
			kind = zamba2_hybrid(reader, &zamba, position++);
		hf_add_layer(reader, &kind);
	}
}
