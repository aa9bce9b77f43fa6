/*
 * Shadeform: other clouds' machines under one key. Whole US cents per instance-hour. The cloud that
 * a machine stands in is the tier, so that its rows never meet those of that cloud's own feed; who
 * rents here deals with Shadeform, whose terms hold. A card's form factor is a field of its own.
 */
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"instances", NULL};

const struct provider shadeform = {
	.id = "shadeform",
	.source = "shadeform-api",
	.base_url = "https://api.shadeform.ai",
	.key_variable = "GPUPICK_SHADEFORM_KEY",
	.refresh_seconds = 600,
	.body_max = (size_t)16 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://docs.shadeform.ai/api-reference/instances/instances-types",
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	return payload_request_once(feed, &shadeform, "/v1/instances/types?sort=price",
				    "X-API-KEY: ", out, error);
}

/* "A100 pcie 80GB" of "A100_80G", "pcie" and 80. */
static const char *composed(struct feed *feed, const char *card, const char *form, double memory_gb)
{
	if (!*form || !(memory_gb > 0))
		return "";
	return feed_text(feed, arena_printf(feed->arena, "%.*s %s %.0fGB", (int)strcspn(card, "_"),
					    card, form, memory_gb));
}

static const char *country(struct feed *feed, const char *display_name)
{
	return strlen(display_name) > 3 && strncmp(display_name + 2, ", ", 2) == 0
		       ? feed_text(feed, arena_strndup(feed->arena, display_name, 2))
		       : "";
}

static void take_places(struct feed *feed, const struct offer *base, const json_t *places)
{
	if (!json_array_size(places)) { /* nobody says where */
		feed->rows_seen++;
		feed_copy(feed, base);
	}
	for (size_t i = 0; i < json_array_size(places); i++) {
		const json_t *place = json_array_get(places, i);
		const char *region = payload_text(place, "region");
		const json_t *available = json_object_get(place, "available");
		struct offer *offer = feed_copy(feed, base);

		if (!offer)
			return;
		feed->rows_seen++;
		offer->region = strcmp(region, "any") == 0 ? "" : feed_text(feed, region);
		offer->country = country(feed, payload_text(place, "display_name"));
		if (json_is_boolean(available))
			offer->availability =
				json_is_true(available) ? AVAILABILITY_YES : AVAILABILITY_NO;
	}
}

static void take_type(struct feed *feed, const json_t *row)
{
	const json_t *specs = json_object_get(row, "configuration");
	const char *card = payload_text(specs, "gpu_type"), *cloud = payload_text(row, "cloud");
	const char *type = payload_text(row, "cloud_instance_type");
	struct offer base = feed_offer(feed);
	double memory_gb = 0;
	int gpus = 0;

	if (payload_integer(specs, "num_gpus", &gpus) && gpus == 0)
		return;
	if (!*cloud || !*type || gpus <= 0 || gpus > 1000) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "\"%.40s\" of \"%.30s\" with %d GPUs", type,
			    cloud, gpus);
		return;
	}
	payload_number(specs, "vram_per_gpu_in_gb", &memory_gb);
	const char *const spellings[] = {
		card, composed(feed, card, payload_text(specs, "interconnect"), memory_gb), type,
		NULL};
	base.instance_type = feed_text(feed, type);
	base.tier = feed_text(feed, cloud);
	base.accelerator = payload_spelling(feed, "shadeform", memory_gb, spellings);
	base.count_milli = gpus * COUNT_MILLI_ONE;
	base.memory_gb = memory_gb * gpus;
	base.interconnect = feed_text(feed, payload_text(specs, "interconnect"));
	payload_number(specs, "vcpus", &base.vcpus);
	payload_number(specs, "memory_in_gb", &base.ram_gib);
	payload_number(specs, "storage_in_gb", &base.disk_gb);
	base.price_micros = payload_cents(feed, row, "hourly_price", &base.original_amount);
	take_places(feed, &base, json_object_get(row, "availability"));
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *types =
		root ? payload_member(root, "instance_types", JSON_ARRAY, error) : NULL;

	(void)asked;
	feed->page = 1;
	for (size_t i = 0; i < json_array_size(types); i++)
		take_type(feed, json_array_get(types, i));
	return types != NULL;
}
