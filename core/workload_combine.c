/*
 * Workload combinations: options that each exist, and that no stack or engine runs together. Judged
 * once defaults are in, since what a stack does by itself rules options out as well. Each fault
 * names every field of the pair that the caller gave.
 */
#include "core/workload_parts.h"

#define BIT(value) (1u << (unsigned)(value))

struct rule {
	enum workload_field_id a, b;
	bool (*is_broken)(const struct workload *workload);
	const char *why;
};

static bool is_one_of(int value, unsigned bits)
{
	return bits >> (unsigned)value & 1u;
}

static bool has_model_parallel(const struct workload *workload)
{
	return is_one_of(workload->stack, BIT(STACK_MEGATRON) | BIT(STACK_TORCHTITAN));
}

static bool is_offloaded(const struct workload *workload)
{
	return is_one_of(workload->offload, BIT(OFFLOAD_OPTIMIZER) | BIT(OFFLOAD_PARAMETERS));
}

static bool is_paged(const struct workload *workload)
{
	return is_one_of(workload->optimizer,
			 BIT(OPTIMIZER_PAGED_ADAMW) | BIT(OPTIMIZER_PAGED_ADAMW_8BIT));
}

static bool is_galore(const struct workload *workload)
{
	return workload->optimizer == OPTIMIZER_GALORE_ADAMW;
}

static bool backward_stack(const struct workload *workload)
{
	return workload->optimizer_in_backward &&
	       !is_one_of(workload->stack, BIT(STACK_HUGGINGFACE) | BIT(STACK_TORCHTITAN));
}

static bool backward_sharding(const struct workload *workload)
{
	return workload->optimizer_in_backward &&
	       is_one_of(workload->sharding, BIT(SHARDING_ZERO1) | BIT(SHARDING_ZERO2));
}

static bool backward_offload(const struct workload *workload)
{
	return workload->optimizer_in_backward && is_offloaded(workload);
}

static bool galore_method(const struct workload *workload)
{
	return is_galore(workload) && workload->method != METHOD_FULL;
}

static bool galore_stack(const struct workload *workload)
{
	return is_galore(workload) && workload->stack != STACK_HUGGINGFACE;
}

static bool galore_sharding(const struct workload *workload)
{
	return is_galore(workload) &&
	       !is_one_of(workload->sharding, BIT(SHARDING_AUTO) | BIT(SHARDING_NONE));
}

static bool galore_rank(const struct workload *workload)
{
	return workload_has(workload, WORKLOAD_galore_rank) &&
	       (!is_galore(workload) || workload->galore_rank > workload->architecture->hidden);
}

static bool optimizer_stack(const struct workload *workload)
{
	return workload->stack == STACK_MEGATRON &&
	       (is_paged(workload) ||
		is_one_of(workload->optimizer,
			  BIT(OPTIMIZER_ADAMW_4BIT) | BIT(OPTIMIZER_ADAFACTOR)));
}

static bool paged_offload(const struct workload *workload)
{
	return is_paged(workload) && is_offloaded(workload);
}

static bool half_gradients(const struct workload *workload)
{
	bool is_mixed_by_stack =
		is_one_of(workload->stack, BIT(STACK_MEGATRON) | BIT(STACK_DEEPSPEED));

	if (workload->gradient_precision != GRADIENTS_HALF)
		return false;
	return workload->precision == PRECISION_FP32 ||
	       (!is_mixed_by_stack &&
		is_one_of(workload->precision,
			  BIT(PRECISION_AMP_BF16) | BIT(PRECISION_AMP_FP16) | BIT(PRECISION_FP8)));
}

static bool recompute_stack(const struct workload *workload)
{
	return workload->recompute == RECOMPUTE_SELECTIVE && !has_model_parallel(workload);
}

static bool sharding_stack(const struct workload *workload)
{
	return workload->stack == STACK_UNSLOTH &&
	       !is_one_of(workload->sharding, BIT(SHARDING_AUTO) | BIT(SHARDING_NONE));
}

/* DeepSpeed's offload moves what its stages have sharded. */
static bool offload_sharding(const struct workload *workload)
{
	unsigned too_little =
		workload->offload == OFFLOAD_PARAMETERS
			? BIT(SHARDING_NONE) | BIT(SHARDING_ZERO1) | BIT(SHARDING_ZERO2)
			: BIT(SHARDING_NONE);

	return workload->stack == STACK_DEEPSPEED && is_offloaded(workload) &&
	       is_one_of(workload->sharding, too_little);
}

static bool offload_stack(const struct workload *workload)
{
	return workload->stack == STACK_MEGATRON && workload->offload == OFFLOAD_PARAMETERS;
}

static bool chunks_stack(const struct workload *workload)
{
	return workload->pipeline_chunks > 1 && !has_model_parallel(workload);
}

static bool chunks_pipeline(const struct workload *workload)
{
	int layers = architecture_layers(workload->architecture);

	return workload->pipeline_chunks > 1 && workload->pipeline_parallel > 0 &&
	       (workload->pipeline_parallel == 1 ||
		workload->pipeline_chunks * workload->pipeline_parallel > layers);
}

static bool context_sequence(const struct workload *workload)
{
	return workload->context_parallel > workload->sequence_length;
}

/* Nothing would be trained. */
static bool targets_method(const struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;
	bool has_attention = architecture_heads_divisor(architecture) > 0, has_mlp = false;

	for (int i = 0; i < architecture->kinds_count; i++)
		has_mlp = has_mlp || architecture->kinds[i].ffn || architecture->kinds[i].experts ||
			  architecture->kinds[i].shared_ffn;
	if (workload->method == METHOD_PREFIX)
		return !has_attention;
	if (workload->method != METHOD_LORA && workload->method != METHOD_QLORA)
		return false;
	return (workload->lora_targets == LORA_MLP && !has_mlp) ||
	       (is_one_of(workload->lora_targets, BIT(LORA_ATTENTION_QV) | BIT(LORA_ATTENTION)) &&
		!has_attention);
}

static bool tensor_stack(const struct workload *workload)
{
	return workload->tensor_parallel > 1 && !has_model_parallel(workload);
}

static bool pipeline_stack(const struct workload *workload)
{
	return workload->pipeline_parallel > 1 && !has_model_parallel(workload);
}

static bool context_stack(const struct workload *workload)
{
	return workload->context_parallel > 1 && !has_model_parallel(workload);
}

static bool expert_stack(const struct workload *workload)
{
	return workload->expert_parallel > 1 && !has_model_parallel(workload);
}

static bool sequence_stack(const struct workload *workload)
{
	return workload_has(workload, WORKLOAD_sequence_parallel) && workload->sequence_parallel &&
	       !has_model_parallel(workload);
}

static bool dora_base(const struct workload *workload)
{
	return workload->dora && format_is_packed_integer((enum format)workload->base_format);
}

#define SPLITS_THE_MODEL "only megatron and torchtitan split the model over GPUs in training"

static const struct rule training_rules[] = {
	{WORKLOAD_optimizer_in_backward, WORKLOAD_stack, backward_stack,
	 "only huggingface and torchtitan update layers while gradients come"},
	{WORKLOAD_optimizer_in_backward, WORKLOAD_sharding, backward_sharding,
	 "zero1 and zero2 keep all gradients until the step; none, zero3 and hybrid do not"},
	{WORKLOAD_optimizer_in_backward, WORKLOAD_offload, backward_offload,
	 "offloaded states are updated after the backward pass"},
	{WORKLOAD_optimizer, WORKLOAD_method, galore_method,
	 "galore_adamw projects the gradients of whole matrices, which adapters do not have"},
	{WORKLOAD_optimizer, WORKLOAD_stack, galore_stack, "only huggingface runs galore_adamw"},
	{WORKLOAD_optimizer, WORKLOAD_sharding, galore_sharding,
	 "galore_adamw needs whole gradients on every GPU"},
	{WORKLOAD_galore_rank, WORKLOAD_optimizer, galore_rank,
	 "galore_rank is for galore_adamw, and less than the width of the model"},
	{WORKLOAD_optimizer, WORKLOAD_stack, optimizer_stack, "megatron has no such optimizer"},
	{WORKLOAD_optimizer, WORKLOAD_offload, paged_offload,
	 "paged states already move to the host; offload takes them all"},
	{WORKLOAD_gradient_precision, WORKLOAD_precision, half_gradients,
	 "gradients of fp32 weights are fp32"},
	{WORKLOAD_recompute, WORKLOAD_stack, recompute_stack,
	 "only megatron and torchtitan choose what to recompute: none or full elsewhere"},
	{WORKLOAD_sharding, WORKLOAD_stack, sharding_stack, "unsloth shards nothing"},
	{WORKLOAD_offload, WORKLOAD_stack, offload_stack,
	 "megatron offloads the optimizer, not the parameters"},
	{WORKLOAD_offload, WORKLOAD_sharding, offload_sharding,
	 "deepspeed offloads an optimizer that is sharded, and parameters from zero3 on"},
	{WORKLOAD_pipeline_chunks, WORKLOAD_stack, chunks_stack,
	 "only megatron and torchtitan run pipelines"},
	{WORKLOAD_pipeline_chunks, WORKLOAD_pipeline_parallel, chunks_pipeline,
	 "an interleaved pipeline has several stages, and a layer for each of their chunks"},
	{WORKLOAD_context_parallel, WORKLOAD_sequence_length, context_sequence,
	 "each GPU needs tokens of the sequence"},
	{WORKLOAD_lora_targets, WORKLOAD_method, targets_method, "this model has no such layers"},
	{WORKLOAD_tensor_parallel, WORKLOAD_stack, tensor_stack, SPLITS_THE_MODEL},
	{WORKLOAD_pipeline_parallel, WORKLOAD_stack, pipeline_stack, SPLITS_THE_MODEL},
	{WORKLOAD_context_parallel, WORKLOAD_stack, context_stack, SPLITS_THE_MODEL},
	{WORKLOAD_expert_parallel, WORKLOAD_stack, expert_stack, SPLITS_THE_MODEL},
	{WORKLOAD_sequence_parallel, WORKLOAD_stack, sequence_stack,
	 "only megatron and torchtitan run tensor parallelism in training"},
	{WORKLOAD_dora, WORKLOAD_base_format, dora_base,
	 "DoRA needs the norms of whole weights: a base in 16 or 8 bits, nf4 or fp4"},
};

static bool has_pages(const struct workload *workload)
{
	return is_one_of(workload->engine, BIT(ENGINE_VLLM) | BIT(ENGINE_SGLANG));
}

static bool is_contiguous(const struct workload *workload)
{
	return is_one_of(workload->engine, BIT(ENGINE_TRANSFORMERS) | BIT(ENGINE_LLAMA_CPP) |
						   BIT(ENGINE_CTRANSLATE2));
}

static bool paged_engine(const struct workload *workload)
{
	return workload->paged_kv ? is_contiguous(workload) : has_pages(workload);
}

static bool chunked_engine(const struct workload *workload)
{
	return workload->chunked_prefill
		       ? is_one_of(workload->engine,
				   BIT(ENGINE_TRANSFORMERS) | BIT(ENGINE_CTRANSLATE2))
		       : workload->engine == ENGINE_LLAMA_CPP;
}

static bool rank_adapters(const struct workload *workload)
{
	return workload_has(workload, WORKLOAD_lora_rank) && workload->lora_adapters == 0;
}

static bool weight_engine(const struct workload *workload)
{
	enum format format = (enum format)workload->weight_format;
	bool is_foreign = format_is_torchao(format) || format_is_bitsandbytes(format);
	bool is_file = format == FORMAT_AUTO || format == FORMAT_FP32 || format == FORMAT_BF16 ||
		       format == FORMAT_FP16 || format == FORMAT_MXFP4 || format_is_gguf(format);

	/* CTranslate2 quantises to 8 bits while it converts. */
	bool is_converted = format == FORMAT_AUTO || format == FORMAT_FP32 ||
			    format == FORMAT_BF16 || format == FORMAT_FP16 || format == FORMAT_INT8;

	return (is_foreign && workload->engine == ENGINE_TENSORRT_LLM) ||
	       (!is_converted && workload->engine == ENGINE_CTRANSLATE2) ||
	       (!is_file && workload->engine == ENGINE_LLAMA_CPP);
}

static bool budget_engine(const struct workload *workload)
{
	return workload_has(workload, WORKLOAD_gpu_memory_utilization) && is_contiguous(workload);
}

static bool cache_engine(const struct workload *workload)
{
	enum format format = (enum format)workload->kv_format;

	return (format == FORMAT_INT4 && has_pages(workload)) ||
	       (format == FORMAT_FP8 && is_contiguous(workload)) ||
	       (format != FORMAT_AUTO && format_is_gguf(format) &&
		workload->engine != ENGINE_LLAMA_CPP);
}

static const struct rule serving_rules[] = {
	{WORKLOAD_paged_kv, WORKLOAD_engine, paged_engine,
	 "vllm and sglang always page the cache, transformers, llama_cpp and ctranslate2 never do"},
	{WORKLOAD_chunked_prefill, WORKLOAD_engine, chunked_engine,
	 "transformers and ctranslate2 read prompts whole, llama_cpp always in pieces"},
	{WORKLOAD_lora_rank, WORKLOAD_lora_adapters, rank_adapters,
	 "a rank is of adapters that are served: give lora_adapters"},
	{WORKLOAD_weight_format, WORKLOAD_engine, weight_engine,
	 "formats of torchao and bitsandbytes run in vllm, sglang and transformers; llama_cpp "
	 "reads GGUF's own"},
	{WORKLOAD_gpu_memory_utilization, WORKLOAD_engine, budget_engine,
	 "transformers and llama_cpp reserve no share of the card"},
	{WORKLOAD_kv_format, WORKLOAD_engine, cache_engine,
	 "this engine has no kernels for a cache in that format"},
};

static void add_fault(const struct workload *workload, const struct rule *rule, const char *prefix,
		      struct error *error)
{
	const enum workload_field_id fields[] = {rule->a, rule->b};
	char pointer[WORKLOAD_POINTER];

	for (int i = 0; i < 2; i++)
		if (workload_has(workload, fields[i]))
			error_add(error, workload_pointer(prefix, fields[i], pointer),
				  "contradiction", NULL, "%s does not go with this %s: %s",
				  workload_fields[fields[i]].name, workload_fields[fields[!i]].name,
				  rule->why);
}

/* Degrees that the model itself cannot be divided by. */
static bool check_degrees(const struct workload *workload, const char *prefix, struct error *error)
{
	int heads = architecture_heads_divisor(workload->architecture);
	int experts = architecture_experts(workload->architecture);
	int layers = architecture_layers(workload->architecture);
	char pointer[WORKLOAD_POINTER];
	bool is_good = true;

	if (workload->tensor_parallel > 0 && heads > 0 && heads % workload->tensor_parallel)
		is_good = error_add(
			error, workload_pointer(prefix, WORKLOAD_tensor_parallel, pointer),
			"contradiction", NULL, "tensor_parallel %lld does not divide %d heads",
			(long long)workload->tensor_parallel, heads);
	if (workload->pipeline_parallel > layers)
		is_good = error_add(
			error, workload_pointer(prefix, WORKLOAD_pipeline_parallel, pointer),
			"contradiction", NULL, "pipeline_parallel %lld is more than %d layers",
			(long long)workload->pipeline_parallel, layers);
	if (workload->expert_parallel > 1 && (experts == 0 || experts % workload->expert_parallel))
		is_good = error_add(
			error, workload_pointer(prefix, WORKLOAD_expert_parallel, pointer),
			"contradiction", NULL, "expert_parallel %lld does not divide %d experts",
			(long long)workload->expert_parallel, experts);
	return is_good;
}

bool workload_check_combinations(const struct workload *workload, const char *prefix,
				 struct error *error)
{
	bool is_serving = workload->task == TASK_INFERENCE;
	const struct rule *rules = is_serving ? serving_rules : training_rules;
	size_t count = is_serving ? sizeof(serving_rules) / sizeof(serving_rules[0])
				  : sizeof(training_rules) / sizeof(training_rules[0]);
	bool is_good;

	if (workload->architecture->media)
		return workload_check_media(workload, prefix, error);
	is_good = check_degrees(workload, prefix, error);
	for (size_t i = 0; i < count; i++)
		if (rules[i].is_broken(workload)) {
			add_fault(workload, &rules[i], prefix, error);
			is_good = false;
		}
	return is_good;
}
