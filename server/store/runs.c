/* Every attempt of a feed, and what replicas show of the last one. */
#include "server/store/connection.h"

#include <string.h>

static void add_run(struct parameters *parameters, const struct store_run *run)
{
	const int64_t counts[] = {run->requests,      run->bytes,	  run->rows_seen,
				  run->rows_accepted, run->rows_rejected, run->rows_unmapped,
				  run->inserted,      run->changed,	  run->unchanged,
				  run->withdrawn};

	parameters_text(parameters, run->provider);
	parameters_text(parameters, run->source);
	parameters_time(parameters, run->started_us);
	parameters_time(parameters, run->finished_us);
	parameters_text(parameters, run->outcome);
	parameters_text(parameters, run->detail ? run->detail : "");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		parameters_integer(parameters, counts[i]);
	parameters_text(parameters, run->rejections ? run->rejections : "");
}

/* After the run itself was written, which counts. */
#define USUAL                                                                                      \
	"(select coalesce(percentile_disc(0.5) within group (order by rows_accepted), 0)"          \
	" from ingest_run where provider = $1 and source = $2 and outcome = 'ok'"                  \
	" and started_at > $5 - interval '14 days')"

static bool write_run(struct store *store, const struct store_run *run, struct error *error)
{
	struct parameters parameters;
	bool done;

	parameters_init(&parameters);
	add_run(&parameters, run);
	done = connection_run(
		store,
		"insert into ingest_run (provider, source, started_at, finished_at,"
		" outcome, detail, requests, bytes, rows_seen, rows_accepted,"
		" rows_rejected, rows_unmapped, inserted, changed, unchanged, withdrawn,"
		" rejections)"
		" values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,"
		" $15, $16, $17)",
		&parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	return done;
}

/* The counts and the time of success stay those of the last success. */
static bool write_feed(struct store *store, const struct store_run *run, struct error *error)
{
	struct parameters parameters;
	bool done;

	parameters_init(&parameters);
	parameters_text(&parameters, run->provider);
	parameters_text(&parameters, run->source);
	parameters_text(&parameters, run->outcome);
	parameters_text(&parameters, run->detail ? run->detail : "");
	parameters_time(&parameters, run->finished_us);
	parameters_integer(&parameters, run->refresh_seconds);
	parameters_integer(&parameters, run->rows_seen);
	parameters_integer(&parameters, run->rows_accepted);
	parameters_integer(&parameters, run->rows_rejected);
	parameters_integer(&parameters, run->rows_unmapped);
	parameters_text(&parameters, run->rejections ? run->rejections : "");
	done = connection_run(
		store,
		strcmp(run->outcome, "ok") == 0
			? "insert into feed (provider, source, outcome, detail, last_attempt_at,"
			  " last_success_at, refresh_seconds, rows_seen, rows_accepted,"
			  " rows_rejected, rows_unmapped, rejections, rows_usual)"
			  " values ($1, $2, $3, $4, $5, $5, $6::bigint::int, $7, $8, $9, $10,"
			  " $11, " USUAL ")"
			  " on conflict (provider, source) do update set outcome = "
			  "excluded.outcome,"
			  " detail = excluded.detail, last_attempt_at = excluded.last_attempt_at,"
			  " last_success_at = excluded.last_success_at,"
			  " refresh_seconds = excluded.refresh_seconds,"
			  " rows_seen = excluded.rows_seen, rows_accepted = excluded.rows_accepted,"
			  " rows_rejected = excluded.rows_rejected,"
			  " rows_unmapped = excluded.rows_unmapped,"
			  " rejections = excluded.rejections, rows_usual = excluded.rows_usual"
			: "insert into feed (provider, source, outcome, detail, last_attempt_at,"
			  " refresh_seconds) values ($1, $2, $3, $4, $5, $6::bigint::int)"
			  " on conflict (provider, source) do update set outcome = "
			  "excluded.outcome,"
			  " detail = excluded.detail, last_attempt_at = excluded.last_attempt_at,"
			  " refresh_seconds = excluded.refresh_seconds",
		&parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	return done;
}

bool store_record_run(struct store *store, const struct store_run *run, struct error *error)
{
	if (!connection_begin(store, TRANSACTION_WRITE, STORE_WRITE_MS, error))
		return false;
	if (write_run(store, run, error) && write_feed(store, run, error) &&
	    connection_run(store, "update clock set status = status + 1", NULL, STORE_WRITE_MS,
			   NULL, error))
		return connection_commit(store, error);
	connection_rollback(store);
	return false;
}

bool store_read_usual(struct store *store, const char *provider, const char *source, int64_t *rows,
		      struct error *error)
{
	struct parameters parameters;
	PGresult *result;

	parameters_init(&parameters);
	parameters_text(&parameters, provider);
	parameters_text(&parameters, source);
	result = connection_query(store,
				  "select rows_usual from feed where provider = $1 and source = $2",
				  &parameters, STORE_READ_MS, error);
	parameters_release(&parameters);
	if (!result)
		return false;
	*rows = PQntuples(result) ? cell_integer(result, 0, 0) : 0;
	PQclear(result);
	return true;
}

bool store_read_sources(struct store *store, const char *prefix, struct arena *arena,
			struct store_source **out, size_t *count, struct error *error)
{
	struct parameters parameters;
	PGresult *result;
	bool ok;

	parameters_init(&parameters);
	parameters_text(&parameters, prefix);
	parameters_text(&parameters, STORE_REMOVED);
	result = connection_query(store,
				  "select provider, source from feed"
				  " where starts_with(source, $1) and outcome <> $2 order by 1, 2",
				  &parameters, STORE_READ_MS, error);
	parameters_release(&parameters);
	if (!result)
		return false;
	*count = (size_t)PQntuples(result);
	*out = arena_array(arena, *count ? *count : 1, sizeof(**out));
	ok = *out != NULL;
	for (int i = 0; ok && i < PQntuples(result); i++) {
		struct store_source *source = &(*out)[i];

		source->provider = arena_strdup(arena, cell_text(result, i, 0));
		source->source = arena_strdup(arena, cell_text(result, i, 1));
		ok = source->provider && source->source;
	}
	PQclear(result);
	return ok || error_set(error, ERROR_STORE, "no memory for the feeds");
}
