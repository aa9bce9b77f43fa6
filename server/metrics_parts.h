/*
 * Metrics, inside: what is counted, and the pieces of its rendering. For server/metrics*.c only.
 */
#ifndef SERVER_METRICS_PARTS_H
#define SERVER_METRICS_PARTS_H

#include "server/http/forwarded.h"
#include "server/ingest/provider.h"
#include "server/metrics.h"

#include <pthread.h>
#include <stdatomic.h>

#define METRICS_BUCKETS 15
#define METRICS_CODES 20
#define METRICS_RESULTS 10
extern const double metrics_buckets[METRICS_BUCKETS]; /* upper bounds, in seconds */
extern const unsigned metrics_codes[METRICS_CODES];

struct histogram {
	_Atomic uint64_t bucket[METRICS_BUCKETS + 1]; /* the last one: beyond all */
	_Atomic uint64_t sum_us;
};

struct provider_metrics {
	_Atomic uint64_t runs[METRICS_RESULTS], bytes, requests, changes;
	_Atomic uint64_t refused[REJECTIONS];
	_Atomic int64_t last_attempt_us, last_success_us, duration_us, refresh_seconds;
	_Atomic int64_t seen, accepted, rejected, unmapped, usual;
	_Atomic bool is_held; /* the guard kept the last refresh back */
};

struct metrics {
	size_t routes, providers;
	int64_t started_us;
	struct histogram *requests; /* [route + 1][code]; row 0: matched none */
	struct provider_metrics *ingest;
	_Atomic int64_t in_flight, waiting, polling, connections;
	_Atomic uint64_t polls[METRICS_POLLS], deltas_expired;
	_Atomic uint64_t rejected[METRICS_REJECTIONS];
	_Atomic uint64_t forwarded_ignored[FORWARDED_FAULTS];
	_Atomic uint64_t not_modified;
	pthread_mutex_t *lock; /* guards `snapshot`; apart, so that reading may be const */
	struct metrics_snapshot snapshot;
};

static inline void metrics_count(_Atomic uint64_t *counter, uint64_t by)
{
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static inline uint64_t metrics_value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

double metrics_seconds(int64_t us);
void metrics_head(struct writer *writer, const char *name, const char *type, const char *help);
void metrics_gauge(struct writer *writer, const char *name, const char *help, double number);
void metrics_render_http(const struct metrics *metrics, struct writer *writer);
void metrics_render_ingest(const struct metrics *metrics, struct writer *writer);

#endif
