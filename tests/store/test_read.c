/* Replicas: deltas add up to the whole, also with several writers; when the log does not reach
 * back. */
#include "server/refresh_merge.h"
#include "tests/offer_at.h"
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
	for (size_t i = 0; i < view.offers_count; i++) {
		struct offer offer = offer_at(catalogue, (uint32_t)i);

		fixture_same_offer(&offer, &view.offers[i]);
	}
}

/* What it tells pollers is what a replica tells that starts now. */
static void same_changes_as_anew(const struct catalogue *catalogue)
{
	struct book book = {.is_complete = false};
	struct store_view view;
	struct catalogue *anew;

	ck_assert_msg(store_read_all(reader, &arena, &view, &error), "%s", error.detail);
	anew = book_build(&book, NULL, &view, &error);
	ck_assert_msg(anew != NULL, "%s", error.detail);
	ck_assert_int_eq(catalogue->changes_from, anew->changes_from);
	ck_assert_uint_eq(catalogue->gone_count, anew->gone_count);
	ck_assert_uint_eq(catalogue->changes_count, anew->changes_count);
	ck_assert_uint_eq(catalogue->changes_count,
			  catalogue->offers_count + catalogue->gone_count);
	for (uint32_t i = 0; i < catalogue->changes_count; i++) {
		const struct offer_change *a = &catalogue->changes[i], *b = &anew->changes[i];
		struct offer of_a = changed_at(catalogue, a->place);
		struct offer of_b = changed_at(anew, b->place);

		ck_assert_uint_eq(a->since, b->since);
		fixture_same_offer(&of_a, &of_b);
	}
	catalogue_free(anew);
	book_release(&book);
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
		same_changes_as_anew(catalogue);
	}
	catalogue = follow(&book, catalogue);
	same_as_all(catalogue);
	same_changes_as_anew(catalogue);
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

static const struct offer *find(const struct offer *offers, size_t count, uint64_t id)
{
	for (size_t i = 0; i < count; i++)
		if (offers[i].id == id)
			return &offers[i];
	return NULL;
}

/* Of offer 1, on sale or not: "VERSION/PUBLIC VERSION". */
static void check_versions(const char *expected)
{
	struct offer offer = fixture_offer(&arena, "acme", 1, 1);
	const struct offer *found;
	struct store_view view;
	char text[64];

	ck_assert_msg(store_read_all(reader, &arena, &view, &error), "%s", error.detail);
	found = find(view.offers, view.offers_count, offer.id);
	if (!found)
		found = find(view.gone, view.gone_count, offer.id);
	ck_assert_ptr_nonnull(found);
	snprintf(text, sizeof(text), "%d/%d%s", (int)found->version, (int)found->public_version,
		 found->withdrawn_at_us ? " gone" : "");
	ck_assert_str_eq(text, expected);
}

START_TEST(versions_are_of_the_last_change_that_shows)
{
	struct offer offers[2] = {fixture_offer(&arena, "acme", 1, 5000000),
				  fixture_offer(&arena, "acme", 2, 5000000)};

	fixture_apply(store, "acme", "live", offers, 2, FIXTURE_HOUR(1));
	check_versions("1/1");
	fixture_apply(store, "acme", "live", offers, 2, FIXTURE_HOUR(2)); /* nothing new */
	check_versions("1/1");
	offers[1].price_micros++;
	fixture_apply(store, "acme", "live", offers, 2, FIXTURE_HOUR(3)); /* of the other */
	check_versions("1/1");
	offers[0].price_basis = "10 %" OFFER_BASIS_DISCOUNTED;
	fixture_apply(store, "acme", "live", offers, 2, FIXTURE_HOUR(4)); /* leaves the public */
	check_versions("3/3");
	offers[0].price_micros++;
	fixture_apply(store, "acme", "live", offers, 2, FIXTURE_HOUR(5));
	check_versions("4/3");
	fixture_apply(store, "acme", "live", offers + 1, 1, FIXTURE_HOUR(6));
	check_versions("5/3 gone");
	offers[0].price_basis = "instance";
	fixture_apply(store, "acme", "live", offers, 2, FIXTURE_HOUR(7));
	check_versions("6/6");
	fixture_apply(store, "acme", "live", offers + 1, 1, FIXTURE_HOUR(8));
	check_versions("7/7 gone");
	offers[0].price_basis = "10 %" OFFER_BASIS_DISCOUNTED;
	fixture_apply(store, "acme", "live", offers, 2, FIXTURE_HOUR(9)); /* back, unseen */
	check_versions("8/7");
}
END_TEST

START_TEST(offers_that_changed_twice_are_named)
{
	struct offer offers[3] = {fixture_offer(&arena, "acme", 1, 5000000),
				  fixture_offer(&arena, "acme", 2, 5000000),
				  fixture_offer(&arena, "acme", 3, 5000000)};
	struct store_view view;

	fixture_apply(store, "acme", "live", offers, 3, FIXTURE_HOUR(1));
	ck_assert(store_read_all(reader, &arena, &view, &error));
	for (int hour = 2; hour < 4; hour++) {
		offers[1].price_micros++;
		fixture_apply(store, "acme", "live", offers, hour == 2 ? 3 : 2, FIXTURE_HOUR(hour));
	}
	ck_assert(store_read_since(reader, view.clock.epoch, view.clock.version, &arena, &view,
				   &error));
	ck_assert(view.is_delta);
	ck_assert_uint_eq(view.offers_count, 2);
	ck_assert_uint_eq(view.restless_count, 1);
	ck_assert_uint_eq(view.restless[0], offers[1].id);
}
END_TEST

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
	tcase_add_test(tests, versions_are_of_the_last_change_that_shows);
	tcase_add_test(tests, offers_that_changed_twice_are_named);
	tcase_add_test(tests, a_slow_writer_never_loses_its_rows);
	tcase_add_test(tests, another_epoch_or_a_log_that_was_cut_is_answered_with_everything);
	tcase_add_test(tests, old_days_become_hours_and_cut_the_log);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
