/*
 * Store: PostgreSQL. Only this folder includes libpq and only it and migrations/ hold SQL; always
 * with parameters. One store is one connection and belongs to one thread. A connection that was
 * lost is reopened by the next call (back-off is the caller's); a write whose COMMIT got no answer
 * is reported as failed and may be repeated, since refreshes are idempotent.
 */
#ifndef SERVER_STORE_STORE_H
#define SERVER_STORE_STORE_H

#include "core/arena.h"
#include "core/catalogue.h"
#include "core/error.h"
#include "core/offer.h"
#include "server/history.h"
#include "server/key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

/* Is it a connection string of libpq's, as far as can be told without connecting? The error tells
 * nothing of its text, which may hold a password. */
bool store_check_url(const char *database_url, struct error *error);

/* Opens lazily: fails only when memory is out. `name` becomes application_name. */
struct store *store_new(const char *database_url, const char *name);
void store_free(struct store *store);

/* The one call that another thread may make: what is running fails soon, and so does every later
 * call. For stopping. */
void store_interrupt(struct store *store);

/* --- migrations (migrations/NNNN_name.sql, embedded in the binary) --- */

struct migration_report {
	int applied, already;
};
bool store_migrate(struct store *store, struct migration_report *out, struct error *error);

/* --- reading, for replicas --- */

struct store_clock {
	char epoch[EPOCH_TEXT];
	int64_t version, as_of_us; /* of prices: commits in version order, gaps never */
	int64_t status; /* raised also by a refresh that changed no price, and by a run */
};
bool store_read_clock(struct store *store, struct store_clock *out, struct error *error);

/*
 * When a feed's last stored refresh was. A refresh that changes nothing writes this one row and not
 * each offer, so an offer that follows its feed was observed when its feed was; the others (bundled
 * prices, rows that the guard holds back) have a date of their own. Reads hand out offers with the
 * date that holds at that moment; later ones come from here.
 */
struct store_feed {
	const char *provider, *source;
	int64_t observed_at_us;
};

/* Rows of one consistent view (one repeatable-read transaction). Everything lives in `arena`. */
struct store_view {
	struct store_clock clock;
	bool is_delta; /* offers holds only what changed since `since`, withdrawn ones included */
	struct offer *offers; /* NULL from store_read_status(): not read */
	bool *follows_feed;   /* of each offer */
	size_t offers_count;
	/* Of a delta: ids of offers that changed more than once since, sorted. */
	uint64_t *restless;
	size_t restless_count;
	/* Where everything was read: what was withdrawn after the version changes_from, any order.
	 * Else changes_from is how far the log reaches back. */
	struct offer *gone;
	size_t gone_count;
	int64_t changes_from;
	struct store_feed *feeds;
	size_t feeds_count;
	struct provider_status *providers;
	size_t providers_count;
	struct unmapped *unmapped;
	size_t unmapped_count;
};

/* Most withdrawn offers that a replica keeps in mind for its pollers. */
#define STORE_GONE_MAX 100000

/* All offers on sale, and those that left. */
bool store_read_all(struct store *store, struct arena *arena, struct store_view *out,
		    struct error *error);

/* Everything but offers: clock, feeds, providers, unmapped spellings. */
bool store_read_status(struct store *store, struct arena *arena, struct store_view *out,
		       struct error *error);

/* No success within three refresh periods. False for a provider that has no feed to be stale. */
bool store_is_stale(const struct provider_status *status, int64_t now_us);

/* What changed after `since` in `epoch`; falls back to everything (is_delta false) when the log
 * does not reach back or the epoch is another. */
bool store_read_since(struct store *store, const char *epoch, int64_t since, struct arena *arena,
		      struct store_view *out, struct error *error);

/* What became of one offer: fills the lower half of `history`. Each of its few statements may take
 * `timeout_ms`. A replica of the database that lags may tell less than another did. */
bool store_read_history(struct store *store, struct history *history, struct arena *arena,
			int timeout_ms, struct error *error);

/* --- writing, for the ingest leader --- */

/* True when this connection now is the leader (session advisory lock, with a token that every batch
 * checks again). False without an error when another is. Call it before each round: a connection
 * that was lost took its lock along. The URL must not lead through a transaction pooler. */
bool store_lead(struct store *store, bool *is_leader, struct error *error);

/*
 * A complete, accepted refresh of one provider's feed: replaces that source's offers in one
 * transaction; rows that are gone are marked withdrawn, never deleted. Only the leader may.
 *
 * An offer whose observed_at_us is 0 or the refresh's own follows the feed. One with another date
 * keeps it (and ages): the last good row of an offer whose new price waits for a second refresh, as
 * store_read_source() gave it. Offers of the source "bundled" always keep their own date and never
 * touch what another source has on sale.
 */
#define STORE_BUNDLED "bundled"

struct store_refresh {
	const char *provider, *source;
	const struct offer *offers; /* normalised, keys unique, ids set; any order */
	size_t offers_count;
	int64_t observed_at_us;
	const struct unmapped *unmapped; /* spellings of this refresh, with row counts */
	size_t unmapped_count;
	bool replaces_bundled; /* live prices: bundled offers of the provider are withdrawn */
};
struct store_outcome {
	int64_t inserted; /* new or back on sale */
	int64_t changed, unchanged, withdrawn;
	int64_t version; /* the clock's, raised only when anything changed */
};
bool store_apply(struct store *store, const struct store_refresh *refresh,
		 struct store_outcome *out, struct error *error);

/* Every attempt, good or bad. */
struct store_run {
	const char *provider, *source;
	int64_t started_us, finished_us;
	const char *outcome; /* "ok", "http", "timeout", "parse", "auth", "rate_limited", "empty",
				"held" */
	const char *detail;
	int64_t refresh_seconds;
	int64_t requests, bytes, rows_seen, rows_accepted, rows_rejected, rows_unmapped;
	const char *rejections; /* refused rows by reason: "no_price 2, schema 1"; may be NULL */
	int64_t inserted, changed, unchanged, withdrawn;
};
bool store_record_run(struct store *store, const struct store_run *run, struct error *error);

/* The median of rows_accepted over a feed's good runs of the last fortnight; 0 = none. */
bool store_read_usual(struct store *store, const char *provider, const char *source, int64_t *rows,
		      struct error *error);

/* Offers on sale of one source: the last good set of a feed that remembers. */
bool store_read_source(struct store *store, const char *provider, const char *source,
		       struct arena *arena, struct offer **out, size_t *count, struct error *error);

/* The same by id and price alone, in any order: a million fit in 16 MB. */
struct store_price {
	uint64_t id;
	int64_t micros; /* PRICE_UNKNOWN = not known */
};
bool store_read_prices(struct store *store, const char *provider, const char *source,
		       struct arena *arena, struct store_price **out, size_t *count,
		       struct error *error);

/* Offers by id, in any order, as store_read_source() gives them. */
bool store_read_offers(struct store *store, const uint64_t *ids, size_t ids_count,
		       struct arena *arena, struct offer **out, size_t *count, struct error *error);

/* What ingest/guard remembers of a feed between refreshes: an opaque text, "" at first. */
bool store_read_guard(struct store *store, const char *provider, const char *source,
		      struct arena *arena, char **out, struct error *error);
bool store_write_guard(struct store *store, const char *provider, const char *source,
		       const char *state, struct error *error);

/* What a feed that remembers noted at its last good refresh, "" at first; see ingest/provider.h. */
bool store_read_memo(struct store *store, const char *provider, const char *source,
		     struct arena *arena, char **out, struct error *error);
bool store_write_memo(struct store *store, const char *provider, const char *source,
		      const char *memo, struct error *error);

/* Feeds whose source begins with `prefix`, but for those whose last outcome is STORE_REMOVED: a
 * feed that is there no more and is no longer shown. */
#define STORE_REMOVED "removed"
struct store_source {
	const char *provider, *source;
};
bool store_read_sources(struct store *store, const char *prefix, struct arena *arena,
			struct store_source **out, size_t *count, struct error *error);

/* True when the provider has any offer on sale whose source is not "bundled". */
bool store_has_live(struct store *store, const char *provider, bool *out, struct error *error);

/* --- API keys --- */

/* `*version` is that of the keys known so far, -1 = none: nothing is read (NULL) while it stands.
 */
bool store_read_keys(struct store *store, int64_t *version, struct arena *arena, struct key **out,
		     size_t *count, struct error *error);

/* Only for who owns the tables. */
bool store_add_key(struct store *store, const struct key *key, struct error *error);
bool store_revoke_key(struct store *store, const char *id, bool *is_there, struct error *error);

/* Makes day partitions ahead, rolls up and drops what retention no longer keeps. Hourly is plenty.
 */
#define STORE_KEEP_CHANGES_DAYS 8 /* a cursor of a week ago still works */
#define STORE_KEEP_HOURS_DAYS 90
#define STORE_KEEP_DAYS_DAYS 730
#define STORE_KEEP_RUNS_DAYS 30
bool store_housekeeping(struct store *store, struct error *error);

#endif
