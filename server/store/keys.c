/* API keys, by their hash: see store.h. */
#include "server/store/connection.h"

#include <stdio.h>
#include <string.h>

/* Both in one statement: a change between two would be missed. */
#define READ                                                                                       \
	"select s.version, k.id, encode(k.hash, 'hex'), array_to_string(k.scopes, ','), k.name,"   \
	" k.created_at, k.expires_at, k.revoked_at"                                                \
	" from api_key_state s left join api_key k on true order by k.created_at, k.id"

static bool take_key(const PGresult *result, int row, struct key *out, struct error *error)
{
	*out = (struct key){.created_us = cell_time(result, row, 5),
			    .expires_us = cell_time(result, row, 6),
			    .revoked_us = cell_time(result, row, 7)};
	snprintf(out->id, sizeof(out->id), "%s", cell_text(result, row, 1));
	snprintf(out->name, sizeof(out->name), "%s", cell_text(result, row, 4));
	return scopes_parse(cell_text(result, row, 3), &out->scopes, error) &&
	       (key_parse_hash(cell_text(result, row, 2), out->hash) ||
		error_set(error, ERROR_STORE, "the key %s has no hash", out->id));
}

static bool read_version(struct store *store, int64_t *version, struct error *error)
{
	PGresult *result = connection_query(store, "select version from api_key_state", NULL,
					    STORE_QUICK_MS, error);
	bool is_there;

	if (!result)
		return false;
	is_there = PQntuples(result) == 1;
	*version = is_there ? cell_integer(result, 0, 0) : 0;
	PQclear(result);
	return is_there || error_set(error, ERROR_STORE, "the table `api_key_state` is empty");
}

bool store_read_keys(struct store *store, int64_t *version, struct arena *arena, struct key **out,
		     size_t *count, struct error *error)
{
	int64_t now;
	PGresult *result;
	bool is_good;

	*out = NULL;
	*count = 0;
	if (!read_version(store, &now, error))
		return false;
	if (now == *version)
		return true;
	result = connection_query(store, READ, NULL, STORE_QUICK_MS, error);
	if (!result)
		return false;
	*out = arena_array(arena, (size_t)PQntuples(result) + 1, sizeof(**out));
	is_good = *out && PQntuples(result) > 0;
	if (!is_good)
		error_set(error, ERROR_STORE, "the API keys cannot be read");
	else
		now = cell_integer(result, 0, 0);
	for (int row = 0; is_good && row < PQntuples(result); row++)
		if (!cell_is_null(result, row, 1))
			is_good = take_key(result, row, &(*out)[(*count)++], error);
	PQclear(result);
	if (is_good)
		*version = now;
	return is_good;
}

bool store_add_key(struct store *store, const struct key *key, struct error *error)
{
	char hash[KEY_HASH_TEXT], scopes[SCOPES_TEXT];
	struct parameters parameters;
	bool done;

	store->is_writer = true;
	key_format_hash(key->hash, hash);
	scopes_format(key->scopes, scopes);
	parameters_init(&parameters);
	parameters_text(&parameters, key->id);
	parameters_text(&parameters, hash);
	parameters_text(&parameters, key->name);
	parameters_text(&parameters, scopes);
	parameters_time(&parameters, key->expires_us);
	done = connection_run(store,
			      "insert into api_key (id, hash, name, scopes, expires_at) values"
			      " ($1, decode($2, 'hex'), $3, string_to_array($4, ','), $5)",
			      &parameters, STORE_QUICK_MS, NULL, error);
	parameters_release(&parameters);
	return done;
}

bool store_revoke_key(struct store *store, const char *id, bool *is_there, struct error *error)
{
	struct parameters parameters;
	int64_t rows = 0;
	bool done;

	store->is_writer = true;
	parameters_init(&parameters);
	parameters_text(&parameters, id);
	done = connection_run(store,
			      "update api_key set revoked_at = coalesce(revoked_at,"
			      " clock_timestamp()) where id = $1",
			      &parameters, STORE_QUICK_MS, &rows, error);
	parameters_release(&parameters);
	*is_there = rows > 0;
	return done;
}
