/* Harvest: the walk over the pages of a feed: see harvest.h. */
#include "server/ingest/harvest.h"

#include "core/hash.h"
#include "server/clock.h"
#include "server/ingest/discount.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FEED_BYTES_MAX                                                                             \
	((size_t)1536 << 20) /* address space: what a feed does not use of it is never real */
#define CONNECT_SECONDS 5.0
#define FIRST_DELAY_SECONDS 0.5
#define DELAY_MAX_SECONDS 30.0
#define RETRY_AFTER_MAX_SECONDS 60.0 /* longer waits are the scheduler's */

double jitter(double seconds)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		random = UINT32_MAX;
	return seconds * (0.5 + 0.5 * (double)random / (double)UINT32_MAX);
}

bool pause_seconds(double seconds, const atomic_bool *stop)
{
	const int64_t end_us = clock_monotonic_us() + (int64_t)(seconds * (double)US_PER_SECOND);

	for (;;) {
		int64_t left_us = end_us - clock_monotonic_us();
		struct timespec slice = {0};

		if (stop && atomic_load(stop))
			return false;
		if (left_us <= 0)
			return true;
		slice.tv_nsec = (long)(left_us < 100000 ? left_us : 100000) * 1000;
		nanosleep(&slice, NULL);
	}
}

static bool fail(struct harvest *harvest, const char *outcome)
{
	harvest->outcome = outcome;
	return false;
}

static const char *outcome_of_failure(enum fetch_failure failure)
{
	return failure == FETCH_TIMEOUT ? "timeout" : "http";
}

static const char *outcome_of_status(const struct harvest *harvest, unsigned status)
{
	if (harvest->key && status == harvest->provider->bad_key_status)
		return "auth";
	switch (status) {
	case 401:
	case 403:
		return "auth";
	case 429:
		return "rate_limited";
	default:
		return "http";
	}
}

static bool is_worth_retrying(enum fetch_failure failure, unsigned status)
{
	switch (failure) {
	case FETCH_OK:
		/* 409 and 499: of gRPC, aborted and cancelled. */
		return status == 408 || status == 409 || status == 425 || status == 429 ||
		       status == 499 || status == 500 || (status >= 502 && status <= 504);
	case FETCH_DNS:
	case FETCH_CONNECT:
	case FETCH_TIMEOUT:
	case FETCH_TRUNCATED:
	case FETCH_OTHER:
		return true;
	case FETCH_TLS:
	case FETCH_TOO_LARGE:
	case FETCH_REFUSED:
	case FETCH_STOPPED:
	case FETCH_UNWANTED:
	case FETCH_FAILURES:
		break;
	}
	return false;
}

static bool back_off(struct harvest *harvest, int64_t attempt, double retry_after_seconds)
{
	double delay = FIRST_DELAY_SECONDS;

	while (attempt-- > 0 && delay < DELAY_MAX_SECONDS)
		delay *= 2;
	delay = jitter(delay < DELAY_MAX_SECONDS ? delay : DELAY_MAX_SECONDS);
	/* A little later than asked for, so that those who were told the same do not return as one.
	 */
	if (retry_after_seconds >= 0)
		delay = retry_after_seconds + jitter(FIRST_DELAY_SECONDS);
	return pause_seconds(delay, harvest->stop);
}

/* A streamed answer on its way to the provider. */
struct stream {
	struct harvest *harvest;
	const struct fetch_request *request;
	size_t offset;
};

static bool take_chunk(void *closure, const char *bytes, size_t length)
{
	struct stream *stream = closure;
	struct harvest *harvest = stream->harvest;
	const struct provider *provider = harvest->provider;
	const size_t offset = stream->offset;

	stream->offset += length;
	return (!harvest->record ||
		record_write(harvest->record, provider->id, stream->request->label, offset, bytes,
			     length, &harvest->error)) &&
	       provider->chunk(&harvest->feed, stream->request, offset, bytes, length,
			       &harvest->error);
}

/* One answer with status 200, or with a final 4xx that the provider can do without (*skip). */
static bool fetch_page(struct harvest *harvest, struct fetch *fetch,
		       const struct fetch_request *request, struct arena *page,
		       struct fetch_response *out, bool *skip)
{
	const struct provider *provider = harvest->provider;
	const struct feed before = harvest->feed;
	struct stream stream = {.harvest = harvest, .request = request};
	const struct fetch_options options = {
		.body_max = request->is_streamed ? provider->stream_max : provider->body_max,
		.sink = request->is_streamed ? take_chunk : NULL,
		.sink_closure = &stream,
		.timeout_seconds =
			request->is_streamed ? provider->stream_seconds : harvest->timeout_seconds,
		.connect_timeout_seconds = harvest->timeout_seconds < CONNECT_SECONDS
						   ? harvest->timeout_seconds
						   : CONNECT_SECONDS,
		.allow_private = harvest->feed.base_url_is_override,
		.stop = harvest->stop,
	};

	*skip = false;
	for (int64_t attempt = 0;; attempt++) {
		enum fetch_failure failure;

		arena_release(page);
		arena_init(page, 2 * provider->body_max + ((size_t)1 << 20));
		harvest->requests++;
		harvest->feed = before;
		stream.offset = 0;
		failure = fetch_perform(fetch, request, &options, page, out, &harvest->error);
		harvest->bytes += (int64_t)out->length;
		if (failure == FETCH_OK && out->status == 200)
			return true;
		if (failure == FETCH_OK)
			error_set(&harvest->error, ERROR_FEED, "%s: HTTP %u%s%s", request->label,
				  out->status, *out->reason ? ", " : "", out->reason);
		harvest->outcome = failure == FETCH_OK ? outcome_of_status(harvest, out->status)
				   : failure == FETCH_UNWANTED ? "parse"
							       : outcome_of_failure(failure);
		harvest->retry_after_seconds = failure == FETCH_OK ? out->retry_after_seconds : -1;
		if (!is_worth_retrying(failure, out->status)) {
			*skip = failure == FETCH_OK && request->is_optional && out->status >= 400 &&
				out->status < 500;
			break;
		}
		if (request->is_dispensable || attempt + 1 >= harvest->attempts ||
		    harvest->retry_after_seconds > RETRY_AFTER_MAX_SECONDS ||
		    !back_off(harvest, attempt, harvest->retry_after_seconds))
			break;
	}
	if ((request->is_streamed || request->is_dispensable || request->is_one_of_many) &&
	    strcmp(harvest->outcome, "parse") != 0 &&
	    !(harvest->stop && atomic_load(harvest->stop))) {
		/* One of many, or beside the point: the provider makes do without. */
		const char *reason = arena_strdup(page, harvest->error.detail);

		harvest->feed = before;
		out->status = 0;
		out->reason = reason ? reason : "";
		*skip = true;
	}
	return *skip;
}

static bool look_up_euro(struct harvest *harvest, struct fetch *fetch)
{
	const struct fetch_options options = {
		.timeout_seconds = harvest->timeout_seconds,
		.connect_timeout_seconds = harvest->timeout_seconds < CONNECT_SECONDS
						   ? harvest->timeout_seconds
						   : CONNECT_SECONDS,
		.stop = harvest->stop,
	};

	if (!harvest->provider->needs_euro || !harvest->exchange)
		return true;
	return exchange_euro(harvest->exchange, fetch, &options, harvest->started_us,
			     &harvest->feed.euro, &harvest->error) ||
	       fail(harvest, "http");
}

/* A next page that was had before: of an answer that leads in a circle, each page costs a request
 * and none brings a row. `asked` holds what was asked so far. */
static bool is_asked_again(struct harvest *harvest, const struct fetch_request *request,
			   uint64_t *asked)
{
	const int count = harvest->feed.pages_done;
	uint64_t hash = hash_text(HASH_START, request->url);

	hash = request->body_length ? hash_bytes(hash, request->body, request->body_length)
				    : hash_text(hash, request->body ? request->body : "");
	hash = hash_text(hash, request->signature ? request->signature : "");
	for (int i = 0; i < count; i++)
		if (asked[i] == hash)
			return !error_set(&harvest->error, ERROR_FEED,
					  "%s: the pages lead back to one asked before",
					  request->label);
	asked[count] = hash;
	return false;
}

static bool walk(struct harvest *harvest, struct fetch *fetch, struct arena *page)
{
	const struct provider *provider = harvest->provider;
	struct feed *feed = &harvest->feed;
	struct fetch_request request = {0};
	uint64_t *asked = arena_array(feed->arena, provider->pages_max, sizeof(*asked));

	feed->is_exhausted = !asked;
	while (asked && provider->request(feed, &request, &harvest->error)) {
		struct fetch_response response;
		bool skip;

		if (feed->is_exhausted || !request.url || !request.label) {
			feed->is_exhausted = true;
			break;
		}
		if (feed->pages_done >= (int)provider->pages_max) {
			error_set(&harvest->error, ERROR_FEED, "over %u pages",
				  provider->pages_max);
			return fail(harvest, "parse");
		}
		if (is_asked_again(harvest, &request, asked))
			return fail(harvest, "parse");
		if (feed->pages_done && provider->gap_seconds > 0 &&
		    !pause_seconds(provider->gap_seconds, harvest->stop))
			return fail(harvest, "http");
		if (!fetch_page(harvest, fetch, &request, page, &response, &skip))
			return false;
		error_init(&harvest->error, NULL);
		if (skip)
			response = (struct fetch_response){.status = response.status,
							   .body = "",
							   .content_type = "",
							   .link = "",
							   .reason = response.reason};
		else if (harvest->record && !request.is_streamed && !request.is_secret &&
			 !record_write(harvest->record, provider->id, request.label, 0,
				       response.body, response.length, &harvest->error))
			return fail(harvest, "http");
		/* Where nothing came, the outcome is still the fetch's. */
		if (!provider->parse(feed, &request, &response, &harvest->error))
			return response.status ? fail(harvest, "parse") : false;
		feed->pages_done++;
		request = (struct fetch_request){0};
	}
	if (error_is_set(&harvest->error))
		return fail(harvest, "parse");
	if (!feed->is_exhausted && provider->finish && !provider->finish(feed, &harvest->error))
		return fail(harvest, "parse");
	if (feed->is_exhausted) {
		error_set(&harvest->error, ERROR_FEED, "the feed does not fit in %zu bytes",
			  harvest->arena.limit);
		return fail(harvest, "parse");
	}
	return true;
}

/* An override may end in a slash; providers' paths begin with one. */
static const char *base_url(struct harvest *harvest)
{
	size_t length = harvest->base_url ? strlen(harvest->base_url) : 0;
	const char *copy;

	if (!harvest->base_url)
		return harvest->provider->base_url;
	while (length && harvest->base_url[length - 1] == '/')
		length--;
	copy = arena_strndup(&harvest->arena, harvest->base_url, length);
	return copy ? copy : "";
}

bool harvest_run(struct harvest *harvest)
{
	const struct provider *provider = harvest->provider;
	struct fetch *fetch = fetch_new();
	struct arena page = {0};
	bool is_good = false;

	arena_init(&harvest->arena, FEED_BYTES_MAX);
	error_init(&harvest->error, NULL);
	harvest->retry_after_seconds = -1;
	harvest->started_us = clock_wall_us();
	harvest->feed = (struct feed){
		.arena = &harvest->arena,
		.base_url = base_url(harvest),
		.base_url_is_override = harvest->base_url != NULL,
		.key = harvest->key,
		.now_us = harvest->started_us,
		.last = harvest->last,
		.last_count = harvest->last_count,
		.memo = harvest->memo ? harvest->memo : "",
		.memo_next = "",
	};
	harvest->outcome = "ok";
	if (!fetch) {
		error_set(&harvest->error, ERROR_FEED, "no memory for a connection");
		fail(harvest, "http");
	} else if (look_up_euro(harvest, fetch) && walk(harvest, fetch, &page)) {
		is_good = normalise(provider, &harvest->feed, &harvest->report, &harvest->error) ||
			  fail(harvest, "parse");
		if (is_good && harvest->discount)
			discount_apply(harvest->discount, &harvest->feed);
	}
	arena_release(&page);
	fetch_free(fetch);
	if (is_good) {
		harvest->outcome = "ok";
		harvest->retry_after_seconds = -1;
	}
	harvest->finished_us = clock_wall_us();
	return is_good;
}

void harvest_release(struct harvest *harvest)
{
	arena_release(&harvest->arena);
	arena_release(&harvest->past);
}
