/* Base64: the examples of RFC 4648, any bytes, and texts that are none. */
#include "core/base64.h"
#include "tests/suite.h"

#include <string.h>

static struct arena arena;

static void begin(void)
{
	arena_init(&arena, (size_t)1 << 20);
}

static void end(void)
{
	arena_release(&arena);
}

/* RFC 4648, 10, without the padding. */
static const char *const known[][2] = {
	{"", ""},	    {"f", "Zg"},	  {"fo", "Zm8"},	  {"foo", "Zm9v"},
	{"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"},
};

START_TEST(known_texts)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *bytes = known[i][0], *text = known[i][1], *back;
		size_t length = 99;

		ck_assert_str_eq(base64_encode(&arena, bytes, strlen(bytes)), text);
		back = base64_decode(&arena, BASE64_STANDARD, text, strlen(text), &length);
		ck_assert_str_eq(back, bytes);
		ck_assert_uint_eq(length, strlen(bytes));
	}
}
END_TEST

START_TEST(any_bytes_come_back)
{
	unsigned char bytes[256];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(255 - i); /* with zeros, and with both last digits */
	for (size_t count = 0; count <= sizeof(bytes); count++) {
		const char *text = base64_encode(&arena, bytes, count), *back;
		size_t length = 0;

		ck_assert_ptr_null(strpbrk(text, "+/="));
		back = base64_decode(&arena, BASE64_URL, text, strlen(text), &length);
		ck_assert_uint_eq(length, count);
		ck_assert_ptr_nonnull(back);
		ck_assert_int_eq(memcmp(back, bytes, count), 0);
	}
}
END_TEST

START_TEST(texts_that_are_none)
{
	static const char *const bad[] = {"A",	    "AAAAA", "Zg==", "Zm9 ",
					  "Zm\n9v", "Zh",    "Zm9",  "-_"};
	size_t length;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(
			!base64_decode(&arena, BASE64_STANDARD, bad[i], strlen(bad[i]), &length),
			"%s", bad[i]);
	ck_assert_ptr_null(base64_decode(&arena, BASE64_URL, "+/8", 3, &length));
	ck_assert_ptr_nonnull(base64_decode(&arena, BASE64_STANDARD, "+/8", 3, &length));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base64");
	TCase *tests = tcase_create("base64");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, known_texts);
	tcase_add_test(tests, any_bytes_come_back);
	tcase_add_test(tests, texts_that_are_none);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
