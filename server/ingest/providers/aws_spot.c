/*
 * AWS spot prices, as the feed behind the web page of prices tells them: dollars per instance-hour
 * by region, lowest of its zones; no credential. The answer is JSON, or JSON inside
 * "callback(...);". Prices are texts; "N/A*" is not offered. Old regions have names of the page's
 * own. What a type is made of is in our table; a type that is not there, of a family that has
 * accelerators, is kept as a spelling that no rule knows rather than lost.
 */
#include "core/instance.h"
#include "server/ingest/providers/payload.h"

#include <ctype.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"spot", NULL};

const struct provider aws_spot = {
	.id = "aws",
	.source = "aws-spot-page",
	.base_url = "https://website.spot.ec2.aws.a2z.com",
	.refresh_seconds = 900,
	.body_max = (size_t)32 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://aws.amazon.com/ec2/spot/pricing/",
	.is_spot_only = true,
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
		.url = arena_printf(feed->arena, "%s/spot.json", feed->base_url),
		.headers = {"Accept: application/json, text/javascript"},
		.headers_count = 1,
		.label = "spot",
	};
	return true;
}

/* The page's name, or the beginning of a region's, and where that is. */
static const struct place {
	const char *name, *region, *country;
} names[] = {
	{"us-east", "us-east-1", "US"},		{"us-west", "us-west-1", "US"},
	{"eu-ireland", "eu-west-1", "IE"},	{"eu-frankfurt", "eu-central-1", "DE"},
	{"apac-sin", "ap-southeast-1", "SG"},	{"apac-syd", "ap-southeast-2", "AU"},
	{"apac-tokyo", "ap-northeast-1", "JP"},
};

static const struct {
	const char *prefix, *country;
} countries[] = {
	{"us-", "US"},
	{"ca-", "CA"},
	{"mx-", "MX"},
	{"sa-east-1", "BR"},
	{"eu-west-1", "IE"},
	{"eu-west-2", "GB"},
	{"eu-west-3", "FR"},
	{"eu-central-1", "DE"},
	{"eu-central-2", "CH"},
	{"eu-north-1", "SE"},
	{"eu-south-1", "IT"},
	{"eu-south-2", "ES"},
	{"me-south-1", "BH"},
	{"me-central-1", "AE"},
	{"il-", "IL"},
	{"af-south-1", "ZA"},
	{"ap-northeast-1", "JP"},
	{"ap-northeast-2", "KR"},
	{"ap-northeast-3", "JP"},
	{"ap-southeast-1", "SG"},
	{"ap-southeast-2", "AU"},
	{"ap-southeast-3", "ID"},
	{"ap-southeast-4", "AU"},
	{"ap-southeast-5", "MY"},
	{"ap-southeast-7", "TH"},
	{"ap-south-1", "IN"},
	{"ap-south-2", "IN"},
	{"ap-east-1", "HK"},
	{"ap-east-2", "TW"},
};

static struct place place_of(struct feed *feed, const char *name)
{
	struct place place = {name, NULL, ""};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i];
	place.region = feed_text(feed, name);
	for (size_t i = 0; i < sizeof(countries) / sizeof(countries[0]); i++)
		if (strncmp(name, countries[i].prefix, strlen(countries[i].prefix)) == 0)
			place.country = countries[i].country;
	return place;
}

/* Of a family that has accelerators: p5, g6e, inf2, trn1, dl1; not m6g or g-something else. */
static bool is_accelerated(const char *size)
{
	static const char *const families[] = {"p", "g", "gr", "inf", "trn", "dl"};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		size_t length = strlen(families[i]);

		if (strncmp(size, families[i], length) == 0 && isdigit((unsigned char)size[length]))
			return true;
	}
	return false;
}

static void take_size(struct feed *feed, const struct place *place, const json_t *row)
{
	const char *size = payload_text(row, "size");
	const json_t *columns = json_object_get(row, "valueColumns"), *prices = NULL;
	const struct instance *known = instance_find("aws", size);
	const char *amount;
	struct offer *offer;

	if (!known && !is_accelerated(size))
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
	offer->region = place->region;
	offer->country = place->country;
	offer->instance_type = feed_text(feed, size);
	offer->accelerator = known ? known->accelerator : offer->instance_type;
	offer->price_kind = PRICE_SPOT;
	offer->price_micros = payload_price(feed, prices, "USD", &offer->original_amount);
	if (!known)
		return;
	offer->count_milli = (int32_t)(known->count * COUNT_MILLI_ONE + 0.5);
	offer->vcpus = known->vcpus;
	offer->ram_gib = known->memory_gib;
	offer->disk_gb = known->local_nvme_gb;
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

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	const struct fetch_response inner = unwrapped(response);
	json_auto_t *root = payload_parse(&inner, error);
	const json_t *config = root ? payload_member(root, "config", JSON_OBJECT, error) : NULL;
	const json_t *regions =
		config ? payload_member(config, "regions", JSON_ARRAY, error) : NULL;

	(void)asked;
	feed->page = 1;
	if (!regions)
		return false;
	if (strcmp(payload_text(config, "rate"), "perhr") != 0)
		return error_set(error, ERROR_FEED, "the prices are not per hour");
	for (size_t r = 0; r < json_array_size(regions); r++) {
		const json_t *region = json_array_get(regions, r);
		const json_t *types = json_object_get(region, "instanceTypes");
		const struct place place = place_of(feed, payload_text(region, "region"));

		for (size_t t = 0; t < json_array_size(types); t++) {
			const json_t *sizes = json_object_get(json_array_get(types, t), "sizes");

			for (size_t s = 0; s < json_array_size(sizes); s++)
				take_size(feed, &place, json_array_get(sizes, s));
		}
	}
	return true;
}
