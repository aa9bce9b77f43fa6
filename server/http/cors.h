/*
 * CORS: which other origins' pages may read answers in a browser. Never with credentials: no cookie
 * means anything here. Pure.
 */
#ifndef SERVER_HTTP_CORS_H
#define SERVER_HTTP_CORS_H

#include "core/error.h"

#include <stdbool.h>

/* A list of origins ("https://shop.example, http://localhost:3000") or "*". */
bool cors_check(const char *list, struct error *error);

/* What Access-Control-Allow-Origin says to `origin` (its own text, or "*"); NULL: nothing. */
const char *cors_allowed(const char *list, const char *origin);

/* The answers depend on who asks: caches must know. */
bool cors_varies(const char *list);

/* Of a preflight's answer, and which fields of an answer a page may read. */
#define CORS_REQUEST_HEADERS                                                                       \
	"Accept, Authorization, Content-Type, If-None-Match, Prefer, traceparent, X-Api-Key, "     \
	"X-Request-Id"
#define CORS_EXPOSED_HEADERS                                                                       \
	"ETag, Link, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, "               \
	"Server-Timing, traceparent, X-Request-Id"
#define CORS_MAX_AGE_SECONDS "600"

#endif
