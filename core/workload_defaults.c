/*
 * Workload defaults: what a stack does when nobody says otherwise (facts/memory-notes.md 1 and 4),
 * so that an answer for "huggingface" is what Hugging Face's trainer would need, not what Megatron
 * would. The answer marks every one of them as a default.
 */
#include "core/workload_parts.h"

#include <math.h>

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

#define GALORE_RANK 128

#define FINETUNE_LENGTH 2048
#define PRETRAIN_LENGTH 4096

/* Of an encoder-decoder, target tokens: span corruption turns 512 tokens into 114 to predict (T5,
 * arXiv 1910.10683, 3.1.4), summaries of the usual sets are about as short. */
#define TARGET_PART 4

#define PROMPT_TOKENS 1024
#define OUTPUT_TOKENS 256
#define INTERACTIVE_CONCURRENCY 16
#define BATCH_CONCURRENCY 64
/* Text is read at 238 words a minute (Brysbaert 2019, over 190 studies) of about 1.3 tokens: 5.2
 * tokens a second. MLPerf Inference takes the same 0.2 s for its server scenario of chat. */
#define READING_TPOT_SECONDS 0.2
/* Its limits on the first token: 2 s where prompts have hundreds of tokens (Llama 2 70B), 6 s where
 * they have 9,400 (Llama 3.1 405B). */
#define PATIENT_TTFT_SECONDS 2.0
#define PATIENT_TOKENS_PER_SECOND 1500.0

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

/* fp32 weights have fp32 gradients; Megatron's reduction runs in fp32 over 16-bit weights too. */
static int default_gradients(const struct workload *workload)
{
	bool is_mixed_by_stack =
		workload->stack == STACK_MEGATRON || workload->stack == STACK_DEEPSPEED;

	switch ((enum precision)workload->precision) {
	case PRECISION_AMP_FP16:
		return is_mixed_by_stack ? GRADIENTS_HALF : GRADIENTS_FP32;
	case PRECISION_BF16_MASTER:
		return workload->stack == STACK_DEEPSPEED ? GRADIENTS_HALF : GRADIENTS_FP32;
	case PRECISION_FP8:
		return is_mixed_by_stack ? GRADIENTS_HALF : GRADIENTS_FP32;
	case PRECISION_BF16:
		return GRADIENTS_HALF;
	case PRECISION_FP32:
	case PRECISION_AMP_BF16:
	case PRECISIONS:
	default:
		return GRADIENTS_FP32;
	}
}

static int default_cross_entropy(const struct workload *workload)
{
	bool is_asked = workload_has(workload, WORKLOAD_fused_cross_entropy);

	if (is_asked && !workload->fused_cross_entropy)
		return CROSS_ENTROPY_PLAIN;
	/* What users of Hugging Face's trainer fuse is the head too: Liger's, in chunks. */
	if (is_asked)
		return workload->stack == STACK_TORCHTITAN || workload->stack == STACK_MEGATRON
			       ? CROSS_ENTROPY_FUSED
			       : CROSS_ENTROPY_CHUNKED;
	/* Unsloth chunks its loss, torchtitan compiles it. */
	if (workload->stack == STACK_UNSLOTH)
		return CROSS_ENTROPY_CHUNKED;
	return workload->stack == STACK_TORCHTITAN ? CROSS_ENTROPY_FUSED : CROSS_ENTROPY_PLAIN;
}

static void fill_method(struct workload *workload)
{
	bool is_unsloth = workload->stack == STACK_UNSLOTH;
	bool is_qlora = workload->method == METHOD_QLORA;

	/* peft's own defaults are rank 8 on q and v, of what has them; QLoRA's recipe and unsloth
	 * take every linear layer. */
	FILL(lora_rank, is_qlora || is_unsloth ? 16 : 8);
	FILL(lora_targets,
	     is_qlora || is_unsloth || !architecture_heads_divisor(workload->architecture)
		     ? LORA_ALL_LINEAR
		     : LORA_ATTENTION_QV);
	FILL(dora, false);
	FILL(train_embeddings, false);
	FILL(adapter_size, 64);
	FILL(prefix_tokens, 30);
	/* bitsandbytes quantises the constants only when asked; unsloth asks. */
	if (is_qlora)
		FILL(base_format, is_unsloth ? FORMAT_NF4_DQ : FORMAT_NF4);
	else
		FILL(base_format, FORMAT_BF16);
}

static void fill_tokens(struct workload *workload)
{
	if (workload_has(workload, WORKLOAD_total_tokens))
		workload->tokens = workload->total_tokens;
	else if (workload_has(workload, WORKLOAD_tokens_per_epoch))
		workload->tokens = workload->tokens_per_epoch * workload->epochs;
	else if (workload_has(workload, WORKLOAD_examples))
		workload->tokens =
			workload->examples * workload_sequence_tokens(workload) * workload->epochs;
	else
		workload->tokens = 0;
}

static void fill_training(struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;
	bool is_pretraining = workload->task == TASK_PRETRAIN;
	int64_t length = is_pretraining ? PRETRAIN_LENGTH : FINETUNE_LENGTH;
	int64_t batch = FINETUNE_BATCH;
	struct sound_lengths sound = workload_sound_lengths(workload);

	if (architecture->max_context > 0)
		length = smaller(length, architecture->max_context);
	if (is_pretraining)
		workload->method = METHOD_FULL;
	/* torchtitan trains decoders only. */
	FILL(stack, is_pretraining && architecture->modality != MODALITY_EMBEDDING &&
				    !architecture_has_source(architecture)
			    ? STACK_TORCHTITAN
			    : STACK_HUGGINGFACE);
	FILL(sequence_length, sound.source > 0 ? sound.source : length);
	if (architecture_has_source(architecture))
		FILL(target_length, sound.target > 0 ? sound.target
				    : workload->sequence_length / TARGET_PART > 0
					    ? workload->sequence_length / TARGET_PART
					    : 1);
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
	FILL(optimizer_in_backward, false);
	/* The rank of GaLore's own recipes for 7B. */
	FILL(galore_rank, GALORE_RANK);
	FILL(precision, default_precision(workload));
	FILL(gradient_precision, default_gradients(workload));
	FILL(recompute, workload->stack == STACK_UNSLOTH ? RECOMPUTE_FULL : RECOMPUTE_AUTO);
	FILL(sharding, SHARDING_AUTO);
	/* Offload is many times slower: only on request, or as a remedy. */
	FILL(offload, OFFLOAD_NONE);
	FILL(packing, is_pretraining);
	FILL(fused_attention, true);
	FILL(cross_entropy, default_cross_entropy(workload));
	/* Wherever tensor parallelism is used: it costs no traffic and saves memory. */
	FILL(sequence_parallel, true);
	FILL(sessions, 1);
	FILL(hours_per_day, 24.0);
	FILL(epochs, 1.0);
	fill_method(workload);
	fill_tokens(workload);
}

/* The usual lengths, or as much of them as the model was made for: an encoder-decoder for so much
 * on each side. */
static void fill_lengths(struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;
	int64_t room = architecture->max_context > 0 ? architecture->max_context : INT64_MAX;
	int64_t taken = 0;

	if (!workload_only_reads(workload) && !architecture_has_source(architecture))
		taken = smaller(workload_has(workload, WORKLOAD_output_tokens)
					? workload->output_tokens
					: OUTPUT_TOKENS,
				room / 2);
	FILL(prompt_tokens, smaller(PROMPT_TOKENS, room - taken));
	FILL(output_tokens, workload_only_reads(workload) ? 0 : smaller(OUTPUT_TOKENS, room / 2));
}

static void fill_inference(struct workload *workload)
{
	bool only_reads = workload_only_reads(workload), is_batch, has_budget, is_ctranslate2;

	workload->method = METHOD_FULL;
	FILL(mode, SERVING_INTERACTIVE);
	is_batch = workload->mode == SERVING_BATCH;
	workload_fill_senses(workload);
	if (!workload_hears(workload) && !workload_speaks(workload))
		fill_lengths(workload);
	workload_derive_senses(workload);
	/* A rate decides the concurrency: the planner derives it. */
	if (!workload_has(workload, WORKLOAD_requests_per_second))
		FILL(concurrency, is_batch ? BATCH_CONCURRENCY : INTERACTIVE_CONCURRENCY);
	FILL(min_replicas, 1);
	/* Nobody reads along while sound is made. */
	if (!is_batch && !only_reads && !workload_speaks(workload)) {
		FILL(max_tpot_seconds, READING_TPOT_SECONDS);
		FILL(max_ttft_seconds,
		     fmax(PATIENT_TTFT_SECONDS, workload->prompt / PATIENT_TOKENS_PER_SECOND));
	}
	FILL(weight_format, FORMAT_AUTO);
	FILL(kv_format, FORMAT_AUTO);
	/* llama.cpp's file types run nowhere else. */
	FILL(engine, format_is_gguf((enum format)workload->weight_format) ? ENGINE_LLAMA_CPP
		     : workload_needs_transformers(workload)		  ? ENGINE_TRANSFORMERS
									  : ENGINE_VLLM);
	is_ctranslate2 = workload->engine == ENGINE_CTRANSLATE2;
	/* Engines without a fixed budget take what there is. */
	has_budget = workload->engine != ENGINE_TRANSFORMERS &&
		     workload->engine != ENGINE_LLAMA_CPP && !is_ctranslate2;
	FILL(gpu_memory_utilization, has_budget ? 0.9 : 1.0);
	FILL(fused_attention, true);
	FILL(lora_adapters, 0);
	FILL(hours_per_day, 24.0);
	/* Engines reserve rank 16 unless told otherwise. */
	FILL(lora_rank, 16);
	FILL(paged_kv, has_budget);
	FILL(chunked_prefill, workload->engine != ENGINE_TRANSFORMERS && !is_ctranslate2);
	FILL(cuda_graphs, workload->engine != ENGINE_TRANSFORMERS && !is_ctranslate2);
	workload->full_context = workload->prompt + (double)workload->output_tokens;
	workload->context = workload_has(workload, WORKLOAD_mean_context)
				    ? (double)workload->mean_context
				    : workload->full_context;
}

void workload_fill(struct workload *workload)
{
	/* What nobody gives and no stack decides stays 0: not known, or none. */
	if (workload->architecture->media)
		workload_fill_media(workload);
	else if (workload->task == TASK_INFERENCE)
		fill_inference(workload);
	else
		fill_training(workload);
}
