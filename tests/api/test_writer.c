/* The JSON writer: exact numbers, valid text whatever comes in, failures that stick. */
#include "server/json/writer.h"

#include "core/units.h"
#include "tests/suite.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static struct writer writer;

static void start(void)
{
	writer_init(&writer, 1 << 20);
}

static void stop(void)
{
	writer_release(&writer);
}

static void expect(const char *wanted)
{
	size_t length;
	char *text = writer_take(&writer, &length);

	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(text, wanted);
	ck_assert_uint_eq(length, strlen(wanted));
	free(text);
}

START_TEST(values_nest_with_commas_where_they_belong)
{
	writer_begin_object(&writer);
	writer_key(&writer, "a");
	writer_begin_array(&writer);
	writer_integer(&writer, 1);
	writer_begin_object(&writer);
	writer_end_object(&writer);
	writer_fragment(&writer, "{\"x\":1}", 7);
	writer_null(&writer);
	writer_end_array(&writer);
	writer_key(&writer, "b");
	writer_bool(&writer, true);
	writer_key(&writer, "c");
	writer_string(&writer, NULL);
	writer_end_object(&writer);
	expect("{\"a\":[1,{},{\"x\":1},null],\"b\":true,\"c\":null}");
}
END_TEST

START_TEST(money_is_exact)
{
	static const struct {
		int64_t micros;
		const char *text;
	} cases[] = {
		{790000, "0.79"},
		{2390000, "2.39"},
		{1, "0.000001"},
		{0, "0"},
		{1000000, "1"},
		{12345678, "12.345678"},
		{100, "0.0001"},
		{-2500000, "-2.5"},
		{INT64_MAX, "9223372036854.775807"},
		{INT64_MIN, "-9223372036854.775808"},
		{PRICE_UNKNOWN, "null"},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start();
		writer_micros(&writer, cases[i].micros);
		expect(cases[i].text);
	}
}
END_TEST

START_TEST(numbers_are_rounded_and_trimmed)
{
	static const struct {
		double value;
		int decimals;
		const char *text;
	} cases[] = {
		{0.5, 0, "1"},
		{1.25, 1, "1.3"},
		{1234.5678, 2, "1234.57"},
		{-0.0001, 2, "0"},
		{-1.5, 1, "-1.5"},
		{1e6, 6, "1000000"},
		{0.1 + 0.2, 6, "0.3"},
		{(double)NAN, 2, "null"},
		{(double)INFINITY, 2, "null"},
		{-(double)INFINITY, 0, "null"},
		{9e15, 3, "9.0000000000000000e+15"},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start();
		writer_number(&writer, cases[i].value, cases[i].decimals);
		expect(cases[i].text);
	}
}
END_TEST

START_TEST(integers_reach_both_ends)
{
	writer_begin_array(&writer);
	writer_integer(&writer, INT64_MIN);
	writer_integer(&writer, INT64_MAX);
	writer_unsigned(&writer, UINT64_MAX);
	writer_whole(&writer, 1099511627776.0);
	writer_whole(&writer, (double)NAN);
	writer_end_array(&writer);
	expect("[-9223372036854775808,9223372036854775807,18446744073709551615,1099511627776,"
	       "null]");
}
END_TEST

START_TEST(times_are_rfc_3339)
{
	writer_begin_array(&writer);
	writer_time(&writer, INT64_C(1764477882000000));
	writer_time(&writer, 0);
	writer_end_array(&writer);
	expect("[\"2025-11-30T04:44:42Z\",null]");
}
END_TEST

START_TEST(text_is_escaped)
{
	writer_string(&writer, "a\"b\\c\n\t\x01/\x7f");
	expect("\"a\\\"b\\\\c\\n\\t\\u0001/\\u007f\"");
}
END_TEST

START_TEST(good_utf8_passes_and_bad_is_replaced)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		 "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
		{"a\xff"
		 "b",
		 "\"a\xef\xbf\xbd"
		 "b\""},
		{"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},		      /* overlong */
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
		{"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* cut short */
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start();
		writer_string(&writer, cases[i].in);
		expect(cases[i].out);
	}
}
END_TEST

/* Whatever bytes come in, a strict parser reads the result. */
START_TEST(any_bytes_make_valid_json)
{
	unsigned state = 1;
	int round, i;

	for (round = 0; round < 2000; round++) {
		char bytes[48], *text;
		json_t *parsed;

		for (i = 0; i < (int)sizeof(bytes); i++) {
			state = state * 1664525u + 1013904223u;
			bytes[i] = (char)(state >> 24);
			if (!bytes[i])
				bytes[i] = 1;
		}
		start();
		writer_string_n(&writer, bytes, sizeof(bytes));
		text = writer_take(&writer, NULL);
		parsed = json_loads(text, JSON_DECODE_ANY, NULL);
		ck_assert_msg(parsed != NULL, "not JSON: %s", text);
		json_decref(parsed);
		free(text);
	}
}
END_TEST

START_TEST(the_limit_sticks)
{
	writer_init(&writer, 10);
	writer_begin_array(&writer);
	writer_string(&writer, "123456");
	ck_assert(!writer.failed);
	writer_string(&writer, "7");
	ck_assert(writer.failed);
	writer_end_array(&writer);
	ck_assert_ptr_null(writer_take(&writer, NULL));
	ck_assert_ptr_null(writer.bytes);
}
END_TEST

START_TEST(exactly_the_limit_fits)
{
	writer_init(&writer, 8);
	writer_string(&writer, "123456");
	expect("\"123456\"");
}
END_TEST

START_TEST(too_deep_fails_instead_of_overrunning)
{
	int i;

	for (i = 0; i < WRITER_DEPTH_MAX + 5; i++)
		writer_begin_array(&writer);
	ck_assert(writer.failed);
	for (i = 0; i < WRITER_DEPTH_MAX + 5; i++)
		writer_end_array(&writer);
	ck_assert_ptr_null(writer_take(&writer, NULL));
}
END_TEST

START_TEST(large_output_grows)
{
	size_t length;
	char *text;
	int i;

	writer_begin_array(&writer);
	for (i = 0; i < 50000; i++)
		writer_integer(&writer, i);
	writer_end_array(&writer);
	writer_format(&writer, "%s %d", "\n#", 7);
	text = writer_take(&writer, &length);
	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(text + length - 5, "]\n# 7");
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("writer");
	TCase *tests = tcase_create("writer");

	tcase_add_checked_fixture(tests, start, stop);
	tcase_add_test(tests, values_nest_with_commas_where_they_belong);
	tcase_add_test(tests, money_is_exact);
	tcase_add_test(tests, numbers_are_rounded_and_trimmed);
	tcase_add_test(tests, integers_reach_both_ends);
	tcase_add_test(tests, times_are_rfc_3339);
	tcase_add_test(tests, text_is_escaped);
	tcase_add_test(tests, good_utf8_passes_and_bad_is_replaced);
	tcase_add_test(tests, any_bytes_make_valid_json);
	tcase_add_test(tests, the_limit_sticks);
	tcase_add_test(tests, exactly_the_limit_fits);
	tcase_add_test(tests, too_deep_fails_instead_of_overrunning);
	tcase_add_test(tests, large_output_grows);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
