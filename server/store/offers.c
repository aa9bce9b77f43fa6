/* Offers read from rows: see offers.h. */
#include "server/store/offers.h"

#include "core/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FETCH_ROWS "5000" /* what one result holds in memory while reading */
#define SCRATCH_BYTES ((size_t)1 << 30)

/* The order is that of enum cell. */
#define COLUMNS                                                                                    \
	"o.id, o.provider, o.region, o.zone, o.instance_type, o.accelerator, o.count_milli,"       \
	" o.tier, o.price_kind, o.term_months, o.is_mapped, o.memory_gb, o.vcpus, o.ram_gib,"      \
	" o.disk_gb, o.interconnect, o.country, o.price_micros, o.upfront_micros, o.price_basis,"  \
	" o.original_currency, o.original_amount, o.availability, o.quantity, o.source,"           \
	" o.follows_feed,"                                                                         \
	" case when o.follows_feed then greatest(o.observed_at, f.observed_at)"                    \
	" else o.observed_at end,"                                                                 \
	" o.first_seen_at,"                                                                        \
	" case when o.follows_feed then greatest(o.last_seen_at, f.observed_at)"                   \
	" else o.last_seen_at end,"                                                                \
	" o.withdrawn_at, o.version, o.public_version, o.interruption_band"

#define FROM                                                                                       \
	" from offer o left join feed f on f.provider = o.provider and f.source = o.source where "

enum cell {
	CELL_ID,
	CELL_PROVIDER,
	CELL_REGION,
	CELL_ZONE,
	CELL_INSTANCE_TYPE,
	CELL_ACCELERATOR,
	CELL_COUNT_MILLI,
	CELL_TIER,
	CELL_PRICE_KIND,
	CELL_TERM_MONTHS,
	CELL_IS_MAPPED,
	CELL_MEMORY_GB,
	CELL_VCPUS,
	CELL_RAM_GIB,
	CELL_DISK_GB,
	CELL_INTERCONNECT,
	CELL_COUNTRY,
	CELL_PRICE_MICROS,
	CELL_UPFRONT_MICROS,
	CELL_PRICE_BASIS,
	CELL_ORIGINAL_CURRENCY,
	CELL_ORIGINAL_AMOUNT,
	CELL_AVAILABILITY,
	CELL_QUANTITY,
	CELL_SOURCE,
	CELL_FOLLOWS_FEED,
	CELL_OBSERVED_AT,
	CELL_FIRST_SEEN_AT,
	CELL_LAST_SEEN_AT,
	CELL_WITHDRAWN_AT,
	CELL_VERSION,
	CELL_PUBLIC_VERSION,
	CELL_INTERRUPTION_BAND
};

struct reader {
	const PGresult *result;
	struct pool pool;
	bool failed;
};

static const char *text(struct reader *reader, int row, enum cell cell)
{
	const char *kept = pool_intern(&reader->pool, cell_text(reader->result, row, (int)cell));

	reader->failed |= !kept;
	return kept;
}

static double amount(const struct reader *reader, int row, enum cell cell)
{
	double value = cell_double(reader->result, row, (int)cell);

	return isnan(value) ? 0 : value;
}

/* The table's checks allow these spellings only. */
static int named(struct reader *reader, int row, enum cell cell, const struct names *names)
{
	int value = names_find(names, cell_text(reader->result, row, (int)cell));

	reader->failed |= value < 0;
	return value;
}

static void read_row(struct reader *reader, int row, struct offer *out)
{
	const PGresult *result = reader->result;

	out->id = (uint64_t)cell_integer(result, row, CELL_ID);
	out->provider = text(reader, row, CELL_PROVIDER);
	out->region = text(reader, row, CELL_REGION);
	out->zone = text(reader, row, CELL_ZONE);
	out->instance_type = text(reader, row, CELL_INSTANCE_TYPE);
	out->accelerator = text(reader, row, CELL_ACCELERATOR);
	out->count_milli = (int32_t)cell_integer(result, row, CELL_COUNT_MILLI);
	out->tier = text(reader, row, CELL_TIER);
	out->price_kind = (enum price_kind)named(reader, row, CELL_PRICE_KIND, &price_kind_names);
	out->term_months = (int32_t)cell_integer(result, row, CELL_TERM_MONTHS);
	out->is_mapped = cell_bool(result, row, CELL_IS_MAPPED);
	out->memory_gb = amount(reader, row, CELL_MEMORY_GB);
	out->vcpus = amount(reader, row, CELL_VCPUS);
	out->ram_gib = amount(reader, row, CELL_RAM_GIB);
	out->disk_gb = amount(reader, row, CELL_DISK_GB);
	out->interconnect = text(reader, row, CELL_INTERCONNECT);
	out->country = text(reader, row, CELL_COUNTRY);
	out->price_micros = cell_is_null(result, row, CELL_PRICE_MICROS)
				    ? PRICE_UNKNOWN
				    : cell_integer(result, row, CELL_PRICE_MICROS);
	out->upfront_micros = cell_integer(result, row, CELL_UPFRONT_MICROS);
	out->price_basis = text(reader, row, CELL_PRICE_BASIS);
	out->original_currency = text(reader, row, CELL_ORIGINAL_CURRENCY);
	out->original_amount = text(reader, row, CELL_ORIGINAL_AMOUNT);
	out->availability =
		(enum availability)named(reader, row, CELL_AVAILABILITY, &availability_names);
	out->quantity = cell_is_null(result, row, CELL_QUANTITY)
				? -1
				: (int32_t)cell_integer(result, row, CELL_QUANTITY);
	out->source = text(reader, row, CELL_SOURCE);
	out->observed_at_us = cell_time(result, row, CELL_OBSERVED_AT);
	out->first_seen_us = cell_time(result, row, CELL_FIRST_SEEN_AT);
	out->last_seen_us = cell_time(result, row, CELL_LAST_SEEN_AT);
	out->withdrawn_at_us = cell_time(result, row, CELL_WITHDRAWN_AT);
	out->version = cell_integer(result, row, CELL_VERSION);
	out->public_version = cell_integer(result, row, CELL_PUBLIC_VERSION);
	out->interruption_band =
		cell_is_null(result, row, CELL_INTERRUPTION_BAND)
			? 0
			: (int32_t)cell_integer(result, row, CELL_INTERRUPTION_BAND);
}

static bool count_rows(struct store *store, const char *where, const struct parameters *parameters,
		       struct arena *scratch, size_t *out, struct error *error)
{
	const char *sql = arena_printf(scratch, "select count(*)" FROM "%s", where);
	PGresult *result;

	if (!sql)
		return error_set(error, ERROR_STORE, "no memory for a query");
	result = connection_query(store, sql, parameters, STORE_READ_MS, error);
	if (!result)
		return false;
	*out = (size_t)cell_integer(result, 0, 0);
	PQclear(result);
	return true;
}

/* Batch by batch from a cursor: libpq would hold a whole result several times over. */
static bool fetch_rows(struct store *store, struct reader *reader, struct offer_rows *out,
		       struct error *error)
{
	size_t filled = 0;
	int rows;

	do {
		PGresult *result = connection_query(store, "fetch " FETCH_ROWS " from offer_rows",
						    NULL, STORE_READ_MS, error);

		if (!result)
			return false;
		reader->result = result;
		rows = PQntuples(result);
		for (int i = 0; i < rows && filled < out->count; i++, filled++) {
			read_row(reader, i, &out->offers[filled]);
			out->follows_feed[filled] = cell_bool(result, i, CELL_FOLLOWS_FEED);
		}
		PQclear(result);
		if (reader->failed)
			return error_set(error, ERROR_STORE,
					 "no memory for offers, or a row has a "
					 "spelling that is not known here");
	} while (rows > 0);
	out->count = filled;
	return connection_run(store, "close offer_rows", NULL, STORE_QUICK_MS, NULL, error);
}

bool offers_read(struct store *store, const char *where, const struct parameters *parameters,
		 struct arena *arena, struct offer_rows *out, struct error *error)
{
	struct arena scratch;
	struct reader reader = {.failed = false};
	const char *sql;
	bool done = false;

	*out = (struct offer_rows){.count = 0};
	arena_init(&scratch, SCRATCH_BYTES);
	if (!count_rows(store, where, parameters, &scratch, &out->count, error))
		goto out;
	out->offers = arena_array(arena, out->count, sizeof(*out->offers));
	out->follows_feed = arena_array(arena, out->count, sizeof(*out->follows_feed));
	sql = arena_printf(&scratch,
			   "declare offer_rows no scroll cursor for select " COLUMNS FROM "%s",
			   where);
	if (!out->offers || !out->follows_feed || !sql ||
	    !pool_init(&reader.pool, arena, &scratch)) {
		error_set(error, ERROR_STORE, "no memory for %zu offers", out->count);
		goto out;
	}
	done = connection_run(store, sql, parameters, STORE_READ_MS, NULL, error) &&
	       fetch_rows(store, &reader, out, error);
out:
	arena_release(&scratch);
	return done;
}

#define MARKS_FETCH "20000"

static int mark_by_id(const void *left, const void *right)
{
	const struct offer_mark *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static bool fetch_marks(struct store *store, struct offer_mark *marks, size_t *count,
			struct error *error)
{
	const size_t most = *count;
	int rows;

	*count = 0;
	do {
		PGresult *result = connection_query(store, "fetch " MARKS_FETCH " from offer_marks",
						    NULL, STORE_READ_MS, error);

		if (!result)
			return false;
		rows = PQntuples(result);
		for (int i = 0; i < rows && *count < most; i++)
			marks[(*count)++] = (struct offer_mark){
				.id = (uint64_t)cell_integer(result, i, 0),
				.hash = (uint64_t)cell_integer(result, i, 1),
				.is_own = cell_bool(result, i, 2),
				.is_bundled = cell_bool(result, i, 3),
				.is_withdrawn = cell_bool(result, i, 4),
			};
		PQclear(result);
	} while (rows > 0);
	return connection_run(store, "close offer_marks", NULL, STORE_QUICK_MS, NULL, error);
}

bool offers_marks(struct store *store, const char *provider, const char *source,
		  struct arena *arena, struct offer_mark **out, size_t *count, struct error *error)
{
	struct parameters parameters;
	PGresult *result;
	bool done = false;

	*out = NULL;
	*count = 0;
	parameters_init(&parameters);
	parameters_text(&parameters, provider);
	result = connection_query(store, "select count(*) from offer where provider = $1",
				  &parameters, STORE_READ_MS, error);
	if (result) {
		*count = (size_t)cell_integer(result, 0, 0);
		PQclear(result);
		*out = arena_array(arena, *count ? *count : 1, sizeof(**out));
		parameters_text(&parameters, source);
		parameters_text(&parameters, STORE_BUNDLED);
		done = *out ? connection_run(store,
					     "declare offer_marks no scroll cursor for"
					     " select id, row_hash, source = $2, source = $3,"
					     " withdrawn_at is not null from offer"
					     " where provider = $1",
					     &parameters, STORE_READ_MS, NULL, error) &&
				       fetch_marks(store, *out, count, error)
			    : error_set(error, ERROR_STORE, "no memory for %zu offers", *count);
	}
	parameters_release(&parameters);
	if (done)
		qsort(*out, *count, sizeof(**out), mark_by_id);
	return done;
}
