/*
 * Memory of serving: weights in their format, the KV cache layer by layer, the engine's activation
 * reserve, adapters that are served and CUDA graphs.
 */
#include "core/memory/internal.h"

#include "core/units.h"

#include <math.h>

/*
 * Engines with a budget profile one step of this many tokens and sequences and reserve its peak
 * (vLLM's defaults: 2,048 tokens and 256 sequences, 8,192 and 1,024 on cards of 70 GiB and more).
 */
#define STEP_TOKENS 2048.0
#define STEP_TOKENS_LARGE 8192.0
#define STEP_SEQUENCES 256.0
#define STEP_SEQUENCES_LARGE 1024.0
#define LARGE_CARD_BYTES (70 * GIB)
/* Sampling copies of the fp32 logits: llm-d's profiled peaks over vocabulary x 1,024 sequences, 4.8
 * GiB at 128,256 and 7.4 GiB at 201,088 entries (facts/memory-notes.md 6.1). */
#define SAMPLER_COPIES 9.6
/* Logits of a whole prompt: 16 bit and their fp32 copy (transformers 4.38: 27.61 GiB for Qwen2-0.5B
 * at 30,720 tokens). */
#define PROMPT_LOGITS_BYTES 6.0
/* bitsandbytes quantises while it loads: temporaries of 8 B a weight of the matrix at hand
 * (litgpt's peaks over the weights, five models of 3B to 70B: 3.4 to 4.9 times the 16-bit matrix).
 */
#define QUANTISE_BYTES 8.0
/* Captured graphs: 0.1-1.0 GiB in current engines (facts/memory-notes.md 5). */
#define GRAPH_BYTES (0.5 * GIB)
/* KV blocks of 16 tokens: half a block a sequence is lost. */
#define KV_BLOCK_TOKENS 16.0

/* One GPU's share of the cache of one more token, and of a whole sequence at the context. */
static void kv_share(const struct architecture *architecture, const struct layout *layout,
		     double context, double *token, double *sequence)
{
	double bytes = format_facts(layout->kv_format)->linear_bits / 8;
	double tensor = layout->tensor_parallel;

	*token = *sequence = 0;
	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double elements = 0, kept = kind->window ? fmin(context, kind->window) : context;

		if (kind->is_encoder || kind->shares_kv)
			continue;
		if (kind->attention == ATTENTION_LATENT)
			elements = kind->kv_rank + kind->rope_dim; /* every rank holds all of it */
		else if (kind->attention == ATTENTION_GROUPED)
			elements = ceil(kind->kv_heads / tensor) *
				   (kind->head_dim + layer_value_dim(kind));
		/* State layers keep their state in the compute type. */
		*sequence +=
			kind->count * (elements * kept * bytes + 2 * kind->state_elements / tensor);
		if (!kind->window || context < kind->window)
			*token += kind->count * elements * bytes;
	}
	*token /= layout->pipeline_parallel * (double)layout->context_parallel;
	*sequence /= layout->pipeline_parallel * (double)layout->context_parallel;
}

/* Elements a token that the widest layer holds at once: gate, up and product, and four of the
 * residual stream (Qwen2.5's peaks at 6 to 30 thousand prompt tokens: 3.0 f + 4.0 h). */
static double step_width(const struct architecture *architecture, double tensor)
{
	double width = 0;

	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double mlp = (kind->gated ? 3.0 : 2.0) *
			     (kind->ffn + kind->shared_ffn +
			      (double)kind->experts_active * kind->moe_ffn) /
			     tensor;

		width = fmax(width, mlp + kind->experts_active * (double)architecture->hidden);
	}
	return width + 4.0 * architecture->hidden;
}

/*
 * Cosines and sines of every position, in 16 bit, once a layer: what the engines of 2024 and before
 * kept. Their tables ended at the trained length, 32 Ki tokens at most in the models of that time;
 * a longer context came from scaled positions, not from a longer table.
 */
#define ROTARY_TABLE_TOKENS 32768.0

static double rotary_bytes(const struct architecture *architecture)
{
	double bytes = 0;

	for (int i = 0; i < architecture->kinds_count; i++)
		bytes += architecture->kinds[i].count * 2.0 * 2 * architecture->kinds[i].head_dim;
	return bytes * fmin(architecture->max_context, ROTARY_TABLE_TOKENS);
}

static double step_bytes(const struct memory_basis *basis, const struct layout *layout,
			 const struct accelerator *accelerator)
{
	const struct workload *workload = basis->workload;
	const struct architecture *architecture = workload->architecture;
	double tensor = layout->tensor_parallel, sequences = fmax(1, layout->sequences);
	double prompt = sequences * (double)workload->prompt_tokens, bytes;
	bool is_large = !accelerator || accelerator_memory_bytes(accelerator) >= LARGE_CARD_BYTES;
	bool has_head = architecture->modality != MODALITY_EMBEDDING;

	if (workload->engine == ENGINE_TRANSFORMERS || workload->engine == ENGINE_LLAMA_CPP) {
		/* Whole prompts at once, one layer at a time; llama.cpp in pieces of 512 tokens. */
		double tokens = workload->engine == ENGINE_LLAMA_CPP ? fmin(prompt, 512) : prompt;

		bytes = tokens * 2 * step_width(architecture, tensor);
		if (has_head)
			bytes = fmax(bytes,
				     architecture->vocab * (layout->is_legacy_engine
								    ? prompt * PROMPT_LOGITS_BYTES
								    : sequences * 4.0));
		return bytes;
	}
	bytes = (is_large ? STEP_TOKENS_LARGE : STEP_TOKENS) * 2 * step_width(architecture, tensor);
	if (has_head)
		bytes = fmax(bytes, SAMPLER_COPIES * 4 * architecture->vocab *
					    (is_large ? STEP_SEQUENCES_LARGE : STEP_SEQUENCES));
	return bytes;
}

/* What a format's software adds to its weights: an unpacking buffer of the largest matrix
 * (exllama's GPTQ kernels: Qwen2.5 GPTQ over AWQ, 7B to 72B), or the temporaries of quantising
 * while loading. */
static double format_bytes(const struct memory_basis *basis, const struct layout *layout,
			   double step)
{
	switch ((int)layout->weight_format) {
	case FORMAT_AWQ:
		/* Current transformers load a head of their own before they tie it to the embedding
		 * again. */
		if (basis->workload->engine == ENGINE_TRANSFORMERS && !layout->is_legacy_engine &&
		    !basis->parameters.head)
			return fmax(step, 2 * (double)basis->parameters.embedding);
		return step;
	case FORMAT_GPTQ:
		return step + 2 * basis->largest_matrix / layout->tensor_parallel;
	case FORMAT_NF4:
	case FORMAT_NF4_DQ:
	case FORMAT_FP4:
		return fmax(step, QUANTISE_BYTES * basis->largest_matrix);
	default: /* every other format is used as it is stored */
		return step;
	}
}

void memory_serve_terms(const struct memory_basis *basis, const struct layout *layout,
			const struct accelerator *accelerator, struct memory_estimate *out)
{
	const struct workload *workload = basis->workload;
	double ways = (double)layout->tensor_parallel * layout->pipeline_parallel;
	double token, sequence;
	bool has_cache = workload->architecture->modality != MODALITY_EMBEDDING;

	out->weights_bytes =
		architecture_weight_bytes(workload->architecture, layout->weight_format) / ways;
	kv_share(workload->architecture, layout, workload->context, &token, &sequence);
	if (has_cache) {
		out->kv_bytes_per_token = token;
		out->kv_cache_bytes = layout->sequences * sequence;
		if (workload->engine == ENGINE_VLLM || workload->engine == ENGINE_SGLANG)
			out->kv_cache_bytes += layout->sequences * token * KV_BLOCK_TOKENS / 2 *
					       (fmod(workload->context, KV_BLOCK_TOKENS) > 0);
	}
	out->activations_bytes =
		format_bytes(basis, layout, step_bytes(basis, layout, accelerator));
	/* transformers' fp8 loader replaces the head and breaks its tie with the embedding. */
	if (workload->engine == ENGINE_TRANSFORMERS && workload->architecture->tied_embeddings &&
	    layout->weight_format == FORMAT_FP8)
		out->weights_bytes += 2 * (double)basis->parameters.embedding / ways;
	if (layout->is_legacy_engine)
		out->activations_bytes +=
			rotary_bytes(workload->architecture) / layout->pipeline_parallel;
	if (workload->lora_adapters > 0) {
		struct workload served = *workload;

		/* Engines reserve rank 16 over all linear layers unless told otherwise. */
		served.method = METHOD_LORA;
		served.lora_rank = 16;
		served.lora_targets = LORA_ALL_LINEAR;
		out->adapters_bytes = 2 * (double)workload->lora_adapters *
				      memory_adapter_parameters(&served) / ways;
	}
	if (workload->engine != ENGINE_TRANSFORMERS && workload->engine != ENGINE_LLAMA_CPP)
		out->framework_bytes += GRAPH_BYTES;
}

double memory_kv_capacity(const struct memory_basis *basis, const struct layout *layout,
			  const struct accelerator *accelerator)
{
	double usable = accelerator_memory_bytes(accelerator);
	double share = basis->workload->gpu_memory_utilization;
	struct memory_estimate memory;
	double rest;

	memory_estimate(basis, layout, accelerator, &memory);
	rest = memory.weights_bytes + memory.adapters_bytes + memory.framework_bytes;
	/* On Gaudi vLLM's share is of what is left after loading, and recorded graphs take some. */
	if (accelerator->vendor == VENDOR_INTEL && basis->workload->engine == ENGINE_VLLM)
		return share * (usable - rest) * (1 - MEMORY_GAUDI_GRAPH_SHARE);
	switch ((enum engine)basis->workload->engine) {
	case ENGINE_SGLANG: /* mem_fraction_static covers weights and cache; activations lie outside
			     */
		return usable * share - rest;
	case ENGINE_TENSORRT_LLM: /* a share of what is left once the engine is loaded */
		return share * (usable - rest - memory.activations_bytes);
	case ENGINE_VLLM:
	case ENGINE_TRANSFORMERS:
	case ENGINE_LLAMA_CPP:
	case ENGINES:
	default:
		return usable * share - rest - memory.activations_bytes;
	}
}
