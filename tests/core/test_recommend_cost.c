/* What besides the price of an hour decides: billing, storage, egress, data, interruptions, terms;
 * what the answer says of it, and which other ways it names. */
#include "tests/core/answer.h"

#include <math.h>
#include <stdio.h>

#define QLORA_8B "task=finetune method=qlora "

static const char *first_of(const struct recommend_request *request)
{
	struct recommend_answer answer = ask(request);

	ck_assert_int_gt(answer.recommendations_count, 0);
	return answer.recommendations[0].offer->instance_type;
}

/* 20 copies of a checkpoint of 112 GB (14 B a parameter): $0.12 a GB at one, free at the other. */
START_TEST(egress_turns_an_order_round)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=full total_tokens=20000000");
	struct cost_assumptions assumptions = cost_assumptions_default;
	struct recommend_answer answer;

	request.group = GROUP_OFFER;
	request.assumptions = &assumptions;
	market_add(&market, "gcp", "billed", "H100 SXM5 80GB", 8, 20);
	market_add(&market, "nebius", "free", "H100 SXM5 80GB", 8, 28);
	ck_assert_str_eq(first_of(&request), "billed");
	ck_assert(cost_assumption_set(&assumptions, ASSUMPTION_checkpoints_exported, 20));
	answer = ask(&request);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "free");
	ck_assert_ptr_nonnull(warning(by_type(&answer, "billed"), "egress_heavy"));
	ck_assert_int_eq(by_type(&answer, "free")->cost.egress_micros, 0);
	ck_assert_double_eq_tol(usd_from_micros(by_type(&answer, "billed")->cost.egress_micros),
				0.12 * (20 * 14 + 2) * 8.03, 3);
}
END_TEST

/* A terabyte that waits for a month of evenings: $0.20 a GB and month against $0.07. */
START_TEST(storage_between_sessions_turns_an_order_round)
{
	struct recommend_request once = request_for("meta-llama/Llama-3.1-8B", QLORA_8B
						    "total_tokens=20000000 dataset_gb=1000");
	struct recommend_request evenings =
		request_for("meta-llama/Llama-3.1-8B",
			    QLORA_8B "total_tokens=20000000 dataset_gb=1000 sessions=30");
	struct recommend_answer answer;

	once.group = evenings.group = GROUP_OFFER;
	market_add(&market, "lambda", "dear-disk", "A100 SXM4 80GB", 1, 1.20);
	market_add(&market, "coreweave", "cheap-disk", "A100 SXM4 80GB", 1, 1.50);
	ck_assert_str_eq(first_of(&once), "dear-disk");
	answer = ask(&evenings);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "cheap-disk");
	ck_assert_ptr_nonnull(warning(by_type(&answer, "dear-disk"), "storage_heavy"));
	ck_assert_ptr_nonnull(warning(by_type(&answer, "dear-disk"), "storage_while_stopped"));
}
END_TEST

/* A corpus of 500 GB takes 2,000 s at 0.25 GB/s: once, or every time. */
START_TEST(a_corpus_that_is_loaded_anew_each_time_costs_more_than_a_dearer_machine)
{
	struct recommend_request request =
		request_for("meta-llama/Llama-3.1-8B",
			    QLORA_8B "total_tokens=20000000 dataset_gb=500 sessions=10");
	struct recommend_answer answer;
	const struct recommendation *again, *kept;

	request.group = GROUP_OFFER;
	market_add(&market, "hotaisle", "no-volume", "A100 SXM4 80GB", 8, 9.60);
	market_add(&market, "runpod", "volume", "A100 SXM4 80GB", 8, 12.00);
	answer = ask(&request);
	again = by_type(&answer, "no-volume");
	kept = by_type(&answer, "volume");
	ck_assert_ptr_eq(kept, &answer.recommendations[0]);
	ck_assert_double_ge(again->cost.billed_seconds - kept->cost.billed_seconds, 9 * 1900);
	ck_assert_ptr_nonnull(warning(again, "no_volume"));
	ck_assert_ptr_null(warning(kept, "no_volume"));
}
END_TEST

START_TEST(a_machine_that_is_billed_while_stopped_is_told_of)
{
	struct recommend_request request = request_for("meta-llama/Llama-3.1-8B", QLORA_8B
						       "total_tokens=20000000 hours_per_day=1");
	struct recommend_answer answer;
	const struct recommendation *item;

	request.group = GROUP_OFFER;
	market_add(&market, "vultr", "billed", "A40 48GB", 1, 1);
	market_add(&market, "runpod", "free", "A40 48GB", 1, 1);
	answer = ask(&request);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "free");
	item = by_type(&answer, "billed");
	ck_assert_ptr_nonnull(warning(item, "billed_while_stopped"));
	ck_assert_int_eq(item->cost.between, BETWEEN_VOLUME);
	ck_assert_int_eq(by_type(&answer, "free")->cost.between, BETWEEN_STOP);
	ck_assert_double_gt(item->cost.elapsed_seconds, 2 * 86400);
	/* A deadline counts the nights too. */
	request.constraints.deadline_seconds = 86400;
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 0);
	ck_assert_ptr_nonnull(excluded(&answer, "deadline"));
	ck_assert_ptr_nonnull(remedy_of(&answer, "relax_deadline"));
}
END_TEST

/* Where the data come too slowly, a faster card waits with them: the cheap one wins. */
START_TEST(storage_that_throttles_the_card_makes_the_cheap_one_best)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=lora total_tokens=20000000");
	struct recommend_request throttled =
		request_for("meta-llama/Llama-3.1-8B",
			    "task=finetune method=lora total_tokens=20000000 dataset_gb=30000");
	struct recommend_answer answer;

	market_add(&market, "runpod", "h100", "H100 SXM5 80GB", 1, 2.69);
	market_add(&market, "runpod", "a100", "A100 SXM4 80GB", 1, 1.49);
	ck_assert_str_eq(first_of(&request), "h100");
	answer = ask(&throttled);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "a100");
	for (int i = 0; i < 2; i++) {
		const struct recommendation *item = &answer.recommendations[i];

		ck_assert_int_eq(item->plan.speed.bottleneck, BOTTLENECK_DATA_LOADING);
		ck_assert_ptr_nonnull(warning(item, "data_loading"));
		/* 30 TB at 1 GB/s. */
		ck_assert_double_eq_tol(item->cost.run_seconds, 30000, 1);
	}
}
END_TEST

/* One footing: a provider does not win on spot by telling no rate, nor lose by telling one. */
START_TEST(spot_of_a_silent_provider_is_neither_safe_nor_a_thousand_times_worse)
{
	struct recommend_request request =
		request_for("meta-llama/Llama-3.1-8B",
			    "task=finetune method=full total_tokens=100000000 fault_tolerant=true");
	struct recommend_answer answer;
	const struct recommendation *told, *silent;

	request.group = GROUP_OFFER;
	market_add(&market, "aws", "p4de.24xlarge", "A100 SXM4 80GB", 8, 10)->price_kind =
		PRICE_SPOT;
	market_add(&market, "gcp", "a2", "A100 SXM4 80GB", 8, 10)->price_kind = PRICE_SPOT;
	for (size_t i = 0; i < market.count; i++)
		market.offers[i].region = "us-east-1";
	answer = ask(&request);
	told = by_type(&answer, "p4de.24xlarge");
	silent = by_type(&answer, "a2");
	ck_assert_double_gt(silent->cost.interruptions_per_hour, told->cost.interruptions_per_hour);
	ck_assert_double_lt(silent->cost.interruptions_per_hour,
			    20 * told->cost.interruptions_per_hour);
	ck_assert_int_gt(told->cost.interruption_micros, 0);
	ck_assert(silent->cost.assumed & COST_ASSUMED_INTERRUPTIONS);
	ck_assert(!(told->cost.assumed & COST_ASSUMED_INTERRUPTIONS));
}
END_TEST

START_TEST(a_commitment_suits_a_pretraining_that_lasts_as_long)
{
	struct recommend_request request =
		request_for("meta-llama/Llama-3.1-8B", "task=pretrain total_tokens=300000000000");
	struct offer *reserved;

	market_add(&market, "aws", "od", "H100 SXM5 80GB", 8, 55);
	reserved = market_add(&market, "aws", "ri", "H100 SXM5 80GB", 8, 34);
	reserved->price_kind = PRICE_RESERVED;
	reserved->term_months = 1;
	request.group = GROUP_OFFER;
	ck_assert_str_eq(first_of(&request), "ri");
}
END_TEST

START_TEST(an_expensive_answer_names_cheaper_ways_that_hold)
{
	struct recommend_request endpoint = request_for(
		"meta-llama/Llama-3.1-70B", "task=inference concurrency=8 prompt_tokens=2000");
	struct recommend_request run =
		request_for("meta-llama/Llama-3.1-8B", QLORA_8B "total_tokens=3000000000");
	static const char *const providers[] = {"aws"};
	struct recommend_answer answer;
	const struct remedy *remedy;

	market_add(&market, "runpod", "2xh100", "H100 SXM5 80GB", 2, 5.38);
	market_add(&market, "runpod", "h100", "H100 SXM5 80GB", 1, 2.69);
	market_add(&market, "runpod", "spot", "H100 SXM5 80GB", 1, 1.20)->price_kind = PRICE_SPOT;
	market_add(&market, "aws", "dear", "H100 SXM5 80GB", 1, 9.00);
	answer = ask(&endpoint);
	for (int i = 0; i < answer.remedies_count; i++)
		ck_assert_int_lt(answer.remedies[i].result->cost.total_micros * 10,
				 answer.recommendations[0].cost.total_micros * 8 + 1);
	answer = ask(&run);
	remedy = remedy_of(&answer, "spot");
	ck_assert_ptr_nonnull(remedy);
	ck_assert_str_eq(remedy->result->offer->instance_type, "spot");
	run.filters.providers = providers;
	run.filters.providers_count = 1;
	answer = ask(&run);
	remedy = remedy_of(&answer, "relax_filters");
	ck_assert_ptr_nonnull(remedy);
	ck_assert_str_eq(remedy->result->offer->instance_type, "h100");
	/* A budget that nothing keeps. */
	run.constraints.max_total_micros = 1000000;
	answer = ask(&run);
	ck_assert_int_eq(answer.recommendations_count, 0);
	ck_assert_ptr_nonnull(remedy_of(&answer, "relax_budget"));
}
END_TEST

START_TEST(many_gpus_in_one_machine_are_said_to_be_scarce)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=full total_tokens=20000000");
	struct recommend_answer answer;

	market_add(&market, "runpod", "eight", "H100 SXM5 80GB", 8, 21);
	market_add(&market, "lambda", "stocked", "H200 SXM 141GB", 8, 28)->quantity = 4;
	market_add(&market, "runpod", "two", "B200 SXM 180GB", 2, 12);
	answer = ask(&request);
	ck_assert_ptr_nonnull(warning(by_type(&answer, "eight"), "scarce_multi_gpu"));
	ck_assert_ptr_null(warning(by_type(&answer, "stocked"), "scarce_multi_gpu"));
	ck_assert_ptr_null(warning(by_type(&answer, "two"), "scarce_multi_gpu"));
}
END_TEST

/* A deadline that nothing keeps is missed by least where most machines share the work. */
START_TEST(the_nearest_miss_of_a_deadline_is_the_soonest)
{
	struct recommend_request request =
		request_for("meta-llama/Llama-3.1-8B", "task=pretrain total_tokens=100000000000");
	struct recommend_answer answer;
	const struct exclusion *late;
	double hours, least = 1e9;

	market_add(&market, "aws", "p5.48xlarge", "H100 SXM5 80GB", 8, 55);
	market_add(&market, "runpod", "8xb200", "B200 SXM 180GB", 8, 47.92);
	request.constraints.max_nodes = 8;
	request.objective = OBJECTIVE_TIME;
	answer = ask(&request);
	for (int i = 0; i < answer.recommendations_count; i++)
		least = fmin(least, answer.recommendations[i].cost.elapsed_seconds);
	request.objective = OBJECTIVE_TOTAL_COST;
	request.constraints.deadline_seconds = 3600;
	answer = ask(&request);
	late = excluded(&answer, "deadline");
	ck_assert_ptr_nonnull(late);
	ck_assert_int_eq(sscanf(strstr(late->nearest_text, "take "), "take %lf h", &hours), 1);
	ck_assert_double_eq_tol(hours, least / 3600, 0.06);
}
END_TEST

START_TEST(several_machines_need_storage_that_all_see)
{
	struct recommend_request request =
		request_for("meta-llama/Llama-3.1-8B", "task=pretrain total_tokens=1000000000000");
	struct recommend_answer answer;
	const struct recommendation *shared;

	market_add(&market, "aws", "p5.48xlarge", "H100 SXM5 80GB", 8, 55);
	request.constraints.max_nodes = 64;
	request.constraints.deadline_seconds = 60 * 86400;
	answer = ask(&request);
	shared = by_type(&answer, "p5.48xlarge");
	ck_assert_ptr_nonnull(shared);
	ck_assert_int_gt(shared->cost.nodes, 1);
	ck_assert_ptr_null(warning(shared, "no_shared_storage"));
	/* Hundreds of GPUs over weeks: something breaks. */
	ck_assert_int_gt(shared->cost.interruption_micros, 0);
	ck_assert_double_gt(shared->cost.checkpoint_interval_seconds, 0);
}
END_TEST

/* What fits with hardly anything to spare says so: of all prompts that fit, the longest ones. */
START_TEST(a_fit_without_room_to_spare_is_told_of)
{
	int told = 0, untold = 0;

	market_add(&market, "runpod", "a40", "A40 48GB", 1, 0.4);
	for (int length = 256; length <= 16384; length += 256) {
		struct recommend_request request =
			request_for("meta-llama/Llama-3.1-8B",
				    arena_printf(&arena,
						 "task=finetune method=lora micro_batch=1 "
						 "total_tokens=1000000 sequence_length=%d",
						 length));
		struct recommend_answer answer = ask(&request);
		const struct recommendation *item = by_type(&answer, "a40");

		if (!item || item->plan.fit != FIT_FITS)
			continue;
		if (item->plan.usable_bytes - item->plan.memory.high_bytes <
		    0.03 * item->plan.usable_bytes) {
			ck_assert_ptr_nonnull(warning(item, "little_room"));
			told++;
		} else {
			ck_assert_ptr_null(warning(item, "little_room"));
			untold++;
		}
	}
	ck_assert_int_gt(told, 0);
	ck_assert_int_gt(untold, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recommend_cost");
	TCase *tests = tcase_create("recommend_cost");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, egress_turns_an_order_round);
	tcase_add_test(tests, storage_between_sessions_turns_an_order_round);
	tcase_add_test(tests,
		       a_corpus_that_is_loaded_anew_each_time_costs_more_than_a_dearer_machine);
	tcase_add_test(tests, a_machine_that_is_billed_while_stopped_is_told_of);
	tcase_add_test(tests, storage_that_throttles_the_card_makes_the_cheap_one_best);
	tcase_add_test(tests, spot_of_a_silent_provider_is_neither_safe_nor_a_thousand_times_worse);
	tcase_add_test(tests, a_commitment_suits_a_pretraining_that_lasts_as_long);
	tcase_add_test(tests, an_expensive_answer_names_cheaper_ways_that_hold);
	tcase_add_test(tests, many_gpus_in_one_machine_are_said_to_be_scarce);
	tcase_add_test(tests, the_nearest_miss_of_a_deadline_is_the_soonest);
	tcase_add_test(tests, several_machines_need_storage_that_all_see);
	tcase_add_test(tests, a_fit_without_room_to_spare_is_told_of);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
