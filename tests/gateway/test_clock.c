/* The clock: text of times, there and back. */
#include "server/clock.h"
#include "tests/suite.h"

static const char *formatted(int64_t us)
{
	static char text[CLOCK_TEXT];

	clock_format(us, text);
	return text;
}

/* The seconds are those of `date -u -d ... +%s`. */
START_TEST(times_are_printed_as_rfc_3339)
{
	ck_assert_str_eq(formatted(0), "1970-01-01T00:00:00Z");
	ck_assert_str_eq(formatted(1785500000 * US_PER_SECOND), "2026-07-31T12:13:20Z");
	ck_assert_str_eq(formatted(951782400 * US_PER_SECOND + 1), "2000-02-29T00:00:00.000001Z");
	ck_assert_str_eq(formatted(-1), "1969-12-31T23:59:59.999999Z");
}
END_TEST

START_TEST(what_is_printed_is_read_back)
{
	static const int64_t times[] = {0, 1, 999999, 1785500000123456, 4102444800000000};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		ck_assert_int_eq(clock_parse(formatted(times[i])), times[i]);
}
END_TEST

START_TEST(other_spellings_are_read)
{
	int64_t noon = 1785499200 * US_PER_SECOND; /* 2026-07-31T12:00:00Z */

	ck_assert_int_eq(clock_parse("2026-07-31T12:00:00Z"), noon);
	ck_assert_int_eq(clock_parse("2026-07-31 12:00:00z"), noon);
	ck_assert_int_eq(clock_parse("2026-07-31T14:00:00+02:00"), noon);
	ck_assert_int_eq(clock_parse("2026-07-31T06:30:00-05:30"), noon);
	ck_assert_int_eq(clock_parse("2026-07-31T12:00:00.5Z"), noon + 500000);
	ck_assert_int_eq(clock_parse("2026-07-31T12:00:00.123456789Z"), noon + 123456);
	ck_assert_int_eq(clock_parse("2026-07-31"), noon - 12 * 3600 * US_PER_SECOND);
	ck_assert_int_eq(clock_parse("2024-02-29"), 1709164800 * US_PER_SECOND);
}
END_TEST

START_TEST(what_is_no_time_is_refused)
{
	static const char *const bad[] = {"",
					  "now",
					  "2026",
					  "2026-07",
					  "2026-13-01",
					  "2026-00-01",
					  "2026-02-29",
					  "2026-04-31",
					  "2026-07-31T",
					  "2026-07-31T12:00:00",
					  "2026-07-31T12:00Z",
					  "2026-07-31T24:00:00Z",
					  "2026-07-31T12:60:00Z",
					  "2026-07-31T12:00:00.Z",
					  "2026-07-31T12:00:00+2",
					  "2026-07-31T12:00:00+0200",
					  "2026-07-31T12:00:00Zx",
					  "2026-7-31",
					  " 2026-07-31",
					  "1969-12-31",
					  "1970-01-01T00:00:00+01:00"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(clock_parse(bad[i]) == -1, "'%s' was taken", bad[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clock");
	TCase *tests = tcase_create("clock");

	tcase_add_test(tests, times_are_printed_as_rfc_3339);
	tcase_add_test(tests, what_is_printed_is_read_back);
	tcase_add_test(tests, other_spellings_are_read);
	tcase_add_test(tests, what_is_no_time_is_refused);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
