/*
 * Training rows of throughput.csv. Where a row does not say how the model was spread or batched,
 * the best layout that fits is taken, as the planner does for a caller who does not say.
 */
#include "tests/accuracy/speed_rows.h"

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
		{"lit-gpt", STACK_TORCHTITAN},
		{"unsloth", STACK_UNSLOTH},
		{"llm-foundry", STACK_TORCHTITAN},
		{"torchtitan", STACK_TORCHTITAN},
		{"FSDP", STACK_TORCHTITAN},
		{"PyTorch 2", STACK_HUGGINGFACE},
	};

	/* MLPerf's submissions run tuned kernels, whatever framework they name. */
	if (row_has(row, "source", "mlcommons"))
		return STACK_MEGATRON;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (row_has(row, "software_version", words[i].word))
			return words[i].stack;
	return STACK_MEGATRON;
}

static const char *precision_of(const struct row *row, const struct accelerator *card,
				struct workload *workload)
{
	const char *text = row_text(row, "compute_dtype");

	if (text_has(text, "nvfp4") || text_has(text, "mxfp4") || text_has(text, "fp4"))
		return "training in fp4 is not offered";
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
	return NULL;
}

static const char *workload_of(const struct row *row, struct request *request)
{
	struct workload *workload = &request->workload;
	const char *kind = row_text(row, "kind"), *length = row_text(row, "seq_len_or_isl_osl");
	const char *reason;

	workload->task = strcmp(kind, "pretrain") == 0 ? TASK_PRETRAIN : TASK_FINETUNE;
	workload->method = text_has(kind, "qlora")  ? METHOD_QLORA
			   : text_has(kind, "lora") ? METHOD_LORA
						    : METHOD_FULL;
	workload->stack = (int)stack_of(row);
	reason = precision_of(row, request->cards[0], workload);
	if (reason)
		return reason;
	workload->sequence_length = (int64_t)row_number(row, "seq_len_or_isl_osl", 0);
	if (text_has(length, "Alpaca") || text_has(length, "<="))
		return "length is a limit; samples are shorter";
	if (workload->sequence_length <= 0)
		return "sequence length not stated";
	workload->given |= 1ull << WORKLOAD_task | 1ull << WORKLOAD_stack |
			   1ull << WORKLOAD_precision | 1ull << WORKLOAD_sequence_length;
	if (workload->task == TASK_FINETUNE)
		workload->given |= 1ull << WORKLOAD_method;
	request->layout.weight_format = FORMAT_BF16;
	if (workload->method == METHOD_QLORA) {
		request->layout.weight_format = request_format(row_text(row, "weight_dtype"));
		workload->base_format = (int)request->layout.weight_format;
		workload->given |= 1ull << WORKLOAD_base_format;
	}
	request->layout.kv_format = FORMAT_BF16;
	return NULL;
}

/* What the row says of the layout; degrees that it does not say stay 0. */
static const char *layout_of(const struct row *row, const struct request *request,
			     struct layout *layout)
{
	const char *recompute = row_text(row, "checkpointing"), *notes = row_text(row, "notes");
	double gpus = row_number(row, "gpus", 0), nodes = row_number(row, "nodes", 0);
	bool is_rack = text_has(request->cards[0]->form_factor, "superchip") &&
		       request->cards[0]->compute_capability >= 100;

	if (gpus <= 0)
		return "number of GPUs not stated";
	layout->tensor_parallel = (int)row_number(row, "tp", 0);
	layout->pipeline_parallel = (int)row_number(row, "pp", 0);
	layout->context_parallel = (int)row_number(row, "cp", 1);
	layout->expert_parallel = (int)row_number(row, "ep", 1);
	layout->expert_tensor_parallel = 1;
	layout->data_parallel = (int)row_number(row, "dp", 0);
	layout->micro_batch = (int64_t)row_number(row, "micro_batch", 0);
	/* ALST (arXiv 2506.13996) keeps optimizer states in host memory. */
	layout->offload = row_has(row, "software_version", "ALST") ? OFFLOAD_OPTIMIZER
			  : !text_has(notes, "offload") || text_has(notes, "offload False")
				  ? OFFLOAD_NONE
			  : row_has(row, "software_version", "llmq") ? OFFLOAD_OPTIMIZER
								     : OFFLOAD_PARAMETERS;
	/* A rack is one NVLink domain. */
	layout->gpus_per_node = is_rack	    ? (int)fmin(gpus, 64)
				: nodes > 1 ? (int)(gpus / nodes)
					    : (int)fmin(gpus, 8);
	layout->nodes = (int)fmax(1, ceil(gpus / layout->gpus_per_node));
	layout->sharding = SHARDING_ZERO1;
	if (request->workload.stack == STACK_TORCHTITAN ||
	    request->workload.stack == STACK_DEEPSPEED || text_has(notes, "FSDP"))
		layout->sharding = SHARDING_ZERO3;
	if (text_has(notes, "DDP"))
		layout->sharding = SHARDING_NONE;
	layout->sequence_parallel = true;
	layout->recompute = text_has(recompute, "full")	       ? RECOMPUTE_FULL
			    : text_has(recompute, "selective") ? RECOMPUTE_SELECTIVE
			    : text_has(recompute, "none")      ? RECOMPUTE_NONE
			    : request->workload.stack == STACK_HUGGINGFACE ||
					    request->workload.stack == STACK_DEEPSPEED
				    ? RECOMPUTE_FULL
				    : RECOMPUTE_SELECTIVE;
	layout->replicas = 1;
	return NULL;
}

/* Fills what is open for one trial; false when it does not come out even. */
static bool complete(const struct row *row, const struct layout *said, int tensor, int pipeline,
		     int64_t micro, struct layout *out)
{
	int gpus = said->gpus_per_node * said->nodes, model;
	double global = row_number(row, "global_batch_or_concurrency", 0);

	*out = *said;
	out->tensor_parallel = tensor;
	out->pipeline_parallel = pipeline;
	out->micro_batch = micro;
	model = layout_gpus_per_replica(out);
	if (model > gpus || gpus % model)
		return false;
	out->data_parallel = gpus / model;
	out->accumulation = 1;
	if (global > 0) {
		double passes = global / (double)(micro * out->data_parallel);

		if (passes < 1)
			return false;
		out->accumulation = (int64_t)(passes + 0.5);
	} else if (pipeline > 1) {
		out->accumulation = 8 * pipeline; /* a pipeline is run full */
	}
	return true;
}

struct trial {
	struct layout layout;
	struct speed_estimate speed;
	bool found;
};

static void try_layout(const struct row *row, struct request *request,
		       const struct memory_basis *memory_basis, const struct speed_basis *basis,
		       const struct layout *layout, bool must_fit, struct trial *best)
{
	const struct accelerator *card = request->cards[0];
	struct memory_estimate memory;
	struct speed_estimate speed;
	struct fabric fabric;

	memory_estimate(memory_basis, layout, card, &memory);
	if (must_fit && memory.allocated_bytes > accelerator_memory_bytes(card))
		return;
	speed_row_fabric(row, card, layout, &fabric);
	speed_estimate(basis, layout, &fabric, &speed);
	if (best->found && speed.tokens_per_second <= best->speed.tokens_per_second)
		return;
	*best = (struct trial){*layout, speed, true};
}

static void search(const struct row *row, struct request *request, const struct speed_basis *basis,
		   struct trial *best)
{
	const struct layout *said = &request->layout;
	struct memory_basis memory_basis;

	memory_prepare(&request->workload, &memory_basis);
	for (int must_fit = 1; must_fit >= 0 && !best->found; must_fit--)
		for (int tensor = 1; tensor <= 8; tensor *= 2)
			for (int pipeline = 1; pipeline <= 16; pipeline *= 2)
				for (int64_t micro = 1; micro <= 64; micro *= 2) {
					struct layout trial;
					int t = said->tensor_parallel ? said->tensor_parallel
								      : tensor;
					int p = said->pipeline_parallel ? said->pipeline_parallel
									: pipeline;
					int64_t m = said->micro_batch ? said->micro_batch : micro;

					if ((said->tensor_parallel && tensor > 1) ||
					    (said->pipeline_parallel && pipeline > 1) ||
					    (said->micro_batch && micro > 1))
						continue;
					/* Stacks that shard do not split unless the row says so. */
					if (said->sharding == SHARDING_ZERO3 && (t > 1 || p > 1) &&
					    !said->tensor_parallel)
						continue;
					if (complete(row, said, t, p, m, &trial))
						try_layout(row, request, &memory_basis, basis,
							   &trial, must_fit, best);
				}
}

/* Tokens a second of all GPUs, from whatever the row measured. */
static double measured_tokens(const struct row *row, const struct request *request,
			      const struct trial *trial)
{
	const char *metric = row_text(row, "metric");
	const struct architecture *architecture = &request->architecture;
	double value = row_number(row, "measured_value", (double)NAN),
	       gpus = row_number(row, "gpus", 1);
	double length = (double)request->workload.sequence_length;
	double global = row_number(row, "global_batch_or_concurrency", 0);
	struct parameter_count count;
	double flops;

	architecture_count(architecture, &count);
	/* 6 N + 12 L H s: facts/throughput-notes.md 1. */
	flops = 6 * (double)count.active +
		12.0 * architecture_layers(architecture) * architecture->hidden * length;
	if (request->workload.method == METHOD_LORA || request->workload.method == METHOD_QLORA)
		flops *= 2.0 / 3;
	if (strcmp(metric, "tokens/s/gpu") == 0)
		return value * gpus;
	if (strcmp(metric, "tokens/s_total") == 0)
		return value;
	if (strcmp(metric, "samples/s_total") == 0)
		return value * length;
	if (strcmp(metric, "tflops/gpu") == 0)
		return value * 1e12 * gpus / flops;
	if (strcmp(metric, "hw_tflops/gpu") == 0)
		return value * 1e12 * gpus / flops * 3 /
		       (trial->layout.recompute == RECOMPUTE_FULL ? 4 : 3);
	if (strcmp(metric, "mfu_%") == 0)
		return value / 100 * request->cards[0]->bf16_tflops * 1e12 * gpus / flops;
	if (strcmp(metric, "s/step") == 0) {
		if (row_has(row, "notes", "sequences per step"))
			global = text_number_after(row_text(row, "notes"), "-> ", 0);
		return global * length / value;
	}
	return (double)NAN;
}

const char *speed_train_row(const struct row *row, struct request *request, struct result *result)
{
	struct speed_basis basis;
	struct trial best = {0};
	const char *reason = workload_of(row, request);

	if (reason || (reason = layout_of(row, request, &request->layout)) ||
	    (reason = request_complete(request)))
		return reason;
	if (!speed_prepare(&request->workload, request->cards[0], request->layout.weight_format,
			   &basis))
		return "card without the figures that speed needs";
	search(row, request, &basis, &best);
	if (!best.found)
		return "no layout comes out even";
	result->predicted = best.speed.tokens_per_second;
	result->measured = measured_tokens(row, request, &best);
	if (!isfinite(result->measured) || result->measured <= 0)
		return "measured in a unit that does not convert";
	snprintf(result->terms, sizeof(result->terms),
		 "tp%d pp%d dp%d ep%d mb%ld acc%ld s%d r%d: step %.4g c %.3g m %.3g net %.3g o "
		 "%.3g mfu %.2f peak %.0f",
		 best.layout.tensor_parallel, best.layout.pipeline_parallel,
		 best.layout.data_parallel, best.layout.expert_parallel,
		 (long)best.layout.micro_batch, (long)best.layout.accumulation,
		 request->workload.stack, (int)best.layout.recompute, best.speed.step.seconds,
		 best.speed.step.compute_seconds, best.speed.step.memory_seconds,
		 best.speed.step.communication_seconds, best.speed.step.overhead_seconds,
		 best.speed.mfu, basis.peak_flops / 1e12);
	return NULL;
}
