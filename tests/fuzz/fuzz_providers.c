/*
 * Feeds from hostile providers. The first byte picks the provider, and by its highest bit whether
 * an override is set; the rest, cut at zero bytes, are the answers to its requests one after the
 * other. GPUPICK_FUZZ_FEED names the one feed to try instead, so that each can have its share of
 * the time. Built with libFuzzer or with replay.c.
 */
#include "core/country.h"
#include "server/ingest/ingest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FEED_BYTES_MAX ((size_t)64 << 20)
#define PAGES_MAX 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next answer, terminated and owned by the caller; NULL when there is none left. */
static char *cut(const uint8_t **data, size_t *size, size_t *length)
{
	const uint8_t *end;
	char *copy;

	if (!*size)
		return NULL;
	end = memchr(*data, 0, *size);
	*length = end ? (size_t)(end - *data) : *size;
	copy = calloc(1, *length + 1);
	if (!copy)
		abort();
	memcpy(copy, *data, *length);
	*data += *length + (end != NULL);
	*size -= *length + (end != NULL);
	return copy;
}

static bool walk(const struct provider *provider, struct feed *feed, const uint8_t *data,
		 size_t size, struct error *error)
{
	const char *expected = feed->base_url_is_override ? feed->base_url : "https://";
	struct fetch_request request = {0};

	for (int pages = 0; pages < PAGES_MAX && provider->request(feed, &request, error);
	     pages++) {
		struct fetch_response response = {
			.status = 200, .content_type = "", .link = "", .reason = ""};
		char *body = cut(&data, &size, &response.length);
		bool ok;

		if (feed->is_exhausted || !request.url) {
			free(body);
			return false;
		}
		/* Whatever an answer says, requests stay with who was to be asked. */
		assert(strncmp(request.url, expected, strlen(expected)) == 0);
		assert(request.label && *request.label);
		if (!body && !request.is_optional && !request.is_one_of_many)
			return false;
		response.body = body && !request.is_streamed ? body : "";
		response.status = body ? 200 : 404;
		ok = !request.is_streamed ||
		     provider->chunk(feed, &request, 0, body, response.length / 2, error);
		if (ok && request.is_streamed && response.length)
			ok = provider->chunk(feed, &request, response.length / 2 + 1,
					     body + response.length / 2,
					     response.length - response.length / 2, error);
		ok = ok && provider->parse(feed, &request, &response, error);
		free(body);
		if (!ok)
			return false;
		request = (struct fetch_request){0};
	}
	return !error_is_set(error) && (!provider->finish || provider->finish(feed, error));
}

static void check(const struct feed *feed, const struct normalise_report *report)
{
	for (size_t i = 0; i < feed->count; i++) {
		const struct offer *offer = &feed->offers[i];

		assert(offer->price_micros > 0 && offer->count_milli > 0 && *offer->accelerator);
		assert(!*offer->country || country_is_assigned(offer->country));
		assert(offer->memory_gb >= 0 && offer->ram_gib >= 0 && offer->disk_gb >= 0);
		assert(i == 0 || feed->offers[i - 1].id < offer->id);
	}
	assert(report->accepted == (int64_t)feed->count && report->unmapped <= report->accepted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *only = getenv("GPUPICK_FUZZ_FEED");
	const struct provider *provider = only ? provider_find(only) : NULL;
	struct normalise_report report;
	struct arena arena;
	struct error error;
	struct feed feed;
	bool is_override;

	if (size < 2)
		return 0;
	is_override = data[0] & 0x80;
	assert(provider || !only);
	if (!provider)
		provider = providers[(data[0] & 0x7f) % providers_count];
	arena_init(&arena, FEED_BYTES_MAX);
	error_init(&error, NULL);
	feed = (struct feed){.arena = &arena,
			     .base_url =
				     is_override ? "https://override.example" : provider->base_url,
			     .base_url_is_override = is_override,
			     .key = "id:secret",
			     .memo = "",
			     .now_us = INT64_C(1790000000) * 1000000};
	if (walk(provider, &feed, data + 1, size - 1, &error) && !feed.is_exhausted &&
	    normalise(provider, &feed, &report, &error))
		check(&feed, &report);
	arena_release(&arena);
	return 0;
}
