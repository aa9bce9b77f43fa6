/*
 * Laws that hold of any question over any market: random workloads, from seeds, over the bundled
 * prices and over made-up ones. What check_answer() asks of every answer is asked of all of these.
 */
#include "tests/core/answer.h"

#include <math.h>
#include <stdio.h>

static unsigned pick(uint64_t *state, unsigned below)
{
	return (unsigned)(market_random(state) % below);
}

static const char *random_fields(uint64_t *state, char *fields, size_t size)
{
	static const char *const methods[] = {"full", "lora", "qlora"};

	switch (pick(state, 4)) {
	case 0:
		snprintf(fields, size,
			 "task=inference prompt_tokens=%u output_tokens=%u concurrency=%u mode=%s "
			 "hours_per_day=%u",
			 pick(state, 8000) + 1, pick(state, 1000) + 1, pick(state, 64) + 1,
			 pick(state, 2) ? "batch" : "interactive", pick(state, 2) ? 24 : 8);
		break;
	case 1:
		snprintf(fields, size,
			 "task=inference prompt_tokens=%u output_tokens=%u requests_per_second=%u",
			 pick(state, 4000) + 1, pick(state, 500) + 1, pick(state, 20) + 1);
		break;
	case 2:
		snprintf(fields, size,
			 "task=pretrain sequence_length=%u total_tokens=%u000000000 "
			 "fault_tolerant=%s dataset_gb=%u",
			 pick(state, 4096) + 128, pick(state, 20) + 1,
			 pick(state, 2) ? "true" : "false", pick(state, 4000));
		break;
	default:
		snprintf(fields, size,
			 "task=finetune method=%s sequence_length=%u total_tokens=%u000000 "
			 "fault_tolerant=%s sessions=%u hours_per_day=%u",
			 methods[pick(state, 3)], pick(state, 8192) + 128, pick(state, 500) + 1,
			 pick(state, 2) ? "true" : "false",
			 pick(state, 4) ? 1 : pick(state, 30) + 1, pick(state, 3) ? 24 : 3);
	}
	return fields;
}

/* Two assumptions, anywhere in their ranges. */
static const struct cost_assumptions *random_assumptions(uint64_t *state)
{
	struct cost_assumptions *out = arena_alloc(&arena, sizeof(*out));

	ck_assert_ptr_nonnull(out);
	*out = cost_assumptions_default;
	for (int i = 0; i < 2; i++) {
		enum cost_assumption_id id = (enum cost_assumption_id)pick(state, ASSUMPTIONS);
		double least = fmax(cost_assumption_fields[id].least, 1e-6);
		double most = cost_assumption_fields[id].most;

		double value = least * pow(most / least, pick(state, 1001) / 1000.0);

		ck_assert(cost_assumption_set(out, id, fmin(value, most)));
	}
	return out;
}

static struct recommend_request random_request(uint64_t *state)
{
	static const char *const models[] = {"meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B",
					     "meta-llama/Llama-3.1-70B", "google/gemma-2-2b"};
	char fields[300];
	struct recommend_request request =
		request_for(models[pick(state, 4)], random_fields(state, fields, sizeof(fields)));

	request.objective = (enum objective)pick(state, OBJECTIVES);
	request.group = (enum grouping)pick(state, GROUPINGS);
	if (pick(state, 3) == 0)
		request.assumptions = random_assumptions(state);
	return request;
}

/* All places of one offer's answer, by offer id; -1 when it is not there. */
static int place_of(const struct recommend_answer *answer, uint64_t id)
{
	for (int i = 0; i < answer->recommendations_count; i++)
		if (answer->recommendations[i].offer->id == id)
			return i;
	return -1;
}

START_TEST(a_lower_price_never_lowers_a_rank_by_cost)
{
	uint64_t state = 99;

	market_add_bundled(&market);
	for (int i = 0; i < 12; i++) {
		struct recommend_request request = random_request(&state);
		struct recommend_answer before, after;
		struct offer *changed = NULL;
		int64_t held;
		int place;

		request.objective = OBJECTIVE_TOTAL_COST;
		request.group = GROUP_OFFER;
		request.limit = 100;
		before = ask(&request);
		if (!before.recommendations_count)
			continue;
		place = (int)(market_random(&state) % (unsigned)before.recommendations_count);
		for (size_t j = 0; j < market.count; j++)
			if (market.offers[j].id == before.recommendations[place].offer->id)
				changed = &market.offers[j];
		ck_assert_ptr_nonnull(changed);
		held = changed->price_micros;
		changed->price_micros = held * 4 / 5;
		catalogue_free(catalogue);
		catalogue = NULL;
		after = ask(&request);
		ck_assert_int_ge(place_of(&after, changed->id), 0);
		ck_assert_int_le(place_of(&after, changed->id), place);
		changed->price_micros = held;
		catalogue_free(catalogue);
		catalogue = NULL;
	}
}
END_TEST

START_TEST(a_filter_never_adds_an_answer)
{
	static const char *const providers[] = {"runpod", "vast", "aws"};
	uint64_t state = 31337;

	market_add_bundled(&market);
	for (int i = 0; i < 15; i++) {
		struct recommend_request request = random_request(&state), filtered;
		struct recommend_answer all, some;

		request.group = GROUP_OFFER;
		request.limit = 2000;
		filtered = request;
		filtered.filters.providers = providers;
		filtered.filters.providers_count = market_random(&state) % 2 ? 3 : 0;
		filtered.filters.most_gpus = market_random(&state) % 2 ? 2 : 0;
		filtered.filters.available_only = market_random(&state) % 8 == 0;
		filtered.filters.features = market_random(&state) % 2 ? 1u << FEATURE_SSH : 0;
		all = ask(&request);
		some = ask(&filtered);
		ck_assert_int_le(some.recommendations_count, all.recommendations_count);
		for (int j = 0; j < some.recommendations_count; j++)
			ck_assert_int_ge(place_of(&all, some.recommendations[j].offer->id), 0);
	}
}
END_TEST

START_TEST(every_offer_is_answered_or_told_of)
{
	uint64_t state = 5;

	market_add_bundled(&market);
	market_add_random(&market, 1500, 3);
	for (int i = 0; i < 15; i++) {
		struct recommend_request request = random_request(&state);
		struct recommend_answer answer;
		uint32_t told = 0;

		request.group = GROUP_OFFER;
		request.limit = 4000;
		request.filters.least_gpus = market_random(&state) % 3 == 0 ? 2 : 0;
		request.filters.available_only = market_random(&state) % 3 == 0;
		if (market_random(&state) % 3 == 0)
			request.constraints.max_usd_per_hour_micros = 3000000;
		answer = ask(&request);
		for (int j = 0; j < answer.exclusions_count; j++)
			told += answer.exclusions[j].offers;
		ck_assert_uint_eq(told + (uint32_t)answer.recommendations_count,
				  catalogue->offers_count);
	}
}
END_TEST

/* The search prices by lists and jobs prepared once; the plain way must give the same. */
START_TEST(the_cost_of_an_answer_is_that_of_its_offer_and_plan)
{
	uint64_t state = 606;

	market_add_bundled(&market);
	for (int i = 0; i < 10; i++) {
		struct recommend_request request = random_request(&state);
		struct recommend_answer answer = ask(&request);

		for (int j = 0; j < answer.recommendations_count; j++) {
			const struct recommendation *item = &answer.recommendations[j];
			struct cost cost;

			ck_assert(cost_compute(&request.workload, request.assumptions, &item->plan,
					       item->offer, terms_find(item->offer->provider),
					       &cost));
			ck_assert_int_eq(cost.total_micros, item->cost.total_micros);
			ck_assert_int_eq(cost.interruption_micros, item->cost.interruption_micros);
			ck_assert_uint_eq(cost.assumed, item->cost.assumed);
		}
	}
}
END_TEST

/* Whatever order the offers come in, to the last place. */
START_TEST(the_same_question_has_the_same_answer)
{
	uint64_t state = 8;

	market_add_bundled(&market);
	market_add_random(&market, 800, 21);
	for (int i = 0; i < 8; i++) {
		struct recommend_request request = random_request(&state);
		struct recommend_answer a = ask(&request), b;
		uint64_t ids[100];

		for (int j = 0; j < a.recommendations_count; j++)
			ids[j] = a.recommendations[j].offer->id;
		catalogue_free(catalogue);
		catalogue = NULL;
		for (size_t j = market.count - 1; j > 0; j--) {
			size_t other = market_random(&state) % (j + 1);
			struct offer held = market.offers[j];

			market.offers[j] = market.offers[other];
			market.offers[other] = held;
		}
		b = ask(&request);
		ck_assert_int_eq(a.recommendations_count, b.recommendations_count);
		for (int j = 0; j < b.recommendations_count; j++) {
			ck_assert_uint_eq(b.recommendations[j].offer->id, ids[j]);
			ck_assert_int_eq(b.recommendations[j].cost.total_micros,
					 a.recommendations[j].cost.total_micros);
		}
	}
}
END_TEST

/* The same work with more to hold: longer sequences, larger micro-batches, more of them at once. */
static struct recommend_request asking_more(const struct recommend_request *request,
					    uint64_t *state)
{
	struct recommend_request more = *request;
	struct workload *workload = &more.workload;

	if (workload->task == TASK_INFERENCE) {
		workload->prompt_tokens += 1 + pick(state, 20000);
		workload->concurrency += pick(state, 100);
		workload->full_context =
			(double)workload->prompt_tokens + (double)workload->output_tokens;
		workload->context = workload->full_context;
	} else {
		workload->sequence_length += 1 + pick(state, 30000);
	}
	return more;
}

START_TEST(more_memory_asked_makes_no_further_machine_feasible)
{
	uint64_t state = 4711;
	int fewer = 0;

	market_add_bundled(&market);
	for (int i = 0; i < 30; i++) {
		struct recommend_request request = random_request(&state), more;
		struct recommend_answer some, all;

		if (request.workload.requests_per_second > 0)
			continue;
		request.group = GROUP_SHAPE;
		request.limit = 2000;
		request.constraints.max_nodes = 1;
		more = asking_more(&request, &state);
		all = ask(&request);
		some = ask(&more);
		fewer += some.recommendations_count < all.recommendations_count;
		for (int j = 0; j < some.recommendations_count; j++) {
			bool is_there = false;

			for (int k = 0; k < all.recommendations_count && !is_there; k++)
				is_there = all.recommendations[k].shape ==
					   some.recommendations[j].shape;
			ck_assert_msg(is_there, "case %d: %s", i,
				      some.recommendations[j].shape->accelerator->name);
		}
	}
	ck_assert_int_gt(fewer, 5);
}
END_TEST

/* Asked again of the model itself, by the layout alone. */
START_TEST(every_recommended_layout_fits_by_the_memory_model)
{
	uint64_t state = 77;
	int checked = 0;

	market_add_bundled(&market);
	market_add_random(&market, 1000, 9);
	for (int i = 0; i < 20; i++) {
		struct recommend_request request = random_request(&state);
		struct recommend_answer answer = ask(&request);
		struct memory_basis basis;

		memory_prepare(&request.workload, &basis);
		for (int j = 0; j < answer.recommendations_count; j++) {
			const struct recommendation *item = &answer.recommendations[j];
			const struct accelerator *card = item->shape->accelerator;
			struct memory_estimate memory;

			if (item->shape->count_milli % COUNT_MILLI_ONE)
				continue;
			memory_estimate(&basis, &item->plan.layout, card, &memory);
			ck_assert_double_le(memory.device_bytes, accelerator_memory_bytes(card));
			if (item->plan.fit == FIT_FITS)
				ck_assert_double_le(memory.high_bytes,
						    accelerator_memory_bytes(card));
			checked++;
		}
	}
	ck_assert_int_gt(checked, 100);
}
END_TEST

START_TEST(an_unknown_price_never_appears)
{
	uint64_t state = 12;

	market_add_bundled(&market);
	for (size_t i = 0; i < market.count; i++)
		if (market_random(&state) % 3 == 0)
			market.offers[i].price_micros = PRICE_UNKNOWN;
	for (int i = 0; i < 10; i++) {
		struct recommend_request request = random_request(&state);
		struct recommend_answer answer;

		request.group = GROUP_OFFER;
		request.limit = 2000;
		answer = ask(&request);
		for (int j = 0; j < answer.recommendations_count; j++) {
			ck_assert_int_gt(answer.recommendations[j].offer->price_micros, 0);
			ck_assert_int_gt(answer.recommendations[j].cost.total_micros, 0);
		}
		ck_assert_uint_gt(excluded(&answer, "unknown_price")->offers, 100);
	}
}
END_TEST

START_TEST(a_pareto_mark_is_true_and_missing_only_where_something_beats_it)
{
	uint64_t state = 2718;
	int marked = 0;

	market_add_bundled(&market);
	for (int i = 0; i < 12; i++) {
		struct recommend_request request = random_request(&state);
		struct recommend_answer answer;

		request.group = GROUP_OFFER;
		request.limit = 2000;
		answer = ask(&request);
		for (int j = 0; j < answer.recommendations_count; j++) {
			const struct recommendation *a = &answer.recommendations[j];
			bool is_beaten = a->plan.fit != answer.recommendations[0].plan.fit;

			for (int k = 0; k < answer.recommendations_count && !is_beaten; k++) {
				const struct recommendation *b = &answer.recommendations[k];
				double ours = time_of(&request, a), other = time_of(&request, b);

				is_beaten = b->plan.fit == a->plan.fit &&
					    b->cost.total_micros <= a->cost.total_micros &&
					    other <= ours &&
					    (b->cost.total_micros < a->cost.total_micros ||
					     other < ours);
			}
			ck_assert_msg(a->is_pareto == !is_beaten, "case %d, place %d", i, j);
			marked += a->is_pareto;
		}
	}
	ck_assert_int_gt(marked, 12);
}
END_TEST

/* What is told to have been left out by one filter alone is had without it, for that money. */
START_TEST(a_near_miss_of_a_filter_is_what_it_leaves_out)
{
	static const char *const providers[] = {"lambda"};
	struct recommend_request request = request_for(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=20000000");
	struct recommend_request filtered;
	struct recommend_answer all, some;
	const struct exclusion *exclusion;
	int64_t cheapest = INT64_MAX;
	char money[32];

	market_add_bundled(&market);
	request.group = GROUP_OFFER;
	request.limit = 2000;
	filtered = request;
	filtered.filters.providers = providers;
	filtered.filters.providers_count = 1;
	all = ask(&request);
	some = ask(&filtered);
	for (int i = 0; i < all.recommendations_count; i++) {
		const struct recommendation *item = &all.recommendations[i];

		if (item->plan.fit == FIT_FITS && strcmp(item->offer->provider, "lambda") &&
		    item->cost.total_micros < cheapest)
			cheapest = item->cost.total_micros;
	}
	exclusion = excluded(&some, "filtered_provider");
	ck_assert_ptr_nonnull(exclusion->nearest);
	snprintf(money, sizeof(money), "$%.2f in all", usd_from_micros(cheapest));
	ck_assert_msg(strstr(exclusion->nearest_text, money), "%s, not %s", exclusion->nearest_text,
		      money);
	/* What two filters keep out is near to neither. */
	filtered.filters.least_gpus = 16;
	some = ask(&filtered);
	ck_assert_int_eq(some.recommendations_count, 0);
	exclusion = excluded(&some, "filtered_gpus");
	ck_assert_ptr_nonnull(exclusion->nearest_text);
	ck_assert_ptr_nonnull(strstr(exclusion->nearest_text, "at lambda"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recommend_properties");
	TCase *tests = tcase_create("recommend_properties");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, more_memory_asked_makes_no_further_machine_feasible);
	tcase_add_test(tests, every_recommended_layout_fits_by_the_memory_model);
	tcase_add_test(tests, an_unknown_price_never_appears);
	tcase_add_test(tests, a_pareto_mark_is_true_and_missing_only_where_something_beats_it);
	tcase_add_test(tests, a_near_miss_of_a_filter_is_what_it_leaves_out);
	tcase_add_test(tests, a_lower_price_never_lowers_a_rank_by_cost);
	tcase_add_test(tests, a_filter_never_adds_an_answer);
	tcase_add_test(tests, every_offer_is_answered_or_told_of);
	tcase_add_test(tests, the_cost_of_an_answer_is_that_of_its_offer_and_plan);
	tcase_add_test(tests, the_same_question_has_the_same_answer);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
