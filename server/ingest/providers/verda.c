/*
 * Verda (once DataCrunch): the list of instance types, which is read without a credential; stock
 * and locations are told to accounts only, so the region is "". Prices are texts, dollars per
 * instance-hour. The memory told is that of all GPUs of the instance, or, in some answers, of one:
 * whichever agrees with the card that is named.
 */
#include "core/accelerator.h"
#include "server/ingest/providers/payload.h"

#include <ctype.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"instance-types", NULL};

const struct provider verda = {
	.id = "verda",
	.source = "verda-catalog",
	.base_url = "https://api.verda.com",
	.refresh_seconds = 600,
	.body_max = (size_t)4 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://api.verda.com/v1/docs",
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
		.url = arena_printf(feed->arena, "%s/v1/instance-types?currency=usd",
				    feed->base_url),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = "instance-types",
	};
	return true;
}

/* "H100 SXM5 80GB" of "1x H100 SXM5 80GB". */
static const char *without_count(const char *text)
{
	const char *rest = text;

	while (isdigit((unsigned char)*rest))
		rest++;
	return rest > text && strncmp(rest, "x ", 2) == 0 ? rest + 2 : text;
}

/* The memory of one GPU by the two readings of what is told; 0 when neither fits the card. */
static double memory_gb_each(const char *const *spellings, double told_gb, int gpus)
{
	for (; *spellings; spellings++) {
		if (accelerator_resolve_memory("verda", *spellings, told_gb / gpus))
			return told_gb / gpus;
		if (accelerator_resolve_memory("verda", *spellings, told_gb))
			return told_gb;
	}
	return told_gb / gpus;
}

static void take_type(struct feed *feed, const json_t *row)
{
	const char *type = payload_text(row, "instance_type");
	const json_t *gpu = json_object_get(row, "gpu");
	const char *const spellings[] = {payload_text(row, "name"),
					 without_count(payload_text(gpu, "description")), type,
					 NULL};
	struct offer base = feed_offer(feed), *offer;
	const char *spot_amount;
	double told_gb = 0, each_gb;
	int64_t spot_micros;
	int gpus;

	if (!payload_integer(gpu, "number_of_gpus", &gpus) || gpus < 0 || gpus > 1000 || !*type) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "\"%.60s\": no number of GPUs", type);
		return;
	}
	if (gpus == 0)
		return;
	feed->rows_seen++;
	if (strcmp(payload_text(row, "currency"), "usd") != 0) {
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: priced in \"%.10s\", not in usd", type,
			    payload_text(row, "currency"));
		return;
	}
	payload_number(json_object_get(row, "gpu_memory"), "size_in_gigabytes", &told_gb);
	each_gb = memory_gb_each(spellings, told_gb, gpus);
	base.instance_type = feed_text(feed, type);
	base.accelerator = payload_spelling(feed, "verda", each_gb, spellings);
	base.count_milli = gpus * COUNT_MILLI_ONE;
	base.memory_gb = each_gb * gpus;
	payload_number(json_object_get(row, "cpu"), "number_of_cores", &base.vcpus);
	payload_number(json_object_get(row, "memory"), "size_in_gigabytes", &base.ram_gib);
	payload_number(json_object_get(row, "storage"), "size_in_gigabytes", &base.disk_gb);
	base.interconnect = feed_text(feed, payload_text(row, "p2p"));
	base.price_micros = payload_price(feed, row, "price_per_hour", &base.original_amount);
	feed_copy(feed, &base);
	spot_micros = payload_price(feed, row, "spot_price", &spot_amount);
	if (spot_micros == PRICE_UNKNOWN) /* not sold so */
		return;
	feed->rows_seen++;
	offer = feed_copy(feed, &base);
	if (!offer)
		return;
	offer->price_kind = PRICE_SPOT;
	offer->price_micros = spot_micros;
	offer->original_amount = spot_amount;
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse_list(response, error);

	(void)asked;
	feed->page = 1;
	if (!root)
		return false;
	for (size_t i = 0; i < json_array_size(root); i++)
		take_type(feed, json_array_get(root, i));
	return true;
}
