/* API keys: their text, what is kept of them, and the lines of a key file. */
#include "server/key.h"
#include "server/key_file.h"
#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct error error;

static void begin(void)
{
	error_init(&error, NULL);
}

/* Made by hand, by another program's SHA-256. */
#define KNOWN "gpk_0123456789_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefgd2Qne3"
#define KNOWN_HASH "33baac88963ffef41b1280c7ecd2cb413e6728a6111d124f5002c9e10312a581"

START_TEST(a_known_key_has_its_hash_and_checksum)
{
	unsigned char hash[KEY_HASH_BYTES];
	char id[KEY_ID_TEXT], text[KEY_HASH_TEXT];

	ck_assert(key_parse(KNOWN, id));
	ck_assert_str_eq(id, "0123456789");
	key_hash(KNOWN, hash);
	key_format_hash(hash, text);
	ck_assert_str_eq(text, KNOWN_HASH);
}
END_TEST

START_TEST(new_keys_are_wellformed_and_unlike)
{
	static char keys[500][KEY_TEXT];

	for (int i = 0; i < 500; i++) {
		char id[KEY_ID_TEXT];

		ck_assert(key_generate(keys[i]));
		ck_assert_uint_eq(strlen(keys[i]), KEY_TEXT - 1);
		ck_assert_int_eq(strncmp(keys[i], KEY_PREFIX, 4), 0);
		ck_assert(key_parse(keys[i], id));
		ck_assert_int_eq(strncmp(id, keys[i] + 4, 10), 0);
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(keys[i] + 15, keys[j] + 15);
	}
}
END_TEST

/* Each character of the alphabet about as often: a bias would be a fault of fill_random(). */
START_TEST(characters_are_drawn_evenly)
{
	unsigned counts[256] = {0}, least = ~0u, most = 0;
	char key[KEY_TEXT];

	for (int i = 0; i < 3000; i++) {
		ck_assert(key_generate(key));
		for (int j = 15; j < 58; j++)
			counts[(unsigned char)key[j]]++;
	}
	for (int c = 0; c < 256; c++) {
		if (!counts[c])
			continue;
		least = counts[c] < least ? counts[c] : least;
		most = counts[c] > most ? counts[c] : most;
	}
	/* 2081 expected of each of 62; seven standard deviations are 320. */
	ck_assert_uint_gt(least, 2081 - 330);
	ck_assert_uint_lt(most, 2081 + 330);
}
END_TEST

START_TEST(any_changed_character_is_noticed)
{
	char key[KEY_TEXT], id[KEY_ID_TEXT];
	struct key kept = {.scopes = SCOPE_READ};

	ck_assert(key_generate(key));
	key_hash(key, kept.hash);
	ck_assert(key_matches(&kept, key));
	for (size_t i = 0; i < KEY_TEXT - 1; i++) {
		char held = key[i];

		key[i] = held == 'x' ? 'y' : 'x';
		ck_assert_msg(!key_parse(key, id), "character %zu", i);
		ck_assert(!key_matches(&kept, key));
		key[i] = held;
	}
	key[KEY_TEXT - 2] = '\0';
	ck_assert(!key_parse(key, id));
	ck_assert(!key_parse("", id));
	ck_assert(!key_parse("gpk_", id));
}
END_TEST

START_TEST(scopes_are_read_and_told)
{
	char text[SCOPES_TEXT];
	unsigned scopes;

	ck_assert(scopes_parse("read, private_prices", &scopes, &error));
	ck_assert_uint_eq(scopes, SCOPE_READ | SCOPE_PRIVATE_PRICES);
	scopes_format(scopes, text);
	ck_assert_str_eq(text, "read,private_prices");
	ck_assert(scopes_parse("", &scopes, &error));
	ck_assert_uint_eq(scopes, 0);
	ck_assert(scopes_parse("admin read private_prices", &scopes, &error));
	ck_assert_uint_eq(scopes, 7);
	scopes_format(scopes, text);
	ck_assert_str_eq(text, "read,private_prices,admin");
	ck_assert(!scopes_parse("read,privat_prices", &scopes, &error));
	ck_assert_ptr_nonnull(strstr(error.detail, "did you mean 'private_prices'"));
}
END_TEST

START_TEST(a_line_comes_back_as_it_was)
{
	struct key key = {.scopes = SCOPE_READ | SCOPE_ADMIN,
			  .created_us = 1790812800000000,
			  .expires_us = 1790899200000000,
			  .id = "aB3dE6gH9j",
			  .name = "team ML, \xc3\xa9t\xc3\xa9"};
	char line[KEY_LINE_TEXT];
	struct key back;

	memset(key.hash, 0xa7, sizeof(key.hash));
	key_format_line(&key, line);
	ck_assert(key_parse_line(line, &back, &error));
	ck_assert_str_eq(back.id, key.id);
	ck_assert_str_eq(back.name, key.name);
	ck_assert_mem_eq(back.hash, key.hash, sizeof(key.hash));
	ck_assert_uint_eq(back.scopes, key.scopes);
	ck_assert_int_eq(back.created_us, key.created_us);
	ck_assert_int_eq(back.expires_us, key.expires_us);
	key.expires_us = 0;
	key.scopes = 0;
	key_format_line(&key, line);
	ck_assert(key_parse_line(line, &back, &error));
	ck_assert_int_eq(back.expires_us, 0);
	ck_assert_uint_eq(back.scopes, 0);
}
END_TEST

START_TEST(bad_lines_are_told_with_their_number)
{
	static const char hash[] =
		"a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7";
	static const char *const bad[] = {
		"short a7 read - - name",
		"aB3dE6gH9j %s read 2026-01-01T00:00:00Z -",
		"aB3dE6gH9j %s readx 2026-01-01T00:00:00Z - name",
		"aB3dE6gH9j %s read soon - name",
		"aB3dE6gH9_ %s read - - name",
		"aB3dE6gH9j %sff read - - name",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char path[] = "/tmp/gpupick-keys-XXXXXX", line[300];
		int file = mkstemp(path);
		struct key_list list;

		ck_assert_int_ge(file, 0);
		strcpy(line, "# comment\n\n");
		for (const char *at = bad[i]; *at; at++) {
			if (at[0] == '%' && at[1] == 's') {
				strcat(line, hash);
				at++;
			} else {
				strncat(line, at, 1);
			}
		}
		strcat(line, "\n");
		ck_assert_int_eq(write(file, line, strlen(line)), (ssize_t)strlen(line));
		close(file);
		error_init(&error, NULL);
		ck_assert_msg(!key_file_read(path, &list, &error), "%s", line);
		ck_assert_ptr_nonnull(strstr(error.detail, "line 3: "));
		unlink(path);
	}
}
END_TEST

START_TEST(a_file_holds_keys_by_id_and_no_revoked_ones)
{
	struct key keys[] = {
		{.id = "zzzzzzzzzz", .name = "last", .created_us = 1},
		{.id = "aaaaaaaaaa", .name = "first", .created_us = 1},
		{.id = "mmmmmmmmmm", .name = "gone", .created_us = 1, .revoked_us = 2}};
	char folder[] = "/tmp/gpupick-keys-XXXXXX", path[64];
	struct key_list list = {keys, 3}, back;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/keys", folder);
	ck_assert(!key_file_read(path, &back, &error));
	ck_assert_int_eq(error.code, ERROR_NOT_FOUND);
	error_init(&error, NULL);
	ck_assert_msg(key_file_write(path, &list, &error), "%s", error.detail);
	ck_assert_msg(key_file_read(path, &back, &error), "%s", error.detail);
	ck_assert_uint_eq(back.count, 2);
	ck_assert_str_eq(back.keys[0].name, "first");
	ck_assert_str_eq(key_list_find(&back, "zzzzzzzzzz")->name, "last");
	ck_assert_ptr_null(key_list_find(&back, "mmmmmmmmmm"));
	key_list_free(&back);
	unlink(path);
	rmdir(folder);
}
END_TEST

START_TEST(a_file_that_root_writes_belongs_to_whom_it_is_for)
{
	uid_t owner = 12345;
	struct key keys[] = {{.id = "aaaaaaaaaa", .name = "first", .created_us = 1}};
	char folder[] = "/tmp/gpupick-keys-XXXXXX", path[64];
	struct key_list list = {keys, 1};
	struct stat status;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/keys", folder);
	if (chown(folder, owner, (gid_t)-1) != 0)
		owner = geteuid(); /* not run as root */
	ck_assert_msg(key_file_write(path, &list, &error), "%s", error.detail);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(status.st_uid, owner);
	ck_assert_uint_eq(status.st_mode & 0777, 0600);
	/* One that is there keeps what it was given, whosever the folder is. */
	ck_assert_int_eq(chown(path, geteuid(), (gid_t)-1), 0);
	ck_assert_int_eq(chmod(path, 0640), 0);
	ck_assert_msg(key_file_write(path, &list, &error), "%s", error.detail);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(status.st_uid, geteuid());
	ck_assert_uint_eq(status.st_mode & 0777, 0640);
	unlink(path);
	/* In the folder that one is in. */
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_msg(key_file_write("keys", &list, &error), "%s", error.detail);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(status.st_uid, owner);
	ck_assert_int_eq(chdir("/"), 0);
	unlink(path);
	rmdir(folder);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("key");
	TCase *tests = tcase_create("key");

	tcase_add_checked_fixture(tests, begin, NULL);
	tcase_add_test(tests, a_known_key_has_its_hash_and_checksum);
	tcase_add_test(tests, new_keys_are_wellformed_and_unlike);
	tcase_add_test(tests, characters_are_drawn_evenly);
	tcase_add_test(tests, any_changed_character_is_noticed);
	tcase_add_test(tests, scopes_are_read_and_told);
	tcase_add_test(tests, a_line_comes_back_as_it_was);
	tcase_add_test(tests, bad_lines_are_told_with_their_number);
	tcase_add_test(tests, a_file_holds_keys_by_id_and_no_revoked_ones);
	tcase_add_test(tests, a_file_that_root_writes_belongs_to_whom_it_is_for);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
