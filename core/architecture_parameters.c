/* An architecture from bare numbers, and the range check of any: see architecture.h. */
#include "core/architecture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PARAMETERS_LEAST 1e6
#define PARAMETERS_MOST 1e14
#define HEAD_DIM 128
#define VOCAB 128256

/* A Llama-like decoder of `hidden` units: GQA with 8 KV heads where they divide, gated MLP. */
static void shape(struct architecture *out, int hidden, int layers, int ffn)
{
	struct layer_kind *kind = &out->kinds[0];
	int head_dim = hidden < 2048 ? 64 : HEAD_DIM;

	out->hidden = hidden;
	kind->count = layers;
	kind->attention = ATTENTION_GROUPED;
	kind->heads = hidden / head_dim;
	kind->head_dim = kind->v_head_dim = head_dim;
	kind->kv_heads = kind->heads % 8 ? kind->heads : 8;
	kind->ffn = ffn;
	kind->gated = true;
	kind->extra_parameters = 2 * (uint64_t)hidden;
	out->kinds_count = 1;
	out->tied_embeddings = hidden <= 3072;
	out->extra_parameters = (uint64_t)hidden;
}

/* Depth that published decoders of this width have, from Llama-3 (2048: 16, 4096: 32, 8192: 80,
 * 16384: 126) by interpolation in the logarithm of the width. */
static double usual_depth(double hidden)
{
	static const double widths[] = {64, 512, 2048, 4096, 8192, 16384, 131072};
	static const double depths[] = {2, 8, 16, 32, 80, 126, 250};
	size_t i = 1;

	while (i < sizeof(widths) / sizeof(widths[0]) - 1 && hidden > widths[i])
		i++;
	return depths[i - 1] + (depths[i] - depths[i - 1]) * log(hidden / widths[i - 1]) /
				       log(widths[i] / widths[i - 1]);
}

/* Widths worth trying: fine steps below 1024, then those with a multiple of 8 heads. */
static int next_width(int hidden)
{
	return hidden + (hidden < 1024 ? 64 : hidden < 2048 ? 512 : 1024);
}

bool architecture_from_parameters(double parameters, struct architecture *out)
{
	struct architecture trial;
	double best = HUGE_VAL;
	int best_hidden = 0, best_layers = 0, best_ffn = 0;

	if (!(parameters >= PARAMETERS_LEAST && parameters <= PARAMETERS_MOST))
		return false;
	memset(&trial, 0, sizeof(trial));
	snprintf(trial.family, sizeof(trial.family), "generic-decoder");
	trial.modality = MODALITY_TEXT;
	/* A small model with Llama-3's vocabulary would be nothing but its table. */
	trial.vocab = parameters < 5e8 ? (int)fmax(1000, parameters / 16384) : VOCAB;
	trial.uncertainty = 0.15;
	for (int hidden = 64; hidden <= 131072; hidden = next_width(hidden)) {
		int layers = (int)round(usual_depth(hidden));
		struct parameter_count count;
		double ffn, unlikely;

		/* What attention and tables leave is the MLP's: the total comes out right. */
		shape(&trial, hidden, layers, 0);
		architecture_count(&trial, &count);
		ffn = round((parameters - (double)count.total) / (3.0 * hidden * layers));
		if (ffn < hidden || ffn > 12.0 * hidden)
			continue;
		unlikely = fabs(log(ffn / hidden / 3.5));
		if (unlikely < best) {
			best = unlikely;
			best_hidden = hidden;
			best_layers = layers;
			best_ffn = (int)ffn;
		}
	}
	if (!best_hidden)
		return false;
	shape(&trial, best_hidden, best_layers, best_ffn);
	*out = trial;
	return true;
}

static bool within(int value, int most)
{
	return value >= 0 && value <= most;
}

static const char *kind_fault(const struct layer_kind *kind)
{
	if (kind->count < 1 || kind->count > 100000)
		return "a layer count is out of range (1 to 100000)";
	if (!within(kind->heads, 65536) || !within(kind->kv_heads, 65536))
		return "a head count is out of range (0 to 65536)";
	if (!within(kind->head_dim, 65536) || !within(kind->v_head_dim, 65536) ||
	    !within(kind->rope_dim, 65536) || !within(kind->nope_dim, 65536) ||
	    !within(kind->index_dim, 65536))
		return "a head dimension is out of range (0 to 65536)";
	if (!within(kind->q_rank, 1000000) || !within(kind->kv_rank, 1000000))
		return "a latent rank is out of range (0 to 1000000)";
	if (kind->attention == ATTENTION_GROUPED &&
	    (!kind->heads || !kind->kv_heads || !kind->head_dim || kind->heads < kind->kv_heads))
		return "an attention layer needs heads, KV heads (not more than heads) and a head "
		       "dimension";
	if (kind->attention == ATTENTION_LATENT &&
	    (!kind->heads || !kind->kv_rank || !layer_value_dim(kind) ||
	     !(kind->nope_dim + kind->rope_dim)))
		return "a latent attention layer needs heads, a rank and head dimensions";
	if (!within(kind->window, 1000000000))
		return "a window is out of range (0 to 1e9)";
	if (!within(kind->ffn, 100000000) || !within(kind->moe_ffn, 100000000) ||
	    !within(kind->shared_ffn, 100000000) || !within(kind->moe_hidden, 10000000))
		return "an MLP width is out of range (0 to 1e8)";
	if (!within(kind->experts, 1000000) || !within(kind->experts_active, kind->experts))
		return "experts are out of range (0 to 1e6, active ones not more than all)";
	if (kind->experts && (!kind->moe_ffn || !kind->experts_active))
		return "experts need a width and a number that is active";
	if (kind->mixer_parameters > 1000000000000 || kind->extra_linear > 1000000000000 ||
	    kind->extra_parameters > 1000000000000 || !(kind->state_elements >= 0) ||
	    kind->state_elements > 1e15)
		return "a mixer is out of range";
	return NULL;
}

/* Total in floating point, which cannot wrap: an upper bound of architecture_count(). */
static double rough_total(const struct architecture *architecture)
{
	double hidden = architecture->hidden;
	double total = 2 * hidden * architecture->vocab + (double)architecture->lookup_parameters +
		       (double)architecture->tower_parameters +
		       (double)architecture->extra_parameters;

	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double heads = kind->heads + kind->kv_heads;
		double dims =
			kind->head_dim + layer_value_dim(kind) + kind->nope_dim + kind->rope_dim;
		double ranks = kind->q_rank + kind->kv_rank + kind->rope_dim;
		double width = kind->moe_hidden ? kind->moe_hidden : hidden;
		double layer = 4 * hidden * heads * dims + ranks * (hidden + heads * dims) +
			       3 * hidden * ((double)kind->ffn + kind->shared_ffn + kind->experts) +
			       4 * width * kind->moe_ffn * kind->experts +
			       (double)kind->mixer_parameters + (double)kind->extra_linear +
			       (double)kind->extra_parameters;

		total += kind->count * layer;
	}
	return total;
}

bool architecture_check(const struct architecture *architecture, const char **reason)
{
	*reason = NULL;
	if (architecture->hidden < 1 || architecture->hidden > 10000000)
		*reason = "hidden size is out of range (1 to 1e7)";
	else if (!within(architecture->vocab, 100000000))
		*reason = "vocabulary is out of range (0 to 1e8)";
	else if (!within(architecture->embedding_dim, 10000000))
		*reason = "embedding width is out of range (0 to 1e7)";
	else if (!within(architecture->max_context, 2000000000))
		*reason = "context is out of range (0 to 2e9)";
	else if (architecture->kinds_count < 1 || architecture->kinds_count > LAYER_KINDS_MAX)
		*reason = "there are no layers, or too many different kinds of them";
	for (int i = 0; !*reason && i < architecture->kinds_count; i++)
		*reason = kind_fault(&architecture->kinds[i]);
	if (!*reason && !(rough_total(architecture) < 1e16))
		*reason = "the model would have more than 1e15 parameters";
	return !*reason;
}
