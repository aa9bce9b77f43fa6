/*
 * Adapters: trainable parameters of LoRA and QLoRA (rank x (in + out) of every target), of
 * bottleneck adapters and of prefix tuning.
 */
#include "core/memory/internal.h"

/* In + out of the attention projections that are targets. */
static double attention_sides(const struct layer_kind *kind, double hidden,
			      enum lora_targets targets)
{
	double query = (double)kind->heads * kind->head_dim,
	       value = (double)kind->heads * layer_value_dim(kind);
	double keys = (double)kind->kv_heads * kind->head_dim,
	       values = (double)kind->kv_heads * layer_value_dim(kind);
	double sides;

	if (kind->attention == ATTENTION_NONE || targets == LORA_MLP)
		return 0;
	if (kind->attention == ATTENTION_LATENT) {
		query = (double)kind->heads * (kind->nope_dim + kind->rope_dim);
		sides = kind->q_rank ? hidden + 2.0 * kind->q_rank + query : hidden + query;
		sides += hidden + 2.0 * kind->kv_rank + kind->rope_dim +
			 (double)kind->heads * (kind->nope_dim + layer_value_dim(kind));
	} else {
		sides = hidden + query + hidden + values;
		if (targets != LORA_ATTENTION_QV)
			sides += hidden + keys;
	}
	if (targets != LORA_ATTENTION_QV)
		sides += value + hidden;
	return sides * (kind->has_cross_attention ? 2 : 1);
}

static double lora_parameters(const struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;
	enum lora_targets targets = (enum lora_targets)workload->lora_targets;
	double hidden = architecture->hidden, sides = 0;

	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double one = kind->reuses_weights ? 0 : attention_sides(kind, hidden, targets);
		double matrices = kind->gated ? 3 : 2;

		if (targets == LORA_ALL_LINEAR || targets == LORA_MLP) {
			if (kind->ffn && !kind->reuses_weights)
				one += matrices * (hidden + kind->ffn);
			if (kind->shared_ffn)
				one += matrices * (hidden + kind->shared_ffn);
			one += kind->experts * matrices * (hidden + kind->moe_ffn);
		}
		/* One matrix from h to the mixer's widths and one back: (h + a) + (b + h), where
		 * the two have h (a + b) weights. */
		if (targets == LORA_ALL_LINEAR && kind->mixer_parameters)
			one += 2 * hidden + (double)kind->mixer_parameters / hidden;
		sides += kind->count * one;
	}
	/* DoRA's magnitudes: about half of the sides are outputs. */
	return sides * ((double)workload->lora_rank + (workload->dora ? 0.5 : 0));
}

/*
 * GaLore keeps both moments of r x n instead of m x n, and the projection m x r: of matrices that
 * are about square 1.5 r (m + n) in place of 2 m n. What is no linear layer keeps whole states.
 */
double memory_state_share(const struct workload *workload, const struct parameter_count *count)
{
	struct workload projected = *workload;

	if (workload->optimizer != OPTIMIZER_GALORE_ADAMW)
		return 1;
	projected.lora_targets = LORA_ALL_LINEAR;
	projected.lora_rank = workload->galore_rank;
	projected.dora = false;
	return ((double)(count->total - count->linear) + 0.75 * lora_parameters(&projected)) /
	       (double)count->total;
}

/* diffusers' scripts train one vector a word. */
#define INVERSION_WORDS 1

/* A new word is one embedding, or a few, of each text encoder. */
static double media_parameters(const struct workload *workload)
{
	const struct media *media = workload->architecture->media;
	double widths = 0;

	if (workload->method != METHOD_TEXTUAL_INVERSION)
		return memory_media_sides(media, (enum lora_targets)workload->lora_targets) *
		       ((double)workload->lora_rank + (workload->dora ? 0.5 : 0));
	for (int i = 0; i < media->encoders_count; i++)
		widths += media->encoders[i].hidden;
	return widths * INVERSION_WORDS;
}

double memory_adapter_parameters(const struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;
	double layers = architecture_layers(architecture), hidden = architecture->hidden;

	if (architecture->media)
		return media_parameters(workload);
	switch ((enum method)workload->method) {
	case METHOD_LORA:
	case METHOD_QLORA:
		return lora_parameters(workload);
	case METHOD_ADAPTER:
		/* Houlsby: a bottleneck with biases after attention and after the MLP. */
		return layers * 2 *
		       (2 * hidden * (double)workload->adapter_size + hidden +
			(double)workload->adapter_size);
	case METHOD_PREFIX: {
		double elements = 0;

		for (int i = 0; i < architecture->kinds_count; i++) {
			const struct layer_kind *kind = &architecture->kinds[i];

			if (kind->attention != ATTENTION_NONE)
				elements += kind->count * (double)kind->kv_heads *
					    (kind->head_dim + layer_value_dim(kind));
		}
		return elements * (double)workload->prefix_tokens;
	}
	case METHOD_PROMPT:
		return hidden * (double)workload->prefix_tokens;
	case METHOD_DREAMBOOTH:
	case METHOD_TEXTUAL_INVERSION:
	case METHOD_FULL:
	case METHODS:
	default:
		return 0;
	}
}
