/* Catalogue changes: newest change of each offer in order, in both views. */
#include "core/catalogue.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static struct offer offer_of(uint64_t id, int64_t version, int64_t public_version)
{
	return (struct offer){.id = id,
			      .provider = "p",
			      .accelerator = "L4 24GB",
			      .is_mapped = true,
			      .count_milli = COUNT_MILLI_ONE,
			      .price_micros = 1000000,
			      .source = public_version == version ? "live" : "file:own",
			      .version = version,
			      .public_version = public_version};
}

/* "version:id+" for each, "-" for what is not on sale there. */
static void check_changes(const struct catalogue *catalogue, const char *expected)
{
	char text[256] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < catalogue->changes_count; i++) {
		const struct offer_change *change = &catalogue->changes[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d:%d%s",
					 i ? " " : "",
					 (int)(catalogue->changes_from + change->since),
					 (int)catalogue_changed_id(catalogue, change->place),
					 change->place < catalogue->offers_count ? "+" : "-");
	}
	ck_assert_str_eq(text, expected);
}

static struct catalogue *build(const struct catalogue_input *input)
{
	struct error error;
	struct catalogue *catalogue;

	error_init(&error, NULL);
	catalogue = catalogue_build(input, &error);
	ck_assert_msg(catalogue != NULL, "%s", error.detail);
	return catalogue;
}

START_TEST(they_lie_by_version_and_id_from_where_they_are_kept)
{
	struct offer on_sale[] = {offer_of(7, 9, 9), offer_of(3, 9, 9), offer_of(1, 4, 4),
				  offer_of(2, 12, 12)};
	struct offer gone[] = {offer_of(9, 8, 8), offer_of(5, 9, 9), offer_of(4, 4, 4)};
	struct catalogue *catalogue = build(&(struct catalogue_input){.epoch = "e",
								      .version = 12,
								      .offers = on_sale,
								      .offers_count = 4,
								      .changes_from = 4,
								      .gone = gone,
								      .gone_count = 3});

	check_changes(catalogue, "8:9- 9:3+ 9:5- 9:7+ 12:2+");
	ck_assert_ptr_eq(catalogue->public_view, catalogue);
	ck_assert_uint_eq(catalogue->gone_count, 2);
	catalogue_free(catalogue);
}
END_TEST

START_TEST(the_public_is_told_of_what_it_saw)
{
	/* 4 became private with version 6, 5 always was; 6 left while private, 8 while public. */
	struct offer on_sale[] = {offer_of(2, 5, 5), offer_of(4, 9, 6), offer_of(5, 8, 0)};
	struct offer gone[] = {offer_of(6, 10, 3), offer_of(7, 10, 0), offer_of(8, 7, 7)};
	struct catalogue *catalogue = build(&(struct catalogue_input){.epoch = "e",
								      .version = 10,
								      .offers = on_sale,
								      .offers_count = 3,
								      .changes_from = 1,
								      .gone = gone,
								      .gone_count = 3});

	check_changes(catalogue, "5:2+ 7:8- 8:5+ 9:4+ 10:6- 10:7-");
	check_changes(catalogue->public_view, "3:6- 5:2+ 6:4- 7:8-");
	catalogue_free(catalogue);
}
END_TEST

START_TEST(spellings_are_known_while_they_are_told_of)
{
	struct offer on_sale[] = {offer_of(1, 5, 5), offer_of(2, 5, 5), offer_of(3, 9, 0)};
	struct offer gone[] = {offer_of(4, 7, 7), offer_of(5, 7, 0)};
	static const char *const cards[] = {"Odd A", "Odd B", "Odd C", "Odd D", "Odd E"};
	struct catalogue *catalogue;

	for (int i = 0; i < 5; i++) {
		struct offer *offer = i < 3 ? &on_sale[i] : &gone[i - 3];

		offer->accelerator = cards[i];
		offer->is_mapped = i == 1;
	}
	catalogue = build(&(struct catalogue_input){.epoch = "e",
						    .version = 10,
						    .offers = on_sale,
						    .offers_count = 3,
						    .gone = gone,
						    .gone_count = 2});
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(catalogue_has_spelling(catalogue, cards[i]), i != 1);
		ck_assert_int_eq(catalogue_has_spelling(catalogue->public_view, cards[i]),
				 i == 0 || i == 3);
	}
	ck_assert(!catalogue_has_spelling(catalogue, "Odd"));
	catalogue_free(catalogue);
}
END_TEST

static int by_version_and_id(const void *left, const void *right)
{
	const struct offer *a = left, *b = right;

	if (a->version != b->version)
		return a->version < b->version ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Versions far apart, so that every digit of the sort counts. */
START_TEST(a_market_is_sorted_as_by_qsort)
{
	enum { COUNT = 20000 };
	static struct offer offers[COUNT];
	uint64_t state = 88172645463325252u;
	struct catalogue *catalogue;

	for (int i = 0; i < COUNT; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		offers[i] = offer_of(state, 1, 1);
		offers[i].version = offers[i].public_version =
			1 + (int64_t)(state >> 20 & (i % 3 ? 0xff : 0xfffffffe));
	}
	catalogue = build(&(struct catalogue_input){.epoch = "e",
						    .version = UINT32_MAX,
						    .offers = offers,
						    .offers_count = COUNT / 2,
						    .gone = offers + COUNT / 2,
						    .gone_count = COUNT / 2});
	qsort(offers, COUNT, sizeof(*offers), by_version_and_id);
	ck_assert_uint_eq(catalogue->changes_count, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		ck_assert_uint_eq(catalogue_changed_id(catalogue, catalogue->changes[i].place),
				  offers[i].id);
	catalogue_free(catalogue);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("catalogue_changes");
	TCase *tests = tcase_create("changes");

	tcase_add_test(tests, they_lie_by_version_and_id_from_where_they_are_kept);
	tcase_add_test(tests, the_public_is_told_of_what_it_saw);
	tcase_add_test(tests, spellings_are_known_while_they_are_told_of);
	tcase_add_test(tests, a_market_is_sorted_as_by_qsort);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
