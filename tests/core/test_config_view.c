/* The tree of a pasted configuration, and what its reader accepts beyond strict JSON. */
#include "server/json/config_view.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct error error;

static void setup(void)
{
	arena_init(&arena, 1u << 20);
	error_init(&error, &arena);
}

static void teardown(void)
{
	arena_release(&arena);
}

static struct config_value *parse(const char *text)
{
	return config_view_parse(text, strlen(text), &arena, &error);
}

START_TEST(members_are_found_in_any_order)
{
	struct config_value *root =
		parse("{\"z\":1,\"a\":{\"x\":null},\"m\":[true,\"t\"],\"a2\":2,\"z\":3}");

	ck_assert_msg(root != NULL, "%s", error.detail);
	ck_assert_uint_eq(root->count, 4);
	ck_assert(config_get(root, "z")->number > 2.5); /* the last of two */
	ck_assert(config_get(root, "a2")->number > 1.5);
	ck_assert_ptr_null(config_get(root, "b"));
	ck_assert_ptr_nonnull(config_member(config_get(root, "a"), "x"));
	ck_assert_ptr_null(config_get(config_get(root, "a"), "x")); /* null counts as missing */
	ck_assert(config_item(config_get(root, "m"), 0)->boolean);
	ck_assert(config_is_text(config_item(config_get(root, "m"), 1), "t"));
	ck_assert_ptr_null(config_item(config_get(root, "m"), 2));
	ck_assert_ptr_null(config_item(root, 0)); /* an object is no array */
	ck_assert_ptr_null(config_get(NULL, "a"));
}
END_TEST

START_TEST(what_is_not_strict_json_is_accepted)
{
	struct config_value *root = parse("\xef\xbb\xbf\n{\"a\":[Infinity,-Infinity,NaN],"
					  "\"b\":\"NaN \\\" Infinity\\\\\",\"NaN\":1,"
					  "\"c\":123456789012345678901234567890}");
	const struct config_value *list;

	ck_assert_msg(root != NULL, "%s", error.detail);
	list = config_get(root, "a");
	ck_assert(config_item(list, 0)->number > 1e307);
	ck_assert(config_item(list, 1)->number < -1e307);
	ck_assert_int_eq(config_item(list, 2)->type, CONFIG_NULL);
	ck_assert_str_eq(config_get(root, "b")->text, "NaN \" Infinity\\");
	ck_assert(config_get(root, "c")->number > 1e29);
	ck_assert_ptr_nonnull(config_get(root, "NaN"));
}
END_TEST

START_TEST(malformed_text_is_named_as_such)
{
	static const char *const texts[] = {"",	 "{\"a\":Infinit}", "{\"a\":1} tail", "{", "[1]",
					    "1", "{\"a\":\"\xff\"}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		error_init(&error, &arena);
		ck_assert_msg(!parse(texts[i]), "%s", texts[i]);
		ck_assert_int_eq(error.code, ERROR_MALFORMED);
	}
	ck_assert_ptr_null(config_view_parse("{}\0{", 4, &arena, &error));
}
END_TEST

START_TEST(depth_is_bounded)
{
	char deep[400];

	snprintf(deep, sizeof(deep), "{\"a\":");
	memset(deep + 5, '[', CONFIG_DEPTH_MAX);
	memset(deep + 5 + CONFIG_DEPTH_MAX, ']', CONFIG_DEPTH_MAX);
	deep[5 + 2 * CONFIG_DEPTH_MAX] = '}';
	deep[6 + 2 * CONFIG_DEPTH_MAX] = 0;
	ck_assert_ptr_nonnull(parse(deep));
	snprintf(deep, sizeof(deep), "{\"a\":");
	memset(deep + 5, '[', CONFIG_DEPTH_MAX + 1);
	memset(deep + 6 + CONFIG_DEPTH_MAX, ']', CONFIG_DEPTH_MAX + 1);
	deep[7 + 2 * CONFIG_DEPTH_MAX] = '}';
	deep[8 + 2 * CONFIG_DEPTH_MAX] = 0;
	ck_assert_ptr_null(parse(deep));
	ck_assert_ptr_nonnull(strstr(error.detail, "nested"));
}
END_TEST

START_TEST(an_arena_that_is_too_small_is_an_error)
{
	static const char text[] = "{\"a\":[1,2,3],\"b\":\"some text\",\"c\":{\"d\":true}}";
	struct arena small;
	size_t limit = 1;

	/* Every limit below what it takes fails cleanly, wherever the room runs out. */
	for (; limit < 4096; limit += 16) {
		struct config_value *root;

		arena_init(&small, limit);
		error_init(&error, &arena);
		root = config_view_parse(text, strlen(text), &small, &error);
		ck_assert(root || error.code == ERROR_TOO_LARGE);
		arena_release(&small);
		if (root)
			break;
	}
	ck_assert_uint_gt(limit, 500);
	ck_assert_uint_lt(limit, 4096);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config_view");
	TCase *tests = tcase_create("config_view");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, members_are_found_in_any_order);
	tcase_add_test(tests, what_is_not_strict_json_is_accepted);
	tcase_add_test(tests, malformed_text_is_named_as_such);
	tcase_add_test(tests, depth_is_bounded);
	tcase_add_test(tests, an_arena_that_is_too_small_is_an_error);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
