/*
 * Migrations: one transaction a file, under an advisory lock, remembered with a checksum.
 *
 * The lock is taken inside each file's transaction (so it works through a pooler, and runners that
 * start together take turns) and what was applied is read again under it. A file that differs from
 * what was applied, or a database that is ahead of this binary, is refused before anything runs.
 */
#include "server/store/connection.h"
#include "server/store/migrations.h"

#include "server/log.h"

#include <string.h>

/* Tells the state of one file: not there, there and the same, there and different. */
enum state { STATE_FAILED, STATE_PENDING, STATE_APPLIED };

static bool lock(struct store *store, struct error *error)
{
	struct parameters parameters;
	bool done;

	parameters_init(&parameters);
	parameters_integer(&parameters, STORE_LOCK_CLASS);
	parameters_integer(&parameters, STORE_LOCK_MIGRATE);
	done = connection_run(store,
			      "select pg_advisory_xact_lock($1::bigint::int, $2::bigint::int)",
			      &parameters, STORE_MIGRATE_MS, NULL, error);
	parameters_release(&parameters);
	return done;
}

static bool make_table(struct store *store, struct error *error)
{
	if (!connection_begin(store, TRANSACTION_WRITE, STORE_MIGRATE_MS, error))
		return false;
	if (lock(store, error) &&
	    connection_run(store,
			   "create table if not exists schema_migrations ("
			   " number integer primary key, name text not null, sha256 text not null,"
			   " applied_at timestamptz not null default clock_timestamp())",
			   NULL, STORE_QUICK_MS, NULL, error))
		return connection_commit(store, error);
	connection_rollback(store);
	return false;
}

static bool refuse_newer(struct store *store, const struct migration *table, size_t count,
			 struct error *error)
{
	PGresult *result = connection_query(
		store, "select number, name from schema_migrations order by number desc limit 1",
		NULL, STORE_QUICK_MS, error);
	bool is_newer;

	if (!result)
		return false;
	is_newer = PQntuples(result) == 1 &&
		   (count == 0 || cell_integer(result, 0, 0) > table[count - 1].number);
	if (is_newer)
		error_set(error, ERROR_STORE,
			  "the database is newer than this program: it has migration %s, which is "
			  "not known here",
			  cell_text(result, 0, 1));
	PQclear(result);
	return !is_newer;
}

static enum state state_of(struct store *store, const struct migration *migration,
			   struct error *error)
{
	struct parameters parameters;
	enum state state = STATE_PENDING;
	PGresult *result;

	parameters_init(&parameters);
	parameters_integer(&parameters, migration->number);
	parameters_text(&parameters, migration->name);
	parameters_text(&parameters, migration->sql);
	result = connection_query(
		store,
		"select name, name = $2 and sha256 = encode(sha256(convert_to($3, 'UTF8')), 'hex')"
		" from schema_migrations where number = $1",
		&parameters, STORE_QUICK_MS, error);
	parameters_release(&parameters);
	if (!result)
		return STATE_FAILED;
	if (PQntuples(result) == 1) {
		state = STATE_APPLIED;
		if (!cell_bool(result, 0, 1)) {
			error_set(error, ERROR_STORE,
				  "migration %s was edited after it was applied (as %s): add a new "
				  "file instead",
				  migration->name, cell_text(result, 0, 0));
			state = STATE_FAILED;
		}
	}
	PQclear(result);
	return state;
}

static bool remember(struct store *store, const struct migration *migration, struct error *error)
{
	struct parameters parameters;
	bool done;

	parameters_init(&parameters);
	parameters_integer(&parameters, migration->number);
	parameters_text(&parameters, migration->name);
	parameters_text(&parameters, migration->sql);
	done = connection_run(store,
			      "insert into schema_migrations (number, name, sha256) values"
			      " ($1, $2, encode(sha256(convert_to($3, 'UTF8')), 'hex'))",
			      &parameters, STORE_QUICK_MS, NULL, error);
	parameters_release(&parameters);
	return done;
}

/* One file, unless another runner was faster. */
static bool apply(struct store *store, const struct migration *migration,
		  struct migration_report *out, struct error *error)
{
	enum state state;

	if (!connection_begin(store, TRANSACTION_WRITE, STORE_MIGRATE_MS, error))
		return false;
	if (!lock(store, error))
		goto failed;
	state = state_of(store, migration, error);
	if (state == STATE_FAILED)
		goto failed;
	if (state == STATE_PENDING) {
		if (!connection_script(store, migration->sql, STORE_MIGRATE_MS, error)) {
			char detail[sizeof(error->detail)];

			memcpy(detail, error->detail, sizeof(detail));
			error_set(error, ERROR_STORE, "migration %s: %s", migration->name, detail);
			goto failed;
		}
		if (!remember(store, migration, error))
			goto failed;
	}
	if (!connection_commit(store, error))
		return false;
	if (state == STATE_PENDING) {
		out->applied++;
		log_event(LOG_INFO, "migration applied", "migration", migration->name, NULL);
	} else {
		out->already++;
	}
	return true;
failed:
	connection_rollback(store);
	return false;
}

bool migrate_with(struct store *store, const struct migration *table, size_t count,
		  struct migration_report *out, struct error *error)
{
	*out = (struct migration_report){.applied = 0};
	store->is_writer = true;
	if (!make_table(store, error) || !refuse_newer(store, table, count, error))
		return false;
	for (size_t i = 0; i < count; i++) /* an edited file stops all before any runs */
		if (state_of(store, &table[i], error) == STATE_FAILED)
			return false;
	for (size_t i = 0; i < count; i++)
		if (!apply(store, &table[i], out, error))
			return false;
	return true;
}

bool store_migrate(struct store *store, struct migration_report *out, struct error *error)
{
	return migrate_with(store, migrations, migrations_count, out, error);
}
