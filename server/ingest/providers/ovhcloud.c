/*
 * OVHcloud: the order catalogue of one subsidiary, no credential. Prices are whole numbers of 1e-8
 * of the catalogue's currency per instance-hour, without tax. Only hourly Linux plans are taken:
 * the Windows plan of a machine has the same invoice name, and a monthly plan is a discount of its
 * own, of which no hourly price may be made. Which region has a machine is told to accounts only.
 */
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

#define UNITS_PER_MICRO 100 /* 1e-8 units in a millionth */

static const char *const pages[] = {"catalog", NULL};

const struct provider ovhcloud = {
	.id = "ovhcloud",
	.source = "ovhcloud-order-catalog",
	.base_url = "https://eu.api.ovh.com",
	.refresh_seconds = 3600,
	.body_max = (size_t)64 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://eu.api.ovh.com/console/?section=%2Forder&branch=v1",
	.needs_euro = true,
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	(void)error;
	if (feed->page > 0)
		return false;
	*out = (struct fetch_request){
		.method = "GET",
		.url = arena_printf(feed->arena,
				    "%s/v1/order/catalog/public/cloud?ovhSubsidiary=FR",
				    feed->base_url),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = "catalog",
	};
	return true;
}

static bool has_text(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *item = json_string_value(json_array_get(list, i));

		if (item && strcmp(item, text) == 0)
			return true;
	}
	return false;
}

/* The pricing for an hour of use, or NULL. */
static const json_t *find_hourly(const json_t *addon)
{
	const json_t *list = json_object_get(addon, "pricings");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *pricing = json_array_get(list, i);
		int interval = 0;

		if (strcmp(payload_text(pricing, "intervalUnit"), "hour") == 0 &&
		    payload_integer(pricing, "interval", &interval) && interval == 1 &&
		    has_text(json_object_get(pricing, "capacities"), "consumption"))
			return pricing;
	}
	return NULL;
}

/* "h100-380" of "h100-380.consumption"; "" for any other plan. */
static const char *machine_of(struct feed *feed, const char *plan)
{
	static const char ending[] = ".consumption";
	size_t length = strlen(plan), tail = sizeof(ending) - 1;

	if (length <= tail || strcmp(plan + length - tail, ending) != 0)
		return "";
	return feed_text(feed, arena_strndup(feed->arena, plan, length - tail));
}

static void price(struct feed *feed, struct offer *offer, const json_t *pricing,
		  const char *currency)
{
	int64_t micros = price_divide(payload_price(feed, pricing, "price", NULL),
				      MICROS_PER_USD * UNITS_PER_MICRO);
	const char *amount = "";

	/* payload_price() took the units for whole coins: that is 1e6 x 1e2 too much. */
	if (micros != PRICE_UNKNOWN)
		amount = arena_printf(feed->arena, "%.8g", usd_from_micros(micros));
	if (strcmp(currency, "USD") == 0) {
		offer->price_micros = micros;
		offer->original_amount = feed_text(feed, amount);
	} else if (strcmp(currency, "EUR") == 0) {
		feed_price_euro(feed, offer, micros, amount);
	} else { /* no rate for it: the price stays unknown */
		offer->original_currency = feed_text(feed, currency);
		offer->original_amount = feed_text(feed, amount);
	}
}

static void take_addon(struct feed *feed, const json_t *addon, const char *currency)
{
	const json_t *blobs = json_object_get(addon, "blobs");
	const json_t *technical = json_object_get(blobs, "technical");
	const json_t *gpu = json_object_get(technical, "gpu");
	const char *machine = machine_of(feed, payload_text(addon, "planCode"));
	const char *const spellings[] = {machine, payload_text(gpu, "model"), NULL};
	const json_t *pricing = find_hourly(addon);
	struct offer *offer;
	double memory_gb = 0;
	int gpus = 0;

	if (strcmp(payload_text(addon, "product"), "publiccloud-instance") != 0 || !*machine ||
	    strcmp(payload_text(json_object_get(blobs, "commercial"), "brick"), "gpu") != 0 ||
	    strcmp(payload_text(json_object_get(technical, "os"), "family"), "linux") != 0)
		return;
	feed->rows_seen++;
	if (!payload_integer(gpu, "number", &gpus) || gpus <= 0 || gpus > 1000 || !pricing) {
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: no %s", machine,
			    pricing ? "number of GPUs" : "hourly price");
		return;
	}
	offer = feed_add(feed);
	if (!offer)
		return;
	payload_number(json_object_get(gpu, "memory"), "size", &memory_gb);
	offer->instance_type = machine;
	offer->accelerator = payload_spelling(feed, "ovhcloud", memory_gb, spellings);
	offer->count_milli = gpus * COUNT_MILLI_ONE;
	offer->memory_gb = memory_gb * gpus;
	payload_number(json_object_get(technical, "cpu"), "cores", &offer->vcpus);
	payload_number(json_object_get(technical, "memory"), "size", &offer->ram_gib);
	price(feed, offer, pricing, currency);
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *addons = root ? payload_member(root, "addons", JSON_ARRAY, error) : NULL;
	const char *currency;

	(void)asked;
	feed->page = 1;
	if (!addons)
		return false;
	currency = payload_text(json_object_get(root, "locale"), "currencyCode");
	if (!*currency)
		return error_set(error, ERROR_FEED, "the catalogue does not say its currency");
	for (size_t i = 0; i < json_array_size(addons); i++)
		take_addon(feed, json_array_get(addons, i), currency);
	return true;
}
