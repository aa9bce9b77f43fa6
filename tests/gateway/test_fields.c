/* Header fields: what framing refuses, and how values are read. */
#include "server/http/coding.h"
#include "server/http/fields.h"
#include "server/http/framing.h"
#include "server/http/timing.h"
#include "server/http/trace.h"
#include "tests/suite.h"

#include <string.h>

#define PRICES "application/json text/csv"

static const char *accepted(const char *accept)
{
	static char type[MEDIA_TYPE_TEXT];

	return field_accept(accept, PRICES, type) ? type : "none";
}

START_TEST(accept_picks_the_type_that_is_wanted_most)
{
	ck_assert_str_eq(accepted(NULL), "application/json");
	ck_assert_str_eq(accepted("  "), "application/json");
	ck_assert_str_eq(accepted("*/*"), "application/json");
	ck_assert_str_eq(accepted("text/csv"), "text/csv");
	ck_assert_str_eq(accepted("TEXT/CSV ; charset=utf-8"), "text/csv");
	ck_assert_str_eq(accepted("text/*, */*;q=0.1"), "text/csv");
	ck_assert_str_eq(accepted("text/csv;q=0.5, application/json;q=0.4"), "text/csv");
	ck_assert_str_eq(accepted("text/csv;q=0.5,application/json"), "application/json");
	ck_assert_str_eq(accepted("text/html,application/xhtml+xml,*/*;q=0.8"), "application/json");
	ck_assert_str_eq(accepted("*/*, application/json;q=0"), "text/csv");
	ck_assert_str_eq(accepted("image/png"), "none");
	ck_assert_str_eq(accepted("text/csv;q=0"), "none");
	ck_assert_str_eq(accepted("application/jsonx"), "none");
	ck_assert_str_eq(accepted(",,;q=1,"), "none");
}
END_TEST

START_TEST(etags_compare_weakly_and_whole)
{
	ck_assert(field_etag_matches("\"a\"", "\"a\""));
	ck_assert(field_etag_matches("W/\"a\"", "\"a\""));
	ck_assert(field_etag_matches("\"a\"", "W/\"a\""));
	ck_assert(field_etag_matches("\"x\" , W/\"a,b\", \"a\"", "\"a,b\""));
	ck_assert(field_etag_matches("*", "\"a\""));
	ck_assert(!field_etag_matches("", "\"a\""));
	ck_assert(!field_etag_matches("\"ab\"", "\"a\""));
	ck_assert(!field_etag_matches("\"a", "\"a\""));
	ck_assert(!field_etag_matches("a", "\"a\""));
	ck_assert(!field_etag_matches("\"a\"x", "\"a\""));
	ck_assert(!field_etag_matches("W/\"a\"x, \"b\"", "\"b\""));
	ck_assert(!field_etag_matches("\"a\" \"b\"", "\"a\""));
	ck_assert(!field_etag_matches("w/\"a\"", "\"a\""));
	ck_assert(!field_etag_matches("\"a b\", \"a\"", "\"a\""));
	ck_assert(!field_etag_matches("*, \"b\"", "\"a\""));
	ck_assert(!field_etag_matches("\"b\", *", "\"a\""));
	ck_assert(field_etag_matches(", \"b\",, \"a\" ,", "\"a\"")); /* lists may be so: RFC 9110 */
}
END_TEST

START_TEST(waits_are_read_from_preferences)
{
	int64_t seconds = -1;

	ck_assert(field_wait("wait=20", &seconds));
	ck_assert_int_eq(seconds, 20);
	ck_assert(field_wait("handling=lenient, Wait=7;x=1", &seconds));
	ck_assert_int_eq(seconds, 7);
	ck_assert(field_wait("respond-async , wait=0 ", &seconds));
	ck_assert_int_eq(seconds, 0);
	ck_assert(!field_wait("", &seconds));
	ck_assert(!field_wait("wait", &seconds));
	ck_assert(!field_wait("wait=", &seconds));
	ck_assert(!field_wait("wait=-1", &seconds));
	ck_assert(!field_wait("wait=1.5", &seconds));
	ck_assert(!field_wait("wait=9999999999", &seconds));
	ck_assert(!field_wait("await=5", &seconds));
}
END_TEST

START_TEST(json_bodies_are_told_from_others)
{
	ck_assert(field_is_json("application/json"));
	ck_assert(field_is_json("Application/Json ; charset=UTF-8"));
	ck_assert(!field_is_json("application/json; charset=utf-16"));
	ck_assert(!field_is_json("application/jsonp"));
	ck_assert(!field_is_json("text/json"));
	ck_assert(!field_is_json(""));
}
END_TEST

START_TEST(ids_of_clients_are_checked)
{
	ck_assert(field_is_request_id("01J-ab.c:/+=@_"));
	ck_assert(!field_is_request_id(""));
	ck_assert(!field_is_request_id("a b"));
	ck_assert(!field_is_request_id("a\"b"));
}
END_TEST

START_TEST(traces_are_read_and_go_on_with_our_span)
{
	static const char *const bad[] = {
		"00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
		"00-4bf92f3577b34da6a3ce929d0e0e4736",
		"",
	};
	char text[TRACE_PARENT_TEXT];
	struct trace trace;

	ck_assert(
		trace_read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", 255, &trace));
	ck_assert_str_eq(trace.id, "4bf92f3577b34da6a3ce929d0e0e4736");
	ck_assert_str_eq(trace.parent, "00f067aa0ba902b7");
	ck_assert_str_eq(trace.span, "00000000000000ff");
	trace_format(&trace, text);
	ck_assert_str_eq(text, "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000ff-01");
	ck_assert(trace_read("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02-more", 0,
			     &trace));
	trace_format(&trace, text);
	ck_assert_str_eq(text, "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000001-00");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ck_assert_msg(!trace_read(bad[i], 1, &trace), "%s", bad[i]);
		ck_assert_str_eq(trace.id, "");
	}
}
END_TEST

START_TEST(gzip_is_taken_by_quality)
{
	ck_assert(coding_takes_gzip("gzip"));
	ck_assert(coding_takes_gzip("br, GZIP;q=0.5"));
	ck_assert(coding_takes_gzip("x-gzip"));
	ck_assert(coding_takes_gzip("*"));
	ck_assert(coding_takes_gzip("identity;q=0.5, *;q=0.1"));
	ck_assert(!coding_takes_gzip(NULL));
	ck_assert(!coding_takes_gzip(""));
	ck_assert(!coding_takes_gzip("identity"));
	ck_assert(!coding_takes_gzip("br, deflate"));
	ck_assert(!coding_takes_gzip("gzip;q=0"));
	ck_assert(!coding_takes_gzip("gzip; q=0.000, *"));
	ck_assert(!coding_takes_gzip("gzip;Q=0"));
	ck_assert(!coding_takes_gzip("br;q=1, gzip ;\tq=0, *;q=1"));
	ck_assert(!coding_takes_gzip("*;q=0"));
	ck_assert(!coding_takes_gzip("gzipped"));
}
END_TEST

START_TEST(times_are_told_in_milliseconds)
{
	struct timing timing = {.handled_us = 1500, .coded_us = 42};
	char text[TIMING_TEXT];

	timing_format(&timing, 2000001, text);
	ck_assert_str_eq(text, "app;dur=1.500, gzip;dur=0.042, total;dur=2000.001");
	timing = (struct timing){.waited_us = 7};
	timing_format(&timing, 0, text);
	ck_assert_str_eq(text, "db;dur=0.007, total;dur=0.001");
}
END_TEST

START_TEST(preferences_are_found_in_lists)
{
	ck_assert(field_prefers("handling=lenient", "handling=lenient"));
	ck_assert(field_prefers("wait=10, handling=lenient;x=1", "handling=lenient"));
	ck_assert(!field_prefers("handling=strict", "handling=lenient"));
	ck_assert(!field_prefers("handling=lenientx", "handling=lenient"));
	ck_assert(!field_prefers("", "handling=lenient"));
}
END_TEST

/* The head "GET / HTTP/1.1" with `lines` after it, as the library leaves it in its buffer. */
static bool head_is_clean(const char *lines, size_t length, unsigned fields)
{
	struct framing framing = {.fields = fields};

	framing_head(&framing, lines, length);
	return !framing.problem;
}
#define CLEAN(lines, fields) head_is_clean(lines, sizeof(lines) - 1, fields)

START_TEST(raw_heads_show_what_the_parser_hides)
{
	ck_assert(CLEAN("\0\0\0\0", 0));
	ck_assert(CLEAN("\0\0Host\0 a\0\0\0\0", 1));
	ck_assert(CLEAN("\0\0Host\0 a\0\0Empty\0\0\0X\0y\0\0\0\0", 3));
	ck_assert_msg(!CLEAN("\0Host\0 a\0\0\0\0", 1), "a bare LF after the request line");
	ck_assert_msg(!CLEAN("\0\0Host\0 a\0X\0y\0\0\0\0", 2), "a bare LF after a field");
	ck_assert_msg(!CLEAN("\0\0Host\0 a\0\0\0", 1), "a bare LF at the end");
	ck_assert_msg(!CLEAN("\0\0Host\0 a\0b\0\0\0\0", 1), "a NUL in a value");
	ck_assert_msg(!CLEAN("\0\0Host\0 a\0\0b\0 c\0\0\0\0", 1), "a field that was not parsed");
	ck_assert_msg(!CLEAN("\0\0Host\0 a\0\0 folded\0\0\0\0", 1), "a folded line");
	ck_assert_msg(!CLEAN("\0\0Host\0 a\0\0 folded\0 b\0\0\0\0", 2), "a folded line");
	ck_assert(!CLEAN("\0\0Host", 1));
	ck_assert(!CLEAN("\0\0Host\0", 1));
	ck_assert(!CLEAN("\0", 0));
	ck_assert(!CLEAN("", 0));
	ck_assert(!CLEAN("\0\0\0\0\0\0", 0));
}
END_TEST

static bool framed(const char *const *names_values, bool is_http_1_0, struct error *error)
{
	struct framing framing = {0};

	error_init(error, NULL);
	for (; *names_values; names_values += 2)
		framing_field(&framing, names_values[0], strlen(names_values[0]), names_values[1],
			      strlen(names_values[1]));
	return framing_check(&framing, is_http_1_0, error);
}
#define FRAMED(old, ...) framed((const char *const[]){__VA_ARGS__, NULL}, old, &error)

START_TEST(framing_is_unambiguous_or_refused)
{
	struct error error;

	ck_assert(FRAMED(false, "Host", "a"));
	ck_assert(FRAMED(false, "host", "a", "CONTENT-LENGTH", "12"));
	ck_assert(FRAMED(false, "Host", "a", "transfer-encoding", "Chunked"));
	ck_assert(FRAMED(true, "X", "a"));
	ck_assert(!FRAMED(false, "X", "a"));
	ck_assert(!FRAMED(true, "Host", "a", "Host", "a"));
	ck_assert(!FRAMED(false, "Host", "a", "Content-Length", "1", "content-length", "1"));
	ck_assert(
		!FRAMED(false, "Host", "a", "Content-Length", "1", "Transfer-Encoding", "chunked"));
	ck_assert(!FRAMED(false, "Host", "a", "Content-Length", "1234567890123456789"));
	ck_assert(!FRAMED(false, "Host", "a", "Content-Length", "1 "));
	ck_assert(!FRAMED(false, "Host", "a", "Content-Length", ""));
	ck_assert(!FRAMED(true, "Host", "a", "Transfer-Encoding", "chunked"));
	ck_assert(!FRAMED(false, "Host", "a", "X y", "b"));
	ck_assert(!FRAMED(false, "Host", "a", "", "b"));
	ck_assert(!FRAMED(false, "Host", "a", "X", "\x01"));
	ck_assert_int_eq(error.code, ERROR_MALFORMED);
	ck_assert(!FRAMED(false, "Host", "a", "Transfer-Encoding", "gzip, chunked"));
	ck_assert_int_eq(error.code, ERROR_NOT_IMPLEMENTED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fields");
	TCase *tests = tcase_create("fields");

	tcase_add_test(tests, accept_picks_the_type_that_is_wanted_most);
	tcase_add_test(tests, etags_compare_weakly_and_whole);
	tcase_add_test(tests, waits_are_read_from_preferences);
	tcase_add_test(tests, json_bodies_are_told_from_others);
	tcase_add_test(tests, ids_of_clients_are_checked);
	tcase_add_test(tests, preferences_are_found_in_lists);
	tcase_add_test(tests, traces_are_read_and_go_on_with_our_span);
	tcase_add_test(tests, gzip_is_taken_by_quality);
	tcase_add_test(tests, times_are_told_in_milliseconds);
	tcase_add_test(tests, raw_heads_show_what_the_parser_hides);
	tcase_add_test(tests, framing_is_unambiguous_or_refused);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
