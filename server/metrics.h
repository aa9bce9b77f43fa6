/*
 * Metrics: atomics indexed by route and by provider, so that the label sets are bounded by
 * construction; rendered in the Prometheus text format in base units.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "server/json/writer.h"

#include <stddef.h>
#include <stdint.h>

/* One per process; zero-initialised, safe from any thread. */
struct metrics;

struct metrics *metrics_new(size_t routes, size_t providers);
void metrics_free(struct metrics *metrics);

/* route: index in the routes table, or -1 for requests that matched none. */
void metrics_request(struct metrics *metrics, int route, unsigned status, int64_t duration_us);
void metrics_in_flight(struct metrics *metrics, int change);
void metrics_waiting(struct metrics *metrics, int change); /* of those, for the database */
void metrics_connections(struct metrics *metrics, int change);

/* Long polls: how many wait, and how each ended. */
enum metrics_poll {
	METRICS_POLL_NEWS,
	METRICS_POLL_TIMEOUT,
	METRICS_POLL_LEFT, /* its client did */
	METRICS_POLL_STOP,
	METRICS_POLLS
};
void metrics_poll_begins(struct metrics *metrics);
void metrics_poll_ends(struct metrics *metrics, enum metrics_poll how);
void metrics_delta_expired(struct metrics *metrics); /* a cursor was answered 410 */

enum metrics_rejection {
	METRICS_REJECTED_FRAMING,
	METRICS_REJECTED_TARGET,
	METRICS_REJECTED_HEAD_TIMEOUT,
	METRICS_REJECTED_BODY_TIMEOUT,
	METRICS_REJECTED_TOO_LARGE,
	METRICS_REJECTED_CONNECTIONS,
	METRICS_REJECTED_BUSY,
	METRICS_REJECTED_POLLS,
	METRICS_REJECTIONS
};
void metrics_rejected(struct metrics *metrics, enum metrics_rejection reason);

/* fault: an enum forwarded_fault. */
void metrics_forwarded_ignored(struct metrics *metrics, int fault);

struct metrics_snapshot {
	int64_t version, as_of_us, built_at_us, offers, unmapped_offers, unpriced_offers;
	bool database_is_up;
};
void metrics_set_snapshot(struct metrics *metrics, const struct metrics_snapshot *snapshot);

struct metrics_ingest {
	const char *result; /* an outcome, as in apply.h */
	int64_t finished_us, duration_us, refresh_seconds, requests, bytes;
	int64_t rows_seen, rows_accepted, rows_rejected, rows_unmapped, rows_usual, changes;
	const int64_t *refused; /* by enum rejection; NULL: not known */
};
/* provider: index in the providers table. */
void metrics_ingest_run(struct metrics *metrics, size_t provider, const struct metrics_ingest *run);

/* Text format 0.0.4 into `writer` (writer_raw). */
void metrics_render(const struct metrics *metrics, struct writer *writer);

#endif
