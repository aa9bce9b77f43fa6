/*
 * Prime Intellect: other clouds' machines under one key, page by page. A price is that of the whole
 * offer, all of its GPUs, and is not linear in them. The cloud that an offer stands in, and how
 * secure it is, are the tier, so that its rows never meet those of that cloud's own feed. What is
 * paid in advance is no hourly price and is refused. `isSpot` null is no spot.
 *
 * A default disk is priced apart and said not to be included; the prices of RunPod's machines here
 * are RunPod's own plus exactly that disk, so it is in the price, and nothing is added.
 */
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

#define PAGE_SIZE 100

static const char *const pages[] = {"gpus", NULL};

const struct provider primeintellect = {
	.id = "primeintellect",
	.source = "primeintellect-api",
	.base_url = "https://api.primeintellect.ai",
	.key_variable = "GPUPICK_PRIMEINTELLECT_KEY",
	.refresh_seconds = 600,
	.gap_seconds = 0.1,
	.body_max = (size_t)8 << 20,
	.pages_max = 100,
	.pages = pages,
	.documentation = "https://docs.primeintellect.ai/api-reference/availability/get-gpus",
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	if (feed->page < 0)
		return false;
	*out = (struct fetch_request){
		.method = "GET",
		.url = arena_printf(feed->arena, "%s/api/v1/availability/gpus?page=%d&page_size=%d",
				    feed->base_url, feed->page + 1, PAGE_SIZE),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = arena_printf(feed->arena, "gpus-%d", feed->page + 1),
	};
	return payload_key_header(feed, &primeintellect, "Authorization: Bearer ", out, error);
}

static enum availability availability(const char *stock)
{
	static const char *const words[] = {"Available", "High", "Medium", "Low"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], stock) == 0)
			return AVAILABILITY_YES;
	return strcmp(stock, "Unavailable") == 0 ? AVAILABILITY_NO : AVAILABILITY_UNKNOWN;
}

/* "A100 PCIe 80GB" of "A100_80GB", "PCIe" and 80. */
static const char *composed(struct feed *feed, const char *card, const char *socket,
			    double memory_gb)
{
	if (!*socket || !(memory_gb > 0))
		return "";
	return feed_text(feed, arena_printf(feed->arena, "%.*s %s %.0fGB", (int)strcspn(card, "_"),
					    card, socket, memory_gb));
}

static void take_item(struct feed *feed, const json_t *row)
{
	const json_t *prices = json_object_get(row, "prices"), *paid;
	const char *type = payload_text(row, "cloudId"), *card = payload_text(row, "gpuType");
	const char *cloud = payload_text(row, "provider"),
		   *centre = payload_text(row, "dataCenter");
	const char *security = payload_text(row, "security");
	double memory_gb = 0;
	struct offer *offer;
	int gpus = 0;

	feed->rows_seen++;
	paid = json_object_get(row, "prepaidTime");
	if (!*type || !*cloud || !payload_integer(row, "gpuCount", &gpus) || gpus <= 0 ||
	    gpus > 1000 || strcmp(payload_text(prices, "currency"), "USD") != 0 ||
	    (paid && !json_is_null(paid))) {
		feed_reject(feed, REJECTED_SCHEMA,
			    "\"%.40s\" of \"%.30s\": a field is missing, or paid in advance", type,
			    cloud);
		return;
	}
	offer = feed_add(feed);
	if (!offer)
		return;
	payload_number(row, "gpuMemory", &memory_gb);
	const char *const spellings[] = {
		card, composed(feed, card, payload_text(row, "socket"), memory_gb), type, NULL};
	offer->instance_type = feed_text(feed, type);
	offer->accelerator = payload_spelling(feed, "primeintellect", memory_gb, spellings);
	offer->count_milli = gpus * COUNT_MILLI_ONE;
	offer->memory_gb = memory_gb * gpus;
	offer->tier = feed_text(
		feed, arena_printf(feed->arena, "%s%s%s", cloud, *security ? "/" : "", security));
	offer->region = feed_text(feed, *centre ? centre : payload_text(row, "region"));
	offer->country = feed_text(feed, payload_text(row, "country"));
	payload_number(json_object_get(row, "vcpu"), "defaultCount", &offer->vcpus);
	payload_number(json_object_get(row, "memory"), "defaultCount", &offer->ram_gib);
	payload_number(json_object_get(row, "disk"), "defaultCount", &offer->disk_gb);
	offer->interconnect = feed_text(feed, payload_text(row, "interconnectType"));
	offer->price_kind = payload_flag(row, "isSpot", false) ? PRICE_SPOT : PRICE_ON_DEMAND;
	offer->price_micros = payload_price(feed, prices, "onDemand", &offer->original_amount);
	offer->availability = availability(payload_text(row, "stockStatus"));
}

/* An answer does not say which page it is: one that repeats the last one is a walk on the spot, in
 * which the rows of the other pages would be lost. */
static bool is_told_again(struct feed *feed, const struct fetch_response *response)
{
	const char *last = feed->state;

	feed->state = arena_strdup(feed->arena, response->body);
	feed->is_exhausted |= !feed->state;
	return last && strcmp(last, response->body) == 0;
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *items = root ? payload_member(root, "items", JSON_ARRAY, error) : NULL;
	double total;

	if (!items)
		return false;
	if (is_told_again(feed, response))
		return error_set(error, ERROR_FEED, "%s: answered with the page before",
				 asked->label);
	if (!payload_number(root, "totalCount", &total))
		return error_set(error, ERROR_FEED, "no totalCount: how many pages there are");
	for (size_t i = 0; i < json_array_size(items); i++)
		take_item(feed, json_array_get(items, i));
	feed->page = json_array_size(items) && (feed->page + 1) * PAGE_SIZE < total ? feed->page + 1
										    : -1;
	return true;
}
