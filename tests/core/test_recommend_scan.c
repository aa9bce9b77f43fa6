/*
 * Scanning lists for what filters leave: counts, first ones and near misses are those of reading
 * every offer, and trials that take over what was scanned find what they find alone.
 */
#include "core/recommend_parts.h"
#include "tests/core/market.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

#define MINUTE_US INT64_C(60000000)

static struct market market;
static struct catalogue *catalogue;
static struct arena arena;
static uint64_t state;

/* Few machines, so that lists are longer than a block, and some that are shorter. */
static void set_up(void)
{
	static const char *const regions[] = {"eu-1", "eu-2", "us-1", "us-2", "us-3"};
	static const char *const countries[] = {"DE", "FR", "US", ""};
	static const char *const types[] = {"a", "b", "c"};

	arena_init(&arena, (size_t)256 << 20);
	market_init(&market, 8000);
	state = 17;
	market_add_random(&market, 2000, 5);
	for (int i = 0; i < 4000; i++) {
		uint64_t random = market_random(&state);
		struct offer *offer =
			market_add(&market, random & 1 ? "aws" : "runpod", types[random >> 1 & 1],
				   "L40S 48GB", 1, 1 + (double)(random >> 8 & 0xff) / 100);

		offer->region = regions[(random >> 16) % 5];
		offer->country = countries[(random >> 20) % 4];
		offer->zone = arena_printf(&arena, "z%d", i);
		offer->price_kind = random >> 24 & 1 ? PRICE_SPOT : PRICE_ON_DEMAND;
		offer->availability = (enum availability)((random >> 32) % AVAILABILITIES);
	}
	for (size_t i = 0; i < market.count; i++) {
		struct offer *offer = &market.offers[i];

		/* Of one provider all are of one age: lists tell it as a whole. */
		offer->observed_at_us = MARKET_NOW_US - 10 * MINUTE_US;
		if (strcmp(offer->provider, "aws") != 0)
			offer->observed_at_us -= (int64_t)(market_random(&state) % 60) * MINUTE_US;
	}
	catalogue = market_build(&market);
	ck_assert_ptr_nonnull(catalogue);
}

static void tear_down(void)
{
	catalogue_free(catalogue);
	market_release(&market);
	arena_release(&arena);
}

static const char *const asked_regions[] = {"eu-2", "us-3", "region-7", "nowhere", "us-1"};
static const char *const asked_countries[] = {"FR", "US", "JP", "AT", "DE"};
static const int64_t ages[] = {1, 599, 600, 601, 1800, 3601, 86400};

/* Filters that look at single offers, in every combination and number. */
static struct filters random_filters(void)
{
	struct filters filters = {0};
	uint64_t random = market_random(&state);

	if (random & 1) {
		filters.regions = asked_regions + (random >> 8) % 4;
		filters.regions_count = 1 + (random >> 12) % 2;
	}
	if (random & 2) {
		filters.countries = asked_countries + (random >> 16) % 4;
		filters.countries_count = 1 + (random >> 20) % 2;
	}
	filters.available_only = random >> 2 & 1;
	if (random & 8) /* also exactly the age of some */
		filters.max_age_seconds = ages[(random >> 24) % (sizeof(ages) / sizeof(ages[0]))];
	return filters;
}

static bool is_named(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* By the offer itself: the filters that it fails, a bit each in the order of struct missed. */
static unsigned failed_by(const struct filters *filters, uint32_t position)
{
	struct offer offer;
	unsigned failed = 0;

	catalogue_read(catalogue, catalogue->by_price[position], &offer);
	if (filters->regions_count &&
	    !is_named(filters->regions, filters->regions_count, offer.region))
		failed |= 1;
	if (filters->countries_count &&
	    !is_named(filters->countries, filters->countries_count, offer.country))
		failed |= 2;
	if (filters->available_only && offer.availability != AVAILABILITY_YES)
		failed |= 4;
	if (filters->max_age_seconds &&
	    MARKET_NOW_US - offer.observed_at_us > filters->max_age_seconds * INT64_C(1000000))
		failed |= 8;
	return failed;
}

static void search_init(struct search *search, const struct recommend_request *request)
{
	*search = (struct search){.request = request,
				  .catalogue = catalogue,
				  .now_us = MARKET_NOW_US,
				  .arena = &arena};
	arena_init(&search->scratch, (size_t)64 << 20);
	search->missed =
		arena_array(&search->scratch, catalogue->lists_count, sizeof(*search->missed));
	ck_assert_ptr_nonnull(search->missed);
	ck_assert(search_prepare_filters(search));
}

/* What one list must tell, by reading its offers one by one; adds to `counts`. */
static void check_list(struct search *search, const struct offer_list *list,
		       uint32_t counts[TAG_REASONS + 1])
{
	const struct filters *filters = &search->request->filters;
	const struct missed *missed = &search->missed[list - catalogue->lists];
	uint32_t end = list->first + list->launchable, passing = 0, first = 0;
	struct missed expected = {{0}};
	struct passing told;

	for (uint32_t i = list->first; i < list->first + list->count; i++) {
		unsigned failed = failed_by(filters, i);
		int place = i >= end ? TAG_REASONS : failed ? __builtin_ctz(failed) : -1;

		if (place >= 0)
			counts[place]++;
		if (place < 0 && !passing++)
			first = i;
		if (place == TAG_REASONS ? !failed : failed && !(failed & (failed - 1)))
			if (!expected.next[place])
				expected.next[place] = i + 1;
	}
	search_scan_list(search, list, &told);
	ck_assert(told.is_scanned);
	ck_assert_uint_eq(told.count, passing);
	if (passing)
		ck_assert_uint_eq(told.first, first);
	ck_assert_mem_eq(&expected, missed, sizeof(expected));
}

/* From anywhere on: the next one, and how many there are. */
static void check_steps(const struct search *search, const struct offer_list *list)
{
	uint32_t end = list->first + list->launchable;
	uint32_t from = list->first + (uint32_t)(market_random(&state) % (list->launchable + 1));
	uint32_t next = from, passing = 0;

	while (next < end && failed_by(&search->request->filters, next))
		next++;
	for (uint32_t i = from; i < end; i++)
		passing += !failed_by(&search->request->filters, i);
	ck_assert_uint_eq(search_next(search, list, from), next);
	ck_assert_uint_eq(search_count_passing(search, list, from, end), passing);
}

START_TEST(a_scan_tells_what_reading_every_offer_tells)
{
	struct workload workload = market_workload(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora fault_tolerant=true");

	for (int round = 0; round < 60; round++) {
		struct recommend_request request = market_request(&workload);
		uint32_t counts[TAG_REASONS + 1] = {0};
		struct search search;

		request.filters = random_filters();
		search_init(&search, &request);
		for (uint32_t i = 0; i < catalogue->lists_count; i++) {
			check_list(&search, &catalogue->lists[i], counts);
			check_steps(&search, &catalogue->lists[i]);
		}
		for (int place = 0; place <= TAG_REASONS; place++)
			ck_assert_uint_eq(search.tallies[search_missed_reason(place)].offers,
					  counts[place]);
		arena_release(&search.scratch);
	}
}
END_TEST

/* Lists of a seller fail alike, whatever else is asked. */
START_TEST(lists_fail_by_their_seller_and_kind)
{
	static const char *const wanted[] = {"aws", "lambda", "vast"};
	struct workload workload =
		market_workload("meta-llama/Llama-3.1-8B", "task=finetune method=qlora");
	struct recommend_request request = market_request(&workload);
	struct search search;

	request.filters.providers = wanted;
	request.filters.providers_count = 3;
	request.filters.excluded_providers = wanted + 2;
	request.filters.excluded_providers_count = 1;
	request.filters.features = 1u << FEATURE_CAN_STOP;
	request.filters.price_kinds = 1u << PRICE_SPOT;
	search_init(&search, &request);
	for (uint32_t i = 0; i < catalogue->lists_count; i++) {
		const struct offer_list *list = &catalogue->lists[i];
		const struct terms *terms = terms_find(list->provider);
		unsigned failed = search_filter_list(&search, list);

		ck_assert_int_eq(failed >> EXCLUSION_FILTERED_PROVIDER & 1,
				 !is_named(wanted, 2, list->provider));
		ck_assert_int_eq(failed >> EXCLUSION_FILTERED_FEATURE & 1,
				 !terms || terms->can_stop != TERM_YES);
		ck_assert_int_eq(failed >> EXCLUSION_FILTERED_PRICE_KIND & 1,
				 list->price_kind != PRICE_SPOT);
		ck_assert_int_eq(failed >> EXCLUSION_SPOT_NOT_TOLERATED & 1,
				 list->price_kind == PRICE_SPOT);
	}
	arena_release(&search.scratch);
}
END_TEST

static struct recommend_answer trial(const struct recommend_request *request,
				     const struct screen *screen)
{
	struct bar none = {FIT_NO, HUGE_VAL, false};
	struct recommend_answer answer;
	struct error error;

	error_init(&error, &arena);
	ck_assert(recommend_trial(request, catalogue, MARKET_NOW_US, screen, &none, &arena, &answer,
				  &error));
	return answer;
}

/* A trial that may use spot, after a search that could not: half of the lists are scanned already.
 * Or one that asks for other offers: nothing of them is. */
START_TEST(a_trial_takes_over_what_was_scanned)
{
	struct workload workload = market_workload(
		"meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=50000000");
	int found = 0;

	for (int round = 0; round < 20; round++) {
		struct recommend_request request = market_request(&workload), other;
		struct screen screen = {.request = &request};
		struct recommend_answer with, without;
		struct search search;

		request.filters = random_filters();
		search_init(&search, &request);
		screen.passing = arena_array(&search.scratch, catalogue->lists_count,
					     sizeof(*screen.passing));
		ck_assert_ptr_nonnull(screen.passing);
		for (uint32_t i = 0; i < catalogue->lists_count; i++)
			if (!search_filter_list(&search, &catalogue->lists[i]))
				search_scan_list(&search, &catalogue->lists[i], &screen.passing[i]);
		other = request;
		other.workload.fault_tolerant = true;
		if (round % 2)
			other.filters.available_only = !other.filters.available_only;
		with = trial(&other, &screen);
		without = trial(&other, NULL);
		arena_release(&search.scratch);
		ck_assert_int_eq(with.recommendations_count, without.recommendations_count);
		if (!with.recommendations_count)
			continue;
		found++;
		ck_assert_uint_eq(with.recommendations[0].offer->id,
				  without.recommendations[0].offer->id);
		ck_assert_int_eq(with.recommendations[0].cost.total_micros,
				 without.recommendations[0].cost.total_micros);
	}
	ck_assert_int_gt(found, 5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recommend_scan");
	TCase *tests = tcase_create("recommend_scan");

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, a_scan_tells_what_reading_every_offer_tells);
	tcase_add_test(tests, lists_fail_by_their_seller_and_kind);
	tcase_add_test(tests, a_trial_takes_over_what_was_scanned);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
