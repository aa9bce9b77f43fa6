/*
 * Exchange: what a euro is worth, by the European Central Bank, for feeds that quote euros. Looked
 * up at most once in six hours for all of them; when the bank does not answer, a rate that is at
 * most a week old still serves. There is no rate of our own: without one a feed fails, and its last
 * good prices stay.
 */
#ifndef SERVER_INGEST_EXCHANGE_H
#define SERVER_INGEST_EXCHANGE_H

#include "server/ingest/provider.h"

#include <pthread.h>

/* The bank's CSV (columns TIME_PERIOD and OBS_VALUE): the last day in it. Pure. */
bool exchange_parse(const char *csv, size_t length, struct arena *arena, struct exchange *out,
		    struct error *error);

struct exchange_cache {
	pthread_mutex_t mutex;
	const char *base_url;	       /* NULL = the bank's own */
	struct exchange euro;	       /* guarded by mutex */
	int64_t looked_up_us, euro_us; /* likewise: the last try, the last success */
};

void exchange_init(struct exchange_cache *cache, const char *base_url);
void exchange_release(struct exchange_cache *cache);

/* From any thread; fetches when it must, and then others wait. */
bool exchange_euro(struct exchange_cache *cache, struct fetch *fetch,
		   const struct fetch_options *options, int64_t now_us, struct exchange *out,
		   struct error *error);

#endif
