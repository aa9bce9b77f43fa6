/*
 * Lambda: one list, with a key. Prices are whole US cents per instance-hour. The regions of a type
 * are those with capacity now: none means sold out, at a price that still stands. The card is told
 * in words only; the description decides, since a name like gpu_1x_a100 says neither 40 nor 80 GB.
 */
#include "core/accelerator.h"
#include "server/ingest/providers/payload.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"instance-types", NULL};

const struct provider lambda = {
	.id = "lambda",
	.source = "lambda-api",
	.base_url = "https://cloud.lambda.ai",
	.key_variable = "GPUPICK_LAMBDA_KEY",
	.refresh_seconds = 300,
	.body_max = (size_t)4 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://docs.lambda.ai/api/cloud",
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	return payload_request_once(feed, &lambda, "/api/v1/instance-types",
				    "Authorization: Bearer ", out, error);
}

/* The number before "GB" in "H100 (80 GB SXM5)"; 0 when the words do not say. */
static double memory_gb_each(const char *description)
{
	const char *open = strchr(description, '(');
	char *end;
	double memory_gb;

	if (!open || !isdigit((unsigned char)open[1]))
		return 0;
	memory_gb = strtod(open + 1, &end);
	return strncmp(end, " GB", 3) == 0 ? memory_gb : 0;
}

static void add(struct feed *feed, const struct offer *base, const char *region,
		enum availability availability)
{
	struct offer *offer = feed_add(feed);

	if (!offer)
		return;
	*offer = *base;
	offer->region = feed_text(feed, region);
	offer->country = strncmp(region, "us-", 3) == 0 ? "US" : ""; /* others: core/country.h */
	offer->availability = availability;
}

/* The first that a rule knows; the description, as the feed writes it, when none does. */
static const char *spelling(const json_t *type, const char *name)
{
	const char *words = payload_text(type, "gpu_description");
	const char *sentence = payload_text(type, "description");

	if (accelerator_resolve("lambda", words))
		return words;
	if (accelerator_resolve("lambda", sentence))
		return sentence;
	return accelerator_resolve("lambda", name) || !*words ? name : words;
}

static void take_type(struct feed *feed, const char *name, const json_t *row)
{
	const json_t *type = json_object_get(row, "instance_type");
	const json_t *specs = json_object_get(type, "specs");
	const json_t *regions = json_object_get(row, "regions_with_capacity_available");
	struct offer base = feed_offer(feed);
	const char *cents;
	int gpus;

	if (!payload_integer(specs, "gpus", &gpus)) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: no specs.gpus", name);
		return;
	}
	if (gpus == 0) /* a machine without GPU */
		return;
	feed->rows_seen++;
	if (!json_is_array(regions)) {
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: no list of regions", name);
		return;
	}
	base.instance_type = feed_text(feed, name);
	base.accelerator = feed_text(feed, spelling(type, name));
	base.count_milli = gpus > 0 && gpus < 1000 ? gpus * COUNT_MILLI_ONE : 0;
	base.memory_gb = memory_gb_each(payload_text(type, "gpu_description")) * gpus;
	payload_number(specs, "vcpus", &base.vcpus);
	payload_number(specs, "memory_gib", &base.ram_gib);
	if (payload_number(specs, "storage_gib", &base.disk_gb))
		base.disk_gb *= GIB / GB;
	base.price_micros =
		price_divide(payload_price(feed, type, "price_cents_per_hour", &cents), 100);
	if (*cents)
		base.original_amount =
			feed_text(feed, arena_printf(feed->arena, "%.6g",
						     usd_from_micros(base.price_micros)));
	for (size_t i = 0; i < json_array_size(regions); i++) {
		const char *region = payload_text(json_array_get(regions, i), "name");

		if (!*region) {
			feed_reject(feed, REJECTED_SCHEMA, "%.60s: a region without a name", name);
			continue;
		}
		feed->rows_seen += i > 0;
		add(feed, &base, region, AVAILABILITY_YES);
	}
	if (!json_array_size(regions))
		add(feed, &base, "", AVAILABILITY_NO);
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	json_t *data, *type;
	const char *name;

	(void)asked;
	feed->page = 1;
	if (!root || !payload_member(root, "data", JSON_OBJECT, error))
		return false;
	data = json_object_get(root, "data");
	json_object_foreach (data, name, type) {
		take_type(feed, name, type);
	}
	return true;
}
