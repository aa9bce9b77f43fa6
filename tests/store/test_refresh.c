/* The refresh thread against a real database: catching up, dates, staleness, a start without it. */
#include "server/clock.h"
#include "server/refresh.h"
#include "tests/offer_at.h"
#include "tests/store/fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_SECONDS 60

static struct arena arena;
static struct error error;
static char *url, folder[] = "/tmp/gpupick-refresh-XXXXXX";
static struct store *store;
static struct snapshot_slot *slot;
static struct config config;

static void set_up(void)
{
	arena_init(&arena, 1 << 26);
	error_init(&error, NULL);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	url = fixture_migrated();
	store = fixture_leader(url);
	slot = snapshot_slot_new();
	config = (struct config){.database_url = url, .data = folder, .clock_seconds = 0.1};
}

static void tear_down(void)
{
	char *path = arena_printf(&arena, "%s/snapshot", folder);

	snapshot_slot_free(slot);
	store_free(store);
	unlink(path);
	ck_assert_int_eq(rmdir(folder), 0);
	free(url);
	arena_release(&arena);
}

static struct refresh *start(void)
{
	struct refresh *refresh = refresh_start(&config, slot, NULL, &error);

	ck_assert_msg(refresh != NULL, "%s", error.detail);
	return refresh;
}

/* The first catalogue that `is_awaited`, in the end; to be released. */
static const struct catalogue *await(bool (*is_awaited)(const struct catalogue *, int64_t),
				     int64_t value)
{
	const int64_t until_us = clock_monotonic_us() + PATIENCE_SECONDS * US_PER_SECOND;

	for (;;) {
		const struct catalogue *catalogue = snapshot_acquire(slot);

		if (catalogue && is_awaited(catalogue, value))
			return catalogue;
		ck_assert_msg(clock_monotonic_us() < until_us, "not within %d s", PATIENCE_SECONDS);
		snapshot_release(slot, catalogue);
		usleep(5000);
	}
}

static bool has_version(const struct catalogue *catalogue, int64_t version)
{
	return catalogue->version == version;
}

static bool is_observed(const struct catalogue *catalogue, int64_t wall_us)
{
	return catalogue->offers_count && offer_at(catalogue, 0).observed_at_us == wall_us;
}

static bool is_first_stale(const struct catalogue *catalogue, int64_t stale)
{
	return catalogue->providers_count && catalogue->providers[0].is_stale == (stale != 0);
}

START_TEST(a_commit_is_seen_within_two_seconds)
{
	struct offer offers[30];
	const struct catalogue *catalogue;
	struct refresh *refresh;
	int64_t quickest_us = INT64_MAX;

	config.clock_seconds = 1; /* the default */
	for (int i = 0; i < 30; i++)
		offers[i] = fixture_offer(&arena, "acme", i, 1000000);
	refresh = start();
	snapshot_release(slot, await(has_version, 0)); /* an empty market is a snapshot too */
	for (int version = 1; version <= 3; version++) {
		int64_t took_us;

		offers[version].price_micros += version;
		fixture_apply(store, "acme", "test", offers, 30, FIXTURE_HOUR(version));
		took_us = clock_monotonic_us();
		catalogue = await(has_version, version);
		took_us = clock_monotonic_us() - took_us;
		quickest_us = took_us < quickest_us ? took_us : quickest_us;
		ck_assert_uint_eq(catalogue->offers_count, 30);
		ck_assert_int_eq(offer_at(catalogue, catalogue_find(catalogue, offers[version].id))
					 .price_micros,
				 1000000 + version);
		ck_assert_int_eq(offer_at(catalogue, 0).observed_at_us, FIXTURE_HOUR(version));
		snapshot_release(slot, catalogue);
	}
	/* What else the machine does can only delay. */
	ck_assert_int_lt(quickest_us, 2 * US_PER_SECOND);
	refresh_stop(refresh);
}
END_TEST

START_TEST(dates_move_with_an_unchanged_refresh_and_the_version_stays)
{
	struct offer offer = fixture_offer(&arena, "acme", 1, 1000000);
	const struct catalogue *catalogue;
	struct refresh *refresh = start();

	fixture_apply(store, "acme", "test", &offer, 1, FIXTURE_HOUR(0));
	snapshot_release(slot, await(has_version, 1));
	fixture_apply(store, "acme", "test", &offer, 1, FIXTURE_HOUR(1));
	catalogue = await(is_observed, FIXTURE_HOUR(1));
	ck_assert_int_eq(catalogue->version, 1);
	snapshot_release(slot, catalogue);
	refresh_stop(refresh);
}
END_TEST

START_TEST(a_feed_turns_stale_by_itself)
{
	struct store_run run = {.provider = "acme",
				.source = "test",
				.started_us = clock_wall_us(),
				.finished_us = clock_wall_us(),
				.outcome = "ok",
				.refresh_seconds = 3}; /* stale after 9: time enough to start */
	struct offer offer = fixture_offer(&arena, "acme", 1, 1000000);
	struct refresh *refresh;

	fixture_apply(store, "acme", "test", &offer, 1, run.finished_us);
	ck_assert(store_record_run(store, &run, &error));
	refresh = start();
	snapshot_release(slot, await(is_first_stale, false));
	/* Nothing is written any more: only time passes. */
	snapshot_release(slot, await(is_first_stale, true));
	refresh_stop(refresh);
}
END_TEST

START_TEST(the_file_serves_a_start_without_the_database_and_prices_catch_up)
{
	struct offer offers[20];
	const struct catalogue *catalogue;
	struct refresh *refresh;

	for (int i = 0; i < 20; i++)
		offers[i] = fixture_offer(&arena, "acme", i, 1000000);
	fixture_apply(store, "acme", "test", offers, 20, FIXTURE_HOUR(0));
	refresh = start();
	snapshot_release(slot, await(has_version, 1));
	refresh_stop(refresh); /* saves */
	snapshot_slot_free(slot);

	slot = snapshot_slot_new();
	config.database_url = "host=127.0.0.1 port=1 dbname=nowhere";
	refresh = start();
	catalogue = await(has_version, 1);
	ck_assert_uint_eq(catalogue->offers_count, 20);
	ck_assert_int_eq(offer_at(catalogue, 0).observed_at_us, FIXTURE_HOUR(0));
	snapshot_release(slot, catalogue);
	refresh_stop(refresh);
	snapshot_slot_free(slot);

	/* From the same file, with the database: what it lacks, and dates that follow again. */
	slot = snapshot_slot_new();
	config.database_url = url;
	fixture_apply(store, "acme", "test", offers, 15, FIXTURE_HOUR(1));
	refresh = start();
	catalogue = await(has_version, 2);
	ck_assert_uint_eq(catalogue->offers_count, 15);
	ck_assert_int_eq(offer_at(catalogue, 0).observed_at_us, FIXTURE_HOUR(1));
	snapshot_release(slot, catalogue);
	fixture_apply(store, "acme", "test", offers, 15, FIXTURE_HOUR(2));
	snapshot_release(slot, await(is_observed, FIXTURE_HOUR(2)));
	refresh_stop(refresh);
}
END_TEST

START_TEST(a_renewed_epoch_is_followed_and_a_version_that_went_back_is_not)
{
	struct offer offer = fixture_offer(&arena, "acme", 1, 1000000);
	const struct catalogue *catalogue;
	struct refresh *refresh = start();

	for (int i = 0; i < 3; i++) {
		offer.price_micros++;
		fixture_apply(store, "acme", "test", &offer, 1, FIXTURE_HOUR(i));
	}
	snapshot_release(slot, await(has_version, 3));
	free(fixture_sql(url, "update clock set version = 1"));
	usleep(500000);
	catalogue = snapshot_acquire(slot);
	ck_assert_int_eq(catalogue->version, 3);
	snapshot_release(slot, catalogue);
	free(fixture_sql(url, "update clock set epoch = gen_random_uuid()"));
	snapshot_release(slot, await(has_version, 1));
	refresh_stop(refresh);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refresh");
	TCase *tests = tcase_create("refresh");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, a_commit_is_seen_within_two_seconds);
	tcase_add_test(tests, dates_move_with_an_unchanged_refresh_and_the_version_stays);
	tcase_add_test(tests, a_feed_turns_stale_by_itself);
	tcase_add_test(tests, the_file_serves_a_start_without_the_database_and_prices_catch_up);
	tcase_add_test(tests, a_renewed_epoch_is_followed_and_a_version_that_went_back_is_not);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
