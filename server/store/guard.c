/* What ingest's guard remembers of a feed: one text in its row. */
#include "server/store/connection.h"

bool store_read_guard(struct store *store, const char *provider, const char *source,
		      struct arena *arena, char **out, struct error *error)
{
	struct parameters parameters;
	PGresult *result;

	parameters_init(&parameters);
	parameters_text(&parameters, provider);
	parameters_text(&parameters, source);
	result = connection_query(store,
				  "select guard from feed where provider = $1 and source = $2",
				  &parameters, STORE_READ_MS, error);
	parameters_release(&parameters);
	if (!result)
		return false;
	*out = arena_strdup(arena, PQntuples(result) ? cell_text(result, 0, 0) : "");
	PQclear(result);
	return *out || error_set(error, ERROR_STORE, "no memory for what the guard remembers");
}

bool store_write_guard(struct store *store, const char *provider, const char *source,
		       const char *state, struct error *error)
{
	struct parameters parameters;
	bool ok;

	parameters_init(&parameters);
	parameters_text(&parameters, provider);
	parameters_text(&parameters, source);
	parameters_text(&parameters, state);
	ok = connection_run(store,
			    "insert into feed (provider, source, guard) values ($1, $2, $3)"
			    " on conflict (provider, source) do update set guard = excluded.guard",
			    &parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	return ok;
}
