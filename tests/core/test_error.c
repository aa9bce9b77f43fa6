/* Errors: every fault in order, and a list that is bounded. */
#include "core/error.h"
#include "tests/suite.h"

START_TEST(every_bad_field_is_kept_in_order)
{
	struct arena arena;
	struct error error;

	arena_init(&arena, 1 << 16);
	error_init(&error, &arena);
	ck_assert(!error_is_set(&error));
	ck_assert(!error_add(&error, "/a", "type", NULL, "must be %s", "text"));
	ck_assert(!error_add(&error, "/b", "unknown_field", "/c", "unknown field"));
	ck_assert_int_eq(error.code, ERROR_INVALID);
	ck_assert_uint_eq(error.count, 2);
	ck_assert_str_eq(error.first->detail, "must be text");
	ck_assert_str_eq(error.last->suggestion, "/c");
	arena_release(&arena);
}
END_TEST

START_TEST(items_without_room_are_counted)
{
	struct error error;

	error_init(&error, NULL);
	error_add(&error, "/a", "type", NULL, "must be text");
	ck_assert_uint_eq(error.count, 0);
	ck_assert_uint_eq(error.dropped, 1);
	ck_assert_str_eq(error.detail, "must be text");
}
END_TEST

START_TEST(the_list_is_bounded)
{
	struct arena arena;
	struct error error;

	arena_init(&arena, 1 << 20);
	error_init(&error, &arena);
	for (int i = 0; i < ERROR_ITEMS_MAX + 5; i++)
		error_add(&error, "/a", "type", NULL, "item %d", i);
	ck_assert_uint_eq(error.count, ERROR_ITEMS_MAX);
	ck_assert_uint_eq(error.dropped, 5);
	arena_release(&arena);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("error");
	TCase *tests = tcase_create("error");

	tcase_add_test(tests, every_bad_field_is_kept_in_order);
	tcase_add_test(tests, items_without_room_are_counted);
	tcase_add_test(tests, the_list_is_bounded);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
