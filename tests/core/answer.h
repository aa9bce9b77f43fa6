/*
 * Asking for recommendations in tests: one market and its catalogue a test, and what must hold of
 * every answer.
 */
#ifndef TESTS_CORE_ANSWER_H
#define TESTS_CORE_ANSWER_H

#include "core/recommend.h"
#include "tests/core/market.h"
#include "tests/suite.h"

#include <string.h>

static struct market market;
static struct catalogue *catalogue;
static struct arena arena;
static struct error error;

static inline void begin(void)
{
	market_init(&market, 4000);
	arena_init(&arena, (size_t)256 << 20);
	error_init(&error, &arena);
	catalogue = NULL;
}

static inline void end(void)
{
	catalogue_free(catalogue);
	arena_release(&arena);
	market_release(&market);
}

static inline void check_answer(const struct recommend_request *request,
				const struct recommend_answer *answer);

static inline struct recommend_answer ask(const struct recommend_request *request)
{
	struct recommend_answer answer;

	if (!catalogue)
		catalogue = market_build(&market);
	ck_assert_ptr_nonnull(catalogue);
	ck_assert_msg(recommend(request, catalogue, MARKET_NOW_US, &arena, &answer, &error), "%s",
		      error.detail);
	check_answer(request, &answer);
	return answer;
}

static inline struct recommend_request request_for(const char *model, const char *fields)
{
	struct workload workload = market_workload(model, fields);
	struct recommend_request request = market_request(&workload);

	request.limit = 100;
	return request;
}

static inline const struct exclusion *excluded(const struct recommend_answer *answer,
					       const char *reason)
{
	for (int i = 0; i < answer->exclusions_count; i++)
		if (strcmp(answer->exclusions[i].reason, reason) == 0)
			return &answer->exclusions[i];
	return NULL;
}

static inline const struct note *note(const struct note *notes, int count, const char *code)
{
	for (int i = 0; i < count; i++)
		if (strcmp(notes[i].code, code) == 0)
			return &notes[i];
	return NULL;
}

static inline const struct note *warning(const struct recommendation *item, const char *code)
{
	return note(item->warnings, item->warnings_count, code);
}

static inline const struct remedy *remedy_of(const struct recommend_answer *answer,
					     const char *code)
{
	for (int i = 0; i < answer->remedies_count; i++)
		if (strcmp(answer->remedies[i].code, code) == 0)
			return &answer->remedies[i];
	return NULL;
}

static inline const struct recommendation *by_type(const struct recommend_answer *answer,
						   const char *type)
{
	for (int i = 0; i < answer->recommendations_count; i++)
		if (strcmp(answer->recommendations[i].offer->instance_type, type) == 0)
			return &answer->recommendations[i];
	return NULL;
}

/* What `objective: time` and the Pareto front compare: of a service a request's latency, else the
 * time to the result. */
static inline double time_of(const struct recommend_request *request,
			     const struct recommendation *item)
{
	if (item->cost.basis == COST_MONTH)
		return item->plan.speed.ttft_seconds +
		       item->plan.speed.tpot_seconds * (double)request->workload.output_tokens;
	return item->cost.elapsed_seconds;
}

static inline double key_of(const struct recommend_request *request,
			    const struct recommendation *item)
{
	switch (request->objective) {
	case OBJECTIVE_USD_PER_HOUR:
		return (double)item->cost.usd_per_hour_micros;
	case OBJECTIVE_USD_PER_MILLION_TOKENS:
		return (double)item->cost.per_million_tokens_micros;
	case OBJECTIVE_TOTAL_COST:
		return (double)item->cost.total_micros;
	case OBJECTIVE_TIME:
		return time_of(request, item);
	case OBJECTIVE_VALUE:
		return (double)item->cost.total_micros * time_of(request, item);
	case OBJECTIVES:
		break;
	}
	return 0;
}

/* What must hold of every answer. */
static inline void check_answer(const struct recommend_request *request,
				const struct recommend_answer *answer)
{
	uint32_t offers = 0;

	for (int i = 0; i < answer->recommendations_count; i++) {
		const struct recommendation *item = &answer->recommendations[i], *before = item - 1;
		const struct cost *cost = &item->cost;

		ck_assert_int_eq(cost->total_micros, cost->compute_micros + cost->storage_micros +
							     cost->egress_micros +
							     cost->interruption_micros);
		ck_assert_double_le(item->plan.memory.device_bytes, item->plan.usable_bytes);
		ck_assert_int_ne(item->plan.fit, FIT_NO);
		ck_assert_int_gt(item->reasons_count, 1);
		ck_assert_ptr_nonnull(note(item->reasons, item->reasons_count,
					   item->plan.fit == FIT_FITS ? "fits" : "tight"));
		if (item->offer->price_kind == PRICE_SPOT)
			ck_assert(request->workload.fault_tolerant ||
				  request->workload.mode == SERVING_BATCH);
		for (int j = 0; j < item->reasons_count; j++)
			ck_assert(item->reasons[j].code && item->reasons[j].text);
		for (int j = 0; j < item->warnings_count; j++)
			ck_assert(item->warnings[j].code && item->warnings[j].text);
		if (!i)
			continue;
		ck_assert_int_ge(before->plan.fit, item->plan.fit);
		if (before->plan.fit == item->plan.fit)
			ck_assert_double_le(key_of(request, before), key_of(request, item));
		if (request->group == GROUP_SHAPE)
			for (int j = 0; j < i; j++)
				ck_assert_ptr_ne(answer->recommendations[j].shape, item->shape);
	}
	for (int i = 0; i < answer->exclusions_count; i++) {
		ck_assert_ptr_nonnull(answer->exclusions[i].text);
		ck_assert_uint_gt(answer->exclusions[i].offers, 0);
		offers += answer->exclusions[i].offers;
		ck_assert_int_eq(!answer->exclusions[i].nearest,
				 !answer->exclusions[i].nearest_text);
	}
	/* "Nothing fits" is never a bare empty list. */
	if (!answer->recommendations_count && catalogue->offers_count)
		ck_assert_uint_gt(offers, 0);
	for (int i = 0; i < answer->remedies_count; i++) {
		const struct recommendation *first = answer->recommendations;
		const struct recommendation *other = answer->remedies[i].result;

		ck_assert(answer->remedies[i].text && other);
		/* Better in something that was asked for: fit, money or time. */
		ck_assert_msg(!answer->recommendations_count || other->plan.fit > first->plan.fit ||
				      other->cost.total_micros < first->cost.total_micros ||
				      other->cost.elapsed_seconds < first->cost.elapsed_seconds,
			      "%s", answer->remedies[i].text);
	}
}

/* Cards of a few sizes at prices of one order. */
static inline void small_market(void)
{
	market_add(&market, "runpod", "l4", "L4 24GB", 1, 0.44);
	market_add(&market, "runpod", "4090", "RTX 4090 24GB", 1, 0.69);
	market_add(&market, "runpod", "l40s", "L40S 48GB", 1, 0.86);
	market_add(&market, "runpod", "a100", "A100 SXM4 80GB", 1, 1.49);
	market_add(&market, "runpod", "h100", "H100 SXM5 80GB", 1, 2.69);
	market_add(&market, "runpod", "8xl40s", "L40S 48GB", 8, 6.88);
	market_add(&market, "runpod", "8xh100", "H100 SXM5 80GB", 8, 21.52);
	market_add(&market, "runpod", "8xb200", "B200 SXM 180GB", 8, 47.92);
	market_add(&market, "runpod", "8xh200", "H200 SXM 141GB", 8, 28.72);
	market_add(&market, "aws", "p6-b300.48xlarge", "B300 SXM 288GB", 8, 142);
}

#endif
