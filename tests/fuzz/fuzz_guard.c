/*
 * What a client can send before the library reads it: the verdict on a head stands whatever comes
 * behind, a readable one is what the library can read, and a chunked body ends where it ends in
 * whatever pieces it comes. Built with libFuzzer or with replay.c.
 */
#include "server/http/chunks.h"
#include "server/http/head.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of its own length, so that reading past it is noticed. */
static enum head_verdict check(const char *bytes, size_t length, struct head *head)
{
	char *copy = malloc(length + 1);
	enum head_verdict verdict;

	if (!copy)
		abort();
	memcpy(copy + 1, bytes, length);
	verdict = head_check(copy + 1, length, head);
	free(copy);
	return verdict;
}

/* As the library reads it: lines with a colon each, nothing that ends them early. */
static void check_readable(const char *bytes, size_t length)
{
	const char *end = bytes + length, *line;

	assert(length <= HEAD_BYTES_MAX && memcmp(end - 4, "\r\n\r\n", 4) == 0);
	while (*bytes == '\r' || *bytes == '\n')
		bytes++;
	assert(!memchr(bytes, '\0', (size_t)(end - bytes)));
	line = (const char *)memchr(bytes, '\n', (size_t)(end - bytes)) + 1;
	assert(memcmp(line - 10, "HTTP/1.", 7) == 0);
	while (line < end - 2) {
		const char *feed = memchr(line, '\n', (size_t)(end - line));

		assert(feed && feed[-1] == '\r' && *line != ' ' && *line != '\t');
		assert(memchr(line, ':', (size_t)(feed - line)));
		line = feed + 1;
	}
	assert(line == end - 2);
}

static void check_heads(const char *bytes, size_t size)
{
	struct head whole, part;
	enum head_verdict verdict = check(bytes, size, &whole);

	assert((verdict == HEAD_REFUSED) == (whole.code != ERROR_NONE));
	if (verdict == HEAD_READABLE)
		check_readable(bytes, whole.length);
	for (size_t i = 0; i < 16; i++) {
		size_t length = size * i / 16;
		enum head_verdict earlier = check(bytes, length, &part);

		assert(earlier == verdict || earlier == HEAD_PARTIAL);
		if (earlier == HEAD_READABLE)
			assert(part.length == whole.length);
		else if (verdict == HEAD_READABLE)
			assert(length < whole.length);
	}
}

static void check_chunks(const char *bytes, size_t size)
{
	struct chunks whole = {0};
	size_t used = chunks_take(&whole, bytes, size);

	assert(used == size || whole.state == CHUNKS_DONE || whole.state == CHUNKS_BAD);
	assert((whole.state == CHUNKS_BAD) == (whole.code != ERROR_NONE));
	for (size_t piece = 1; piece < 8; piece++) {
		struct chunks other = {0};
		size_t at = 0;

		while (at < size && other.state < CHUNKS_DONE) {
			size_t rest = size - at;

			at += chunks_take(&other, bytes + at, rest < piece ? rest : piece);
		}
		assert(other.state == whole.state && at == used);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_heads((const char *)data, size);
	check_chunks((const char *)data, size);
	return 0;
}
