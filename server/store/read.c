/* What replicas read: the clock, everything, or what changed: see store.h. */
#include "server/store/offers.h"

#include "server/clock.h"

#include <stdio.h>
#include <string.h>

#define CLOCK_SQL "select epoch::text, version, as_of, status, log_from from clock"

static bool take_clock(PGresult *result, struct store_clock *out, int64_t *log_from,
		       struct error *error)
{
	bool is_there;

	if (!result)
		return false;
	is_there = PQntuples(result) == 1;
	if (is_there) {
		snprintf(out->epoch, sizeof(out->epoch), "%s", cell_text(result, 0, 0));
		out->version = cell_integer(result, 0, 1);
		out->as_of_us = cell_time(result, 0, 2);
		out->status = cell_integer(result, 0, 3);
		if (log_from)
			*log_from = cell_integer(result, 0, 4);
	}
	PQclear(result);
	return is_there || error_set(error, ERROR_STORE, "the table `clock` is empty");
}

bool store_read_clock(struct store *store, struct store_clock *out, struct error *error)
{
	return take_clock(connection_query(store, CLOCK_SQL, NULL, STORE_QUICK_MS, error), out,
			  NULL, error);
}

bool store_is_stale(const struct provider_status *status, int64_t now_us)
{
	if (!status->source[0])
		return false;
	return now_us - status->last_success_us > 3 * status->refresh_seconds * US_PER_SECOND;
}

/* Texts of one result, copied; the first failure sticks. */
static const char *copy(struct arena *arena, const PGresult *result, int row, int column,
			bool *failed)
{
	const char *text = arena_strdup(arena, cell_text(result, row, column));

	*failed |= !text;
	return text;
}

static bool read_feeds(struct store *store, struct arena *arena, struct store_view *out,
		       struct error *error)
{
	PGresult *result = connection_query(
		store,
		"select provider, source, observed_at from feed where observed_at is not null"
		" order by provider, source",
		NULL, STORE_READ_MS, error);
	bool failed;

	if (!result)
		return false;
	out->feeds_count = (size_t)PQntuples(result);
	out->feeds = arena_array(arena, out->feeds_count, sizeof(*out->feeds));
	failed = !out->feeds;
	for (int i = 0; i < PQntuples(result) && !failed; i++) {
		out->feeds[i].provider = copy(arena, result, i, 0, &failed);
		out->feeds[i].source = copy(arena, result, i, 1, &failed);
		out->feeds[i].observed_at_us = cell_time(result, i, 2);
	}
	PQclear(result);
	return !failed || error_set(error, ERROR_STORE, "no memory for the feeds");
}

/* A provider that has only bundled prices has a row with no source; else a row a feed. */
static bool read_providers(struct store *store, struct arena *arena, struct store_view *out,
			   struct error *error)
{
	PGresult *result = connection_query(
		store,
		"select provider, case when source = 'bundled' then '' else source end, outcome, "
		"detail,"
		" last_attempt_at, last_success_at, refresh_seconds,"
		" rows_seen, rows_accepted, rows_rejected, rows_unmapped, rejections, rows_usual"
		" from feed f where outcome <> 'removed' and (source <> 'bundled' or not exists"
		" (select from feed other where other.provider = f.provider"
		" and other.source <> 'bundled' and other.outcome <> 'removed'))"
		" order by provider, source",
		NULL, STORE_READ_MS, error);
	int64_t now_us = clock_wall_us();
	bool failed;

	if (!result)
		return false;
	out->providers_count = (size_t)PQntuples(result);
	out->providers = arena_array(arena, out->providers_count, sizeof(*out->providers));
	failed = !out->providers;
	for (int i = 0; i < PQntuples(result) && !failed; i++) {
		struct provider_status *status = &out->providers[i];

		status->provider = copy(arena, result, i, 0, &failed);
		status->source = copy(arena, result, i, 1, &failed);
		status->outcome = copy(arena, result, i, 2, &failed);
		status->detail = copy(arena, result, i, 3, &failed);
		status->last_attempt_us = cell_time(result, i, 4);
		status->last_success_us = cell_time(result, i, 5);
		status->refresh_seconds = cell_integer(result, i, 6);
		status->rows_seen = cell_integer(result, i, 7);
		status->rows_accepted = cell_integer(result, i, 8);
		status->rows_rejected = cell_integer(result, i, 9);
		status->rows_unmapped = cell_integer(result, i, 10);
		status->rejections = copy(arena, result, i, 11, &failed);
		status->rows_usual = cell_integer(result, i, 12);
		status->is_stale = !failed && store_is_stale(status, now_us);
	}
	PQclear(result);
	return !failed || error_set(error, ERROR_STORE, "no memory for the providers");
}

static bool read_unmapped(struct store *store, struct arena *arena, struct store_view *out,
			  struct error *error)
{
	PGresult *result = connection_query(
		store,
		"select provider, spelling, sum(rows)::bigint, min(first_seen_at), "
		"max(last_seen_at), source like '" OFFER_SOURCE_OWN "%' as own"
		" from unmapped_accelerator where rows > 0 group by provider, spelling, own"
		" order by provider, spelling, own",
		NULL, STORE_READ_MS, error);
	bool failed;

	if (!result)
		return false;
	out->unmapped_count = (size_t)PQntuples(result);
	out->unmapped = arena_array(arena, out->unmapped_count, sizeof(*out->unmapped));
	failed = !out->unmapped;
	for (int i = 0; i < PQntuples(result) && !failed; i++) {
		out->unmapped[i].provider = copy(arena, result, i, 0, &failed);
		out->unmapped[i].spelling = copy(arena, result, i, 1, &failed);
		out->unmapped[i].rows = cell_integer(result, i, 2);
		out->unmapped[i].first_seen_us = cell_time(result, i, 3);
		out->unmapped[i].last_seen_us = cell_time(result, i, 4);
		out->unmapped[i].is_private = cell_bool(result, i, 5);
	}
	PQclear(result);
	return !failed || error_set(error, ERROR_STORE, "no memory for the unmapped spellings");
}

/* The clock first: the transaction's view is taken by its first query. */
static bool begin_view(struct store *store, struct arena *arena, struct store_view *out,
		       int64_t *log_from, struct error *error)
{
	int64_t from = 0;

	*out = (struct store_view){.offers_count = 0};
	if (!connection_begin(store, TRANSACTION_VIEW, STORE_READ_MS, error))
		return false;
	if (take_clock(connection_query(store, CLOCK_SQL, NULL, STORE_QUICK_MS, error), &out->clock,
		       &from, error) &&
	    read_feeds(store, arena, out, error) && read_providers(store, arena, out, error) &&
	    read_unmapped(store, arena, out, error)) {
		out->changes_from = from;
		if (log_from)
			*log_from = from;
		return true;
	}
	connection_rollback(store);
	return false;
}

static bool end_view(struct store *store, bool done, struct error *error)
{
	if (done)
		return connection_commit(store, error);
	connection_rollback(store);
	return false;
}

static bool view_offers(struct store *store, const char *where, const struct parameters *parameters,
			struct arena *arena, struct store_view *out, struct error *error)
{
	struct offer_rows rows;

	if (!offers_read(store, where, parameters, arena, &rows, error))
		return false;
	out->offers = rows.offers;
	out->follows_feed = rows.follows_feed;
	out->offers_count = rows.count;
	return true;
}

static bool view_everything(struct store *store, struct arena *arena, struct store_view *out,
			    struct error *error)
{
	return view_offers(store, "o.withdrawn_at is null", NULL, arena, out, error) &&
	       view_gone(store, arena, out, error);
}

bool store_read_status(struct store *store, struct arena *arena, struct store_view *out,
		       struct error *error)
{
	return begin_view(store, arena, out, NULL, error) && end_view(store, true, error);
}

bool store_read_all(struct store *store, struct arena *arena, struct store_view *out,
		    struct error *error)
{
	return begin_view(store, arena, out, NULL, error) &&
	       end_view(store, view_everything(store, arena, out, error), error);
}

bool store_read_since(struct store *store, const char *epoch, int64_t since, struct arena *arena,
		      struct store_view *out, struct error *error)
{
	struct parameters parameters;
	int64_t log_from = 0;
	bool done;

	if (!begin_view(store, arena, out, &log_from, error))
		return false;
	out->is_delta = strcmp(epoch, out->clock.epoch) == 0 && since >= log_from &&
			since <= out->clock.version;
	parameters_init(&parameters);
	parameters_integer(&parameters, since);
	if (out->is_delta)
		done = view_offers(store,
				   "o.id in (select offer_id from price_change where version > $1)",
				   &parameters, arena, out, error) &&
		       view_restless(store, since, arena, out, error);
	else
		done = view_everything(store, arena, out, error);
	parameters_release(&parameters);
	return end_view(store, done, error);
}

bool store_read_source(struct store *store, const char *provider, const char *source,
		       struct arena *arena, struct offer **out, size_t *count, struct error *error)
{
	struct parameters parameters;
	struct offer_rows rows = {.count = 0};
	bool done;

	*out = NULL;
	*count = 0;
	if (!connection_begin(store, TRANSACTION_VIEW, STORE_READ_MS, error))
		return false;
	parameters_init(&parameters);
	parameters_text(&parameters, provider);
	parameters_text(&parameters, source);
	done = offers_read(store, "o.provider = $1 and o.source = $2 and o.withdrawn_at is null",
			   &parameters, arena, &rows, error);
	parameters_release(&parameters);
	if (!end_view(store, done, error))
		return false;
	*out = rows.offers;
	*count = rows.count;
	return true;
}

bool store_read_offers(struct store *store, const uint64_t *ids, size_t ids_count,
		       struct arena *arena, struct offer **out, size_t *count, struct error *error)
{
	struct parameters parameters;
	struct offer_rows rows = {.count = 0};
	struct column column;
	bool done;

	if (!connection_begin(store, TRANSACTION_VIEW, STORE_READ_MS, error))
		return false;
	parameters_init(&parameters);
	column_begin(&column, &parameters, COLUMN_BIGINT, ids_count);
	for (size_t i = 0; i < ids_count; i++)
		column_integer(&column, (int64_t)ids[i]);
	column_end(&column);
	done = offers_read(store, "o.id = any ($1)", &parameters, arena, &rows, error);
	parameters_release(&parameters);
	if (!end_view(store, done, error))
		return false;
	*out = rows.offers;
	*count = rows.count;
	return true;
}

static bool take_prices(struct store *store, struct store_price *prices, size_t *count,
			struct error *error)
{
	const size_t most = *count;
	int rows;

	*count = 0;
	do {
		PGresult *result = connection_query(store, "fetch 20000 from offer_prices", NULL,
						    STORE_READ_MS, error);

		if (!result)
			return false;
		rows = PQntuples(result);
		for (int i = 0; i < rows && *count < most; i++)
			prices[(*count)++] = (struct store_price){
				.id = (uint64_t)cell_integer(result, i, 0),
				.micros = cell_is_null(result, i, 1) ? PRICE_UNKNOWN
								     : cell_integer(result, i, 1)};
		PQclear(result);
	} while (rows > 0);
	return true;
}

#define ON_SALE " from offer where provider = $1 and source = $2 and withdrawn_at is null"

static bool read_prices(struct store *store, const struct parameters *parameters,
			struct arena *arena, struct store_price **out, size_t *count,
			struct error *error)
{
	PGresult *result = connection_query(store, "select count(*)" ON_SALE, parameters,
					    STORE_READ_MS, error);

	if (!result)
		return false;
	*count = (size_t)cell_integer(result, 0, 0);
	PQclear(result);
	*out = arena_array(arena, *count ? *count : 1, sizeof(**out));
	if (!*out)
		return error_set(error, ERROR_STORE, "no memory for %zu prices", *count);
	return connection_run(store,
			      "declare offer_prices no scroll cursor for"
			      " select id, price_micros" ON_SALE,
			      parameters, STORE_READ_MS, NULL, error) &&
	       take_prices(store, *out, count, error);
}

bool store_read_prices(struct store *store, const char *provider, const char *source,
		       struct arena *arena, struct store_price **out, size_t *count,
		       struct error *error)
{
	struct parameters parameters;
	bool done;

	if (!connection_begin(store, TRANSACTION_VIEW, STORE_READ_MS, error))
		return false;
	parameters_init(&parameters);
	parameters_text(&parameters, provider);
	parameters_text(&parameters, source);
	done = read_prices(store, &parameters, arena, out, count, error);
	parameters_release(&parameters);
	return end_view(store, done, error);
}

bool store_has_live(struct store *store, const char *provider, bool *out, struct error *error)
{
	struct parameters parameters;
	PGresult *result;

	parameters_init(&parameters);
	parameters_text(&parameters, provider);
	result = connection_query(store,
				  "select exists (select from offer where provider = $1"
				  " and source <> 'bundled' and withdrawn_at is null)",
				  &parameters, STORE_READ_MS, error);
	parameters_release(&parameters);
	if (!result)
		return false;
	*out = cell_bool(result, 0, 0);
	PQclear(result);
	return true;
}
