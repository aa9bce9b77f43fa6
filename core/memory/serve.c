/*
 * Memory of serving under a load: the cache of its sequences and the engine's activation reserve,
 * beside what a copy of the model holds under any (serve_copy.c).
 */
#include "core/memory/internal.h"

#include "core/extremes.h"
#include "core/fitted.h"
#include "core/units.h"

#include <math.h>

/*
 * Engines with a budget profile one step of this many tokens and sequences and reserve its peak
 * (vLLM's defaults: 2,048 tokens and 256 sequences, 8,192 and 1,024 on cards of 70 GiB and more).
 */
#define STEP_TOKENS 2048.0
#define STEP_TOKENS_LARGE 8192.0
#define STEP_TOKENS_POOLING 32768.0 /* of models that only embed, on any card */
#define STEP_SEQUENCES 256.0
#define STEP_SEQUENCES_LARGE 1024.0
#define LARGE_CARD_BYTES (70 * GIB)
/* Sampling copies of the fp32 logits: llm-d's profiled peaks over vocabulary x 1,024 sequences, 4.8
 * GiB at 128,256 and 7.4 GiB at 201,088 entries (facts/memory-notes.md 6.1). */
FITTED(SAMPLER_COPIES, 9.6, 4, 12);
/* Logits of a whole prompt: 16 bit and their fp32 copy (transformers 4.38: 27.61 GiB for Qwen2-0.5B
 * at 30,720 tokens). */
#define PROMPT_LOGITS_BYTES 6.0
/* bitsandbytes quantises while it loads: temporaries of 8 B a weight of the matrix at hand
 * (litgpt's peaks over the weights, five models of 3B to 70B: 3.4 to 4.9 times the 16-bit matrix).
 */
FITTED(QUANTISE_BYTES, 8, 4, 10);
/* torchao does so too: what is left of the 16-bit matrix and its temporaries beside the quantised
 * one (its README's peaks for 8B over what is stored: 1.3 to 6 B a weight of the head, by format).
 */
FITTED(TORCHAO_QUANTISE_BYTES, 3, 2, 6);
/* Patches of pictures and frames of sound pass the tower together, at most so many tokens' worth of
 * four patches each, or what attends to each other: an MLP of four widths, twice, and the stream.
 */
#define TOWER_STEP_PATCHES (4 * STEP_TOKENS_LARGE)

static double tower_bytes(const struct workload *workload)
{
	double patches =
		smaller(workload->tower_patches, larger(TOWER_STEP_PATCHES, workload->tower_span));

	return patches * 2 * (2 * 4 + 4) * workload->architecture->tower_hidden;
}

/*
 * Of models that listen: scores of an encoder whose attention is not fused, in fp32; and in
 * whisper.cpp the logits of as many tokens as the decoder has places for, which its graph makes
 * room for once (whisper_state_init() prints both buffers).
 */
static double sound_bytes(const struct workload *workload, double sequences)
{
	const struct architecture *architecture = workload->architecture;
	double heads = 0, bytes = 0;

	if (!workload_listens(workload))
		return 0;
	for (int i = 0; i < architecture->kinds_count; i++)
		if (architecture->kinds[i].is_encoder)
			heads = larger(heads, architecture->kinds[i].heads);
	if (!workload->fused_attention)
		bytes = sequences * workload->prompt * workload->prompt * heads * 4;
	if (workload->engine == ENGINE_LLAMA_CPP)
		bytes += 4.0 * architecture->vocab * architecture->max_context;
	return bytes;
}

/* Engines without a budget pass whole prompts at once, one layer at a time; llama.cpp in pieces of
 * 512 tokens. */
static bool passes_prompts(const struct workload *workload)
{
	return workload->engine == ENGINE_TRANSFORMERS || workload->engine == ENGINE_LLAMA_CPP ||
	       workload->engine == ENGINE_CTRANSLATE2;
}

static double prompts_bytes(const struct workload *workload, const struct layout *layout,
			    const struct memory_copy *copy)
{
	const struct architecture *architecture = workload->architecture;
	double sequences = larger(1, layout->sequences), prompt = sequences * workload->prompt;
	double tokens = workload->engine == ENGINE_LLAMA_CPP ? smaller(prompt, 512) : prompt;
	double bytes = tokens * 2 * copy->step_width;

	if (architecture->modality != MODALITY_EMBEDDING)
		bytes = larger(bytes, architecture->vocab * (layout->is_legacy_engine
								     ? prompt * PROMPT_LOGITS_BYTES
								     : sequences * 4.0));
	return larger(bytes, copy->tower_bytes) + sound_bytes(workload, sequences);
}

/* What the others profile and reserve, whatever the load. */
static double profiled_bytes(const struct workload *workload, const struct memory_copy *copy,
			     const struct accelerator *accelerator)
{
	const struct architecture *architecture = workload->architecture;
	bool is_large = !accelerator || accelerator_memory_bytes(accelerator) >= LARGE_CARD_BYTES;
	double tokens = is_large ? STEP_TOKENS_LARGE : STEP_TOKENS, bytes;

	if (workload_only_reads(workload))
		tokens = STEP_TOKENS_POOLING;
	if (!workload->chunked_prefill)
		tokens = larger(tokens, workload->full_context);
	bytes = larger(tokens * 2 * copy->step_width, copy->tower_bytes);
	if (architecture->modality != MODALITY_EMBEDDING)
		bytes = larger(bytes, SAMPLER_COPIES * 4 * architecture->vocab *
					      (is_large ? STEP_SEQUENCES_LARGE : STEP_SEQUENCES));
	return bytes;
}

/* What a format's software adds to its weights: an unpacking buffer of the largest matrix
 * (exllama's GPTQ kernels: Qwen2.5 GPTQ over AWQ, 7B to 72B), or the temporaries of quantising
 * while loading. */
static double format_bytes(const struct memory_basis *basis, const struct layout *layout,
			   double step)
{
	/* torchao quantises the head as well. */
	if (format_is_torchao(layout->weight_format))
		return larger(step, TORCHAO_QUANTISE_BYTES *
					    (double)(basis->parameters.head
							     ? basis->parameters.head
							     : basis->parameters.embedding));
	switch ((int)layout->weight_format) {
	case FORMAT_AWQ:
	case FORMAT_AWQ_G32:
	case FORMAT_AWQ_G64:
		/* Current transformers load a head of their own before they tie it to the embedding
		 * again. */
		if (basis->workload->engine == ENGINE_TRANSFORMERS && !layout->is_legacy_engine &&
		    !basis->parameters.head)
			return larger(step, 2 * (double)basis->parameters.embedding);
		return step;
	case FORMAT_GPTQ:
	case FORMAT_GPTQ_G32:
	case FORMAT_GPTQ_G64:
	case FORMAT_GPTQ_INT8:
	case FORMAT_GPTQ_CHANNEL:
		return step + 2 * basis->largest_matrix / layout->tensor_parallel;
	case FORMAT_INT8: /* of bitsandbytes there, of others elsewhere */
		if (basis->workload->engine != ENGINE_TRANSFORMERS)
			return step;
		return larger(step, QUANTISE_BYTES * basis->largest_matrix);
	case FORMAT_NF4:
	case FORMAT_NF4_DQ:
	case FORMAT_FP4:
		return larger(step, QUANTISE_BYTES * basis->largest_matrix);
	default: /* every other format is used as it is stored */
		return step;
	}
}

static void prepare_copy(const struct memory_basis *basis, const struct layout *layout,
			 const struct accelerator *accelerator, struct memory_copy *copy)
{
	memory_serve_copy(basis, layout, copy);
	copy->tower_bytes = tower_bytes(basis->workload);
	if (!passes_prompts(basis->workload))
		copy->profiled_bytes = format_bytes(
			basis, layout, profiled_bytes(basis->workload, copy, accelerator));
	copy->is_known = true;
}

void memory_serve_terms(const struct memory_basis *basis, const struct layout *layout,
			const struct accelerator *accelerator, struct memory_copy *copy,
			struct memory_estimate *out)
{
	const struct workload *workload = basis->workload;

	if (!copy->is_known)
		prepare_copy(basis, layout, accelerator, copy);
	out->weights_bytes = copy->weights_bytes;
	out->kv_bytes_per_token = copy->cache.token;
	out->kv_cache_bytes = layout->sequences * copy->cache.sequence;
	out->source_cache_bytes = layout->sequences * copy->cache.source;
	out->activations_bytes =
		passes_prompts(workload)
			? format_bytes(basis, layout, prompts_bytes(workload, layout, copy))
			: copy->profiled_bytes;
	out->activations_bytes += copy->rotary_bytes;
	out->adapters_bytes = copy->adapters_bytes;
	out->framework_bytes = copy->software_bytes;
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
	case ENGINE_CTRANSLATE2:
	case ENGINES:
	default:
		return usable * share - rest - memory.activations_bytes;
	}
}
