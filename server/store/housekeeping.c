/* Partitions ahead, retention behind. */
#include "server/store/connection.h"

#define DAYS_AHEAD 7
#define LOCK_TIMEOUT "5s" /* gives way to readers and batches: the next round tries again */

static bool run_with(struct store *store, const char *sql, int64_t number, int64_t second,
		     struct error *error)
{
	struct parameters parameters;
	bool done = false;

	if (!connection_begin(store, TRANSACTION_WRITE, STORE_WRITE_MS, error))
		return false;
	parameters_init(&parameters);
	parameters_text(&parameters, LOCK_TIMEOUT);
	done = connection_run(store, "select set_config('lock_timeout', $1, true)", &parameters,
			      STORE_QUICK_MS, NULL, error);
	parameters_release(&parameters);
	parameters_init(&parameters);
	parameters_integer(&parameters, number);
	if (second)
		parameters_integer(&parameters, second);
	done = done && connection_run(store, sql, &parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	if (done)
		return connection_commit(store, error);
	connection_rollback(store);
	return false;
}

bool store_housekeeping(struct store *store, struct error *error)
{
	return run_with(store, "select make_price_days($1::bigint::int)", DAYS_AHEAD, 0, error) &&
	       run_with(store, "select drop_price_days($1::bigint::int)", STORE_KEEP_CHANGES_DAYS,
			0, error) &&
	       run_with(store, "select drop_price_hours($1::bigint::int, $2::bigint::int)",
			STORE_KEEP_HOURS_DAYS, STORE_KEEP_DAYS_DAYS, error) &&
	       run_with(store,
			"delete from ingest_run"
			" where started_at < clock_timestamp() - make_interval(days => "
			"$1::bigint::int)",
			STORE_KEEP_RUNS_DAYS, 0, error);
}
