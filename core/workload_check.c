/*
 * Workload contradictions: pairs of fields that exclude each other, fields that a method does not
 * take, formats that a method cannot use, and what is valid but not answered yet.
 */
#include "core/workload_parts.h"

#include <stdio.h>

struct pair {
	enum workload_field_id a, b;
	const char *why;
};

/* At most one of each pair. */
static const struct pair exclusive[] = {
	{WORKLOAD_total_tokens, WORKLOAD_tokens_per_epoch,
	 "total_tokens already is the whole amount of work"},
	{WORKLOAD_total_tokens, WORKLOAD_examples,
	 "total_tokens already is the whole amount of work"},
	{WORKLOAD_total_tokens, WORKLOAD_epochs,
	 "total_tokens counts every epoch: use tokens_per_epoch with epochs"},
	{WORKLOAD_tokens_per_epoch, WORKLOAD_examples,
	 "examples times sequence_length is the tokens of an epoch"},
	{WORKLOAD_concurrency, WORKLOAD_requests_per_second,
	 "a rate decides how many requests run at once"},
};

/* Fields that only some methods take. */
static const struct {
	enum workload_field_id field;
	unsigned methods; /* bits of enum method */
} of_method[] = {
	{WORKLOAD_lora_rank, 1u << METHOD_LORA | 1u << METHOD_QLORA},
	{WORKLOAD_lora_targets, 1u << METHOD_LORA | 1u << METHOD_QLORA},
	{WORKLOAD_adapter_size, 1u << METHOD_ADAPTER},
	{WORKLOAD_prefix_tokens, 1u << METHOD_PREFIX},
	{WORKLOAD_base_format,
	 1u << METHOD_LORA | 1u << METHOD_QLORA | 1u << METHOD_ADAPTER | 1u << METHOD_PREFIX},
};

bool workload_takes(const struct workload *workload, enum workload_field_id field)
{
	if (!(workload_fields[field].tasks & TASK_BIT((unsigned)workload->task)))
		return false;
	for (size_t i = 0; i < sizeof(of_method) / sizeof(of_method[0]); i++)
		if (of_method[i].field == field)
			return of_method[i].methods >> workload->method & 1u;
	return true;
}

static void contradiction(enum workload_field_id field, const char *prefix, struct error *error,
			  const char *other, const char *why)
{
	char pointer[WORKLOAD_POINTER];

	error_add(error, workload_pointer(prefix, field, pointer), "contradiction", NULL,
		  "%s and %s cannot both be given: %s", workload_fields[field].name, other, why);
}

static void check_method(const struct workload *workload, const char *prefix, struct error *error)
{
	char pointer[WORKLOAD_POINTER];

	for (size_t i = 0; i < sizeof(of_method) / sizeof(of_method[0]); i++) {
		enum workload_field_id field = of_method[i].field;

		if (workload_has(workload, field) &&
		    !(of_method[i].methods >> workload->method & 1u))
			error_add(error, workload_pointer(prefix, field, pointer), "not_applicable",
				  NULL, "method %s does not take %s",
				  names_text(&method_names, workload->method),
				  workload_fields[field].name);
	}
}

static bool is_four_bit(enum format format)
{
	return format == FORMAT_NF4 || format == FORMAT_NF4_DQ || format == FORMAT_FP4 ||
	       format == FORMAT_AWQ || format == FORMAT_GPTQ || format == FORMAT_INT4;
}

static bool is_trainable_base(enum format format)
{
	return format == FORMAT_FP32 || format == FORMAT_BF16 || format == FORMAT_FP16 ||
	       format == FORMAT_FP8 || format == FORMAT_INT8;
}

static void check_formats(const struct workload *workload, const char *prefix, struct error *error)
{
	char pointer[WORKLOAD_POINTER];
	enum format base = (enum format)workload->base_format;
	enum format kv = (enum format)workload->kv_format;

	if (workload->task == TASK_FINETUNE && workload_has(workload, WORKLOAD_base_format) &&
	    workload->method != METHOD_FULL && base != FORMAT_AUTO) {
		bool is_right = workload->method == METHOD_QLORA ? is_four_bit(base)
								 : is_trainable_base(base);

		if (!is_right)
			error_add(error, workload_pointer(prefix, WORKLOAD_base_format, pointer),
				  "contradiction",
				  workload->method == METHOD_QLORA ? "nf4" : "bf16",
				  "method %s cannot train over a base in %s: %s",
				  names_text(&method_names, workload->method),
				  names_text(&format_names, (int)base),
				  workload->method == METHOD_QLORA
					  ? "it takes nf4, nf4_dq, fp4, int4, awq or gptq"
					  : "it takes fp32, bf16, fp16, fp8 or int8; use method "
					    "qlora for 4 bits");
	}
	if (workload_has(workload, WORKLOAD_weight_format) &&
	    workload_has(workload, WORKLOAD_engine) && workload->engine != ENGINE_LLAMA_CPP &&
	    format_is_gguf((enum format)workload->weight_format))
		error_add(error, workload_pointer(prefix, WORKLOAD_weight_format, pointer),
			  "contradiction", NULL,
			  "%s is a format of llama_cpp, which %s does not run",
			  names_text(&format_names, workload->weight_format),
			  names_text(&engine_names, workload->engine));
	if (workload_has(workload, WORKLOAD_kv_format) && kv != FORMAT_AUTO && kv != FORMAT_FP32 &&
	    kv != FORMAT_BF16 && kv != FORMAT_FP16 && kv != FORMAT_FP8 && kv != FORMAT_INT8)
		error_add(error, workload_pointer(prefix, WORKLOAD_kv_format, pointer),
			  "invalid_value", "fp8",
			  "a KV cache is kept in fp32, bf16, fp16, fp8, int8 or auto, not %s",
			  names_text(&format_names, (int)kv));
}

static void check_training(const struct workload *workload, const char *prefix, struct error *error)
{
	char pointer[WORKLOAD_POINTER];

	if (workload_has(workload, WORKLOAD_epochs) &&
	    !workload_has(workload, WORKLOAD_tokens_per_epoch) &&
	    !workload_has(workload, WORKLOAD_examples) &&
	    !workload_has(workload, WORKLOAD_total_tokens))
		error_add(error, workload_pointer(prefix, WORKLOAD_epochs, pointer), "incomplete",
			  NULL, "epochs needs tokens_per_epoch or examples");
	if (workload_has(workload, WORKLOAD_global_batch) &&
	    workload_has(workload, WORKLOAD_micro_batch) && workload->micro_batch > 0 &&
	    workload->global_batch % workload->micro_batch != 0)
		error_add(error, workload_pointer(prefix, WORKLOAD_global_batch, pointer),
			  "contradiction", NULL,
			  "global_batch %lld is not a multiple of micro_batch %lld",
			  (long long)workload->global_batch, (long long)workload->micro_batch);
	if (workload_has(workload, WORKLOAD_precision) && workload->method == METHOD_FULL &&
	    workload->precision == PRECISION_BF16 && workload->stack == STACK_MEGATRON &&
	    workload_has(workload, WORKLOAD_stack))
		error_add(error, workload_pointer(prefix, WORKLOAD_precision, pointer),
			  "contradiction", "bf16_master",
			  "megatron keeps fp32 master weights: bf16_master, not bf16");
}

void workload_check_contradictions(const struct workload *workload, const char *prefix,
				   struct error *error)
{
	for (size_t i = 0; i < sizeof(exclusive) / sizeof(exclusive[0]); i++) {
		const struct pair *pair = &exclusive[i];

		if (workload_has(workload, pair->a) && workload_has(workload, pair->b))
			contradiction(pair->b, prefix, error, workload_fields[pair->a].name,
				      pair->why);
	}
	if (workload->task == TASK_FINETUNE)
		check_method(workload, prefix, error);
	check_formats(workload, prefix, error);
	if (workload->task != TASK_INFERENCE)
		check_training(workload, prefix, error);
}

bool workload_check_filled(const struct workload *workload, const char *prefix, struct error *error)
{
	char pointer[WORKLOAD_POINTER];
	bool is_good = true;

	if (workload->task == TASK_INFERENCE && workload->context > workload->full_context)
		is_good = error_add(error, workload_pointer(prefix, WORKLOAD_mean_context, pointer),
				    "contradiction", NULL,
				    "mean_context %.0f is more than prompt_tokens and "
				    "output_tokens together (%.0f)",
				    workload->context, workload->full_context);
	if (workload->task != TASK_INFERENCE && workload->global_batch < workload->micro_batch)
		is_good = error_add(
			error, workload_pointer(prefix, WORKLOAD_micro_batch, pointer),
			"contradiction", NULL, "micro_batch %lld is more than global_batch %lld",
			(long long)workload->micro_batch, (long long)workload->global_batch);
	return is_good;
}

static bool is_supported_modality(enum modality modality)
{
	return modality == MODALITY_TEXT || modality == MODALITY_VISION_TEXT;
}

bool workload_check_supported(const struct workload *workload, const char *prefix,
			      struct error *error)
{
	char pointer[WORKLOAD_POINTER];
	enum modality modality = workload->architecture->modality;
	bool is_supported = true;

	if (!is_supported_modality(modality)) {
		snprintf(pointer, sizeof(pointer), "%s/model", prefix);
		error_add(error, pointer, "unsupported", NULL,
			  "models of modality %s are not supported yet: text and vision_text are",
			  names_text(&modality_names, (int)modality));
		is_supported = false;
	}
	if (!is_supported)
		error_set(error, ERROR_UNSUPPORTED,
			  "the workload asks for what is not supported yet");
	return is_supported;
}
