/*
 * Who writes. A session's advisory lock elects; it goes with the connection, so a dead worker's
 * place is free at once, one that was cut off when the server notices. The token closes the gap
 * between: it is raised at each take-over and every batch checks it.
 */
#include "server/store/connection.h"

static bool lock_query(struct store *store, const char *sql, bool *out, struct error *error)
{
	struct parameters parameters;
	PGresult *result;

	parameters_init(&parameters);
	parameters_integer(&parameters, STORE_LOCK_CLASS);
	parameters_integer(&parameters, STORE_LOCK_LEADER);
	result = connection_query(store, sql, &parameters, STORE_QUICK_MS, error);
	parameters_release(&parameters);
	if (!result)
		return false;
	*out = PQntuples(result) == 1 && cell_bool(result, 0, 0);
	PQclear(result);
	return true;
}

/* Also finds out when the session is not the one that took the lock: a transaction pooler. */
static bool still_holds(struct store *store, bool *out, struct error *error)
{
	return lock_query(store,
			  "select exists (select from pg_locks where locktype = 'advisory'"
			  " and pid = pg_backend_pid() and granted"
			  " and database = (select oid from pg_database where datname ="
			  " current_database()) and classid = $1::bigint::oid"
			  " and objid = $2::bigint::oid)",
			  out, error);
}

static bool take_token(struct store *store, struct error *error)
{
	struct parameters parameters;
	PGresult *result;
	bool is_there;

	parameters_init(&parameters);
	parameters_text(&parameters, store->name);
	result = connection_query(store,
				  "update leader set token = token + 1, name = $1,"
				  " since = clock_timestamp() returning token",
				  &parameters, STORE_WRITE_MS, error);
	parameters_release(&parameters);
	if (!result)
		return false;
	is_there = PQntuples(result) == 1;
	if (is_there)
		store->token = cell_integer(result, 0, 0);
	PQclear(result);
	return is_there || error_set(error, ERROR_STORE, "the table `leader` is empty");
}

bool store_lead(struct store *store, bool *is_leader, struct error *error)
{
	bool has_lock = false;

	*is_leader = false;
	store->is_writer = true;
	if (store->is_leader) {
		if (!still_holds(store, &has_lock, error))
			return false;
		if (has_lock) {
			*is_leader = true;
			return true;
		}
		store->is_leader = false;
		return error_set(error, ERROR_STORE,
				 "the leader's lock is gone: does the database URL lead through a "
				 "transaction pooler?");
	}
	if (!lock_query(store, "select pg_try_advisory_lock($1::bigint::int, $2::bigint::int)",
			&has_lock, error))
		return false;
	if (!has_lock)
		return true;
	if (!take_token(store, error)) {
		connection_close(store); /* and with it the lock */
		return false;
	}
	store->is_leader = *is_leader = true;
	return true;
}
