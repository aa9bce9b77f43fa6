/*
 * JarvisLabs: cards by region, with a key. Dollars per GPU-hour; a row is a virtual machine unless
 * it says "container", and only containers have a spot price, whatever rows of machines carry. How
 * many GPUs a machine can have comes as text, or not at all: then only what is free is certain.
 */
#include "server/ingest/providers/payload.h"

#include <stdlib.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

#define GPUS_MAX 8

static const char *const pages[] = {"server-meta", NULL};

const struct provider jarvislabs = {
	.id = "jarvislabs",
	.source = "jarvislabs-api",
	.base_url = "https://backendn.jarvislabs.net",
	.key_variable = "GPUPICK_JARVISLABS_KEY",
	.refresh_seconds = 600,
	.body_max = (size_t)1 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://docs.jarvislabs.ai/",
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	return payload_request_once(feed, &jarvislabs, "/misc/server_meta",
				    "Authorization: Bearer ", out, error);
}

/* Of "24", "141 GB" or 24. */
static double memory_gb_of(const json_t *row)
{
	const char *text = payload_text(row, "vram");
	double memory_gb = 0;
	char *end;

	if (!*text)
		return payload_number(row, "vram", &memory_gb) ? memory_gb : 0;
	memory_gb = strtod(text, &end);
	while (*end == ' ')
		end++;
	return (!*end || strcmp(end, "GB") == 0) && memory_gb > 0 && memory_gb < 10000 ? memory_gb
										       : 0;
}

struct sale {
	enum price_kind kind;
	const char *price, *free_devices;
};

static void add(struct feed *feed, const struct offer *base, const json_t *row, int gpus,
		const struct sale *sale)
{
	struct offer *offer = feed_copy(feed, base);
	double host;
	int free_devices;

	if (!offer)
		return;
	feed->rows_seen++;
	offer->price_kind = sale->kind;
	offer->count_milli = gpus * COUNT_MILLI_ONE;
	offer->memory_gb = base->memory_gb * gpus;
	offer->price_micros =
		price_times(payload_price(feed, row, sale->price, &offer->original_amount), gpus);
	if (payload_number(row, "cpus_per_gpu", &host))
		offer->vcpus = host * gpus;
	if (payload_number(row, "ram_per_gpu", &host))
		offer->ram_gib = host * gpus;
	if (payload_integer(row, sale->free_devices, &free_devices))
		offer->availability = free_devices >= gpus ? AVAILABILITY_YES : AVAILABILITY_NO;
}

static void take_row(struct feed *feed, const json_t *row)
{
	static const struct sale on_demand = {PRICE_ON_DEMAND, "price_per_hour",
					      "effective_num_free_devices"};
	static const struct sale spot = {PRICE_SPOT, "spot_price", "spot_num_free_devices"};
	const char *type = payload_text(row, "gpu_type"), *region = payload_text(row, "region");
	const char *const spellings[] = {type, NULL};
	bool is_container = strcmp(payload_text(row, "workload_type"), "container") == 0;
	struct offer base = feed_offer(feed);
	int most = 0;

	if (!*type || !*region) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "a row of \"%.40s\" has no name or region",
			    type);
		return;
	}
	if (!payload_integer(row, "num_gpus", &most) || most <= 0)
		payload_integer(row, "effective_num_free_devices", &most);
	most = most < 1 ? 1 : most > GPUS_MAX ? GPUS_MAX : most;
	base.region = feed_text(feed, region);
	base.country = strncmp(region, "india-", 6) == 0 ? "IN" : "";
	base.instance_type = feed_text(feed, type);
	base.memory_gb = memory_gb_of(row);
	base.accelerator = payload_spelling(feed, "jarvislabs", base.memory_gb, spellings);
	base.tier = is_container ? "container" : "vm";
	for (int gpus = 1; gpus <= most; gpus++) {
		add(feed, &base, row, gpus, &on_demand);
		if (is_container && payload_price(feed, row, "spot_price", NULL) != PRICE_UNKNOWN)
			add(feed, &base, row, gpus, &spot);
	}
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *rows = root ? payload_member(root, "server_meta", JSON_ARRAY, error) : NULL;

	(void)asked;
	feed->page = 1;
	for (size_t i = 0; i < json_array_size(rows); i++)
		take_row(feed, json_array_get(rows, i));
	return rows != NULL;
}
