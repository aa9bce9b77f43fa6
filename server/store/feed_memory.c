/* What ingest remembers of a feed between refreshes: two texts in its row, the guard's and the
 * feed's own. */
#include "server/store/connection.h"

static bool read_text(struct store *store, const char *sql, const char *provider,
		      const char *source, struct arena *arena, char **out, struct error *error)
{
	struct parameters parameters;
	PGresult *result;

	parameters_init(&parameters);
	parameters_text(&parameters, provider);
	parameters_text(&parameters, source);
	result = connection_query(store, sql, &parameters, STORE_READ_MS, error);
	parameters_release(&parameters);
	if (!result)
		return false;
	*out = arena_strdup(arena, PQntuples(result) ? cell_text(result, 0, 0) : "");
	PQclear(result);
	return *out || error_set(error, ERROR_STORE, "no memory for what a feed remembers");
}

static bool write_text(struct store *store, const char *sql, const char *provider,
		       const char *source, const char *text, struct error *error)
{
	struct parameters parameters;
	bool ok;

	parameters_init(&parameters);
	parameters_text(&parameters, provider);
	parameters_text(&parameters, source);
	parameters_text(&parameters, text);
	ok = connection_run(store, sql, &parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	return ok;
}

bool store_read_guard(struct store *store, const char *provider, const char *source,
		      struct arena *arena, char **out, struct error *error)
{
	return read_text(store, "select guard from feed where provider = $1 and source = $2",
			 provider, source, arena, out, error);
}

bool store_write_guard(struct store *store, const char *provider, const char *source,
		       const char *state, struct error *error)
{
	return write_text(store,
			  "insert into feed (provider, source, guard) values ($1, $2, $3)"
			  " on conflict (provider, source) do update set guard = excluded.guard",
			  provider, source, state, error);
}

bool store_read_memo(struct store *store, const char *provider, const char *source,
		     struct arena *arena, char **out, struct error *error)
{
	return read_text(store, "select memo from feed where provider = $1 and source = $2",
			 provider, source, arena, out, error);
}

bool store_write_memo(struct store *store, const char *provider, const char *source,
		      const char *memo, struct error *error)
{
	return write_text(store,
			  "insert into feed (provider, source, memo) values ($1, $2, $3)"
			  " on conflict (provider, source) do update set memo = excluded.memo",
			  provider, source, memo, error);
}
