/*
 * What the store's tests share: a database of their own in the cluster of tests/store/cluster.py,
 * plain SQL to look behind the store's back, and offers to put in. Everything fails the test on a
 * fault.
 */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include "core/offer.h"
#include "server/store/store.h"
#include "tests/suite.h"

#include <libpq-fe.h>

/* A new, empty database; the URL is the caller's to free(). */
char *fixture_database(void);

/* The same, migrated. */
char *fixture_migrated(void);

/* A store that leads. */
struct store *fixture_leader(const char *url);

/* The first cell of the answer as text, to free(); "" without rows. Formats like printf. */
char *fixture_sql(const char *url, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t fixture_count(const char *url, const char *sql);

/* A valid offer: number `n` of `provider` at `price_micros`. Strings live in `arena`. */
struct offer fixture_offer(struct arena *arena, const char *provider, int n, int64_t price_micros);

/* Stores `offers` as a whole refresh observed at `observed_at_us`; fails the test when refused. */
struct store_outcome fixture_apply(struct store *store, const char *provider, const char *source,
				   struct offer *offers, size_t count, int64_t observed_at_us);

/* Fails the test unless both are equal, member by member. */
void fixture_same_offer(const struct offer *a, const struct offer *b);

/* "2025-01-01T00:00:00Z" and `n` hours. */
#define FIXTURE_HOUR(n) (INT64_C(1735689600000000) + (n)*INT64_C(3600000000))

#endif
