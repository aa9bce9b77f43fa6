/*
 * Cursor: where a page of GET /v1/prices ended, as an opaque text.
 *
 * It holds the epoch, the version of the first page and the newest one that any page was of, a hash
 * of the filter, and the sort keys of the last offer that was given: the next page starts behind
 * those keys, so that pages join without a gap or a repeat even when offers come and go between
 * them.
 */
#ifndef SERVER_API_CURSOR_H
#define SERVER_API_CURSOR_H

#include "core/arena.h"
#include "core/catalogue.h"

#include <stdbool.h>
#include <stdint.h>

#define CURSOR_KEYS_MAX 4
#define CURSOR_TEXT_MAX 2000

struct cursor_key {
	bool is_unknown;
	const char *text; /* or NULL: `number` then */
	int64_t number;
};

struct cursor {
	char epoch[EPOCH_TEXT];
	int64_t first_version, version; /* of the first page, and the newest of all so far */
	uint64_t filter;
	uint64_t id;
	struct cursor_key keys[CURSOR_KEYS_MAX];
	int keys_count;
};

/* NULL when memory is out. */
const char *cursor_encode(struct arena *arena, const struct cursor *cursor);

/* False for what cursor_encode() did not make. */
bool cursor_decode(struct arena *arena, const char *text, struct cursor *out);

#endif
