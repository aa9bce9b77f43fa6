/*
 * AWS spot prices as the account's own EC2 interface tells them, a zone each, for every region that
 * the account may use: the requests are signed (SigV4). Prices are texts, dollars per
 * instance-hour. Names of zones differ from account to account, their ids do not. A region that
 * refuses the call (not opted into) or does not answer (some endpoints are dead) keeps what it had,
 * with its old date; when all do, the refresh fails. The interface answers in XML; the same in JSON
 * is what AWS's own tools print, so that a saved `describe-spot-price-history` can be read by
 * `gpupick parse`.
 */
#include "server/ingest/providers/aws.h"
#include "server/ingest/providers/payload.h"
#include "server/ingest/providers/xml.h"

#include <stdio.h>
#include <string.h>

#define REGIONS_MAX 80
#define API_VERSION "2016-11-15"
#define FAMILIES                                                                                   \
	"Filter.1.Value.1=p%2A&Filter.1.Value.2=g%2A&Filter.1.Value.3=inf%2A&"                     \
	"Filter.1.Value.4=trn%2A&Filter.1.Value.5=dl%2A"

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

enum { PAGE_REGIONS, PAGE_SPOT, PAGE_ADVISOR };
static const char *const pages[] = {"regions", "spot", "advisor", NULL};

const struct provider aws_history = {
	.id = "aws",
	.source = "aws-ec2-spot-history",
	.base_url = "https://ec2.us-east-1.amazonaws.com",
	.key_variable = "GPUPICK_AWS_KEY",
	.refresh_seconds = 600,
	.gap_seconds = 0.1,
	.body_max = (size_t)16 << 20,
	.pages_max = 2000,
	.pages = pages,
	.documentation = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/"
			 "API_DescribeSpotPriceHistory.html",
	.is_spot_only = true,
	.remembers = true,
	.request = request,
	.parse = parse,
	.finish = aws_advisor_finish,
};

struct history {
	const char *regions[REGIONS_MAX];
	size_t count, at;
	size_t failed, aging;  /* regions that could not be had; and of those, with prices */
	int64_t seen, refused; /* rows of the feed before the region */
	const char *token;     /* of the next page of the region, "" when there is none */
	int page;	       /* of the region */
	size_t first;	       /* the region's first offer in the feed */
	const char **told_at;  /* when each of the region's offers was told, by place */
	size_t told_capacity;
};

/* The key is ID:SECRET, or ID:SECRET:TOKEN for credentials that are lent. */
static bool sign(struct feed *feed, const char *region, struct fetch_request *out,
		 struct error *error)
{
	const char *first = feed->key ? strchr(feed->key, ':') : NULL;
	const char *second = first ? strchr(first + 1, ':') : NULL;

	if (!first || first == feed->key || !first[1])
		return error_set(error, ERROR_FEED, "GPUPICK_AWS_KEY is not ID:SECRET");
	for (const char *c = feed->key; *c; c++)
		if (*c <= ' ' || *c > '~')
			return error_set(error, ERROR_FEED, "GPUPICK_AWS_KEY is not a usable key");
	out->credentials =
		second ? arena_strndup(feed->arena, feed->key, (size_t)(second - feed->key))
		       : feed->key;
	out->signature = arena_printf(feed->arena, "aws:amz:%s:ec2", region);
	if (second)
		out->headers[out->headers_count++] =
			arena_printf(feed->arena, "X-Amz-Security-Token: %s", second + 1);
	feed->is_exhausted = feed->is_exhausted || !out->credentials || !out->signature ||
			     (second && !out->headers[out->headers_count - 1]);
	return true;
}

/* Parameters stand in the order of their bytes: that is how they are signed. */
static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	const struct history *history = feed->state;
	const char *region = "us-east-1", *host = feed->base_url;

	if (history && history->at == history->count) {
		if (feed->page == PAGE_ADVISOR || !aws_advisor_is_due(feed))
			return false;
		aws_advisor_request(feed, PAGE_ADVISOR, out);
		return true;
	}
	*out = (struct fetch_request){.method = "GET", .page = feed->page};
	if (!history) {
		out->label = "regions";
		out->url = arena_printf(feed->arena, "%s/?Action=DescribeRegions&Version=%s", host,
					API_VERSION);
		return sign(feed, region, out, error);
	}
	region = history->regions[history->at];
	if (!feed->base_url_is_override)
		host = arena_printf(feed->arena, "https://ec2.%s.amazonaws.com", region);
	out->page = PAGE_SPOT;
	out->is_one_of_many = true;
	out->label = arena_printf(feed->arena, "spot-%s-%d", region, history->page + 1);
	out->url = host ? arena_printf(
				  feed->arena,
				  "%s/?Action=DescribeSpotPriceHistory&Filter.1.Name=instance-type&"
				  "%s&MaxResults=1000%s%s&ProductDescription.1=Linux%%2FUNIX&"
				  "StartTime=%s&Version=%s",
				  host, FAMILIES, *history->token ? "&NextToken=" : "",
				  payload_escape(feed, history->token),
				  payload_escape(feed, feed_time_text(feed, feed->now_us)),
				  API_VERSION)
			: NULL;
	return sign(feed, region, out, error);
}

static bool is_region(const char *name)
{
	size_t length = strlen(name);

	return length && length < 40 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static struct history *open_history(struct feed *feed)
{
	struct history *history = arena_alloc(feed->arena, sizeof(*history));

	if (history)
		history->token = "";
	feed->is_exhausted = feed->is_exhausted || !history;
	feed->state = history;
	feed->page = PAGE_SPOT;
	return history;
}

static bool parse_regions(struct feed *feed, const struct fetch_response *response,
			  struct error *error)
{
	struct xml rest = {response->body, response->body + response->length}, item;
	struct history *history = open_history(feed);

	while (history && xml_next(&rest, "item", &item)) {
		const char *name = xml_text(feed, item, "regionName");

		if (!is_region(name) || history->count == REGIONS_MAX)
			return error_set(error, ERROR_FEED, "a region is called \"%.40s\"", name);
		history->regions[history->count++] = name;
	}
	return !history || history->count ||
	       error_set(error, ERROR_FEED, "no region is told: no answer of DescribeRegions");
}

/* Of several prices of one type in one zone the last told is the one of now. */
static struct offer *place_of(struct feed *feed, struct history *history, const char *type,
			      const char *zone, const char *told_at)
{
	size_t place = 0, count = feed->count - history->first;
	struct offer *offer;

	for (; place < count; place++) {
		offer = &feed->offers[history->first + place];
		if (strcmp(offer->instance_type, type) == 0 && strcmp(offer->zone, zone) == 0)
			break;
	}
	if (place < count) {
		feed->rows_seen--;
		if (strcmp(history->told_at[place], told_at) >= 0)
			return NULL;
		history->told_at[place] = told_at;
		return offer;
	}
	if (count == history->told_capacity) {
		size_t capacity = count ? count * 2 : 256;
		const char **grown = arena_array(feed->arena, capacity, sizeof(*grown));

		if (!grown) {
			feed->is_exhausted = true;
			return NULL;
		}
		if (count)
			memcpy(grown, history->told_at, count * sizeof(*grown));
		history->told_at = grown;
		history->told_capacity = capacity;
	}
	offer = feed_add(feed);
	if (offer)
		history->told_at[place] = told_at;
	return offer;
}

struct told {
	const char *type, *zone, *product, *price, *at;
};

static void take(struct feed *feed, struct history *history, const char *region,
		 const struct told *told)
{
	struct offer *offer;

	if (!aws_is_accelerated(told->type) || strcmp(told->product, "Linux/UNIX") != 0)
		return;
	feed->rows_seen++;
	if (!*told->zone || !*told->at) {
		feed_reject(feed, REJECTED_SCHEMA, "%.40s: no zone or no time", told->type);
		return;
	}
	offer = place_of(feed, history, told->type, told->zone, told->at);
	if (!offer)
		return;
	*offer = feed_offer(feed);
	aws_describe(feed, told->type, offer);
	offer->region = region;
	offer->zone = told->zone;
	offer->country = aws_zone_country(region);
	offer->price_kind = PRICE_SPOT;
	offer->price_micros = price_parse(told->price);
	offer->original_amount = told->price;
	offer->availability = AVAILABILITY_UNKNOWN;
}

static const char *first_of(const char *a, const char *b)
{
	return *a ? a : b;
}

static bool parse_json(struct feed *feed, struct history *history, const char *region,
		       const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *rows =
		root ? payload_member(root, "SpotPriceHistory", JSON_ARRAY, error) : NULL;

	if (!rows)
		return false;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *zone = first_of(payload_text(row, "AvailabilityZoneId"),
					    payload_text(row, "AvailabilityZone"));
		const struct told told = {
			.type = payload_text(row, "InstanceType"),
			.zone = feed_text(feed, zone),
			.product = payload_text(row, "ProductDescription"),
			.price = feed_text(feed, payload_text(row, "SpotPrice")),
			.at = feed_text(feed, payload_text(row, "Timestamp")),
		};

		take(feed, history, region, &told);
	}
	history->token = feed_text(feed, payload_text(root, "NextToken"));
	return true;
}

static bool parse_xml(struct feed *feed, struct history *history, const char *region,
		      const struct fetch_response *response, struct error *error)
{
	const struct xml whole = {response->body, response->body + response->length};
	struct xml rest = whole, set, item;

	if (!strstr(response->body, "<DescribeSpotPriceHistoryResponse"))
		return error_set(error, ERROR_FEED, "no answer of DescribeSpotPriceHistory");
	if (xml_next(&rest, "spotPriceHistorySet", &set))
		while (xml_next(&set, "item", &item)) {
			const struct told told = {
				.type = xml_text(feed, item, "instanceType"),
				.zone = first_of(xml_text(feed, item, "availabilityZoneId"),
						 xml_text(feed, item, "availabilityZone")),
				.product = xml_text(feed, item, "productDescription"),
				.price = xml_text(feed, item, "spotPrice"),
				.at = xml_text(feed, item, "timestamp"),
			};

			take(feed, history, region, &told);
		}
	history->token = xml_text(feed, whole, "nextToken");
	return true;
}

/* "us-east-1a" lies in us-east-1: all that a saved answer of one region says of it. */
static const char *region_of_answer(struct feed *feed, const struct fetch_response *response)
{
	static const char *const marks[] = {"\"AvailabilityZone\": \"", "\"AvailabilityZone\":\"",
					    "<availabilityZone>"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *zone = strstr(response->body, marks[i]);
		size_t length;
		char *region;

		if (!zone)
			continue;
		zone += strlen(marks[i]);
		length = strspn(zone, "abcdefghijklmnopqrstuvwxyz0123456789-");
		region = length > 1 && length < 40 ? arena_strndup(feed->arena, zone, length - 1)
						   : NULL;
		return region ? region : "";
	}
	return "";
}

/* Pages that came before the one that did not are only a part of the region. */
static bool make_do(struct feed *feed, struct history *history, const char *region,
		    const char *reason, struct error *error)
{
	feed->count = history->first;
	feed->rows_seen = history->seen;
	feed->rejected[REJECTED_SCHEMA] = history->refused;
	feed_keep(feed, region, false);
	history->failed++;
	history->aging += feed->count > history->first;
	if (history->aging)
		snprintf(feed->note, sizeof(feed->note),
			 "%zu of %zu regions keep their old prices; the last: %.80s",
			 history->aging, history->count, reason);
	return history->failed < history->count ||
	       error_set(error, ERROR_FEED, "no region can be had; the last: %s", reason);
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	struct history *history = feed->state;
	const bool is_json = response->body[strspn(response->body, " \r\n\t")] == '{';
	const char *region;

	if (asked->page == PAGE_REGIONS)
		return parse_regions(feed, response, error);
	if (asked->page == PAGE_ADVISOR) {
		feed->page = PAGE_ADVISOR;
		aws_advisor_take(feed, response);
		return true;
	}
	if (!history && !(history = open_history(feed)))
		return true;
	region = history->at < history->count ? history->regions[history->at]
					      : region_of_answer(feed, response);
	if (response->status != 200
		    ? !make_do(feed, history, region, response->reason, error)
		    : !(is_json ? parse_json(feed, history, region, response, error)
				: parse_xml(feed, history, region, response, error)))
		return false;
	history->page++;
	if (response->status == 200 && *history->token)
		return true;
	history->at++;
	history->page = 0;
	history->token = "";
	history->first = feed->count;
	history->seen = feed->rows_seen;
	history->refused = feed->rejected[REJECTED_SCHEMA];
	history->told_capacity = 0;
	return true;
}
