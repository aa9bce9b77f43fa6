/*
 * Metrics: what is counted, see metrics.h. Counters are relaxed atomics: a scrape sees each one
 * whole, and they need not agree with each other to the last request.
 */
#include "server/metrics_parts.h"

#include "server/clock.h"

#include <stdlib.h>

const double metrics_buckets[METRICS_BUCKETS] = {0.00005, 0.0001, 0.00025, 0.0005, 0.001,
						 0.0025,  0.005,  0.01,	   0.025,  0.05,
						 0.1,	  0.25,	  0.5,	   1,	   2.5};

/* Statuses that this service sends; another one is counted as 500. */
const unsigned metrics_codes[METRICS_CODES] = {200, 204, 304, 400, 401, 403, 404, 405, 406, 408,
					       410, 413, 414, 415, 422, 429, 431, 500, 501, 503};

struct metrics *metrics_new(size_t route_count, size_t provider_count)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (!metrics)
		return NULL;
	metrics->routes = route_count;
	metrics->providers = provider_count;
	metrics->started_us = clock_wall_us();
	metrics->requests = calloc((route_count + 1) * METRICS_CODES, sizeof(*metrics->requests));
	metrics->ingest = calloc(provider_count + 1, sizeof(*metrics->ingest));
	metrics->lock = calloc(1, sizeof(*metrics->lock));
	if (!metrics->requests || !metrics->ingest || !metrics->lock ||
	    pthread_mutex_init(metrics->lock, NULL) != 0) {
		free(metrics->lock);
		metrics->lock = NULL;
		metrics_free(metrics);
		return NULL;
	}
	return metrics;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	if (metrics->lock)
		pthread_mutex_destroy(metrics->lock);
	free(metrics->lock);
	free(metrics->requests);
	free(metrics->ingest);
	free(metrics);
}

static size_t code_index(unsigned status)
{
	size_t fallback = 0;

	for (size_t i = 0; i < METRICS_CODES; i++) {
		if (metrics_codes[i] == status)
			return i;
		if (metrics_codes[i] == 500)
			fallback = i;
	}
	return fallback;
}

void metrics_request(struct metrics *metrics, int route, unsigned status, int64_t duration_us)
{
	struct histogram *histogram =
		&metrics->requests[(size_t)(route + 1) * METRICS_CODES + code_index(status)];
	double seconds = (double)duration_us / (double)US_PER_SECOND;
	size_t bucket = 0;

	while (bucket < METRICS_BUCKETS && seconds > metrics_buckets[bucket])
		bucket++;
	metrics_count(&histogram->bucket[bucket], 1);
	metrics_count(&histogram->sum_us, duration_us > 0 ? (uint64_t)duration_us : 0);
	if (status == 304)
		metrics_count(&metrics->not_modified, 1);
}

void metrics_in_flight(struct metrics *metrics, int change)
{
	atomic_fetch_add_explicit(&metrics->in_flight, change, memory_order_relaxed);
}

void metrics_poll_begins(struct metrics *metrics)
{
	atomic_fetch_add_explicit(&metrics->polling, 1, memory_order_relaxed);
}

void metrics_poll_ends(struct metrics *metrics, enum metrics_poll how)
{
	atomic_fetch_sub_explicit(&metrics->polling, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&metrics->polls[how], 1, memory_order_relaxed);
}

void metrics_delta_expired(struct metrics *metrics)
{
	atomic_fetch_add_explicit(&metrics->deltas_expired, 1, memory_order_relaxed);
}

void metrics_waiting(struct metrics *metrics, int change)
{
	atomic_fetch_add_explicit(&metrics->waiting, change, memory_order_relaxed);
}

void metrics_connections(struct metrics *metrics, int change)
{
	atomic_fetch_add_explicit(&metrics->connections, change, memory_order_relaxed);
}

void metrics_rejected(struct metrics *metrics, enum metrics_rejection reason)
{
	metrics_count(&metrics->rejected[reason], 1);
}

void metrics_forwarded_ignored(struct metrics *metrics, int fault)
{
	metrics_count(&metrics->forwarded_ignored[fault], 1);
}

void metrics_set_snapshot(struct metrics *metrics, const struct metrics_snapshot *snapshot)
{
	pthread_mutex_lock(metrics->lock);
	metrics->snapshot = *snapshot;
	pthread_mutex_unlock(metrics->lock);
}
