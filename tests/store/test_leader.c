/* One writer at a time: election, hand-over, a leader that does not know yet; losses and deadlines.
 */
#include "server/clock.h"
#include "tests/store/fixture.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static struct error error;
static char *url;

static void set_up(void)
{
	arena_init(&arena, 1 << 24);
	error_init(&error, NULL);
	url = fixture_migrated();
}

static void tear_down(void)
{
	free(url);
	arena_release(&arena);
}

static bool lead(struct store *store)
{
	bool is_leader;

	ck_assert_msg(store_lead(store, &is_leader, &error), "%s", error.detail);
	return is_leader;
}

static bool apply(struct store *store, int64_t price_micros)
{
	struct offer offer = fixture_offer(&arena, "acme", 1, price_micros);
	struct store_refresh refresh = {.provider = "acme",
					.source = "test",
					.offers = &offer,
					.offers_count = 1,
					.observed_at_us = FIXTURE_HOUR(1)};
	struct store_outcome outcome;

	return store_apply(store, &refresh, &outcome, &error);
}

/* The server process behind the session that calls itself `name`. */
static int64_t backend(const char *name)
{
	char *sql = arena_printf(&arena,
				 "select pid from pg_stat_activity"
				 " where application_name = '%s'",
				 name);

	return fixture_count(url, sql);
}

START_TEST(one_leads_and_the_spare_takes_over)
{
	struct store *first = store_new(url, "first"), *spare = store_new(url, "spare");

	ck_assert(!apply(first, 1000000)); /* nobody leads yet */
	ck_assert(lead(first));
	ck_assert(lead(first)); /* still */
	ck_assert(!lead(spare));
	ck_assert(apply(first, 1000000));
	ck_assert(!apply(spare, 2000000));
	store_free(first);
	/* The server lets go of the lock when it has noticed. */
	for (int i = 0; i < 100 && !lead(spare); i++)
		usleep(20000);
	ck_assert(lead(spare));
	ck_assert(apply(spare, 2000000));
	ck_assert_int_eq(fixture_count(url, "select token from leader"), 2);
	store_free(spare);
}
END_TEST

START_TEST(a_former_leader_cannot_write_by_its_old_token)
{
	struct store *store = fixture_leader(url);

	ck_assert(apply(store, 1000000));
	/* What a take-over does that this worker has not noticed. */
	free(fixture_sql(url, "update leader set token = token + 1"));
	ck_assert(!apply(store, 2000000));
	ck_assert_ptr_nonnull(strstr(error.detail, "another worker leads"));
	ck_assert_int_eq(fixture_count(url, "select price_micros from offer"), 1000000);
	store_free(store);
}
END_TEST

static void *take_over(void *argument)
{
	free(fixture_sql(url, "update leader set token = token + 1"));
	*(int64_t *)argument = clock_monotonic_us();
	return NULL;
}

START_TEST(nobody_takes_over_while_a_batch_is_under_way)
{
	struct store *store = fixture_leader(url);
	int64_t taken_us = 0, committed_us;
	PGconn *batch = PQconnectdb(url);
	pthread_t thread;

	PQclear(PQexec(batch, "begin"));
	PQclear(PQexec(batch, "select from leader where token = 1 for share"));
	pthread_create(&thread, NULL, take_over, &taken_us);
	usleep(300000);
	committed_us = clock_monotonic_us();
	PQclear(PQexec(batch, "commit"));
	pthread_join(thread, NULL);
	ck_assert_int_ge(taken_us, committed_us);
	PQfinish(batch);
	store_free(store);
}
END_TEST

START_TEST(a_lost_connection_ends_leadership_and_is_reopened)
{
	struct store *store = store_new(url, "loser");
	struct store_clock clock;

	ck_assert(lead(store));
	ck_assert(apply(store, 1000000));
	free(fixture_sql(url, "select pg_terminate_backend(pid) from pg_stat_activity"
			      " where application_name = 'loser'"));
	ck_assert(!apply(store, 2000000));
	ck_assert(!apply(store, 2000000)); /* reconnecting alone does not lead */
	ck_assert_ptr_nonnull(strstr(error.detail, "does not lead"));
	ck_assert_msg(store_read_clock(store, &clock, &error), "%s", error.detail);
	ck_assert(lead(store));
	ck_assert(apply(store, 2000000));
	store_free(store);
}
END_TEST

START_TEST(a_server_that_hangs_costs_the_deadline_not_the_thread)
{
	struct store *store = store_new(url, "sleeper");
	struct store_clock clock;
	int64_t started_us, took_us, pid;

	ck_assert(store_read_clock(store, &clock, &error));
	pid = backend("sleeper");
	ck_assert_int_gt(pid, 1);
	ck_assert_int_eq(kill((pid_t)pid, SIGSTOP), 0);
	started_us = clock_monotonic_us();
	ck_assert(!store_read_clock(store, &clock, &error));
	took_us = clock_monotonic_us() - started_us;
	kill((pid_t)pid, SIGCONT);
	ck_assert_ptr_nonnull(strstr(error.detail, "in time"));
	ck_assert_int_ge(took_us, 4 * US_PER_SECOND);
	ck_assert_int_le(took_us, 7 * US_PER_SECOND);
	ck_assert_msg(store_read_clock(store, &clock, &error), "%s", error.detail);
	store_free(store);
}
END_TEST

static void *interrupt(void *argument)
{
	usleep(300000);
	store_interrupt(argument);
	return NULL;
}

START_TEST(an_interrupt_ends_what_runs_and_all_that_follows)
{
	struct store *store = store_new(url, "sleeper");
	struct store_clock clock;
	int64_t started_us, pid;
	pthread_t thread;

	ck_assert(store_read_clock(store, &clock, &error));
	pid = backend("sleeper");
	kill((pid_t)pid, SIGSTOP);
	pthread_create(&thread, NULL, interrupt, store);
	started_us = clock_monotonic_us();
	ck_assert(!store_read_clock(store, &clock, &error));
	ck_assert_int_le(clock_monotonic_us() - started_us, US_PER_SECOND);
	kill((pid_t)pid, SIGCONT);
	pthread_join(thread, NULL);
	ck_assert(!store_read_clock(store, &clock, &error));
	store_free(store);
}
END_TEST

START_TEST(no_server_is_an_error_that_says_so_and_no_password)
{
	struct store *store = store_new(
		"host=127.0.0.1 port=1 user=x password=hush dbname=y connect_timeout=2", "nobody");
	struct store_clock clock;

	ck_assert(!store_read_clock(store, &clock, &error));
	ck_assert_int_eq(error.code, ERROR_STORE);
	ck_assert_ptr_nonnull(strstr(error.detail, "connect"));
	ck_assert_ptr_null(strstr(error.detail, "hush"));
	store_free(store);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("leader");
	TCase *tests = tcase_create("leader");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, one_leads_and_the_spare_takes_over);
	tcase_add_test(tests, a_former_leader_cannot_write_by_its_old_token);
	tcase_add_test(tests, nobody_takes_over_while_a_batch_is_under_way);
	tcase_add_test(tests, a_lost_connection_ends_leadership_and_is_reopened);
	tcase_add_test(tests, a_server_that_hangs_costs_the_deadline_not_the_thread);
	tcase_add_test(tests, an_interrupt_ends_what_runs_and_all_that_follows);
	tcase_add_test(tests, no_server_is_an_error_that_says_so_and_no_password);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
