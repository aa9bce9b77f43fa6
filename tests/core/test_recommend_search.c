/* Filters, constraints, grouping, order. Laws that hold of any question:
 * test_recommend_properties.c.
 */
#include "tests/core/answer.h"

#include <stdio.h>
#include <time.h>

START_TEST(constraints_exclude_and_name_the_nearest)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-70B", "task=finetune method=qlora sequence_length=2048 "
					    "micro_batch=1 total_tokens=20000000");
	struct recommend_answer all, answer;

	small_market();
	all = ask(&request);
	request.constraints.max_total_micros = all.recommendations[0].cost.total_micros;
	answer = ask(&request);
	ck_assert_int_ge(answer.recommendations_count, 1);
	ck_assert_int_lt(answer.recommendations_count, all.recommendations_count);
	ck_assert_ptr_nonnull(excluded(&answer, "over_budget")->nearest);
	request.constraints.max_total_micros = 1;
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 0);
	request.constraints.max_total_micros = PRICE_UNKNOWN;
	request.constraints.max_usd_per_hour_micros = 2000000;
	answer = ask(&request);
	for (int i = 0; i < answer.recommendations_count; i++)
		ck_assert_int_le(answer.recommendations[i].cost.usd_per_hour_micros, 2000000);
	ck_assert_ptr_nonnull(excluded(&answer, "over_hourly_budget"));
	request.constraints.max_usd_per_hour_micros = PRICE_UNKNOWN;
	request.constraints.deadline_seconds = 3600;
	answer = ask(&request);
	for (int i = 0; i < answer.recommendations_count; i++)
		ck_assert_double_le(answer.recommendations[i].cost.wall_seconds, 3600);
	ck_assert_ptr_nonnull(excluded(&answer, "deadline")->nearest_text);
}
END_TEST

START_TEST(filters_mean_what_they_say)
{
	static const char *const providers[] = {"aws"}, *const regions[] = {"eu-west-1", "nowhere"},
				 *const countries[] = {"DE"};
	const struct accelerator *l40s = accelerator_find("L40S 48GB");
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=20000000");
	struct recommend_request filtered = request;
	struct recommend_answer answer;
	struct offer *offer;

	market_add(&market, "aws", "a", "L40S 48GB", 1, 1.8)->region = "eu-west-1";
	offer = market_add(&market, "runpod", "b", "A100 SXM4 80GB", 2, 3.0);
	offer->country = "DE";
	offer->availability = AVAILABILITY_UNKNOWN;
	market_add(&market, "runpod", "sold", "A40 48GB", 1, 0.2)->availability = AVAILABILITY_NO;
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 2);
	ck_assert_uint_eq(excluded(&answer, "sold_out")->offers, 1);

#define ONLY(type, reason)                                                                         \
	answer = ask(&filtered);                                                                   \
	ck_assert_int_eq(answer.recommendations_count, 1);                                         \
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, type);                    \
	ck_assert_ptr_nonnull(excluded(&answer, reason));                                          \
	filtered = request

	filtered.filters.providers = providers;
	filtered.filters.providers_count = 1;
	ONLY("a", "filtered_provider");
	filtered.filters.excluded_providers = providers;
	filtered.filters.excluded_providers_count = 1;
	ONLY("b", "filtered_provider");
	filtered.filters.regions = regions;
	filtered.filters.regions_count = 2;
	ONLY("a", "filtered_region");
	filtered.filters.countries = countries;
	filtered.filters.countries_count = 1;
	ONLY("b", "filtered_country");
	filtered.filters.accelerators = &l40s;
	filtered.filters.accelerators_count = 1;
	ONLY("a", "filtered_accelerator");
	filtered.filters.least_gpus = 2;
	ONLY("b", "filtered_gpus");
	filtered.filters.most_gpus = 1;
	ONLY("a", "filtered_gpus");
	filtered.filters.available_only = true;
	ONLY("a", "filtered_availability");
	filtered.filters.price_kinds = 1u << PRICE_SPOT;
	answer = ask(&filtered);
	ck_assert_int_eq(answer.recommendations_count, 0);
	ck_assert_uint_eq(excluded(&answer, "filtered_price_kind")->offers, 3);
	filtered = request;
	filtered.filters.max_age_seconds = 30;
	answer = ask(&filtered);
	ck_assert_int_eq(answer.recommendations_count, 0);
	ck_assert_uint_eq(excluded(&answer, "stale")->offers, 2);
}
END_TEST

START_TEST(one_shape_is_told_once_with_alternatives)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=20000000");
	struct recommend_answer answer;

	for (int i = 0; i < 20; i++)
		market_add(&market, "aws", "g6e.xlarge", "L40S 48GB", 1, 1.8 + 0.01 * i)->region =
			arena_printf(&market.arena, "region-%02d", i);
	market_add(&market, "runpod", "a100", "A100 SXM4 80GB", 1, 1.49);
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 2);
	for (int i = 0; i < 2; i++) {
		const struct recommendation *item = &answer.recommendations[i];

		if (strcmp(item->offer->provider, "aws"))
			continue;
		ck_assert_str_eq(item->offer->region, "region-00");
		ck_assert_int_eq(item->alternatives_count, 5);
		ck_assert_str_eq(
			catalogue_text(catalogue, item->alternatives[0], OFFER_TEXT_region),
			"region-01");
		ck_assert_str_eq(
			catalogue_text(catalogue, item->alternatives[4], OFFER_TEXT_region),
			"region-05");
	}
	request.group = GROUP_OFFER;
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 21);
}
END_TEST

START_TEST(ties_go_to_more_resources_then_to_the_name)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=20000000");
	struct recommend_answer answer;

	request.group = GROUP_OFFER;
	market_add(&market, "aws", "b", "L40S 48GB", 1, 1.8);
	market_add(&market, "aws", "a", "L40S 48GB", 1, 1.8);
	market_add(&market, "aws", "c", "L40S 48GB", 1, 1.8)->ram_gib = 256;
	answer = ask(&request);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "c");
	ck_assert_str_eq(answer.recommendations[1].offer->instance_type, "a");
	ck_assert_str_eq(answer.recommendations[2].offer->instance_type, "b");
}
END_TEST

START_TEST(the_front_holds_what_nothing_beats_in_both)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=lora total_tokens=100000000");
	struct recommend_answer answer;

	market_add_bundled(&market);
	answer = ask(&request);
	ck_assert(answer.recommendations[0].is_pareto);
	for (int i = 0; i < answer.recommendations_count; i++) {
		const struct cost *a = &answer.recommendations[i].cost;

		for (int j = 0; j < answer.recommendations_count; j++) {
			const struct cost *b = &answer.recommendations[j].cost;

			if (b->total_micros < a->total_micros && b->wall_seconds < a->wall_seconds)
				ck_assert(!answer.recommendations[i].is_pareto);
		}
	}
}
END_TEST

/* A reserved price is for work that lasts. */
START_TEST(commitments_only_for_work_that_lasts)
{
	struct recommend_request small = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=20000000");
	struct recommend_request endpoint =
		request_for("meta-llama/Llama-3.1-8B", "task=inference concurrency=4");
	struct recommend_answer answer;
	struct offer *offer;

	market_add(&market, "aws", "od", "L40S 48GB", 1, 1.86);
	offer = market_add(&market, "aws", "ri", "L40S 48GB", 1, 0.80);
	offer->price_kind = PRICE_RESERVED;
	offer->term_months = 12;
	answer = ask(&small);
	ck_assert_ptr_null(by_type(&answer, "ri"));
	ck_assert_uint_eq(excluded(&answer, "term_too_long")->offers, 1);
	answer = ask(&endpoint);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "ri");
	ck_assert_ptr_nonnull(warning(&answer.recommendations[0], "commitment"));
}
END_TEST

START_TEST(too_little_memory_for_the_answer_is_an_error)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=20000000");
	struct recommend_answer answer;
	struct arena small;

	market_add_bundled(&market);
	catalogue = market_build(&market);
	for (size_t limit = 1000; limit < 100000; limit += 7000) {
		arena_init(&small, limit);
		error_init(&error, &arena);
		if (!recommend(&request, catalogue, MARKET_NOW_US, &small, &answer, &error))
			ck_assert_int_eq(error.code, ERROR_UNAVAILABLE);
		arena_release(&small);
	}
}
END_TEST

/* Thousands of GPUs keep this deadline, and no fewer: each number of nodes must reach the prices.
 */
START_TEST(a_deadline_finds_the_large_cluster_that_keeps_it)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=pretrain stack=megatron sequence_length=8192 "
					   "total_tokens=15000000000000 global_batch=2048");
	struct recommend_answer answer;

	market_add_bundled(&market);
	request.constraints.max_nodes = 512;
	request.constraints.deadline_seconds = 30 * 24 * SECONDS_PER_HOUR;
	answer = ask(&request);
	ck_assert_int_ge(answer.recommendations_count, 1);
	for (int i = 0; i < answer.recommendations_count; i++) {
		const struct recommendation *each = &answer.recommendations[i];

		ck_assert_double_le(each->cost.wall_seconds, request.constraints.deadline_seconds);
		ck_assert_int_gt(each->plan.layout.nodes, 8);
	}
}
END_TEST

static double seconds_asking(const char *fields)
{
	struct recommend_request request = request_for("deepseek-ai/DeepSeek-R1", fields);
	clock_t begin;

	request.constraints.max_nodes = 1024;
	begin = clock();
	ask(&request);
	return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/* The ranks of a batch that nothing divides were looked for one by one, which took seconds. */
START_TEST(a_prime_batch_takes_no_longer_than_an_even_one)
{
#define LARGE "task=pretrain stack=torchtitan offload=auto sequence_length=1000000 global_batch="
	double even, prime;

	market_add_bundled(&market);
	even = seconds_asking(LARGE "8388608");
	prime = seconds_asking(LARGE "9999991");
#undef LARGE
	ck_assert_double_lt(prime, 2.5 * even);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recommend_search");
	TCase *tests = tcase_create("recommend_search");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, constraints_exclude_and_name_the_nearest);
	tcase_add_test(tests, filters_mean_what_they_say);
	tcase_add_test(tests, one_shape_is_told_once_with_alternatives);
	tcase_add_test(tests, ties_go_to_more_resources_then_to_the_name);
	tcase_add_test(tests, the_front_holds_what_nothing_beats_in_both);
	tcase_add_test(tests, commitments_only_for_work_that_lasts);
	tcase_add_test(tests, a_deadline_finds_the_large_cluster_that_keeps_it);
	tcase_add_test(tests, a_prime_batch_takes_no_longer_than_an_even_one);
	tcase_add_test(tests, too_little_memory_for_the_answer_is_an_error);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
