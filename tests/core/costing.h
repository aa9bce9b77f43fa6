/* Costing in tests: a job of plain figures, and a provider whose terms are told. */
#ifndef TESTS_CORE_COSTING_H
#define TESTS_CORE_COSTING_H

#include "core/cost.h"

#include "tests/core/market.h"
#include "tests/suite.h"

#include <math.h>

/* A provider that bills by the hour, keeps volumes, and says so; costs nothing else. */
static const struct cost_terms hourly = {.granularity_seconds = 3600,
					 .minimum_seconds = 3600,
					 .setup_seconds = 60,
					 .keeps_data = true,
					 .bills_storage = true};

static inline struct workload training(void)
{
	return market_workload("meta-llama/Llama-3.1-8B",
			       "task=finetune method=lora total_tokens=1000000");
}

/* 10 GB to load at 0.25 GB/s: 40 s, and a minute of set-up: 100 s before the first step. */
static inline struct cost_work work_of(const struct workload *workload)
{
	struct cost_work work = {
		.workload = workload, .assumptions = cost_assumptions_default, .data_gb = 10};

	work.assumptions.image_gb = 0;
	cost_defaults_prepare(NULL, &work.defaults);
	return work;
}

static inline struct cost_job job_of(const struct cost_work *work, double run_seconds, int nodes,
				     int sessions)
{
	return (struct cost_job){.work = work,
				 .basis = COST_RUN,
				 .nodes = nodes,
				 .sessions = sessions,
				 .run_seconds = run_seconds,
				 .tokens_per_second = 1000};
}

/* A price whose interruption rate is the terms'. */
static struct cost_price the_price;

static inline const struct cost_price *at(enum price_kind kind, int64_t micros)
{
	the_price = (struct cost_price){kind, micros, (double)NAN, 0};
	return &the_price;
}

static inline void resolve(const struct terms *terms, struct cost_terms *out)
{
	struct cost_defaults defaults;

	cost_defaults_prepare(NULL, &defaults);
	cost_terms_resolve(terms, &defaults, out);
}

static inline void check_sum(const struct cost *cost)
{
	ck_assert_int_eq(cost->total_micros, cost->compute_micros + cost->storage_micros +
						     cost->egress_micros +
						     cost->interruption_micros);
}

#endif
