/* What is billed, stored and moved, by hand-made jobs. What nobody publishes and what is taken
 * away: test_cost_unknown.c. */
#include "tests/core/costing.h"

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

/* 24 sessions of 100 s of work, once a day; 730 GB at $0.10 for 730 h: $0.10 an hour. */
START_TEST(between_sessions_storage_is_paid_and_the_disk_spares_a_start)
{
	struct workload workload = training();
	struct cost_work work = work_of(&workload);
	struct cost_job job = job_of(&work, 2400, 1, 24);
	struct cost_terms terms = {.setup_seconds = 60,
				   .keeps_data = true,
				   .bills_storage = true,
				   .bills_stopped_storage = true,
				   .volume_usd_per_gb_month = 0.10};
	struct cost cost;

	work.stored_gb = 730;
	work.assumptions.image_gb = 5; /* 20 s */
	/* Deleted, with a volume: each later start takes 60 + 20 s. */
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 3600000), &cost));
	ck_assert_int_eq(cost.between, BETWEEN_VOLUME);
	ck_assert_double_eq_tol(cost.wall_seconds, (60 + 60 + 100) + 23 * (80 + 100), 1e-6);
	ck_assert_double_eq_tol(cost.stopped_seconds, 23 * (86400 - 180), 1e-6);
	ck_assert_int_eq(cost.compute_micros, 1000 * (220 + 23 * 180));
	ck_assert_int_eq(cost.stopped_storage_micros, llround(23 * (86400 - 180) / 36000e-6));
	ck_assert_int_gt(cost.storage_micros, cost.stopped_storage_micros);
	check_sum(&cost);
	/* Stopped, unbilled: the image need not come again. */
	terms.keeps_machine = true;
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 3600000), &cost));
	ck_assert_int_eq(cost.between, BETWEEN_STOP);
	ck_assert_int_eq(cost.compute_micros, 1000 * (220 + 23 * 160));
	/* One session waits for nothing. */
	job.sessions = 1;
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 3600000), &cost));
	ck_assert_int_eq(cost.between, BETWEEN_NOTHING);
	ck_assert_int_eq(cost.stopped_storage_micros, 0);
}
END_TEST

/* Nothing survives the machine: data come in and a checkpoint goes out every session. */
START_TEST(without_a_volume_checkpoints_leave_and_come_back)
{
	struct workload workload = training();
	struct cost_work work = work_of(&workload);
	struct cost_job job = job_of(&work, 4000, 1, 4);
	struct cost_terms terms = {.setup_seconds = 60, .egress_usd_per_gb = 0.10};
	struct cost cost;

	work.checkpoint_gb = 2; /* 8 s each way, 2 s to stop the step */
	job.egress_gb = 1;
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 3600000), &cost));
	ck_assert_int_eq(cost.between, BETWEEN_DELETE);
	ck_assert_double_eq_tol(cost.wall_seconds, 4 * 1100 + 3 * (8 + 10), 1e-6);
	ck_assert_int_eq(cost.egress_micros, 700000); /* 3 x 2 GB and the result */
	/* On spot, those of every interval too. */
	job.sessions = 1;
	terms.interruptions_per_hour = 0.25;
	ck_assert(cost_of(&job, &terms, at(PRICE_SPOT, 3600000), &cost));
	ck_assert_int_eq(cost.egress_micros,
			 llround(1e5 * (1 + 2 * floor(4000 / cost.checkpoint_interval_seconds))));
	terms.keeps_data = true;
	ck_assert(cost_of(&job, &terms, at(PRICE_SPOT, 3600000), &cost));
	ck_assert_int_eq(cost.egress_micros, 100000);
}
END_TEST

START_TEST(hours_a_day_make_sessions_and_a_part_of_a_month)
{
	struct workload run = market_workload("meta-llama/Llama-3.1-8B",
					      "task=finetune method=lora total_tokens=36000000 "
					      "hours_per_day=4");
	struct workload endpoint = market_workload("meta-llama/Llama-3.1-8B",
						   "task=inference concurrency=4 hours_per_day=8");
	struct plan plan = {.layout = {.nodes = 1, .sequences = 4}};
	struct cost_terms terms = {.granularity_seconds = 1, .setup_seconds = 60};
	struct cost_work work;
	struct cost_job job;
	struct cost cost;

	/* 10 hours of work in three days of four. */
	plan.speed.tokens_per_second = 1000;
	cost_work_prepare(&run, NULL, &work);
	ck_assert(cost_job_prepare(&work, &plan, &job));
	ck_assert_double_eq_tol(job.sessions, 3, 1e-9);
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 1000000), &cost));
	ck_assert_double_gt(cost.elapsed_seconds, 2 * 86400);
	ck_assert_double_lt(cost.elapsed_seconds, 3 * 86400);
	/* An endpoint of eight hours a day: a third of a month and a start a day. */
	plan.speed.requests_per_second = 10;
	cost_work_prepare(&endpoint, NULL, &work);
	ck_assert(cost_job_prepare(&work, &plan, &job));
	ck_assert_double_eq_tol(job.run_seconds, 730 * 1200.0, 1e-6);
	ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 3600000), &cost));
	ck_assert_double_gt((double)cost.compute_micros, 1000 * 730 * 1200.0);
	ck_assert_double_lt((double)cost.compute_micros, 1000 * 730 * 1200.0 * 1.05);
}
END_TEST

START_TEST(a_commitment_is_paid_used_or_not)
{
	struct workload workload = training();
	struct workload endpoint = market_workload("meta-llama/Llama-3.1-8B",
						   "task=inference concurrency=4 hours_per_day=8");
	struct plan plan = {.layout = {.nodes = 1, .sequences = 4}};
	struct cost_terms terms = {.granularity_seconds = 1, .setup_seconds = 60};
	struct cost_work work = work_of(&workload);
	struct cost_job job = job_of(&work, 600 * 3600.0, 1, 1);
	struct cost cost;

	/* 600 hours of work in a month of 730. */
	the_price = (struct cost_price){PRICE_RESERVED, 1000000, (double)NAN, 730 * 3600.0};
	ck_assert(cost_of(&job, &terms, &the_price, &cost));
	ck_assert_int_eq(cost.compute_micros, 730000000);
	/* 20 days of an hour: the nights are paid for once the term is over. */
	the_price.term_seconds = 3600;
	job = job_of(&work, 20 * 3600.0, 1, 20);
	ck_assert(cost_of(&job, &terms, &the_price, &cost));
	ck_assert_int_eq(cost.between, BETWEEN_STOP);
	ck_assert_double_gt((double)cost.compute_micros, 19 * 24e6);
	/* An endpoint of eight hours a day pays for the whole month. */
	plan.speed.requests_per_second = 10;
	cost_work_prepare(&endpoint, NULL, &work);
	ck_assert(cost_job_prepare(&work, &plan, &job));
	ck_assert(cost_of(&job, &terms, &the_price, &cost));
	ck_assert_int_eq(cost.compute_micros, 730000000);
	check_sum(&cost);
}
END_TEST

START_TEST(storage_that_reads_too_slowly_bounds_the_run)
{
	struct workload workload = market_workload("meta-llama/Llama-3.1-8B",
						   "task=finetune method=lora total_tokens=1000000 "
						   "bytes_per_token=2000000");
	struct cost_assumptions slow = cost_assumptions_default;
	struct plan plan = {.layout = {.nodes = 2}};
	struct cost_work work;

	/* 2 nodes x 1 GB/s over 2 MB a token: 1,000 tokens a second, no more. */
	plan.speed = (struct speed_estimate){.tokens_per_second = 900, .step.seconds = 10};
	cost_work_prepare(&workload, NULL, &work);
	ck_assert(!cost_throttle(&work, &plan));
	plan.speed.tokens_per_second = 4000;
	ck_assert(cost_throttle(&work, &plan));
	ck_assert_double_eq_tol(plan.speed.tokens_per_second, 1000, 1e-6);
	ck_assert_double_eq_tol(plan.speed.step.seconds, 40, 1e-6);
	ck_assert_int_eq(plan.speed.bottleneck, BOTTLENECK_DATA_LOADING);
	ck_assert(cost_assumption_set(&slow, ASSUMPTION_storage_read_gb_per_second, 0.1));
	cost_work_prepare(&workload, &slow, &work);
	ck_assert(cost_throttle(&work, &plan));
	ck_assert_double_eq_tol(plan.speed.tokens_per_second, 100, 1e-6);
}
END_TEST

/* 8.03 B parameters: 16.1 GB in 16 bits, and in 4 bits with 16-bit embeddings and head 5.7. What is
 * made while loading comes in 16 bits. */
START_TEST(weights_come_and_stay_in_the_bits_of_their_files)
{
	static const struct {
		enum format format;
		double gb;
	} cases[] = {{FORMAT_BF16, 16.06},
		     {FORMAT_FP8, 16.06},
		     {FORMAT_AWQ, 5.73},
		     {FORMAT_Q4_K_M, 4.92}};
	struct workload workload =
		market_workload("meta-llama/Llama-3.1-8B", "task=inference requests=1000");
	struct cost_terms terms = {.bills_storage = true, .volume_usd_per_gb_month = 730};
	struct plan plan = {.layout = {.nodes = 1, .sequences = 1}};
	struct cost_work work;
	struct cost_job job;
	struct cost cost;

	plan.speed.requests_per_second = 1;
	cost_work_prepare(&workload, NULL, &work);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		plan.layout.weight_format = cases[i].format;
		ck_assert(cost_job_prepare(&work, &plan, &job));
		ck_assert(cost_of(&job, &terms, at(PRICE_ON_DEMAND, 1000000), &cost));
		/* The image's 10 GB and the weights at 0.25 GB/s, then loaded at 1 GB/s. */
		ck_assert_double_eq_tol(cost.start_seconds, 40 + 5 * cases[i].gb, 0.2);
		ck_assert_double_eq_tol((double)cost.storage_micros / 1e6,
					cases[i].gb * cost.wall_seconds / 3600, 0.01);
	}
}
END_TEST

START_TEST(reading_and_writing_share_the_total)
{
	struct workload workload = market_workload(
		"meta-llama/Llama-3.1-8B",
		"task=inference mode=batch requests=1000 prompt_tokens=300 output_tokens=100");
	struct plan plan = {.layout = {.nodes = 1, .sequences = 10}};
	struct cost_work work;
	struct cost_job job;
	struct cost cost;

	/* Ten prompts take 10 x 0.2 s, then 100 tokens of all ten take 100 x 0.06 s: 2 s of 8. */
	plan.speed.requests_per_second = 1.25;
	plan.speed.prefill.seconds = 0.2;
	plan.speed.decode.seconds = 0.06;
	cost_work_prepare(&workload, NULL, &work);
	ck_assert(cost_job_prepare(&work, &plan, &job));
	ck_assert(cost_of(&job, &hourly, at(PRICE_ON_DEMAND, 3600000), &cost));
	ck_assert_double_eq_tol((double)cost.per_million_input_micros,
				(double)cost.total_micros * 0.25 / 0.3, 2);
	ck_assert_double_eq_tol((double)cost.per_million_output_micros,
				(double)cost.total_micros * 0.75 / 0.1, 2);
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

START_TEST(without_an_amount_of_work_a_unit_is_priced)
{
	struct workload workload =
		market_workload("meta-llama/Llama-3.1-8B", "task=finetune method=lora");
	struct plan plan = {.layout = {.nodes = 1}};
	struct cost_work work;
	struct cost_job job;
	struct cost cost;

	plan.speed.tokens_per_second = 1000;
	cost_work_prepare(&workload, NULL, &work);
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
	cost_work_prepare(&workload, NULL, &work);
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

		resolve(&terms_table[market_random(&state) % terms_count], &terms);
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
	tcase_add_test(tests, between_sessions_storage_is_paid_and_the_disk_spares_a_start);
	tcase_add_test(tests, without_a_volume_checkpoints_leave_and_come_back);
	tcase_add_test(tests, hours_a_day_make_sessions_and_a_part_of_a_month);
	tcase_add_test(tests, a_commitment_is_paid_used_or_not);
	tcase_add_test(tests, storage_that_reads_too_slowly_bounds_the_run);
	tcase_add_test(tests, weights_come_and_stay_in_the_bits_of_their_files);
	tcase_add_test(tests, reading_and_writing_share_the_total);
	tcase_add_test(tests, storage_and_egress_are_counted);
	tcase_add_test(tests, without_an_amount_of_work_a_unit_is_priced);
	tcase_add_test(tests, an_endpoint_is_priced_by_the_month);
	tcase_add_test(tests, unknown_prices_and_overflow_are_no_cost);
	tcase_add_test(tests, a_higher_price_never_costs_less);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
