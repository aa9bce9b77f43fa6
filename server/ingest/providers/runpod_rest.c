/*
 * RunPod by its REST catalog, which an account's key opens: USD per GPU-hour by tier, so each pod
 * size from one GPU to the most is an offer at size x price, and where there is stock. A data
 * centre's stock is told in words and holds for one GPU; of larger pods nobody says. Serverless is
 * another product. It knows neither spot nor savings plans, so it stands in for the public feed
 * only where the key says so.
 */
#include "server/ingest/providers/payload.h"

#include <string.h>

#define GPUS_MAX 64

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"gpus", NULL};

const struct provider runpod_rest = {
	.id = "runpod",
	.source = "runpod-rest",
	.base_url = "https://api.runpod.io",
	.key_variable = "GPUPICK_RUNPOD_KEY",
	.refresh_seconds = 300,
	.body_max = (size_t)8 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://docs.runpod.io/api-reference/overview",
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	if (feed->page > 0)
		return false;
	*out = (struct fetch_request){
		.method = "GET",
		.url = arena_printf(feed->arena,
				    "%s/v2/catalog/gpus?include=AVAILABILITY&product=POD",
				    feed->base_url),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = "gpus",
	};
	return payload_key_header(feed, &runpod_rest, "Authorization: Bearer ", out, error);
}

static enum availability stock(const json_t *object)
{
	const char *word = payload_text(object, "availability");

	if (!*word)
		return AVAILABILITY_UNKNOWN;
	return strcmp(word, "NONE") == 0 ? AVAILABILITY_NO : AVAILABILITY_YES;
}

/* "US" of "US-KS-2", "RO" of "EU-RO-1": a continent, whose letters may be a country's too, is
 * followed by a country. */
static const char *country_of(struct feed *feed, const char *place)
{
	static const char *const continents[] = {"AF", "AP", "AS", "EU", "EUR",
						 "ME", "NA", "OC", "SA", "SEA"};
	const size_t length = strcspn(place, "-");

	for (size_t i = 0; place[length] && i < sizeof(continents) / sizeof(continents[0]); i++)
		if (strlen(continents[i]) == length && strncmp(place, continents[i], length) == 0) {
			place += length + 1;
			break;
		}
	if (strspn(place, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 2 || place[2] != '-')
		return "";
	return feed_text(feed, arena_strndup(feed->arena, place, 2));
}

struct pods {
	const char *id, *tier, *amount;
	int64_t micros; /* of one GPU */
	double memory_gb;
	int most;
};

static void add(struct feed *feed, const struct pods *pods, const char *place,
		enum availability availability)
{
	for (int count = 1; count <= pods->most; count++) {
		struct offer *offer = feed_add(feed);

		if (!offer)
			return;
		feed->rows_seen++;
		offer->region = feed_text(feed, place);
		offer->country = country_of(feed, place);
		offer->instance_type = offer->accelerator = pods->id;
		offer->count_milli = count * COUNT_MILLI_ONE;
		offer->tier = pods->tier;
		offer->price_micros = price_times(pods->micros, count);
		offer->original_amount = pods->amount;
		offer->memory_gb = pods->memory_gb * count;
		offer->availability = count == 1 || availability == AVAILABILITY_NO
					      ? availability
					      : AVAILABILITY_UNKNOWN;
	}
}

static void take_tier(struct feed *feed, const json_t *row, const char *tier)
{
	const json_t *places = json_object_get(row, "dataCenters");
	struct pods pods = {
		.id = feed_text(feed, payload_text(row, "id")), .tier = tier, .most = 1};

	if (!payload_flag(row, tier, false))
		return;
	pods.micros = payload_price(feed, json_object_get(row, "price"), tier, &pods.amount);
	payload_number(row, "memory", &pods.memory_gb);
	payload_integer(json_object_get(row, "maxCount"), tier, &pods.most);
	if (!*pods.id || pods.most < 1 || pods.most > GPUS_MAX || pods.micros == PRICE_UNKNOWN) {
		feed->rows_seen++;
		feed_reject(
			feed, pods.micros == PRICE_UNKNOWN ? REJECTED_NO_PRICE : REJECTED_SCHEMA,
			"\"%.60s\", %s: pods of %d GPUs, or no price", pods.id, tier, pods.most);
		return;
	}
	/* Data centres are those of the secure cloud; other people's machines stand anywhere. */
	if (strcmp(tier, "secure") != 0 || !json_array_size(places)) {
		add(feed, &pods, "", stock(row));
		return;
	}
	for (size_t i = 0; i < json_array_size(places); i++) {
		const json_t *place = json_array_get(places, i);

		add(feed, &pods, payload_text(place, "id"), stock(place));
	}
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *rows = root ? payload_member(root, "gpus", JSON_ARRAY, error) : NULL;

	(void)asked;
	feed->page = 1;
	if (!rows)
		return false;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		take_tier(feed, json_array_get(rows, i), "secure");
		take_tier(feed, json_array_get(rows, i), "community");
	}
	return true;
}
