/* What answers say: the best, why, warnings, remedies. Filters and laws: test_recommend_search.c.
 */
#include "tests/core/answer.h"

#include <stdio.h>

START_TEST(qlora_of_70b_at_2k)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-70B", "task=finetune method=qlora sequence_length=2048 "
					    "micro_batch=1 total_tokens=20000000");
	struct recommend_answer answer;
	const struct recommendation *item;

	small_market();
	answer = ask(&request);
	item = by_type(&answer, "a100");
	ck_assert_ptr_nonnull(item);
	ck_assert_int_eq(item->plan.fit, FIT_FITS);
	ck_assert_ptr_nonnull(by_type(&answer, "h100"));
	/* One 48 GB card at best tightly; a 24 GB card not. */
	item = by_type(&answer, "l40s");
	if (item)
		ck_assert_int_eq(item->plan.fit, FIT_TIGHT);
	ck_assert_ptr_null(by_type(&answer, "l4"));
	ck_assert_ptr_null(by_type(&answer, "4090"));
	ck_assert_ptr_nonnull(excluded(&answer, "memory"));
	ck_assert_uint_ge(excluded(&answer, "memory")->offers, 2);
	ck_assert_ptr_nonnull(excluded(&answer, "memory")->nearest);
}
END_TEST

START_TEST(serving_8b_for_32_sequences_of_8k)
{
	struct recommend_request request =
		request_for("meta-llama/Llama-3.1-8B",
			    "task=inference prompt_tokens=7936 output_tokens=256 concurrency=32");
	struct recommend_answer answer;
	const struct recommendation *item;

	small_market();
	answer = ask(&request);
	item = by_type(&answer, "a100");
	ck_assert_ptr_nonnull(item);
	ck_assert_int_eq(item->plan.layout.nodes, 1);
	ck_assert_int_eq(item->plan.layout.kv_format, FORMAT_BF16);
	ck_assert_int_eq(item->plan.layout.weight_format, FORMAT_BF16);
	ck_assert_ptr_null(warning(item, "quantised_kv"));
	/* 48 GB only with an fp8 cache, and the answer says so. */
	item = by_type(&answer, "l40s");
	ck_assert_ptr_nonnull(item);
	if (item->plan.layout.nodes == 1) {
		ck_assert_int_eq(item->plan.layout.kv_format, FORMAT_FP8);
		ck_assert_ptr_nonnull(warning(item, "quantised_kv"));
	}
	/* 24 GB only in numbers. */
	item = by_type(&answer, "4090");
	ck_assert_ptr_nonnull(item);
	ck_assert_int_gt(item->plan.layout.nodes, 1);
	ck_assert_ptr_nonnull(warning(item, "several_nodes"));
}
END_TEST

START_TEST(full_fine_tuning_of_70b)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-70B", "task=finetune method=full total_tokens=100000000");
	struct recommend_answer answer;
	const struct remedy *qlora;

	small_market();
	answer = ask(&request);
	ck_assert_int_gt(answer.recommendations_count, 0);
	for (int i = 0; i < answer.recommendations_count; i++) {
		ck_assert(fabric_is_fast(&answer.recommendations[i].shape->fabric));
		ck_assert_int_eq(answer.recommendations[i].shape->count_milli, 8000);
	}
	ck_assert_ptr_nonnull(note(answer.recommendations[0].reasons,
				   answer.recommendations[0].reasons_count, "fast_links"));
	ck_assert_ptr_nonnull(excluded(&answer, "memory"));
	ck_assert_ptr_nonnull(excluded(&answer, "memory")->nearest_text);
	qlora = remedy_of(&answer, "qlora");
	ck_assert_ptr_nonnull(qlora);
	ck_assert_int_lt(qlora->result->cost.total_micros,
			 answer.recommendations[0].cost.total_micros);
}
END_TEST

START_TEST(nothing_fits_tells_why_and_what_would)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-70B", "task=finetune method=full total_tokens=100000000");
	struct recommend_answer answer;
	const struct remedy *remedy;

	market_add(&market, "runpod", "h100", "H100 SXM5 80GB", 1, 2.69);
	market_add(&market, "runpod", "l4", "L4 24GB", 1, 0.44);
	market_add(&market, "runpod", "?", "Mystery 9000", 1, 0.44);
	market_add(&market, "runpod", "free", "L4 24GB", 2, 1)->price_micros = PRICE_UNKNOWN;
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 0);
	ck_assert_uint_eq(excluded(&answer, "memory")->offers, 2);
	ck_assert_str_eq(excluded(&answer, "memory")->nearest->accelerator->name, "H100 SXM5 80GB");
	ck_assert_uint_eq(excluded(&answer, "unmapped_accelerator")->offers, 1);
	ck_assert_uint_eq(excluded(&answer, "unknown_price")->offers, 1);
	ck_assert_int_gt(answer.remedies_count, 0);
	remedy = remedy_of(&answer, "qlora");
	ck_assert_ptr_nonnull(remedy);
	ck_assert_str_eq(remedy->result->offer->instance_type, "h100");
}
END_TEST

START_TEST(a_nearest_miss_speaks_of_its_reason)
{
	struct recommend_request large =
		request_for("deepseek-ai/DeepSeek-V3", "task=inference concurrency=4");
	struct recommend_request offloaded =
		request_for("meta-llama/Llama-3.1-8B",
			    "task=finetune method=full offload=auto total_tokens=1000000");
	struct recommend_request rate =
		request_for("meta-llama/Llama-3.1-8B", "task=inference requests_per_second=2000");
	struct recommend_answer answer;
	const char *text;
	double needed = 0, allowed = 0;

	market_add(&market, "runpod", "4xt4", "T4 16GB", 4, 1.6);
	market_add(&market, "runpod", "l4", "L4 24GB", 1, 0.4)->ram_gib = 16;
	large.constraints.max_nodes = 1;
	answer = ask(&large);
	text = excluded(&answer, "memory")->nearest_text;
	ck_assert_ptr_nonnull(strstr(text, "4 sequences"));
	ck_assert_ptr_nonnull(strstr(text, "needs "));
	sscanf(strstr(text, "needs "), "needs %lf GiB a GPU, where %lf", &needed, &allowed);
	ck_assert_double_gt(needed, 671e9 / 2 / 4 / GIB);
	ck_assert_double_lt(allowed, 15);
	answer = ask(&offloaded);
	text = excluded(&answer, "memory")->nearest_text;
	ck_assert_ptr_null(strstr(text, "sequences at once"));
	ck_assert_ptr_nonnull(strstr(text, "GiB too little"));
	answer = ask(&rate);
	text = excluded(&answer, "too_slow")->nearest_text;
	ck_assert_ptr_null(strstr(text, "GiB"));
	ck_assert_ptr_nonnull(strstr(text, "2000 requests a second at 80 % load"));
	ck_assert_ptr_nonnull(strstr(text, "8 are allowed"));
}
END_TEST

START_TEST(training_of_every_weight_is_told_of_several_nodes)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-70B", "task=finetune method=full total_tokens=100000000");
	struct recommend_answer answer;
	const struct remedy *remedy;
	char cost[32];

	market_add(&market, "aws", "p5.48xlarge", "H100 SXM5 80GB", 8, 55);
	market_add(&market, "aws", "p6-b300.48xlarge", "B300 SXM 288GB", 8, 142);
	answer = ask(&request);
	remedy = remedy_of(&answer, "more_nodes");
	ck_assert_ptr_nonnull(remedy);
	ck_assert_int_gt(remedy->result->cost.nodes, 1);
	ck_assert_int_le(remedy->result->cost.nodes, 8);
	ck_assert(remedy->result->shape->has_cluster);
	ck_assert_ptr_nonnull(strstr(remedy->text, "joined by EFA"));
	snprintf(cost, sizeof(cost), "$%.2f in all",
		 usd_from_micros(remedy->result->cost.total_micros));
	ck_assert_ptr_nonnull(strstr(remedy->text, cost));
	/* One answer is not few where one was asked for: what is dearer must then be much sooner.
	 */
	for (request.limit = 1; request.limit <= 2; request.limit++) {
		const struct recommendation *first;

		answer = ask(&request);
		first = &answer.recommendations[0];
		remedy = remedy_of(&answer, "more_nodes");
		if (remedy && answer.recommendations_count == request.limit)
			ck_assert(remedy->result->cost.total_micros < first->cost.total_micros ||
				  remedy->result->cost.elapsed_seconds <
					  0.8 * first->cost.elapsed_seconds);
	}
	/* Who says how many nodes is not told of more that way. */
	request.constraints.max_nodes = 1;
	answer = ask(&request);
	ck_assert(!remedy_of(&answer, "more_nodes") ||
		  !strstr(remedy_of(&answer, "more_nodes")->text, "joined by"));
}
END_TEST

/* At a share of 0.8 a request waits for four service times (M/M/1), at 0.99 for a hundred. */
START_TEST(a_rate_leaves_headroom_and_says_the_load)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B",
		"task=inference requests_per_second=5 prompt_tokens=1000 output_tokens=200");
	struct recommend_answer answer;

	small_market();
	answer = ask(&request);
	ck_assert_int_gt(answer.recommendations_count, 2);
	for (int i = 0; i < answer.recommendations_count; i++) {
		const struct recommendation *item = &answer.recommendations[i];
		const struct note *load = note(item->reasons, item->reasons_count, "load");
		int percent = 0;

		ck_assert_double_ge(item->plan.speed.requests_per_second, 5 / 0.8);
		ck_assert_ptr_nonnull(load);
		ck_assert_int_eq(
			sscanf(load->text, "At 5 requests a second it runs at %d %%", &percent), 1);
		ck_assert_int_eq(percent, (int)(500 / item->plan.most_requests_per_second + 0.5));
		ck_assert_double_ge(item->plan.most_requests_per_second,
				    item->plan.speed.requests_per_second);
		ck_assert_int_le(percent, 80);
	}
}
END_TEST

START_TEST(spot_only_where_the_work_tolerates_it)
{
	struct recommend_request careful = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=20000000");
	struct recommend_request tolerant =
		request_for("meta-llama/Llama-3.1-8B",
			    "task=finetune method=qlora total_tokens=20000000 fault_tolerant=true");
	struct recommend_request endpoint =
		request_for("meta-llama/Llama-3.1-8B", "task=inference concurrency=4");
	struct recommend_request batch =
		request_for("meta-llama/Llama-3.1-8B", "task=inference mode=batch requests=100000");
	struct recommend_answer answer;

	market_add(&market, "aws", "od", "L40S 48GB", 1, 1.86);
	market_add(&market, "aws", "spot", "L40S 48GB", 1, 0.60)->price_kind = PRICE_SPOT;
	answer = ask(&careful);
	ck_assert_ptr_null(by_type(&answer, "spot"));
	ck_assert_uint_eq(excluded(&answer, "spot_not_tolerated")->offers, 1);
	answer = ask(&endpoint);
	ck_assert_ptr_null(by_type(&answer, "spot"));
	answer = ask(&tolerant);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "spot");
	ck_assert_ptr_nonnull(warning(&answer.recommendations[0], "spot"));
	ck_assert_int_gt(answer.recommendations[0].cost.interruption_micros, 0);
	ck_assert_double_gt(answer.recommendations[0].cost.checkpoint_interval_seconds, 0);
	answer = ask(&batch);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "spot");
}
END_TEST

START_TEST(a_dearer_machine_that_ends_sooner_may_cost_less_in_all)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=lora total_tokens=1000000000");
	struct recommend_answer answer;

	market_add(&market, "runpod", "h100", "H100 SXM5 80GB", 1, 2.69);
	market_add(&market, "runpod", "a40", "A40 48GB", 1, 0.80);
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 2);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "h100");
	ck_assert_ptr_nonnull(note(answer.recommendations[0].reasons,
				   answer.recommendations[0].reasons_count, "dearer_but_faster"));
	request.objective = OBJECTIVE_USD_PER_HOUR;
	answer = ask(&request);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "a40");
}
END_TEST

START_TEST(hourly_billing_punishes_short_sessions)
{
	struct recommend_request request =
		request_for("meta-llama/Llama-3.1-8B",
			    "task=finetune method=qlora total_tokens=200000 sessions=5");
	const struct terms *coarse = NULL, *fine = NULL;
	struct recommend_answer answer;

	for (size_t i = 0; i < terms_count; i++) {
		if (terms_table[i].billing_granularity_seconds >= 3600 &&
		    terms_table[i].persistent_volume == TERM_YES)
			coarse = &terms_table[i];
		if (terms_table[i].billing_granularity_seconds <= 1 &&
		    terms_table[i].minimum_charge_seconds <= 60 &&
		    terms_table[i].persistent_volume == TERM_YES)
			fine = &terms_table[i];
	}
	ck_assert(coarse && fine);
	market_add(&market, coarse->provider, "coarse", "A100 SXM4 80GB", 1, 1.00);
	market_add(&market, fine->provider, "fine", "A100 SXM4 80GB", 1, 1.20);
	request.group = GROUP_OFFER;
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 2);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "fine");
	ck_assert_ptr_nonnull(warning(by_type(&answer, "coarse"), "coarse_billing"));
	ck_assert_ptr_null(warning(by_type(&answer, "fine"), "coarse_billing"));
}
END_TEST

START_TEST(pcie_boxes_are_told_and_rank_below_nvlink_for_the_same_money)
{
	/* Short sequences in small batches: gradients are exchanged often. */
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=full total_tokens=100000000 "
					   "sequence_length=512 global_batch=4");
	struct recommend_answer answer;

	market_add(&market, "runpod", "sxm", "A100 SXM4 80GB", 4, 6);
	market_add(&market, "runpod", "pcie", "A100 PCIe 80GB", 4, 6);
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 2);
	ck_assert_str_eq(answer.recommendations[0].offer->instance_type, "sxm");
	ck_assert_ptr_nonnull(warning(by_type(&answer, "pcie"), "pcie_only"));
	ck_assert_ptr_null(warning(by_type(&answer, "sxm"), "pcie_only"));
}
END_TEST

START_TEST(warnings_tell_what_a_buyer_would_ask)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=20000000");
	struct recommend_answer answer;
	struct offer *offer;

	offer = market_add(&market, "runpod", "old", "L40S 48GB", 1, 0.86);
	offer->observed_at_us = MARKET_NOW_US - INT64_C(3) * 24 * 3600 * 1000000;
	offer->availability = AVAILABILITY_UNKNOWN;
	offer = market_add(&market, "runpod", "bundled", "A40 48GB", 1, 0.40);
	offer->source = "bundled";
	offer->tier = "community";
	market_add(&market, "runpod", "t4", "T4 16GB", 1, 0.30);
	market_add(&market, "nobody-knows", "u", "RTX A6000 48GB", 1, 0.50);
	answer = ask(&request);
	ck_assert_ptr_nonnull(warning(by_type(&answer, "old"), "stale_price"));
	ck_assert_ptr_nonnull(warning(by_type(&answer, "old"), "availability_unknown"));
	ck_assert_ptr_nonnull(warning(by_type(&answer, "bundled"), "bundled_price"));
	ck_assert_ptr_nonnull(warning(by_type(&answer, "bundled"), "community_host"));
	ck_assert_ptr_nonnull(warning(by_type(&answer, "u"), "assumed_terms"));
	if (by_type(&answer, "t4"))
		ck_assert_ptr_nonnull(warning(by_type(&answer, "t4"), "no_bf16"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recommend");
	TCase *tests = tcase_create("recommend");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, qlora_of_70b_at_2k);
	tcase_add_test(tests, serving_8b_for_32_sequences_of_8k);
	tcase_add_test(tests, full_fine_tuning_of_70b);
	tcase_add_test(tests, nothing_fits_tells_why_and_what_would);
	tcase_add_test(tests, a_nearest_miss_speaks_of_its_reason);
	tcase_add_test(tests, training_of_every_weight_is_told_of_several_nodes);
	tcase_add_test(tests, a_rate_leaves_headroom_and_says_the_load);
	tcase_add_test(tests, spot_only_where_the_work_tolerates_it);
	tcase_add_test(tests, a_dearer_machine_that_ends_sooner_may_cost_less_in_all);
	tcase_add_test(tests, hourly_billing_punishes_short_sessions);
	tcase_add_test(tests, pcie_boxes_are_told_and_rank_below_nvlink_for_the_same_money);
	tcase_add_test(tests, warnings_tell_what_a_buyer_would_ask);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
