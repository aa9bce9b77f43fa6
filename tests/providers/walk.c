/* Walk: see walk.h. */
#include "tests/providers/walk.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct group *group;
static struct arena arena;

struct feed walk_feed;
struct error walk_error;
struct normalise_report walk_report;

void walk_begin(const struct provider *provider)
{
	arena_init(&arena, (size_t)256 << 20);
	error_init(&walk_error, NULL);
	walk_feed = (struct feed){.arena = &arena,
				  .base_url = provider->base_url,
				  .key = "team:secret-key",
				  .memo = "",
				  .memo_next = "",
				  .now_us = WALK_NOW_US};
	if (provider->needs_euro)
		walk_feed.euro =
			(struct exchange){.usd_micros = WALK_EURO_MICROS, .date = "2026-09-18"};
}

void walk_release(void)
{
	arena_release(&arena);
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *bytes = NULL;
	long size;

	if (!file)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0) {
		rewind(file);
		bytes = calloc(1, (size_t)size + 1);
		if (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size)
			bytes[0] = '\0';
	}
	fclose(file);
	return bytes;
}

static char *read_fixture(const char *provider, const char *label)
{
	static const char *const endings[] = {"json", "csv", "js", "xml", "pb"};
	char path[512], *bytes = NULL;

	for (size_t i = 0; !bytes && i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(path, sizeof(path), FIXTURES "/%s/%s.%s", provider, label, endings[i]);
		bytes = read_file(path);
	}
	return bytes;
}

/* In pieces of an odd size, so that rows and quotes are cut anywhere. */
static bool stream(const struct provider *provider, const struct fetch_request *request,
		   const char *text)
{
	const size_t all = strlen(text), piece = 7;

	for (size_t offset = 0; offset < all; offset += piece)
		if (!provider->chunk(&walk_feed, request, offset, text + offset,
				     all - offset < piece ? all - offset : piece, &walk_error))
			return false;
	return true;
}

bool walk_answer(const struct provider *provider, const struct fetch_request *request,
		 const char *text, const char *link)
{
	const bool is_streamed = request->is_streamed && text;
	const struct fetch_response response = {.status = text ? 200 : 404,
						.body = text && !is_streamed ? text : "",
						.length = text && !is_streamed ? strlen(text) : 0,
						.content_type = "",
						.link = link ? link : "",
						.reason = ""};

	return (!is_streamed || stream(provider, request, text)) &&
	       provider->parse(&walk_feed, request, &response, &walk_error);
}

bool walk_finish(const struct provider *provider)
{
	return (!provider->finish || provider->finish(&walk_feed, &walk_error)) &&
	       normalise(provider, &walk_feed, &walk_report, &walk_error);
}

static bool may_lack(const struct fetch_request *request)
{
	return request->is_optional || request->is_one_of_many;
}

void walk_committed(const struct provider *provider)
{
	struct fetch_request request = {0};
	unsigned pages = 0;

	walk_begin(provider);
	while (provider->request(&walk_feed, &request, &walk_error)) {
		char *text = read_fixture(provider->id, request.label), *link, path[512];

		ck_assert_msg(text || may_lack(&request), "%s has no fixture %s", provider->id,
			      request.label);
		ck_assert_uint_le(++pages, provider->pages_max);
		ck_assert(strncmp(request.url, "https://", 8) == 0);
		snprintf(path, sizeof(path), FIXTURES "/%s/%s.link", provider->id, request.label);
		link = read_file(path);
		ck_assert_msg(walk_answer(provider, &request, text, link), "%s %s: %s",
			      provider->id, request.label, walk_error.detail);
		free(text);
		free(link);
		request = (struct fetch_request){0};
	}
	ck_assert_msg(!error_is_set(&walk_error), "%s: %s", provider->id, walk_error.detail);
	ck_assert_msg(walk_finish(provider), "%s", walk_error.detail);
	ck_assert(!walk_feed.is_exhausted);
}

const struct offer *walk_find(const struct wanted *wanted)
{
	for (size_t i = 0; i < walk_feed.count; i++) {
		const struct offer *offer = &walk_feed.offers[i];

		if (!strcmp(offer->region, wanted->region) &&
		    !strcmp(offer->instance_type, wanted->type) &&
		    offer->count_milli == wanted->count_milli &&
		    !strcmp(offer->tier, wanted->tier) && offer->price_kind == wanted->kind &&
		    offer->term_months == wanted->term_months)
			return offer;
	}
	return NULL;
}

static void expect(const struct wanted *wanted)
{
	const struct offer *offer = walk_find(wanted);

	ck_assert_msg(offer, "%s: no offer %s x%d in \"%s\" (first refused: %s)", wanted->provider,
		      wanted->type, wanted->count_milli, wanted->region, walk_feed.first_rejection);
	ck_assert_str_eq(offer->accelerator, wanted->accelerator);
	ck_assert_int_eq(offer->price_micros, wanted->price_micros);
	ck_assert_int_eq((int)offer->availability, (int)wanted->availability);
	ck_assert_str_eq(offer->country, wanted->country);
	ck_assert_int_eq(offer->quantity, wanted->quantity == NOT_TOLD	  ? -1
					  : wanted->quantity == TOLD_NONE ? 0
									  : wanted->quantity);
	ck_assert_str_eq(offer->provider, provider_find(wanted->provider)->id);
	ck_assert_str_eq(offer->source, provider_find(wanted->provider)->source);
	ck_assert_uint_eq(offer->id, offer_id(offer));
}

START_TEST(each_trap_becomes_the_right_offer)
{
	const struct provider *provider = provider_find(group->wanted[_i].provider);

	ck_assert_ptr_nonnull(provider);
	walk_committed(provider);
	expect(&group->wanted[_i]);
	walk_release();
}
END_TEST

START_TEST(every_row_is_accounted_for)
{
	const struct totals *totals = &group->totals[_i];
	const int *refused = (const int[REJECTIONS]){[REJECTED_SCHEMA] = totals->schema,
						     [REJECTED_NO_PRICE] = totals->no_price,
						     [REJECTED_PRICE] = totals->absurd,
						     [REJECTED_MEMORY] = totals->memory,
						     [REJECTED_DUPLICATE] = totals->duplicate};
	int64_t all = 0;

	walk_committed(provider_find(totals->provider));
	for (int reason = 0; reason < REJECTIONS; reason++) {
		ck_assert_msg(walk_feed.rejected[reason] == refused[reason],
			      "%s: %d refused for %s, not %d (first: %s)", totals->provider,
			      (int)walk_feed.rejected[reason], rejection_names[reason],
			      refused[reason], walk_feed.first_rejection);
		all += walk_feed.rejected[reason];
	}
	ck_assert_int_eq(walk_report.accepted, totals->accepted);
	ck_assert_int_eq(walk_report.unmapped, totals->unmapped);
	ck_assert_int_eq(walk_feed.rows_seen, totals->seen);
	ck_assert_int_eq(walk_feed.rows_seen, walk_report.accepted + all);
	for (size_t i = 0; i < walk_feed.count; i++)
		ck_assert_int_gt(walk_feed.offers[i].price_micros, 0);
	walk_release();
}
END_TEST

START_TEST(answers_of_another_shape_fail_with_a_reason)
{
	const struct broken *broken = &group->broken[_i];
	const struct provider *provider = provider_find(broken->provider);
	struct fetch_request request = {0};

	walk_begin(provider);
	ck_assert(provider->request(&walk_feed, &request, &walk_error));
	ck_assert(!walk_answer(provider, &request, broken->text, NULL) || !walk_finish(provider));
	ck_assert_int_eq((int)walk_error.code, (int)ERROR_FEED);
	ck_assert_msg(strstr(walk_error.detail, broken->detail), "%s", walk_error.detail);
	walk_release();
}
END_TEST

/* --- the files of ../shared --- */

static char *read_borrowed(const struct provider *provider, const char *label)
{
	for (size_t i = 0; i < group->borrowed_count; i++) {
		const struct borrowed *borrowed = &group->borrowed[i];
		char path[512], *text;
		json_t *root;

		if (provider_find(borrowed->provider) != provider || strcmp(borrowed->label, label))
			continue;
		snprintf(path, sizeof(path), SHARED "/fixtures/providers/%s", borrowed->file);
		text = read_file(path);
		ck_assert_msg(text, "no %s", path);
		if (!borrowed->member)
			return text;
		root = json_loads(text, 0, NULL);
		free(text);
		text = json_dumps(json_object_get(root, borrowed->member), 0);
		json_decref(root);
		return text;
	}
	return NULL;
}

START_TEST(files_of_shared_become_the_right_offers)
{
	const struct wanted *wanted = &group->borrowed_wanted[_i];
	const struct provider *provider = provider_find(wanted->provider);
	struct fetch_request request = {0};

	if (access(SHARED "/fixtures/providers", R_OK) != 0) {
		fprintf(stderr, "# skipped: there is no ../shared\n");
		return;
	}
	walk_begin(provider);
	while (provider->request(&walk_feed, &request, &walk_error)) {
		char *text = read_borrowed(provider, request.label);

		if (!text && !may_lack(&request))
			break; /* what is asked beyond the file */
		ck_assert_msg(walk_answer(provider, &request, text, NULL), "%s: %s", request.label,
			      walk_error.detail);
		free(text);
		request = (struct fetch_request){0};
	}
	ck_assert_msg(walk_finish(provider), "%s", walk_error.detail);
	expect(wanted);
	walk_release();
}
END_TEST

/* --- mutations --- */

/* Puts `value` in the place of the node that `*countdown` reaches; false past the last. */
static bool replace_node(json_t *node, json_t *value, long *countdown)
{
	const char *key;
	json_t *child;
	size_t index;
	void *next;

	json_object_foreach_safe(node, next, key, child)
	{
		if ((*countdown)-- == 0)
			return json_object_set(node, key, value) == 0;
		if (replace_node(child, value, countdown))
			return true;
	}
	json_array_foreach (node, index, child) {
		if ((*countdown)-- == 0)
			return json_array_set(node, index, value) == 0;
		if (replace_node(child, value, countdown))
			return true;
	}
	return false;
}

/* NULL when there is no such node; of what is no JSON, every so many bytes cut off or changed. */
static char *mutate(const char *text, json_t *value, long node)
{
	json_t *root = json_loads(text, 0, NULL);
	char *out = NULL;

	if (root) {
		long countdown = node;

		if (replace_node(root, value, &countdown))
			out = json_dumps(root, 0);
		json_decref(root);
	} else if ((size_t)node < strlen(text)) {
		out = strdup(text);
		if (json_is_null(value))
			out[node] = '\0';
		else
			out[node] = json_is_string(value) ? '"' : ',';
	}
	return out;
}

/* Walks with one answer (the `victim`-th) mutated; the feed may fail, not crash. False past the
 * last node. */
static bool walk_mutated(const struct provider *provider, unsigned victim, json_t *value, long node)
{
	struct fetch_request request = {0};
	bool ok = true, was_reached = false;

	walk_begin(provider);
	for (unsigned page = 0; ok && page < provider->pages_max &&
				provider->request(&walk_feed, &request, &walk_error);
	     page++) {
		char *text = read_fixture(provider->id, request.label);

		if (page == victim && text) {
			char *mutated = mutate(text, value, node);

			was_reached = mutated != NULL;
			free(text);
			text = mutated;
		}
		ok = (text || may_lack(&request)) && walk_answer(provider, &request, text, NULL);
		free(text);
		request = (struct fetch_request){0};
	}
	if (ok && walk_finish(provider))
		for (size_t i = 0; i < walk_feed.count; i++) {
			ck_assert_int_gt(walk_feed.offers[i].price_micros, 0);
			ck_assert_int_gt(walk_feed.offers[i].count_milli, 0);
		}
	walk_release();
	return was_reached;
}

#define VICTIMS_MAX 6

START_TEST(any_wrong_value_anywhere_is_survived)
{
	const struct provider *provider = provider_find(group->totals[_i].provider);
	json_t *values[] = {json_null(),      json_string("x\xc3\xa9\x01"),
			    json_integer(-1), json_real(1e300),
			    json_array(),     json_object(),
			    json_string("")};

	for (unsigned victim = 0; victim < VICTIMS_MAX; victim++)
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
			for (long node = 0; walk_mutated(provider, victim, values[v], node); node++)
				;
	for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
		json_decref(values[v]);
}
END_TEST

int walk_run(const struct group *the_group, TCase *extra)
{
	Suite *suite = suite_create(the_group->name);
	TCase *tcase = tcase_create("fixtures");

	group = the_group;
	tcase_add_loop_test(tcase, each_trap_becomes_the_right_offer, 0, (int)group->wanted_count);
	tcase_add_loop_test(tcase, every_row_is_accounted_for, 0, (int)group->totals_count);
	tcase_add_loop_test(tcase, answers_of_another_shape_fail_with_a_reason, 0,
			    (int)group->broken_count);
	tcase_add_loop_test(tcase, files_of_shared_become_the_right_offers, 0,
			    (int)group->borrowed_wanted_count);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("mutations");
	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, any_wrong_value_anywhere_is_survived, 0,
			    (int)group->totals_count);
	suite_add_tcase(suite, tcase);
	if (extra)
		suite_add_tcase(suite, extra);
	return suite_run(suite);
}
