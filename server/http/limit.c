/*
 * Limits: see limit.h. A bucket is one time: when it will be full again (the generic cell rate
 * algorithm). Units are times too: as long as one takes to come back.
 */
#include "server/http/limit.h"

#include "core/hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SETS 8192 /* a power of two; with WAYS, a MiB */
#define WAYS 8
#define LOCKS 64 /* a power of two */
#define NS_PER_SECOND INT64_C(1000000000)
#define NS_PER_US 1000
#define POLICY "\"" LIMIT_POLICY "\""

struct bucket {
	uint64_t caller; /* 0 = free */
	int64_t full_ns;
};

struct limit {
	uint64_t seeds[2];
	int64_t quota, window_ns, unit_ns;
	pthread_mutex_t locks[LOCKS]; /* the n-th guards every set whose number ends in n */
	struct bucket buckets[SETS][WAYS];
	_Atomic uint64_t passed, refused, displaced;
};

struct limit *limit_new(int64_t quota, double window_seconds)
{
	struct limit *limit = calloc(1, sizeof(*limit));

	if (!limit ||
	    getrandom(limit->seeds, sizeof(limit->seeds), 0) != (ssize_t)sizeof(limit->seeds)) {
		free(limit);
		return NULL;
	}
	limit->quota = quota;
	limit->window_ns = (int64_t)(window_seconds * (double)NS_PER_SECOND);
	limit->unit_ns = limit->window_ns > quota ? limit->window_ns / quota : 1;
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&limit->locks[i], NULL);
	return limit;
}

void limit_free(struct limit *limit)
{
	for (int i = 0; limit && i < LOCKS; i++)
		pthread_mutex_destroy(&limit->locks[i]);
	free(limit);
}

/* Never 0. */
static uint64_t mix(const struct limit *limit, uint64_t high, uint64_t low)
{
	uint64_t value = high ^ limit->seeds[0];

	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	value = (value ^ value >> 31) + (low ^ limit->seeds[1]);
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	value ^= value >> 31;
	return value ? value : 1;
}

uint64_t limit_caller(const struct limit *limit, const char *name)
{
	return mix(limit, hash_text(HASH_START, name), strlen(name));
}

uint64_t limit_address(const struct limit *limit, const struct peer *peer)
{
	struct peer network = peer_network(peer);
	uint64_t high, low;

	if (peer->is_unix)
		return mix(limit, UINT64_MAX, UINT64_MAX);
	memcpy(&high, network.bytes, sizeof(high));
	memcpy(&low, network.bytes + sizeof(high), sizeof(low));
	return mix(limit, high, low);
}

/* Its own, or that of whoever has used least of all who share the set. */
static struct bucket *bucket_of(struct limit *limit, struct bucket *set, uint64_t caller,
				int64_t now_ns)
{
	struct bucket *least = &set[0];

	for (int i = 0; i < WAYS; i++) {
		if (set[i].caller == caller)
			return &set[i];
		if (set[i].full_ns < least->full_ns)
			least = &set[i];
	}
	if (least->full_ns > now_ns)
		atomic_fetch_add_explicit(&limit->displaced, 1, memory_order_relaxed);
	*least = (struct bucket){.caller = caller, .full_ns = now_ns};
	return least;
}

static int64_t seconds_up(int64_t ns)
{
	return ns > 0 ? (ns + NS_PER_SECOND - 1) / NS_PER_SECOND : 0;
}

void limit_charge(struct limit *limit, uint64_t caller, int64_t cost, int64_t now_us,
		  struct limit_state *out)
{
	size_t number = caller & (SETS - 1);
	pthread_mutex_t *lock = &limit->locks[number & (LOCKS - 1)];
	int64_t now_ns = now_us * NS_PER_US, used_ns, wanted_ns, over_ns;
	struct bucket *bucket;

	wanted_ns = (cost < limit->quota ? cost : limit->quota) * limit->unit_ns;
	pthread_mutex_lock(lock);
	bucket = bucket_of(limit, limit->buckets[number], caller, now_ns);
	used_ns = bucket->full_ns > now_ns ? bucket->full_ns - now_ns : 0;
	over_ns = used_ns + wanted_ns - limit->quota * limit->unit_ns;
	if (over_ns <= 0) {
		used_ns += wanted_ns;
		bucket->full_ns = now_ns + used_ns;
	}
	pthread_mutex_unlock(lock);
	atomic_fetch_add_explicit(over_ns <= 0 ? &limit->passed : &limit->refused, 1,
				  memory_order_relaxed);
	*out = (struct limit_state){
		.is_counted = true,
		.is_refused = over_ns > 0,
		.quota = limit->quota,
		.window_seconds = seconds_up(limit->window_ns),
		.remaining = (limit->quota * limit->unit_ns - used_ns) / limit->unit_ns,
		.reset_seconds = seconds_up(used_ns),
		.retry_seconds = seconds_up(over_ns),
	};
}

void limit_format_policy(const struct limit_state *state, char out[LIMIT_FIELD_TEXT])
{
	snprintf(out, LIMIT_FIELD_TEXT, POLICY ";q=%lld;w=%lld", (long long)state->quota,
		 (long long)state->window_seconds);
}

void limit_format_state(const struct limit_state *state, char out[LIMIT_FIELD_TEXT])
{
	snprintf(out, LIMIT_FIELD_TEXT, POLICY ";r=%lld;t=%lld", (long long)state->remaining,
		 (long long)state->reset_seconds);
}

void limit_render(struct limit *limit, struct writer *writer)
{
	writer_format(
		writer,
		"# HELP gpupick_http_limit_total Requests that were counted against a "
		"caller's limit.\n"
		"# TYPE gpupick_http_limit_total counter\n"
		"gpupick_http_limit_total{outcome=\"passed\"} %llu\n"
		"gpupick_http_limit_total{outcome=\"refused\"} %llu\n"
		"# HELP gpupick_http_limit_displaced_total Callers that were forgotten before "
		"their limit was restored: too many at once.\n"
		"# TYPE gpupick_http_limit_displaced_total counter\n"
		"gpupick_http_limit_displaced_total %llu\n",
		(unsigned long long)atomic_load(&limit->passed),
		(unsigned long long)atomic_load(&limit->refused),
		(unsigned long long)atomic_load(&limit->displaced));
}
