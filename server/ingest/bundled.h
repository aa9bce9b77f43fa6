/*
 * Bundled: the dated price list in the binary (bundled.csv). It makes a first start useful without
 * any network, says so ("source": "bundled", its own dates), and yields to the first live prices.
 */
#ifndef SERVER_INGEST_BUNDLED_H
#define SERVER_INGEST_BUNDLED_H

#include "server/config.h"
#include "server/ingest/price_list.h"
#include "server/store/store.h"

struct bundled_outcome {
	int64_t providers, rows, rejected, changed;
};

/* Its rows by provider, for the store and for tests. */
bool bundled_read(struct arena *arena, struct price_list **out, struct error *error);

/* The list in the binary. */
const char *bundled_csv(size_t *length);

/* Lists each provider that has no live price, with the company's discount of it. Idempotent. */
bool bundled_apply(const struct config *config, struct store *store, struct bundled_outcome *out,
		   struct error *error);

#endif
