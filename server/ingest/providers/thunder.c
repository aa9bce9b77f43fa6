/*
 * Thunder Compute: prices by machine ("h100_x8"), then which of them can be had; no credential.
 * Dollars per instance-hour. Neither answer tells memory or form factor: "a100xl" is an A100 of 80
 * GB of a kind that nobody says, and so stays a spelling that no rule knows.
 */
#include "server/ingest/providers/payload.h"

#include <stdlib.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

enum page { PAGE_PRICING, PAGE_STATUS, PAGES };

static const char *const pages[] = {"pricing", "status", NULL};

const struct provider thunder = {
	.id = "thunder",
	.source = "thunder-api",
	.base_url = "https://api.thundercompute.com:8443",
	.refresh_seconds = 600,
	.body_max = (size_t)1 << 20,
	.pages_max = PAGES,
	.pages = pages,
	.documentation = "https://www.thundercompute.com/docs",
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	(void)error;
	if (feed->page >= PAGES)
		return false;
	*out = (struct fetch_request){
		.page = feed->page,
		.method = "GET",
		.url = arena_printf(feed->arena, "%s/v2/%s", feed->base_url, pages[feed->page]),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = pages[feed->page],
		.is_optional = feed->page == PAGE_STATUS,
	};
	return true;
}

static void take_price(struct feed *feed, const json_t *pricing, const char *key)
{
	const char *times = strstr(key, "_x");
	struct offer *offer;
	char *end = NULL;
	long gpus;

	if (!times) /* a price of something else: disk, vCPUs */
		return;
	feed->rows_seen++;
	gpus = strtol(times + 2, &end, 10);
	if (times == key || !times[2] || *end || gpus <= 0 || gpus > 1000) {
		feed_reject(feed, REJECTED_SCHEMA, "\"%.60s\" is not a card and a count", key);
		return;
	}
	offer = feed_add(feed);
	if (!offer)
		return;
	offer->instance_type = feed_text(feed, key);
	offer->accelerator =
		feed_text(feed, arena_strndup(feed->arena, key, (size_t)(times - key)));
	offer->count_milli = (int32_t)gpus * COUNT_MILLI_ONE;
	offer->price_micros = payload_price(feed, pricing, key, &offer->original_amount);
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = NULL;
	const char *key, *member = asked->page == PAGE_PRICING ? "pricing" : "specs";
	json_t *list, *value;

	feed->page = asked->page + 1;
	if (!response->length && asked->is_optional)
		return true;
	root = payload_parse(response, error);
	if (!root || !payload_member(root, member, JSON_OBJECT, error))
		return false;
	list = json_object_get(root, member);
	if (asked->page == PAGE_PRICING) {
		json_object_foreach (list, key, value) {
			take_price(feed, list, key);
		}
		return true;
	}
	for (size_t i = 0; i < feed->count; i++) {
		const char *status = payload_text(list, feed->offers[i].instance_type);

		if (strcmp(status, "available") == 0)
			feed->offers[i].availability = AVAILABILITY_YES;
		else if (strcmp(status, "unavailable") == 0)
			feed->offers[i].availability = AVAILABILITY_NO;
	}
	return true;
}
