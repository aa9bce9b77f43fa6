/* Limits: what a caller may take, what is told, and that the table stays as it is. */
#include "server/http/limit.h"
#include "tests/suite.h"

#include <pthread.h>
#include <string.h>

#define SECOND INT64_C(1000000)
#define START (1000 * SECOND)

static struct limit *limit;
static struct limit_state state;

static void begin(void)
{
	limit = limit_new(10, 60);
	ck_assert_ptr_nonnull(limit);
}

static void end(void)
{
	limit_free(limit);
}

static void charge(uint64_t caller, int64_t cost, int64_t at_us)
{
	limit_charge(limit, caller, cost, at_us, &state);
}

static struct peer peer(const char *text)
{
	struct peer out;

	ck_assert(peer_parse(&out, text, strlen(text)));
	return out;
}

static uint64_t address(const char *text)
{
	struct peer at = peer(text);

	return limit_address(limit, &at);
}

START_TEST(a_quota_is_used_up_and_comes_back_evenly)
{
	char text[LIMIT_FIELD_TEXT];

	for (int i = 1; i <= 10; i++) {
		charge(1, 1, START);
		ck_assert(state.is_counted && !state.is_refused);
		ck_assert_int_eq(state.remaining, 10 - i);
		ck_assert_int_eq(state.reset_seconds, 6 * i);
		ck_assert_int_eq(state.retry_seconds, 0);
	}
	charge(1, 1, START);
	ck_assert(state.is_refused);
	ck_assert_int_eq(state.remaining, 0);
	ck_assert_int_eq(state.reset_seconds, 60);
	ck_assert_int_eq(state.retry_seconds, 6);
	limit_format_policy(&state, text);
	ck_assert_str_eq(text, "\"default\";q=10;w=60");
	limit_format_state(&state, text);
	ck_assert_str_eq(text, "\"default\";r=0;t=60");
	/* A refusal took nothing: after six seconds there is one, not fewer. */
	charge(1, 1, START + 6 * SECOND - 1);
	ck_assert(state.is_refused);
	ck_assert_int_eq(state.retry_seconds, 1);
	charge(1, 1, START + 6 * SECOND);
	ck_assert(!state.is_refused);
	charge(1, 1, START + 3600 * SECOND);
	ck_assert_int_eq(state.remaining, 9);
}
END_TEST

START_TEST(costly_requests_take_more_and_none_is_beyond_the_quota)
{
	charge(1, 7, START);
	ck_assert(!state.is_refused);
	ck_assert_int_eq(state.remaining, 3);
	charge(1, 4, START);
	ck_assert(state.is_refused);
	ck_assert_int_eq(state.remaining, 3);
	ck_assert_int_eq(state.retry_seconds, 6);
	charge(1, 3, START);
	ck_assert(!state.is_refused);
	charge(2, 40, START);
	ck_assert(!state.is_refused);
	ck_assert_int_eq(state.remaining, 0);
}
END_TEST

START_TEST(a_quota_finer_than_the_clock_is_no_limit_of_nothing)
{
	struct limit *fine = limit_new(1000000000, 0.0001);

	ck_assert_ptr_nonnull(fine);
	limit_charge(fine, 1, 1, START, &state);
	ck_assert(!state.is_refused);
	ck_assert_int_eq(state.remaining, 999999999);
	limit_free(fine);
}
END_TEST

START_TEST(callers_are_told_apart)
{
	ck_assert_uint_ne(limit_caller(limit, "key:a"), limit_caller(limit, "key:b"));
	ck_assert_uint_ne(limit_caller(limit, "key:a"), limit_caller(limit, "identity:a"));
	ck_assert_uint_eq(limit_caller(limit, "key:a"), limit_caller(limit, "key:a"));
	ck_assert_uint_ne(address("192.0.2.1"), address("192.0.2.2"));
	ck_assert_uint_eq(address("192.0.2.1"), address("::ffff:192.0.2.1"));
	/* IPv6 by its /64 */
	ck_assert_uint_eq(address("2001:db8:1:2::1"), address("2001:db8:1:2:ffff:ffff:ffff:ffff"));
	ck_assert_uint_ne(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
}
END_TEST

/* Nobody is let off, and nobody suffers, because of half a million others. */
START_TEST(spraying_addresses_washes_nothing_off)
{
	uint64_t greedy = limit_caller(limit, "key:greedy");
	int refused = 0;

	charge(greedy, 10, START);
	for (uint32_t i = 0; i < 500000; i++) {
		struct peer at = {.bytes = {0x20, 0x01, 0x0d, 0xb8}};

		memcpy(at.bytes + 4, &i, sizeof(i));
		charge(limit_address(limit, &at), 1, START + SECOND);
		refused += state.is_refused;
	}
	ck_assert_int_eq(refused, 0);
	charge(greedy, 1, START + SECOND);
	ck_assert(state.is_refused);
}
END_TEST

#define THREADS 4
#define TRIES 20000

static void *take(void *passed)
{
	struct limit_state mine;

	for (int i = 0; i < TRIES; i++) {
		limit_charge(limit, 77, 1, START, &mine);
		*(int *)passed += !mine.is_refused;
	}
	return NULL;
}

START_TEST(threads_share_one_quota)
{
	pthread_t threads[THREADS];
	int passed[THREADS] = {0}, total = 0;

	limit_free(limit);
	limit = limit_new(1000, 60);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take, &passed[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		total += passed[i];
	}
	ck_assert_int_eq(total, 1000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("limit");
	TCase *tests = tcase_create("limit");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, a_quota_is_used_up_and_comes_back_evenly);
	tcase_add_test(tests, costly_requests_take_more_and_none_is_beyond_the_quota);
	tcase_add_test(tests, callers_are_told_apart);
	tcase_add_test(tests, a_quota_finer_than_the_clock_is_no_limit_of_nothing);
	tcase_add_test(tests, spraying_addresses_washes_nothing_off);
	tcase_add_test(tests, threads_share_one_quota);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
