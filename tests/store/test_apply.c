/* Refreshes: what is written, what is not, history, bundled prices, dates, all or nothing. */
#include "server/clock.h"
#include "tests/store/fixture.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct arena arena;
static char *url;
static struct store *store;
static struct error error;

static void set_up(void)
{
	arena_init(&arena, 1 << 26);
	error_init(&error, NULL);
	url = fixture_migrated();
	store = fixture_leader(url);
}

static void tear_down(void)
{
	store_free(store);
	free(url);
	arena_release(&arena);
}

static struct store_view read_all(void)
{
	struct store_view view;

	ck_assert_msg(store_read_all(store, &arena, &view, &error), "%s", error.detail);
	return view;
}

static const struct offer *find(const struct store_view *view, uint64_t id)
{
	for (size_t i = 0; i < view->offers_count; i++)
		if (view->offers[i].id == id)
			return &view->offers[i];
	return NULL;
}

START_TEST(what_is_stored_comes_back_unchanged)
{
	struct offer offers[40];
	struct store_outcome outcome;
	struct store_view view;

	for (int i = 0; i < 40; i++)
		offers[i] = fixture_offer(&arena, "acme", i, i % 9 ? 1000000 + i : PRICE_UNKNOWN);
	outcome = fixture_apply(store, "acme", "test", offers, 40, FIXTURE_HOUR(0));
	ck_assert_int_eq(outcome.inserted, 40);
	ck_assert_int_eq(outcome.changed + outcome.unchanged + outcome.withdrawn, 0);
	ck_assert_int_eq(outcome.version, 1);
	view = read_all();
	ck_assert_uint_eq(view.offers_count, 40);
	ck_assert_int_eq(view.clock.version, 1);
	for (int i = 0; i < 40; i++) {
		const struct offer *stored = find(&view, offers[i].id);

		ck_assert_ptr_nonnull(stored);
		offers[i].observed_at_us = offers[i].first_seen_us = offers[i].last_seen_us =
			FIXTURE_HOUR(0);
		fixture_same_offer(stored, &offers[i]);
	}
}
END_TEST

START_TEST(an_unchanged_refresh_moves_dates_but_neither_version_nor_rows)
{
	struct offer offers[20];
	struct store_outcome outcome;
	struct store_view view;
	int64_t writes;

	for (int i = 0; i < 20; i++)
		offers[i] = fixture_offer(&arena, "acme", i, 1000000);
	fixture_apply(store, "acme", "test", offers, 20, FIXTURE_HOUR(0));
	writes = fixture_count(url, "select sum(xmin::text::bigint) from offer");
	outcome = fixture_apply(store, "acme", "test", offers, 20, FIXTURE_HOUR(1));
	ck_assert_int_eq(outcome.unchanged, 20);
	ck_assert_int_eq(outcome.inserted + outcome.changed + outcome.withdrawn, 0);
	ck_assert_int_eq(outcome.version, 1);
	ck_assert_int_eq(fixture_count(url, "select sum(xmin::text::bigint) from offer"), writes);
	ck_assert_int_eq(fixture_count(url, "select count(*) from price_change"), 20);
	view = read_all();
	ck_assert_int_eq(view.clock.status, 2);
	for (size_t i = 0; i < view.offers_count; i++) {
		ck_assert_int_eq(view.offers[i].observed_at_us, FIXTURE_HOUR(1));
		ck_assert_int_eq(view.offers[i].last_seen_us, FIXTURE_HOUR(1));
		ck_assert_int_eq(view.offers[i].first_seen_us, FIXTURE_HOUR(0));
	}
}
END_TEST

static void change(struct offer *offer, int member)
{
	double *const amounts[] = {&offer->memory_gb, &offer->vcpus, &offer->ram_gib,
				   &offer->disk_gb};
	const char **const texts[] = {&offer->interconnect, &offer->country, &offer->price_basis,
				      &offer->original_currency, &offer->original_amount};

	if (member < 4)
		*amounts[member] += 1;
	else if (member < 9)
		*texts[member - 4] = "X";
	else if (member == 9)
		offer->price_micros++;
	else if (member == 10)
		offer->upfront_micros++;
	else if (member == 11)
		offer->quantity += 5;
	else if (member == 12)
		offer->is_mapped = !offer->is_mapped;
	else if (member == 13)
		offer->interruption_band++;
	else
		offer->availability =
			offer->availability == AVAILABILITY_NO ? AVAILABILITY_YES : AVAILABILITY_NO;
}

/* What is found by a hash of the row must be found for each member of it. */
START_TEST(a_change_of_any_member_is_found_and_written)
{
	struct offer offers[3], expected;
	struct store_outcome outcome;
	struct store_view view;

	for (int i = 0; i < 3; i++)
		offers[i] = fixture_offer(&arena, "acme", i, 1000000);
	fixture_apply(store, "acme", "test", offers, 3, FIXTURE_HOUR(0));
	change(&offers[1], _i);
	outcome = fixture_apply(store, "acme", "test", offers, 3, FIXTURE_HOUR(1));
	ck_assert_int_eq(outcome.changed, 1);
	ck_assert_int_eq(outcome.unchanged, 2);
	view = read_all();
	expected = offers[1];
	expected.observed_at_us = expected.last_seen_us = FIXTURE_HOUR(1);
	expected.first_seen_us = FIXTURE_HOUR(0);
	fixture_same_offer(find(&view, offers[1].id), &expected);
	outcome = fixture_apply(store, "acme", "test", offers, 3, FIXTURE_HOUR(2));
	ck_assert_int_eq(outcome.unchanged, 3);
}
END_TEST

START_TEST(a_row_without_a_hash_is_written_once_and_one_of_another_key_never)
{
	struct offer offer = fixture_offer(&arena, "acme", 1, 1000000);
	struct store_refresh refresh = {.provider = "acme",
					.source = "test",
					.offers = &offer,
					.offers_count = 1,
					.observed_at_us = FIXTURE_HOUR(3)};
	struct store_outcome outcome;
	struct error fault;

	fixture_apply(store, "acme", "test", &offer, 1, FIXTURE_HOUR(0));
	free(fixture_sql(url, "update offer set row_hash = 0"));
	ck_assert_int_eq(fixture_apply(store, "acme", "test", &offer, 1, FIXTURE_HOUR(1)).changed,
			 1);
	ck_assert_int_eq(fixture_apply(store, "acme", "test", &offer, 1, FIXTURE_HOUR(2)).unchanged,
			 1);
	/* As if a row of another key had the id. */
	free(fixture_sql(url, "update offer set row_hash = row_hash # (1::bigint << 60)"));
	error_init(&fault, NULL);
	ck_assert(!store_apply(store, &refresh, &outcome, &fault));
	ck_assert_ptr_nonnull(strstr(fault.detail, "has the id"));
}
END_TEST

START_TEST(changes_and_withdrawals_are_written_and_go_into_the_history)
{
	struct offer offers[10];
	struct store_outcome outcome;
	struct store_view view;
	char *text;

	for (int i = 0; i < 10; i++)
		offers[i] = fixture_offer(&arena, "acme", i, 1000000);
	fixture_apply(store, "acme", "test", offers, 10, FIXTURE_HOUR(0));
	offers[3].price_micros = 2000000;
	offers[4].price_micros = PRICE_UNKNOWN;
	outcome = fixture_apply(store, "acme", "test", offers, 8, FIXTURE_HOUR(1));
	ck_assert_int_eq(outcome.changed, 2);
	ck_assert_int_eq(outcome.unchanged, 6);
	ck_assert_int_eq(outcome.withdrawn, 2);
	ck_assert_int_eq(outcome.version, 2);
	view = read_all();
	ck_assert_uint_eq(view.offers_count, 8);
	ck_assert_int_eq(find(&view, offers[3].id)->price_micros, 2000000);
	ck_assert_int_eq(find(&view, offers[4].id)->price_micros, PRICE_UNKNOWN);
	/* Marked, never deleted; last seen when the feed last had it. */
	ck_assert_int_eq(fixture_count(url, "select count(*) from offer"), 10);
	text = fixture_sql(url, "select to_char(last_seen_at at time zone 'UTC', 'HH24') ||"
				" to_char(withdrawn_at at time zone 'UTC', 'HH24') from offer"
				" where withdrawn_at is not null limit 1");
	ck_assert_str_eq(text, "0001");
	free(text);
	text = fixture_sql(url,
			   "select string_agg(event || coalesce(price_micros::text, '-'), ' '"
			   " order by event, price_micros) from price_change where version = 2");
	ck_assert_str_eq(text, "changed2000000 changed- withdrawn1000000 withdrawn1000000");
	free(text);
	/* Back on sale: the same row, the same id, first seen as before. */
	outcome = fixture_apply(store, "acme", "test", offers, 10, FIXTURE_HOUR(2));
	ck_assert_int_eq(outcome.inserted, 2);
	view = read_all();
	ck_assert_uint_eq(view.offers_count, 10);
	ck_assert_int_eq(find(&view, offers[9].id)->first_seen_us, FIXTURE_HOUR(0));
	ck_assert_int_eq(find(&view, offers[9].id)->withdrawn_at_us, 0);
}
END_TEST

START_TEST(providers_and_sources_do_not_touch_each_other)
{
	struct offer a = fixture_offer(&arena, "acme", 1, 1000000);
	struct offer b = fixture_offer(&arena, "bolt", 1, 1000000);
	struct offer c = fixture_offer(&arena, "acme", 2, 1000000);

	fixture_apply(store, "acme", "test", &a, 1, FIXTURE_HOUR(0));
	fixture_apply(store, "bolt", "test", &b, 1, FIXTURE_HOUR(0));
	fixture_apply(store, "acme", "file", &c, 1, FIXTURE_HOUR(0));
	ck_assert_uint_eq(read_all().offers_count, 3);
	fixture_apply(store, "acme", "test", NULL, 0, FIXTURE_HOUR(1));
	ck_assert_uint_eq(read_all().offers_count, 2);
}
END_TEST

START_TEST(bundled_prices_keep_their_date_and_yield_to_live_ones)
{
	struct offer bundled[2] = {fixture_offer(&arena, "acme", 1, 1000000),
				   fixture_offer(&arena, "acme", 2, 2000000)};
	struct offer live[1] = {fixture_offer(&arena, "acme", 1, 1500000)};
	struct store_outcome outcome;
	struct store_view view;
	bool has_live;

	for (int i = 0; i < 2; i++)
		bundled[i].observed_at_us = FIXTURE_HOUR(-5000 - i);
	fixture_apply(store, "acme", STORE_BUNDLED, bundled, 2, FIXTURE_HOUR(0));
	view = read_all();
	ck_assert_int_eq(find(&view, bundled[1].id)->observed_at_us, FIXTURE_HOUR(-5001));
	ck_assert_uint_eq(view.providers_count, 1);
	ck_assert_str_eq(view.providers[0].source, "");
	ck_assert(store_has_live(store, "acme", &has_live, &error) && !has_live);
	outcome = fixture_apply(store, "acme", STORE_BUNDLED, bundled, 2, FIXTURE_HOUR(1));
	ck_assert_int_eq(outcome.unchanged, 2);

	outcome = fixture_apply(store, "acme", "test", live, 1, FIXTURE_HOUR(2));
	ck_assert_int_eq(outcome.changed, 1); /* the same key: its row is taken over */
	ck_assert_int_eq(outcome.withdrawn, 1);
	view = read_all();
	ck_assert_uint_eq(view.offers_count, 1);
	ck_assert_str_eq(view.offers[0].source, "test");
	ck_assert_int_eq(view.offers[0].observed_at_us, FIXTURE_HOUR(2));
	ck_assert_uint_eq(view.providers_count, 1);
	ck_assert_str_eq(view.providers[0].source, "test");
	ck_assert(store_has_live(store, "acme", &has_live, &error) && has_live);

	/* Seeding again never overwrites what is live. */
	outcome = fixture_apply(store, "acme", STORE_BUNDLED, bundled, 1, FIXTURE_HOUR(3));
	ck_assert_int_eq(outcome.unchanged, 1);
	ck_assert_int_eq(read_all().offers[0].price_micros, 1500000);
}
END_TEST

START_TEST(a_row_that_is_held_back_keeps_its_date_while_its_feed_goes_on)
{
	struct offer offers[2] = {fixture_offer(&arena, "acme", 1, 1000000),
				  fixture_offer(&arena, "acme", 2, 1000000)};
	struct store_view view;

	fixture_apply(store, "acme", "test", offers, 2, FIXTURE_HOUR(0));
	offers[0].observed_at_us = FIXTURE_HOUR(0);
	fixture_apply(store, "acme", "test", offers, 2, FIXTURE_HOUR(1));
	fixture_apply(store, "acme", "test", offers, 2, FIXTURE_HOUR(2));
	view = read_all();
	ck_assert_int_eq(find(&view, offers[0].id)->observed_at_us, FIXTURE_HOUR(0));
	ck_assert_int_eq(find(&view, offers[1].id)->observed_at_us, FIXTURE_HOUR(2));
	offers[0].observed_at_us = 0;
	fixture_apply(store, "acme", "test", offers, 2, FIXTURE_HOUR(3));
	view = read_all();
	ck_assert_int_eq(find(&view, offers[0].id)->observed_at_us, FIXTURE_HOUR(3));
}
END_TEST

static void refused(struct offer *offers, size_t count, const char *source, const char *expected)
{
	struct store_refresh refresh = {.provider = "acme",
					.source = source,
					.offers = offers,
					.offers_count = count,
					.observed_at_us = FIXTURE_HOUR(1)};
	struct store_outcome outcome;

	error_init(&error, NULL);
	ck_assert(!store_apply(store, &refresh, &outcome, &error));
	ck_assert_msg(strstr(error.detail, expected) != NULL, "%s", error.detail);
	ck_assert_uint_eq(read_all().offers_count, 1);
	ck_assert_int_eq(read_all().clock.version, 1);
}

START_TEST(a_refresh_with_one_bad_row_is_refused_whole_and_named)
{
	struct offer offers[2] = {fixture_offer(&arena, "acme", 1, 1000000),
				  fixture_offer(&arena, "acme", 2, 1000000)};

	fixture_apply(store, "acme", "test", offers, 1, FIXTURE_HOUR(0));
	offers[1].source = "test";
	offers[1].price_micros = 0;
	refused(offers, 2, "test", "type-2 has a price of zero");
	offers[1] = offers[0];
	refused(offers, 2, "test", "twice");
	offers[1] = fixture_offer(&arena, "bolt", 2, 1000000);
	refused(offers, 2, "test", "another provider");
	offers[1] = fixture_offer(&arena, "acme", 2, 1000000);
	offers[1].id ^= 1;
	refused(offers, 2, "test", "not its key's");
	/* Bad text is found by the server, in the middle of the transaction. */
	offers[1] = fixture_offer(&arena, "acme", 2, 1000000);
	offers[1].price_basis = "\xff\xfe";
	offers[0].price_micros = 3000000;
	refused(offers, 2, "test", "invalid byte sequence");
}
END_TEST

START_TEST(unmapped_spellings_are_counted_until_a_rule_knows_them)
{
	struct unmapped unmapped[2] = {{.spelling = "H100 turbo", .rows = 3},
				       {.spelling = "B9000", .rows = 1}};
	struct store_refresh refresh = {.provider = "acme",
					.source = "test",
					.observed_at_us = FIXTURE_HOUR(0),
					.unmapped = unmapped,
					.unmapped_count = 2};
	struct store_outcome outcome;
	struct store_view view;

	ck_assert(store_apply(store, &refresh, &outcome, &error));
	view = read_all();
	ck_assert_uint_eq(view.unmapped_count, 2);
	ck_assert_str_eq(view.unmapped[1].spelling, "H100 turbo");
	ck_assert_int_eq(view.unmapped[1].rows, 3);
	refresh.unmapped_count = 1;
	refresh.observed_at_us = FIXTURE_HOUR(1);
	ck_assert(store_apply(store, &refresh, &outcome, &error));
	view = read_all();
	ck_assert_uint_eq(view.unmapped_count, 1);
	ck_assert_int_eq(view.unmapped[0].first_seen_us, FIXTURE_HOUR(0));
	ck_assert_int_eq(view.unmapped[0].last_seen_us, FIXTURE_HOUR(1));
	ck_assert_int_eq(fixture_count(url, "select count(*) from unmapped_accelerator"), 2);
}
END_TEST

START_TEST(runs_are_kept_and_the_last_success_stays_known)
{
	struct store_run run = {.provider = "acme",
				.source = "test",
				.started_us = FIXTURE_HOUR(0),
				.finished_us = FIXTURE_HOUR(1),
				.outcome = "ok",
				.refresh_seconds = 300,
				.rows_seen = 10,
				.rows_accepted = 9,
				.rows_rejected = 1};
	struct store_view view;

	ck_assert_msg(store_record_run(store, &run, &error), "%s", error.detail);
	run.outcome = "http";
	run.detail = "status 503";
	run.finished_us = FIXTURE_HOUR(2);
	run.rows_seen = run.rows_accepted = run.rows_rejected = 0;
	ck_assert_msg(store_record_run(store, &run, &error), "%s", error.detail);
	ck_assert_int_eq(fixture_count(url, "select count(*) from ingest_run"), 2);
	view = read_all();
	ck_assert_uint_eq(view.providers_count, 1);
	ck_assert_str_eq(view.providers[0].outcome, "http");
	ck_assert_str_eq(view.providers[0].detail, "status 503");
	ck_assert_int_eq(view.providers[0].last_attempt_us, FIXTURE_HOUR(2));
	ck_assert_int_eq(view.providers[0].last_success_us, FIXTURE_HOUR(1));
	ck_assert_int_eq(view.providers[0].rows_seen, 10);
	ck_assert(view.providers[0].is_stale); /* by today's clock */
	ck_assert(!store_is_stale(&view.providers[0], FIXTURE_HOUR(1) + 900 * INT64_C(1000000)));
	ck_assert(store_is_stale(&view.providers[0], FIXTURE_HOUR(1) + 901 * INT64_C(1000000)));
	ck_assert_int_eq(view.clock.version, 0);
	ck_assert_int_eq(view.clock.status, 2);
}
END_TEST

/* Refreshes for ever, at a new price each; tells `ready` when it leads. */
static void work_until_killed(struct offer *offers, size_t count, int64_t price_micros, int ready)
{
	struct store *worker = fixture_leader(url);

	if (write(ready, "x", 1) != 1)
		_exit(1);
	for (;; price_micros++) {
		for (size_t i = 0; i < count; i++)
			offers[i].price_micros = price_micros;
		fixture_apply(worker, "acme", "test", offers, count, FIXTURE_HOUR(1));
	}
}

/* Kills it at some moment within `most_us` of its first refresh. */
static void kill_worker(struct offer *offers, size_t count, int round, int64_t most_us)
{
	int ready[2];
	char byte;
	pid_t child;

	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		work_until_killed(offers, count, 2000000 + round * 10000, ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	usleep((useconds_t)(most_us * ((round * 37) % 100) / 100));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

/* The table holds the old set or the new one, whole, and the log agrees with it. */
START_TEST(a_worker_killed_in_the_middle_leaves_the_old_set_or_the_new_one)
{
	enum { ROWS = 5000, ROUNDS = 12 };
	struct offer *offers = arena_array(&arena, ROWS, sizeof(*offers));
	int64_t took_us = clock_monotonic_us(), versions = 1;

	for (int i = 0; i < ROWS; i++)
		offers[i] = fixture_offer(&arena, "acme", i, 1000000);
	fixture_apply(store, "acme", "test", offers, ROWS, FIXTURE_HOUR(0));
	took_us = clock_monotonic_us() - took_us;
	store_free(store); /* the child leads */
	/* On a busy machine a refresh may take much longer than the first did: give the worker more
	 * time from round to round, until some refreshes went through as well. */
	for (int round = 1; round <= ROUNDS || (versions == 1 && round <= 4 * ROUNDS); round++) {
		kill_worker(offers, ROWS, round, (3 + round / 3) * took_us);
		/* The server notices, and rolls back, at its own pace: wait for its lock. */
		store = store_new(url, "judge");
		for (bool is_leader = false; !is_leader;)
			ck_assert(store_lead(store, &is_leader, &error));
		store_free(store);
		ck_assert_int_eq(
			fixture_count(url, "select count(distinct price_micros) from offer"), 1);
		versions = fixture_count(url, "select version from clock");
		ck_assert_int_eq(fixture_count(url, "select count(*) from price_change"),
				 versions * ROWS);
		ck_assert_int_eq(fixture_count(url, "select max(version) from price_change"),
				 versions);
	}
	ck_assert_int_gt(versions, 1); /* some refreshes did go through */
	store = store_new(url, "tear down");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("apply");
	TCase *tests = tcase_create("apply");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, what_is_stored_comes_back_unchanged);
	tcase_add_test(tests, an_unchanged_refresh_moves_dates_but_neither_version_nor_rows);
	tcase_add_loop_test(tests, a_change_of_any_member_is_found_and_written, 0, 15);
	tcase_add_test(tests, a_row_without_a_hash_is_written_once_and_one_of_another_key_never);
	tcase_add_test(tests, changes_and_withdrawals_are_written_and_go_into_the_history);
	tcase_add_test(tests, providers_and_sources_do_not_touch_each_other);
	tcase_add_test(tests, bundled_prices_keep_their_date_and_yield_to_live_ones);
	tcase_add_test(tests, a_row_that_is_held_back_keeps_its_date_while_its_feed_goes_on);
	tcase_add_test(tests, a_refresh_with_one_bad_row_is_refused_whole_and_named);
	tcase_add_test(tests, unmapped_spellings_are_counted_until_a_rule_knows_them);
	tcase_add_test(tests, runs_are_kept_and_the_last_success_stays_known);
	tcase_add_test(tests, a_worker_killed_in_the_middle_leaves_the_old_set_or_the_new_one);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
