/* The hash against the published values of FNV-1a (Noll's test suite), and in pieces. */
#include "core/hash.h"

#include "tests/suite.h"

#include <string.h>

START_TEST(bytes_hash_as_published)
{
	static const struct {
		const char *bytes;
		uint64_t hash;
	} published[] = {
		{"", UINT64_C(0xcbf29ce484222325)},
		{"a", UINT64_C(0xaf63dc4c8601ec8c)},
		{"foobar", UINT64_C(0x85944171f73967e8)},
	};

	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++)
		ck_assert_uint_eq(
			hash_bytes(HASH_START, published[i].bytes, strlen(published[i].bytes)),
			published[i].hash);
	ck_assert_uint_eq(hash_bytes(hash_bytes(HASH_START, "foo", 3), "bar", 3),
			  published[2].hash);
}
END_TEST

START_TEST(where_a_text_ends_counts)
{
	ck_assert_uint_eq(hash_text(HASH_START, "a"), hash_bytes(HASH_START, "a", 2));
	ck_assert_uint_ne(hash_text(hash_text(HASH_START, "a"), "bc"),
			  hash_text(hash_text(HASH_START, "ab"), "c"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hash");
	TCase *tests = tcase_create("hash");

	tcase_add_test(tests, bytes_hash_as_published);
	tcase_add_test(tests, where_a_text_ends_counts);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
