/*
 * CloudRift: one list, no credential. Each variant of a type is a machine with its own price in US
 * cents per hour; memory is told in bytes of one GPU. Per data centre it says how many nodes there
 * are and how many are free.
 */
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"instance-types", NULL};

const struct provider cloudrift = {
	.id = "cloudrift",
	.source = "cloudrift-api",
	.base_url = "https://api.cloudrift.ai",
	.refresh_seconds = 300,
	.body_max = (size_t)4 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://docs.cloudrift.ai/",
	.request = request,
	.parse = parse,
};

static const char query[] =
	"{\"version\":\"2025-03-21\",\"data\":{\"selector\":{\"ByServiceAndLocation\":"
	"{\"services\":[\"vm\"]}}}}";

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	(void)error;
	if (feed->page > 0)
		return false;
	*out = (struct fetch_request){
		.method = "POST",
		.url = arena_printf(feed->arena, "%s/api/v1/instance-types/list", feed->base_url),
		.headers = {"Content-Type: application/json", "Accept: application/json"},
		.headers_count = 2,
		.body = query,
		.label = "instance-types",
	};
	return true;
}

static void take_centre(struct feed *feed, const struct offer *base, const json_t *variant,
			const char *centre, const char *country)
{
	const json_t *free_nodes = json_object_get(variant, "available_nodes_per_dc");
	struct offer *offer = feed_copy(feed, base);
	int nodes = 0;

	if (!offer)
		return;
	offer->region = feed_text(feed, centre);
	offer->country = country;
	if (!json_is_object(free_nodes))
		return;
	payload_integer(free_nodes, centre, &nodes); /* a centre that is not named has none */
	offer->availability = nodes > 0 ? AVAILABILITY_YES : AVAILABILITY_NO;
	offer->quantity = nodes > 0 ? nodes : 0;
}

static void take_variant(struct feed *feed, const char *brand, json_t *variant)
{
	const char *const spellings[] = {brand, NULL};
	struct offer base = feed_offer(feed);
	json_t *centres = json_object_get(variant, "nodes_per_dc"), *nodes;
	const char *name = payload_text(variant, "name"), *centre;
	double bytes = 0;
	int gpus = 0;

	if (!payload_integer(variant, "gpu_count", &gpus) || gpus < 0 || gpus > 1000 || !*name) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "variant \"%.60s\" of \"%.30s\": no gpu_count",
			    name, brand);
		return;
	}
	if (gpus == 0)
		return;
	payload_number(variant, "vram", &bytes);
	base.instance_type = feed_text(feed, name);
	base.accelerator = payload_spelling(feed, "cloudrift", bytes / GIB, spellings);
	base.count_milli = gpus * COUNT_MILLI_ONE;
	base.memory_gb = bytes / GIB * gpus;
	payload_number(variant, "cpu_count", &base.vcpus);
	if (payload_number(variant, "dram", &bytes))
		base.ram_gib = bytes / GIB;
	if (payload_number(variant, "disk", &bytes))
		base.disk_gb = bytes / GB;
	base.price_micros = payload_cents(feed, variant, "cost_per_hour", &base.original_amount);
	feed->rows_seen++;
	if (!json_object_size(centres)) {
		feed_copy(feed, &base);
		return;
	}
	feed->rows_seen += (int64_t)json_object_size(centres) - 1;
	json_object_foreach (centres, centre, nodes) {
		take_centre(feed, &base, variant, centre,
			    strncmp(centre, "us-", 3) == 0 ? "US" : "");
	}
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *data = root ? payload_member(root, "data", JSON_OBJECT, error) : NULL;
	const json_t *types =
		data ? payload_member(data, "instance_types", JSON_ARRAY, error) : NULL;

	(void)asked;
	feed->page = 1;
	if (!types)
		return false;
	for (size_t i = 0; i < json_array_size(types); i++) {
		const json_t *type = json_array_get(types, i);
		const json_t *variants = json_object_get(type, "variants");

		for (size_t v = 0; v < json_array_size(variants); v++)
			take_variant(feed, payload_text(type, "brand_short"),
				     json_array_get(variants, v));
	}
	return true;
}
