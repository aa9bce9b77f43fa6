/* API keys in the database, and the history of prices that are or were a company's own. */
#include "tests/store/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct error error;
static char *url;
static struct store *store;

static void set_up(void)
{
	arena_init(&arena, 1 << 24);
	error_init(&error, NULL);
	url = fixture_migrated();
	store = store_new(url, "test");
}

static void tear_down(void)
{
	store_free(store);
	free(url);
	arena_release(&arena);
}

static struct key new_key(const char *name, unsigned scopes, int64_t expires_us,
			  char text[KEY_TEXT])
{
	struct key key = {.scopes = scopes, .expires_us = expires_us};

	ck_assert(key_generate(text));
	ck_assert(key_parse(text, key.id));
	key_hash(text, key.hash);
	snprintf(key.name, sizeof(key.name), "%s", name);
	return key;
}

static void add(const struct key *key)
{
	ck_assert_msg(store_add_key(store, key, &error), "%s", error.detail);
}

/* What `reader` finds new since *version. */
static struct key *read_new(struct store *reader, int64_t *version, size_t *count)
{
	struct key *keys;

	ck_assert_msg(store_read_keys(reader, version, &arena, &keys, count, &error), "%s",
		      error.detail);
	return keys;
}

START_TEST(a_key_comes_back_as_it_was_made)
{
	char text[KEY_TEXT];
	struct key made =
		new_key("caf\xc3\xa9, team", SCOPE_READ | SCOPE_ADMIN, FIXTURE_HOUR(5), text);
	struct key bare = new_key("bare", 0, 0, text);
	int64_t version = -1;
	size_t count;
	struct key *keys = read_new(store, &version, &count);

	ck_assert_ptr_nonnull(keys);
	ck_assert_uint_eq(count, 0);
	ck_assert_ptr_null(read_new(store, &version, &count));
	add(&made);
	add(&bare);
	keys = read_new(store, &version, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_str_eq(keys[0].id, made.id);
	ck_assert_str_eq(keys[0].name, made.name);
	ck_assert_mem_eq(keys[0].hash, made.hash, KEY_HASH_BYTES);
	ck_assert_uint_eq(keys[0].scopes, made.scopes);
	ck_assert_int_eq(keys[0].expires_us, made.expires_us);
	ck_assert_int_gt(keys[0].created_us, FIXTURE_HOUR(0));
	ck_assert_uint_eq(keys[1].scopes, 0);
	ck_assert_int_eq(keys[1].expires_us, 0);
	ck_assert(key_matches(&keys[1], text));
	ck_assert_ptr_null(read_new(store, &version, &count));
	ck_assert(!store_add_key(store, &made, &error)); /* the id is taken */
}
END_TEST

START_TEST(a_revoked_key_is_told_whoever_revoked_it)
{
	char text[KEY_TEXT];
	struct key first = new_key("first", SCOPE_READ, 0, text);
	struct key second = new_key("second", SCOPE_READ, 0, text);
	int64_t version = -1;
	bool is_there;
	size_t count;
	struct key *keys;

	add(&first);
	add(&second);
	read_new(store, &version, &count);
	ck_assert_msg(store_revoke_key(store, first.id, &is_there, &error), "%s", error.detail);
	ck_assert(is_there);
	keys = read_new(store, &version, &count);
	ck_assert_int_gt(keys[0].revoked_us, 0);
	ck_assert_int_eq(keys[1].revoked_us, 0);
	ck_assert(store_revoke_key(store, "0000000000", &is_there, &error));
	ck_assert(!is_there);
	free(fixture_sql(url, "delete from api_key where id = '%s' returning 1", second.id));
	ck_assert_ptr_nonnull(read_new(store, &version, &count));
	ck_assert_uint_eq(count, 1);
	free(fixture_sql(url, "truncate api_key"));
	ck_assert_ptr_nonnull(read_new(store, &version, &count));
	ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(replicas_read_hashes_and_the_worker_nothing)
{
	char *as_api = arena_printf(&arena, "%s user=gpupick_api", url);
	char *as_ingest = arena_printf(&arena, "%s user=gpupick_ingest", url);
	struct store *api = store_new(as_api, "api"), *ingest = store_new(as_ingest, "ingest");
	char text[KEY_TEXT], *found;
	struct key key = new_key("one", SCOPE_READ, 0, text), *keys;
	int64_t version = -1;
	bool is_there;
	size_t count;

	add(&key);
	read_new(api, &version, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert(!store_add_key(api, &key, &error));
	ck_assert(!store_revoke_key(api, key.id, &is_there, &error));
	version = -1;
	ck_assert(!store_read_keys(ingest, &version, &arena, &keys, &count, &error));
	ck_assert(!store_add_key(ingest, &key, &error));
	/* Nowhere is the key itself. */
	found = fixture_sql(url, "select count(*) from api_key k where k::text like '%%%s%%'",
			    text + 15);
	ck_assert_str_eq(found, "0");
	free(found);
	store_free(api);
	store_free(ingest);
}
END_TEST

/* --- history --- */

static struct history history_of(const struct offer *offer, bool is_public)
{
	struct history history = {.offer_id = offer->id, .limit = 100, .is_public = is_public};

	ck_assert_msg(store_read_history(store, &history, &arena, 5000, &error), "%s",
		      error.detail);
	return history;
}

START_TEST(what_was_private_stays_so_in_a_history)
{
	struct store *leader = fixture_leader(url);
	struct offer offer = fixture_offer(&arena, "acme", 1, 1000000);
	struct history history;

	fixture_apply(leader, "acme", "acme-api", &offer, 1, FIXTURE_HOUR(0));
	ck_assert_uint_eq(history_of(&offer, true).count, 1);
	offer.price_basis = "instance, 10 % off the list";
	offer.price_micros = 900000;
	fixture_apply(leader, "acme", "acme-api", &offer, 1, FIXTURE_HOUR(1));
	ck_assert(!history_of(&offer, true).is_known);
	history = history_of(&offer, false);
	ck_assert(history.is_known);
	ck_assert_uint_eq(history.count, 2);
	offer.price_basis = "instance";
	offer.price_micros = 1100000;
	fixture_apply(leader, "acme", "acme-api", &offer, 1, FIXTURE_HOUR(2));
	ck_assert_uint_eq(history_of(&offer, false).count, 3);
	history = history_of(&offer, true);
	ck_assert(history.is_known);
	ck_assert_uint_eq(history.count, 1);
	ck_assert_int_eq(history.items[0].last_micros, 1100000);
	ck_assert_int_eq(history.offer.first_seen_us, history.items[0].at_us);
	offer.price_micros = 1200000;
	fixture_apply(leader, "acme", "acme-api", &offer, 1, FIXTURE_HOUR(3));
	history = history_of(&offer, true);
	ck_assert_uint_eq(history.count, 2);
	ck_assert_int_eq(history.items[1].last_micros, 1200000);
	store_free(leader);
}
END_TEST

START_TEST(a_withdrawn_private_offer_was_never_there)
{
	struct store *leader = fixture_leader(url);
	struct offer offer = fixture_offer(&arena, "pool", 1, 1000000);

	fixture_apply(leader, "pool", "file:own.csv", &offer, 1, FIXTURE_HOUR(0));
	fixture_apply(leader, "pool", "file:own.csv", &offer, 0, FIXTURE_HOUR(1));
	ck_assert(!history_of(&offer, true).is_known);
	ck_assert_uint_eq(history_of(&offer, false).count, 2);
	store_free(leader);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("keys");
	TCase *tests = tcase_create("keys");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, a_key_comes_back_as_it_was_made);
	tcase_add_test(tests, a_revoked_key_is_told_whoever_revoked_it);
	tcase_add_test(tests, replicas_read_hashes_and_the_worker_nothing);
	tcase_add_test(tests, what_was_private_stays_so_in_a_history);
	tcase_add_test(tests, a_withdrawn_private_offer_was_never_there);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
