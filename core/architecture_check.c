/* The range check of any architecture: see architecture.h. */
#include "core/architecture.h"

#include "core/media.h"

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
	    (!kind->heads || !kind->kv_heads || !kind->head_dim || kind->heads % kind->kv_heads))
		return "an attention layer needs heads, KV heads that divide them, and a head "
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
	if (architecture->media)
		return media_check(architecture->media, reason);
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
