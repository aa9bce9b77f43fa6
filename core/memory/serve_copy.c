/*
 * Memory of serving, what one copy of the model holds under any load: weights in their format, the
 * share of one sequence in the cache, layer by layer, adapters that are served, the software.
 *
 * The planner asks for one copy under many loads: all of this is found once for them.
 */
#include "core/memory/internal.h"

#include "core/fitted.h"
#include "core/units.h"

#include <math.h>

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
static struct memory_cache_share cache_share(const struct memory_basis *basis,
					     const struct layout *layout)
{
	struct memory_cache_share share = {0, 0, 0};
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

static double adapters_bytes(const struct workload *workload)
{
	struct workload served = *workload;

	/* Engines reserve all linear layers, whichever the adapters have. */
	served.method = METHOD_LORA;
	served.lora_targets = LORA_ALL_LINEAR;
	return 2 * (double)workload->lora_adapters * memory_adapter_parameters(&served);
}

void memory_serve_copy(const struct memory_basis *basis, const struct layout *layout,
		       struct memory_copy *out)
{
	const struct workload *workload = basis->workload;
	const struct architecture *architecture = workload->architecture;
	double ways = (double)layout->tensor_parallel * layout->pipeline_parallel;

	*out = (struct memory_copy){
		.weights_bytes = stage_weight_bytes(basis, layout) / layout->tensor_parallel,
		.step_width = step_width(architecture, layout->tensor_parallel),
	};
	if (architecture->modality != MODALITY_EMBEDDING)
		out->cache = cache_share(basis, layout);
	/* Of text it is as much as is asked, and is not worth telling apart. */
	if (!workload_listens(workload))
		out->cache.source = 0;
	/* transformers' fp8 loader replaces the head and breaks its tie with the embedding. */
	if (workload->engine == ENGINE_TRANSFORMERS && architecture->tied_embeddings &&
	    layout->weight_format == FORMAT_FP8)
		out->weights_bytes += 2 * (double)basis->parameters.embedding / ways;
	if (layout->is_legacy_engine)
		out->rotary_bytes = rotary_bytes(architecture) / layout->pipeline_parallel;
	if (workload->lora_adapters > 0)
		out->adapters_bytes = adapters_bytes(workload) / ways;
	if (workload->engine == ENGINE_CTRANSLATE2)
		out->software_bytes += LIBRARY_BYTES;
	/* llama.cpp's graphs hold no memory of their own. */
	if (workload->cuda_graphs && workload->engine != ENGINE_LLAMA_CPP)
		out->software_bytes += GRAPH_BYTES;
}
