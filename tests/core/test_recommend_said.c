/*
 * What sentences say of a whole answer is true: how many hold the work, what is the cheapest of
 * all, what a remedy gives to who applies it; and that amounts can be read.
 */
#include "core/recommend_notes.h"
#include "tests/core/answer.h"

#include <stdlib.h>

/* The first number after `mark` in a reason of that code; -1 when there is none. */
static double figure(const struct recommendation *item, const char *code, const char *mark)
{
	const struct note *reason = note(item->reasons, item->reasons_count, code);
	const char *at = reason ? strstr(reason->text, mark) : NULL;

	return at ? strtod(at + strlen(mark), NULL) : -1;
}

/* Two cards hold it, two do not: grouped by offer each offer counts, and only what holds it. */
START_TEST(the_best_is_of_those_that_hold_it)
{
	struct recommend_request request =
		request_for("meta-llama/Llama-3.1-8B",
			    "task=finetune method=lora sequence_length=2048 total_tokens=10000000");
	struct recommend_answer answer;

	market_add(&market, "lambda", "a", "A100 SXM4 80GB", 1, 1.5);
	market_add(&market, "runpod", "b", "A100 SXM4 80GB", 1, 1.6);
	market_add(&market, "runpod", "c", "H100 SXM5 80GB", 1, 3.0);
	market_add(&market, "runpod", "d", "T4 16GB", 1, 0.2);
	market_add(&market, "runpod", "e", "L4 24GB", 1, 0.4);
	request.group = GROUP_OFFER;
	request.constraints.max_usd_per_hour_micros = 2000000;
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 2);
	ck_assert_double_eq_tol(figure(answer.recommendations, "best", "The best of "), 2, 1e-9);
}
END_TEST

/* The soonest takes several machines; fewer of the same cost less, and are what it is held against.
 */
START_TEST(the_cheapest_is_the_cheapest_of_every_plan)
{
	static const char *const providers[] = {"nebius"};
	struct recommend_request request =
		request_for("meta-llama/Llama-3.1-8B",
			    "task=pretrain stack=megatron sequence_length=8192 global_batch=512 "
			    "total_tokens=2000000000");
	struct recommend_answer soonest, cheapest;
	const struct recommendation *first;

	market_add_bundled(&market);
	request.filters.providers = providers;
	request.filters.providers_count = 1;
	request.filters.least_gpus = 8;
	request.constraints.max_nodes = 16;
	cheapest = ask(&request);
	request.objective = OBJECTIVE_TIME;
	soonest = ask(&request);
	first = soonest.recommendations;
	ck_assert_int_gt(first->cost.nodes, cheapest.recommendations->cost.nodes);
	for (int i = 0; i < soonest.recommendations_count; i++) {
		const struct recommendation *item = &soonest.recommendations[i];

		if (item->cost.total_micros > cheapest.recommendations->cost.total_micros)
			ck_assert_ptr_null(note(item->reasons, item->reasons_count, "cheapest"));
	}
	ck_assert_double_eq_tol(
		figure(first, "sooner", " for "),
		strtod(arena_printf(
			       &arena, "%.0f",
			       100 * ((double)first->cost.total_micros /
					      (double)cheapest.recommendations->cost.total_micros -
				      1)),
		       NULL),
		1e-9);
}
END_TEST

/* Who does as the remedy says gets what it says: the same question with that field changed. */
START_TEST(a_remedy_gives_what_it_promises)
{
	static const struct {
		const char *code, *fields;
	} cases[] = {
		{"lora", "method=lora"},
		{"qlora", "method=qlora"},
		{"small_optimizer", "method=full optimizer=adamw_8bit"},
		{"pure_bf16", "method=full precision=bf16"},
		{"spot", "method=full fault_tolerant=true"},
		{"offload", "method=full offload=auto"},
	};
	static const char *const models[] = {"meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.1-8B",
					     "meta-llama/Llama-3.1-70B"};
	int seen = 0;

	market_add_bundled(&market);
	for (size_t m = 0; m < 3; m++) {
		const char *base = "task=finetune sequence_length=4096 total_tokens=300000000";
		struct recommend_request request =
			request_for(models[m], arena_printf(&arena, "%s method=full", base));
		struct recommend_answer answer;

		request.limit = 1;
		answer = ask(&request);
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
			const struct remedy *remedy = remedy_of(&answer, cases[i].code);
			struct recommend_request changed = request_for(
				models[m], arena_printf(&arena, "%s %s", base, cases[i].fields));
			struct recommend_answer given;

			if (!remedy)
				continue;
			changed.limit = 1;
			given = ask(&changed);
			ck_assert_int_eq(given.recommendations_count, 1);
			ck_assert_msg(given.recommendations->offer->id == remedy->result->offer->id,
				      "%s", remedy->text);
			ck_assert_int_eq(given.recommendations->cost.total_micros,
					 remedy->result->cost.total_micros);
			seen |= 1 << i;
		}
	}
	/* Both adapted methods and spot at least were among them. */
	ck_assert_int_eq(seen & 0x13, 0x13);
}
END_TEST

/* Where no change alone makes it fit, two are tried, quick ones first: here neither tiles alone nor
 * fp8 alone, and 48 GB hold the denoiser in 16 bits block by block only. */
START_TEST(a_job_that_needs_two_changes_is_told_both)
{
	static const char *const model = "hunyuanvideo-community/HunyuanVideo";
	static const char *const base =
		"task=inference items=10 vae_tiling=false weight_format=bf16";
	struct recommend_request request = request_for(model, base);
	struct recommend_request both =
		request_for(model, "task=inference items=10 vae_tiling=true weight_format=bf16 "
				   "media_offload=group");
	struct recommend_answer answer, given;
	const struct remedy *remedy;

	market_add(&market, "runpod", "l40s", "L40S 48GB", 1, 0.86);
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 0);
	remedy = remedy_of(&answer, "combined");
	ck_assert_ptr_nonnull(remedy);
	ck_assert_int_eq(answer.remedies_count, 1);
	ck_assert_str_eq(remedy->changes[0], "vae_tiling");
	ck_assert_str_eq(remedy->changes[1], "media_offload");
	ck_assert_ptr_nonnull(strstr(remedy->text, "tile by tile and with the denoiser"));
	given = ask(&both);
	ck_assert_int_eq(given.recommendations_count, 1);
	ck_assert_int_eq(given.recommendations->cost.total_micros,
			 remedy->result->cost.total_micros);
	/* One that suffices is told alone. */
	request = request_for("black-forest-labs/FLUX.1-dev",
			      "task=inference items=10 weight_format=bf16 batch=8");
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 0);
	ck_assert_ptr_nonnull(remedy_of(&answer, "media_offload"));
	ck_assert_ptr_null(remedy_of(&answer, "combined"));
}
END_TEST

/* More machines may end sooner or cost less: dearer and later helps nobody, however few answers
 * there are. What remedies owe the answer, check_answer() asks of each. */
START_TEST(more_machines_are_told_of_where_they_gain_something)
{
	static const char *const batches[] = {"4", "64", "1024"};

	market_add(&market, "runpod", "h100", "H100 SXM5 80GB", 1, 2.69);
	market_add(&market, "aws", "p5.4xlarge", "H100 SXM5 80GB", 1, 6.88);
	market_add(&market, "aws", "p5.48xlarge", "H100 SXM5 80GB", 8, 55);
	market_add(&market, "aws", "p4d.24xlarge", "A100 SXM4 40GB", 8, 22);
	for (size_t i = 0; i < 3; i++)
		for (int k = 0; k < 4; k++) {
			struct recommend_request request = request_for(
				"stabilityai/stable-diffusion-xl-base-1.0",
				arena_printf(&arena,
					     "task=finetune method=full examples=100000 "
					     "global_batch=%s",
					     batches[i]));

			request.filters.least_gpus = k & 1 ? 8 : 0;
			request.objective = k & 2 ? OBJECTIVE_TIME : OBJECTIVE_TOTAL_COST;
			ask(&request);
		}
}
END_TEST

/* In 16 bits the states have room in 16 GB, but bf16 that is asked for does not run on Volta. */
START_TEST(bf16_is_no_remedy_on_a_card_without_it)
{
	struct recommend_request request =
		request_for("meta-llama/Llama-3.2-1B",
			    "task=finetune method=full sequence_length=512 total_tokens=1000000");
	struct recommend_answer answer;

	market_add(&market, "verda", "v100", "V100 SXM2 16GB", 1, 0.1);
	answer = ask(&request);
	ck_assert_int_eq(answer.recommendations_count, 0);
	ck_assert_ptr_null(remedy_of(&answer, "pure_bf16"));
	market_add(&market, "verda", "a4000", "RTX A4000 16GB", 1, 0.2);
	catalogue_free(catalogue);
	catalogue = NULL;
	answer = ask(&request);
	ck_assert_ptr_nonnull(remedy_of(&answer, "pure_bf16"));
}
END_TEST

/* Prices that no asked provider has are told of, like those that a filter leaves out. */
START_TEST(offers_of_other_providers_are_counted_whatever_they_are)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=10000000");
	static const char *const asked[] = {"lambda"};
	uint32_t told = 0;
	struct recommend_answer answer;

	market_add(&market, "lambda", "a", "A100 SXM4 80GB", 1, 1.5);
	market_add(&market, "lambda", "b", "A100 SXM4 80GB", 1, 1)->price_micros = PRICE_UNKNOWN;
	market_add(&market, "runpod", "c", "A100 SXM4 80GB", 1, 1)->price_micros = PRICE_UNKNOWN;
	market_add(&market, "runpod", "d", "A100 SXM4 80GB", 1, 1.2);
	request.filters.providers = asked;
	request.filters.providers_count = 1;
	request.group = GROUP_OFFER;
	answer = ask(&request);
	for (int i = 0; i < answer.exclusions_count; i++)
		told += answer.exclusions[i].offers;
	ck_assert_uint_eq(told + (uint32_t)answer.recommendations_count, 4);
	ck_assert_uint_eq(excluded(&answer, "filtered_provider")->offers, 2);
	ck_assert_uint_eq(excluded(&answer, "unknown_price")->offers, 1);
}
END_TEST

/* A term of twelve months is no rounding up. */
START_TEST(a_commitment_is_not_told_as_coarse_billing)
{
	struct recommend_request request =
		request_for("meta-llama/Llama-3.1-8B",
			    "task=pretrain sequence_length=4096 total_tokens=260000000000");
	struct recommend_answer answer;
	struct offer *offer = market_add(&market, "verda", "8H100", "H100 SXM5 80GB", 8, 12);

	offer->price_kind = PRICE_RESERVED;
	offer->term_months = 1;
	answer = ask(&request);
	for (int i = 0; i < answer.recommendations_count; i++)
		ck_assert_ptr_null(warning(&answer.recommendations[i], "coarse_billing"));
	ck_assert_int_eq(answer.recommendations_count, 1);
}
END_TEST

START_TEST(one_offer_is_told_in_the_singular)
{
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=10000000");
	struct recommend_answer answer;
	struct offer *committed = market_add(&market, "verda", "a", "A100 SXM4 80GB", 1, 1);

	committed->price_kind = PRICE_RESERVED;
	committed->term_months = 12;
	market_add(&market, "runpod", "b", "H100 SXM5 80GB", 1, 90);
	request.constraints.max_usd_per_hour_micros = 10000000;
	answer = ask(&request);
	ck_assert_ptr_nonnull(strstr(excluded(&answer, "term_too_long")->text,
				     "1 offer of 1 shape is committed for longer"));
	ck_assert_ptr_nonnull(strstr(excluded(&answer, "over_hourly_budget")->text,
				     "1 offer of 1 shape costs more an hour"));
}
END_TEST

START_TEST(small_amounts_show_more_than_zeros)
{
	static const struct {
		int64_t micros;
		const char *text;
	} cases[] = {{0, "0.00"},      {1, "0.000001"},	  {250, "0.00025"},
		     {4100, "0.0041"}, {70000, "0.07"},	  {99940, "0.0999"},
		     {100000, "0.10"}, {5000000, "5.00"}, {1234560, "1.23"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ck_assert_str_eq(usd_text(cases[i].micros).text, cases[i].text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recommend_said");
	TCase *tcase = tcase_create("said");

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, the_best_is_of_those_that_hold_it);
	tcase_add_test(tcase, the_cheapest_is_the_cheapest_of_every_plan);
	tcase_add_test(tcase, a_remedy_gives_what_it_promises);
	tcase_add_test(tcase, a_job_that_needs_two_changes_is_told_both);
	tcase_add_test(tcase, more_machines_are_told_of_where_they_gain_something);
	tcase_add_test(tcase, bf16_is_no_remedy_on_a_card_without_it);
	tcase_add_test(tcase, offers_of_other_providers_are_counted_whatever_they_are);
	tcase_add_test(tcase, a_commitment_is_not_told_as_coarse_billing);
	tcase_add_test(tcase, one_offer_is_told_in_the_singular);
	tcase_add_test(tcase, small_amounts_show_more_than_zeros);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
