/* Shared by the store's tests: see fixture.h. */
#include "tests/store/fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static PGconn *open_database(const char *url)
{
	PGconn *connection = PQconnectdb(url);

	ck_assert_msg(PQstatus(connection) == CONNECTION_OK, "%s", PQerrorMessage(connection));
	return connection;
}

char *fixture_sql(const char *url, const char *format, ...)
{
	PGconn *connection = open_database(url);
	PGresult *result;
	va_list arguments;
	char *sql, *cell;

	va_start(arguments, format);
	ck_assert_int_ge(vasprintf(&sql, format, arguments), 0);
	va_end(arguments);
	result = PQexec(connection, sql);
	ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK ||
			      PQresultStatus(result) == PGRES_COMMAND_OK,
		      "%s: %s", sql, PQerrorMessage(connection));
	cell = strdup(PQntuples(result) && PQnfields(result) ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	PQfinish(connection);
	free(sql);
	return cell;
}

int64_t fixture_count(const char *url, const char *sql)
{
	char *text = fixture_sql(url, "%s", sql);
	int64_t count = strtoll(text, NULL, 10);

	free(text);
	return count;
}

char *fixture_database(void)
{
	static int made;
	const char *cluster = getenv("GPUPICK_DATABASE_URL");
	char *url;

	ck_assert_msg(cluster != NULL, "run me by tests/store/cluster.py");
	made++;
	free(fixture_sql(cluster, "create database t%d_%d", (int)getpid(), made));
	ck_assert_int_ge(asprintf(&url, "%s dbname=t%d_%d", cluster, (int)getpid(), made), 0);
	return url;
}

char *fixture_migrated(void)
{
	char *url = fixture_database();
	struct store *store = store_new(url, "migrate");
	struct migration_report report;
	struct error error;

	error_init(&error, NULL);
	ck_assert_msg(store_migrate(store, &report, &error), "%s", error.detail);
	store_free(store);
	return url;
}

struct store *fixture_leader(const char *url)
{
	struct store *store = store_new(url, "test");
	struct error error;
	bool is_leader;

	error_init(&error, NULL);
	ck_assert_msg(store_lead(store, &is_leader, &error), "%s", error.detail);
	ck_assert(is_leader);
	return store;
}

struct offer fixture_offer(struct arena *arena, const char *provider, int n, int64_t price_micros)
{
	static const char *const cards[] = {"H100-SXM", "A100-SXM-80GB", "L40S", "RTX-4090"};
	struct offer offer = {
		.provider = provider,
		.region = arena_printf(arena, "region-%d", n % 7),
		.zone = n % 3 ? "" : "a",
		.instance_type = arena_printf(arena, "type-%d", n),
		.accelerator = cards[n % 4],
		.count_milli = COUNT_MILLI_ONE * (1 + n % 8),
		.tier = n % 5 ? "" : "secure",
		.price_kind = (enum price_kind)(n % 3),
		.term_months = n % 3 == PRICE_RESERVED ? 12 : 0,
		.is_mapped = n % 11 != 0,
		.memory_gb = 80.5 * (1 + n % 8),
		.vcpus = n % 2 ? 26 : 0,
		.ram_gib = 200.25,
		.interconnect = "",
		.country = n % 2 ? "US" : "",
		.price_micros = price_micros,
		.price_basis = "instance",
		.original_currency = "USD",
		.original_amount = arena_printf(arena, "%lld", (long long)price_micros),
		.availability = (enum availability)(n % 3),
		.quantity = n % 4 - 1,
		.interruption_band = n % 6,
		.source = "test",
	};

	offer.id = offer_id(&offer);
	return offer;
}

struct store_outcome fixture_apply(struct store *store, const char *provider, const char *source,
				   struct offer *offers, size_t count, int64_t observed_at_us)
{
	struct store_refresh refresh = {
		.provider = provider,
		.source = source,
		.offers = offers,
		.offers_count = count,
		.observed_at_us = observed_at_us,
		.replaces_bundled = strcmp(source, STORE_BUNDLED) != 0,
	};
	struct store_outcome outcome;
	struct error error;

	for (size_t i = 0; i < count; i++)
		offers[i].source = source;
	error_init(&error, NULL);
	ck_assert_msg(store_apply(store, &refresh, &outcome, &error), "%s", error.detail);
	return outcome;
}

void fixture_same_offer(const struct offer *a, const struct offer *b)
{
	ck_assert_uint_eq(a->id, b->id);
	ck_assert(offer_key_equal(a, b));
	ck_assert_int_eq(a->is_mapped, b->is_mapped);
	ck_assert(memcmp(&a->memory_gb, &b->memory_gb, sizeof(a->memory_gb)) == 0);
	ck_assert(memcmp(&a->vcpus, &b->vcpus, sizeof(a->vcpus)) == 0);
	ck_assert(memcmp(&a->ram_gib, &b->ram_gib, sizeof(a->ram_gib)) == 0);
	ck_assert(memcmp(&a->disk_gb, &b->disk_gb, sizeof(a->disk_gb)) == 0);
	ck_assert_str_eq(a->interconnect, b->interconnect);
	ck_assert_str_eq(a->country, b->country);
	ck_assert_int_eq(a->price_micros, b->price_micros);
	ck_assert_int_eq(a->upfront_micros, b->upfront_micros);
	ck_assert_str_eq(a->price_basis, b->price_basis);
	ck_assert_str_eq(a->original_currency, b->original_currency);
	ck_assert_str_eq(a->original_amount, b->original_amount);
	ck_assert_int_eq(a->availability, b->availability);
	ck_assert_int_eq(a->quantity, b->quantity);
	ck_assert_int_eq(a->interruption_band, b->interruption_band);
	ck_assert_str_eq(a->source, b->source);
	ck_assert_int_eq(a->observed_at_us, b->observed_at_us);
	ck_assert_int_eq(a->first_seen_us, b->first_seen_us);
	ck_assert_int_eq(a->last_seen_us, b->last_seen_us);
	ck_assert_int_eq(a->withdrawn_at_us, b->withdrawn_at_us);
}
