/*
 * Workload: the field table, the spellings, and the order in which a workload is checked and
 * filled: see workload.h. Defaults are in workload_defaults.c, contradictions in workload_check.c.
 */
#include "core/workload.h"

#include "core/workload_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const task_text[TASKS] = {
	[TASK_PRETRAIN] = "pretrain",
	[TASK_FINETUNE] = "finetune",
	[TASK_INFERENCE] = "inference",
};
static const char *const method_text[METHODS] = {
	[METHOD_FULL] = "full",
	[METHOD_LORA] = "lora",
	[METHOD_QLORA] = "qlora",
	[METHOD_ADAPTER] = "adapter",
	[METHOD_PREFIX] = "prefix",
	[METHOD_PROMPT] = "prompt",
	[METHOD_DREAMBOOTH] = "dreambooth",
	[METHOD_TEXTUAL_INVERSION] = "textual_inversion",
};
static const char *const stack_text[STACKS] = {
	[STACK_HUGGINGFACE] = "huggingface", [STACK_TORCHTITAN] = "torchtitan",
	[STACK_MEGATRON] = "megatron",	     [STACK_DEEPSPEED] = "deepspeed",
	[STACK_UNSLOTH] = "unsloth",
};
static const char *const optimizer_text[OPTIMIZERS] = {
	[OPTIMIZER_ADAMW] = "adamw",
	[OPTIMIZER_ADAMW_8BIT] = "adamw_8bit",
	[OPTIMIZER_PAGED_ADAMW_8BIT] = "paged_adamw_8bit",
	[OPTIMIZER_PAGED_ADAMW] = "paged_adamw",
	[OPTIMIZER_ADAMW_4BIT] = "adamw_4bit",
	[OPTIMIZER_ADAFACTOR] = "adafactor",
	[OPTIMIZER_SGD] = "sgd",
	[OPTIMIZER_SGD_MOMENTUM] = "sgd_momentum",
	[OPTIMIZER_LION] = "lion",
	[OPTIMIZER_MUON] = "muon",
	[OPTIMIZER_ADAMW_FP32] = "adamw_fp32",
	[OPTIMIZER_ADAMW_BF16] = "adamw_bf16",
	[OPTIMIZER_GALORE_ADAMW] = "galore_adamw",
};
static const char *const precision_text[PRECISIONS] = {
	[PRECISION_FP32] = "fp32",	   [PRECISION_AMP_BF16] = "amp_bf16",
	[PRECISION_AMP_FP16] = "amp_fp16", [PRECISION_BF16_MASTER] = "bf16_master",
	[PRECISION_BF16] = "bf16",	   [PRECISION_FP8] = "fp8",
};
static const char *const gradient_precision_text[GRADIENT_PRECISIONS] = {
	[GRADIENTS_FP32] = "fp32",
	[GRADIENTS_HALF] = "half",
};
static const char *const cross_entropy_text[CROSS_ENTROPIES] = {
	[CROSS_ENTROPY_PLAIN] = "plain",
	[CROSS_ENTROPY_FUSED] = "fused",
	[CROSS_ENTROPY_CHUNKED] = "chunked",
};
static const char *const recompute_text[RECOMPUTES] = {
	[RECOMPUTE_AUTO] = "auto",
	[RECOMPUTE_NONE] = "none",
	[RECOMPUTE_SELECTIVE] = "selective",
	[RECOMPUTE_FULL] = "full",
};
static const char *const sharding_text[SHARDINGS] = {
	[SHARDING_AUTO] = "auto",   [SHARDING_NONE] = "none",	[SHARDING_ZERO1] = "zero1",
	[SHARDING_ZERO2] = "zero2", [SHARDING_ZERO3] = "zero3", [SHARDING_HYBRID] = "hybrid",
};
static const char *const offload_text[OFFLOADS] = {
	[OFFLOAD_AUTO] = "auto",
	[OFFLOAD_NONE] = "none",
	[OFFLOAD_OPTIMIZER] = "optimizer",
	[OFFLOAD_PARAMETERS] = "parameters",
};
static const char *const lora_targets_text[LORA_TARGETS] = {
	[LORA_ATTENTION_QV] = "attention_qv",
	[LORA_ATTENTION] = "attention",
	[LORA_MLP] = "mlp",
	[LORA_ALL_LINEAR] = "all_linear",
};
static const char *const engine_text[ENGINES] = {
	[ENGINE_VLLM] = "vllm",
	[ENGINE_SGLANG] = "sglang",
	[ENGINE_TENSORRT_LLM] = "tensorrt_llm",
	[ENGINE_TRANSFORMERS] = "transformers",
	[ENGINE_LLAMA_CPP] = "llama_cpp",
	[ENGINE_CTRANSLATE2] = "ctranslate2",
};
static const char *const media_offload_text[MEDIA_OFFLOADS] = {
	[MEDIA_OFFLOAD_NONE] = "none",
	[MEDIA_OFFLOAD_MODEL] = "model",
	[MEDIA_OFFLOAD_GROUP] = "group",
	[MEDIA_OFFLOAD_SEQUENTIAL] = "sequential",
};
static const char *const media_engine_text[MEDIA_ENGINES] = {
	[MEDIA_ENGINE_PYTORCH] = "pytorch",
	[MEDIA_ENGINE_TENSORRT] = "tensorrt",
};
static const char *const attention_kernels_text[ATTENTION_KERNELS] = {
	[ATTENTION_KERNELS_FLASH2] = "flash2",
	[ATTENTION_KERNELS_FLASH3] = "flash3",
};
static const char *const serving_mode_text[SERVING_MODES] = {
	[SERVING_INTERACTIVE] = "interactive",
	[SERVING_BATCH] = "batch",
};

const struct names task_names = {task_text, TASKS};
const struct names method_names = {method_text, METHODS};
const struct names stack_names = {stack_text, STACKS};
const struct names optimizer_names = {optimizer_text, OPTIMIZERS};
const struct names precision_names = {precision_text, PRECISIONS};
const struct names gradient_precision_names = {gradient_precision_text, GRADIENT_PRECISIONS};
const struct names cross_entropy_names = {cross_entropy_text, CROSS_ENTROPIES};
const struct names recompute_names = {recompute_text, RECOMPUTES};
const struct names sharding_names = {sharding_text, SHARDINGS};
const struct names offload_names = {offload_text, OFFLOADS};
const struct names lora_targets_names = {lora_targets_text, LORA_TARGETS};
const struct names engine_names = {engine_text, ENGINES};
const struct names media_offload_names = {media_offload_text, MEDIA_OFFLOADS};
const struct names media_engine_names = {media_engine_text, MEDIA_ENGINES};
const struct names attention_kernels_names = {attention_kernels_text, ATTENTION_KERNELS};
const struct names serving_mode_names = {serving_mode_text, SERVING_MODES};

const struct workload_field workload_fields[WORKLOAD_FIELD_COUNT] = {
#define X(kind, field, names, least, most, tasks, media)                                           \
	[WORKLOAD_##field] = {#field, FIELD_##kind, offsetof(struct workload, field),              \
			      names,  least,	    most,                                          \
			      tasks,  media},
	WORKLOAD_FIELDS(X)
#undef X
};

bool workload_base_is_frozen(const struct workload *workload)
{
	return workload->task == TASK_FINETUNE && workload->method != METHOD_FULL;
}

bool workload_only_reads(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE &&
	       (workload->architecture->modality == MODALITY_EMBEDDING ||
		(workload->architecture->modality == MODALITY_AUDIO &&
		 !workload->architecture->vocab && !workload->architecture->media));
}

bool workload_is_endpoint(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE && workload->mode == SERVING_INTERACTIVE &&
	       workload->requests_per_second > 0;
}

bool workload_needs_transformers(const struct workload *workload)
{
	static const char *const families[] = {"rwkv", "rwkv5", "recurrent_gemma", "bark"};
	const struct architecture *architecture = workload->architecture;

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strcmp(architecture->family, families[i]) == 0)
			return true;
	/* Whisper they have: an encoder of sound is one of their own. */
	return (architecture_has_source(architecture) && !workload_hears(workload)) ||
	       !architecture->vocab;
}

double workload_sequence_tokens(const struct workload *workload)
{
	double target = architecture_has_source(workload->architecture)
				? (double)workload->target_length
				: 0;

	return (double)workload->sequence_length + target;
}

double workload_token_share(const struct workload *workload, const struct layer_kind *kind)
{
	double target = (double)workload->target_length / workload_sequence_tokens(workload);

	if (!architecture_has_source(workload->architecture))
		return 1;
	return kind->is_encoder ? 1 - target : target;
}

/* BERT hides 15 % of the tokens (arXiv 1810.04805, 3.1) and its loss is over those. */
#define MASKED_SHARE 0.15

double workload_scored_share(const struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;

	if (architecture_has_source(architecture))
		return (double)workload->target_length / workload_sequence_tokens(workload);
	if (architecture->modality != MODALITY_EMBEDDING)
		return 1;
	/* An encoder learns to fill gaps; whoever is tuned to embed or to classify has no head over
	 * the vocabulary. transformers scores all positions and ignores most. */
	if (workload->task != TASK_PRETRAIN || !architecture->kinds[0].is_encoder)
		return 0;
	return workload->stack == STACK_HUGGINGFACE &&
			       workload->cross_entropy == CROSS_ENTROPY_PLAIN
		       ? 1
		       : MASKED_SHARE;
}

const char *workload_pointer(const char *prefix, enum workload_field_id field,
			     char out[WORKLOAD_POINTER])
{
	snprintf(out, WORKLOAD_POINTER, "%s/%s", prefix, workload_fields[field].name);
	return out;
}

static bool is_valid_enum(const struct workload_field *field, int value)
{
	return value >= 0 && value < field->names->count && field->names->text[value];
}

static void check_enum(const struct workload_field *field, int value, const char *pointer,
		       struct error *error)
{
	if (!is_valid_enum(field, value))
		error_add(error, pointer, "invalid_value", NULL, "%s is not one of its values",
			  field->name);
}

static void check_range(const struct workload_field *field, double value, const char *pointer,
			struct error *error)
{
	/* Written so that NaN fails too. */
	if (!(value >= field->least && value <= field->most))
		error_add(error, pointer, "out_of_range", NULL, "%s must be from %g to %g, not %g",
			  field->name, field->least, field->most, value);
}

/* Whatever was given lies in its range. */
static void check_ranges(const struct workload *workload, const char *prefix, struct error *error)
{
	char pointer[WORKLOAD_POINTER];

	for (enum workload_field_id id = 0; id < WORKLOAD_FIELD_COUNT; id++) {
		const struct workload_field *field = &workload_fields[id];
		const char *value = (const char *)workload + field->offset;

		if (!workload_has(workload, id))
			continue;
		workload_pointer(prefix, id, pointer);
		switch (field->kind) {
		case FIELD_ENUM: {
			int number;

			memcpy(&number, value, sizeof(number));
			check_enum(field, number, pointer, error);
			break;
		}
		case FIELD_COUNT: {
			int64_t number;

			memcpy(&number, value, sizeof(number));
			check_range(field, (double)number, pointer, error);
			break;
		}
		case FIELD_NUMBER: {
			double number;

			memcpy(&number, value, sizeof(number));
			check_range(field, number, pointer, error);
			break;
		}
		case FIELD_FLAG:
			break;
		}
	}
}

unsigned workload_field_tasks(const struct workload *workload, enum workload_field_id id)
{
	const struct workload_field *field = &workload_fields[id];

	return workload->architecture->media ? field->media_tasks : field->tasks;
}

/* Which models do not take a field that others do. */
static const char *kind_of_model(const struct workload *workload, enum workload_field_id id)
{
	const struct workload_field *field = &workload_fields[id];
	unsigned task = TASK_BIT((unsigned)workload->task);

	if (!((field->tasks | field->media_tasks) & task))
		return "";
	return workload->architecture->media ? " of a model of pictures or sound"
					     : " of a model of tokens";
}

/* Fields of another task are refused: to ignore them would answer another question. */
static void check_tasks(const struct workload *workload, const char *prefix, struct error *error)
{
	char pointer[WORKLOAD_POINTER];

	for (enum workload_field_id id = 0; id < WORKLOAD_FIELD_COUNT; id++)
		if (workload_has(workload, id) &&
		    !(workload_field_tasks(workload, id) & TASK_BIT((unsigned)workload->task)))
			error_add(error, workload_pointer(prefix, id, pointer), "not_applicable",
				  NULL, "task %s%s does not take %s%s",
				  names_text(&task_names, workload->task),
				  kind_of_model(workload, id), workload_fields[id].name,
				  id == WORKLOAD_steps && workload->task != TASK_INFERENCE
					  ? ", which are of denoising: say how much to train by "
					    "examples and epochs"
					  : "");
}

/* task, and for fine-tuning method: nothing sensible can be assumed for them. */
static bool check_required(const struct workload *workload, const char *prefix, struct error *error)
{
	char pointer[WORKLOAD_POINTER];

	if (!workload_has(workload, WORKLOAD_task))
		return error_add(error, workload_pointer(prefix, WORKLOAD_task, pointer),
				 "required", NULL,
				 "task is required: pretrain, finetune or inference");
	if (!is_valid_enum(&workload_fields[WORKLOAD_task], workload->task))
		return false; /* check_ranges() has said so */
	if (workload->task == TASK_FINETUNE && !workload_has(workload, WORKLOAD_method))
		return error_add(
			error, workload_pointer(prefix, WORKLOAD_method, pointer), "required", NULL,
			"method is required for fine-tuning: full, lora, qlora, %s (memory "
			"differs several-fold)",
			workload->architecture->media ? "dreambooth or textual_inversion"
						      : "adapter, prefix or prompt");
	return true;
}

bool workload_complete(struct workload *workload, const char *prefix, struct error *error)
{
	unsigned before = error->count + error->dropped;
	bool is_good;

	check_ranges(workload, prefix, error);
	if (!check_required(workload, prefix, error))
		return false;
	check_tasks(workload, prefix, error);
	workload_check_contradictions(workload, prefix, error);
	if (error->count + error->dropped != before)
		return false;
	workload_fill(workload);
	/* Both, so that one answer names every fault. */
	is_good = workload_check_combinations(workload, prefix, error);
	return workload_check_filled(workload, prefix, error) && is_good;
}
