/* Offers as rows, in both directions: see offers.h. */
#include "server/store/offers.h"

#include "core/pool.h"

#include <math.h>
#include <string.h>

#define FETCH_ROWS "5000"	   /* what one result holds in memory while reading */
#define WRITE_ROWS ((size_t)20000) /* one statement, about 5 MB of parameters */
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
	" o.withdrawn_at"

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
	CELL_WITHDRAWN_AT
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

/* The order is that of fill_columns(). What identifies an offer, and when it was first seen, stays.
 */
#define WRITE                                                                                      \
	"insert into offer (id, provider, region, zone, instance_type, accelerator, count_milli,"  \
	" tier, price_kind, term_months, is_mapped, memory_gb, vcpus, ram_gib, disk_gb,"           \
	" interconnect, country, price_micros, upfront_micros, price_basis, original_currency,"    \
	" original_amount, availability, quantity, source, follows_feed, observed_at,"             \
	" first_seen_at, last_seen_at, withdrawn_at)"                                              \
	" select * from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,"  \
	" $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30)"              \
	" on conflict (id) do update set is_mapped = excluded.is_mapped,"                          \
	" memory_gb = excluded.memory_gb, vcpus = excluded.vcpus, ram_gib = excluded.ram_gib,"     \
	" disk_gb = excluded.disk_gb, interconnect = excluded.interconnect,"                       \
	" country = excluded.country, price_micros = excluded.price_micros,"                       \
	" upfront_micros = excluded.upfront_micros, price_basis = excluded.price_basis,"           \
	" original_currency = excluded.original_currency,"                                         \
	" original_amount = excluded.original_amount, availability = excluded.availability,"       \
	" quantity = excluded.quantity, source = excluded.source,"                                 \
	" follows_feed = excluded.follows_feed, observed_at = excluded.observed_at,"               \
	" last_seen_at = excluded.last_seen_at, withdrawn_at = excluded.withdrawn_at"

struct batch {
	struct parameters parameters;
	const struct offer *const *offers;
	size_t count;
};

static void add_texts(struct batch *batch, size_t member)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_TEXT, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		const char *const *field =
			(const char *const *)(const void *)((const char *)batch->offers[i] +
							    member);
		column_text(&column, *field);
	}
	column_end(&column);
}

static void add_names(struct batch *batch, const struct names *names, bool is_availability)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_TEXT, batch->count);
	for (size_t i = 0; i < batch->count; i++)
		column_text(&column,
			    names_text(names, is_availability ? (int)batch->offers[i]->availability
							      : (int)batch->offers[i]->price_kind));
	column_end(&column);
}

static void add_amounts(struct batch *batch, size_t member)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_DOUBLE, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		const double *field =
			(const double *)(const void *)((const char *)batch->offers[i] + member);

		if (*field > 0)
			column_double(&column, *field);
		else
			column_null(&column); /* not told */
	}
	column_end(&column);
}

static void add_times(struct batch *batch, size_t member)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_TIME, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		const int64_t *field =
			(const int64_t *)(const void *)((const char *)batch->offers[i] + member);
		column_time(&column, *field);
	}
	column_end(&column);
}

/* An int64 or int32 member, by `type`; `unknown` is stored as NULL. */
static void add_integers(struct batch *batch, enum column_type type, size_t member, int64_t unknown)
{
	struct column column;

	column_begin(&column, &batch->parameters, type, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		const char *field = (const char *)batch->offers[i] + member;
		int64_t value = type == COLUMN_BIGINT ? *(const int64_t *)(const void *)field
						      : *(const int32_t *)(const void *)field;

		if (value == unknown)
			column_null(&column);
		else
			column_integer(&column, value);
	}
	column_end(&column);
}

static void add_flags(struct batch *batch, const bool *follows_feed)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_BOOL, batch->count);
	for (size_t i = 0; i < batch->count; i++)
		column_integer(&column,
			       follows_feed ? follows_feed[i] : batch->offers[i]->is_mapped);
	column_end(&column);
}

static void fill_columns(struct batch *batch, const bool *follows_feed)
{
	/* An id may be any 64 bits, so no value of it means NULL: written by itself. */
	struct column ids;

	column_begin(&ids, &batch->parameters, COLUMN_BIGINT, batch->count);
	for (size_t i = 0; i < batch->count; i++)
		column_integer(&ids, (int64_t)batch->offers[i]->id);
	column_end(&ids);
	add_texts(batch, offsetof(struct offer, provider));
	add_texts(batch, offsetof(struct offer, region));
	add_texts(batch, offsetof(struct offer, zone));
	add_texts(batch, offsetof(struct offer, instance_type));
	add_texts(batch, offsetof(struct offer, accelerator));
	add_integers(batch, COLUMN_INTEGER, offsetof(struct offer, count_milli), INT64_MIN);
	add_texts(batch, offsetof(struct offer, tier));
	add_names(batch, &price_kind_names, false);
	add_integers(batch, COLUMN_INTEGER, offsetof(struct offer, term_months), INT64_MIN);
	add_flags(batch, NULL);
	add_amounts(batch, offsetof(struct offer, memory_gb));
	add_amounts(batch, offsetof(struct offer, vcpus));
	add_amounts(batch, offsetof(struct offer, ram_gib));
	add_amounts(batch, offsetof(struct offer, disk_gb));
	add_texts(batch, offsetof(struct offer, interconnect));
	add_texts(batch, offsetof(struct offer, country));
	add_integers(batch, COLUMN_BIGINT, offsetof(struct offer, price_micros), PRICE_UNKNOWN);
	add_integers(batch, COLUMN_BIGINT, offsetof(struct offer, upfront_micros), INT64_MIN);
	add_texts(batch, offsetof(struct offer, price_basis));
	add_texts(batch, offsetof(struct offer, original_currency));
	add_texts(batch, offsetof(struct offer, original_amount));
	add_names(batch, &availability_names, true);
	add_integers(batch, COLUMN_INTEGER, offsetof(struct offer, quantity), -1);
	add_texts(batch, offsetof(struct offer, source));
	add_flags(batch, follows_feed);
	add_times(batch, offsetof(struct offer, observed_at_us));
	add_times(batch, offsetof(struct offer, first_seen_us));
	add_times(batch, offsetof(struct offer, last_seen_us));
	add_times(batch, offsetof(struct offer, withdrawn_at_us));
}

bool offers_write(struct store *store, const struct offer *const *offers, const bool *follows_feed,
		  size_t count, struct error *error)
{
	for (size_t first = 0; first < count; first += WRITE_ROWS) {
		size_t left = count - first;
		struct batch batch = {.offers = offers + first,
				      .count = left < WRITE_ROWS ? left : WRITE_ROWS};
		bool done;

		parameters_init(&batch.parameters);
		fill_columns(&batch, follows_feed + first);
		done = connection_run(store, WRITE, &batch.parameters, STORE_WRITE_MS, NULL, error);
		parameters_release(&batch.parameters);
		if (!done)
			return false;
	}
	return true;
}
