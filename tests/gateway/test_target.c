/* Request targets: what is refused, and which route takes the rest. */
#include "server/http/http.h"
#include "server/http/target.h"
#include "tests/suite.h"

#include <string.h>

static struct arena arena;
static struct error error;

static void begin(void)
{
	arena_init(&arena, 1 << 20);
	error_init(&error, &arena);
}

static void end(void)
{
	arena_release(&arena);
}

static const char *decoded(const char *raw)
{
	error_init(&error, &arena);
	return target_decode(&arena, raw, strlen(raw), &error);
}

START_TEST(escapes_are_decoded_once)
{
	ck_assert_str_eq(decoded("meta-llama%2FLlama-3.1-8B"), "meta-llama/Llama-3.1-8B");
	ck_assert_str_eq(decoded("a/b"), "a/b");
	ck_assert_str_eq(decoded("%252F"), "%2F");
	ck_assert_str_eq(decoded("a+b"), "a+b");
	ck_assert_str_eq(decoded("%C3%a9"), "\xc3\xa9");
	ck_assert_str_eq(decoded(""), "");
}
END_TEST

START_TEST(malformed_escapes_are_refused)
{
	static const char *const bad[] = {"%",	 "%2",	   "a%",	"%zz",		"%2g",
					  "%g2", "%00",	   "a%0a",	"%1f",		"%7F",
					  "%ff", "%c0%af", "%ed%a0%80", "%f4%90%80%80", "%e2%82"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ck_assert_msg(!decoded(bad[i]), "%s was taken", bad[i]);
		ck_assert_int_eq(error.code, ERROR_MALFORMED);
	}
}
END_TEST

/* The text is not terminated where its length ends: nothing behind it may be read. */
START_TEST(an_escape_must_not_reach_past_the_end)
{
	error_init(&error, &arena);
	ck_assert(!target_decode(&arena, "ab%41", 4, &error));
	ck_assert(!target_decode(&arena, "ab%41", 3, &error));
	ck_assert_str_eq(target_decode(&arena, "ab%41cd", 5, &error), "abA");
}
END_TEST

START_TEST(targets_are_split)
{
	struct target target;

	ck_assert(target_split("/v1/prices?a=1?b", &target, &error));
	ck_assert_uint_eq(target.path_length, 10);
	ck_assert_str_eq(target.query, "a=1?b");
	ck_assert(target_split("http://host:80/x?y", &target, &error));
	ck_assert_uint_eq(target.path_length, 2);
	ck_assert_str_eq(target.query, "y");
	ck_assert(target_split("https://host", &target, &error));
	ck_assert_uint_eq(target.path_length, 1);
	ck_assert(target_split("*", &target, &error));
	ck_assert(!target_split("x", &target, &error));
	ck_assert(!target_split("", &target, &error));
	ck_assert(!target_split("/a b", &target, &error));
	ck_assert(!target_split("/a#b", &target, &error));
	ck_assert(!target_split("/\xc3\xa9", &target, &error));
	ck_assert(!target_split("ftp://host/", &target, &error));
}
END_TEST

static bool query(struct request *request, const char *raw)
{
	*request = (struct request){0};
	arena_init(&request->arena, 1 << 20);
	error_init(&error, &arena);
	return target_decode_query(request, raw, &error);
}

START_TEST(queries_are_decoded)
{
	struct request request;

	ck_assert(query(&request, "a=1&&b=x+y%2B&c&d=&"));
	ck_assert_int_eq(request.queries, 4);
	ck_assert_str_eq(request_query(&request, "a"), "1");
	ck_assert_str_eq(request_query(&request, "b"), "x y+");
	ck_assert_str_eq(request_query(&request, "c"), "");
	ck_assert_str_eq(request_query(&request, "d"), "");
	ck_assert_ptr_null(request_query(&request, "e"));
	arena_release(&request.arena);
}
END_TEST

START_TEST(every_bad_parameter_is_named)
{
	struct request request;

	ck_assert(!query(&request, "a=1&a=2&b=%00&=x&c=%zz&d=1"));
	ck_assert_int_eq(error.code, ERROR_INVALID_PARAMETER);
	ck_assert_uint_eq(error.count, 4);
	ck_assert_str_eq(error.first->pointer, "a");
	ck_assert_str_eq(error.first->code, "repeated");
	ck_assert_str_eq(error.last->pointer, "c");
	arena_release(&request.arena);
}
END_TEST

START_TEST(the_number_of_parameters_is_bounded)
{
	char raw[4 * (REQUEST_QUERIES_MAX + 2)] = "";
	struct request request;
	size_t used = 0;

	for (int i = 0; i < REQUEST_QUERIES_MAX; i++)
		used += (size_t)snprintf(raw + used, sizeof(raw) - used, "%x&", i + 256);
	ck_assert(query(&request, raw));
	arena_release(&request.arena);
	snprintf(raw + used, sizeof(raw) - used, "x");
	ck_assert(!query(&request, raw));
	ck_assert_int_eq(error.code, ERROR_INVALID_PARAMETER);
	arena_release(&request.arena);
}
END_TEST

START_TEST(unknown_parameters_get_a_suggestion)
{
	static const char *const known[] = {"provider", "region", NULL};
	struct request request;

	ck_assert(query(&request, "provider=a&regoin=b&zzzzzz=c"));
	ck_assert(!request_check_query(&request, known, &error));
	ck_assert_int_eq(error.code, ERROR_INVALID_PARAMETER);
	ck_assert_uint_eq(error.count, 2);
	ck_assert_str_eq(error.first->suggestion, "region");
	ck_assert_ptr_null(error.last->suggestion);
	arena_release(&request.arena);
}
END_TEST

/* Matches, and what the parameters then are, raw. */
static const char *found(const char *method, const char *path, struct route_match *match)
{
	routes_find(ROUTE_API, method, path, strlen(path), match);
	return match->route ? match->route->operation : "";
}

START_TEST(routes_match_segment_by_segment)
{
	struct route_match match;

	ck_assert_str_eq(found("GET", "/v1/models", &match), "listModels");
	ck_assert_str_eq(found("GET", "/v1/models/a/b%2Fc", &match), "getModel");
	ck_assert_int_eq(match.parameters, 1);
	ck_assert_uint_eq(match.parameter[0].length, strlen("a/b%2Fc"));
	ck_assert_str_eq(found("GET", "/v1/prices/abc", &match), "getPrice");
	ck_assert_str_eq(found("GET", "/v1/models/", &match), "");
	ck_assert_str_eq(found("GET", "/v1/prices/a/b/c/d", &match), "");
	ck_assert_str_eq(found("GET", "/v1/modelsx", &match), "");
	ck_assert_str_eq(found("GET", "/v1/model", &match), "");
	ck_assert_str_eq(found("GET", "/v1/%6dodels", &match), "");
	ck_assert_str_eq(found("GET", "", &match), "");
	ck_assert_str_eq(match.allowed, "");
	ck_assert_str_eq(found("POST", "/v1/models", &match), "");
	ck_assert_str_eq(match.allowed, "GET, HEAD, OPTIONS");
	ck_assert_str_eq(found("GET", "/livez", &match), "");
}
END_TEST

START_TEST(every_route_is_complete_and_named_once)
{
	for (size_t i = 0; i < routes_count; i++) {
		ck_assert(routes[i].handle && routes[i].cache && routes[i].produces);
		ck_assert(*routes[i].pattern == '/');
		ck_assert(strcmp(routes[i].method, "GET") != 0 || routes[i].body_max == 0);
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(routes[i].operation, routes[j].operation);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("target");
	TCase *tests = tcase_create("target");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, escapes_are_decoded_once);
	tcase_add_test(tests, malformed_escapes_are_refused);
	tcase_add_test(tests, an_escape_must_not_reach_past_the_end);
	tcase_add_test(tests, targets_are_split);
	tcase_add_test(tests, queries_are_decoded);
	tcase_add_test(tests, every_bad_parameter_is_named);
	tcase_add_test(tests, the_number_of_parameters_is_bounded);
	tcase_add_test(tests, unknown_parameters_get_a_suggestion);
	tcase_add_test(tests, routes_match_segment_by_segment);
	tcase_add_test(tests, every_route_is_complete_and_named_once);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
