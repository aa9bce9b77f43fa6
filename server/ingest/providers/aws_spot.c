/*
 * AWS spot prices, as the feed behind the web page of prices tells them: dollars per instance-hour
 * by region, lowest of its zones; no credential. The answer is JSON, or JSON inside
 * "callback(...);". Prices are texts; "N/A*" is not offered. Old regions have names of the page's
 * own. What a type is made of is in our table; a type that is not there, of a family that has
 * accelerators, is kept as a spelling that no rule knows rather than lost. How often they are
 * reclaimed is another page: aws_advisor.c.
 */
#include "server/ingest/providers/aws.h"
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

enum { PAGE_SPOT, PAGE_ADVISOR };
static const char *const pages[] = {"spot", "advisor", NULL};

const struct provider aws_spot = {
	.id = "aws",
	.source = "aws-spot-page",
	.base_url = "https://website.spot.ec2.aws.a2z.com",
	.refresh_seconds = 900,
	.body_max = (size_t)32 << 20,
	.pages_max = 2,
	.pages = pages,
	.documentation = "https://aws.amazon.com/ec2/spot/pricing/",
	.is_spot_only = true,
	.superseded_by = "aws-ec2-spot-history",
	.remembers = true,
	.request = request,
	.parse = parse,
	.finish = aws_advisor_finish,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	(void)error;
	if (feed->page == PAGE_ADVISOR && aws_advisor_is_due(feed)) {
		aws_advisor_request(feed, PAGE_ADVISOR, out);
		return true;
	}
	if (feed->page != PAGE_SPOT)
		return false;
	*out = (struct fetch_request){
		.method = "GET",
		.url = arena_printf(feed->arena, "%s/spot.json", feed->base_url),
		.headers = {"Accept: application/json, text/javascript"},
		.headers_count = 1,
		.label = "spot",
	};
	return true;
}

/* Old regions have names of the page's own. */
static const char *region_of(struct feed *feed, const char *name)
{
	static const struct {
		const char *name, *region;
	} names[] = {
		{"us-east", "us-east-1"},	  {"us-west", "us-west-1"},
		{"eu-ireland", "eu-west-1"},	  {"eu-frankfurt", "eu-central-1"},
		{"apac-sin", "ap-southeast-1"},	  {"apac-syd", "ap-southeast-2"},
		{"apac-tokyo", "ap-northeast-1"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].region;
	return feed_text(feed, name);
}

static void take_size(struct feed *feed, const char *region, const json_t *row)
{
	const char *size = payload_text(row, "size");
	const json_t *columns = json_object_get(row, "valueColumns"), *prices = NULL;
	const char *amount;
	struct offer *offer;

	if (!aws_is_accelerated(size))
		return;
	for (size_t i = 0; i < json_array_size(columns); i++) {
		const json_t *column = json_array_get(columns, i);

		if (strcmp(payload_text(column, "name"), "linux") == 0)
			prices = json_object_get(column, "prices");
	}
	amount = payload_text(prices, "USD");
	if (strncmp(amount, "N/A", 3) == 0)
		return;
	feed->rows_seen++;
	offer = feed_add(feed);
	if (!offer)
		return;
	offer->region = region;
	offer->country = aws_zone_country(region);
	aws_describe(feed, size, offer);
	offer->price_kind = PRICE_SPOT;
	offer->price_micros = payload_price(feed, prices, "USD", &offer->original_amount);
}

/* The JSON inside "callback(...);", or the whole. */
static struct fetch_response unwrapped(const struct fetch_response *response)
{
	static const char call[] = "callback(";
	struct fetch_response inner = *response;

	if (strncmp(inner.body, call, sizeof(call) - 1) != 0)
		return inner;
	inner.body += sizeof(call) - 1;
	inner.length -= sizeof(call) - 1;
	while (inner.length && strchr(" \r\n;", inner.body[inner.length - 1]))
		inner.length--;
	if (inner.length && inner.body[inner.length - 1] == ')')
		inner.length--;
	return inner;
}

static bool parse_spot(struct feed *feed, const struct fetch_response *response,
		       struct error *error)
{
	const struct fetch_response inner = unwrapped(response);
	json_auto_t *root = payload_parse(&inner, error);
	const json_t *config = root ? payload_member(root, "config", JSON_OBJECT, error) : NULL;
	const json_t *regions =
		config ? payload_member(config, "regions", JSON_ARRAY, error) : NULL;

	if (!regions)
		return false;
	if (strcmp(payload_text(config, "rate"), "perhr") != 0)
		return error_set(error, ERROR_FEED, "the prices are not per hour");
	for (size_t r = 0; r < json_array_size(regions); r++) {
		const json_t *region = json_array_get(regions, r);
		const json_t *types = json_object_get(region, "instanceTypes");
		const char *name = region_of(feed, payload_text(region, "region"));

		for (size_t t = 0; t < json_array_size(types); t++) {
			const json_t *sizes = json_object_get(json_array_get(types, t), "sizes");

			for (size_t s = 0; s < json_array_size(sizes); s++)
				take_size(feed, name, json_array_get(sizes, s));
		}
	}
	return true;
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	feed->page = asked->page + 1;
	if (asked->page == PAGE_SPOT)
		return parse_spot(feed, response, error);
	aws_advisor_take(feed, response);
	return true;
}
