/*
 * Error: what went wrong, as a value that travels unchanged from where it was found to the answer.
 *
 * One headline (code and detail) and a list of {pointer, code, detail, suggestion}, one for every
 * bad field, so that a caller sees all of them at once. Core knows nothing of HTTP:
 * server/http/problem.c gives each code its status.
 *
 * The list lives in the arena given to error_init(); without an arena, or past ERROR_ITEMS_MAX or
 * the arena's limit, items are counted in `dropped` and the headline still stands.
 */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H

#include "core/arena.h"

#include <stdbool.h>

#define ERROR_ITEMS_MAX 100

/* code, slug (problem type, stable), title */
#define ERROR_TABLE(X)                                                                             \
	X(NONE, "none", "No error")                                                                \
	X(MALFORMED, "malformed-request", "The request cannot be parsed")                          \
	X(INVALID_PARAMETER, "invalid-parameter", "Query parameters are invalid")                  \
	X(INVALID, "invalid-request", "Fields of the request are invalid")                         \
	X(UNSUPPORTED, "unsupported", "The request asks for something that is not supported")      \
	X(UNKNOWN_MODEL, "unknown-model", "The model is not known")                                \
	X(NOT_FOUND, "not-found", "There is no such resource")                                     \
	X(UNAUTHORIZED, "unauthorized", "Who calls is not known")                                  \
	X(FORBIDDEN, "forbidden", "The caller may not do this")                                    \
	X(QUOTA, "quota-exceeded", "The caller has made too many requests")                        \
	X(METHOD, "method-not-allowed", "The method is not allowed here")                          \
	X(NOT_ACCEPTABLE, "not-acceptable", "None of the accepted formats can be produced")        \
	X(MEDIA_TYPE, "unsupported-media-type", "The media type of the body is not supported")     \
	X(TOO_LARGE, "too-large", "The request is larger than this route takes")                   \
	X(TARGET_TOO_LONG, "target-too-long", "The request target is too long")                    \
	X(HEAD_TOO_LARGE, "head-too-large", "The header fields of the request are too large")      \
	X(NOT_IMPLEMENTED, "not-implemented", "The transfer coding is not supported")              \
	X(TIMEOUT, "request-timeout", "The request did not arrive in time")                        \
	X(WAITING, "too-many-waiting", "The caller has too many requests that wait")               \
	X(CURSOR_EXPIRED, "cursor-expired", "The cursor is too old or from another epoch")         \
	X(UNAVAILABLE, "unavailable", "The service cannot answer yet")                             \
	X(INTERNAL, "internal", "The service failed")                                              \
	X(FEED, "feed", "A provider's answer cannot be used")                                      \
	X(STORE, "store", "The database failed")

enum error_code {
#define X(code, slug, title) ERROR_##code,
	ERROR_TABLE(X)
#undef X
		ERROR_CODES
};

struct error_item {
	struct error_item *next;
	const char *pointer;	/* JSON Pointer into the body, or the query parameter's name */
	const char *code;	/* stable, snake_case: "out_of_range", "unknown_field", ... */
	const char *detail;	/* one sentence for a person */
	const char *suggestion; /* nearest valid name or pointer, or NULL */
};

struct error {
	struct arena *arena;
	enum error_code code;
	char detail[256];
	unsigned count;	  /* items in the list */
	unsigned dropped; /* items that found no room */
	struct error_item *first, *last;
};

void error_init(struct error *error, struct arena *arena);

/* Sets the headline and returns false, so that a check is one line. The last call wins. */
bool error_set(struct error *error, enum error_code code, const char *format, ...)
	PRINTF_LIKE(3, 4);

/*
 * Adds one bad field and returns false. `pointer`, `code` and `suggestion` are copied. A headline
 * that is still NONE becomes INVALID.
 */
bool error_add(struct error *error, const char *pointer, const char *code, const char *suggestion,
	       const char *format, ...) PRINTF_LIKE(5, 6);

bool error_is_set(const struct error *error);

const char *error_slug(enum error_code code);
const char *error_title(enum error_code code);

#endif
