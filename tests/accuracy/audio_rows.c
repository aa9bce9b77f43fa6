/* Rows of kind `audio`: see audio_rows.h. */
#include "tests/accuracy/audio_rows.h"

#include "core/memory.h"
#include "core/speed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* MLPerf joins utterances of LibriSpeech's development sets, 10.7 hours, to 1,633 samples. */
#define MLPERF_SAMPLE_SECONDS 23.6
/* Sequences that servers run at once by default. */
#define SEQUENCES_MOST 256.0

/* Pages call an engine by the tool that carries it: openai/whisper and Dia are PyTorch's eager
 * loops, as transformers is. */
static enum engine engine_of(const char *text)
{
	if (text_has(text, "faster-whisper"))
		return ENGINE_CTRANSLATE2;
	if (text_has(text, "whisper.cpp"))
		return ENGINE_LLAMA_CPP;
	if (text_has(text, "TensorRT"))
		return ENGINE_TENSORRT_LLM;
	return text_has(text, "vllm") || text_has(text, "vLLM") ? ENGINE_VLLM : ENGINE_TRANSFORMERS;
}

/* "beam 5", "beam1". */
static double beams_of(const char *text)
{
	return fmax(1, text_number_after(text, "beam", 1));
}

static void set_load(struct request *request, double seconds, double batch, double beams,
		     enum engine engine)
{
	struct workload *workload = &request->workload;

	workload->task = TASK_INFERENCE;
	workload->engine = (int)engine;
	workload->mode = SERVING_BATCH;
	workload->concurrency = (int64_t)fmax(1, batch);
	workload->given |= WORKLOAD_BIT(WORKLOAD_task) | WORKLOAD_BIT(WORKLOAD_engine) |
			   WORKLOAD_BIT(WORKLOAD_mode) | WORKLOAD_BIT(WORKLOAD_concurrency);
	if (seconds > 0) {
		workload->seconds = seconds;
		workload->given |= WORKLOAD_BIT(WORKLOAD_seconds);
	}
	if (beams > 1) {
		workload->beams = (int64_t)beams;
		workload->given |= WORKLOAD_BIT(WORKLOAD_beams);
	}
	request->layout = layout_single;
	request->layout.sequences = (double)workload->concurrency;
}

/* What the row says, or as the weights are published: Whisper's engines take 16 bit. */
static enum skip set_format(const char *text, struct request *request)
{
	enum format format = strcmp(text, "f16") == 0 ? FORMAT_FP16 : request_format(text);

	if (format == FORMAT_AUTO && text[0])
		return SKIP_WEIGHT_FORMAT;
	if (format == FORMAT_AUTO)
		format = request->architecture.native_format;
	request->layout.weight_format = format;
	request->layout.kv_format = format == FORMAT_FP32 ? FORMAT_FP32 : FORMAT_FP16;
	request->workload.weight_format = (int)format;
	request->workload.given |= WORKLOAD_BIT(WORKLOAD_weight_format);
	return SKIP_NONE;
}

enum skip audio_memory_request(const struct row *row, struct request *request)
{
	const char *load = row_text(row, "concurrency_or_tokens");
	bool is_cpp = row_has(row, "source", "whisper.cpp");
	double minutes =
		text_has(load, " min audio") ? row_number(row, "concurrency_or_tokens", 0) : 0;

	set_load(request, 60 * minutes, row_number(row, "micro_batch_per_gpu", 1), beams_of(load),
		 is_cpp ? ENGINE_LLAMA_CPP : engine_of(row_text(row, "notes")));
	/* Dia makes room for its longest output. */
	if (request->architecture.sound.spoken_steps > 0 && request->architecture.max_context > 0) {
		request->workload.output_tokens = request->architecture.max_context;
		request->workload.given |= WORKLOAD_BIT(WORKLOAD_output_tokens);
	}
	/* The table of whisper.cpp's page is of before its option for fused attention. */
	if (is_cpp) {
		request->workload.fused_attention = false;
		request->workload.given |= WORKLOAD_BIT(WORKLOAD_fused_attention);
	}
	return set_format(row_text(row, "weight_dtype"), request);
}

/* As many sequences as the cards hold, a copy of the model on each. */
static void fill_cards(struct request *request, double gpus)
{
	struct memory_basis basis;
	struct memory_estimate memory;
	struct layout *layout = &request->layout;
	double room;

	layout->replicas = (int)gpus;
	layout->sequences = 1;
	memory_prepare(&request->workload, &basis);
	memory_estimate(&basis, layout, request->cards[0], &memory);
	room = memory_kv_capacity(&basis, layout, request->cards[0]) / memory.kv_cache_bytes;
	layout->sequences = fmax(1, fmin(SEQUENCES_MOST, floor(room)));
}

/* Higher is faster. */
static enum skip compare(const struct row *row, const struct request *request,
			 const struct speed_estimate *speed, struct result *result)
{
	const char *metric = row_text(row, "metric");
	double value = row_number(row, "measured_value", (double)NAN);

	if (strcmp(metric, "samples/s_total") == 0) {
		result->predicted = speed->requests_per_second;
		result->measured = value;
	} else if (strncmp(metric, "s_for_", 6) == 0) {
		result->predicted = request->workload.seconds * speed->requests_per_second;
		result->measured = request->workload.seconds / value;
	} else if (strcmp(metric, "ms_encode_per_30s_window") == 0) {
		result->predicted = 1 / speed->prefill.seconds;
		result->measured = 1000 / value;
	} else {
		return SKIP_UNIT_DOES_NOT_CONVERT;
	}
	return isfinite(result->measured) && result->measured > 0 ? SKIP_NONE : SKIP_NO_VALUE;
}

enum skip audio_speed_row(const struct row *row, struct request *request, struct result *result)
{
	const char *software = row_text(row, "software_version");
	bool is_mlperf = row_has(row, "source", "mlcommons");
	double beams = fmax(beams_of(software), beams_of(row_text(row, "notes")));
	struct speed_basis basis;
	struct speed_estimate speed;
	enum skip reason;

	/* One card does as much as two: something else bounds it, of which no column tells. */
	if (row_has(row, "source", "reference-gpu-vllm"))
		return SKIP_BOUND_BY_HOST;
	set_load(request,
		 is_mlperf ? MLPERF_SAMPLE_SECONDS
			   : text_number_after(row_text(row, "metric"), "s_for_", 0),
		 row_number(row, "global_batch_or_concurrency", 1), beams, engine_of(software));
	if ((reason = set_format(row_text(row, "weight_dtype"), request)) ||
	    (reason = request_complete(request)))
		return reason;
	if (is_mlperf)
		fill_cards(request, row_number(row, "gpus", 1));
	if (!speed_prepare(&request->workload, request->cards[0], request->layout.weight_format,
			   &basis))
		return SKIP_CARD_WITHOUT_SPEED;
	request->fabric = fabric_of_accelerator(request->cards[0], 1);
	speed_estimate(&basis, &request->layout, &request->fabric, &speed);
	snprintf(result->terms, sizeof(result->terms),
		 "e%d n%.0f x%d beams %.0f passes %.0f %.0f/%ld %s | pre %.4g c %.3g m %.3g o %.3g "
		 "| dec %.4g c %.3g m %.3g o %.3g",
		 request->workload.engine, request->layout.sequences, request->layout.replicas,
		 request->workload.copies, request->workload.passes, request->workload.prompt,
		 (long)request->workload.output_tokens,
		 names_text(&format_names, (int)request->layout.weight_format),
		 speed.prefill.seconds, speed.prefill.compute_seconds, speed.prefill.memory_seconds,
		 speed.prefill.overhead_seconds, speed.decode.seconds, speed.decode.compute_seconds,
		 speed.decode.memory_seconds, speed.decode.overhead_seconds);
	return compare(row, request, &speed, result);
}
