/*
 * Seeweb: plans, with a token. Numbers are texts, RAM is in MB. A price is a number of euros, or a
 * text with its sign: "$0.85". The regions of a plan are those where it exists, which is no stock;
 * a plan that is not available at all is sold out.
 */
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"plans", NULL};

const struct provider seeweb = {
	.id = "seeweb",
	.source = "seeweb-api",
	.base_url = "https://api.seeweb.it",
	.key_variable = "GPUPICK_SEEWEB_KEY",
	.refresh_seconds = 3600,
	.body_max = (size_t)2 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://docs.seeweb.it/",
	.needs_euro = true,
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	return payload_request_once(feed, &seeweb, "/ecs/v2/plans", "X-APITOKEN: ", out, error);
}

static void price(struct feed *feed, struct offer *offer, const json_t *row)
{
	const char *amount;
	int64_t micros = payload_price(feed, row, "hourly_price", &amount);

	if (*payload_text(row, "hourly_price") == '$') {
		offer->price_micros = micros;
		offer->original_amount = amount;
	} else {
		feed_price_euro(feed, offer, micros, amount);
	}
}

static void take_plan(struct feed *feed, const json_t *row)
{
	const char *name = payload_text(row, "name"), *card = payload_text(row, "gpu_label");
	const char *const spellings[] = {card, name, NULL};
	const json_t *regions = json_object_get(row, "available_regions");
	struct offer base = feed_offer(feed), *offer;
	double ram_mb = 0;
	int gpus = 0;

	if (!payload_integer(row, "gpu", &gpus) || gpus == 0)
		return;
	feed->rows_seen++;
	if (gpus < 0 || gpus > 1000 || !*name) {
		feed_reject(feed, REJECTED_SCHEMA, "plan \"%.60s\" with %d GPUs", name, gpus);
		return;
	}
	base.instance_type = feed_text(feed, name);
	base.accelerator = payload_spelling(feed, "seeweb", 0, spellings);
	base.count_milli = gpus * COUNT_MILLI_ONE;
	payload_number(row, "cpu", &base.vcpus);
	payload_number(row, "disk", &base.disk_gb);
	if (payload_number(row, "ram", &ram_mb))
		base.ram_gib = ram_mb / 1024;
	if (!payload_flag(row, "available", true))
		base.availability = AVAILABILITY_NO;
	price(feed, &base, row);
	if (!json_array_size(regions)) {
		feed_copy(feed, &base);
		return;
	}
	feed->rows_seen += (int64_t)json_array_size(regions) - 1;
	for (size_t i = 0; i < json_array_size(regions); i++) {
		offer = feed_copy(feed, &base);
		if (!offer)
			return;
		offer->region =
			feed_text(feed, payload_text(json_array_get(regions, i), "location"));
		offer->country = strncmp(offer->region, "it-", 3) == 0 ? "IT" : "";
	}
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *plans = root ? payload_member(root, "plans", JSON_ARRAY, error) : NULL;

	(void)asked;
	feed->page = 1;
	for (size_t i = 0; i < json_array_size(plans); i++)
		take_plan(feed, json_array_get(plans, i));
	return plans != NULL;
}
