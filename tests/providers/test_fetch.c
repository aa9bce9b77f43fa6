/* fetch against a real server (replay.py) that misbehaves in every way that a provider may. */
#include "server/clock.h"
#include "server/ingest/fetch.h"
#include "tests/suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BODY_MAX ((size_t)1 << 20)

static pid_t server;
static char address[64];
static struct fetch *fetch;
static struct arena arena;
static struct error error;
static struct fetch_response response;

static void start_server(void)
{
	int ends[2];
	ssize_t length;

	ck_assert_int_eq(pipe(ends), 0);
	server = fork();
	ck_assert_int_ge(server, 0);
	if (server == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execlp("/usr/bin/python3", "python3", REPLAY, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	/* Python may write its line in pieces. */
	for (size_t used = 0; !strchr(address, '\n'); used += (size_t)length) {
		length = read(ends[0], address + used, sizeof(address) - 1 - used);
		ck_assert_int_gt(length, 0);
	}
	address[strcspn(address, "\n")] = '\0';
	close(ends[0]);
	ck_assert(fetch_global_init());
}

static void stop_server(void)
{
	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
}

static void setup(void)
{
	arena_init(&arena, (size_t)64 << 20);
	error_init(&error, NULL);
	fetch = fetch_new();
	ck_assert_ptr_nonnull(fetch);
}

static void teardown(void)
{
	fetch_free(fetch);
	arena_release(&arena);
}

static struct fetch_options options(void)
{
	return (struct fetch_options){.body_max = BODY_MAX,
				      .timeout_seconds = 5,
				      .connect_timeout_seconds = 2,
				      .allow_private = true};
}

static enum fetch_failure ask_with(const char *path, const char *header,
				   const struct fetch_options *limits)
{
	const struct fetch_request request = {
		.method = "GET",
		.url = arena_printf(&arena, "%s%s", address, path),
		.headers = {"Accept: application/json", header},
		.headers_count = header ? 2 : 1,
		.label = "test",
	};

	return fetch_perform(fetch, &request, limits, &arena, &response, &error);
}

static enum fetch_failure ask(const char *path)
{
	const struct fetch_options limits = options();

	return ask_with(path, NULL, &limits);
}

START_TEST(a_good_answer_comes_whole)
{
	ck_assert_int_eq(ask("/fault/ok?bytes=100000"), FETCH_OK);
	ck_assert_uint_eq(response.status, 200);
	ck_assert_uint_eq(response.length, 100012); /* {"data": "xxx"} */
	ck_assert_uint_eq(strlen(response.body), response.length);
	ck_assert_str_eq(response.content_type, "application/json");
	ck_assert_str_eq(response.link, "");
	ck_assert(response.retry_after_seconds < 0);
	ck_assert_int_eq(ask("/fault/link"), FETCH_OK);
	ck_assert_ptr_nonnull(strstr(response.link, "rel=\"next\""));
	ck_assert_int_eq(ask("/fault/content_type"), FETCH_OK);
	ck_assert_str_eq(response.content_type, "text/plain");
}
END_TEST

static const struct {
	const char *path;
	enum fetch_failure failure;
	unsigned status;
} cases[] = {
	{"/fault/429", FETCH_OK, 429},
	{"/fault/500", FETCH_OK, 500},
	{"/fault/404", FETCH_OK, 404},
	{"/fault/html", FETCH_OK, 200},
	{"/fault/gzip", FETCH_OK, 200},
	{"/fault/truncated", FETCH_TRUNCATED, 0},
	{"/fault/chunked", FETCH_TRUNCATED, 0},
	{"/fault/silent", FETCH_TRUNCATED, 0},
	{"/fault/gzip_bomb?mib=200", FETCH_TOO_LARGE, 0},
	{"/fault/huge?mib=200", FETCH_TOO_LARGE, 0},
	{"/fault/ok?bytes=1048564", FETCH_OK, 200}, /* the limit, to the byte */
	{"/fault/ok?bytes=1048565", FETCH_TOO_LARGE, 0},
	{"/fault/loop", FETCH_REFUSED, 0},
	{"/fault/redirect?to=file:///etc/passwd", FETCH_REFUSED, 0},
	{"/fault/redirect?to=ftp://127.0.0.1/x", FETCH_REFUSED, 0},
};

START_TEST(each_fault_has_its_class)
{
	enum fetch_failure failure = ask(cases[_i].path);

	ck_assert_msg(failure == cases[_i].failure, "%s: %s: %s", cases[_i].path,
		      fetch_failure_names[failure], error.detail);
	ck_assert_uint_eq(response.status, cases[_i].status);
	ck_assert_int_eq(error_is_set(&error), failure != FETCH_OK);
	/* The handle is good for more. */
	ck_assert_int_eq(ask("/fault/ok"), FETCH_OK);
}
END_TEST

START_TEST(compressed_bytes_are_counted_when_they_are_plain)
{
	ck_assert_int_eq(ask("/fault/gzip?bytes=500000"), FETCH_OK);
	ck_assert_uint_eq(response.length, 500012);
	ck_assert_int_eq(response.body[500010], '"');
	ck_assert_int_eq(ask("/fault/gzip?bytes=1048565"), FETCH_TOO_LARGE);
}
END_TEST

START_TEST(a_compressed_body_that_is_cut_is_no_whole_answer)
{
	enum fetch_failure failure = ask("/fault/gzip_cut?bytes=100000");

	/* The length of the packed bytes is right, so only what is missing from the JSON tells. */
	ck_assert(failure == FETCH_TRUNCATED || response.length < 100012);
}
END_TEST

START_TEST(retry_after_is_seconds_or_a_date)
{
	ck_assert_int_eq(ask("/fault/429?retry_after=7"), FETCH_OK);
	ck_assert(response.retry_after_seconds > 6.9 && response.retry_after_seconds < 7.1);
	ck_assert_int_eq(ask("/fault/503?retry_after=date%2B90"), FETCH_OK);
	ck_assert(response.retry_after_seconds > 88 && response.retry_after_seconds < 92);
	ck_assert_int_eq(ask("/fault/503?retry_after=date%2B-90"), FETCH_OK);
	ck_assert(response.retry_after_seconds >= 0 && response.retry_after_seconds < 0.1);
	ck_assert_int_eq(ask("/fault/429?retry_after=soon"), FETCH_OK);
	ck_assert(response.retry_after_seconds < 0);
	ck_assert_int_eq(ask("/fault/429?retry_after=-5"), FETCH_OK);
	ck_assert(response.retry_after_seconds < 0);
}
END_TEST

START_TEST(redirects_are_followed_without_a_credential_only)
{
	const struct fetch_options limits = options();

	ck_assert_int_eq(ask("/fault/redirect?to=/fault/ok"), FETCH_OK);
	ck_assert_uint_eq(response.status, 200);
	ck_assert_int_eq(
		ask_with("/fault/redirect?to=/fault/ok", "Authorization: Bearer x", &limits),
		FETCH_REFUSED);
	ck_assert_int_eq(ask_with("/fault/redirect?to=/fault/ok", "X-Api-Key: x", &limits),
			 FETCH_REFUSED);
	ck_assert_ptr_null(strstr(error.detail, "Bearer"));
}
END_TEST

START_TEST(private_addresses_and_plain_http_need_an_override)
{
	struct fetch_options limits = options();
	char *port = strrchr(address, ':');

	limits.allow_private = false;
	ck_assert_int_eq(ask_with("/fault/ok", NULL, &limits), FETCH_REFUSED); /* http */
	memmove(address + 8, address + 7, strlen(address + 7) + 1);
	memcpy(address, "https://", 8);
	error_init(&error, NULL);
	ck_assert_int_eq(ask_with("/fault/ok", NULL, &limits), FETCH_REFUSED);
	ck_assert_msg(strstr(error.detail, "private address"), "%s", error.detail);
	snprintf(address, sizeof(address), "https://localhost%.10s", port + 1);
	error_init(&error, NULL);
	ck_assert_int_eq(ask_with("/fault/ok", NULL, &limits), FETCH_REFUSED); /* by name */
	ck_assert_msg(strstr(error.detail, "private address"), "%s", error.detail);
}
END_TEST

START_TEST(a_stalled_or_dripping_server_costs_the_timeout_at_most)
{
	struct fetch_options limits = options();
	int64_t start_us = clock_monotonic_us();

	limits.timeout_seconds = 1;
	ck_assert_int_eq(ask_with("/fault/stall", NULL, &limits), FETCH_TIMEOUT);
	ck_assert_int_eq(ask_with("/fault/slow?bytes=1000", NULL, &limits), FETCH_TIMEOUT);
	ck_assert_int_lt(clock_monotonic_us() - start_us, 4000000);
}
END_TEST

START_TEST(a_stop_ends_a_request_within_a_second_or_two)
{
	struct fetch_options limits = options();
	atomic_bool stop = true;
	int64_t start_us = clock_monotonic_us();

	limits.timeout_seconds = 30;
	limits.stop = &stop;
	ck_assert_int_eq(ask_with("/fault/stall", NULL, &limits), FETCH_STOPPED);
	ck_assert_int_lt(clock_monotonic_us() - start_us, 2500000);
}
END_TEST

START_TEST(nobody_there_and_no_such_name_are_told_apart)
{
	snprintf(address, sizeof(address), "http://127.0.0.1:1");
	ck_assert_int_eq(ask("/"), FETCH_CONNECT);
	snprintf(address, sizeof(address), "http://no-such-host.invalid");
	ck_assert_int_eq(ask("/"), FETCH_DNS);
	snprintf(address, sizeof(address), "not a url");
	ck_assert_int_eq(ask("/"), FETCH_REFUSED);
}
END_TEST

START_TEST(an_arena_that_is_too_small_is_an_error_not_a_short_answer)
{
	arena_release(&arena);
	arena_init(&arena, 4096);
	ck_assert_int_eq(ask("/fault/ok?bytes=100000"), FETCH_OTHER);
	ck_assert(error_is_set(&error));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fetch");
	TCase *tcase = tcase_create("faults");

	tcase_add_unchecked_fixture(tcase, start_server, stop_server);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_good_answer_comes_whole);
	tcase_add_loop_test(tcase, each_fault_has_its_class, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, compressed_bytes_are_counted_when_they_are_plain);
	tcase_add_test(tcase, a_compressed_body_that_is_cut_is_no_whole_answer);
	tcase_add_test(tcase, retry_after_is_seconds_or_a_date);
	tcase_add_test(tcase, redirects_are_followed_without_a_credential_only);
	tcase_add_test(tcase, private_addresses_and_plain_http_need_an_override);
	tcase_add_test(tcase, a_stalled_or_dripping_server_costs_the_timeout_at_most);
	tcase_add_test(tcase, a_stop_ends_a_request_within_a_second_or_two);
	tcase_add_test(tcase, nobody_there_and_no_such_name_are_told_apart);
	tcase_add_test(tcase, an_arena_that_is_too_small_is_an_error_not_a_short_answer);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
