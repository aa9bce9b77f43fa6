/* Serving rows of throughput.csv: lengths, load and engine class from their columns. */
#include "tests/accuracy/speed_rows.h"

#include "core/memory.h"
#include "core/speed.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Engines by class: what is not one of the product's five goes where it behaves alike. */
static enum engine engine_of(const struct row *row)
{
	static const struct {
		const char *word;
		enum engine engine;
	} words[] = {
		{"llama.cpp", ENGINE_LLAMA_CPP},
		{"Ollama", ENGINE_LLAMA_CPP},
		{"transformers", ENGINE_TRANSFORMERS},
		{"litgpt", ENGINE_TRANSFORMERS},
		{"accelerate", ENGINE_TRANSFORMERS},
		{"AutoAWQ", ENGINE_VLLM},
		{"SGLang", ENGINE_SGLANG},
		{"vLLM", ENGINE_VLLM},
		{"Mango", ENGINE_VLLM},
		{"TensorRT", ENGINE_TENSORRT_LLM},
		{"TRT", ENGINE_TENSORRT_LLM},
		{"FasterTransformer", ENGINE_TENSORRT_LLM},
		{"ExLlama", ENGINE_TENSORRT_LLM},
		{"MLC", ENGINE_TENSORRT_LLM},
		{"mlc", ENGINE_TENSORRT_LLM},
		{"gpt-fast", ENGINE_TENSORRT_LLM},
		{"LMDeploy", ENGINE_TENSORRT_LLM},
		{"TinyChat", ENGINE_TENSORRT_LLM},
		{"QServe", ENGINE_TENSORRT_LLM},
	};

	/* Where a row quotes the command that ran, that command counts. */
	if (row_has(row, "notes", "sglang.launch_server"))
		return ENGINE_SGLANG;
	if (row_has(row, "notes", "trtllm-serve"))
		return ENGINE_TENSORRT_LLM;
	if (row_has(row, "notes", "vllm serve") || row_has(row, "notes", "vLLM defaults"))
		return ENGINE_VLLM;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (row_has(row, "software_version", words[i].word))
			return words[i].engine;
	return ENGINE_VLLM;
}

/* "2048/128", "<=2048/512", "~8/256", "OpenORCA, output mean ~294 tok", "ShareGPT". */
static enum skip lengths_of(const struct row *row, struct workload *workload)
{
	const char *text = row_text(row, "seq_len_or_isl_osl");
	const char *slash = strchr(text, '/');
	double prompt = 0, output = 0;

	if (slash) {
		const char *from = slash;

		while (from > text && (strchr("0123456789.", from[-1])))
			from--;
		prompt = strtod(from, NULL);
		slash++;
		while (*slash == '~' || *slash == ' ')
			slash++;
		output = strtod(slash, NULL);
		if (text_has(text, "<=")) /* drawn up to the limit */
			prompt /= 2;
	} else if (text_has(text, "OpenORCA")) {
		prompt = 294; /* MLPerf's data set: mean prompt and mean answer, both about 294
				 tokens */
		output = 294;
	} else if (text_has(text, "ShareGPT")) {
		if (row_has(row, "global_batch_or_concurrency", "requests at once"))
			return SKIP_BURST;
		prompt = 225;
		output = 235;
	} else if (text_has(text, "SQuAD")) {
		prompt = 384;
		output = 0;
	}
	if (text_has(text, "?/"))
		prompt = 1;
	if (prompt <= 0 && output <= 0)
		return text[0] ? SKIP_DATASET_LENGTHS : SKIP_LENGTHS_NOT_STATED;
	workload->prompt_tokens = (int64_t)fmax(1, prompt);
	workload->output_tokens = (int64_t)output;
	return SKIP_NONE;
}

/* TensorRT-LLM of before its PyTorch backend, unless a window is set by hand. */
static bool keeps_whole_context(const struct row *row, const struct request *request)
{
	int window = request->architecture.kinds[0].window;

	return row_has(row, "software_version", "TensorRT-LLM 0.") && window > 0 &&
	       request->workload.prompt_tokens + request->workload.output_tokens > window;
}

/* Engines of before captured graphs, and runs that turn them off. */
static bool is_eager(const struct row *row)
{
	static const char *const words[] = {"FasterTransformer",   "TensorRT-LLM 0.5",
					    "TensorRT-LLM 0.6",	   "vLLM late 2023",
					    "llama.cpp late 2023", "llama.cpp May 2024",
					    "--enforce-eager",	   "--disable-cuda-graph"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (row_has(row, "software_version", words[i]))
			return true;
	return false;
}

static enum skip formats_of(const struct row *row, struct request *request)
{
	const char *weights = row_text(row, "weight_dtype");
	enum format format = request_format(weights);

	if (text_has(weights, "4bpw") || text_has(weights, "4.0bpw") || text_has(weights, "4-bit"))
		format = FORMAT_GPTQ;
	if (strcmp(weights, "f16") == 0 || strcmp(weights, "float16") == 0)
		format = FORMAT_FP16;
	if (text_has(weights, "w8a8"))
		format = FORMAT_INT8;
	if (!weights[0]) {
		format = request->architecture.native_format;
		if (row_has(row, "source", "mlcommons"))
			return SKIP_WEIGHT_FORMAT_NOT_STATED;
		if (row_has(row, "notes", "-FP8 "))
			format = FORMAT_FP8;
		if (format == FORMAT_AUTO)
			format = FORMAT_BF16;
	}
	if (format == FORMAT_AUTO)
		return SKIP_WEIGHT_FORMAT;
	request->layout.weight_format = format;
	request->layout.kv_format = request_format(row_text(row, "kv_dtype"));
	if (request->layout.kv_format == FORMAT_AUTO)
		request->layout.kv_format = FORMAT_FP16;
	return SKIP_NONE;
}

/* Sequences at once; 0 = as many as fit. */
static enum skip load_of(const struct row *row, double *out)
{
	const char *text = row_text(row, "global_batch_or_concurrency");
	char *end = NULL;
	double value = isdigit((unsigned char)text[0]) ? strtod(text, &end) : 0;

	*out = 0;
	if (text_has(text, "QPS"))
		return SKIP_REQUEST_RATE;
	if (text_has(text, "MLPerf Server") || text_has(text, "MLPerf Interactive"))
		return SKIP_LATENCY_LIMIT;
	if (value > 0 && !text_has(text, "requests at once"))
		*out = value;
	else if (text_has(text, "max-concurrency"))
		/* Lengths vary, so that the last requests run with fewer beside them. */
		*out = text_number_after(row_text(row, "notes"), "measured concurrency ",
					 text_number_after(text, "max-concurrency ", 0));
	else if (text_has(text, "max batch"))
		*out = text_number_after(text, "max batch ", 0);
	else if (!text[0])
		return SKIP_LOAD_NOT_STATED;
	/* llama.cpp's server queues what its slots cannot take. */
	if (row_has(row, "software_version", " -np "))
		*out = fmin(*out,
			    text_number_after(row_text(row, "software_version"), "-np ", *out));
	return SKIP_NONE;
}

/* What a server is set to when nobody says: TensorRT-LLM's default, vLLM's and SGLang's on cards of
 * 70 GiB and more but not on an A100, and vLLM's on the rest. */
#define SEQUENCES_TENSORRT 2048.0
#define SEQUENCES_LARGE_CARD 1024.0
#define SEQUENCES_SMALL_CARD 256.0
#define LARGE_CARD_BYTES (70 * 1073741824.0)

static double default_sequences(const struct row *row, const struct workload *workload,
				const struct accelerator *card)
{
	if (workload->engine == ENGINE_TENSORRT_LLM)
		return SEQUENCES_TENSORRT;
	if (row_has(row, "notes", "vLLM defaults") &&
	    (accelerator_memory_bytes(card) < LARGE_CARD_BYTES || card->compute_capability == 80))
		return SEQUENCES_SMALL_CARD;
	return SEQUENCES_LARGE_CARD;
}

/* Tensor parallelism of the column or of the command that the row quotes. */
static int tensor_of(const struct row *row)
{
	static const char *const words[] = {"-tp ", "-tp-size "};
	int tensor = row_count(row, "tp", 0);

	for (size_t i = 0; tensor == 0 && i < sizeof(words) / sizeof(words[0]); i++)
		tensor = (int)fmin(1e6,
				   fmax(0, text_number_after(row_text(row, "notes"), words[i], 0)));
	return tensor;
}

static enum skip layout_of(const struct row *row, struct request *request, double load)
{
	struct layout *layout = &request->layout;
	struct workload *workload = &request->workload;
	int gpus = row_count(row, "gpus", 1);
	struct memory_basis basis;
	struct memory_estimate memory;
	double context = (double)workload->prompt_tokens + (double)workload->output_tokens / 2,
	       room;

	layout->tensor_parallel = tensor_of(row);
	layout->pipeline_parallel = row_count(row, "pp", 1);
	layout->expert_parallel = layout->context_parallel = layout->data_parallel = 1;
	layout->expert_tensor_parallel = 0;
	layout->micro_batch = layout->accumulation = 1;
	layout->gpus_per_node = gpus;
	layout->nodes = 1;
	if (is_eager(row))
		workload->cuda_graphs = false;
	memory_prepare(workload, &basis);
	/* Where the row does not say, the fewest GPUs that hold the model, and copies of it. */
	for (int tensor = layout->tensor_parallel ? layout->tensor_parallel : 1;; tensor *= 2) {
		bool is_last = layout->tensor_parallel || tensor * 2 > gpus || tensor * 2 > 8;

		if (layout->tensor_parallel)
			tensor = layout->tensor_parallel;
		layout->tensor_parallel = tensor;
		layout->replicas = (int)fmax(1, gpus / (tensor * layout->pipeline_parallel));
		layout->sequences = 1;
		memory_estimate(&basis, layout, request->cards[0], &memory);
		room = memory_kv_capacity(&basis, layout, request->cards[0]) /
		       fmax(1, memory.kv_bytes_per_token) / context;
		if (is_last || room >= 64)
			break;
		layout->tensor_parallel = 0;
	}
	layout->sequences = load / layout->replicas;
	if (load <= 0)
		layout->sequences = fmin(room, default_sequences(row, workload, request->cards[0]));
	layout->sequences = fmax(1, fmin(layout->sequences, fmax(1, room)));
	return SKIP_NONE;
}

/* Predicted and measured in the same unit, higher is faster. */
static enum skip compare(const struct row *row, const struct request *request,
			 const struct speed_estimate *speed, struct result *result)
{
	const char *metric = row_text(row, "metric"), *kind = row_text(row, "kind");
	const struct workload *workload = &request->workload;
	double value = row_number(row, "measured_value", (double)NAN),
	       gpus = row_count(row, "gpus", 1);
	double output = (double)workload->output_tokens, prompt = (double)workload->prompt_tokens;
	double latency = speed->prefill.seconds *
				 (request->layout.sequences > 1 ? request->layout.sequences : 1) +
			 output * speed->decode.seconds;

	double tpot = text_number_after(row_text(row, "notes"), "mean TPOT ", 0);

	result->measured = value;
	/* A run's first request also pays for warming up (facts/throughput-notes.md 9.5). */
	if (strcmp(kind, "serve_decode_single") == 0 && tpot > 0) {
		result->measured = 1000 / tpot;
		result->predicted = 1 / speed->decode.seconds;
	} else if (strcmp(metric, "ms_per_output_token") == 0) {
		result->measured = 1000 / value;
		result->predicted = 1 / speed->decode.seconds;
	} else if (strcmp(metric, "ms_total_latency") == 0) {
		result->measured = 1000 / value;
		result->predicted = 1 / latency;
	} else if (strcmp(metric, "ms_ttft") == 0) {
		result->measured = 1000 / value;
		/* Of the engine alone: no server stands before it. */
		result->predicted = 1 / speed->prefill.seconds;
	} else if (strcmp(metric, "prompt_tokens/s_total") == 0) {
		/* Under a load the answers take their share of the time. */
		result->predicted = output > 1 && request->layout.sequences > 1
					    ? speed->input_tokens_per_second
					    : prompt / speed->prefill.seconds;
	} else if (strcmp(metric, "output_tokens/s_total") == 0) {
		/* Single streams are measured while they decode. */
		result->predicted = strcmp(kind, "serve_decode_single") == 0
					    ? (row_has(row, "notes", "(prompt+gen)/time")
						       ? (prompt + output) / latency
						       : 1 / speed->decode.seconds)
					    : speed->tokens_per_second;
	} else if (strcmp(metric, "output_tokens/s/gpu") == 0) {
		result->predicted = speed->tokens_per_second / gpus;
	} else if (strcmp(metric, "tokens_in+out/s_total") == 0) {
		result->predicted = speed->tokens_per_second + speed->input_tokens_per_second;
	} else if (strcmp(metric, "requests/s") == 0 || strcmp(metric, "samples/s_total") == 0) {
		result->predicted = speed->requests_per_second;
	} else {
		return SKIP_UNIT_DOES_NOT_CONVERT;
	}
	return isfinite(result->measured) && result->measured > 0 ? SKIP_NONE : SKIP_NO_VALUE;
}

enum skip speed_serve_row(const struct row *row, struct request *request, struct result *result)
{
	struct workload *workload = &request->workload;
	struct speed_basis basis;
	struct speed_estimate speed;
	double load;
	enum skip reason;

	workload->task = TASK_INFERENCE;
	if (strcmp(row_text(row, "kind"), "serve_prefill") == 0 &&
	    row_has(row, "software_version", "GEMV"))
		return SKIP_ONE_TOKEN_KERNEL;
	if (text_number_after(row_text(row, "notes"), "accept length ", 0) > 1)
		return SKIP_SPECULATIVE;
	workload->engine = (int)engine_of(row);
	if (row_has(row, "software_version", "accelerate") &&
	    text_number_after(row_text(row, "notes"), "CPU ", 0) > 0)
		return SKIP_WEIGHTS_ON_HOST;
	if (strcmp(row_text(row, "kind"), "serve_decode_single") == 0 &&
	    !row_text(row, "seq_len_or_isl_osl")[0]) {
		/* One stream's speed hardly depends on a short context. */
		workload->prompt_tokens = 128;
		workload->output_tokens = 256;
	} else if ((reason = lengths_of(row, workload))) {
		return reason;
	}
	/* With such prompts the first token would come later than it did at the card's peak. */
	if (strcmp(row_text(row, "kind"), "serve_throughput") == 0 &&
	    row_has(row, "seq_len_or_isl_osl", "<=2048"))
		return SKIP_SAMPLES_ARE_SHORTER;
	if (keeps_whole_context(row, request))
		return SKIP_WITHOUT_HYBRID_CACHE;
	if ((reason = formats_of(row, request)) || (reason = load_of(row, &load)))
		return reason;
	workload->weight_format = (int)request->layout.weight_format;
	workload->concurrency = (int64_t)fmax(1, load);
	workload->given |=
		WORKLOAD_BIT(WORKLOAD_task) | WORKLOAD_BIT(WORKLOAD_engine) |
		WORKLOAD_BIT(WORKLOAD_prompt_tokens) | WORKLOAD_BIT(WORKLOAD_output_tokens) |
		WORKLOAD_BIT(WORKLOAD_weight_format) | WORKLOAD_BIT(WORKLOAD_concurrency);
	if ((reason = request_complete(request)) || (reason = layout_of(row, request, load)))
		return reason;
	if (!speed_prepare(workload, request->cards[0], request->layout.weight_format, &basis))
		return SKIP_CARD_WITHOUT_SPEED;
	speed_row_fabric(row, request->cards[0], &request->layout, &request->fabric);
	speed_estimate(&basis, &request->layout, &request->fabric, &speed);
	snprintf(result->terms, sizeof(result->terms),
		 "e%d tp%d pp%d x%d n%.0f %ld/%ld %s | pre %.4g c %.3g m %.3g net %.3g o %.3g | "
		 "dec %.4g c %.3g m %.3g net %.3g o %.3g",
		 workload->engine, request->layout.tensor_parallel,
		 request->layout.pipeline_parallel, request->layout.replicas,
		 request->layout.sequences, (long)workload->prompt_tokens,
		 (long)workload->output_tokens,
		 names_text(&format_names, (int)request->layout.weight_format),
		 speed.prefill.seconds, speed.prefill.compute_seconds, speed.prefill.memory_seconds,
		 speed.prefill.communication_seconds, speed.prefill.overhead_seconds,
		 speed.decode.seconds, speed.decode.compute_seconds, speed.decode.memory_seconds,
		 speed.decode.communication_seconds, speed.decode.overhead_seconds);
	return compare(row, request, &speed, result);
}
