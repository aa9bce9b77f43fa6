/* Offers written as rows, and the hash by which an unchanged one is known: see offers.h. */
#include "server/store/offers.h"

#include "core/hash.h"

#include <string.h>

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		hash = hash_byte(hash, (unsigned char)(number >> (8 * i)));
	return hash;
}

/* 0 and what is not told are one. */
static uint64_t hash_amount(uint64_t hash, double amount)
{
	uint64_t bits = 0;

	if (amount > 0)
		memcpy(&bits, &amount, sizeof(bits));
	return hash_number(hash, bits);
}

static uint64_t finish(uint64_t hash)
{
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ (hash >> 33);
}

uint64_t offer_row_hash(const struct offer *offer, int64_t own_date_us)
{
	uint64_t key = HASH_START, row = HASH_START;

	key = hash_text(key, offer->region);
	key = hash_text(key, offer->zone);
	key = hash_text(key, offer->instance_type);
	key = hash_text(key, offer->accelerator);
	key = hash_text(key, offer->tier);
	key = hash_number(key, (uint64_t)offer->count_milli << 32 |
				       (uint64_t)offer->term_months << 8 |
				       (uint64_t)offer->price_kind);
	row = hash_number(row,
			  (uint64_t)offer->is_mapped << 1 | (uint64_t)offer->availability << 2);
	row = hash_amount(row, offer->memory_gb);
	row = hash_amount(row, offer->vcpus);
	row = hash_amount(row, offer->ram_gib);
	row = hash_amount(row, offer->disk_gb);
	row = hash_text(row, offer->interconnect);
	row = hash_text(row, offer->country);
	row = hash_number(row, (uint64_t)offer->price_micros);
	row = hash_number(row, (uint64_t)offer->upfront_micros);
	row = hash_text(row, offer->price_basis);
	row = hash_text(row, offer->original_currency);
	row = hash_text(row, offer->original_amount);
	row = hash_number(row, (uint64_t)(int64_t)offer->quantity);
	row = hash_text(row, offer->source);
	row = hash_number(row, (uint64_t)own_date_us);
	if (offer->interruption_band) /* rows of before have the hash that they had */
		row = hash_number(row, (uint64_t)offer->interruption_band);
	return (finish(key) & UINT64_C(0xffff000000000000)) |
	       (finish(row) & UINT64_C(0x0000ffffffffffff));
}

/* The order is that of fill_columns(). What identifies an offer, and when it was first seen, stays.
 */
#define WRITE                                                                                      \
	"insert into offer (id, provider, region, zone, instance_type, accelerator, count_milli,"  \
	" tier, price_kind, term_months, is_mapped, memory_gb, vcpus, ram_gib, disk_gb,"           \
	" interconnect, country, price_micros, upfront_micros, price_basis, original_currency,"    \
	" original_amount, availability, quantity, source, follows_feed, observed_at, row_hash,"   \
	" interruption_band, public_version, version, first_seen_at, last_seen_at, withdrawn_at)"  \
	" select *, $31, $32, $32, null from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11," \
	" $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28,"    \
	" $29, $30)"                                                                               \
	" on conflict (id) do update set is_mapped = excluded.is_mapped,"                          \
	" memory_gb = excluded.memory_gb, vcpus = excluded.vcpus, ram_gib = excluded.ram_gib,"     \
	" disk_gb = excluded.disk_gb, interconnect = excluded.interconnect,"                       \
	" country = excluded.country, price_micros = excluded.price_micros,"                       \
	" upfront_micros = excluded.upfront_micros, price_basis = excluded.price_basis,"           \
	" original_currency = excluded.original_currency,"                                         \
	" original_amount = excluded.original_amount, availability = excluded.availability,"       \
	" quantity = excluded.quantity, source = excluded.source,"                                 \
	" follows_feed = excluded.follows_feed, observed_at = excluded.observed_at,"               \
	" row_hash = excluded.row_hash, last_seen_at = excluded.last_seen_at,"                     \
	" interruption_band = excluded.interruption_band,"                                         \
	" withdrawn_at = null, version = excluded.version, public_version = case"                  \
	" when excluded.public_version > 0 or (offer.withdrawn_at is null and "                    \
	"not " OFFERS_IS_PRIVATE("offer") ") then excluded.version else offer.public_version end," \
					  " private_until = case when " OFFERS_IS_PRIVATE(         \
						  "offer") " then (select as_of from clock)"       \
							   " else offer.private_until end"

struct batch {
	struct parameters parameters;
	const struct offer_put *puts;
	size_t count;
};

static void add_texts(struct batch *batch, size_t member)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_TEXT, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		const char *const *field =
			(const char *const *)(const void *)((const char *)batch->puts[i].offer +
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
			    names_text(names, is_availability
						      ? (int)batch->puts[i].offer->availability
						      : (int)batch->puts[i].offer->price_kind));
	column_end(&column);
}

static void add_amounts(struct batch *batch, size_t member)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_DOUBLE, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		const double *field =
			(const double *)(const void *)((const char *)batch->puts[i].offer + member);

		if (*field > 0)
			column_double(&column, *field);
		else
			column_null(&column); /* not told */
	}
	column_end(&column);
}

/* An int64 or int32 member, by `type`; `unknown` is stored as NULL. */
static void add_integers(struct batch *batch, enum column_type type, size_t member, int64_t unknown)
{
	struct column column;

	column_begin(&column, &batch->parameters, type, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		const char *field = (const char *)batch->puts[i].offer + member;
		int64_t value = type == COLUMN_BIGINT ? *(const int64_t *)(const void *)field
						      : *(const int32_t *)(const void *)field;

		if (value == unknown)
			column_null(&column);
		else
			column_integer(&column, value);
	}
	column_end(&column);
}

enum flag { FLAG_IS_MAPPED, FLAG_FOLLOWS_FEED };

static void add_flags(struct batch *batch, enum flag flag)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_BOOL, batch->count);
	for (size_t i = 0; i < batch->count; i++)
		column_integer(&column, flag == FLAG_IS_MAPPED ? batch->puts[i].offer->is_mapped
							       : !batch->puts[i].own_date_us);
	column_end(&column);
}

/* Ids and hashes may be any 64 bits, so no value of them means NULL. */
static void add_bits(struct batch *batch, bool is_id)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_BIGINT, batch->count);
	for (size_t i = 0; i < batch->count; i++)
		column_integer(&column,
			       (int64_t)(is_id ? batch->puts[i].offer->id : batch->puts[i].hash));
	column_end(&column);
}

static void add_public_versions(struct batch *batch, int64_t version)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_BIGINT, batch->count);
	for (size_t i = 0; i < batch->count; i++)
		column_integer(&column, offer_is_private(batch->puts[i].offer) ? 0 : version);
	column_end(&column);
}

static void add_observed(struct batch *batch, int64_t observed_at_us)
{
	struct column column;

	column_begin(&column, &batch->parameters, COLUMN_TIME, batch->count);
	for (size_t i = 0; i < batch->count; i++)
		column_time(&column, batch->puts[i].own_date_us ? batch->puts[i].own_date_us
								: observed_at_us);
	column_end(&column);
}

static void fill_columns(struct batch *batch, int64_t version, int64_t observed_at_us)
{
	add_bits(batch, true);
	add_texts(batch, offsetof(struct offer, provider));
	add_texts(batch, offsetof(struct offer, region));
	add_texts(batch, offsetof(struct offer, zone));
	add_texts(batch, offsetof(struct offer, instance_type));
	add_texts(batch, offsetof(struct offer, accelerator));
	add_integers(batch, COLUMN_INTEGER, offsetof(struct offer, count_milli), INT64_MIN);
	add_texts(batch, offsetof(struct offer, tier));
	add_names(batch, &price_kind_names, false);
	add_integers(batch, COLUMN_INTEGER, offsetof(struct offer, term_months), INT64_MIN);
	add_flags(batch, FLAG_IS_MAPPED);
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
	add_flags(batch, FLAG_FOLLOWS_FEED);
	add_observed(batch, observed_at_us);
	add_bits(batch, false);
	add_integers(batch, COLUMN_INTEGER, offsetof(struct offer, interruption_band), 0);
	add_public_versions(batch, version);
	parameters_integer(&batch->parameters, version);
	parameters_time(&batch->parameters, observed_at_us);
}

bool offers_write(struct store *store, const struct offer_put *puts, size_t count, int64_t version,
		  int64_t observed_at_us, struct error *error)
{
	struct batch batch = {.puts = puts, .count = count};
	bool done;

	parameters_init(&batch.parameters);
	fill_columns(&batch, version, observed_at_us);
	done = connection_run(store, WRITE, &batch.parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&batch.parameters);
	return done;
}

bool offers_withdraw(struct store *store, const uint64_t *ids, size_t count, int64_t version,
		     int64_t observed_at_us, struct error *error)
{
	struct parameters parameters;
	struct column column;
	bool done;

	if (!count)
		return true;
	parameters_init(&parameters);
	column_begin(&column, &parameters, COLUMN_BIGINT, count);
	for (size_t i = 0; i < count; i++)
		column_integer(&column, (int64_t)ids[i]);
	column_end(&column);
	parameters_time(&parameters, observed_at_us);
	parameters_integer(&parameters, version);
	done = connection_run(
		store,
		"update offer o set withdrawn_at = $2, follows_feed = false, row_hash = 0,"
		" version = $3, public_version = case when " OFFERS_IS_PRIVATE(
			"o") " then o.public_version else $3 end,"
			     " observed_at = case when o.follows_feed then greatest(o.observed_at, "
			     "f.observed_at)"
			     " else o.observed_at end,"
			     " last_seen_at = case when o.follows_feed then "
			     "greatest(o.last_seen_at, "
			     "f.observed_at)"
			     " else o.last_seen_at end"
			     " from unnest($1) gone(id) join offer g on g.id = gone.id"
			     " left join feed f on f.provider = g.provider and f.source = g.source"
			     " where o.id = gone.id",
		&parameters, STORE_WRITE_MS, NULL, error);
	parameters_release(&parameters);
	return done;
}
