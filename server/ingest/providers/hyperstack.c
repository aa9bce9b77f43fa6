/*
 * Hyperstack: the price book, flavours by region, then how many are free, with a key. An item of
 * the book prices one GPU-hour when its name is a GPU's, and the whole machine when it is a
 * flavour's. Where the book has a price for CPUs and RAM, that of a GPU is only a part. Items may
 * lie in the future or the past. Numbers are texts, of stock also "100+". "-spot" names are spot.
 */
#include "server/ingest/providers/payload.h"

#include <stdlib.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

enum page { PAGE_PRICES, PAGE_FLAVORS, PAGE_STOCKS, PAGES };

static const char *const pages[] = {"pricebook", "flavors", "stocks", NULL};
static const char *const paths[PAGES] = {"/pricebook", "/core/flavors", "/core/stocks"};

const struct provider hyperstack = {
	.id = "hyperstack",
	.source = "hyperstack-api",
	.base_url = "https://infrahub-api.nexgencloud.com/v1",
	.key_variable = "GPUPICK_HYPERSTACK_KEY",
	.refresh_seconds = 600,
	.gap_seconds = 0.1,
	.body_max = (size_t)8 << 20,
	.pages_max = PAGES,
	.pages = pages,
	.documentation = "https://docs.hyperstack.cloud/docs/api-reference/",
	.request = request,
	.parse = parse,
};

struct item {
	struct item *next;
	const char *name, *amount;
	int64_t price_micros;
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	if (feed->page >= PAGES)
		return false;
	*out = (struct fetch_request){
		.page = feed->page,
		.method = "GET",
		.url = arena_printf(feed->arena, "%s%s", feed->base_url, paths[feed->page]),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = pages[feed->page],
		.is_optional = feed->page == PAGE_STOCKS,
	};
	return payload_key_header(feed, &hyperstack, "api_key: ", out, error);
}

/* A time that is not told bounds nothing. */
static bool is_in_force(const struct feed *feed, const json_t *row)
{
	int64_t start_us = feed_time(payload_text(row, "start_time"));
	int64_t end_us = feed_time(payload_text(row, "end_time"));

	return start_us <= feed->now_us && (end_us < 0 || end_us > feed->now_us);
}

static void take_item(struct feed *feed, const json_t *row)
{
	struct item *item;

	if (!*payload_text(row, "name") || !is_in_force(feed, row))
		return;
	item = arena_alloc(feed->arena, sizeof(*item));
	if (!item) {
		feed->is_exhausted = true;
		return;
	}
	item->name = feed_text(feed, payload_text(row, "name"));
	item->price_micros = payload_price(feed, row, "value", &item->amount);
	item->next = feed->state;
	feed->state = item;
}

static const struct item *find_item(const struct feed *feed, const char *name)
{
	const struct item *item = feed->state;

	while (item && strcmp(item->name, name) != 0)
		item = item->next;
	return item;
}

/* What `amount` units of CPU or RAM add; nothing where the book has no price for them. */
static bool add_part(const struct feed *feed, const char *name, double amount, int64_t *micros)
{
	const struct item *item = find_item(feed, name);
	double part;

	if (!item || item->price_micros == PRICE_UNKNOWN)
		return true;
	part = (double)item->price_micros * amount + 0.5;
	return part >= 0 && part < 1e15 && micros_add(*micros, (int64_t)part, micros);
}

static void price(struct feed *feed, struct offer *offer, const char *gpu, int gpus)
{
	const struct item *whole = find_item(feed, offer->instance_type);
	const struct item *each = whole ? NULL : find_item(feed, gpu);
	int64_t micros;

	if (whole) {
		offer->price_micros = whole->price_micros;
		offer->original_amount = whole->amount;
		return;
	}
	micros = each ? price_times(each->price_micros, gpus) : PRICE_UNKNOWN;
	if (micros == PRICE_UNKNOWN || !add_part(feed, "CPU", offer->vcpus, &micros) ||
	    !add_part(feed, "RAM", offer->ram_gib, &micros))
		return;
	offer->price_micros = micros;
	offer->original_amount = each->amount;
}

static const char *country(const char *region)
{
	return strncmp(region, "CANADA-", 7) == 0   ? "CA"
	       : strncmp(region, "NORWAY-", 7) == 0 ? "NO"
	       : strncmp(region, "US-", 3) == 0	    ? "US"
						    : "";
}

/* "H100-80G-PCIe" of "H100-80G-PCIe-spot". */
static const char *without_spot(struct feed *feed, const char *gpu, bool *is_spot)
{
	size_t length = strlen(gpu);

	*is_spot = length > 5 && strcmp(gpu + length - 5, "-spot") == 0;
	return *is_spot ? feed_text(feed, arena_strndup(feed->arena, gpu, length - 5))
			: feed_text(feed, gpu);
}

static void take_flavor(struct feed *feed, const json_t *group, const json_t *row)
{
	const char *gpu = payload_text(row, "gpu"), *name = payload_text(row, "name");
	const char *region = payload_text(row, "region_name");
	const json_t *stock = json_object_get(row, "stock_available");
	struct offer *offer;
	bool is_spot;
	int gpus = 0;

	gpu = *gpu ? gpu : payload_text(group, "gpu");
	region = *region ? region : payload_text(group, "region_name");
	if (!*gpu || (payload_integer(row, "gpu_count", &gpus) && gpus == 0))
		return;
	feed->rows_seen++;
	if (!*name || !*region || gpus <= 0 || gpus > 1000) {
		feed_reject(feed, REJECTED_SCHEMA, "flavour \"%.60s\" with %d of %.30s", name, gpus,
			    gpu);
		return;
	}
	offer = feed_add(feed);
	if (!offer)
		return;
	offer->instance_type = feed_text(feed, name);
	offer->region = feed_text(feed, region);
	offer->country = country(region);
	offer->accelerator = without_spot(feed, gpu, &is_spot);
	offer->price_kind = is_spot ? PRICE_SPOT : PRICE_ON_DEMAND;
	offer->count_milli = gpus * COUNT_MILLI_ONE;
	payload_number(row, "cpu", &offer->vcpus);
	payload_number(row, "ram", &offer->ram_gib);
	payload_number(row, "disk", &offer->disk_gb);
	if (json_is_boolean(stock))
		offer->availability = json_is_true(stock) ? AVAILABILITY_YES : AVAILABILITY_NO;
	price(feed, offer, gpu, gpus);
}

/* How many machines of so many GPUs are free there: "8x" in the configurations. */
static void take_model(struct feed *feed, const char *region, const json_t *model)
{
	const json_t *configurations = json_object_get(model, "configurations");

	for (size_t i = 0; i < feed->count; i++) {
		struct offer *offer = &feed->offers[i];
		char key[16];
		int machines;

		snprintf(key, sizeof(key), "%dx", offer->count_milli / COUNT_MILLI_ONE);
		if (strcmp(offer->region, region) == 0 &&
		    strcmp(offer->accelerator, payload_text(model, "model")) == 0 &&
		    offer->price_kind == PRICE_ON_DEMAND &&
		    payload_integer(configurations, key, &machines) && machines >= 0) {
			offer->quantity = machines;
			offer->availability = machines > 0 ? AVAILABILITY_YES : AVAILABILITY_NO;
		}
	}
}

static bool parse_stocks(struct feed *feed, const json_t *root, struct error *error)
{
	const json_t *stocks = payload_member(root, "stocks", JSON_ARRAY, error);

	for (size_t s = 0; s < json_array_size(stocks); s++) {
		const json_t *stock = json_array_get(stocks, s);
		const json_t *models = json_object_get(stock, "models");

		for (size_t m = 0; m < json_array_size(models); m++)
			take_model(feed, payload_text(stock, "region"), json_array_get(models, m));
	}
	return stocks != NULL;
}

static bool parse_flavors(struct feed *feed, const json_t *root, struct error *error)
{
	const json_t *groups = payload_member(root, "data", JSON_ARRAY, error);

	for (size_t g = 0; g < json_array_size(groups); g++) {
		const json_t *group = json_array_get(groups, g);
		const json_t *flavors = json_object_get(group, "flavors");

		for (size_t f = 0; f < json_array_size(flavors); f++)
			take_flavor(feed, group, json_array_get(flavors, f));
	}
	return groups != NULL;
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = NULL;

	feed->page = asked->page + 1;
	if (!response->length && asked->is_optional)
		return true;
	if (asked->page == PAGE_PRICES) {
		root = payload_parse_list(response, error);
		for (size_t i = 0; i < json_array_size(root); i++)
			take_item(feed, json_array_get(root, i));
		return root != NULL;
	}
	root = payload_parse(response, error);
	if (!root)
		return false;
	return asked->page == PAGE_FLAVORS ? parse_flavors(feed, root, error)
					   : parse_stocks(feed, root, error);
}
