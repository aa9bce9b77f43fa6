/*
 * Chunks: how a chunked body is framed, followed byte by byte before the library reads it, which
 * answers by itself what it cannot read. Stricter than that: no bare line feeds, no folded
 * trailers, bounded lines. What the chunks hold is nobody's business here. Pure.
 */
#ifndef SERVER_HTTP_CHUNKS_H
#define SERVER_HTTP_CHUNKS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNKS_LINE_BYTES_MAX 256U     /* of a size and its extensions */
#define CHUNKS_TRAILER_BYTES_MAX 1024U /* of all fields after the last chunk */
#define CHUNKS_SIZE_MAX (UINT64_C(1) << 60)

enum chunks_state {
	CHUNKS_SIZE, /* the first of a new body */
	CHUNKS_EXTENSION,
	CHUNKS_SIZE_FEED,
	CHUNKS_DATA,
	CHUNKS_DATA_RETURN,
	CHUNKS_DATA_FEED,
	CHUNKS_TRAILER, /* at the start of a line */
	CHUNKS_TRAILER_NAME,
	CHUNKS_TRAILER_VALUE,
	CHUNKS_TRAILER_FEED,
	CHUNKS_LAST_FEED,
	CHUNKS_DONE,
	CHUNKS_BAD
};

struct chunks { /* zeroed: before the first byte */
	enum chunks_state state;
	enum error_code code; /* CHUNKS_BAD */
	const char *problem;
	uint64_t left;	     /* of the chunk */
	unsigned line_bytes; /* of the line, or of all trailers */
	bool has_digit;
};

/* How many of the bytes are the body's: all of them until it is done or bad. */
size_t chunks_take(struct chunks *chunks, const char *bytes, size_t length);

#endif
