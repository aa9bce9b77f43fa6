/* Who may do what: the roles of migrations/0001, 0003. */
#include "tests/store/fixture.h"

#include <string.h>

static struct arena arena;
static struct error error;
static char *url, *as_api, *as_ingest;

static void set_up(void)
{
	arena_init(&arena, 1 << 24);
	error_init(&error, NULL);
	url = fixture_migrated();
	as_api = arena_printf(&arena, "%s user=gpupick_api", url);
	as_ingest = arena_printf(&arena, "%s user=gpupick_ingest", url);
}

static void tear_down(void)
{
	free(url);
	arena_release(&arena);
}

/* The SQLSTATE that `sql` fails with; "" when it does not. */
static void fails_with(const char *as_user, const char *sql, const char *expected)
{
	PGconn *connection = PQconnectdb(as_user);
	PGresult *result = PQexec(connection, sql);
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	ck_assert_msg(strcmp(state ? state : "", expected) == 0, "%s: %s (%s)", sql,
		      state ? state : "it worked", PQerrorMessage(connection));
	PQclear(result);
	PQfinish(connection);
}

#define DENIED "42501"
#define READ_ONLY "25006"

START_TEST(the_api_reads_and_writes_nothing)
{
	static const char *const writes[] = {
		"insert into price_hour values (1, now(), 1, 1, 1, 1, 1)",
		"update offer set price_micros = 1",
		"delete from offer",
		"update clock set version = version + 1",
		"truncate price_change",
		"insert into ingest_run default values",
		"select make_price_days(1)",
		"select drop_price_days(8)",
		"select drop_price_hours(90, 730)",
		"update history set days_from = now()",
		"select own_objects()",
		"select * from leader",
		"create table mine (x int)",
	};
	struct store *store = store_new(as_api, "api");
	struct history history = {.offer_id = 1, .limit = 1};
	struct store_view view;
	struct store_clock clock;

	ck_assert_msg(store_read_all(store, &arena, &view, &error), "%s", error.detail);
	ck_assert_msg(store_read_since(store, view.clock.epoch, 0, &arena, &view, &error), "%s",
		      error.detail);
	ck_assert_msg(store_read_clock(store, &clock, &error), "%s", error.detail);
	ck_assert_msg(store_read_history(store, &history, &arena, 1000, &error), "%s",
		      error.detail);
	ck_assert(!history.is_known && history.changes_from_us > 0);
	store_free(store);
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		char *sql = arena_printf(&arena, "begin read write; %s", writes[i]);

		fails_with(as_api, sql, DENIED);
	}
	fails_with(as_api, "update clock set version = 0 where false", READ_ONLY);
}
END_TEST

START_TEST(the_ingest_writes_prices_but_neither_deletes_nor_builds)
{
	static const char *const writes[] = {
		"delete from offer",
		"delete from price_change",
		"update price_change set price_micros = 1",
		"delete from clock",
		"truncate offer",
		"drop table offer",
		"alter table offer add column x int",
		"create table mine (x int)",
		"insert into price_hour values (1, now(), 1, 1, 1, 1, 1)",
		"update schema_migrations set sha256 = ''",
		"select own_objects()",
	};
	struct store *store = fixture_leader(as_ingest);
	struct offer offer = fixture_offer(&arena, "acme", 1, 1000000);
	struct store_run run = {.provider = "acme",
				.source = "test",
				.started_us = FIXTURE_HOUR(0),
				.finished_us = FIXTURE_HOUR(0),
				.outcome = "ok"};
	struct store_outcome outcome =
		fixture_apply(store, "acme", "test", &offer, 1, FIXTURE_HOUR(0));

	ck_assert_int_eq(outcome.inserted, 1);
	ck_assert_msg(store_record_run(store, &run, &error), "%s", error.detail);
	ck_assert_msg(store_housekeeping(store, &error), "%s", error.detail);
	store_free(store);
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		fails_with(as_ingest, writes[i], DENIED);
}
END_TEST

START_TEST(definer_functions_run_with_the_owners_rights_not_a_superusers)
{
	char *owners = fixture_sql(url, "select string_agg(distinct proowner::regrole::text, ' ')"
					" from pg_proc where prosecdef");
	char *super = fixture_sql(url, "select rolsuper or rolcanlogin from pg_roles"
				       " where rolname = 'gpupick_owner'");

	ck_assert_str_eq(owners, "gpupick_owner");
	ck_assert_str_eq(super, "f");
	free(owners);
	free(super);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("roles");
	TCase *tests = tcase_create("roles");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, the_api_reads_and_writes_nothing);
	tcase_add_test(tests, the_ingest_writes_prices_but_neither_deletes_nor_builds);
	tcase_add_test(tests, definer_functions_run_with_the_owners_rights_not_a_superusers);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
