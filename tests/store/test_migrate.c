/* Migrations: repeated, edited, unknown, by several runners, half failed. */
#include "server/store/migrations.h"
#include "tests/store/fixture.h"

#include <pthread.h>
#include <string.h>

static bool migrate(const char *url, const struct migration *table, size_t count,
		    struct migration_report *report, struct error *error)
{
	struct store *store = store_new(url, "migrate");
	bool done;

	error_init(error, NULL);
	done = migrate_with(store, table, count, report, error);
	store_free(store);
	return done;
}

START_TEST(a_second_run_does_nothing)
{
	char *url = fixture_database(), *before, *after;
	struct migration_report report;
	struct error error;

	ck_assert_msg(migrate(url, migrations, migrations_count, &report, &error), "%s",
		      error.detail);
	ck_assert_int_eq(report.applied, (int)migrations_count);
	ck_assert_int_eq(report.already, 0);
	before = fixture_sql(url,
			     "select string_agg(m::text, ' ' order by m) from schema_migrations m");
	ck_assert_msg(migrate(url, migrations, migrations_count, &report, &error), "%s",
		      error.detail);
	ck_assert_int_eq(report.applied, 0);
	ck_assert_int_eq(report.already, (int)migrations_count);
	after = fixture_sql(url,
			    "select string_agg(m::text, ' ' order by m) from schema_migrations m");
	ck_assert_str_eq(before, after);
	free(before);
	free(after);
	free(url);
}
END_TEST

START_TEST(an_edited_file_is_refused_before_anything_runs)
{
	struct migration table[] = {{1, "0001_a", "create table a (x int)"},
				    {2, "0002_b", "create table b (x int)"}};
	char *url = fixture_database();
	struct migration_report report;
	struct error error;

	ck_assert(migrate(url, table, 1, &report, &error));
	table[0].sql = "create table a (x int); -- edited";
	ck_assert(!migrate(url, table, 2, &report, &error));
	ck_assert_ptr_nonnull(strstr(error.detail, "0001_a"));
	ck_assert_ptr_nonnull(strstr(error.detail, "edited"));
	ck_assert_int_eq(fixture_count(url, "select count(*) from pg_class where relname = 'b'"),
			 0);
	table[0].sql = "create table a (x int)";
	ck_assert(migrate(url, table, 2, &report, &error));
	ck_assert_int_eq(report.applied, 1);
	free(url);
}
END_TEST

START_TEST(a_database_from_the_future_is_refused)
{
	const struct migration table[] = {{1, "0001_a", "create table a (x int)"},
					  {2, "0002_b", "create table b (x int)"}};
	char *url = fixture_database();
	struct migration_report report;
	struct error error;

	ck_assert(migrate(url, table, 2, &report, &error));
	ck_assert(!migrate(url, table, 1, &report, &error));
	ck_assert_ptr_nonnull(strstr(error.detail, "0002_b"));
	free(url);
}
END_TEST

START_TEST(a_file_that_fails_leaves_nothing_and_can_be_mended)
{
	struct migration table[] = {{1, "0001_a", "create table a (x int)"},
				    {2, "0002_b", "create table b (x int); select 1 / 0"}};
	char *url = fixture_database();
	struct migration_report report;
	struct error error;

	ck_assert(!migrate(url, table, 2, &report, &error));
	ck_assert_int_eq(report.applied, 1);
	ck_assert_ptr_nonnull(strstr(error.detail, "0002_b"));
	ck_assert_ptr_nonnull(strstr(error.detail, "division by zero"));
	ck_assert_int_eq(fixture_count(url, "select count(*) from pg_class where relname = 'b'"),
			 0);
	table[1].sql = "create table b (x int)";
	ck_assert(migrate(url, table, 2, &report, &error));
	ck_assert_int_eq(report.applied, 1);
	ck_assert_int_eq(report.already, 1);
	free(url);
}
END_TEST

START_TEST(a_database_of_before_keeps_its_hours_as_they_are)
{
	enum { BEFORE_HISTORY = 5 };
	char *url = fixture_database(), *edges;
	struct migration_report report;
	struct error error;

	ck_assert(migrate(url, migrations, BEFORE_HISTORY, &report, &error));
	free(fixture_sql(url, "insert into price_hour select 1, date_trunc('day', now(), 'UTC')"
			      " - days * interval '1 day' + interval '3 hours', 5, 6, 5, 6, 2"
			      " from (values (200), (100)) v(days)"));
	ck_assert_msg(migrate(url, migrations, migrations_count, &report, &error), "%s",
		      error.detail);
	edges = fixture_sql(url, "select concat_ws(' ', today - changes_from, today - hours_from,"
				 " today - days_from) from history,"
				 " date_trunc('day', now(), 'UTC') today");
	ck_assert_str_eq(edges, "1 day 200 days 200 days");
	free(edges);
	edges = fixture_sql(url, "select drop_price_hours(90, 730); select concat_ws(' ', count(*),"
				 " sum(changes), (select count(*) from price_hour)) from price_day"
				 " where day = date_trunc('day', day, 'UTC')");
	ck_assert_str_eq(edges, "2 4 0");
	free(edges);
	free(url);
}
END_TEST

struct runner {
	const char *url;
	pthread_barrier_t *start;
	struct migration_report report;
	struct error error;
	bool done;
};

static void *run(void *argument)
{
	struct runner *runner = argument;

	pthread_barrier_wait(runner->start);
	runner->done =
		migrate(runner->url, migrations, migrations_count, &runner->report, &runner->error);
	return NULL;
}

START_TEST(runners_that_start_together_apply_each_file_once)
{
	enum { RUNNERS = 4 };
	char *url = fixture_database();
	struct runner runners[RUNNERS];
	pthread_t threads[RUNNERS];
	pthread_barrier_t start;
	int applied = 0;

	pthread_barrier_init(&start, NULL, RUNNERS);
	for (int i = 0; i < RUNNERS; i++) {
		runners[i] = (struct runner){.url = url, .start = &start};
		pthread_create(&threads[i], NULL, run, &runners[i]);
	}
	for (int i = 0; i < RUNNERS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_msg(runners[i].done, "%s", runners[i].error.detail);
		applied += runners[i].report.applied;
	}
	ck_assert_int_eq(applied, (int)migrations_count);
	ck_assert_int_eq(fixture_count(url, "select count(*) from clock"), 1);
	pthread_barrier_destroy(&start);
	free(url);
}
END_TEST

START_TEST(a_user_who_may_not_create_roles_still_migrates)
{
	const char *cluster = getenv("GPUPICK_DATABASE_URL");
	char *url, *owner, *as_user;
	struct migration_report report;
	struct error error;

	/* A cluster where nobody made the roles, as far as this database's user can tell. */
	free(fixture_sql(cluster, "do $$ begin create role plain_user login; exception when"
				  " duplicate_object then null; end $$"));
	url = fixture_database();
	free(fixture_sql(url, "alter schema public owner to plain_user"));
	ck_assert_int_ge(asprintf(&as_user, "%s user=plain_user", url), 0);
	ck_assert_msg(migrate(as_user, migrations, migrations_count, &report, &error), "%s",
		      error.detail);
	owner = fixture_sql(url, "select tableowner from pg_tables where tablename = 'offer'");
	ck_assert_str_eq(owner, "plain_user");
	free(owner);
	free(as_user);
	free(url);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("migrate");
	TCase *tests = tcase_create("migrate");

	tcase_add_test(tests, a_user_who_may_not_create_roles_still_migrates);
	tcase_add_test(tests, a_second_run_does_nothing);
	tcase_add_test(tests, a_database_of_before_keeps_its_hours_as_they_are);
	tcase_add_test(tests, an_edited_file_is_refused_before_anything_runs);
	tcase_add_test(tests, a_database_from_the_future_is_refused);
	tcase_add_test(tests, a_file_that_fails_leaves_nothing_and_can_be_mended);
	tcase_add_test(tests, runners_that_start_together_apply_each_file_once);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
