/* Price since: what a change means for a filter, by the states of before. */
#include "server/api/price_versions.h"
#include "tests/suite.h"

#include <stdlib.h>
#include <time.h>

static const char *card = "L4 24GB";
static const struct price_filter cheap = {.max_micros = 2000000,
					  .max_per_gpu_micros = PRICE_UNKNOWN,
					  .accelerators = &card,
					  .accelerators_count = 1};

static struct offer at_price(int64_t dollars, int64_t version)
{
	return (struct offer){.id = 1,
			      .provider = "p",
			      .accelerator = "L4 24GB",
			      .is_mapped = true,
			      .count_milli = COUNT_MILLI_ONE,
			      .price_micros = dollars * 1000000,
			      .source = "live",
			      .price_basis = "instance",
			      .version = version,
			      .public_version = version};
}

static struct offer_state until(struct offer offer, int64_t version, bool is_whole)
{
	return (struct offer_state){.offer = offer, .until = version, .is_whole = is_whole};
}

/* Since when, for `now`, on sale or not, after `states`; -version while the filter takes it. */
static int64_t since(struct offer now, bool is_gone, struct offer_state *states, size_t count)
{
	struct catalogue_input input = {.epoch = "e",
					.version = 20,
					.changes_from = 2,
					.states = states,
					.states_count = count};
	struct catalogue *catalogue;
	struct error error;
	int64_t found;
	bool is_in;

	if (is_gone) {
		input.gone = &now;
		input.gone_count = 1;
	} else {
		input.offers = &now;
		input.offers_count = 1;
	}
	error_init(&error, NULL);
	catalogue = catalogue_build(&input, &error);
	ck_assert_msg(catalogue != NULL, "%s", error.detail);
	ck_assert_uint_eq(catalogue->public_view->changes_count, 1);
	found = price_filter_since(&cheap, catalogue->public_view,
				   &catalogue->public_view->changes[0], &is_in);
	catalogue_free(catalogue);
	return is_in ? -found : found;
}

START_TEST(what_is_in_has_its_own_version)
{
	ck_assert_int_eq(since(at_price(1, 9), false, NULL, 0), -9);
}
END_TEST

START_TEST(what_cannot_be_in_never_was)
{
	struct offer other = at_price(1, 9);

	other.accelerator = "T4 16GB";
	ck_assert_int_eq(since(other, false, NULL, 0), 0);
}
END_TEST

START_TEST(what_was_before_is_not_known)
{
	ck_assert_int_eq(since(at_price(5, 9), false, NULL, 0), 9);
	ck_assert_int_eq(since(at_price(1, 9), true, NULL, 0), 9);
}
END_TEST

START_TEST(it_left_with_the_change)
{
	struct offer_state states[] = {until(at_price(1, 4), 9, true)};

	ck_assert_int_eq(since(at_price(5, 9), false, states, 1), 9);
	ck_assert_int_eq(since(at_price(1, 9), true, states, 1), 9);
}
END_TEST

START_TEST(it_was_out_before)
{
	struct offer_state states[] = {until(at_price(1, 3), 4, true),
				       until(at_price(5, 4), 7, true),
				       until(at_price(6, 7), 9, true)};
	struct offer_state gone = until(at_price(1, 4), 9, true);

	ck_assert_int_eq(since(at_price(7, 9), false, states, 3), 4);
	ck_assert_int_eq(since(at_price(7, 9), false, states + 1, 2), 4);
	ck_assert_int_eq(since(at_price(7, 9), false, states + 2, 1), 7);
	gone.is_gone = true;
	ck_assert_int_eq(since(at_price(7, 9), false, &gone, 1), 4);
}
END_TEST

START_TEST(a_gap_counts_as_having_been_in)
{
	struct offer_state states[] = {until(at_price(5, 3), 6, true),
				       until(at_price(6, 6), 9, false)};
	struct offer_state apart[] = {until(at_price(5, 3), 6, true),
				      until(at_price(6, 7), 9, true)};

	ck_assert_int_eq(since(at_price(7, 9), false, states, 2), 9);
	ck_assert_int_eq(since(at_price(7, 9), false, apart, 2), 7);
}
END_TEST

START_TEST(what_the_public_did_not_see_it_is_not_told_of)
{
	struct offer now = at_price(5, 9), hidden = at_price(1, 6), seen = at_price(1, 4);
	struct offer_state states[] = {until(seen, 6, true), until(hidden, 9, true)};

	/* Hidden with version 6, dearer with 9 and seen again: out since it was hidden. */
	states[1].offer.price_basis = "10 %" OFFER_BASIS_DISCOUNTED;
	ck_assert_int_eq(since(now, false, states, 2), 6);
	/* Hidden still: its version is the one of 6. */
	now.price_basis = "10 %" OFFER_BASIS_DISCOUNTED;
	now.public_version = 6;
	ck_assert_int_eq(since(now, false, states, 2), 6);
	ck_assert_int_eq(since(now, false, NULL, 0), 6);
}
END_TEST

/* Changes of another card's offers, one a version; the first of all is one of the filter's. */
static struct catalogue *many_changes(uint32_t count)
{
	struct catalogue_input input = {.epoch = "e", .version = count, .offers_count = count};
	struct offer *offers = calloc(count, sizeof(*offers));
	struct catalogue *catalogue;
	struct error error;

	error_init(&error, NULL);
	for (uint32_t i = 0; i < count; i++) {
		offers[i] = at_price(1, i + 1);
		offers[i].id = i + 1;
		offers[i].accelerator = i ? "T4 16GB" : card;
	}
	input.offers = offers;
	catalogue = catalogue_build(&input, &error);
	ck_assert_msg(catalogue != NULL, "%s", error.detail);
	free(offers);
	return catalogue;
}

START_TEST(news_are_what_came_after)
{
	static const char *const keys[] = {NULL, "accelerator=L4"};
	struct catalogue *catalogue = many_changes(10);

	for (int i = 0; i < 2; i++) {
		struct price_versions *versions = price_versions_new();

		ck_assert(price_versions_have_news(versions, keys[i], &cheap, catalogue, 0));
		ck_assert(!price_versions_have_news(versions, keys[i], &cheap, catalogue, 1));
		ck_assert(!price_versions_have_news(versions, keys[i], &cheap, catalogue, 10));
		price_versions_expect(versions, keys[i], &cheap, catalogue);
		ck_assert(price_versions_have_news(versions, keys[i], &cheap, catalogue, 0));
		ck_assert(!price_versions_have_news(versions, keys[i], &cheap, catalogue, 1));
		ck_assert_int_eq(price_versions_find(versions, keys[i], &cheap, catalogue), 1);
		price_versions_free(versions);
	}
	catalogue_free(catalogue);
}
END_TEST

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Thousands of held requests ask at once, by filters that may be too long to be remembered. */
START_TEST(older_changes_are_not_looked_through_for_news)
{
	struct catalogue *catalogue = many_changes(15000);
	double began = cpu_seconds(), whole, news;

	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(price_versions_find(NULL, NULL, &cheap, catalogue), 1);
	whole = cpu_seconds() - began;
	began = cpu_seconds();
	for (int i = 0; i < 20; i++)
		ck_assert(!price_versions_have_news(NULL, NULL, &cheap, catalogue, 14990));
	news = cpu_seconds() - began;
	ck_assert_msg(news < whole / 20, "%g s for news, %g s for all", news, whole);
	catalogue_free(catalogue);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("price_since");
	TCase *tests = tcase_create("since");

	tcase_add_test(tests, what_is_in_has_its_own_version);
	tcase_add_test(tests, what_cannot_be_in_never_was);
	tcase_add_test(tests, what_was_before_is_not_known);
	tcase_add_test(tests, it_left_with_the_change);
	tcase_add_test(tests, it_was_out_before);
	tcase_add_test(tests, a_gap_counts_as_having_been_in);
	tcase_add_test(tests, what_the_public_did_not_see_it_is_not_told_of);
	tcase_add_test(tests, news_are_what_came_after);
	tcase_add_test(tests, older_changes_are_not_looked_through_for_news);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
