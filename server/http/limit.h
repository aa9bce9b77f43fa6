/*
 * Limit: fair use by caller. Everybody has a bucket that holds `quota` units and is filled again
 * within the window, evenly; what a request costs is its route's. Of constant size: callers that
 * have used least give way to new ones, so that nobody can make it grow by many addresses, nor wash
 * off what they have used by a few.
 *
 * Threads of a process share it; replicas do not: behind N of them a caller has up to N quotas.
 */
#ifndef SERVER_HTTP_LIMIT_H
#define SERVER_HTTP_LIMIT_H

#include "server/http/trust.h"
#include "server/json/writer.h"

#include <stdbool.h>
#include <stdint.h>

struct limit;

/* NULL when memory or randomness is out. */
struct limit *limit_new(int64_t quota, double window_seconds);
void limit_free(struct limit *limit);

/* Who is counted: unlike each other for each process, so that nobody can aim at another's place. */
uint64_t limit_caller(const struct limit *limit, const char *name);
uint64_t limit_address(const struct limit *limit, const struct peer *peer); /* IPv6: its /64 */

struct limit_state {
	bool is_counted, is_refused;
	int64_t quota, window_seconds;
	int64_t remaining;     /* units */
	int64_t reset_seconds; /* until the bucket is full */
	int64_t retry_seconds; /* until as much as was asked is there; 0 when it was */
};

/* Takes `cost` units (at most the quota), or refuses and takes none. By the monotonic clock. */
void limit_charge(struct limit *limit, uint64_t caller, int64_t cost, int64_t now_us,
		  struct limit_state *out);

#define LIMIT_POLICY "default" /* the one there is */

/* RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers). */
#define LIMIT_FIELD_TEXT 80
void limit_format_policy(const struct limit_state *state, char out[LIMIT_FIELD_TEXT]);
void limit_format_state(const struct limit_state *state, char out[LIMIT_FIELD_TEXT]);

/* For the metrics: Prometheus text. */
void limit_render(struct limit *limit, struct writer *writer);

#endif
