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

	if (kind->attention == ATTENTION_NONE)
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
		double one = attention_sides(kind, hidden, targets);
		double matrices = kind->gated ? 3 : 2;

		if (targets == LORA_ALL_LINEAR) {
			if (kind->ffn)
				one += matrices * (hidden + kind->ffn);
			if (kind->shared_ffn)
				one += matrices * (hidden + kind->shared_ffn);
			one += kind->experts * matrices * (hidden + kind->moe_ffn);
		}
		sides += kind->count * one;
	}
	return sides * (double)workload->lora_rank;
}

double memory_adapter_parameters(const struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;
	double layers = architecture_layers(architecture), hidden = architecture->hidden;

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
	case METHOD_FULL:
	case METHODS:
	default:
		return 0;
	}
}
