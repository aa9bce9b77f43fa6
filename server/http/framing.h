/*
 * Framing: the head of a request, checked before any of its body is read. libmicrohttpd 0.9.75
 * takes two different lengths, a length together with chunks, unknown transfer codings, field names
 * with a space and NUL bytes in values; each of them lets one request hide inside another behind a
 * gateway that reads them differently. Pure: fed field by field, knows no library.
 */
#ifndef SERVER_HTTP_FRAMING_H
#define SERVER_HTTP_FRAMING_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAMING_BAD_LENGTH "Content-Length is not a number of bytes"
#define FRAMING_BAD_LINE "a line of the head is folded, holds a NUL byte or does not end in CRLF"

/* The value of a Content-Length. */
bool framing_read_length(const char *value, size_t length, uint64_t *bytes);

struct framing {
	unsigned fields, lengths, codings, hosts, content_types, content_encodings;
	uint64_t length; /* declared */
	bool is_chunked;
	bool expects_continue;
	const char *problem; /* the first thing wrong, or NULL */
	bool is_unsupported; /* a transfer coding that exists, but not here */
};

/* The method must be a token. */
void framing_method(struct framing *framing, const char *method);

/* The texts are what the library gives: `value` may hold NUL bytes. */
void framing_field(struct framing *framing, const char *name, size_t name_length, const char *value,
		   size_t value_length);

/*
 * The raw head from the end of the version to its end, as 0.9.75 leaves it: each line's CR and LF
 * and its first colon overwritten with NUL. Finds what the parsed fields no longer show: bare line
 * feeds, NUL bytes, folded lines (which that library appends to the field's *name*). After the last
 * field.
 */
void framing_head(struct framing *framing, const char *head, size_t length);

/* After the last field. False and an error (MALFORMED or NOT_IMPLEMENTED): answer and close. */
bool framing_check(struct framing *framing, bool is_http_1_0, struct error *error);

/* True when a body follows the head. */
bool framing_has_body(const struct framing *framing);

#endif
