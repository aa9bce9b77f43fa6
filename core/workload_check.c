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
	{WORKLOAD_cross_entropy, WORKLOAD_fused_cross_entropy,
	 "cross_entropy says more and took its place"},
	{WORKLOAD_concurrency, WORKLOAD_requests_per_second,
	 "a rate decides how many requests run at once"},
	{WORKLOAD_audio_hours, WORKLOAD_requests,
	 "requests times seconds already is the amount of sound"},
};

/* Fields that only some methods take. */
static const struct {
	enum workload_field_id field;
	unsigned methods; /* bits of enum method */
} of_method[] = {
	{WORKLOAD_lora_rank, 1u << METHOD_LORA | 1u << METHOD_QLORA},
	{WORKLOAD_lora_targets, 1u << METHOD_LORA | 1u << METHOD_QLORA},
	{WORKLOAD_adapter_size, 1u << METHOD_ADAPTER},
	{WORKLOAD_dora, 1u << METHOD_LORA | 1u << METHOD_QLORA},
	{WORKLOAD_train_embeddings, 1u << METHOD_LORA | 1u << METHOD_QLORA | 1u << METHOD_ADAPTER},
	{WORKLOAD_optimizer_in_backward, 1u << METHOD_FULL},
	{WORKLOAD_prefix_tokens, 1u << METHOD_PREFIX | 1u << METHOD_PROMPT},
	{WORKLOAD_base_format, 1u << METHOD_LORA | 1u << METHOD_QLORA | 1u << METHOD_ADAPTER |
				       1u << METHOD_PREFIX | 1u << METHOD_PROMPT |
				       1u << METHOD_TEXTUAL_INVERSION},
	{WORKLOAD_prior_preservation,
	 1u << METHOD_FULL | 1u << METHOD_LORA | 1u << METHOD_QLORA | 1u << METHOD_DREAMBOOTH},
};

/* What only a model that generates takes, by its output or by its cache. */
static bool is_of_generation(enum workload_field_id field)
{
	return field == WORKLOAD_output_tokens || field == WORKLOAD_mean_context ||
	       field == WORKLOAD_kv_format || field == WORKLOAD_max_tpot_seconds;
}

static bool model_takes(const struct workload *workload, enum workload_field_id field)
{
	if (workload->architecture->media)
		return workload_media_takes(workload, field);
	if (field == WORKLOAD_target_length)
		return architecture_has_source(workload->architecture);
	return workload_takes_sense(workload, field) &&
	       !(workload_only_reads(workload) && is_of_generation(field));
}

bool workload_takes(const struct workload *workload, enum workload_field_id field)
{
	if (!(workload_field_tasks(workload, field) & TASK_BIT((unsigned)workload->task)) ||
	    !model_takes(workload, field))
		return false;
	for (size_t i = 0; i < sizeof(of_method) / sizeof(of_method[0]); i++)
		if (of_method[i].field == field && workload->task == TASK_FINETUNE)
			return of_method[i].methods >> workload->method & 1u;
	if (field == WORKLOAD_lora_rank)
		return workload->task == TASK_INFERENCE && workload->lora_adapters > 0;
	if (field == WORKLOAD_fused_cross_entropy)
		return workload_has(workload, field);
	if (field == WORKLOAD_galore_rank)
		return workload->optimizer == OPTIMIZER_GALORE_ADAMW;
	if (workload->architecture->media)
		return true;
	if (field == WORKLOAD_sequence_parallel || field == WORKLOAD_pipeline_chunks ||
	    field == WORKLOAD_context_parallel || field == WORKLOAD_expert_parallel)
		return workload->stack == STACK_MEGATRON || workload->stack == STACK_TORCHTITAN;
	return true;
}

static void contradiction(enum workload_field_id field, const char *prefix, struct error *error,
			  const char *other, const char *why)
{
	char pointer[WORKLOAD_POINTER];

	error_add(error, workload_pointer(prefix, field, pointer), "contradiction", NULL,
		  "%s and %s cannot both be given: %s", workload_fields[field].name, other, why);
}

/* Bits of enum method. */
static unsigned methods_of(const struct workload *workload)
{
	unsigned both = 1u << METHOD_FULL | 1u << METHOD_LORA | 1u << METHOD_QLORA;

	return both | (workload->architecture->media
			       ? 1u << METHOD_DREAMBOOTH | 1u << METHOD_TEXTUAL_INVERSION
			       : 1u << METHOD_ADAPTER | 1u << METHOD_PREFIX | 1u << METHOD_PROMPT);
}

static void check_method(const struct workload *workload, const char *prefix, struct error *error)
{
	char pointer[WORKLOAD_POINTER];

	if (!(methods_of(workload) >> workload->method & 1u))
		error_add(error, workload_pointer(prefix, WORKLOAD_method, pointer),
			  "not_applicable", "lora", "method %s is not one for models of %s",
			  names_text(&method_names, workload->method),
			  workload->architecture->media ? "pictures or sound" : "tokens");
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

/* Which models take a field that this one does not. */
static const char *why_not(const struct workload *workload, enum workload_field_id id)
{
	const char *why = workload_why_no_sense(id);

	if (workload->architecture->media)
		return workload->architecture->media->sample_rate > 0
			       ? "is for pipelines that make pictures"
			       : "is for pipelines that make video or sound";

	if (why)
		return why;
	return id == WORKLOAD_target_length
		       ? "is for models with an encoder and a decoder"
		       : "is for models that generate; this one reads its input and puts out a "
			 "vector or a score";
}

/* An embedder puts out a vector, whatever length was asked; only an encoder-decoder has a side for
 * targets. */
static void check_model(const struct workload *workload, const char *prefix, struct error *error)
{
	char pointer[WORKLOAD_POINTER];

	for (enum workload_field_id id = 0; id < WORKLOAD_FIELD_COUNT; id++) {
		bool is_task =
			workload_field_tasks(workload, id) & TASK_BIT((unsigned)workload->task);

		if (!workload_has(workload, id) || !is_task || model_takes(workload, id))
			continue;
		/* No tokens out is what such a model does. */
		if (id == WORKLOAD_output_tokens && workload->output_tokens == 0)
			continue;
		error_add(error, workload_pointer(prefix, id, pointer), "not_applicable", NULL,
			  "%s %s", workload_fields[id].name, why_not(workload, id));
	}
}

static bool is_four_bit(enum format format)
{
	return format_is_bitsandbytes(format) ||
	       (format_is_packed_integer(format) && !format_is_torchao(format));
}

static bool is_trainable_base(enum format format)
{
	return format == FORMAT_FP32 || format == FORMAT_BF16 || format == FORMAT_FP16 ||
	       format == FORMAT_FP8 || format == FORMAT_INT8 || format == FORMAT_GPTQ_INT8;
}

static bool is_cache_format(enum format format)
{
	static const enum format formats[] = {FORMAT_AUTO,  FORMAT_FP32, FORMAT_BF16, FORMAT_FP16,
					      FORMAT_FP8,   FORMAT_INT8, FORMAT_INT4, FORMAT_Q8_0,
					      FORMAT_Q5_1,  FORMAT_Q5_0, FORMAT_Q4_1, FORMAT_Q4_0,
					      FORMAT_IQ4_NL};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i] == format)
			return true;
	return false;
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
					  ? "it takes nf4, nf4_dq, fp4, int4, awq or gptq in any "
					    "group size"
					  : "it takes fp32, bf16, fp16, fp8, int8 or gptq_int8; "
					    "use method "
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
	if (workload_has(workload, WORKLOAD_kv_format) && !is_cache_format(kv))
		error_add(error, workload_pointer(prefix, WORKLOAD_kv_format, pointer),
			  "invalid_value", "fp8",
			  "a KV cache is kept in fp32, bf16, fp16, fp8, int8, int4, q8_0, q5_1, "
			  "q5_0, q4_1, q4_0, iq4_nl or auto, not %s",
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
			  NULL, "epochs needs %s",
			  workload->architecture->media ? "examples"
							: "tokens_per_epoch or examples");
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
	if (workload_speaks(workload) && workload_has(workload, WORKLOAD_seconds) &&
	    workload_has(workload, WORKLOAD_output_tokens))
		contradiction(WORKLOAD_output_tokens, prefix, error,
			      workload_fields[WORKLOAD_seconds].name,
			      "so many seconds of sound are so many tokens");
	check_model(workload, prefix, error);
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
	if (workload_has(workload, WORKLOAD_peak_requests_per_second) &&
	    workload->peak_requests_per_second < workload->requests_per_second)
		is_good = error_add(
			error, workload_pointer(prefix, WORKLOAD_peak_requests_per_second, pointer),
			"contradiction", NULL,
			"peak_requests_per_second %g is less than requests_per_second %g",
			workload->peak_requests_per_second, workload->requests_per_second);
	if (workload_has(workload, WORKLOAD_peak_requests_per_second) &&
	    !workload_has(workload, WORKLOAD_requests_per_second))
		is_good = error_add(
			error, workload_pointer(prefix, WORKLOAD_peak_requests_per_second, pointer),
			"incomplete", NULL, "peak_requests_per_second needs requests_per_second");
	if (workload->task != TASK_INFERENCE && workload->global_batch < workload->micro_batch)
		is_good = error_add(
			error, workload_pointer(prefix, WORKLOAD_micro_batch, pointer),
			"contradiction", NULL, "micro_batch %lld is more than global_batch %lld",
			(long long)workload->micro_batch, (long long)workload->global_batch);
	return is_good;
}
