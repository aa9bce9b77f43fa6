/*
 * One refresh, one transaction: see store.h.
 *
 * The clock's row is locked first and held to the commit, so batches run one after the other and
 * commit order is version order. What changed is found here by comparing with the stored rows, so
 * an unchanged refresh of 50,000 offers reads them and writes two rows: its feed's and the clock's.
 */
#include "server/store/diff.h"

#include "server/clock.h"

#include <math.h>
#include <string.h>

#define ARENA_BYTES ((size_t)8 << 30)
#define DAYS_AHEAD 7
#define PIECE_ROWS ((size_t)20000) /* some 5 MB of parameters */
#define US_PER_DAY (86400 * US_PER_SECOND)

/* No other leader since: and none can take over before this transaction ends. */
static bool check_token(struct store *store, struct error *error)
{
	struct parameters parameters;
	PGresult *result;
	bool is_ours;

	parameters_init(&parameters);
	parameters_integer(&parameters, store->token);
	result = connection_query(store, "select from leader where token = $1 for share",
				  &parameters, STORE_WRITE_MS, error);
	parameters_release(&parameters);
	if (!result)
		return false;
	is_ours = PQntuples(result) == 1;
	PQclear(result);
	if (!is_ours)
		store->is_leader = false;
	return is_ours || error_set(error, ERROR_STORE, "another worker leads the ingest now");
}

static bool clock_query(struct store *store, const char *sql, int64_t *version, int64_t *as_of_us,
			struct error *error)
{
	PGresult *result = connection_query(store, sql, NULL, STORE_WRITE_MS, error);
	bool is_there;

	if (!result)
		return false;
	is_there = PQntuples(result) == 1;
	if (is_there) {
		*version = cell_integer(result, 0, 0);
		*as_of_us = cell_time(result, 0, 1);
	}
	PQclear(result);
	return is_there || error_set(error, ERROR_STORE, "the table `clock` is empty");
}

/* Partitions must be there before the first row of a new day; once a day and connection is enough.
 */
static bool make_days(struct store *store, int64_t as_of_us, struct error *error)
{
	int64_t day = as_of_us / US_PER_DAY;
	struct parameters parameters;
	bool done;

	if (store->days_made_for == day)
		return true;
	parameters_init(&parameters);
	parameters_integer(&parameters, DAYS_AHEAD);
	done = connection_run(store, "select make_price_days($1::bigint::int)", &parameters,
			      STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	if (done)
		store->days_made_for = day;
	return done;
}

#define CHANGES                                                                                    \
	"insert into price_change"                                                                 \
	" (version, at, offer_id, event, price_micros, availability, quantity) "

/* What was put, from the rows at hand. */
static bool write_puts(struct store *store, const struct offer_put *puts, size_t count,
		       int64_t version, int64_t as_of_us, struct error *error)
{
	struct parameters parameters;
	struct column column;
	bool done;

	parameters_init(&parameters);
	parameters_integer(&parameters, version);
	parameters_time(&parameters, as_of_us);
	column_begin(&column, &parameters, COLUMN_BIGINT, count);
	for (size_t i = 0; i < count; i++)
		column_integer(&column, (int64_t)puts[i].offer->id);
	column_end(&column);
	column_begin(&column, &parameters, COLUMN_TEXT, count);
	for (size_t i = 0; i < count; i++)
		column_text(&column, puts[i].is_listed ? "listed" : "changed");
	column_end(&column);
	column_begin(&column, &parameters, COLUMN_BIGINT, count);
	for (size_t i = 0; i < count; i++) {
		if (puts[i].offer->price_micros == PRICE_UNKNOWN)
			column_null(&column);
		else
			column_integer(&column, puts[i].offer->price_micros);
	}
	column_end(&column);
	column_begin(&column, &parameters, COLUMN_TEXT, count);
	for (size_t i = 0; i < count; i++)
		column_text(&column,
			    names_text(&availability_names, (int)puts[i].offer->availability));
	column_end(&column);
	column_begin(&column, &parameters, COLUMN_INTEGER, count);
	for (size_t i = 0; i < count; i++) {
		if (puts[i].offer->quantity < 0)
			column_null(&column);
		else
			column_integer(&column, puts[i].offer->quantity);
	}
	column_end(&column);
	done = connection_run(store, CHANGES "select $1, $2, * from unnest($3, $4, $5, $6, $7)",
			      &parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	return done;
}

static bool write_gone(struct store *store, const struct diff *diff, int64_t version,
		       int64_t as_of_us, struct error *error)
{
	struct parameters parameters;
	struct column column;
	bool done;

	if (!diff->gone_count)
		return true;
	parameters_init(&parameters);
	parameters_integer(&parameters, version);
	parameters_time(&parameters, as_of_us);
	column_begin(&column, &parameters, COLUMN_BIGINT, diff->gone_count);
	for (size_t i = 0; i < diff->gone_count; i++)
		column_integer(&column, (int64_t)diff->gone[i]);
	column_end(&column);
	done = connection_run(store,
			      CHANGES "select $1, $2, o.id, 'withdrawn', o.price_micros,"
				      " o.availability, o.quantity"
				      " from unnest($3) gone(id) join offer o on o.id = gone.id",
			      &parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	return done;
}

/* Piece by piece: parameters of a million rows at once would be the memory of them over again. */
static bool write_diff(struct store *store, const struct diff *diff, int64_t observed_at_us,
		       int64_t version, int64_t as_of_us, struct error *error)
{
	for (size_t first = 0; first < diff->puts_count; first += PIECE_ROWS) {
		const size_t left = diff->puts_count - first;
		const size_t count = left < PIECE_ROWS ? left : PIECE_ROWS;

		if (!offers_write(store, diff->puts + first, count, version, observed_at_us,
				  error) ||
		    !write_puts(store, diff->puts + first, count, version, as_of_us, error))
			return false;
	}
	return offers_withdraw(store, diff->gone, diff->gone_count, version, observed_at_us,
			       error) &&
	       write_gone(store, diff, version, as_of_us, error);
}

static bool write_unmapped(struct store *store, const struct store_refresh *refresh,
			   struct error *error)
{
	struct parameters parameters;
	struct column column;
	bool done;

	parameters_init(&parameters);
	parameters_text(&parameters, refresh->provider);
	parameters_text(&parameters, refresh->source);
	parameters_time(&parameters, refresh->observed_at_us);
	column_begin(&column, &parameters, COLUMN_TEXT, refresh->unmapped_count);
	for (size_t i = 0; i < refresh->unmapped_count; i++)
		column_text(&column, refresh->unmapped[i].spelling);
	column_end(&column);
	column_begin(&column, &parameters, COLUMN_BIGINT, refresh->unmapped_count);
	for (size_t i = 0; i < refresh->unmapped_count; i++)
		column_integer(&column, refresh->unmapped[i].rows);
	column_end(&column);
	done = connection_run(
		store,
		"with seen as (select spelling, sum(rows)::bigint as rows"
		"  from unnest($4, $5) as u(spelling, rows) group by spelling),"
		" gone as (update unmapped_accelerator u set rows = 0 where provider = $1"
		"  and source = $2 and rows > 0"
		"  and not exists (select from seen where seen.spelling = u.spelling))"
		" insert into unmapped_accelerator"
		"  (provider, source, spelling, rows, first_seen_at, last_seen_at)"
		" select $1, $2, spelling, rows, $3, $3 from seen"
		" on conflict (provider, source, spelling)"
		" do update set rows = excluded.rows, last_seen_at = excluded.last_seen_at",
		&parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	return done;
}

static bool write_feed(struct store *store, const struct store_refresh *refresh,
		       struct error *error)
{
	struct parameters parameters;
	bool done;

	parameters_init(&parameters);
	parameters_text(&parameters, refresh->provider);
	parameters_text(&parameters, refresh->source);
	parameters_time(&parameters, refresh->observed_at_us);
	done = connection_run(store,
			      "insert into feed (provider, source, observed_at) values ($1, $2, $3)"
			      " on conflict (provider, source)"
			      " do update set observed_at = excluded.observed_at",
			      &parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	return done;
}

/* Inside the transaction, the clock's row locked. */
static bool write_all(struct store *store, const struct store_refresh *refresh, struct arena *arena,
		      struct store_outcome *out, struct error *error)
{
	struct offer_mark *marks;
	size_t marks_count;
	struct diff diff;
	int64_t as_of_us = 0;
	bool has_changes;

	if (!check_token(store, error) ||
	    !clock_query(store, "select version, clock_timestamp() from clock for update",
			 &out->version, &as_of_us, error) ||
	    !make_days(store, as_of_us, error) ||
	    !offers_marks(store, refresh->provider, refresh->source, arena, &marks, &marks_count,
			  error) ||
	    !diff_compute(marks, marks_count, refresh, arena, &diff, error))
		return false;
	out->inserted = diff.listed;
	out->changed = diff.changed;
	out->unchanged = diff.unchanged;
	out->withdrawn = (int64_t)diff.gone_count;
	has_changes = diff.puts_count || diff.gone_count;
	if (!clock_query(store,
			 has_changes
				 ? "update clock set version = version + 1, status = status + 1,"
				   " as_of = clock_timestamp() returning version, as_of"
				 : "update clock set status = status + 1"
				   " returning version, as_of",
			 &out->version, &as_of_us, error))
		return false;
	return write_diff(store, &diff, refresh->observed_at_us, out->version, as_of_us, error) &&
	       write_unmapped(store, refresh, error) && write_feed(store, refresh, error);
}

bool store_apply(struct store *store, const struct store_refresh *refresh,
		 struct store_outcome *out, struct error *error)
{
	struct arena arena;
	bool done;

	*out = (struct store_outcome){.version = 0};
	if (refresh->observed_at_us <= 0)
		return error_set(error, ERROR_STORE, "a refresh of %s has no time",
				 refresh->provider);
	if (!store->is_leader)
		return error_set(error, ERROR_STORE, "this worker does not lead the ingest");
	arena_init(&arena, ARENA_BYTES);
	done = connection_begin(store, TRANSACTION_WRITE, STORE_WRITE_MS, error);
	if (done && !write_all(store, refresh, &arena, out, error)) {
		connection_rollback(store);
		store->days_made_for = 0; /* the rollback took new partitions along */
		done = false;
	}
	done = done && connection_commit(store, error);
	arena_release(&arena);
	return done;
}
