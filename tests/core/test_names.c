/* Names: exact, else the nearest one is suggested. */
#include "core/names.h"
#include "tests/suite.h"

static const char *const texts[] = {"adamw", NULL, "adafactor", "lion"};
static const struct names table = {texts, 4};

START_TEST(names_are_found_exactly)
{
	ck_assert_int_eq(names_find(&table, "lion"), 3);
	ck_assert_int_eq(names_find(&table, "Lion"), -1);
	ck_assert_int_eq(names_find(&table, ""), -1);
	ck_assert_str_eq(names_text(&table, 1), "unknown");
	ck_assert_str_eq(names_text(&table, 9), "unknown");
}
END_TEST

START_TEST(the_nearest_name_is_suggested_only_when_near)
{
	ck_assert_str_eq(names_nearest(&table, "adamW"), "adamw");
	ck_assert_str_eq(names_nearest(&table, "adafcator"), "adafactor");
	ck_assert_ptr_null(names_nearest(&table, "zzzzzzzz"));
}
END_TEST

START_TEST(distance_counts_swaps_and_stops_at_the_limit)
{
	ck_assert_uint_eq(names_distance("abcd", "abdc", 5), 1);
	ck_assert_uint_eq(names_distance("kitten", "sitting", 5), 3);
	ck_assert_uint_eq(names_distance("kitten", "sitting", 2), 3);
	ck_assert_uint_eq(names_distance("", "abc", 5), 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("names");
	TCase *tests = tcase_create("names");

	tcase_add_test(tests, names_are_found_exactly);
	tcase_add_test(tests, the_nearest_name_is_suggested_only_when_near);
	tcase_add_test(tests, distance_counts_swaps_and_stops_at_the_limit);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
