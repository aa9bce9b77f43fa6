/* Training rows of throughput.csv; how each was spread is speed_train_layout.c's business. */
#include "tests/accuracy/speed_rows.h"
#include "tests/accuracy/speed_train_layout.h"

#include "core/memory.h"
#include "core/speed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum stack stack_of(const struct row *row)
{
	static const struct {
		const char *word;
		enum stack stack;
	} words[] = {
		{"Megatron", STACK_MEGATRON},
		{"NeMo", STACK_MEGATRON},
		{"NGC", STACK_MEGATRON},
		{"NVIDIA Release", STACK_MEGATRON},
		{"Nemo", STACK_MEGATRON},
		{"JAX", STACK_MEGATRON},
		{"llmq", STACK_MEGATRON},
		{"DeepSpeed", STACK_DEEPSPEED},
		{"HF transformers", STACK_HUGGINGFACE},
		{"h2o", STACK_HUGGINGFACE},
		{"fsdp_qlora", STACK_HUGGINGFACE},
		{"litgpt", STACK_HUGGINGFACE},
		{"axolotl", STACK_HUGGINGFACE},
		{"LLaMA-Factory", STACK_HUGGINGFACE},
		{"PEFT", STACK_HUGGINGFACE},
		{"TRL", STACK_HUGGINGFACE},
		{"lit-gpt", STACK_TORCHTITAN},
		{"unsloth", STACK_UNSLOTH},
		{"llm-foundry", STACK_TORCHTITAN},
		{"torchtitan", STACK_TORCHTITAN},
		{"torchtune", STACK_TORCHTITAN},
		{"FSDP", STACK_TORCHTITAN},
		{"PyTorch 2", STACK_HUGGINGFACE},
	};

	/* Lambda's tables are made with NVIDIA's DeepLearningExamples, whose BERT is that of
	 * transformers. */
	if (row_has(row, "source", "lambdal/"))
		return STACK_HUGGINGFACE;
	/* Qwen's script of full fine-tuning runs under DeepSpeed (finetune/finetune_ds.sh). */
	if (row_has(row, "notes", "DeepSpeed") ||
	    (row_has(row, "source", "QwenLM/Qwen ") &&
	     strcmp(row_text(row, "kind"), "finetune_full") == 0))
		return STACK_DEEPSPEED;
	/* MLPerf's submissions run tuned kernels, whatever framework they name. */
	if (row_has(row, "source", "mlcommons"))
		return STACK_MEGATRON;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (row_has(row, "software_version", words[i].word))
			return words[i].stack;
	return strcmp(row_text(row, "kind"), "pretrain") == 0 ? STACK_MEGATRON : STACK_HUGGINGFACE;
}

static enum skip precision_of(const struct row *row, const struct accelerator *card,
			      struct workload *workload)
{
	const char *text = row_text(row, "compute_dtype");

	if (text_has(text, "nvfp4") || text_has(text, "mxfp4") || text_has(text, "fp4"))
		return SKIP_TRAINING_IN_FP4;
	/* MLPerf's language models run in fp8 wherever the card has it. */
	if (text_has(text, "fp8") ||
	    (!text[0] && row_has(row, "source", "mlcommons") && card->fp8_tflops > 0))
		workload->precision = PRECISION_FP8;
	else if (strncmp(text, "fp16", 4) == 0 && !text_has(text, "bf16"))
		workload->precision = PRECISION_AMP_FP16;
	else if (text_has(text, "fp32") || text_has(text, "tf32"))
		workload->precision = PRECISION_FP32;
	else
		workload->precision = workload->stack == STACK_TORCHTITAN ? PRECISION_AMP_BF16
				      : workload->stack == STACK_HUGGINGFACE
					      ? PRECISION_BF16
					      : PRECISION_BF16_MASTER;
	return SKIP_NONE;
}

/*
 * Of BERT's Wikipedia samples of at most 512 tokens half is padding (arXiv 2107.02027), which the
 * loaders of MLPerf's submissions and of DeepLearningExamples leave out.
 */
#define WIKIPEDIA_LENGTH 512
#define WIKIPEDIA_MEAN 256

/* NeMo's T5 reads 512 tokens and predicts up to 128. */
#define NEMO_T5_TARGET 128

static void set_lengths(const struct row *row, struct request *request)
{
	struct workload *workload = &request->workload;
	bool is_bert = strcmp(request->architecture.family, "bert") == 0;

	if (is_bert && workload->task == TASK_PRETRAIN &&
	    workload->sequence_length == WIKIPEDIA_LENGTH &&
	    (row_has(row, "source", "mlcommons") || row_has(row, "source", "DeepLearningExamples")))
		workload->sequence_length = WIKIPEDIA_MEAN;
	/* NVIDIA's BERT scores the hidden positions alone. */
	if (is_bert && row_has(row, "source", "DeepLearningExamples")) {
		workload->cross_entropy = CROSS_ENTROPY_FUSED;
		workload->given |= WORKLOAD_BIT(WORKLOAD_cross_entropy);
	}
	if (architecture_has_source(&request->architecture) && row_has(row, "source", "NeMo")) {
		workload->target_length = NEMO_T5_TARGET;
		workload->given |= WORKLOAD_BIT(WORKLOAD_target_length);
	}
}

static enum skip workload_of(const struct row *row, struct request *request)
{
	struct workload *workload = &request->workload;
	const char *kind = row_text(row, "kind"), *length = row_text(row, "seq_len_or_isl_osl");
	enum skip reason;

	workload->task = strcmp(kind, "pretrain") == 0 ? TASK_PRETRAIN : TASK_FINETUNE;
	workload->method = text_has(kind, "qlora")  ? METHOD_QLORA
			   : text_has(kind, "lora") ? METHOD_LORA
						    : METHOD_FULL;
	workload->stack = (int)stack_of(row);
	reason = precision_of(row, request->cards[0], workload);
	if (reason)
		return reason;
	workload->sequence_length = row_count(row, "seq_len_or_isl_osl", 0);
	if (text_has(length, "Alpaca") || text_has(length, "<="))
		return SKIP_SAMPLES_ARE_SHORTER;
	if (workload->sequence_length <= 0)
		return SKIP_LENGTH_NOT_STATED;
	set_lengths(row, request);
	if (row_has(row, "notes", "bf16 optimizer states")) {
		workload->optimizer = OPTIMIZER_ADAMW_BF16;
		workload->given |= WORKLOAD_BIT(WORKLOAD_optimizer);
	}
	/* Megatron-Bridge's tables: virtual pipeline stages. */
	workload->pipeline_chunks = (int64_t)text_number_after(row_text(row, "notes"), "; VP ", 0);
	if (workload->pipeline_chunks > 0)
		workload->given |= WORKLOAD_BIT(WORKLOAD_pipeline_chunks);
	if (speed_row_is_before_fused_attention(row))
		workload->given |= WORKLOAD_BIT(WORKLOAD_fused_attention); /* and it is not */
	workload->given |= WORKLOAD_BIT(WORKLOAD_task) | WORKLOAD_BIT(WORKLOAD_stack) |
			   WORKLOAD_BIT(WORKLOAD_precision) |
			   WORKLOAD_BIT(WORKLOAD_sequence_length);
	if (workload->task == TASK_FINETUNE)
		workload->given |= WORKLOAD_BIT(WORKLOAD_method);
	request->layout.weight_format = FORMAT_BF16;
	if (workload->method == METHOD_QLORA) {
		request->layout.weight_format = request_format(row_text(row, "weight_dtype"));
		workload->base_format = (int)request->layout.weight_format;
		workload->given |= WORKLOAD_BIT(WORKLOAD_base_format);
	}
	request->layout.kv_format = FORMAT_BF16;
	return SKIP_NONE;
}

/* Tokens a second of all GPUs, from whatever the row measured. */
static double measured_tokens(const struct row *row, const struct request *request,
			      const struct layout *layout)
{
	const char *metric = row_text(row, "metric");
	const struct architecture *architecture = &request->architecture;
	double value = row_number(row, "measured_value", (double)NAN),
	       gpus = row_count(row, "gpus", 1);
	double length = (double)request->workload.sequence_length;
	double both = workload_sequence_tokens(&request->workload);
	double global = row_number(row, "global_batch_or_concurrency", 0);
	struct parameter_count count;
	double flops;

	architecture_count(architecture, &count);
	/* 6 N + 12 L H s: facts/throughput-notes.md 1. */
	flops = 6 * (double)count.active +
		12.0 * architecture_layers(architecture) * architecture->hidden * length;
	if (request->workload.method == METHOD_LORA || request->workload.method == METHOD_QLORA)
		flops *= 2.0 / 3;
	/* Tables count the tokens that an encoder reads; the product counts those of both sides. */
	if (strcmp(metric, "tokens/s/gpu") == 0)
		return value * gpus * both / length;
	if (strcmp(metric, "tokens/s_total") == 0)
		return value * both / length;
	if (strcmp(metric, "samples/s_total") == 0)
		return value * both;
	if (strcmp(metric, "tflops/gpu") == 0)
		return value * 1e12 * gpus / flops;
	if (strcmp(metric, "hw_tflops/gpu") == 0)
		return value * 1e12 * gpus / flops * 3 /
		       (layout->recompute == RECOMPUTE_FULL ? 4 : 3);
	if (strcmp(metric, "mfu_%") == 0)
		return value / 100 * request->cards[0]->bf16_tflops * 1e12 * gpus / flops;
	if (strcmp(metric, "s/step") == 0) {
		if (row_has(row, "notes", "sequences per step"))
			global = text_number_after(row_text(row, "notes"), "-> ", 0);
		return global * length / value;
	}
	return (double)NAN;
}

enum skip speed_train_row(const struct row *row, struct request *request, struct result *result)
{
	struct speed_basis basis;
	struct train_search search = {.row = row, .request = request, .basis = &basis};
	enum skip reason = workload_of(row, request);

	if (reason || (reason = speed_train_layout(row, request, &request->layout)) ||
	    (reason = request_complete(request)))
		return reason;
	if (!speed_prepare(&request->workload, request->cards[0], request->layout.weight_format,
			   &basis))
		return SKIP_CARD_WITHOUT_SPEED;
	speed_train_search(&search);
	if (!search.found)
		return SKIP_NO_EVEN_LAYOUT;
	result->predicted = search.speed.tokens_per_second;
	result->measured = measured_tokens(row, request, &search.layout);
	if (!isfinite(result->measured) || result->measured <= 0)
		return SKIP_UNIT_DOES_NOT_CONVERT;
	snprintf(
		result->terms, sizeof(result->terms),
		"tp%d pp%d cp%d dp%d ep%d mb%ld acc%ld s%d r%d: step %.4g c %.3g m %.3g net %.3g o "
		"%.3g mfu %.2f peak %.0f",
		search.layout.tensor_parallel, search.layout.pipeline_parallel,
		search.layout.context_parallel, search.layout.data_parallel,
		search.layout.expert_parallel, (long)search.layout.micro_batch,
		(long)search.layout.accumulation, request->workload.stack,
		(int)search.layout.recompute, search.speed.step.seconds,
		search.speed.step.compute_seconds, search.speed.step.memory_seconds,
		search.speed.step.communication_seconds, search.speed.step.overhead_seconds,
		search.speed.mfu, basis.peak_flops / 1e12);
	return SKIP_NONE;
}
