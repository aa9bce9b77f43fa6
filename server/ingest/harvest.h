/*
 * Harvest: one walk over one provider's feed: request, fetch with retries, parse, page by page,
 * then normalise. It touches no database, so that feeds run side by side on threads of their own
 * and a slow or broken one holds up no other.
 */
#ifndef SERVER_INGEST_HARVEST_H
#define SERVER_INGEST_HARVEST_H

#include "server/config.h"
#include "server/ingest/exchange.h"
#include "server/ingest/ingest.h"

#include <stdatomic.h>

struct harvest {
	/* Set by the caller. */
	const struct provider *provider;
	const char *base_url;		 /* override, or NULL */
	const char *key;		 /* or NULL */
	const char *discount;		 /* as in discount.h, or NULL */
	const char *record;		 /* folder, or NULL */
	struct exchange_cache *exchange; /* NULL = prices in euros are unknown */
	int64_t attempts;
	double timeout_seconds;
	const atomic_bool *stop; /* may be NULL */

	/* Of a provider that remembers, set by the caller, who fills the arena; released here. */
	struct arena past;
	const struct offer *last;
	size_t last_count;
	const char *memo;

	/* Filled by harvest_run(). */
	const char *outcome; /* as in store_run */
	struct error error;  /* why, unless "ok" */
	int64_t started_us, finished_us;
	int64_t requests, bytes;
	double retry_after_seconds; /* what the provider asked for when it refused; else -1 */
	struct feed feed;
	struct normalise_report report;
	struct arena arena; /* owns the feed */
};

/* False when the refresh cannot be used. harvest_release() in any case. */
bool harvest_run(struct harvest *harvest);
void harvest_release(struct harvest *harvest);

/* Between half of `seconds` and all of it, so that replicas and retries do not march in step. */
double jitter(double seconds);

/* False when `stop` was set before the time was over. */
bool pause_seconds(double seconds, const atomic_bool *stop);

/* record.c: writes to DIR/<provider>-<label>.json what came, from the start of the file (offset 0)
 * or after what was written before. */
bool record_write(const char *folder, const char *provider, const char *label, size_t offset,
		  const char *body, size_t length, struct error *error);

#endif
