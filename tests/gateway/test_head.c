/* Heads, looked at before the library reads them: which it cannot read, and where they end. */
#include "server/http/head.h"
#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE "GET / HTTP/1.1\r\n"

/* Each length of it alone first: no prefix may be told otherwise than the whole, but as partial. */
static enum head_verdict check(const char *bytes, size_t length, struct head *head)
{
	enum head_verdict whole = head_check(bytes, length, head), part;
	struct head other;

	for (size_t i = 0; i < length; i++) {
		char *copy = malloc(i + 1); /* so that reading past it is noticed */

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, bytes, i);
		part = head_check(copy, i, &other);
		ck_assert(part == HEAD_PARTIAL || part == whole);
		free(copy);
	}
	return whole;
}

static enum error_code refusal(const char *bytes, size_t length)
{
	struct head head;

	if (check(bytes, length, &head) != HEAD_REFUSED)
		return ERROR_NONE;
	ck_assert_ptr_nonnull(head.problem);
	return head.code;
}
#define REFUSAL(text) refusal(text, sizeof(text) - 1)

static size_t length_of(const char *text, struct head *head)
{
	return check(text, strlen(text), head) == HEAD_READABLE ? head->length : 0;
}

START_TEST(readable_heads_end_at_their_empty_line)
{
	struct head head;

	ck_assert_uint_eq(length_of(LINE "\r\n", &head), strlen(LINE) + 2);
	ck_assert_uint_eq(length_of(LINE "Host: a\r\n\r\nGET", &head), strlen(LINE) + 11);
	ck_assert_uint_eq(length_of("\r\n\n\r\n" LINE "\r\n", &head), strlen(LINE) + 7);
	ck_assert_uint_eq(length_of("GET  /a b  HTTP/1.1\r\nX:\r\nY:a:b\r\n\r\n", &head), 34);
	ck_assert_uint_eq(length_of("FOO * HTTP/1.7\r\n\r\n", &head), 18);
	ck_assert(!head.is_method_head && !head.is_chunked && !head.may_close);
	ck_assert(length_of("HEAD / HTTP/1.0\r\n\r\n", &head) > 0 && head.is_method_head);
	ck_assert(head.may_close);
	ck_assert_int_eq(head_check("", 0, &head), HEAD_PARTIAL);
}
END_TEST

START_TEST(what_follows_a_head_is_known)
{
	struct head head;

	length_of(LINE "content-length: \t012\r\n\r\n", &head);
	ck_assert_uint_eq(head.body_length, 12);
	length_of(LINE "Transfer-Encoding: Chunked\r\nConnection: Keep-Alive\r\n\r\n", &head);
	ck_assert(head.is_chunked && !head.may_close);
	length_of(LINE "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n", &head);
	ck_assert(head.is_chunked && head.may_close);
	/* What framing.h refuses: nobody may go by it. */
	length_of(LINE "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", &head);
	ck_assert(!head.is_chunked && head.may_close);
	length_of(LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n", &head);
	ck_assert(!head.is_chunked && head.may_close);
	length_of("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", &head);
	ck_assert(!head.is_chunked && head.may_close);
}
END_TEST

START_TEST(request_lines_that_are_none_are_refused)
{
	static const char *const lines[] = {
		"GET",
		"GET ",
		"GET /",
		"GET  HTTP/1.1",
		"GET HTTP/1.1",
		" / HTTP/1.1",
		"GET / HTTP/1.1 ",
		"GET / http/1.1",
		"GET / HTTP/1.10",
		"GET / HTTP/1",
		"GET / HTTP/1,1",
		"GET / HTTP/x.1",
		"GET / HTTP/1.1\r",
		"GET\t/\tHTTP/1.1",
		"\r",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s\r\n\r\n", lines[i]);
		ck_assert_msg(refusal(text, strlen(text)) == ERROR_MALFORMED, "%s", lines[i]);
	}
	ck_assert_int_eq(REFUSAL("GET / HTTP/1.1\nHost: a\r\n\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL("GET /\0 HTTP/1.1\r\n\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL("\x16\x03\x01\0\1"), ERROR_MALFORMED); /* TLS */
}
END_TEST

START_TEST(versions_that_are_not_spoken_are_told_apart)
{
	ck_assert_int_eq(REFUSAL("GET / HTTP/0.9\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL("GET / HTTP/9.9\r\n"), ERROR_MALFORMED);
}
END_TEST

START_TEST(lines_that_are_no_fields_are_refused)
{
	ck_assert_int_eq(REFUSAL(LINE "no colon\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL(LINE " X: a\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL(LINE "X: a\r\n\tfolded\r\n\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL(LINE "X: a\nY: b\r\n\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL(LINE "X: a\r\n\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL(LINE "X\0: a\r\n\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL(LINE "X: \0\r\n\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL(LINE "\0\r\n\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL(LINE "\r\n\0"), ERROR_NONE);	   /* behind the head */
	ck_assert_int_eq(REFUSAL(LINE ": a\r\n\r\n"), ERROR_NONE); /* framing.h sees it */
}
END_TEST

START_TEST(lengths_that_are_no_numbers_are_refused)
{
	static const char *const values[] = {"",
					     "x",
					     "-1",
					     "+1",
					     "0x1",
					     "1 2",
					     "1,1",
					     "1e3",
					     "1 ",
					     "1.0",
					     "1a",
					     "\xb2",
					     "18446744073709551616",
					     "0000000000000000001"};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		char text[128];

		snprintf(text, sizeof(text), LINE "CONTENT-length: %s\r\n\r\n", values[i]);
		ck_assert_msg(refusal(text, strlen(text)) == ERROR_MALFORMED, "%s", values[i]);
		snprintf(text, sizeof(text), LINE "Content-Length: 1\r\nContent-Length: %s\r\n\r\n",
			 values[i]);
		ck_assert_msg(refusal(text, strlen(text)) == ERROR_MALFORMED, "%s", values[i]);
	}
	ck_assert_int_eq(REFUSAL(LINE "Content-Length : x\r\n\r\n"), ERROR_NONE);
	ck_assert_int_eq(REFUSAL(LINE "Content-Length: 999999999999999999\r\n\r\n"), ERROR_NONE);
}
END_TEST

/* `head`, then `times` of `piece`, then `tail`. */
static enum error_code repeated(const char *head, const char *piece, size_t times, const char *tail)
{
	size_t room = strlen(head) + strlen(piece) * times + strlen(tail);
	char *text = malloc(room + 1), *at;
	struct head found;
	enum head_verdict verdict;

	ck_assert_ptr_nonnull(text);
	at = stpcpy(text, head);
	for (size_t i = 0; i < times; i++)
		at = stpcpy(at, piece);
	stpcpy(at, tail);
	verdict = head_check(text, room, &found);
	free(text);
	ck_assert(verdict != HEAD_PARTIAL);
	return verdict == HEAD_REFUSED ? found.code : ERROR_NONE;
}

START_TEST(sizes_are_bounded)
{
	size_t rest = HEAD_BYTES_MAX - strlen(LINE "X: \r\n\r\n");

	ck_assert_int_eq(repeated(LINE "X: ", "a", rest, "\r\n\r\n"), ERROR_NONE);
	ck_assert_int_eq(repeated(LINE "X: ", "a", rest + 1, "\r\n\r\n"), ERROR_HEAD_TOO_LARGE);
	ck_assert_int_eq(repeated(LINE, "X: a\r\n", 10000, ""), ERROR_HEAD_TOO_LARGE);
	ck_assert_int_eq(repeated("", "\r\n", 10000, ""), ERROR_HEAD_TOO_LARGE);
	ck_assert_int_eq(repeated("GET /", "a", 9000, " HTTP/1.1\r\n\r\n"), ERROR_NONE);
	ck_assert_int_eq(repeated("GET /", "a", 20000, " HTTP/1.1\r\n\r\n"), ERROR_TARGET_TOO_LONG);
	ck_assert_int_eq(repeated("", "a", 20000, " /"), ERROR_HEAD_TOO_LARGE);
}
END_TEST

START_TEST(what_the_library_would_note_is_bounded)
{
	/* 30976 bytes for the head and 64 for each of these. */
	ck_assert_int_eq(repeated(LINE, "a:\r\n", 455, "\r\n"), ERROR_NONE);
	ck_assert_int_eq(repeated(LINE, "a:\r\n", 456, "\r\n"), ERROR_HEAD_TOO_LARGE);
	ck_assert_int_eq(repeated("GET /?a", "&", 475, " HTTP/1.1\r\n\r\n"), ERROR_NONE);
	ck_assert_int_eq(repeated("GET /?a", "&", 476, " HTTP/1.1\r\n\r\n"), ERROR_HEAD_TOO_LARGE);
	/* The first line of cookies is copied. */
	ck_assert_int_eq(repeated(LINE "Cookie: ", "a;", 452, "\r\n\r\n"), ERROR_NONE);
	ck_assert_int_eq(repeated(LINE "Cookie: ", "a;", 453, "\r\n\r\n"), ERROR_HEAD_TOO_LARGE);
	ck_assert_int_eq(repeated(LINE "Cookie: a\r\nCookie: ", "a;", 4000, "\r\n\r\n"),
			 ERROR_NONE);
	/* Of a body 18432 bytes may have been read. */
	ck_assert_int_eq(repeated(LINE "Content-Length: 9\r\n", "a:\r\n", 195, "\r\n"), ERROR_NONE);
	ck_assert_int_eq(repeated(LINE "Content-Length: 9\r\n", "a:\r\n", 196, "\r\n"),
			 ERROR_HEAD_TOO_LARGE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("head");
	TCase *tests = tcase_create("head");

	tcase_add_test(tests, readable_heads_end_at_their_empty_line);
	tcase_add_test(tests, what_follows_a_head_is_known);
	tcase_add_test(tests, request_lines_that_are_none_are_refused);
	tcase_add_test(tests, versions_that_are_not_spoken_are_told_apart);
	tcase_add_test(tests, lines_that_are_no_fields_are_refused);
	tcase_add_test(tests, lengths_that_are_no_numbers_are_refused);
	tcase_add_test(tests, sizes_are_bounded);
	tcase_add_test(tests, what_the_library_would_note_is_bounded);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
