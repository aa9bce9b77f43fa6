/*
 * Target: the raw request target, split and decoded by us. libmicrohttpd decodes the path before
 * any handler sees it: %2F becomes a slash, %00 cuts the text, bad escapes pass. Here all that is
 * refused, and what is decoded is valid UTF-8 without control bytes.
 */
#ifndef SERVER_HTTP_TARGET_H
#define SERVER_HTTP_TARGET_H

#include "server/http/request.h"

#define TARGET_BYTES_MAX 8192

struct target {
	const char *path; /* raw, from its "/"; "*" of OPTIONS */
	size_t path_length;
	const char *query; /* raw, after the "?", or "" */
};

/* False for a target that is neither /path[?query], http://host/path[?query] nor "*". */
bool target_split(const char *raw, struct target *out, struct error *error);

/* One decoded path segment (or several, with their slashes), terminated; NULL and an error. */
const char *target_decode(struct arena *arena, const char *raw, size_t length, struct error *error);

/* Fills request->query; names every parameter that is malformed or given twice. */
bool target_decode_query(struct request *request, const char *raw, struct error *error);

#endif
