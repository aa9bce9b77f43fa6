/* Catalogues: what is built out of offers, and in which orders it lies. */
#include "core/catalogue.h"

#include "tests/core/catalogue_order.h"
#include "tests/core/market.h"
#include "tests/offer_at.h"
#include "tests/suite.h"

#include <string.h>

static struct market market;

static void begin(void)
{
	market_init(&market, 60000);
}

static void end(void)
{
	market_release(&market);
}

START_TEST(an_empty_catalogue_is_one)
{
	struct catalogue *catalogue = market_build(&market);

	ck_assert_ptr_nonnull(catalogue);
	ck_assert_uint_eq(check_order(catalogue), 0);
	ck_assert_uint_eq(catalogue_find(catalogue, 1), CATALOGUE_NOWHERE);
	catalogue_free(catalogue);
	catalogue_free(NULL);
}
END_TEST

START_TEST(lists_are_presorted_whatever_the_order_of_the_input)
{
	struct catalogue *first, *second;

	market_add_random(&market, 5000, 11);
	for (size_t i = 0; i < market.count; i += 7)
		market.offers[i].observed_at_us -= (int64_t)i;
	first = market_build(&market);
	ck_assert_ptr_nonnull(first);
	ck_assert_uint_gt(check_order(first), 4500);
	for (size_t i = 0, j = market.count - 1; i < j; i++, j--) {
		struct offer held = market.offers[i];

		market.offers[i] = market.offers[j];
		market.offers[j] = held;
	}
	second = market_build(&market);
	ck_assert_uint_eq(first->listed_count, second->listed_count);
	ck_assert_uint_eq(first->lists_count, second->lists_count);
	for (uint32_t i = 0; i < first->listed_count; i++)
		ck_assert_uint_eq(first->by_price[i], second->by_price[i]);
	catalogue_free(first);
	catalogue_free(second);
}
END_TEST

START_TEST(every_bundled_offer_is_found_by_its_id)
{
	struct catalogue *catalogue;

	market_add_bundled(&market);
	catalogue = market_build(&market);
	ck_assert_ptr_nonnull(catalogue);
	check_order(catalogue);
	ck_assert_uint_eq(catalogue->unmapped_offers, 0);
	for (size_t i = 0; i < market.count; i++) {
		uint32_t place = catalogue_find(catalogue, market.offers[i].id);
		struct offer offer;

		ck_assert_uint_ne(place, CATALOGUE_NOWHERE);
		offer = offer_at(catalogue, place);
		ck_assert(offer_key_equal(&offer, &market.offers[i]));
		ck_assert_uint_eq(offer.place, place);
		ck_assert_ptr_ne(offer.provider, market.offers[i].provider);
		ck_assert_ptr_eq(offer.provider,
				 catalogue_text(catalogue, place, OFFER_TEXT_provider));
		ck_assert_ptr_eq(offer.source, catalogue_text(catalogue, place, OFFER_TEXT_source));
		ck_assert_uint_eq(catalogue_find(catalogue, market.offers[i].id + 1),
				  CATALOGUE_NOWHERE);
	}
	catalogue_free(catalogue);
}
END_TEST

START_TEST(the_instance_table_tells_how_gpus_are_joined)
{
	struct catalogue *catalogue;
	const struct shape *shapes;

	/* The same card in a machine with a fabric and in one that nobody knows. */
	market_add(&market, "aws", "p5.48xlarge", "H100 SXM5 80GB", 8, 55);
	market_add(&market, "nobody", "h100", "H100 SXM5 80GB", 8, 20);
	catalogue = market_build(&market);
	ck_assert_uint_eq(catalogue->shapes_count, 2);
	shapes = catalogue->shapes;
	ck_assert(shapes[0].has_cluster != shapes[1].has_cluster);
	for (int i = 0; i < 2; i++)
		if (shapes[i].has_cluster)
			ck_assert_int_eq(shapes[i].fabric.cluster_link, CLUSTER_LINK_EFA);
	catalogue_free(catalogue);
}
END_TEST

/* AWS publishes a band a type and region; within one list price order must be cost order. */
START_TEST(spot_offers_of_different_interruption_bands_lie_apart)
{
	struct catalogue *catalogue;
	double rates[2];

	for (int i = 0; i < 8; i++) {
		static const char *const regions[] = {
			"us-east-1",	"us-east-2",  "us-west-2",	"eu-west-1",
			"eu-central-1", "ap-south-1", "ap-northeast-1", "nowhere"};
		struct offer *offer = market_add(&market, "aws", "g5.xlarge", "A10G 24GB", 1, 0.4);

		offer->region = regions[i];
		offer->price_kind = PRICE_SPOT;
		offer->interruption_band = i < 4 ? i : 0; /* the feed's own goes first */
	}
	catalogue = market_build(&market);
	check_order(catalogue);
	ck_assert_uint_gt(catalogue->lists_count, 1);
	for (uint32_t i = 0; i < catalogue->lists_count; i++) {
		const struct offer_list *list = &catalogue->lists[i];

		for (uint32_t j = 0; j < list->count; j++) {
			const struct offer found =
				offer_at(catalogue, catalogue->by_price[list->first + j]);
			const struct offer *offer = &found;

			rates[0] = list->interruptions_per_hour;
			rates[1] = terms_spot_interruptions_per_hour(
				"aws", "g5.xlarge", offer->region, offer->interruption_band);
			ck_assert_double_eq_tol(rates[0], rates[1], 1e-12);
		}
	}
	catalogue_free(catalogue);
}
END_TEST

START_TEST(unmapped_unpriced_and_withdrawn_offers_have_no_shape)
{
	struct catalogue *catalogue;

	market_add(&market, "a", "known", "L4 24GB", 1, 1);
	market_add(&market, "a", "raw", "Mystery 9000", 1, 1);
	market_add(&market, "a", "free", "L4 24GB", 1, 1)->price_micros = PRICE_UNKNOWN;
	market_add(&market, "a", "zero", "L4 24GB", 1, 1)->price_micros = 0;
	market_add(&market, "a", "gone", "L4 24GB", 1, 1)->withdrawn_at_us = 5;
	catalogue = market_build(&market);
	ck_assert_uint_eq(catalogue->offers_count, 4);
	ck_assert_uint_eq(catalogue->unmapped_offers, 1);
	ck_assert_uint_eq(catalogue->unpriced_offers, 2);
	ck_assert_uint_eq(check_order(catalogue), 1);
	catalogue_free(catalogue);
}
END_TEST

START_TEST(two_offers_with_one_id_are_refused)
{
	struct arena arena;
	struct error error;
	struct catalogue_input input;

	arena_init(&arena, 1 << 16);
	error_init(&error, &arena);
	market_add(&market, "a", "x", "L4 24GB", 1, 1);
	market_add(&market, "a", "x", "L4 24GB", 1, 2);
	market.offers[0].id = market.offers[1].id = 3;
	input = (struct catalogue_input){.offers = market.offers, .offers_count = market.count};
	ck_assert_ptr_null(catalogue_build(&input, &error));
	ck_assert_ptr_nonnull(strstr(error.detail, "0000000000000003"));
	arena_release(&arena);
}
END_TEST

START_TEST(provider_states_and_unmapped_spellings_are_copied)
{
	struct provider_status status = {.provider = "aws",
					 .source = "aws-api",
					 .outcome = "http",
					 .detail = "503",
					 .rows_seen = 9,
					 .is_stale = true};
	struct unmapped unmapped = {.provider = "vast", .spelling = "GTX 9", .rows = 4};
	struct catalogue_input input = {.epoch = "e",
					.providers = &status,
					.providers_count = 1,
					.unmapped = &unmapped,
					.unmapped_count = 1};
	struct error error;
	struct catalogue *catalogue;

	error_init(&error, NULL);
	catalogue = catalogue_build(&input, &error);
	ck_assert_ptr_nonnull(catalogue);
	status.detail = "overwritten";
	ck_assert_str_eq(catalogue->epoch, "e");
	ck_assert_str_eq(catalogue->providers[0].detail, "503");
	ck_assert_int_eq(catalogue->providers[0].rows_seen, 9);
	ck_assert_str_eq(catalogue->unmapped[0].spelling, "GTX 9");
	catalogue_free(catalogue);
}
END_TEST

START_TEST(a_private_feed_without_offers_is_hidden_too)
{
	struct provider_status status[] = {
		{.provider = "aws", .source = "aws-api"},
		{.provider = "pool", .source = "file:broken.csv", .outcome = "parse"},
	};
	struct catalogue_input input = {.providers = status, .providers_count = 2};
	struct catalogue *whole;
	struct error error;

	error_init(&error, NULL);
	whole = catalogue_build(&input, &error);
	ck_assert_ptr_nonnull(whole);
	ck_assert_uint_eq(whole->providers_count, 2);
	ck_assert_uint_eq(whole->public_view->providers_count, 1);
	ck_assert_str_eq(whole->public_view->providers[0].provider, "aws");
	catalogue_free(whole);
}
END_TEST

START_TEST(a_country_tag_is_two_letters)
{
	ck_assert_uint_eq(catalogue_country_tag("US"), 'U' << 8 | 'S');
	ck_assert_uint_eq(catalogue_country_tag(""), 0);
	ck_assert_uint_eq(catalogue_country_tag("U"), 0);
	ck_assert_uint_eq(catalogue_country_tag("USA"), 0);
	ck_assert_uint_eq(catalogue_country_tag(NULL), 0);
}
END_TEST

/* Two catalogues over offers in one order tell the same. */
static void check_same(const struct catalogue *a, const struct catalogue *b)
{
	ck_assert_uint_eq(a->offers_count, b->offers_count);
	ck_assert_uint_eq(a->listed_count, b->listed_count);
	ck_assert_uint_eq(a->lists_count, b->lists_count);
	ck_assert_uint_eq(a->shapes_count, b->shapes_count);
	ck_assert_uint_eq(a->regions_count, b->regions_count);
	ck_assert_uint_eq(a->unlisted_count, b->unlisted_count);
	ck_assert_uint_eq(a->bundled_offers, b->bundled_offers);
	ck_assert_uint_eq(a->stale_providers_count, b->stale_providers_count);
	ck_assert_int_eq(a->oldest_observed_us, b->oldest_observed_us);
	ck_assert_int_eq(a->newest_observed_us, b->newest_observed_us);
	for (uint32_t i = 0; i < a->offers_count; i++)
		ck_assert_uint_eq(catalogue_id(a, i), catalogue_id(b, i));
	for (uint32_t i = 0; i < a->listed_count; i++)
		ck_assert_uint_eq(a->by_price[i], b->by_price[i]);
	for (uint32_t i = 0; i < a->regions_count; i++)
		ck_assert_str_eq(a->regions[i], b->regions[i]);
	for (uint32_t i = 0; i < a->shapes_count; i++) {
		ck_assert_uint_eq(a->shapes[i].offers, b->shapes[i].offers);
		ck_assert_double_eq_tol(a->shapes[i].ram_gib, b->shapes[i].ram_gib, 1e-9);
	}
}

START_TEST(the_public_view_is_the_catalogue_without_private_offers)
{
	struct catalogue *whole, *without;
	struct market open;
	size_t private = 0;

	market_init(&open, 60000);
	market_add_random(&market, 5000, 17);
	for (size_t i = 0; i < market.count; i++) {
		struct offer *offer = &market.offers[i];

		if (i % 5 == 1)
			offer->source = "file:own.csv";
		else if (i % 5 == 2)
			offer->price_basis = "instance, 12.5 % off the list";
		if (i % 5 == 3)
			offer->price_basis = "instance, off the listed price"; /* is public */
		if (i % 5 == 1 || i % 5 == 2)
		private++;
		else open.offers[open.count++] = *offer;
	}
	whole = market_build(&market);
	without = market_build(&open);
	ck_assert_ptr_nonnull(whole);
	check_order(whole);
	check_order(whole->public_view);
	ck_assert_uint_eq(whole->offers_count - whole->public_count, private);
	ck_assert_ptr_eq(without->public_view, without);
	ck_assert_ptr_eq(whole->public_view->public_view, whole->public_view);
	check_same(whole->public_view, without);
	for (uint32_t i = 0; i < whole->offers_count; i++) {
		uint64_t id = catalogue_id(whole, i);

		ck_assert_uint_eq(catalogue_find(whole, id), i);
		ck_assert_uint_eq(catalogue_find(whole->public_view, id),
				  i < whole->public_count ? i : CATALOGUE_NOWHERE);
	}
	catalogue_free(whole);
	catalogue_free(without);
	market_release(&open);
}
END_TEST

START_TEST(the_public_view_names_no_private_feed)
{
	struct provider_status status[] = {
		{.provider = "aws", .source = "aws-api", .offers = 3},
		{.provider = "aws", .source = "file:own.csv", .offers = 1},
		{.provider = "lambda", .source = "file:own.csv", .offers = 2},
		{.provider = "pool", .source = "file:pool.csv", .offers = 1},
	};
	struct unmapped unmapped[] = {
		{.provider = "aws", .spelling = "GTX 9"},
		{.provider = "pool", .spelling = "A100 80GB", .is_private = true},
	};
	struct catalogue_input input = {.providers = status,
					.providers_count = 4,
					.unmapped = unmapped,
					.unmapped_count = 2};
	const struct catalogue *view;
	struct catalogue *whole;
	struct error error;

	error_init(&error, NULL);
	market_add(&market, "aws", "a", "H100 SXM5 80GB", 1, 2)->source = "aws-api";
	market_add(&market, "aws", "b", "H100 SXM5 80GB", 1, 2)->source = "file:own.csv";
	market_add(&market, "lambda", "a", "H100 SXM5 80GB", 1, 2)->source = "bundled";
	market_add(&market, "lambda", "b", "H100 SXM5 80GB", 1, 2)->source = "file:own.csv";
	market_add(&market, "pool", "a", "H100 SXM5 80GB", 1, 2)->source = "file:pool.csv";
	for (size_t i = 0; i < market.count; i++)
		market.offers[i].id = i + 1;
	input.offers = market.offers;
	input.offers_count = market.count;
	whole = catalogue_build(&input, &error);
	ck_assert_ptr_nonnull(whole);
	ck_assert_uint_eq(whole->providers_count, 4);
	view = whole->public_view;
	ck_assert_uint_eq(view->offers_count, 2);
	ck_assert_uint_eq(view->providers_count, 2);
	ck_assert_str_eq(view->providers[0].source, "aws-api");
	ck_assert_int_eq(view->providers[0].offers, 1);
	ck_assert_str_eq(view->providers[1].provider, "lambda");
	ck_assert_str_eq(view->providers[1].source, "");
	ck_assert_int_eq(view->providers[1].offers, 1);
	ck_assert_uint_eq(view->unmapped_count, 1);
	ck_assert_str_eq(view->unmapped[0].spelling, "GTX 9");
	catalogue_free(whole);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("catalogue");
	TCase *tests = tcase_create("catalogue");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, an_empty_catalogue_is_one);
	tcase_add_test(tests, lists_are_presorted_whatever_the_order_of_the_input);
	tcase_add_test(tests, every_bundled_offer_is_found_by_its_id);
	tcase_add_test(tests, the_instance_table_tells_how_gpus_are_joined);
	tcase_add_test(tests, spot_offers_of_different_interruption_bands_lie_apart);
	tcase_add_test(tests, unmapped_unpriced_and_withdrawn_offers_have_no_shape);
	tcase_add_test(tests, two_offers_with_one_id_are_refused);
	tcase_add_test(tests, provider_states_and_unmapped_spellings_are_copied);
	tcase_add_test(tests, the_public_view_is_the_catalogue_without_private_offers);
	tcase_add_test(tests, the_public_view_names_no_private_feed);
	tcase_add_test(tests, a_private_feed_without_offers_is_hidden_too);
	tcase_add_test(tests, a_country_tag_is_two_letters);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
