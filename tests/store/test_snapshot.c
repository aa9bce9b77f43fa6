/* The slot under load, and the file: round trip, damage, other formats. No database. */
#include "core/hash.h"
#include "server/snapshot.h"
#include "server/snapshot_format.h"
#include "tests/offer_at.h"
#include "tests/store/fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena arena;
static struct error error;
static char folder[] = "/tmp/gpupick-snapshot-XXXXXX", *path;

static void set_up(void)
{
	arena_init(&arena, (size_t)1 << 28);
	error_init(&error, NULL);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	path = arena_printf(&arena, "%s/snapshot", folder);
}

static void tear_down(void)
{
	unlink(path);
	ck_assert_int_eq(rmdir(folder), 0); /* nothing else is left behind */
	arena_release(&arena);
}

static struct catalogue *build(int64_t version, size_t count)
{
	struct provider_status providers[2] = {
		{.provider = "acme",
		 .source = "test",
		 .outcome = "http",
		 .detail = "status 503",
		 .last_attempt_us = FIXTURE_HOUR(2),
		 .last_success_us = FIXTURE_HOUR(1),
		 .refresh_seconds = 300,
		 .rows_seen = 10,
		 .rows_accepted = 7,
		 .rows_rejected = 2,
		 .rows_unmapped = 1,
		 .rejections = "no_price 2",
		 .rows_usual = 8,
		 .offers = 7,
		 .is_stale = true},
		{.provider = "bolt", .source = "", .outcome = "", .detail = ""},
	};
	struct unmapped unmapped = {.provider = "acme",
				    .spelling = "H100 \"turbo\" \xc3\xa9",
				    .rows = 3,
				    .first_seen_us = FIXTURE_HOUR(0),
				    .last_seen_us = FIXTURE_HOUR(1)};
	struct offer *offers = arena_array(&arena, count, sizeof(*offers));
	struct offer gone[2] = {fixture_offer(&arena, "acme", 90001, 7),
				fixture_offer(&arena, "bolt", 90002, 8)};
	struct catalogue_input input = {.epoch = "0b7e1d9c-4a44-4e7e-8d0e-6a1f4a3f2b11",
					.version = version,
					.as_of_us = FIXTURE_HOUR(3),
					.built_at_us = FIXTURE_HOUR(4),
					.offers = offers,
					.offers_count = count,
					.providers = providers,
					.providers_count = 2,
					.unmapped = &unmapped,
					.unmapped_count = 1,
					.changes_from = version / 2,
					.gone = gone,
					.gone_count = 2};
	struct catalogue *catalogue;

	gone[0].version = gone[0].public_version = version;
	gone[1].version = version - 1;
	for (size_t i = 0; i < count; i++) {
		offers[i] = fixture_offer(&arena, i % 2 ? "acme" : "bolt", (int)i, version);
		offers[i].version = (int64_t)i % (version + 1);
		offers[i].public_version = offers[i].version;
		offers[i].observed_at_us = FIXTURE_HOUR((int64_t)i);
	}
	catalogue = catalogue_build(&input, &error);
	ck_assert_msg(catalogue != NULL, "%s", error.detail);
	return catalogue;
}

START_TEST(a_file_brings_back_all_that_was_saved)
{
	struct catalogue *saved = build(17, 3000), *loaded;

	ck_assert_msg(snapshot_save(saved, path, &error), "%s", error.detail);
	loaded = snapshot_load(path, &error);
	ck_assert_msg(loaded != NULL, "%s", error.detail);
	ck_assert_str_eq(loaded->epoch, saved->epoch);
	ck_assert_int_eq(loaded->version, 17);
	ck_assert_int_eq(loaded->as_of_us, saved->as_of_us);
	ck_assert_int_eq(loaded->built_at_us, saved->built_at_us);
	ck_assert_uint_eq(loaded->offers_count, 3000);
	for (uint32_t i = 0; i < loaded->offers_count; i++) {
		struct offer a = offer_at(loaded, i), b = offer_at(saved, i);

		fixture_same_offer(&a, &b);
	}
	ck_assert_int_eq(loaded->changes_from, saved->changes_from);
	ck_assert_uint_gt(saved->changes_count, 1000);
	ck_assert_uint_eq(loaded->changes_count, saved->changes_count);
	ck_assert(memcmp(loaded->changes, saved->changes,
			 saved->changes_count * sizeof(*saved->changes)) == 0);
	ck_assert_uint_eq(loaded->gone_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		fixture_same_offer(&loaded->gone[i], &saved->gone[i]);
		ck_assert_int_eq(loaded->gone[i].public_version, saved->gone[i].public_version);
	}
	ck_assert_uint_eq(loaded->shapes_count, saved->shapes_count);
	ck_assert_uint_eq(loaded->lists_count, saved->lists_count);
	ck_assert_uint_eq(loaded->unlisted_count, saved->unlisted_count);
	ck_assert_uint_eq(loaded->providers_count, 2);
	ck_assert_str_eq(loaded->providers[0].detail, "status 503");
	ck_assert_int_eq(loaded->providers[0].last_success_us, FIXTURE_HOUR(1));
	ck_assert_int_eq(loaded->providers[0].rows_accepted, 7);
	ck_assert_str_eq(loaded->providers[0].rejections, "no_price 2");
	ck_assert_int_eq(loaded->providers[0].rows_usual, 8);
	ck_assert_int_eq(loaded->providers[0].offers, 7);
	ck_assert(loaded->providers[0].is_stale);
	ck_assert_str_eq(loaded->providers[1].source, "");
	ck_assert_uint_eq(loaded->unmapped_count, 1);
	ck_assert_str_eq(loaded->unmapped[0].spelling, "H100 \"turbo\" \xc3\xa9");
	catalogue_free(saved);
	catalogue_free(loaded);
}
END_TEST

static mode_t mode_of(const char *file)
{
	struct stat status;

	ck_assert_int_eq(stat(file, &status), 0);
	return status.st_mode & 0777;
}

START_TEST(what_is_private_stays_so_and_from_other_accounts)
{
	struct offer offers[] = {fixture_offer(&arena, "acme", 1, 1000000),
				 fixture_offer(&arena, "acme", 2, 2000000)};
	struct unmapped unmapped = {.provider = "acme", .spelling = "Own", .is_private = true};
	struct catalogue_input input = {
		.offers = offers, .offers_count = 1, .unmapped = &unmapped, .unmapped_count = 0};
	struct catalogue *saved, *loaded;

	umask(022);
	saved = catalogue_build(&input, &error);
	ck_assert_msg(snapshot_save(saved, path, &error), "%s", error.detail);
	ck_assert_uint_eq(mode_of(path), 0644);
	catalogue_free(saved);
	offers[1].source = "file:own.csv";
	input.offers_count = 2;
	input.unmapped_count = 1;
	saved = catalogue_build(&input, &error);
	ck_assert_msg(snapshot_save(saved, path, &error), "%s", error.detail);
	ck_assert_uint_eq(mode_of(path), 0640);
	loaded = snapshot_load(path, &error);
	ck_assert_msg(loaded != NULL, "%s", error.detail);
	ck_assert_uint_eq(loaded->offers_count, 2);
	ck_assert_uint_eq(loaded->public_view->offers_count, 1);
	ck_assert_uint_eq(catalogue_id(loaded->public_view, 0), offers[0].id);
	ck_assert(loaded->unmapped[0].is_private);
	ck_assert_uint_eq(loaded->public_view->unmapped_count, 0);
	catalogue_free(saved);
	catalogue_free(loaded);
}
END_TEST

START_TEST(an_empty_catalogue_can_be_saved)
{
	struct catalogue *saved = build(0, 0), *loaded;

	ck_assert_msg(snapshot_save(saved, path, &error), "%s", error.detail);
	loaded = snapshot_load(path, &error);
	ck_assert_msg(loaded != NULL, "%s", error.detail);
	ck_assert_uint_eq(loaded->offers_count, 0);
	catalogue_free(saved);
	catalogue_free(loaded);
}
END_TEST

static unsigned char *slurp(size_t *length)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes;
	struct stat status;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fstat(fileno(file), &status), 0);
	*length = (size_t)status.st_size;
	bytes = malloc(*length);
	ck_assert_uint_eq(fread(bytes, 1, *length, file), *length);
	fclose(file);
	return bytes;
}

static void spill(const unsigned char *bytes, size_t length)
{
	FILE *file = fopen(path, "wb");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
	ck_assert_int_eq(fclose(file), 0);
}

static void is_refused(const unsigned char *bytes, size_t length)
{
	struct catalogue *catalogue;

	spill(bytes, length);
	error_init(&error, NULL);
	catalogue = snapshot_load(path, &error);
	ck_assert_ptr_null(catalogue);
	ck_assert_int_eq(error.code, ERROR_MALFORMED);
}

START_TEST(every_flipped_byte_and_every_cut_is_refused)
{
	struct catalogue *saved = build(17, 6);
	unsigned char *bytes;
	size_t length;

	ck_assert(snapshot_save(saved, path, &error));
	catalogue_free(saved);
	bytes = slurp(&length);
	for (size_t i = 0; i < length; i++) {
		bytes[i] ^= 0x41;
		is_refused(bytes, length);
		bytes[i] ^= 0x41;
	}
	for (size_t cut = 0; cut < length; cut += 7)
		is_refused(bytes, cut);
	spill(bytes, length);
	saved = snapshot_load(path, &error);
	ck_assert_ptr_nonnull(saved);
	catalogue_free(saved);
	free(bytes);
}
END_TEST

/* A faulty writer, or a hand with a hex editor: the sum is right and the content is not. */
START_TEST(nonsense_under_a_right_checksum_is_refused)
{
	struct catalogue *saved = build(17, 6);
	unsigned char *bytes;
	size_t length;
	int refused = 0;

	ck_assert(snapshot_save(saved, path, &error));
	catalogue_free(saved);
	bytes = slurp(&length);
	for (size_t i = SNAPSHOT_HEADER_BYTES; i < length; i++) {
		struct catalogue *loaded;
		uint64_t sum;

		bytes[i] ^= 0x83;
		sum = hash_bytes(HASH_START, bytes + SNAPSHOT_HEADER_BYTES,
				 length - SNAPSHOT_HEADER_BYTES);
		for (int j = 0; j < 8; j++)
			bytes[SNAPSHOT_HEADER_BYTES - 8 + j] = (unsigned char)(sum >> (8 * j));
		spill(bytes, length);
		loaded =
			snapshot_load(path, &error); /* may hold odd values; must not read astray */
		refused += !loaded;
		catalogue_free(loaded);
		bytes[i] ^= 0x83;
	}
	ck_assert_int_gt(refused, 100);
	free(bytes);
}
END_TEST

START_TEST(a_missing_file_is_not_a_damaged_one)
{
	ck_assert_ptr_null(snapshot_load(path, &error));
	ck_assert_int_eq(error.code, ERROR_NOT_FOUND);
}
END_TEST

/* Nobody writes to it: opening it must not wait for someone. */
START_TEST(a_pipe_of_that_name_is_refused_at_once)
{
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_ptr_null(snapshot_load(path, &error));
	ck_assert_int_eq(error.code, ERROR_MALFORMED);
}
END_TEST

START_TEST(an_older_version_is_not_published_over_a_newer_one)
{
	struct snapshot_slot *slot = snapshot_slot_new();
	struct catalogue *old = build(1, 10), *new = build(2, 10), *same = build(2, 12);
	const struct catalogue *held;

	ck_assert_ptr_null(snapshot_acquire(slot));
	ck_assert(snapshot_publish(slot, new));
	ck_assert(!snapshot_publish(slot, old));
	held = snapshot_acquire(slot);
	ck_assert_ptr_eq(held, new);
	ck_assert(snapshot_publish(slot, same));   /* dates moved */
	ck_assert_uint_eq(held->offers_count, 10); /* still whole for who holds it */
	snapshot_release(slot, held);
	memcpy(old->epoch, "another", 8);
	ck_assert(snapshot_publish(slot, old)); /* versions of another epoch do not compare */
	snapshot_slot_free(slot);
}
END_TEST

struct load {
	struct snapshot_slot *slot;
	bool *stop;
	int64_t reads;
};

/* Each request sees one world: every offer's price is its catalogue's version. */
static void *read_on(void *argument)
{
	struct load *load = argument;
	int64_t last = 0;

	while (!__atomic_load_n(load->stop, __ATOMIC_ACQUIRE)) {
		const struct catalogue *catalogue = snapshot_acquire(load->slot);

		ck_assert_int_ge(catalogue->version, last);
		last = catalogue->version;
		for (uint32_t i = 0; i < catalogue->offers_count; i++)
			ck_assert_int_eq(offer_at(catalogue, i).price_micros, last);
		snapshot_release(load->slot, catalogue);
		load->reads++;
	}
	return NULL;
}

START_TEST(readers_see_one_world_while_it_is_swapped)
{
	enum { READERS = 6, VERSIONS = 1500 };
	struct snapshot_slot *slot = snapshot_slot_new();
	struct load loads[READERS];
	pthread_t threads[READERS];
	bool stop = false;

	ck_assert(snapshot_publish(slot, build(1, 40)));
	for (int i = 0; i < READERS; i++) {
		loads[i] = (struct load){.slot = slot, .stop = &stop};
		pthread_create(&threads[i], NULL, read_on, &loads[i]);
	}
	for (int64_t version = 2; version <= VERSIONS; version++)
		ck_assert(snapshot_publish(slot, build(version, 40)));
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_gt(loads[i].reads, 0);
	}
	snapshot_slot_free(slot);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *tests = tcase_create("snapshot");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, a_file_brings_back_all_that_was_saved);
	tcase_add_test(tests, what_is_private_stays_so_and_from_other_accounts);
	tcase_add_test(tests, an_empty_catalogue_can_be_saved);
	tcase_add_test(tests, every_flipped_byte_and_every_cut_is_refused);
	tcase_add_test(tests, nonsense_under_a_right_checksum_is_refused);
	tcase_add_test(tests, a_missing_file_is_not_a_damaged_one);
	tcase_add_test(tests, a_pipe_of_that_name_is_refused_at_once);
	tcase_add_test(tests, an_older_version_is_not_published_over_a_newer_one);
	tcase_add_test(tests, readers_see_one_world_while_it_is_swapped);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
