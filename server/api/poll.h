/*
 * Poll: long polls of GET /v1/prices: how long a request may wait, and for what.
 */
#ifndef SERVER_API_POLL_H
#define SERVER_API_POLL_H

#include "server/api/price_filter.h"

/* `wait`, in seconds; else what "Prefer: wait=" asks for, as far as it may; else 0. */
int64_t poll_read_wait(struct query_reader *reader);

/* Until a filter's offers have changed since request->catalogue, a feed has turned stale or well,
 * or `seconds` have passed since the request. False when it may not wait (any more): answer now. */
bool poll_hold_for_news(struct request *request, const struct price_filter *filter,
			int64_t seconds);

/* Until this replica has reached a version, or the epoch; for a moment at least. */
bool poll_hold_for_version(struct request *request, const char *epoch, int64_t version,
			   int64_t seconds);

/* Of an answer that may have been waited for: a cache that answered in its stead would make pollers
 * ask without end. NULL: the route's. */
const char *poll_cache_control(int64_t wait_seconds);

void poll_count_expired(const struct request *request);

/* What a list of prices is validated by: weak, of the version of what the filter takes and of what
 * else was asked for. NULL when memory is out. */
const char *poll_etag(struct request *request, const struct price_filter *filter);

/* The caller's own ETag when, but for its version, it is `etag`, and of a version that this replica
 * has not reached: the caller holds what is newer. Else NULL. */
const char *poll_newer_etag(struct request *request, const char *etag, int64_t *version);

#endif
