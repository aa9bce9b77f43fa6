/*
 * Did it fit? Runs that failed for memory, or were the longest that fitted, against runs of
 * memory.csv that did fit. The prediction is the point estimate of what the driver would show.
 */
#include "tests/accuracy/memory_rows.h"

#include "core/memory.h"
#include "core/units.h"
#include "tests/accuracy/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "1xA10G", "4xA10G", "1x A100-40", "A100 80GB x2", "48 GB VRAM"; the bytes that the driver shows.
 */
static enum skip card_of(const char *text, struct request *request, int *gpus, double *usable)
{
	char label[64];
	const char *cross = strstr(text, "x ") == text + 1 || text[1] == 'x' ? text + 2 : text;
	const char *behind = strstr(text, " x");
	enum skip reason;

	*gpus = cross != text ? atoi(text) : behind ? atoi(behind + 2) : 1;
	if (strstr(text, "VRAM")) {
		*usable = strtod(text, NULL) * GIB;
		return *usable > 0 ? SKIP_NONE : SKIP_CARD_NOT_STATED;
	}
	if (*gpus > 8)
		return SKIP_LAYOUT_BY_NAME;
	while (*cross == ' ')
		cross++;
	snprintf(label, sizeof(label), "%.*s", (int)(behind ? behind - cross : (long)strlen(cross)),
		 cross);
	if (strcmp(label, "A100-40") == 0)
		snprintf(label, sizeof(label), "A100 40GB");
	label[strcspn(label, "(")] = '\0';
	reason = request_cards(label, request);
	if (!reason)
		*usable = accelerator_memory_bytes(request->cards[0]);
	return reason;
}

/* "qwen-72b-chat (2*A100)" is Qwen/Qwen-72B. */
static enum skip architecture_of(const struct row *row, struct architecture *out)
{
	enum skip reason = request_architecture(row, out);

	if (reason)
		return request_model(row_has(row, "model", "qwen-72b-chat")
					     ? "Qwen/Qwen-72B"
					     : row_text(row, "model"),
				     out);
	return SKIP_NONE;
}

static void workload_of(const struct row *row, struct request *request)
{
	struct workload *workload = &request->workload;
	struct layout *layout = &request->layout;
	bool is_unsloth = row_has(row, "method", "unsloth"),
	     is_litgpt = row_has(row, "source", "litgpt");

	workload->task = row_has(row, "method", "Inference") ? TASK_INFERENCE : TASK_FINETUNE;
	layout->weight_format = layout->kv_format = FORMAT_BF16;
	if (workload->task == TASK_INFERENCE) {
		workload->engine = ENGINE_TRANSFORMERS;
		workload->prompt_tokens = row_count(row, "seq_len", 1);
		workload->given |= WORKLOAD_BIT(WORKLOAD_task) | WORKLOAD_BIT(WORKLOAD_engine) |
				   WORKLOAD_BIT(WORKLOAD_prompt_tokens);
		return;
	}
	workload->method = row_has(row, "method", "qlora")  ? METHOD_QLORA
			   : row_has(row, "method", "lora") ? METHOD_LORA
							    : METHOD_FULL;
	workload->stack = is_unsloth ? STACK_UNSLOTH : STACK_HUGGINGFACE;
	workload->precision = PRECISION_BF16;
	workload->sequence_length = row_count(row, "seq_len", 0);
	workload->given |= WORKLOAD_BIT(WORKLOAD_task) | WORKLOAD_BIT(WORKLOAD_method) |
			   WORKLOAD_BIT(WORKLOAD_stack) | WORKLOAD_BIT(WORKLOAD_precision) |
			   WORKLOAD_BIT(WORKLOAD_sequence_length);
	if (workload->method == METHOD_QLORA)
		layout->weight_format = is_unsloth ? FORMAT_NF4_DQ : FORMAT_NF4;
	layout->recompute =
		is_litgpt && !row_has(row, "method", "Multiple") ? RECOMPUTE_NONE : RECOMPUTE_FULL;
}

static enum skip run(const struct row *row, struct result *result)
{
	struct request request = {0};
	struct memory_basis basis;
	struct memory_estimate memory;
	double usable;
	int gpus;
	enum skip reason = card_of(row_text(row, "gpu"), &request, &gpus, &usable);

	if (reason || (reason = architecture_of(row, &request.architecture)))
		return reason;
	workload_of(row, &request);
	/* litgpt's table of four A10G ran on one of them (facts/memory-notes.md 12). */
	if (row_has(row, "source", "config_hub"))
		gpus = 1;
	reason = request_parallelism(gpus > 1 ? "naive pipeline" : "", gpus, &request.layout);
	if (reason || (reason = request_complete(&request)))
		return reason;
	request.layout.micro_batch = row_count(row, "micro_batch", 1);
	request.layout.accumulation = 16;
	request.layout.sequences = 1;
	memory_prepare(&request.workload, &basis);
	memory_estimate(&basis, &request.layout, request.cards_count ? request.cards[0] : NULL,
			&memory);
	result->predicted = memory.device_bytes <= usable;
	snprintf(result->terms, sizeof(result->terms), "device %.2f of %.2f GiB",
		 memory.device_bytes / GIB, usable / GIB);
	return SKIP_NONE;
}

static void predict_constraint(struct result *result)
{
	const struct row *row = &result->row;
	bool is_other = row_has(row, "outcome", "graph capture") || row_has(row, "outcome", "VAE");

	/* The longest context that fits, fits. */
	result->measured = row_has(row, "outcome", "max context");
	result_close(result, is_other ? SKIP_OTHER_PHASE : run(row, result));
}

static void predict_fitted(struct result *result)
{
	double device = 0, usable = 0;
	enum skip reason = memory_row_device(&result->row, &device, &usable);

	result->measured = 1;
	result->predicted = device <= usable;
	snprintf(result->terms, sizeof(result->terms), "device %.2f of %.2f GiB", device / GIB,
		 usable / GIB);
	result_close(result, reason);
}

static void named(const struct row *row, const char *id, void (*predict)(struct result *result),
		  struct results *results)
{
	struct result *result = results_add(results);

	result->table = RESULT_FIT;
	result->row = *row;
	result->predict = predict;
	snprintf(result->kind, sizeof(result->kind), "fit");
	snprintf(result->id, sizeof(result->id), "%s", id);
	snprintf(result->source, sizeof(result->source), "%s", row_text(row, "source"));
	snprintf(result->model, sizeof(result->model), "%s", row_text(row, "model"));
	snprintf(result->card, sizeof(result->card), "%.46s", row_text(row, "gpu"));
	predict(result);
}

void fit_rows_run(const struct table *constraints, const struct table *memory,
		  struct results *results)
{
	for (size_t i = 0; i < constraints->rows; i++) {
		struct row row = {constraints, i};
		char id[24];

		snprintf(id, sizeof(id), "fit%03zu", i + 1);
		named(&row, id, predict_constraint, results);
	}
	for (size_t i = 0; i < memory->rows; i++) {
		struct row row = {memory, i};
		double device, usable;

		/* Rows that cannot be compared are told once, where they belong. */
		if (strncmp(row_text(&row, "kind"), "train_", 6) != 0 ||
		    memory_row_device(&row, &device, &usable))
			continue;
		named(&row, row_text(&row, "id"), predict_fitted, results);
	}
}
