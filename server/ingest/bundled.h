/*
 * Bundled: the dated price list in the binary (bundled.csv). It makes a first start useful without
 * any network, says so ("source": "bundled", its own dates), and yields to the first live prices.
 */
#ifndef SERVER_INGEST_BUNDLED_H
#define SERVER_INGEST_BUNDLED_H

#include "server/ingest/ingest.h"
#include "server/store/store.h"

struct bundled_outcome {
	int64_t providers, rows, rejected, changed;
};

/* Rows of the list by provider, normalised, in the arena; for the store and for tests. */
struct bundled_provider {
	const char *id;
	struct feed feed;
	struct normalise_report report;
	struct bundled_provider *next;
};
bool bundled_read(const char *csv, size_t length, struct arena *arena,
		  struct bundled_provider **out, struct error *error);

/* The list in the binary. */
const char *bundled_csv(size_t *length);

/* Lists each provider that has no live price. Idempotent. */
bool bundled_apply(struct store *store, struct bundled_outcome *out, struct error *error);

#endif
