/* Fields: the values of header fields that this service understands. Pure. */
#ifndef SERVER_HTTP_FIELDS_H
#define SERVER_HTTP_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Accept: which of `produces` (media types separated by spaces, the default first) the client wants
 * most; NULL: none of them. `accept` NULL or empty: the default. `out` takes the type, terminated.
 */
#define MEDIA_TYPE_TEXT 64
bool field_accept(const char *accept, const char *produces, char out[MEDIA_TYPE_TEXT]);

/* The q among the parameters of one item (";q=0.5"), in thousandths; 1000 without one. */
int field_quality(const char *parameters, size_t length);

/* If-None-Match: `etag` is in the list (compared weakly), or the list is "*". */
bool field_etag_matches(const char *if_none_match, const char *etag);

/* Content-Type: JSON, in UTF-8 where it says so. */
bool field_is_json(const char *content_type);

/* X-Request-Id of a client or gateway: 1 to 64 harmless characters. */
bool field_is_request_id(const char *value);

/* Prefer: `preference` ("handling=lenient") is among its comma-separated items. */
bool field_prefers(const char *prefer, const char *preference);

/* Prefer: "wait=SECONDS" is among its items. */
bool field_wait(const char *prefer, int64_t *seconds);

#endif
