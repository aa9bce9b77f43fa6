/* Sizes that follow from layers: see architecture.h. */
#include "core/architecture.h"

#include "core/media_parts.h"

#include <math.h>
#include <string.h>

static const char *const modality_texts[] = {
	[MODALITY_TEXT] = "text",	    [MODALITY_VISION_TEXT] = "vision-text",
	[MODALITY_EMBEDDING] = "embedding", [MODALITY_AUDIO] = "audio",
	[MODALITY_IMAGE] = "image",	    [MODALITY_VIDEO] = "video",
};

const struct names modality_names = {modality_texts, MODALITIES};

/* Weights and biases of one attention block. */
struct block {
	uint64_t weights, others;
};

static uint64_t mul(int a, int b)
{
	return (uint64_t)(unsigned)a * (unsigned)b;
}

int layer_value_dim(const struct layer_kind *kind)
{
	return kind->v_head_dim ? kind->v_head_dim : kind->head_dim;
}

static struct block attention_block(const struct layer_kind *kind, int hidden)
{
	uint64_t q = mul(kind->heads, kind->head_dim) * (kind->query_gate ? 2 : 1);
	uint64_t k = kind->kv_omitted > 1 ? 0 : mul(kind->kv_heads, kind->head_dim);
	uint64_t v = kind->kv_omitted > 0 ? 0 : mul(kind->kv_heads, layer_value_dim(kind));
	uint64_t o = mul(kind->heads, layer_value_dim(kind));
	uint64_t input = (unsigned)(kind->attention_input ? kind->attention_input : hidden);
	struct block block = {0, 0};

	if (kind->projections_elsewhere)
		return block;
	if (kind->attention == ATTENTION_GROUPED) {
		block.weights = input * (q + k + v) + (unsigned)hidden * o;
		if (kind->attention_bias)
			block.others += q + k + v;
		if (kind->qk_norm)
			block.others += (unsigned)kind->head_dim * (kind->kv_omitted > 1 ? 1u : 2u);
	} else if (kind->attention == ATTENTION_LATENT) {
		int qk = kind->nope_dim + kind->rope_dim;

		q = mul(kind->heads, qk);
		block.weights = kind->q_rank
					? mul(hidden, kind->q_rank) + (unsigned)kind->q_rank * q
					: (unsigned)hidden * q;
		block.weights += mul(hidden, kind->kv_rank + kind->rope_dim);
		block.weights += mul(kind->kv_rank, kind->heads) *
				 (unsigned)(kind->nope_dim + layer_value_dim(kind));
		block.weights += (unsigned)hidden * o;
		if (kind->attention_bias)
			block.others += kind->q_rank ? (unsigned)kind->q_rank : q;
		if (kind->attention_bias)
			block.others += (unsigned)(kind->kv_rank + kind->rope_dim);
	} else {
		return block;
	}
	if (kind->output_bias)
		block.others += (unsigned)hidden;
	if (kind->has_cross_attention) {
		block.weights *= 2;
		block.others *= 2;
	}
	return block;
}

/* Keys and values of the second attention of a decoder layer. */
static double cross_weights(const struct layer_kind *kind, int hidden)
{
	return kind->has_cross_attention ? (double)hidden * kind->kv_heads *
						   ((double)kind->head_dim + layer_value_dim(kind))
					 : 0;
}

/* Weights of one MLP, dense or expert, from `width` to `ffn` and back. */
static uint64_t mlp_weights(int width, int ffn, bool gated)
{
	return mul(width, ffn) * (gated ? 3 : 2);
}

static uint64_t mlp_biases(int width, int ffn, bool gated)
{
	return mul(ffn, gated ? 2 : 1) + (unsigned)width;
}

static int expert_width(const struct layer_kind *kind, int hidden)
{
	return kind->moe_hidden ? kind->moe_hidden : hidden;
}

void architecture_count(const struct architecture *architecture, struct parameter_count *out)
{
	int hidden = architecture->hidden;
	int embedding_dim = architecture->embedding_dim ? architecture->embedding_dim : hidden;
	uint64_t idle = 0;

	memset(out, 0, sizeof(*out));
	if (architecture->media) {
		media_count_parameters(architecture->media, out);
		return;
	}
	out->embedding = mul(architecture->vocab, embedding_dim);
	if (!architecture->tied_embeddings && architecture->modality != MODALITY_EMBEDDING)
		out->head = out->embedding;
	out->embedding += architecture->lookup_parameters;
	out->tower = architecture->tower_parameters;
	out->norms_and_other = architecture->extra_parameters;

	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		uint64_t n = (unsigned)kind->count;
		struct block attention = attention_block(kind, hidden);
		int width = expert_width(kind, hidden);
		uint64_t expert = mlp_weights(width, kind->moe_ffn, kind->gated);
		uint64_t expert_others =
			kind->expert_bias ? mlp_biases(width, kind->moe_ffn, kind->gated) : 0;
		uint64_t mlp = mlp_weights(hidden, kind->ffn, kind->gated) +
			       mlp_weights(hidden, kind->shared_ffn, kind->gated);
		uint64_t mlp_others = kind->ffn && kind->mlp_bias
					      ? mlp_biases(hidden, kind->ffn, kind->gated)
					      : 0;

		if (kind->reuses_weights)
			attention.weights = attention.others = mlp = mlp_others = 0;
		out->attention += n * (attention.weights + attention.others);
		out->mlp += n * (mlp + mlp_others);
		out->experts += n * (unsigned)kind->experts * (expert + expert_others);
		out->router += n * mul(hidden, kind->experts);
		out->mixer += n * kind->mixer_parameters;
		out->norms_and_other += n * (kind->extra_linear + kind->extra_parameters);
		out->linear += n * (attention.weights + mlp + (unsigned)kind->experts * expert +
				    kind->mixer_parameters + kind->extra_linear);
		idle += n * (unsigned)(kind->experts - kind->experts_active) *
			(expert + expert_others);
	}
	out->total = out->embedding + out->head + out->attention + out->mlp + out->experts +
		     out->router + out->mixer + out->norms_and_other + out->tower;
	out->active = out->total - idle;
}

bool architecture_has_source(const struct architecture *architecture)
{
	for (int i = 0; i < architecture->kinds_count; i++)
		if (architecture->kinds[i].has_cross_attention)
			return true;
	return false;
}

int architecture_layers(const struct architecture *architecture)
{
	int layers = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		layers += architecture->kinds[i].count;
	return layers;
}

int layer_blocks(const struct layer_kind *kind)
{
	bool has_mixer = kind->attention != ATTENTION_NONE || kind->mixer_parameters > 0;
	bool has_mlp = kind->ffn || kind->experts || kind->shared_ffn;

	return has_mixer && has_mlp ? 2 : 1;
}

int architecture_blocks(const struct architecture *architecture)
{
	int blocks = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		blocks += architecture->kinds[i].count * layer_blocks(&architecture->kinds[i]);
	return blocks;
}

static double elements_per_position(const struct layer_kind *kind)
{
	if (kind->attention == ATTENTION_LATENT)
		return kind->kv_rank + kind->rope_dim;
	if (kind->attention == ATTENTION_GROUPED)
		return (double)kind->kv_heads * (kind->head_dim + layer_value_dim(kind));
	return 0;
}

double layer_kv_elements(const struct layer_kind *kind)
{
	if (kind->is_encoder || kind->is_cross_only || kind->shares_kv)
		return 0;
	return elements_per_position(kind);
}

double architecture_kv_elements_per_token(const struct architecture *architecture)
{
	double elements = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		elements +=
			architecture->kinds[i].count * layer_kv_elements(&architecture->kinds[i]);
	return elements;
}

double architecture_index_elements_per_token(const struct architecture *architecture)
{
	double elements = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		elements += (double)architecture->kinds[i].count * architecture->kinds[i].index_dim;
	return elements;
}

double architecture_state_elements(const struct architecture *architecture)
{
	double elements = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		elements += architecture->kinds[i].count * architecture->kinds[i].state_elements;
	return elements;
}

double layer_positions(const struct layer_kind *kind, double context)
{
	double near = kind->window ? fmin(kind->window, context) : context;

	return kind->compress_ratio ? near + floor(context / kind->compress_ratio) : near;
}

double architecture_kv_elements(const struct architecture *architecture, double context)
{
	double elements = architecture_state_elements(architecture);

	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];

		elements += kind->count * layer_kv_elements(kind) * layer_positions(kind, context) /
			    (kind->compress_ratio ? 2 : 1);
		if (kind->is_cross_only)
			elements += kind->count * elements_per_position(kind) *
				    architecture->image_tokens;
	}
	return elements;
}

double architecture_cross_elements_per_source_token(const struct architecture *architecture)
{
	double elements = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		if (architecture->kinds[i].has_cross_attention)
			elements += architecture->kinds[i].count *
				    elements_per_position(&architecture->kinds[i]);
	return elements;
}

/* Weights of one layer that its own tokens pass: the keys and values of cross-attention take the
 * source's tokens instead. */
static double token_weights(const struct layer_kind *kind, int hidden)
{
	double expert = (double)mlp_weights(expert_width(kind, hidden), kind->moe_ffn, kind->gated);

	return (double)attention_block(kind, hidden).weights - cross_weights(kind, hidden) +
	       (double)mlp_weights(hidden, kind->ffn, kind->gated) +
	       (double)mlp_weights(hidden, kind->shared_ffn, kind->gated) +
	       kind->experts_active * expert + (double)mul(hidden, kind->experts) +
	       (double)kind->mixer_parameters + (double)kind->extra_linear;
}

/* FLOPs of one query against one key and its value. */
static double pair_flops(const struct layer_kind *kind)
{
	double qk = kind->attention == ATTENTION_LATENT ? kind->nope_dim + kind->rope_dim
							: kind->head_dim;

	return kind->attention == ATTENTION_NONE ? 0
						 : 2.0 * kind->heads * (qk + layer_value_dim(kind));
}

/* In the matrices; a state element is decayed, added to and read: six operations a token. */
static double token_flops(const struct architecture *architecture, const struct layer_kind *kind)
{
	return 2 * token_weights(kind, architecture->hidden) + 6 * kind->state_elements +
	       (kind->is_cross_only ? pair_flops(kind) * architecture->image_tokens : 0);
}

double architecture_forward_flops(const struct architecture *architecture, double context)
{
	bool has_source = architecture_has_source(architecture);
	double flops = 0;

	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];

		if (has_source && kind->is_encoder)
			continue;
		flops += kind->count * token_flops(architecture, kind);
		if (!kind->is_cross_only)
			flops += kind->count * pair_flops(kind) * layer_positions(kind, context);
	}
	if (architecture->modality != MODALITY_EMBEDDING)
		flops += architecture_head_flops(architecture);
	return flops;
}

double architecture_head_flops(const struct architecture *architecture)
{
	return 2.0 * architecture->hidden * architecture->vocab;
}

struct sequence_flops architecture_sequence_flops(const struct architecture *architecture,
						  double source, double target)
{
	bool has_source = architecture_has_source(architecture);
	struct sequence_flops flops = {0, 0};

	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double tokens = has_source && !kind->is_encoder ? target : source;
		/* A causal layer sees half of the sequence on average. */
		double span = layer_positions(kind, kind->is_encoder ? tokens : tokens / 2);

		flops.matrices += kind->count * tokens * token_flops(architecture, kind);
		if (!kind->is_cross_only)
			flops.attention += kind->count * tokens * span * pair_flops(kind);
		if (kind->has_cross_attention) {
			flops.matrices += kind->count * source * 2 *
					  cross_weights(kind, architecture->hidden);
			flops.attention += kind->count * target * source * pair_flops(kind);
		}
	}
	return flops;
}

static int gcd(int a, int b)
{
	while (b) {
		int rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

int architecture_heads_divisor(const struct architecture *architecture)
{
	int divisor = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		if (architecture->kinds[i].attention != ATTENTION_NONE)
			divisor = gcd(divisor, architecture->kinds[i].heads);
	return divisor;
}

int architecture_kv_heads_divisor(const struct architecture *architecture)
{
	int divisor = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		if (architecture->kinds[i].attention == ATTENTION_GROUPED)
			divisor = gcd(divisor, architecture->kinds[i].kv_heads);
	return divisor;
}

int architecture_experts(const struct architecture *architecture)
{
	int experts = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		if (architecture->kinds[i].experts > experts)
			experts = architecture->kinds[i].experts;
	return experts;
}

double architecture_weight_bytes(const struct architecture *architecture, enum format format)
{
	const struct format_facts *facts = format_facts(format);
	struct parameter_count count;
	double rest_bits = facts->linear_bits > 16 ? facts->linear_bits : 16;
	double quantised, table, head;

	architecture_count(architecture, &count);
	quantised = (double)count.linear;
	if ((format == FORMAT_MXFP4 || format == FORMAT_MXFP4_MOE) && count.experts)
		quantised = (double)count.experts;
	/* A tied table is the output head, but the look-up tables beside it are not. */
	head = (double)(architecture->tied_embeddings
				? count.embedding - architecture->lookup_parameters
				: count.head);
	table = (double)(count.embedding + count.head) - head;
	return (quantised * facts->linear_bits + table * facts->other_bits +
		head * facts->head_bits +
		((double)count.total - quantised - table - head) * rest_bits) /
	       8;
}
