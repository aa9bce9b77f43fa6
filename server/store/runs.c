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
}

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
		" rows_rejected, rows_unmapped, inserted, changed, unchanged, withdrawn)"
		" values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,"
		" $15, $16)",
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
	done = connection_run(
		store,
		strcmp(run->outcome, "ok") == 0
			? "insert into feed (provider, source, outcome, detail, last_attempt_at,"
			  " last_success_at, refresh_seconds, rows_seen, rows_accepted,"
			  " rows_rejected, rows_unmapped)"
			  " values ($1, $2, $3, $4, $5, $5, $6::bigint::int, $7, $8, $9, $10)"
			  " on conflict (provider, source) do update set outcome = "
			  "excluded.outcome,"
			  " detail = excluded.detail, last_attempt_at = excluded.last_attempt_at,"
			  " last_success_at = excluded.last_success_at,"
			  " refresh_seconds = excluded.refresh_seconds,"
			  " rows_seen = excluded.rows_seen, rows_accepted = excluded.rows_accepted,"
			  " rows_rejected = excluded.rows_rejected,"
			  " rows_unmapped = excluded.rows_unmapped"
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
