/*
 * AWS by its bulk price list: on demand and reserved, dollars per instance-hour; no credential. An
 * index tells the version of each region's list; a list is some 250 MB of CSV, so it is read as it
 * comes and only where its version is another than the one of the last good refresh. Most rows are
 * other systems, tenancies, licences and markets: Capacity Blocks stand there at 0 dollars. Those
 * of reservations are put together in aws_reserved.c.
 */
#include "server/ingest/providers/aws.h"
#include "server/ingest/providers/aws_reserved.h"
#include "server/ingest/providers/csv_stream.h"
#include "server/ingest/providers/payload.h"

#include <stdlib.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);
static bool chunk(struct feed *feed, const struct fetch_request *asked, size_t offset,
		  const char *bytes, size_t length, struct error *error);
static bool finish(struct feed *feed, struct error *error);

enum { PAGE_INDEX, PAGE_REGION };
static const char *const pages[] = {"index", "region", NULL};

const struct provider aws_list = {
	.id = "aws",
	.source = "aws-price-list",
	.base_url = "https://pricing.us-east-1.amazonaws.com",
	.refresh_seconds = 21600,
	.body_max = (size_t)8 << 20,
	.pages_max = 400,
	.pages = pages,
	.documentation = "https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/"
			 "using-the-aws-price-list-bulk-api.html",
	.remembers = true,
	.streamed_page = PAGE_REGION,
	.stream_max = (size_t)2 << 30,
	.stream_seconds = 1800,
	.request = request,
	.parse = parse,
	.chunk = chunk,
	.finish = finish,
};

struct region {
	const char *code, *version;
	bool is_fetched, is_unreached;
};

struct list {
	struct region *regions;
	size_t regions_count, at;
	struct csv_stream csv;
	struct aws_reservations reservations; /* of the list that is being read */
};

static const char *const required[] = {"SKU",
				       "TermType",
				       "Unit",
				       "PricePerUnit",
				       "Currency",
				       "Tenancy",
				       "Instance Type",
				       "Region Code",
				       "Operating System",
				       "CapacityStatus",
				       "MarketOption",
				       "PurchaseOption",
				       "OfferingClass",
				       "Pre Installed S/W",
				       "LeaseContractLength",
				       NULL};

/* The version that the last good refresh had of a region: "…;us-east-1=2026…;". */
static bool is_as_before(const struct feed *feed, const struct region *region)
{
	char mark[200];
	int length = snprintf(mark, sizeof(mark), ";%s=%s;", region->code, region->version);

	return feed->last_count && length > 0 && (size_t)length < sizeof(mark) &&
	       strstr(feed->memo, mark) != NULL;
}

static void restart(struct list *list)
{
	csv_stream_restart(&list->csv);
	list->reservations.count = 0;
}

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	struct list *list = feed->state;
	struct region *region;

	(void)error;
	*out = (struct fetch_request){.method = "GET", .page = feed->page};
	if (!list) {
		out->url = arena_printf(feed->arena,
					"%s/offers/v1.0/aws/AmazonEC2/current/region_index.json",
					feed->base_url);
		out->label = "index";
		return true;
	}
	for (; list->at < list->regions_count; list->at++) {
		if (!is_as_before(feed, &list->regions[list->at]))
			break;
		feed_keep(feed, list->regions[list->at].code, true);
		list->regions[list->at].is_fetched = true;
	}
	if (list->at == list->regions_count)
		return false;
	region = &list->regions[list->at];
	restart(list);
	out->page = PAGE_REGION;
	out->is_streamed = true;
	out->url = arena_printf(feed->arena, "%s/offers/v1.0/aws/AmazonEC2/%s/%s/index.csv",
				feed->base_url, region->version, region->code);
	out->label = arena_printf(feed->arena, "region-%s", region->code);
	return true;
}

/* The version is the folder before the region's in
 * ".../AmazonEC2/20260720000000/us-east-1/index.json".
 */
static const char *version_of(struct feed *feed, const char *url, const char *code)
{
	const char *folder = strstr(url, "/AmazonEC2/");
	const char *version = folder ? folder + strlen("/AmazonEC2/") : "";
	size_t length = strspn(version, "0123456789");
	char *copy;

	if (!length || version[length] != '/' ||
	    strncmp(version + length + 1, code, strlen(code)) != 0)
		return NULL;
	copy = arena_strndup(feed->arena, version, length);
	feed->is_exhausted = feed->is_exhausted || !copy;
	return copy;
}

/* Part of a URL and of what is remembered. */
static bool is_region_code(const char *code)
{
	size_t length = strlen(code);

	return length && length < 60 &&
	       strspn(code, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static struct list *open_list(struct feed *feed)
{
	struct list *list = arena_alloc(feed->arena, sizeof(*list));

	if (list && !csv_stream_init(&list->csv, feed->arena, required))
		list = NULL;
	feed->is_exhausted = feed->is_exhausted || !list;
	feed->state = list;
	return list;
}

static bool parse_index(struct feed *feed, const struct fetch_response *response,
			struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *regions = root ? payload_member(root, "regions", JSON_OBJECT, error) : NULL;
	struct list *list = regions ? open_list(feed) : NULL;
	const char *name;
	json_t *row;

	if (!regions)
		return false;
	if (list)
		list->regions = arena_array(feed->arena, json_object_size(regions) + 1,
					    sizeof(*list->regions));
	if (!list || !list->regions) {
		feed->is_exhausted = true;
		return true;
	}
	json_object_foreach (json_object_get(root, "regions"), name, row) {
		const char *code = payload_text(row, "regionCode");
		struct region region = {.code = feed_text(feed, code)};

		region.version = version_of(feed, payload_text(row, "currentVersionUrl"), code);
		if (!is_region_code(code) || !region.version)
			return error_set(error, ERROR_FEED, "no version told for \"%.60s\"", name);
		list->regions[list->regions_count++] = region;
	}
	feed->page = PAGE_REGION;
	return list->regions_count || error_set(error, ERROR_FEED, "the index has no region");
}

/* Linux on shared hardware, nothing installed, for whoever asks. */
static bool is_plain(const struct csv *csv)
{
	return csv_is(csv, "Tenancy", "Shared") && csv_is(csv, "Operating System", "Linux") &&
	       csv_is(csv, "CapacityStatus", "Used") && csv_is(csv, "MarketOption", "OnDemand") &&
	       (csv_is(csv, "Pre Installed S/W", "NA") || csv_is(csv, "Pre Installed S/W", ""));
}

static bool describe(struct feed *feed, const struct csv *csv, struct offer *offer)
{
	const char *type = csv_text(csv, "Instance Type");
	double gpus = csv_number(csv, "GPU");

	*offer = feed_offer(feed);
	aws_describe(feed, type, offer);
	offer->region = feed_text(feed, csv_text(csv, "Region Code"));
	offer->country = aws_zone_country(offer->region);
	offer->original_amount = feed_text(feed, csv_text(csv, "PricePerUnit"));
	if (!*offer->region || !csv_is(csv, "Currency", "USD")) {
		feed_reject(feed, REJECTED_SCHEMA, "%.40s: no region, or not in dollars", type);
		return false;
	}
	if (gpus > 0 && gpus <= 1024) {
		int32_t told = (int32_t)(gpus * COUNT_MILLI_ONE + 0.5);

		/* What the card of a type is comes from our table: not when that is of another. */
		if (strcmp(offer->accelerator, type) != 0 && told != offer->count_milli) {
			feed_reject(feed, REJECTED_SCHEMA, "%.40s: %g GPUs told, %d/1000 known",
				    type, gpus, offer->count_milli);
			return false;
		}
		offer->count_milli = told;
	}
	if (!(offer->vcpus > 0))
		offer->vcpus = csv_number(csv, "vCPU");
	return true;
}

static void take_on_demand(struct feed *feed, const struct csv *csv)
{
	struct offer offer;

	feed->rows_seen++;
	if (!csv_is(csv, "Unit", "Hrs")) {
		feed_reject(feed, REJECTED_SCHEMA, "%.40s: by the \"%.20s\"",
			    csv_text(csv, "Instance Type"), csv_text(csv, "Unit"));
		return;
	}
	if (!describe(feed, csv, &offer))
		return;
	offer.price_micros = price_parse(csv_text(csv, "PricePerUnit"));
	feed_copy(feed, &offer);
}

struct rows {
	struct feed *feed;
	struct list *list;
};

static void take_reserved(struct feed *feed, struct list *list, const struct csv *csv)
{
	struct offer offer;

	if (describe(feed, csv, &offer))
		aws_reserved_take(feed, &list->reservations, csv, &offer);
	else
		feed->rows_seen++;
}

static void take_row(void *closure, const struct csv *csv)
{
	const struct rows *rows = closure;

	if (!aws_is_accelerated(csv_text(csv, "Instance Type")) || !is_plain(csv))
		return;
	if (csv_is(csv, "TermType", "OnDemand"))
		take_on_demand(rows->feed, csv);
	else if (csv_is(csv, "TermType", "Reserved"))
		take_reserved(rows->feed, rows->list, csv);
}

static bool chunk(struct feed *feed, const struct fetch_request *asked, size_t offset,
		  const char *bytes, size_t length, struct error *error)
{
	/* `gpupick parse` may be given a region's list alone. */
	struct list *list = feed->state ? feed->state : open_list(feed);
	struct rows rows = {feed, list};

	(void)asked;
	if (!list)
		return true;
	if (!offset)
		restart(list);
	return csv_stream_take(&list->csv, feed->arena, bytes, length, take_row, &rows, error);
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	struct list *list = feed->state;
	struct rows rows = {feed, list};
	struct region alone = {.code = ""}, *region = &alone;

	if (asked->page == PAGE_INDEX)
		return parse_index(feed, response, error);
	if (!list)
		return feed->is_exhausted || error_set(error, ERROR_FEED, "an empty list");
	if (list->at < list->regions_count)
		region = &list->regions[list->at++];
	if (response->status != 200) {
		region->is_unreached = true;
		feed_keep(feed, region->code, false);
		return true;
	}
	if (!csv_stream_end(&list->csv, feed->arena, take_row, &rows, error))
		return false;
	aws_reserved_end(feed, &list->reservations);
	region->is_fetched = true;
	return true;
}

static bool finish(struct feed *feed, struct error *error)
{
	const struct list *list = feed->state;
	const char *memo = ";", *unreached = NULL;
	size_t fetched = 0;

	for (size_t i = 0; list && memo && i < list->regions_count; i++) {
		const struct region *region = &list->regions[i];

		if (region->is_fetched) {
			fetched++;
			memo = arena_printf(feed->arena, "%s%s=%s;", memo, region->code,
					    region->version);
		} else if (region->is_unreached) {
			unreached = region->code;
		}
	}
	feed->is_exhausted = feed->is_exhausted || !memo;
	feed->memo_next = memo ? memo : "";
	if (unreached)
		snprintf(feed->note, sizeof(feed->note),
			 "the list of %.60s and maybe others could not be had", unreached);
	return fetched || !list || !list->regions_count ||
	       error_set(error, ERROR_FEED, "no region's list could be had");
}
