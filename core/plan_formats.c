/* Formats that the planner tries on a card, best fidelity first: what the engine serves in, or what
 * the method trains over. */
#include "core/plan_parts.h"

#include <string.h>

static bool is_serving(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE;
}

/* Weights that an engine serves in, best fidelity first, behind the model's own format. */
static int weight_candidates(const struct workload *workload, enum format out[PLAN_FORMATS_MAX])
{
	static const enum format server[] = {FORMAT_BF16, FORMAT_FP16, FORMAT_FP8, FORMAT_INT8,
					     FORMAT_AWQ};
	static const enum format transformers[] = {FORMAT_BF16, FORMAT_FP16, FORMAT_INT8,
						   FORMAT_NF4};
	static const enum format converted[] = {FORMAT_FP16, FORMAT_INT8};
	static const enum format pipeline[] = {FORMAT_BF16, FORMAT_FP16, FORMAT_FP8, FORMAT_INT8,
					       FORMAT_NF4};
	static const enum format gguf[] = {FORMAT_FP16, FORMAT_Q8_0, FORMAT_Q6_K, FORMAT_Q5_K_M,
					   FORMAT_Q4_K_M};
	const enum format *list = server;
	int length = sizeof(server) / sizeof(server[0]), count = 0;
	enum format native = workload->architecture->native_format;

	if (workload->weight_format != FORMAT_AUTO) {
		out[0] = (enum format)workload->weight_format;
		return 1;
	}
	if (workload->architecture->media) {
		list = pipeline;
		length = sizeof(pipeline) / sizeof(pipeline[0]);
	} else if (workload->engine == ENGINE_TRANSFORMERS) {
		list = transformers;
		length = sizeof(transformers) / sizeof(transformers[0]);
	} else if (workload->engine == ENGINE_CTRANSLATE2) {
		list = converted;
		length = sizeof(converted) / sizeof(converted[0]);
	} else if (workload->engine == ENGINE_LLAMA_CPP) {
		list = gguf;
		length = sizeof(gguf) / sizeof(gguf[0]);
	} else if (native != FORMAT_AUTO && native != FORMAT_FP32) {
		out[count++] = native;
	}
	for (int i = 0; i < length; i++)
		if (!count || list[i] != out[0])
			out[count++] = list[i];
	return count;
}

/* Formats of a KV cache for weights in `weight`, best fidelity first. */
static int kv_candidates(const struct plan_basis *basis, enum format weight, enum format out[2])
{
	const struct workload *workload = basis->workload;
	const struct accelerator *accelerator = basis->accelerator;
	bool is_nvidia = accelerator->vendor == VENDOR_NVIDIA;
	bool can_fp8 = workload->engine != ENGINE_TRANSFORMERS &&
		       workload->engine != ENGINE_LLAMA_CPP &&
		       workload->engine != ENGINE_CTRANSLATE2 &&
		       (!is_nvidia || accelerator->compute_capability >= 80);
	int count = 0;

	if (workload->architecture->media) { /* no cache: nothing to choose */
		out[0] = FORMAT_BF16;
		return 1;
	}
	if (workload->kv_format != FORMAT_AUTO) {
		out[0] = (enum format)workload->kv_format;
		return 1;
	}
	if (workload_only_reads(workload)) { /* no cache: nothing to choose */
		out[0] = FORMAT_BF16;
		return 1;
	}
	/* Published with scales for its cache: engines take that unless told otherwise. */
	if (workload->architecture->native_kv_format != FORMAT_AUTO && can_fp8 &&
	    weight == workload->architecture->native_format) {
		out[0] = workload->architecture->native_kv_format;
		return 1;
	}
	out[count++] = weight == FORMAT_FP16 || workload->engine == ENGINE_LLAMA_CPP ||
				       (is_nvidia && accelerator->compute_capability < 80)
			       ? FORMAT_FP16
			       : FORMAT_BF16;
	if (workload->engine == ENGINE_LLAMA_CPP)
		out[count++] = FORMAT_INT8;
	else if (can_fp8)
		out[count++] = FORMAT_FP8; /* stored in 8 bits; Ampere converts as it reads */
	return count;
}

/* Full training has no quantised base under trial. */
static enum format trial_of(const struct workload *workload, enum format weight)
{
	return is_serving(workload) || workload_base_is_frozen(workload) ? weight : FORMAT_AUTO;
}

static void add_format(struct plan_basis *basis, enum format weight, enum format kv,
		       struct support_verdict support)
{
	struct plan_format *format = &basis->formats[basis->formats_count];

	if (basis->formats_count == PLAN_FORMATS_MAX)
		return;
	format->weight = weight;
	format->trial = trial_of(basis->workload, weight);
	format->kv = kv;
	format->support = support;
	format->is_timed = false;
	/* What that verdict says becomes of a base in bf16. */
	if (!is_serving(basis->workload) && weight == FORMAT_BF16 && format->support.code &&
	    strcmp(format->support.code, "no_bf16") == 0)
		format->weight = FORMAT_FP16;
	basis->formats_count++;
}

bool plan_format_has_speed(struct plan_basis *basis, int fidelity)
{
	struct plan_format *format = &basis->formats[fidelity];
	const struct plan_format *other = fidelity ? format - 1 : NULL;

	if (format->is_timed)
		return format->has_speed;
	format->is_timed = true;
	/* Formats of a cache change nothing of it. */
	if (other && other->is_timed && other->trial == format->trial) {
		format->has_speed = other->has_speed;
		format->speed = other->speed;
		return format->has_speed;
	}
	format->speed = basis->speed;
	format->has_speed = speed_prepare_card(&format->speed, &basis->slice, format->trial,
					       basis->memory.weight_bytes[format->trial]);
	return format->has_speed;
}

static void serving_formats(struct plan_basis *basis)
{
	enum format weights[PLAN_FORMATS_MAX], kvs[2];
	int weights_count = weight_candidates(basis->workload, weights);
	bool is_open = basis->workload->weight_format == FORMAT_AUTO;
	bool has_sixteen = false;

	for (int i = 0; i < weights_count; i++) {
		bool is_sixteen = weights[i] == FORMAT_BF16 || weights[i] == FORMAT_FP16;
		struct support_verdict verdict;

		/* One 16-bit format is enough: the second is for cards without the first. */
		if (is_open && is_sixteen && has_sixteen)
			continue;
		verdict = support_of(basis->workload, weights[i], basis->accelerator);
		if (is_open && verdict.support == SUPPORT_NO && i + 1 < weights_count)
			continue;
		has_sixteen = has_sixteen || is_sixteen;
		for (int j = 0, n = kv_candidates(basis, weights[i], kvs); j < n; j++)
			add_format(basis, weights[i], kvs[j], verdict);
	}
}

void plan_formats(struct plan_basis *basis)
{
	const struct workload *workload = basis->workload;

	enum format base = workload_base_is_frozen(workload) ? (enum format)workload->base_format
							     : FORMAT_BF16;

	basis->formats_count = 0;
	if (is_serving(workload))
		serving_formats(basis);
	else
		add_format(basis, base, FORMAT_BF16,
			   support_of(workload, trial_of(workload, base), basis->accelerator));
}
