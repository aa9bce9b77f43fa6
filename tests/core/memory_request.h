/* A workload on one layout of one GPU, and its memory: what the tests of core/memory share. */
#ifndef TESTS_CORE_MEMORY_REQUEST_H
#define TESTS_CORE_MEMORY_REQUEST_H

#include "core/memory.h"
#include "core/model.h"

#include <check.h>
#include <math.h>

/* Figures that follow from counts alone agree to the last digit that matters. */
#define ck_same(value, expected)                                                                   \
	ck_assert_double_eq_tol((double)(value), (double)(expected),                               \
				1e-9 * fabs((double)(expected)) + 1e-9)

struct request {
	struct workload workload;
	struct layout layout;
	struct memory_basis basis;
	struct memory_estimate memory;
};

#define SAID(field) (WORKLOAD_BIT(WORKLOAD_##field))

static inline struct request training(const char *model, enum method method, enum stack stack,
				      int64_t length)
{
	const struct model *found = model_find(model);
	struct request request = {.layout = layout_single};

	/* Gradients that stay between passes. */
	request.layout.accumulation = 16;
	ck_assert_ptr_nonnull(found);
	request.workload.architecture = &found->architecture;
	request.workload.task = TASK_FINETUNE;
	request.workload.method = (int)method;
	request.workload.stack = (int)stack;
	request.workload.sequence_length = length;
	request.workload.given = SAID(task) | SAID(method) | SAID(stack) | SAID(sequence_length);
	return request;
}

static inline void estimate(struct request *request)
{
	struct error error = {0};

	ck_assert_msg(workload_complete(&request->workload, "", &error), "%s", error.detail);
	memory_prepare(&request->workload, &request->basis);
	memory_estimate(&request->basis, &request->layout, NULL, &request->memory);
}

static inline struct request serving(const char *model, double sequences, int64_t prompt,
				     int64_t output)
{
	struct request request = training(model, METHOD_FULL, STACK_HUGGINGFACE, 1);

	request.workload = (struct workload){.architecture = request.workload.architecture,
					     .task = TASK_INFERENCE,
					     .prompt_tokens = prompt,
					     .output_tokens = output,
					     .concurrency = (int64_t)sequences,
					     .given = SAID(task) | SAID(prompt_tokens) |
						      SAID(output_tokens) | SAID(concurrency)};
	request.layout.sequences = sequences;
	return request;
}

#endif
