/* What every feed passes through: exact prices, normalising, the bundled list, and which addresses
 * are refused. */
#include "server/ingest/bundled.h"
#include "server/ingest/private_address.h"
#include "tests/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct feed feed;
static struct error error;
static const struct provider fake = {.id = "fake", .source = "fake-api"};

static void setup(void)
{
	arena_init(&arena, (size_t)256 << 20);
	error_init(&error, NULL);
	feed = (struct feed){.arena = &arena, .now_us = 1000000};
}

static void teardown(void)
{
	arena_release(&arena);
}

/* --- prices --- */

static const struct {
	const char *text;
	int64_t micros;
} prices[] = {
	{"2.69", 2690000},
	{"$2.69", 2690000},
	{"2", 2000000},
	{".5", 500000},
	{"5.", 5000000},
	{"0.000001", 1},
	{"0.0000005", 1},	       /* half up */
	{"0.00000049", PRICE_UNKNOWN}, /* never zero */
	{"1.0000005", 1000001},
	{"1.00000049999", 1000000},
	{"0.999999999999", 1000000},
	{"1e-5", 10},
	{"2.5E+1", 25000000},
	{"1e3", INT64_C(1000000000)},
	{"9000000000000", INT64_C(9000000000000000000)},
	{"10000000000000", PRICE_UNKNOWN}, /* beyond int64 */
	{"1e999", PRICE_UNKNOWN},
	{"1e-999", PRICE_UNKNOWN},
	{"0", PRICE_UNKNOWN},
	{"0.00", PRICE_UNKNOWN},
	{"-1", PRICE_UNKNOWN},
	{"+1", PRICE_UNKNOWN},
	{"", PRICE_UNKNOWN},
	{".", PRICE_UNKNOWN},
	{"$", PRICE_UNKNOWN},
	{"1,234.5", PRICE_UNKNOWN},
	{"1.2.3", PRICE_UNKNOWN},
	{" 1", PRICE_UNKNOWN},
	{"1 ", PRICE_UNKNOWN},
	{"1e", PRICE_UNKNOWN},
	{"0x10", PRICE_UNKNOWN},
	{"nan", PRICE_UNKNOWN},
	{"inf", PRICE_UNKNOWN},
	{"N/A", PRICE_UNKNOWN},
	{"1111111111111111111111111111111111111111111111111111111111111111111", PRICE_UNKNOWN},
	{"000000000000000000000000000000000000002.5", 2500000},
};

START_TEST(a_decimal_text_becomes_exact_micro_dollars)
{
	ck_assert_int_eq(price_parse(prices[_i].text), prices[_i].micros);
}
END_TEST

START_TEST(a_double_becomes_the_decimal_that_the_feed_printed)
{
	ck_assert_int_eq(price_from_double(0.79000000000000004), 790000);
	ck_assert_int_eq(price_from_double(0.1 + 0.2), 300000);
	ck_assert_int_eq(price_from_double(98.32), 98320000);
	ck_assert_int_eq(price_from_double(1136932.0), INT64_C(1136932000000));
	ck_assert_int_eq(price_from_double(1.0000005), 1000001); /* below it as a binary number */
	ck_assert_int_eq(price_from_double(0.00743999984115362), 7440);
	ck_assert_int_eq(price_from_double(1e-5), 10);
	ck_assert_int_eq(price_from_double(0), PRICE_UNKNOWN);
	ck_assert_int_eq(price_from_double(-0.5), PRICE_UNKNOWN);
	ck_assert_int_eq(price_from_double(0.0 / 0.0), PRICE_UNKNOWN);
	ck_assert_int_eq(price_from_double(1e300), PRICE_UNKNOWN);
	ck_assert_int_eq(price_parse(NULL), PRICE_UNKNOWN);
}
END_TEST

START_TEST(shares_round_half_up_and_unknown_stays_unknown)
{
	ck_assert_int_eq(price_divide(INT64_C(551237000000), 8760), 62926598); /* .598 17 */
	ck_assert_int_eq(price_divide(3, 2), 2);
	ck_assert_int_eq(price_divide(4, 3), 1);
	ck_assert_int_eq(price_divide(1, 3), PRICE_UNKNOWN); /* never zero */
	ck_assert_int_eq(price_divide(PRICE_UNKNOWN, 2), PRICE_UNKNOWN);
	ck_assert_int_eq(price_divide(10, 0), PRICE_UNKNOWN);
	ck_assert_int_eq(price_divide(INT64_MAX, 2), INT64_MAX / 2 + 1);
	ck_assert_int_eq(price_times(2690000, 8), 21520000);
	ck_assert_int_eq(price_times(PRICE_UNKNOWN, 8), PRICE_UNKNOWN);
	ck_assert_int_eq(price_times(INT64_MAX, 2), PRICE_UNKNOWN);
}
END_TEST

/* --- normalising --- */

static struct offer *add(const char *type, const char *accelerator, int count, int64_t micros)
{
	struct offer *offer = feed_add(&feed);

	ck_assert_ptr_nonnull(offer);
	offer->instance_type = type;
	offer->accelerator = accelerator;
	offer->count_milli = count * COUNT_MILLI_ONE;
	offer->price_micros = micros;
	return offer;
}

static int64_t refused_for(enum rejection reason)
{
	struct normalise_report report;

	ck_assert(normalise(&fake, &feed, &report, &error));
	ck_assert_int_eq(report.rejected, feed.rejected[reason]);
	return feed.rejected[reason];
}

START_TEST(sane_rows_get_canonical_cards_and_totals_of_memory)
{
	struct normalise_report report;
	struct offer *offer = add("a", "H100 SXM5 80GB", 8, 20000000);

	offer->memory_gb = 640;
	add("b", "No Such Card", 1, 1000000);
	add("c", "No Such Card", 4, 900000000); /* 900 a GPU may be 9 a GPU of a hundred */
	ck_assert(normalise(&fake, &feed, &report, &error));
	ck_assert_int_eq(report.accepted, 3);
	ck_assert_int_eq(report.unmapped, 2);
	ck_assert_uint_eq(report.unmapped_count, 1);
	ck_assert_str_eq(report.unmapped_list[0].spelling, "No Such Card");
	ck_assert_int_eq(report.unmapped_list[0].rows, 2);
	for (size_t i = 0; i < feed.count; i++) {
		const struct offer *row = &feed.offers[i];

		ck_assert_str_eq(row->provider, "fake");
		ck_assert_str_eq(row->source, "fake-api");
		if (row->instance_type[0] == 'a') {
			ck_assert(row->is_mapped);
			ck_assert(row->memory_gb > 639.9 && row->memory_gb < 640.1);
		} else {
			ck_assert(!row->is_mapped);
			ck_assert_str_eq(row->accelerator, "No Such Card");
		}
	}
}
END_TEST

START_TEST(a_name_that_is_only_near_is_not_mapped)
{
	struct normalise_report report;

	add("a", "A100-8", 1, 1000000);
	add("b", "H100 SXM5 80GBx", 1, 1000000);
	ck_assert(normalise(&fake, &feed, &report, &error));
	ck_assert_int_eq(report.unmapped, 2);
}
END_TEST

static const struct {
	const char *accelerator;
	int count;
	int64_t micros;
	double memory_gb;
	enum rejection reason;
} insane[] = {
	{"H100 SXM5 80GB", 1, 0, 0, REJECTED_NO_PRICE},
	{"H100 SXM5 80GB", 1, -5, 0, REJECTED_NO_PRICE},
	{"H100 SXM5 80GB", 8, 79999, 640, REJECTED_PRICE},   /* under a cent a GPU */
	{"H100 SXM5 80GB", 1, 40000001, 80, REJECTED_PRICE}, /* over 40 for 80 GB */
	{"T4 16GB", 1, 10000001, 16, REJECTED_PRICE},
	{"No Such Card", 1, 1000000001, 0, REJECTED_PRICE},
	{"H100 SXM5 80GB", 8, 20000000, 80, REJECTED_MEMORY},  /* of one, not of all */
	{"H100 SXM5 80GB", 2, 5000000, 1280, REJECTED_MEMORY}, /* count squared */
	{"A100 SXM4 80GB", 1, 1000000, 40, REJECTED_MEMORY},   /* the other card of that name */
	{"H100 SXM5 80GB", 1, 2000000, -80, REJECTED_SCHEMA},
	{"", 1, 2000000, 0, REJECTED_TEXT},
	{"bad \xff byte", 1, 2000000, 0, REJECTED_TEXT},
	{"cut \xe2\x82", 1, 2000000, 0, REJECTED_TEXT},
	{"long way \xc1\xa1", 1, 2000000, 0, REJECTED_TEXT},
	{"half \xed\xa0\x80", 1, 2000000, 0, REJECTED_TEXT},
	{"line\nbreak", 1, 2000000, 0, REJECTED_TEXT},
	{"delete\x7f", 1, 2000000, 0, REJECTED_TEXT},
	{"next line \xc2\x85", 1, 2000000, 0, REJECTED_TEXT},
};

START_TEST(an_insane_row_is_refused_under_its_reason)
{
	add("x", insane[_i].accelerator, insane[_i].count, insane[_i].micros)->memory_gb =
		insane[_i].memory_gb;
	ck_assert_int_eq(refused_for(insane[_i].reason), 1);
	ck_assert_uint_eq(feed.count, 0);
	ck_assert(feed.first_rejection[0]);
}
END_TEST

START_TEST(a_text_may_have_any_letters_and_two_hundred_bytes)
{
	static char longest[202];

	memset(longest, 'x', 201);
	add(longest, "H100 SXM5 80GB", 1, 2000000);
	add("caf\xc3\xa9 \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x9a\x80", "H100 SXM5 80GB", 1, 2000000);
	ck_assert_int_eq(refused_for(REJECTED_TEXT), 1);
	longest[200] = '\0';
	feed.rejected[REJECTED_TEXT] = 0;
	add(longest, "H100 SXM5 80GB", 1, 2000000);
	ck_assert_int_eq(refused_for(REJECTED_TEXT), 0);
	ck_assert_uint_eq(feed.count, 2);
}
END_TEST

START_TEST(of_rows_with_one_key_the_dearest_stays_whatever_their_order)
{
	static const int64_t micros[] = {2500000, 2000000, 3000000};

	for (int i = 0; i < 3; i++)
		add("same", "H100 SXM5 80GB", 1, micros[i]);
	add("other", "H100 SXM5 80GB", 1, 1000000);
	ck_assert_int_eq(refused_for(REJECTED_DUPLICATE), 2);
	ck_assert_uint_eq(feed.count, 2);
	for (size_t i = 0; i < feed.count; i++)
		ck_assert_int_eq(feed.offers[i].price_micros,
				 feed.offers[i].instance_type[0] == 's' ? 3000000 : 1000000);
}
END_TEST

START_TEST(a_feed_that_outgrows_its_memory_is_marked)
{
	arena_release(&arena);
	arena_init(&arena, 100000);
	for (int i = 0; i < 10000 && feed_add(&feed); i++)
		;
	ck_assert(feed.is_exhausted);
	feed.is_exhausted = false;
	/* Each is another: a text that is there already is not kept again. */
	for (int i = 0; i < 10000 && !feed.is_exhausted; i++) {
		char text[40];

		snprintf(text, sizeof(text), "one of the many texts of a feed: %d", i);
		ck_assert(*feed_text(&feed, text) || feed.is_exhausted);
	}
	ck_assert(feed.is_exhausted);
}
END_TEST

/* --- the bundled list --- */

START_TEST(the_bundled_list_is_dated_whole_and_sane)
{
	struct price_list *list;
	size_t list_providers = 0;
	int64_t rows = 0;

	ck_assert_msg(bundled_read(&arena, &list, &error), "%s", error.detail);
	for (; list; list = list->next) {
		list_providers++;
		rows += list->report.accepted;
		ck_assert_msg(list->report.rejected == 0, "%s: %s", list->provider,
			      list->feed.first_rejection);
		ck_assert_int_eq(list->report.unmapped, 0);
		ck_assert_int_eq(list->feed.rows_seen, list->report.accepted);
		for (size_t i = 0; i < list->feed.count; i++) {
			const struct offer *offer = &list->feed.offers[i];

			ck_assert_str_eq(offer->source, "bundled");
			/* 2025-01-01 */
			ck_assert_int_ge(offer->observed_at_us, INT64_C(1735689600) * 1000000);
			ck_assert_int_gt(offer->price_micros, 0);
			ck_assert(*offer->instance_type);
		}
	}
	ck_assert_uint_ge(list_providers, 10);
	ck_assert_int_ge(rows, 300);
}
END_TEST

/* --- addresses --- */

static const struct {
	const char *address;
	bool is_private;
} addresses[] = {
	{"127.0.0.1", true},
	{"10.1.2.3", true},
	{"172.16.0.1", true},
	{"172.31.255.1", true},
	{"172.32.0.1", false},
	{"192.168.1.1", true},
	{"169.254.169.254", true},
	{"100.64.0.1", true},
	{"100.128.0.1", false},
	{"0.0.0.0", true},
	{"224.0.0.1", true},
	{"255.255.255.255", true},
	{"198.18.0.1", true},
	{"192.0.0.8", true},
	{"8.8.8.8", false},
	{"::1", true},
	{"::", true},
	{"fe80::1", true},
	{"fc00::1", true},
	{"fd12::1", true},
	{"ff02::1", true},
	{"::ffff:127.0.0.1", true},
	{"::ffff:8.8.8.8", false},
	{"64:ff9b::10.0.0.1", true},
	{"64:ff9b::8.8.8.8", false},
	{"2002:7f00:1::", true},
	{"2002:808:808::", false},
	{"::127.0.0.1", true},
	{"2606:4700::1111", false},
};

START_TEST(inner_addresses_are_told_from_public_ones)
{
	const char *text = addresses[_i].address;
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	if (strchr(text, ':')) {
		ck_assert_int_eq(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
		ck_assert_int_eq(is_private_address((const struct sockaddr *)&v6, sizeof(v6)),
				 addresses[_i].is_private);
	} else {
		ck_assert_int_eq(inet_pton(AF_INET, text, &v4.sin_addr), 1);
		ck_assert_int_eq(is_private_address((const struct sockaddr *)&v4, sizeof(v4)),
				 addresses[_i].is_private);
	}
}
END_TEST

START_TEST(other_families_are_never_public)
{
	struct sockaddr local = {.sa_family = AF_UNIX};

	ck_assert(is_private_address(&local, sizeof(local)));
}
END_TEST

static TCase *make(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, teardown);
	suite_add_tcase(suite, tcase);
	return tcase;
}

#define COUNT(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(void)
{
	Suite *suite = suite_create("feed");
	TCase *tcase = make(suite, "prices");

	tcase_add_loop_test(tcase, a_decimal_text_becomes_exact_micro_dollars, 0, COUNT(prices));
	tcase_add_test(tcase, a_double_becomes_the_decimal_that_the_feed_printed);
	tcase_add_test(tcase, shares_round_half_up_and_unknown_stays_unknown);
	tcase = make(suite, "normalise");
	tcase_add_test(tcase, sane_rows_get_canonical_cards_and_totals_of_memory);
	tcase_add_test(tcase, a_name_that_is_only_near_is_not_mapped);
	tcase_add_loop_test(tcase, an_insane_row_is_refused_under_its_reason, 0, COUNT(insane));
	tcase_add_test(tcase, a_text_may_have_any_letters_and_two_hundred_bytes);
	tcase_add_test(tcase, of_rows_with_one_key_the_dearest_stays_whatever_their_order);
	tcase_add_test(tcase, a_feed_that_outgrows_its_memory_is_marked);
	tcase = make(suite, "bundled");
	tcase_add_test(tcase, the_bundled_list_is_dated_whole_and_sane);
	tcase = make(suite, "addresses");
	tcase_add_loop_test(tcase, inner_addresses_are_told_from_public_ones, 0, COUNT(addresses));
	tcase_add_test(tcase, other_families_are_never_public);
	return suite_run(suite);
}
