/*
 * Delta: GET /v1/prices?since=...: what changed since a cursor, each offer once, as it is now.
 *
 * Changes lie in order of version and id, and a page ends somewhere in it: the next one goes on
 * there, on any replica, since an offer that changes meanwhile moves to the end. A cursor holds the
 * epoch, the filter, that place, and two versions more: `from`, to which the poller's copy was
 * whole before this run of pages, and the newest one that any of its pages was read from. A replica
 * that has not reached the latter tells nothing yet. Nothing is remembered between requests.
 */
#ifndef SERVER_API_DELTA_H
#define SERVER_API_DELTA_H

#include "server/api/price_filter.h"

#define DELTA_PAGE_MAX 1000

/* The relative link under which a poller, whose list was read from the versions `from` to `seen`,
 * gets what changed since. NULL when offers are shown without their id, or memory is out. */
const char *delta_link(struct request *request, const struct price_filter *filter, int64_t from,
		       int64_t seen);

/* The answer to a request with `since`; may hold it. */
bool delta_answer(struct query_reader *reader, struct request *request,
		  const struct price_filter *filter, size_t limit, int64_t wait_seconds,
		  struct reply *reply, struct error *error);

#endif
