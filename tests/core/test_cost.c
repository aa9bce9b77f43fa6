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

static struct workload training(void)
{
	return market_workload("meta-llama/Llama-3.1-8B",
			       "task=finetune method=lora total_tokens=1000000");
}

/* 10 GB to load at 0.25 GB/s: 40 s, and a minute of set-up: 100 s before the first step. */
static struct cost_work work_of(const struct workload *workload)
{
	return (struct cost_work){.workload = workload, .download_gb = 10};
}

static struct cost_job job_of(const struct cost_work *work, double run_seconds, int nodes,
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

static const struct cost_price *at(enum price_kind kind, int64_t micros)
{
	the_price = (struct cost_price){kind, micros, (double)NAN};
	return &the_price;
}

static void check_sum(const struct cost *cost)
{
	ck_assert_int_eq(cost->total_micros, cost->compute_micros + cost->storage_micros +
						     cost->egress_micros +
						     cost->interruption_micros);
}

START_TEST(billed_time_is_rounded_up_for_every_node)
{
	struct workload workload = training();
	struct cost_work work = work_of(&workload);
	struct cost_job job = job_of(&work, 5000, 2, 1);
	struct cost cost;

	/* 100 + 5,000 s = 1.42 h, billed as 2 h: 2 nodes x 2 h x $10. */
	ck_assert(cost_of(&job, &hourly, at(PRICE_ON_DEMAND, 10000000), &cost));
	ck_assert_double_eq_tol(cost.wall_seconds, 5100, 1e-9);
	ck_assert_double_eq_tol(cost.billed_seconds, 7200, 1e-9);
	ck_assert_int_eq(cost.usd_per_hour_micros, 20000000);
	ck_assert_int_eq(cost.compute_micros, 40000000);
	ck_assert_int_eq(cost.total_micros, 40000000);
	check_sum(&cost);
	/* 5,000,000 tokens for $40. */
	ck_assert_int_eq(cost.per_million_tokens_micros, 8000000);
}
END_TEST

START_TEST(a_minimum_charge_counts_once_a_session)
{
	struct workload workload = training();
	struct cost_work work = work_of(&workload);
	struct cost_job job = job_of(&work, 600, 1, 3);
	struct cost_terms terms = hourly;
	struct cost cost;

	/* 3 sessions of 200 s, the first after 100 s, the others after 60 s (the volume holds the
	 * data): an hour each by minimum. */
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 6000000), &cost));
	ck_assert_double_eq_tol(cost.wall_seconds, 300 + 260 + 260, 1e-9);
	ck_assert_int_eq(cost.compute_micros, 18000000);
	/* By the second: 820 s of $6 an hour. */
	terms.granularity_seconds = 1;
	terms.minimum_seconds = 0;
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 6000000), &cost));
	ck_assert_int_eq(cost.compute_micros, llround(6000000.0 * 820 / 3600));
	/* Without a volume the data come anew each time: 3 x 300 s. */
	terms.keeps_data = false;
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 6000000), &cost));
	ck_assert_int_eq(cost.compute_micros, llround(6000000.0 * 900 / 3600));
}
END_TEST

START_TEST(storage_and_egress_are_counted)
{
	struct workload workload = training();
	struct cost_work work = work_of(&workload);
	struct cost_job job = job_of(&work, 3500, 1, 1);
	struct cost_terms terms = hourly;
	struct cost cost;

	work.stored_gb = 730;
	job.egress_gb = 150;
	terms.volume_usd_per_gb_month = 0.10;
	terms.egress_usd_per_gb = 0.09;
	terms.free_egress_gb = 100;
	/* 100 + 3,500 s = 1 h of 730 GB at $0.10 for 730 h: $0.10. 50 GB leave at $0.09: $4.50. */
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 1000000), &cost));
	ck_assert_int_eq(cost.storage_micros, 100000);
	ck_assert_int_eq(cost.egress_micros, 4500000);
	ck_assert_int_eq(cost.compute_micros, 1000000);
	check_sum(&cost);
}
END_TEST

START_TEST(spot_pays_for_checkpoints_lost_work_and_restarts)
{
	struct workload workload = training();
	struct cost_work work = work_of(&workload);
	struct cost_job job = job_of(&work, 100000, 1, 1);
	struct cost_terms terms = {.granularity_seconds = 1,
				   .setup_seconds = 60,
				   .keeps_data = true,
				   .interruptions_per_hour = 0.5};
	struct cost cost;
	double stall, between = 7200, interval, share;

	/* 8 GB at 1 GB/s and 2 s: 10 s. Young/Daly: sqrt(2 x 10 x 7,200) - 10 = 369.5 s. */
	work.checkpoint_gb = 8;
	stall = 10;
	interval = sqrt(2 * stall * between) - stall;
	share = stall / interval + interval / (2 * between) + (60 + 8) / between;
	ck_assert(cost_of(&job, &terms, at(PRICE_SPOT, 3600000), &cost));
	ck_assert_double_eq_tol(cost.checkpoint_interval_seconds, 369.5, 0.05);
	ck_assert_double_eq_tol((double)cost.interruption_micros, 1000 * 100000 * share, 2000);
	ck_assert_int_eq(cost.compute_micros, 1000 * 100100);
	check_sum(&cost);
	/* On demand none of it. */
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 3600000), &cost));
	ck_assert_int_eq(cost.interruption_micros, 0);
	ck_assert_double_eq_tol(cost.checkpoint_interval_seconds, 0, 1e-9);
}
END_TEST

START_TEST(a_given_checkpoint_interval_is_kept)
{
	struct workload workload = market_workload("meta-llama/Llama-3.1-8B",
						   "task=finetune method=lora total_tokens=1000 "
						   "checkpoint_interval_seconds=1234");
	struct cost_work work = work_of(&workload);
	struct cost_job job = job_of(&work, 100000, 1, 1);
	struct cost_terms terms = {.interruptions_per_hour = 0.25};
	struct cost cost;

	ck_assert(cost_of(&job, &terms, at(PRICE_SPOT, 1000000), &cost));
	ck_assert_double_eq_tol(cost.checkpoint_interval_seconds, 1234, 1e-9);
}
END_TEST

START_TEST(more_nodes_are_interrupted_more_often)
{
	struct workload workload = training();
	struct cost_work work = work_of(&workload);
	struct cost_terms terms = {.setup_seconds = 60, .interruptions_per_hour = 0.25};
	struct cost_job one = job_of(&work, 36000, 1, 1), eight = job_of(&work, 36000, 8, 1);
	struct cost a, b;

	ck_assert(cost_of(&one, &terms, at(PRICE_SPOT, 1000000), &a));
	ck_assert(cost_of(&eight, &terms, at(PRICE_SPOT, 1000000), &b));
	ck_assert_int_gt(b.interruption_micros, 8 * a.interruption_micros);
	ck_assert_double_lt(b.checkpoint_interval_seconds, a.checkpoint_interval_seconds);
}
END_TEST

START_TEST(without_an_amount_of_work_a_unit_is_priced)
{
	struct workload workload =
		market_workload("meta-llama/Llama-3.1-8B", "task=finetune method=lora");
	struct plan plan = {.layout = {.nodes = 1}};
	struct cost_work work;
	struct cost_job job;
	struct cost cost;

	plan.speed.tokens_per_second = 1000;
	cost_work_prepare(&workload, &work);
	ck_assert(cost_job_prepare(&work, &plan, &job));
	ck_assert_int_eq(job.basis, COST_UNIT);
	/* A million tokens take 1,000 s: $3.60 an hour makes $1. */
	ck_assert(cost_of(&job, &hourly, at(PRICE_ON_DEMAND, 3600000), &cost));
	ck_assert_int_eq(cost.total_micros, 1000000);
	ck_assert_int_eq(cost.per_million_tokens_micros, 1000000);
	ck_assert_double_eq_tol(cost.run_seconds, 0, 1e-9);
}
END_TEST

START_TEST(an_endpoint_is_priced_by_the_month)
{
	struct workload workload = market_workload(
		"meta-llama/Llama-3.1-8B",
		"task=inference requests_per_second=2 prompt_tokens=100 output_tokens=50");
	struct plan plan = {.layout = {.nodes = 2}};
	struct cost_work work;
	struct cost_job job;
	struct cost cost;

	plan.speed.requests_per_second = 10;
	plan.speed.tokens_per_second = 500;
	cost_work_prepare(&workload, &work);
	ck_assert(cost_job_prepare(&work, &plan, &job));
	ck_assert_int_eq(job.basis, COST_MONTH);
	ck_assert(cost_of(&job, &(struct cost_terms){.granularity_seconds = 1},
			  at(PRICE_ON_DEMAND, 1000000), &cost));
	/* 2 machines, 730 h, $1; the load of 100 tokens a second pays for it, not the 500 possible.
	 */
	ck_assert_int_eq(cost.compute_micros, INT64_C(1460000000));
	ck_assert_int_eq(cost.per_million_tokens_micros,
			 llround(1460e6 / (100 * 730 * 3600.0 / 1e6)));
}
END_TEST

START_TEST(unknown_terms_are_the_dearest_quartile_and_named)
{
	struct cost_terms unknown, known;
	const struct terms *aws = terms_find("aws");
	unsigned dearer = 0, priced = 0;

	ck_assert_ptr_nonnull(aws);
	cost_terms_resolve(NULL, &unknown);
	cost_terms_resolve(aws, &known);
	ck_assert_uint_eq(unknown.assumed, COST_ASSUMED_GRANULARITY | COST_ASSUMED_MINIMUM |
						   COST_ASSUMED_VOLUME_PRICE |
						   COST_ASSUMED_EGRESS_PRICE |
						   COST_ASSUMED_INTERRUPTIONS | COST_ASSUMED_SETUP);
	ck_assert_double_eq_tol(known.granularity_seconds, aws->billing_granularity_seconds, 1e-9);
	ck_assert_double_eq_tol(known.egress_usd_per_gb, aws->egress_usd_per_gb, 1e-9);
	ck_assert(!(known.assumed & COST_ASSUMED_EGRESS_PRICE));
	ck_assert_double_gt(unknown.egress_usd_per_gb, 0);
	ck_assert_double_gt(unknown.volume_usd_per_gb_month, 0);
	ck_assert_double_gt(unknown.interruptions_per_hour, 0);
	/* No more than a quarter of those who publish are dearer. */
	for (size_t i = 0; i < terms_count; i++)
		if (!isnan(terms_table[i].egress_usd_per_gb)) {
			priced++;
			dearer += terms_table[i].egress_usd_per_gb > unknown.egress_usd_per_gb;
		}
	ck_assert_uint_le(dearer * 4, priced);
}
END_TEST

START_TEST(no_provider_gets_a_term_for_nothing_by_silence)
{
	for (size_t i = 0; i < terms_count; i++) {
		const struct terms *terms = &terms_table[i];
		struct cost_terms resolved;

		cost_terms_resolve(terms, &resolved);
		ck_assert(isfinite(resolved.granularity_seconds));
		ck_assert(isfinite(resolved.minimum_seconds));
		ck_assert(isfinite(resolved.setup_seconds));
		ck_assert(isfinite(resolved.egress_usd_per_gb));
		ck_assert(isfinite(resolved.volume_usd_per_gb_month));
		ck_assert(isfinite(resolved.interruptions_per_hour));
		if (isnan(terms->egress_usd_per_gb))
			ck_assert(resolved.assumed & COST_ASSUMED_EGRESS_PRICE);
		if (isnan(terms->setup_delay_seconds))
			ck_assert(resolved.assumed & COST_ASSUMED_SETUP);
	}
}
END_TEST

START_TEST(unknown_prices_and_overflow_are_no_cost)
{
	struct workload workload = training();
	struct cost_work work = work_of(&workload);
	struct cost_job job = job_of(&work, 3600, 4, 1);
	struct cost cost;

	ck_assert(!cost_of(&job, &hourly, at(PRICE_ON_DEMAND, PRICE_UNKNOWN), &cost));
	ck_assert(!cost_of(&job, &hourly, at(PRICE_ON_DEMAND, 0), &cost));
	ck_assert(!cost_of(&job, &hourly, at(PRICE_ON_DEMAND, INT64_MAX / 2), &cost));
	job.run_seconds = 1e18;
	ck_assert(!cost_of(&job, &hourly, at(PRICE_ON_DEMAND, INT64_C(1000000000000)), &cost));
}
END_TEST

START_TEST(a_higher_price_never_costs_less)
{
	uint64_t state = 20261001;

	for (int i = 0; i < 3000; i++) {
		struct workload workload = training();
		struct cost_work work = work_of(&workload);
		struct cost_job job = job_of(&work, (double)(market_random(&state) % 1000000 + 1),
					     (int)(market_random(&state) % 8 + 1),
					     (int)(market_random(&state) % 5 + 1));
		struct cost_terms terms;
		int64_t price = (int64_t)(market_random(&state) % 100000000 + 1);
		enum price_kind kind = market_random(&state) % 2 ? PRICE_SPOT : PRICE_ON_DEMAND;
		struct cost a, b;

		cost_terms_resolve(&terms_table[market_random(&state) % terms_count], &terms);
		work.checkpoint_gb = (double)(market_random(&state) % 1000);
		work.stored_gb = (double)(market_random(&state) % 5000);
		job.egress_gb = (double)(market_random(&state) % 500);
		if (!cost_of(&job, &terms, at(kind, price), &a) ||
		    !cost_of(&job, &terms, at(kind, price + 1 + price / 7), &b))
			ck_abort_msg("no cost");
		if (a.total_micros > b.total_micros || a.compute_micros < 0 ||
		    a.total_micros != a.compute_micros + a.storage_micros + a.egress_micros +
					      a.interruption_micros ||
		    a.billed_seconds + 1e-6 < a.run_seconds)
			ck_abort_msg("case %d", i);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cost");
	TCase *tests = tcase_create("cost");

	tcase_add_test(tests, billed_time_is_rounded_up_for_every_node);
	tcase_add_test(tests, a_minimum_charge_counts_once_a_session);
	tcase_add_test(tests, storage_and_egress_are_counted);
	tcase_add_test(tests, spot_pays_for_checkpoints_lost_work_and_restarts);
	tcase_add_test(tests, a_given_checkpoint_interval_is_kept);
	tcase_add_test(tests, more_nodes_are_interrupted_more_often);
	tcase_add_test(tests, without_an_amount_of_work_a_unit_is_priced);
	tcase_add_test(tests, an_endpoint_is_priced_by_the_month);
	tcase_add_test(tests, unknown_terms_are_the_dearest_quartile_and_named);
	tcase_add_test(tests, no_provider_gets_a_term_for_nothing_by_silence);
	tcase_add_test(tests, unknown_prices_and_overflow_are_no_cost);
	tcase_add_test(tests, a_higher_price_never_costs_less);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
