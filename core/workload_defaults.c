/*
 * Workload defaults: what a stack does when nobody says otherwise (facts/memory-notes.md 1 and 4),
 * so that an answer for "huggingface" is what Hugging Face's trainer would need, not what Megatron
 * would. The answer marks every one of them as a default.
 */
#include "core/workload_parts.h"

#define FILL(field, value)                                                                         \
	do {                                                                                       \
		if (!workload_has(workload, WORKLOAD_##field))                                     \
			workload->field = (value);                                                 \
	} while (0)

/* Sequences of one fine-tuning step, and tokens of one pre-training step (a small and a large
 * model), as published recipes use them. */
#define FINETUNE_BATCH 16
#define PRETRAIN_BATCH_TOKENS 1048576
#define PRETRAIN_BATCH_TOKENS_LARGE 4194304
#define LARGE_MODEL_PARAMETERS UINT64_C(10000000000)

#define FINETUNE_LENGTH 2048
#define PRETRAIN_LENGTH 4096

#define PROMPT_TOKENS 1024
#define OUTPUT_TOKENS 256
#define INTERACTIVE_CONCURRENCY 16
#define BATCH_CONCURRENCY 64

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int default_precision(const struct workload *workload)
{
	switch ((enum stack)workload->stack) {
	case STACK_MEGATRON:
	case STACK_DEEPSPEED:
		return PRECISION_BF16_MASTER;
	case STACK_UNSLOTH:
		return PRECISION_BF16;
	case STACK_HUGGINGFACE:
	case STACK_TORCHTITAN:
	case STACKS:
		break;
	}
	return PRECISION_AMP_BF16;
}

static void fill_method(struct workload *workload)
{
	bool is_unsloth = workload->stack == STACK_UNSLOTH;
	bool is_qlora = workload->method == METHOD_QLORA;

	/* peft's own defaults are rank 8 on q and v; QLoRA's recipe and unsloth take every linear
	 * layer. */
	FILL(lora_rank, is_qlora || is_unsloth ? 16 : 8);
	FILL(lora_targets, is_qlora || is_unsloth ? LORA_ALL_LINEAR : LORA_ATTENTION_QV);
	FILL(adapter_size, 64);
	FILL(prefix_tokens, 30);
	/* bitsandbytes quantises the constants only when asked; unsloth asks. */
	if (is_qlora)
		FILL(base_format, is_unsloth ? FORMAT_NF4_DQ : FORMAT_NF4);
	else
		FILL(base_format, FORMAT_BF16);
}

static void fill_training(struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;
	bool is_pretraining = workload->task == TASK_PRETRAIN;
	int64_t length = is_pretraining ? PRETRAIN_LENGTH : FINETUNE_LENGTH;
	int64_t batch = FINETUNE_BATCH;

	if (architecture->max_context > 0)
		length = smaller(length, architecture->max_context);
	if (is_pretraining)
		workload->method = METHOD_FULL;
	FILL(stack, is_pretraining ? STACK_TORCHTITAN : STACK_HUGGINGFACE);
	FILL(sequence_length, length);
	if (is_pretraining) {
		struct parameter_count parameters;

		architecture_count(architecture, &parameters);
		batch = (parameters.total < LARGE_MODEL_PARAMETERS ? PRETRAIN_BATCH_TOKENS
								   : PRETRAIN_BATCH_TOKENS_LARGE) /
			workload->sequence_length;
	}
	if (batch < 1)
		batch = 1;
	if (workload_has(workload, WORKLOAD_micro_batch) && batch < workload->micro_batch)
		batch = workload->micro_batch;
	FILL(global_batch, batch);
	FILL(optimizer, workload->stack == STACK_UNSLOTH ? OPTIMIZER_ADAMW_8BIT : OPTIMIZER_ADAMW);
	FILL(precision, default_precision(workload));
	FILL(recompute, workload->stack == STACK_UNSLOTH ? RECOMPUTE_FULL : RECOMPUTE_AUTO);
	FILL(sharding, SHARDING_AUTO);
	/* Offload is many times slower: only on request, or as a remedy. */
	FILL(offload, OFFLOAD_NONE);
	FILL(packing, is_pretraining);
	FILL(fused_attention, true);
	/* Unsloth chunks its loss, torchtitan compiles it. */
	FILL(fused_cross_entropy,
	     workload->stack == STACK_UNSLOTH || workload->stack == STACK_TORCHTITAN);
	FILL(sessions, 1);
	FILL(epochs, 1.0);
	fill_method(workload);

	if (workload_has(workload, WORKLOAD_total_tokens))
		workload->tokens = workload->total_tokens;
	else if (workload_has(workload, WORKLOAD_tokens_per_epoch))
		workload->tokens = workload->tokens_per_epoch * workload->epochs;
	else if (workload_has(workload, WORKLOAD_examples))
		workload->tokens =
			workload->examples * (double)workload->sequence_length * workload->epochs;
	else
		workload->tokens = 0;
}

static void fill_inference(struct workload *workload)
{
	bool is_batch;

	workload->method = METHOD_FULL;
	FILL(mode, SERVING_INTERACTIVE);
	is_batch = workload->mode == SERVING_BATCH;
	FILL(prompt_tokens, PROMPT_TOKENS);
	FILL(output_tokens, OUTPUT_TOKENS);
	/* A rate decides the concurrency: the planner derives it. */
	if (!workload_has(workload, WORKLOAD_requests_per_second))
		FILL(concurrency, is_batch ? BATCH_CONCURRENCY : INTERACTIVE_CONCURRENCY);
	FILL(weight_format, FORMAT_AUTO);
	FILL(kv_format, FORMAT_AUTO);
	/* llama.cpp's file types run nowhere else. */
	FILL(engine,
	     format_is_gguf((enum format)workload->weight_format) ? ENGINE_LLAMA_CPP : ENGINE_VLLM);
	/* Engines without a fixed budget take what there is. */
	FILL(gpu_memory_utilization,
	     workload->engine == ENGINE_TRANSFORMERS || workload->engine == ENGINE_LLAMA_CPP ? 1.0
											     : 0.9);
	FILL(fused_attention, true);
	FILL(lora_adapters, 0);
	workload->full_context = (double)workload->prompt_tokens + (double)workload->output_tokens;
	workload->context = workload_has(workload, WORKLOAD_mean_context)
				    ? (double)workload->mean_context
				    : workload->full_context;
}

void workload_fill(struct workload *workload)
{
	/* What nobody gives and no stack decides stays 0: not known, or none. */
	if (workload->task == TASK_INFERENCE)
		fill_inference(workload);
	else
		fill_training(workload);
}
