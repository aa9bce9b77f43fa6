/* Poll: see poll.h. */
#include "server/api/poll.h"

#include "core/hash.h"
#include "server/api/price_versions.h"
#include "server/http/http.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LAG_SECONDS 2 /* that a replica may need to catch up, and a poller is kept for at most */

int64_t poll_read_wait(struct query_reader *reader)
{
	int64_t most = (int64_t)reader->request->server->config->wait_seconds, wait = 0;

	if (request_query(reader->request, "wait"))
		query_whole(reader, "wait", 0, most, &wait);
	else if (request_prefers_wait(reader->request, &wait) && wait > most)
		wait = most;
	return wait;
}

/* Feeds that are stale now: a list shows them. */
static uint64_t stale_hash(const struct catalogue *catalogue)
{
	uint64_t hash = HASH_START;

	for (uint32_t i = 0; i < catalogue->stale_providers_count; i++)
		hash = hash_text(hash, catalogue->stale_providers[i]);
	return hash;
}

const char *poll_etag(struct request *request, const struct price_filter *filter)
{
	const struct catalogue *catalogue = request->catalogue;
	const char *key = price_versions_key(request, filter, &request->arena);
	int64_t version =
		price_versions_find(request->server->price_versions, key, filter, catalogue);
	uint64_t hash = hash_text(stale_hash(catalogue), request->accepted);

	/* Whether it waited for the answer is no part of it. */
	for (int i = 0; i < request->queries; i++)
		if (strcmp(request->query[i].name, "wait") != 0)
			hash = hash_text(hash_text(hash, request->query[i].name),
					 request->query[i].value);
	/* Dates move without a change. */
	for (int i = 0; i < filter->order_count; i++)
		if (filter->order[i].key == SORT_OBSERVED_AT)
			hash = hash_bytes(hash, &catalogue->newest_observed_us,
					  sizeof(catalogue->newest_observed_us));
	hash = hash_text(hash, catalogue == catalogue->public_view ? "public" : "all");
	return arena_printf(&request->arena, "W/\"%.8s-%" PRId64 "-%016" PRIx64 "\"",
			    catalogue->epoch, version, hash);
}

const char *poll_newer_etag(struct request *request, const char *etag, int64_t *version)
{
	const char *known = request_list(request, "If-None-Match");
	const char *start = strchr(etag, '"'), *end = strrchr(etag, '-');
	size_t head = strlen("\"01234567-");
	char *rest;

	/* What is alike but for the version, and of one that this replica has not reached. */
	for (; known && (known = strchr(known, '"')); known++) {
		if (strncmp(known, start, head) != 0)
			continue;
		*version = strtoll(known + head, &rest, 10);
		if (*version > request->catalogue->version && strncmp(rest, end, strlen(end)) == 0)
			return arena_printf(&request->arena, "W/%.*s",
					    (int)((size_t)(rest - known) + strlen(end)), known);
	}
	return NULL;
}

struct news {
	struct hold hold;
	struct price_filter filter;
	const char *key;
	char epoch[EPOCH_TEXT];
	int64_t version;
	uint64_t stale;
};

static bool has_news(const struct hold *hold, const struct server *server,
		     const struct catalogue *catalogue)
{
	const struct news *news = (const struct news *)(const void *)hold;

	if (strcmp(news->epoch, catalogue->epoch) != 0 || news->stale != stale_hash(catalogue))
		return true;
	return price_versions_have_news(server->price_versions, news->key, &news->filter, catalogue,
					news->version);
}

bool poll_hold_for_news(struct request *request, const struct price_filter *filter, int64_t seconds)
{
	struct news *news;

	if (!request_may_hold(request, seconds))
		return false;
	news = arena_alloc(&request->arena, sizeof(*news));
	if (!news)
		return false;
	*news = (struct news){.hold = {.is_due = has_news},
			      .filter = *filter,
			      .key = price_versions_key(request, filter, &request->arena),
			      .version = request->catalogue->version,
			      .stale = stale_hash(request->catalogue)};
	memcpy(news->epoch, request->catalogue->epoch, sizeof(news->epoch));
	price_versions_expect(request->server->price_versions, news->key, filter,
			      request->catalogue);
	request_hold(request, &news->hold, seconds);
	return true;
}

struct reach {
	struct hold hold;
	char wanted[EPOCH_TEXT], epoch[EPOCH_TEXT];
	int64_t version;
};

static bool has_reached(const struct hold *hold, const struct server *server,
			const struct catalogue *catalogue)
{
	const struct reach *reach = (const struct reach *)(const void *)hold;

	(void)server;
	if (strcmp(reach->wanted, catalogue->epoch) == 0)
		return catalogue->version >= reach->version;
	return strcmp(reach->epoch, catalogue->epoch) != 0;
}

bool poll_hold_for_version(struct request *request, const char *epoch, int64_t version,
			   int64_t seconds)
{
	struct reach *reach;

	if (seconds < LAG_SECONDS)
		seconds = LAG_SECONDS;
	if (!request_may_hold(request, seconds))
		return false;
	reach = arena_alloc(&request->arena, sizeof(*reach));
	if (!reach)
		return false;
	*reach = (struct reach){.hold = {.is_due = has_reached}, .version = version};
	memcpy(reach->wanted, epoch, sizeof(reach->wanted));
	memcpy(reach->epoch, request->catalogue->epoch, sizeof(reach->epoch));
	request_hold(request, &reach->hold, seconds);
	return true;
}

const char *poll_cache_control(int64_t wait_seconds)
{
	return wait_seconds > 0 ? "no-store" : NULL;
}

void poll_count_expired(const struct request *request)
{
	metrics_delta_expired(request->server->metrics);
}
