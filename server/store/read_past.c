/* What replicas read of offers that left, and of offers that changed more than once: see store.h.
 */
#include "server/store/offers.h"

#include <stdlib.h>

/* Raises changes_from so that no more than STORE_GONE_MAX follow. */
static bool bound_gone(struct store *store, struct store_view *out, struct error *error)
{
	struct parameters parameters;
	PGresult *result;

	parameters_init(&parameters);
	parameters_integer(&parameters, out->changes_from);
	parameters_integer(&parameters, STORE_GONE_MAX);
	result = connection_query(store,
				  "select version from offer where withdrawn_at is not null"
				  " and version > $1 order by version desc offset $2 limit 1",
				  &parameters, STORE_READ_MS, error);
	parameters_release(&parameters);
	if (!result)
		return false;
	if (PQntuples(result) == 1)
		out->changes_from = cell_integer(result, 0, 0);
	PQclear(result);
	return true;
}

bool view_gone(struct store *store, struct arena *arena, struct store_view *out,
	       struct error *error)
{
	struct parameters parameters;
	struct offer_rows rows;
	bool done;

	if (!bound_gone(store, out, error))
		return false;
	parameters_init(&parameters);
	parameters_integer(&parameters, out->changes_from);
	done = offers_read(store, "o.withdrawn_at is not null and o.version > $1", &parameters,
			   arena, &rows, error);
	parameters_release(&parameters);
	out->gone = rows.offers;
	out->gone_count = rows.count;
	return done;
}

static int compare_ids(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

bool view_restless(struct store *store, int64_t since, struct arena *arena, struct store_view *out,
		   struct error *error)
{
	struct parameters parameters;
	PGresult *result;

	parameters_init(&parameters);
	parameters_integer(&parameters, since);
	result = connection_query(store,
				  "select offer_id from price_change where version > $1"
				  " group by offer_id having count(*) > 1",
				  &parameters, STORE_READ_MS, error);
	parameters_release(&parameters);

	if (!result)
		return false;
	out->restless_count = (size_t)PQntuples(result);
	out->restless = arena_array(arena, out->restless_count, sizeof(*out->restless));
	for (size_t i = 0; i < out->restless_count && out->restless; i++)
		out->restless[i] = (uint64_t)cell_integer(result, (int)i, 0);
	PQclear(result);
	if (!out->restless)
		return error_set(error, ERROR_STORE, "no memory for the changes");
	if (out->restless_count)
		qsort(out->restless, out->restless_count, sizeof(*out->restless), compare_ids);
	return true;
}
