/* A workload on one layout of one card, and its speed: what the tests of core/speed share. */
#ifndef TESTS_CORE_SPEED_REQUEST_H
#define TESTS_CORE_SPEED_REQUEST_H

#include "core/model.h"
#include "core/speed.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define SAID(field) (WORKLOAD_BIT(WORKLOAD_##field))

struct request {
	struct workload workload;
	struct layout layout;
	struct fabric fabric;
	const struct accelerator *card;
	struct speed_estimate speed;
};

static inline struct request request_of(const char *model, enum task task, const char *card,
					int gpus)
{
	const struct model *found = model_find(model);
	struct request request = {.layout = layout_single};

	request.layout.gpus_per_node = gpus;
	request.layout.data_parallel = gpus;
	request.layout.sharding = SHARDING_ZERO3;
	request.card = accelerator_find(card);
	ck_assert_ptr_nonnull(found);
	ck_assert_ptr_nonnull(request.card);
	request.workload.architecture = &found->architecture;
	request.workload.task = (int)task;
	request.workload.given = SAID(task);
	return request;
}

static inline void estimate(struct request *request)
{
	struct speed_basis basis;
	struct error error = {0};

	ck_assert_msg(workload_complete(&request->workload, "", &error), "%s", error.detail);
	request->fabric = fabric_of_accelerator(request->card, request->layout.gpus_per_node);
	ck_assert(speed_prepare(&request->workload, request->card, request->layout.weight_format,
				&basis));
	speed_estimate(&basis, &request->layout, &request->fabric, &request->speed);
}

static inline void ck_within(double value, double expected, double share)
{
	ck_assert_msg(fabs(value / expected - 1) <= share, "%g is not within %g of %g", value,
		      share, expected);
}

#endif
