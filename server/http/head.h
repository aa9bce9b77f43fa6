/*
 * Head: the bytes of a request's head, looked at before libmicrohttpd reads them. 0.9.75 answers by
 * itself, in HTML or by hanging up, what it cannot read: bad request lines and versions, fields
 * without a colon, lengths that are no numbers, heads that do not fit its memory. Here all of that
 * is found, so that it never sees it; what it can read is judged later, field by field (framing.h).
 * Pure.
 */
#ifndef SERVER_HTTP_HEAD_H
#define SERVER_HTTP_HEAD_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_BYTES_MAX 16384
/* The library's memory for a connection: the bytes that it has read, a note of each field,
 * parameter of the query and cookie, the first line of cookies once more, and the head of the
 * answer. Where a body follows, as many bytes may have been read as its buffer grows to. */
#define HEAD_POOL_BYTES 32768
#define HEAD_BUFFER_BYTES 18432
#define HEAD_NOTE_BYTES 64
#define HEAD_ANSWER_BYTES 1792

enum head_verdict {
	HEAD_PARTIAL,  /* nothing wrong, but it goes on */
	HEAD_READABLE, /* whole, and the library can read it */
	HEAD_REFUSED
};

struct head {
	enum error_code code; /* of what is refused */
	const char *problem;
	bool is_method_head; /* whose answer has no body */

	/* Of what is readable: */
	size_t length;	      /* of the head, with empty lines before it */
	size_t empty_bytes;   /* of those lines */
	uint64_t body_length; /* as declared */
	bool is_chunked;
	bool may_close; /* it may be the last on its connection */
};

/* `bytes` begin where a request does. More of the same never changes a verdict but PARTIAL. */
enum head_verdict head_check(const char *bytes, size_t length, struct head *head);

#endif
