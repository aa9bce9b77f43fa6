/*
 * Memory of serving: weights in their format, the KV cache layer by layer, the engine's activation
 * reserve, adapters that are served and CUDA graphs.
 */
#include "core/memory/internal.h"

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
/* Captured graphs: 0.1-1.0 GiB in current engines (facts/memory-notes.md 5). */
FITTED(GRAPH_BYTES, 0.5 * GIB, 0.1 * GIB, 1.0 * GIB);
/* Of CTranslate2: cuDNN beside the context, workspaces of its own, and blocks that its allocator
 * keeps (faster-whisper's README: whisper-large-v2 in fp16 and int8). */
FITTED(LIBRARY_BYTES, 0.4 * GIB, 0.2 * GIB, 0.8 * GIB);
/* A sequence's cache grows by blocks of 16 tokens. */
#define KV_BLOCK_TOKENS 16.0

/* 4 bits have a scale and a zero of 16 bits for every 64, llama.cpp's 8 bits a scale for every 32.
 */
#define FOUR_BIT_CACHE 4.5
#define LLAMA_CPP_EIGHT_BIT_CACHE 8.5

/* Keys of an indexer stay in 8 bits with an fp32 scale for every 128 (vLLM's DeepSeek-V3.2), whole
 * on every GPU. */
#define INDEX_KEY_BYTES (1 + 4.0 / 128)

static double cache_bits(const struct workload *workload, enum format format)
{
	if (format == FORMAT_INT4)
		return FOUR_BIT_CACHE;
	if (format == FORMAT_INT8 && workload->engine == ENGINE_LLAMA_CPP)
		return LLAMA_CPP_EIGHT_BIT_CACHE;
	return format_facts(format)->linear_bits;
}

/* Tokens that a sequence holds memory for: without pages all that it may reach, unless the cache is
 * made anew as it grows. */
static double kept_context(const struct workload *workload)
{
	if (workload->engine == ENGINE_VLLM || workload->engine == ENGINE_SGLANG)
		return ceil(workload->context / KV_BLOCK_TOKENS) * KV_BLOCK_TOKENS;
	return workload->paged_kv || workload->engine == ENGINE_TRANSFORMERS
		       ? workload->context
		       : workload->full_context;
}

/* Copies of the source's keys and values: beams share them but in transformers, which expands what
 * the encoder put out; guidance has a second source, without the prompt. */
static double source_copies(const struct workload *workload)
{
	return workload->engine == ENGINE_TRANSFORMERS || workload->beams <= 1 ? workload->copies
									       : 1;
}

/* Of all layers, the share of the pipeline stage that has most. */
static double stage_share(const struct memory_basis *basis, const struct layout *layout)
{
	return ceil((double)basis->layers / layout->pipeline_parallel) / basis->layers;
}

/* One GPU's share of the cache of one more token, of a whole sequence at the context, and of that
 * what is of the source. */
struct kv_share {
	double token, sequence, source;
};

static struct kv_share kv_share(const struct memory_basis *basis, const struct layout *layout)
{
	struct kv_share share = {0, 0, 0};
	const struct workload *workload = basis->workload;
	const struct architecture *architecture = workload->architecture;
	double context = kept_context(workload), source = 0;
	double bytes = cache_bits(workload, layout->kv_format) / 8;
	double tensor = layout->tensor_parallel, split;

	/* A decoder behind an encoder keeps its own tokens, and once the keys of the source. */
	if (architecture_has_source(architecture)) {
		source = fmin(context, workload->prompt);
		context -= source;
	}
	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double elements = 0, kept = workload->copies * layer_positions(kind, context);
		double indexed =
			kind->compress_ratio ? floor(context / kind->compress_ratio) : context;
		double index = kind->index_dim * INDEX_KEY_BYTES;

		if (kind->is_cross_only)
			kept = fmax(architecture->image_tokens, workload->tower_patches);
		if (kind->is_encoder || kind->shares_kv)
			continue;
		if (kind->attention == ATTENTION_LATENT)
			elements = kind->kv_rank + kind->rope_dim; /* every rank holds all of it */
		else if (kind->attention == ATTENTION_GROUPED)
			elements = ceil(kind->kv_heads / tensor) *
				   (kind->head_dim + layer_value_dim(kind));
		if (kind->compress_ratio) /* one latent for K and V */
			elements /= 2;
		/* State layers keep their state in the compute type. */
		share.sequence +=
			kind->count *
			(elements * kept * bytes +
			 workload->copies * (index * indexed + 2 * kind->state_elements / tensor));
		if (kind->has_cross_attention)
			share.source +=
				kind->count * elements * bytes * source * source_copies(workload);
		if (!kind->is_cross_only && (!kind->window || context < kind->window))
			share.token += kind->count * workload->copies * (elements * bytes + index);
	}
	split = stage_share(basis, layout) / layout->context_parallel;
	share.token *= split;
	share.source *= split;
	share.sequence = share.sequence * split + share.source;
	return share;
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

/* Patches of pictures and frames of sound pass the tower together, at most so many tokens' worth of
 * four patches each, or what attends to each other: an MLP of four widths, twice, and the stream.
 */
#define TOWER_STEP_PATCHES (4 * STEP_TOKENS_LARGE)

static double tower_bytes(const struct workload *workload)
{
	double patches =
		fmin(workload->tower_patches, fmax(TOWER_STEP_PATCHES, workload->tower_span));

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
			heads = fmax(heads, architecture->kinds[i].heads);
	if (!workload->fused_attention)
		bytes = sequences * workload->prompt * workload->prompt * heads * 4;
	if (workload->engine == ENGINE_LLAMA_CPP)
		bytes += 4.0 * architecture->vocab * architecture->max_context;
	return bytes;
}

static double step_bytes(const struct memory_basis *basis, const struct layout *layout,
			 const struct accelerator *accelerator)
{
	const struct workload *workload = basis->workload;
	const struct architecture *architecture = workload->architecture;
	double tensor = layout->tensor_parallel, sequences = fmax(1, layout->sequences);
	double prompt = sequences * workload->prompt, tokens, bytes;
	bool is_large = !accelerator || accelerator_memory_bytes(accelerator) >= LARGE_CARD_BYTES;
	bool has_head = architecture->modality != MODALITY_EMBEDDING;

	if (workload->engine == ENGINE_TRANSFORMERS || workload->engine == ENGINE_LLAMA_CPP ||
	    workload->engine == ENGINE_CTRANSLATE2) {
		/* Whole prompts at once, one layer at a time; llama.cpp in pieces of 512 tokens. */
		tokens = workload->engine == ENGINE_LLAMA_CPP ? fmin(prompt, 512) : prompt;
		bytes = tokens * 2 * step_width(architecture, tensor);
		if (has_head)
			bytes = fmax(bytes,
				     architecture->vocab * (layout->is_legacy_engine
								    ? prompt * PROMPT_LOGITS_BYTES
								    : sequences * 4.0));
		return fmax(bytes, tower_bytes(workload)) + sound_bytes(workload, sequences);
	}
	tokens = is_large ? STEP_TOKENS_LARGE : STEP_TOKENS;
	if (workload_only_reads(workload))
		tokens = STEP_TOKENS_POOLING;
	if (!workload->chunked_prefill)
		tokens = fmax(tokens, workload->full_context);
	bytes = fmax(tokens * 2 * step_width(architecture, tensor), tower_bytes(workload));
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
	/* torchao quantises the head as well. */
	if (format_is_torchao(layout->weight_format))
		return fmax(step,
			    TORCHAO_QUANTISE_BYTES *
				    (double)(basis->parameters.head ? basis->parameters.head
								    : basis->parameters.embedding));
	switch ((int)layout->weight_format) {
	case FORMAT_AWQ:
	case FORMAT_AWQ_G32:
	case FORMAT_AWQ_G64:
		/* Current transformers load a head of their own before they tie it to the embedding
		 * again. */
		if (basis->workload->engine == ENGINE_TRANSFORMERS && !layout->is_legacy_engine &&
		    !basis->parameters.head)
			return fmax(step, 2 * (double)basis->parameters.embedding);
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
		return fmax(step, QUANTISE_BYTES * basis->largest_matrix);
	case FORMAT_NF4:
	case FORMAT_NF4_DQ:
	case FORMAT_FP4:
		return fmax(step, QUANTISE_BYTES * basis->largest_matrix);
	default: /* every other format is used as it is stored */
		return step;
	}
}

/* Weights of the fullest pipeline stage: its layers, and the embedding on the first or the head on
 * the last, which holds a copy of the embedding where they are tied. */
static double stage_weight_bytes(const struct memory_basis *basis, const struct layout *layout)
{
	const struct format_facts *facts = format_facts(layout->weight_format);
	double total = basis->weight_bytes[layout->weight_format],
	       stages = layout->pipeline_parallel;
	double embedding = (double)basis->parameters.embedding * facts->other_bits / 8;
	double head = (double)basis->parameters.head * facts->head_bits / 8;

	if (stages <= 1)
		return total;
	if (basis->parameters.head == 0)
		embedding = (double)basis->parameters.embedding * facts->head_bits / 8;
	return (total - embedding - head) * stage_share(basis, layout) + fmax(embedding, head);
}

void memory_serve_terms(const struct memory_basis *basis, const struct layout *layout,
			const struct accelerator *accelerator, struct memory_estimate *out)
{
	const struct workload *workload = basis->workload;
	double ways = (double)layout->tensor_parallel * layout->pipeline_parallel;
	struct kv_share share = kv_share(basis, layout);
	bool has_cache = workload->architecture->modality != MODALITY_EMBEDDING;

	out->weights_bytes = stage_weight_bytes(basis, layout) / layout->tensor_parallel;
	if (has_cache) {
		out->kv_bytes_per_token = share.token;
		out->kv_cache_bytes = layout->sequences * share.sequence;
		/* Of text it is as much as is asked, and is not worth telling apart. */
		if (workload_listens(workload))
			out->source_cache_bytes = layout->sequences * share.source;
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

		/* Engines reserve all linear layers, whichever the adapters have. */
		served.method = METHOD_LORA;
		served.lora_targets = LORA_ALL_LINEAR;
		out->adapters_bytes = 2 * (double)workload->lora_adapters *
				      memory_adapter_parameters(&served) / ways;
	}
	if (workload->engine == ENGINE_CTRANSLATE2)
		out->framework_bytes += LIBRARY_BYTES;
	/* llama.cpp's graphs hold no memory of their own. */
	if (workload->cuda_graphs && workload->engine != ENGINE_LLAMA_CPP)
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
	case ENGINE_CTRANSLATE2:
	case ENGINES:
	default:
		return usable * share - rest - memory.activations_bytes;
	}
}
