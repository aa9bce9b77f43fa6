/* Replicas: deltas add up to the whole, also with several writers; when the log does not reach
 * back. */
#include "server/refresh_merge.h"
#include "tests/store/fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static struct error error;
static char *url;
static struct store *store, *reader;

static void set_up(void)
{
	arena_init(&arena, (size_t)1 << 28);
	error_init(&error, NULL);
	url = fixture_migrated();
	store = fixture_leader(url);
	reader = store_new(url, "reader");
}

static void tear_down(void)
{
	store_free(store);
	store_free(reader);
	free(url);
	arena_release(&arena);
}

/* xorshift: the same sequence everywhere. */
static unsigned draw(unsigned *state, unsigned below)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % below;
}

static int compare_ids(const void *left, const void *right)
{
	const struct offer *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

/* What the catalogue holds is what the database has on sale. */
static void same_as_all(const struct catalogue *catalogue)
{
	struct store_view view;

	ck_assert_msg(store_read_all(reader, &arena, &view, &error), "%s", error.detail);
	ck_assert(!view.is_delta);
	ck_assert_int_eq(catalogue->version, view.clock.version);
	ck_assert_uint_eq(catalogue->offers_count, view.offers_count);
	qsort(view.offers, view.offers_count, sizeof(*view.offers), compare_ids);
	for (size_t i = 0; i < view.offers_count; i++)
		fixture_same_offer(&catalogue->offers[i], &view.offers[i]);
}

/* Reads what changed, as a replica does. */
static struct catalogue *follow(struct book *book, struct catalogue *base)
{
	struct store_view view;
	struct catalogue *next;

	ck_assert_msg(store_read_since(reader, base ? base->epoch : "", base ? base->version : 0,
				       &arena, &view, &error),
		      "%s", error.detail);
	ck_assert_int_eq(view.is_delta, base != NULL);
	next = book_build(book, base, &view, &error);
	ck_assert_msg(next != NULL, "%s", error.detail);
	catalogue_free(base);
	return next;
}

/* Two providers, three sources, random sets at random prices; rows leave, return, change, age. */
START_TEST(deltas_add_up_to_the_whole)
{
	enum { OFFERS = 120, ROUNDS = 40 };
	static const char *const sources[] = {"test", "file", STORE_BUNDLED};
	unsigned state = 2463534242u + (unsigned)_i;
	struct catalogue *catalogue;
	struct book book = {.is_complete = false};

	catalogue = follow(&book, NULL);
	for (int round = 1; round <= ROUNDS; round++) {
		struct offer *offers = arena_array(&arena, OFFERS, sizeof(*offers));
		const char *provider = draw(&state, 2) ? "acme" : "bolt";
		unsigned source = draw(&state, 3), keep = draw(&state, 100);
		size_t count = 0;

		for (int n = (int)source * 10; n < OFFERS / 2 + (int)source * 10; n++) {
			if (draw(&state, 100) < keep / 2)
				continue;
			offers[count] =
				fixture_offer(&arena, provider, n, 1000000 + draw(&state, 3) * 10);
			if (draw(&state, 20) == 0)
				offers[count].price_micros = PRICE_UNKNOWN;
			if (draw(&state, 15) == 0)
				offers[count].observed_at_us = FIXTURE_HOUR(round - 1);
			offers[count].availability = (enum availability)draw(&state, 2);
			count++;
		}
		fixture_apply(store, provider, sources[source], offers, count, FIXTURE_HOUR(round));
		if (draw(&state, 3) == 0)
			continue; /* several versions in one delta */
		catalogue = follow(&book, catalogue);
		same_as_all(catalogue);
	}
	catalogue = follow(&book, catalogue);
	same_as_all(catalogue);
	ck_assert_int_gt(catalogue->version, ROUNDS / 3);
	catalogue_free(catalogue);
	book_release(&book);
}
END_TEST

/* A writer that takes its version early and commits late: with a sequence its rows would be lost.
 */
static void *slow_writer(void *argument)
{
	bool *stop = argument;
	int n = 0;

	while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE) || n < 3)
		free(fixture_sql(
			url,
			"begin;"
			"update clock set version = version + 1, as_of = clock_timestamp();"
			"update offer set price_micros = %d where id ="
			" (select id from offer order by id limit 1 offset %d);"
			"insert into price_change select c.version, o.id, c.as_of, 'changed',"
			" o.price_micros, o.availability, o.quantity from clock c, offer o"
			" where o.price_micros = %d;"
			"select pg_sleep(0.02);"
			"commit",
			5000000 + n, n % 20, 5000000 + n)),
			n++;
	return NULL;
}

START_TEST(a_slow_writer_never_loses_its_rows)
{
	enum { OFFERS = 50, ROUNDS = 30 };
	struct offer offers[OFFERS];
	struct catalogue *catalogue;
	struct book book = {.is_complete = false};
	pthread_t thread;
	bool stop = false;
	int64_t last = 0;

	for (int i = 0; i < OFFERS; i++)
		offers[i] = fixture_offer(&arena, "acme", i, 1000000);
	fixture_apply(store, "acme", "test", offers, OFFERS, FIXTURE_HOUR(0));
	catalogue = follow(&book, NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, slow_writer, &stop), 0);
	for (int round = 1; round <= ROUNDS; round++) {
		offers[round % OFFERS].price_micros = 2000000 + round;
		fixture_apply(store, "acme", "test", offers, OFFERS, FIXTURE_HOUR(round));
		catalogue = follow(&book, catalogue);
		ck_assert_int_ge(catalogue->version, last);
		last = catalogue->version;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	catalogue = follow(&book, catalogue);
	same_as_all(catalogue);
	ck_assert_int_ge(catalogue->version, ROUNDS + 1 + 3);
	/* No version without its rows, none twice. */
	ck_assert_int_eq(fixture_count(url, "select count(distinct version) from price_change"),
			 catalogue->version);
	catalogue_free(catalogue);
	book_release(&book);
}
END_TEST

START_TEST(another_epoch_or_a_log_that_was_cut_is_answered_with_everything)
{
	struct offer offers[3];
	struct store_view view;
	char epoch[EPOCH_TEXT];

	for (int i = 0; i < 3; i++) {
		offers[i] = fixture_offer(&arena, "acme", i, 1000000);
		fixture_apply(store, "acme", "test", offers, (size_t)i + 1, FIXTURE_HOUR(i));
	}
	ck_assert(store_read_since(reader, "", 2, &arena, &view, &error));
	ck_assert(!view.is_delta && view.offers_count == 3);
	snprintf(epoch, sizeof(epoch), "%s", view.clock.epoch);
	ck_assert(store_read_since(reader, epoch, 2, &arena, &view, &error));
	ck_assert(view.is_delta && view.offers_count == 1);
	ck_assert(store_read_since(reader, epoch, 3, &arena, &view, &error));
	ck_assert(view.is_delta && view.offers_count == 0);
	ck_assert(store_read_since(reader, epoch, 4, &arena, &view, &error));
	ck_assert(!view.is_delta);
	free(fixture_sql(url, "update clock set log_from = 2"));
	ck_assert(store_read_since(reader, epoch, 1, &arena, &view, &error));
	ck_assert(!view.is_delta && view.offers_count == 3);
	ck_assert(store_read_since(reader, epoch, 2, &arena, &view, &error));
	ck_assert(view.is_delta && view.offers_count == 1);
	free(fixture_sql(url, "update clock set epoch = gen_random_uuid()"));
	ck_assert(store_read_since(reader, epoch, 3, &arena, &view, &error));
	ck_assert(!view.is_delta);
}
END_TEST

/* Changes of ten days ago from 05:00 on, 40 minutes apart, in a partition made for them. */
static void add_old_changes(uint64_t offer_id, int first_version, int last_version)
{
	free(fixture_sql(
		url,
		"do $$ declare day date := (now() at time zone 'UTC')::date - 10;"
		" name text := 'price_change_' || to_char(day, 'YYYYMMDD'); begin"
		" execute format('create table %%I (like price_change including all)', name);"
		" execute format('alter table price_change attach partition %%I for values from "
		"(%%L)"
		" to (%%L)', name, day || ' 00:00+00', day + 1 || ' 00:00+00');"
		" execute format('alter table %%I owner to gpupick_owner', name);"
		" insert into price_change select v, %lld, (day || ' 05:00+00')::timestamptz +"
		" (v - %d) * interval '40 minutes', 'changed', v * 10, 'yes', v from "
		"generate_series(%d, %d) v;"
		" update clock set version = 10; end $$",
		(long long)offer_id, first_version, first_version, last_version));
}

static void hours_are(const char *expected)
{
	char *hours =
		fixture_sql(url, "select string_agg(concat_ws(',', first_micros, last_micros,"
				 " low_micros, high_micros, changes, last_event, last_availability,"
				 " last_quantity), ' ' order by hour) from price_hour");

	ck_assert_str_eq(hours, expected);
	free(hours);
}

START_TEST(old_days_become_hours_and_cut_the_log)
{
	struct offer offer = fixture_offer(&arena, "acme", 1, 1000000);
	struct store_view view;
	char epoch[EPOCH_TEXT];

	fixture_apply(store, "acme", "test", &offer, 1, FIXTURE_HOUR(0));
	add_old_changes(offer.id, 3, 5);
	ck_assert_int_eq(fixture_count(url, "select count(*) from price_change"), 4);
	ck_assert_msg(store_housekeeping(store, &error), "%s", error.detail);
	ck_assert_int_eq(fixture_count(url, "select count(*) from price_change"), 1);
	hours_are("30,40,30,40,2,changed,yes,4 50,50,50,50,1,changed,yes,5");
	ck_assert_int_eq(fixture_count(url, "select log_from from clock"), 5);
	ck_assert(store_read_since(reader, "", 0, &arena, &view, &error));
	snprintf(epoch, sizeof(epoch), "%s", view.clock.epoch);
	ck_assert(store_read_since(reader, epoch, 4, &arena, &view, &error) && !view.is_delta);
	ck_assert(store_read_since(reader, epoch, 5, &arena, &view, &error) && view.is_delta);
	/* Partitions are there for the days to come. */
	ck_assert_int_ge(fixture_count(url, "select count(*) from pg_inherits i where"
					    " i.inhparent = 'price_change'::regclass"),
			 9);
	/* A day that comes again (the server's clock was set back) is added to. */
	add_old_changes(offer.id, 6, 7);
	ck_assert_msg(store_housekeeping(store, &error), "%s", error.detail);
	hours_are("30,70,30,70,4,changed,yes,7 50,50,50,50,1,changed,yes,5");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("read");
	TCase *tests = tcase_create("read");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, deltas_add_up_to_the_whole, 0, 5);
	tcase_add_test(tests, a_slow_writer_never_loses_its_rows);
	tcase_add_test(tests, another_epoch_or_a_log_that_was_cut_is_answered_with_everything);
	tcase_add_test(tests, old_days_become_hours_and_cut_the_log);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
