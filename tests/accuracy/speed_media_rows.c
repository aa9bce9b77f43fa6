/* Rows of throughput.csv on pipelines: pictures and video. */
#include "tests/accuracy/speed_rows.h"

#include "core/speed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than a pair that NVLink joins: of a label's parts, those with a switch. */
static void keep_switched(const struct row *row, struct request *request)
{
	int kept = 0;

	if (row_count(row, "gpus", 1) <= 2 || !row_has(row, "interconnect", "NVLink"))
		return;
	for (int i = 0; i < request->cards_count; i++)
		if (strcmp(request->cards[i]->form_factor, "SXM") == 0)
			request->cards[kept++] = request->cards[i];
	if (kept)
		request->cards_count = kept;
}

/* A label of one of two chips is that of its card. */
enum skip speed_media_cards(const struct row *row, struct request *request)
{
	const char *label = row_text(row, "gpu"), *chip = strstr(label, " 1 GCD");
	char card[64];
	enum skip reason;

	if (!chip) {
		reason = request_cards(label, request);
		keep_switched(row, request);
		return reason;
	}
	snprintf(card, sizeof(card), "%.*s", (int)(chip - label), label);
	return request_cards(card, request);
}

/* What tables call them. */
static const struct {
	const char *label, *id;
} models[] = {
	{"SD1.5", "stable-diffusion-v1-5/stable-diffusion-v1-5"},
	{"SD2.1", "stabilityai/stable-diffusion-2-1"},
	{"SDXL", "stabilityai/stable-diffusion-xl-base-1.0"},
	{"FLUX.1-dev", "black-forest-labs/FLUX.1-dev"},
	{"FLUX.1-schnell", "black-forest-labs/FLUX.1-schnell"},
	{"SVD-XT", "stabilityai/stable-video-diffusion-img2vid-xt"},
	{"Latte-1", "maxin-cn/Latte-1"},
	{"CogVideoX-2B", "THUDM/CogVideoX-2b"},
	{"CogVideoX-5B", "THUDM/CogVideoX-5b"},
	{"HunyuanVideo", "hunyuanvideo-community/HunyuanVideo"},
	{"Wan2.1-T2V-1.3B", "Wan-AI/Wan2.1-T2V-1.3B-Diffusers"},
	{"Wan2.1-I2V-14B", "Wan-AI/Wan2.1-I2V-14B-720P-Diffusers"},
	{"Wan2.2-TI2V-5B", "Wan-AI/Wan2.2-TI2V-5B-Diffusers"},
	{"Wan2.2-I2V-A14B", "Wan-AI/Wan2.2-I2V-A14B-Diffusers"},
};

enum skip speed_media_model(const struct row *row, struct architecture *out)
{
	if (row_has(row, "model", "ControlNet"))
		return SKIP_CONTROL_NET;
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strcmp(models[i].label, row_text(row, "model")) == 0)
			return request_model(models[i].id, out);
	return SKIP_MODEL_BY_NAME;
}

static void give(struct workload *workload, enum workload_field_id field)
{
	workload->given |= WORKLOAD_BIT(field);
}

#define GIVE(workload, field, value)                                                               \
	do {                                                                                       \
		(workload)->field = (value);                                                       \
		give((workload), WORKLOAD_##field);                                                \
	} while (0)

/* "1024x1024, 28 steps", "480x720x49f, 50 steps", "576x1024 25f, 25 steps", "720P 81f, 40-50
 * steps": a range of steps is left to the model's own default. */
static enum skip size_of(const struct row *row, struct workload *workload)
{
	const char *text = row_text(row, "seq_len_or_isl_osl"), *rest;
	char *end;
	long first = strtol(text, &end, 10), second;

	if (first <= 0)
		return SKIP_LENGTH_NOT_STATED;
	if (*end == 'P') { /* 16:9 in whole blocks of latents */
		GIVE(workload, height, first);
		GIVE(workload, width, first == 480 ? 832 : first * 16 / 9);
	} else if (*end == 'x') {
		second = strtol(end + 1, &end, 10);
		GIVE(workload, width, first);
		GIVE(workload, height, second);
		if (*end == 'x')
			GIVE(workload, frames, strtol(end + 1, &end, 10));
	} else {
		return SKIP_LENGTH_NOT_STATED;
	}
	if (*end == ' ') {
		long frames = strtol(end + 1, &end, 10);

		if (frames > 0 && *end == 'f')
			GIVE(workload, frames, frames);
	}
	rest = strstr(text, " steps");
	if (!rest)
		return SKIP_LENGTH_NOT_STATED;
	while (rest > text && rest[-1] >= '0' && rest[-1] <= '9')
		rest--;
	if (*rest >= '0' && *rest <= '9' && (rest == text || rest[-1] != '-'))
		GIVE(workload, steps, strtol(rest, NULL, 10));
	return SKIP_NONE;
}

static enum skip format_of(const struct row *row, struct workload *workload)
{
	const char *weights = row_text(row, "weight_dtype");
	const char *compute = row_text(row, "compute_dtype");
	enum format format = request_format(weights);

	/* 8 bits that are cast for every product: the product's 8 bits compute in 8. */
	if (strstr(weights, "wo") || (text_has(weights, "fp8") && text_has(compute, "bf16")))
		return SKIP_WEIGHT_FORMAT;
	if (!weights[0]) {
		/* Submissions to MLPerf's closed division run the denoiser in 8 bit. */
		if (!row_has(row, "metric", "images/s"))
			return SKIP_WEIGHT_FORMAT_NOT_STATED;
		format = FORMAT_FP8;
	}
	/* Quantised operator by operator, and uncompiled kernels of int8 at that. */
	if (format == FORMAT_INT8 && row_has(row, "software_version", "torchao eager"))
		return SKIP_UNCOMPILED_INT8;
	GIVE(workload, weight_format, (int)format);
	return SKIP_NONE;
}

static void software_of(const struct row *row, struct workload *workload)
{
	static const char *const engines[] = {"TensorRT", "OneDiff", "stable-fast", "shark-ai",
					      "TheStage"};
	bool is_engine = false;

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		is_engine |= row_has(row, "software_version", engines[i]);
	/* An image server of MLPerf that names no software but CUDA is TensorRT, by its path. */
	is_engine |= row_has(row, "source", "_TRT");
	GIVE(workload, media_engine, is_engine ? MEDIA_ENGINE_TENSORRT : MEDIA_ENGINE_PYTORCH);
	GIVE(workload, compile,
	     !is_engine && ((row_has(row, "software_version", "compil") &&
			     !row_has(row, "software_version", "no compile")) ||
			    row_has(row, "software_version", "AITemplate")));
	/* By its README; facts/throughput-notes.md 7. */
	GIVE(workload, attention_kernels,
	     row_has(row, "software_version", "Wan2.2") ? ATTENTION_KERNELS_FLASH3
							: ATTENTION_KERNELS_FLASH2);
	if (row_has(row, "software_version", "PyTorch 2022") ||
	    strcmp(row_text(row, "software_version"), "diffusers fp16") == 0)
		GIVE(workload, fused_attention, false);
	/* diffusers and xDiT tile video by their examples; Wan's own code streams it. */
	if (row_has(row, "kind", "video") && (row_has(row, "software_version", "diffusers") ||
					      row_has(row, "software_version", "xDiT")))
		GIVE(workload, vae_tiling, true);
}

static enum skip workload_of(const struct row *row, struct workload *workload)
{
	int batch = row_count(row, "global_batch_or_concurrency", 0);
	enum skip reason;

	*workload = (struct workload){.task = TASK_INFERENCE};
	give(workload, WORKLOAD_task);
	if (row_has(row, "software_version", "TaylorSeer"))
		return SKIP_STEP_CACHE;
	if (row_has(row, "source", "_LCM"))
		return SKIP_OWN_NOTE; /* a model distilled to fewer steps than its column says */
	if (row_has(row, "global_batch_or_concurrency", "Server"))
		return SKIP_LATENCY_LIMIT;
	reason = size_of(row, workload);
	if (!reason)
		reason = format_of(row, workload);
	if (reason)
		return reason;
	software_of(row, workload);
	/* Saturated: a batch past which little is gained. */
	GIVE(workload, batch,
	     row_has(row, "global_batch_or_concurrency", "Offline") ? 8 : (batch ? batch : 1));
	return SKIP_NONE;
}

/* One of two chips of a card. */
static struct accelerator half_of(const struct accelerator *card)
{
	struct accelerator half = *card;

	half.fp32_tflops /= 2;
	half.fp16_tflops /= 2;
	half.bf16_tflops /= 2;
	half.bandwidth_gb_s /= 2;
	half.tdp_w /= 2;
	return half;
}

static void fill(const struct row *row, const struct request *request,
		 const struct speed_estimate *speed, struct result *result)
{
	const char *metric = row_text(row, "metric");
	double value = row_number(row, "measured_value", 0);

	result->measured =
		strcmp(metric, "it/s") == 0 || strcmp(metric, "images/s") == 0 ? value : 1 / value;
	if (strcmp(metric, "it/s") == 0)
		result->predicted = 1 / speed->step.seconds;
	else if (strcmp(metric, "images/s") == 0)
		result->predicted = speed->items_per_second;
	else
		result->predicted = 1 / speed->batch_seconds;
	snprintf(result->terms, sizeof(result->terms),
		 "batch %g x %g GPUs, step %.4f (compute %.4f memory %.4f links %.4f overhead "
		 "%.4f), encode %.3f denoise %.3f decode %.3f s",
		 (double)request->workload.batch,
		 (double)request->layout.context_parallel * request->layout.replicas,
		 speed->step.seconds, speed->step.compute_seconds, speed->step.memory_seconds,
		 speed->step.communication_seconds, speed->step.overhead_seconds,
		 speed->media[MEDIA_ENCODE].seconds, speed->media[MEDIA_DENOISE].seconds,
		 speed->media[MEDIA_DECODE].seconds);
}

enum skip speed_media_row(const struct row *row, struct request *request, struct result *result)
{
	const char *metric = row_text(row, "metric");
	int gpus = row_count(row, "gpus", 1);
	bool is_saturated = strcmp(metric, "images/s") == 0;
	enum skip reason = workload_of(row, &request->workload);
	struct accelerator half;
	struct speed_basis basis;
	struct speed_estimate speed;

	if (!reason)
		reason = request_complete(request);
	if (reason)
		return reason;
	if (row_number(row, "measured_value", 0) <= 0)
		return SKIP_NO_VALUE;
	request->layout = layout_single;
	request->layout.gpus_per_node = gpus;
	request->layout.replicas = is_saturated ? gpus : 1;
	request->layout.context_parallel = is_saturated ? 1 : gpus;
	request->layout.weight_format = (enum format)request->workload.weight_format;
	request->layout.is_legacy_engine =
		row_has(row, "software_version", "2022") || !request->workload.fused_attention;
	if (gpus > 1 && row_has(row, "notes", "FSDP"))
		request->layout.sharding = SHARDING_ZERO3;
	if (row_has(row, "gpu", "1 GCD") && request->cards[0]->devices > 1) {
		half = half_of(request->cards[0]);
		request->cards[0] = &half;
	}
	speed_row_fabric(row, request->cards[0], &request->layout, &request->fabric);
	if (!speed_prepare(&request->workload, request->cards[0], request->layout.weight_format,
			   &basis))
		return SKIP_CARD_WITHOUT_SPEED;
	speed_estimate(&basis, &request->layout, &request->fabric, &speed);
	fill(row, request, &speed, result);
	return SKIP_NONE;
}
