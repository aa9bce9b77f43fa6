/* Rows of memory.csv on pipelines: pictures and video, made and trained for. */
#include "tests/accuracy/memory_rows.h"

#include "core/memory.h"
#include "core/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GIVE(workload, field, value)                                                               \
	((workload)->field = (value), (workload)->given |= WORKLOAD_BIT(WORKLOAD_##field))

enum skip media_model(const struct row *row, struct architecture *out)
{
	const char *label = row_text(row, "model");
	size_t length = strcspn(label, " ");
	const struct model *model;
	char id[96];

	if (length >= sizeof(id))
		return SKIP_MODEL_BY_NAME;
	memcpy(id, label, length);
	id[length] = '\0';
	model = model_find(id);
	if (!model || !model->architecture.media)
		return SKIP_MODEL_BY_NAME;
	*out = model->architecture;
	return SKIP_NONE;
}

/* "1024x1024", "480P (832x480)", "720P", "480x848": height first where a video's says so. */
static enum skip size_of(const struct row *row, struct request *request)
{
	const char *text = row_text(row, "resolution"), *inner = strchr(text, '(');
	struct workload *workload = &request->workload;
	long first, second;
	char *end;

	if (text_has(text, "P") && !inner) {
		first = strtol(text, NULL, 10);
		GIVE(workload, height, first);
		GIVE(workload, width, first == 480 ? 832 : first * 16 / 9);
	} else {
		first = strtol(inner && inner[1] >= '0' && inner[1] <= '9' ? inner + 1 : text, &end,
			       10);
		if (first <= 0 || *end != 'x')
			return SKIP_SIZE_NOT_STATED;
		second = strtol(end + 1, NULL, 10);
		/* Videos of the models at hand are wide, whichever side is named first. */
		GIVE(workload, width, first > second ? first : second);
		GIVE(workload, height, first > second ? second : first);
	}
	if (request->architecture.modality != MODALITY_VIDEO)
		return SKIP_NONE;
	if (row_number(row, "frames", 0) <= 0)
		return SKIP_SIZE_NOT_STATED;
	GIVE(workload, frames, row_count(row, "frames", 1));
	return SKIP_NONE;
}

/* torchao's formats but where a row names another library. */
static enum format format_of(const struct row *row)
{
	static const struct {
		const char *word;
		enum format format;
	} words[] = {
		{"int8", FORMAT_TORCHAO_INT8},
		{"fp8", FORMAT_TORCHAO_FP8},
		{"fp6", FORMAT_TORCHAO_FP6},
		{"fp4", FORMAT_FP4},
	};
	const char *text = row_text(row, "weight_dtype");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_has(text, words[i].word))
			return words[i].format;
	return request_format(text);
}

/* Weights as their authors' repository loads them: its files are in fp32, cast only where it is
 * told to; prompts are encoded in bf16. */
static bool is_loaded_in_fp32(const struct row *row)
{
	return row_has(row, "source", "Wan-Video") && !row_has(row, "notes", "convert_model_dtype");
}

/* diffusers' pages name options cumulatively, "all optimisations except sequential offload". */
static void offload_of(const struct row *row, struct workload *workload)
{
	const char *notes = row_text(row, "notes");
	bool is_all = text_has(notes, "all diffusers optimisations") ||
		      (row_has(row, "source", "diffusers") && row_has(row, "model", "CogVideoX") &&
		       row_has(row, "weight_dtype", "torchao"));
	bool is_sequential = text_has(notes, "sequential_cpu_offload");
	bool is_tiled = text_has(notes, "vae.enable_tiling");
	bool is_sliced = text_has(notes, "vae.enable_slicing") || is_tiled;
	bool is_whole = is_all || text_has(notes, "model_cpu_offload") ||
			text_has(notes, "model CPU offload") || text_has(notes, "offload_model") ||
			text_has(notes, "CPU offload flag") || text_has(notes, ", offload;");

	if (is_sequential || is_sliced)
		GIVE(workload, media_offload, MEDIA_OFFLOAD_SEQUENTIAL);
	else if (is_whole)
		GIVE(workload, media_offload, MEDIA_OFFLOAD_MODEL);
	/* Tencent's sample script tiles unless told not to. */
	GIVE(workload, vae_tiling, is_tiled || is_all || row_has(row, "source", "HunyuanVideo"));
	GIVE(workload, vae_slicing, is_sliced || is_all);
	GIVE(workload, text_encoders_on_cpu, text_has(notes, "t5_cpu"));
}

enum skip media_infer_request(const struct row *row, struct request *request)
{
	struct workload *workload = &request->workload;
	struct layout *layout = &request->layout;
	bool is_after_load = row_has(row, "metric", "after load");
	enum skip reason = size_of(row, request);

	if (reason && !is_after_load)
		return reason;
	if ((reason = request_parallelism(row_text(row, "parallelism"), row_count(row, "gpus", 1),
					  layout)))
		return reason;
	if (row_count(row, "gpus", 1) > 1) {
		layout->context_parallel = row_count(row, "gpus", 1);
		layout->data_parallel = 1;
	}
	layout->weight_format = is_loaded_in_fp32(row) ? FORMAT_FP32 : format_of(row);
	if (layout->weight_format == FORMAT_AUTO)
		return SKIP_WEIGHT_FORMAT_NOT_STATED;
	GIVE(workload, task, TASK_INFERENCE);
	GIVE(workload, batch, row_count(row, "micro_batch_per_gpu", 1));
	GIVE(workload, weight_format, (int)layout->weight_format);
	if (is_loaded_in_fp32(row) || row_has(row, "source", "Wan-Video"))
		GIVE(workload, text_encoder_format, FORMAT_BF16);
	if (row_has(row, "notes", "T5 quantised") || row_has(row, "notes", "text encoders") ||
	    row_has(row, "weight_dtype", "torchao"))
		GIVE(workload, text_encoder_format, (int)layout->weight_format);
	GIVE(workload, fused_attention, !row_has(row, "notes", "default attention processor"));
	offload_of(row, workload);
	return SKIP_NONE;
}

static enum skip recompute_of(const struct row *row, struct layout *layout)
{
	const char *text = row_text(row, "checkpointing");

	if (text_has(text, "full"))
		layout->recompute = RECOMPUTE_FULL;
	else if (text_has(text, "none"))
		layout->recompute = RECOMPUTE_NONE;
	else if (row_has(row, "notes", "checkpointed blocks")) /* q, k, v and MLP by themselves */
		layout->recompute = RECOMPUTE_SELECTIVE;
	else
		return SKIP_RECOMPUTE_NOT_STATED;
	return SKIP_NONE;
}

/* What is trained in the end: any adapter that states its parameters is LoRA of as many. */
static void adapter_of(const struct row *row, struct request *request)
{
	struct workload *workload = &request->workload;
	double trained = text_number_after(row_text(row, "notes"), "trainable params ", 0);
	double one;

	GIVE(workload, method, METHOD_LORA);
	GIVE(workload, lora_rank, row_count(row, "lora_rank", 16));
	GIVE(workload, base_format, FORMAT_BF16);
	request->layout.weight_format = FORMAT_BF16;
	/* Mixed precision over weights in fp32, which nothing casts. */
	if (row_has(row, "weight_dtype", "mixed")) {
		GIVE(workload, base_format, FORMAT_FP32);
		request->layout.weight_format = FORMAT_FP32;
	}
	if (trained <= 0)
		return;
	workload->architecture = &request->architecture;
	workload->lora_targets = LORA_ATTENTION;
	workload->lora_rank = 1;
	one = memory_adapter_parameters(workload);
	GIVE(workload, lora_targets, LORA_ATTENTION);
	GIVE(workload, lora_rank, (int64_t)fmax(1, round(trained / one)));
}

static enum skip optimizer_of(const struct row *row, struct request *request)
{
	const char *text = row_text(row, "optimizer");

	if (!text[0])
		return SKIP_OPTIMIZER;
	GIVE(&request->workload, optimizer,
	     text_has(text, "8bit") || row_has(row, "notes", "8bit") ? OPTIMIZER_ADAMW_8BIT
								     : OPTIMIZER_ADAMW);
	if (text_has(text, "cpu offload"))
		request->layout.offload = OFFLOAD_OPTIMIZER;
	return SKIP_NONE;
}

enum skip media_train_request(const struct row *row, struct request *request)
{
	struct workload *workload = &request->workload;
	struct layout *layout = &request->layout;
	const char *notes = row_text(row, "notes");
	bool is_lora = text_has(notes, "lora") || text_has(notes, "method ");
	/* peft's benchmark encodes its one prompt first and frees the encoder. */
	bool is_cached =
		(text_has(notes, "precomputed") && !text_has(notes, "no precomputation")) ||
		row_has(row, "source", "method_comparison/image-gen");

	enum skip reason;

	if ((reason = size_of(row, request)) ||
	    (reason = request_parallelism(row_text(row, "parallelism"), row_count(row, "gpus", 1),
					  layout)) ||
	    (reason = recompute_of(row, layout)))
		return reason;

	if (row_number(row, "micro_batch_per_gpu", 0) <= 0)
		return SKIP_MICRO_BATCH_NOT_STATED;
	layout->micro_batch = row_count(row, "micro_batch_per_gpu", 1);
	GIVE(workload, task, TASK_FINETUNE);
	GIVE(workload, method, METHOD_FULL);
	if (is_lora)
		adapter_of(row, request);
	if ((reason = optimizer_of(row, request)))
		return reason;
	/* peft turns adapters to fp32; finetrainers' first scripts what they train in full. */
	GIVE(workload, precision,
	     row_has(row, "weight_dtype", "mixed") || row_has(row, "source", "huggingface/peft") ||
			     (row_has(row, "source", "_legacy") && !is_lora)
		     ? PRECISION_AMP_BF16
		     : PRECISION_BF16);
	if (text_has(notes, "DeepSpeed"))
		GIVE(workload, stack, STACK_DEEPSPEED);
	if (row_has(row, "parallelism", "distributed fused Adam")) {
		GIVE(workload, stack, STACK_MEGATRON);
		GIVE(workload, precision, PRECISION_BF16_MASTER);
		layout->sharding = SHARDING_ZERO1;
		is_cached = true;
	}
	GIVE(workload, cached_latents, is_cached || row_has(row, "resolution", "precomputed"));
	GIVE(workload, cached_embeddings, is_cached);
	return SKIP_NONE;
}
