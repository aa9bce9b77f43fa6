/*
 * Google Cloud by the list that gcloud-compute.com keeps of it: whole machines by region, on demand
 * and as spot, dollars per hour; no credential. The monthly and committed figures there are the
 * mirror's arithmetic and are left alone. Some machines have a list price and are not sold on
 * demand at all: of these only the spot price is taken.
 */
#include "server/ingest/providers/gcp.h"
#include "core/instance.h"
#include "server/ingest/providers/csv.h"
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"machine-types", NULL};

const struct provider gcp = {
	.id = "gcp",
	.source = "gcloud-compute-com",
	.base_url = "https://gcloud-compute.com",
	.refresh_seconds = 21600,
	.body_max = (size_t)96 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://gcloud-compute.com/",
	.superseded_by = "gcp-billing-catalog",
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
		.url = arena_printf(feed->arena, "%s/machine-types-regions.csv", feed->base_url),
		.headers = {"Accept: text/csv"},
		.headers_count = 1,
		.label = "machine-types",
	};
	return true;
}

bool gcp_is_sold_on_demand(const char *type)
{
	static const char *const not_sold[] = {"a4-",		"a4x-",		 "a3-ultragpu-",
					       "a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g"};

	for (size_t i = 0; i < sizeof(not_sold) / sizeof(not_sold[0]); i++)
		if (strncmp(type, not_sold[i], strlen(not_sold[i])) == 0)
			return false;
	return true;
}

static void add(struct feed *feed, const struct offer *base, enum price_kind kind,
		const char *amount)
{
	struct offer *offer = feed_copy(feed, base);

	if (!offer)
		return;
	feed->rows_seen++;
	offer->price_kind = kind;
	offer->price_micros = price_parse(amount);
	offer->original_amount =
		offer->price_micros == PRICE_UNKNOWN ? "" : feed_text(feed, amount);
}

static void take_row(struct feed *feed, const struct csv *csv)
{
	const char *type = csv_text(csv, "name"), *region = csv_text(csv, "region");
	const char *const spellings[] = {type, csv_text(csv, "acceleratorType"), NULL};
	const struct instance *known = instance_find("gcp", type);
	double gpus = csv_number(csv, "acceleratorCount");
	struct offer base = feed_offer(feed);

	if (known) /* a fraction of a GPU counts as one in the list */
		gpus = known->count;
	if (!(gpus > 0))
		return;
	if (!*type || !*region || gpus > 1000) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "\"%.60s\" in \"%.30s\": no name or region",
			    type, region);
		return;
	}
	base.instance_type = feed_text(feed, type);
	base.region = feed_text(feed, region);
	base.country = feed_text(feed, csv_text(csv, "regionLocationCountryCode"));
	base.accelerator = payload_spelling(feed, "gcp", 0, spellings);
	base.count_milli = (int32_t)(gpus * COUNT_MILLI_ONE + 0.5);
	base.vcpus = csv_number(csv, "vCpus");
	base.ram_gib = csv_number(csv, "memoryGB");
	base.disk_gb = known ? known->local_nvme_gb : 0;
	if (gcp_is_sold_on_demand(type))
		add(feed, &base, PRICE_ON_DEMAND, csv_text(csv, "hour"));
	/* 0 stands for "none" here. */
	if (price_parse(csv_text(csv, "hourSpot")) != PRICE_UNKNOWN)
		add(feed, &base, PRICE_SPOT, csv_text(csv, "hourSpot"));
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	static const char *const required[] = {"name",	   "region",	       "hour",
					       "hourSpot", "acceleratorCount", NULL};
	struct csv csv;

	(void)asked;
	feed->page = 1;
	if (!csv_open(&csv, feed->arena, response->body, response->length, required, error))
		return false;
	while (csv_next(&csv))
		take_row(feed, &csv);
	return true;
}
