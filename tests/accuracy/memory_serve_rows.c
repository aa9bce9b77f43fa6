/* Serving rows of memory.csv: load, engine and formats from their columns. */
#include "tests/accuracy/memory_rows.h"

#include <math.h>
#include <string.h>

static enum engine engine_of(const struct row *row)
{
	if (row_has(row, "notes", "TensorRT") || row_has(row, "source", "TensorRT"))
		return ENGINE_TENSORRT_LLM;
	if (row_has(row, "notes", "SGLang"))
		return ENGINE_SGLANG;
	if (row_has(row, "weight_dtype", "gguf"))
		return ENGINE_LLAMA_CPP;
	if (row_has(row, "notes", "transformers") || row_has(row, "source", "Qwen") ||
	    row_has(row, "source", "litgpt") || row_has(row, "source", "torchao") ||
	    row_has(row, "notes", "AutoAWQ") || row_has(row, "source", "exllama") ||
	    row_has(row, "source", "FastChat"))
		return ENGINE_TRANSFORMERS;
	return ENGINE_VLLM;
}

/* Share of the card that the engine may take; 0 where the row does not say. */
static double utilization_of(const char *notes)
{
	static const char *const words[] = {"utilization ", "util ", "mem-fraction-static "};
	double utilization = 0;

	for (size_t i = 0; utilization <= 0 && i < sizeof(words) / sizeof(words[0]); i++)
		utilization = text_number_after(notes, words[i], 0);
	return utilization;
}

static enum format torchao_format(const char *text)
{
	static const struct {
		const char *word;
		enum format format;
	} words[] = {
		{"sparse", FORMAT_TORCHAO_INT4_SPARSE}, {"int4", FORMAT_TORCHAO_INT4},
		{"int8", FORMAT_TORCHAO_INT8},		{"fp6", FORMAT_TORCHAO_FP6},
		{"float8", FORMAT_TORCHAO_FP8},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_has(text, words[i].word))
			return words[i].format;
	return request_format(text);
}

/* "batch 1, input 6144 + 2048 generated", "bs=4, generate 1024 tokens", "batch 1, prefill 64 decode
 * 64". */
enum skip memory_serving_request(const struct row *row, struct request *request)
{
	struct workload *workload = &request->workload;
	struct layout *layout = &request->layout;
	const char *load = row_text(row, "concurrency_or_tokens");
	enum skip reason = request_parallelism(row_text(row, "parallelism"),
					       row_count(row, "gpus", 1), layout);
	double length = row_number(row, "seq_len", 0);
	double prompt = text_number_after(load, "input ", text_number_after(load, "prefill ", 0));
	double output = text_number_after(
		load, "+ ",
		text_number_after(load, "decode ", text_number_after(load, "generate ", 0)));
	double utilization;

	if (reason)
		return reason;
	if (layout->data_parallel > 1 && !row_has(row, "parallelism", "dp")) {
		layout->pipeline_parallel *=
			layout->data_parallel; /* layers spread over the GPUs */
		layout->data_parallel = 1;
	}
	layout->sequences = text_number_after(load, "batch ", text_number_after(load, "bs=", 1));
	/* Counts of tokens are those of sequences as long as the server takes. */
	if (prompt <= 0 &&
	    (row_has(row, "metric", "kv tokens") || row_has(row, "metric", "kv blocks")))
		prompt = length > 0 ? length
			 : request->architecture.max_context > 0
				 ? fmin(32768, request->architecture.max_context)
				 : 32768;
	if (prompt <= 0)
		prompt = 1;
	if (output <= 0)
		output = fmax(1, length - prompt);
	workload->task = TASK_INFERENCE;
	workload->prompt_tokens = (int64_t)prompt;
	workload->output_tokens = (int64_t)output;
	workload->concurrency = (int64_t)layout->sequences;
	workload->engine = (int)engine_of(row);
	layout->weight_format = row_has(row, "source", "torchao/quantization")
					? torchao_format(row_text(row, "weight_dtype"))
					: request_format(row_text(row, "weight_dtype"));
	if (layout->weight_format == FORMAT_AUTO)
		return row_text(row, "weight_dtype")[0] ? SKIP_WEIGHT_FORMAT
							: SKIP_WEIGHT_FORMAT_NOT_STATED;
	layout->kv_format = request_format(row_text(row, "kv_dtype"));
	if (text_has(row_text(row, "kv_dtype"), "int8"))
		layout->kv_format = FORMAT_INT8;
	if (layout->kv_format == FORMAT_AUTO)
		layout->kv_format = FORMAT_BF16;
	layout->is_legacy_engine = row_has(row, "notes", "materialises fp32 logits");
	workload->weight_format = (int)layout->weight_format;
	workload->kv_format = (int)layout->kv_format;
	workload->given |= WORKLOAD_BIT(WORKLOAD_task) | WORKLOAD_BIT(WORKLOAD_prompt_tokens) |
			   WORKLOAD_BIT(WORKLOAD_output_tokens) |
			   WORKLOAD_BIT(WORKLOAD_concurrency) | WORKLOAD_BIT(WORKLOAD_engine) |
			   WORKLOAD_BIT(WORKLOAD_weight_format);
	utilization = utilization_of(row_text(row, "notes"));
	if (utilization > 0) {
		workload->gpu_memory_utilization = utilization;
		workload->given |= WORKLOAD_BIT(WORKLOAD_gpu_memory_utilization);
	}
	return SKIP_NONE;
}
