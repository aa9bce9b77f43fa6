/* Chunked bodies, looked at before the library reads them: where they end, and what is none. */
#include "server/http/chunks.h"
#include "tests/suite.h"

#include <string.h>

/* In pieces of every size: the answer is the same. */
static struct chunks taken(const char *bytes, size_t length, size_t *used)
{
	struct chunks whole = {0};

	*used = chunks_take(&whole, bytes, length);
	for (size_t piece = 1; piece < length; piece++) {
		struct chunks other = {0};
		size_t at = 0, took = 1;

		while (at < length && took > 0) {
			took = chunks_take(&other, bytes + at,
					   length - at < piece ? length - at : piece);
			at += took;
		}
		ck_assert_int_eq(other.state, whole.state);
		ck_assert_uint_eq(at, *used);
	}
	return whole;
}

/* The length of the body; 0: it goes on. */
static size_t body(const char *bytes)
{
	size_t used;
	struct chunks chunks = taken(bytes, strlen(bytes), &used);

	ck_assert(chunks.state != CHUNKS_BAD);
	return chunks.state == CHUNKS_DONE ? used : 0;
}

static enum error_code refusal(const char *bytes, size_t length)
{
	size_t used;
	struct chunks chunks = taken(bytes, length, &used);

	return chunks.state == CHUNKS_BAD ? chunks.code : ERROR_NONE;
}
#define REFUSAL(text) refusal(text, sizeof(text) - 1)

START_TEST(bodies_end_with_their_last_line)
{
	ck_assert_uint_eq(body("0\r\n\r\n"), 5);
	ck_assert_uint_eq(body("0\r\n\r\nGET / HTTP/1.1"), 5);
	ck_assert_uint_eq(body("3\r\n\r\n0\r\n0\r\n\r\n"), 13);
	ck_assert_uint_eq(body("00A;x=\"y\";z\r\n0123456789\r\n000;a\r\n\r\nx"), 34);
	ck_assert_uint_eq(body("0\r\nX: a\r\nY:\r\n\r\n"), 15);
	ck_assert_uint_eq(body("5\r\nhell"), 0);
	ck_assert_uint_eq(body("5\r\nhello\r\n0\r\n\r"), 0);
	ck_assert_uint_eq(body(""), 0);
}
END_TEST

START_TEST(wrong_framing_is_refused)
{
	static const char *const bodies[] = {
		"\r\n",		 "x\r\n",	    " 5\r\n",
		"5 \r\n",	 "-5\r\n",	    "0x5\r\n",
		"5\n",		 ";a\r\n",	    "5;a\n",
		"5\rx",		 "5\r\nhelloX\r\n", "5\r\nhello\n0",
		"5\r\nhello\rx", "0\r\n X: a\r\n",  "0\r\nno colon\r\n",
		"0\r\n: a\r\n",	 "0\r\nX: a\n",	    "0\r\nX: a\rb",
		"0\r\n\rx",	 "0\r\n\n",	    "5\r\nhello0\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++)
		ck_assert_msg(refusal(bodies[i], strlen(bodies[i])) == ERROR_MALFORMED, "%zu: %s",
			      i, bodies[i]);
	ck_assert_int_eq(REFUSAL("0\r\nX\0: a\r\n"), ERROR_MALFORMED);
	ck_assert_int_eq(REFUSAL("1\r\n\0\r\n0\r\n\r\n"), ERROR_NONE);
}
END_TEST

START_TEST(sizes_are_bounded)
{
	char text[2048];

	ck_assert_int_eq(REFUSAL("fffffffffffffff\r\n"), ERROR_NONE);
	ck_assert_int_eq(REFUSAL("1000000000000000\r\n"), ERROR_TOO_LARGE);
	ck_assert_int_eq(REFUSAL("ffffffffffffffffffff\r\n"), ERROR_TOO_LARGE);
	memset(text, '0', sizeof(text));
	ck_assert_int_eq(refusal(text, CHUNKS_LINE_BYTES_MAX), ERROR_NONE);
	ck_assert_int_eq(refusal(text, CHUNKS_LINE_BYTES_MAX + 1), ERROR_HEAD_TOO_LARGE);
	memcpy(text, "0\r\nX:", 5);
	ck_assert_int_eq(refusal(text, 3 + CHUNKS_TRAILER_BYTES_MAX), ERROR_NONE);
	ck_assert_int_eq(refusal(text, 4 + CHUNKS_TRAILER_BYTES_MAX), ERROR_HEAD_TOO_LARGE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("chunks");
	TCase *tests = tcase_create("chunks");

	tcase_add_test(tests, bodies_end_with_their_last_line);
	tcase_add_test(tests, wrong_framing_is_refused);
	tcase_add_test(tests, sizes_are_bounded);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
