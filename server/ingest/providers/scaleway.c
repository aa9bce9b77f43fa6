/*
 * Scaleway: machines zone by zone, each followed by what is in stock there; no credential. Prices
 * are euros per instance-hour. The public catalogue would tell the same per minute for some and per
 * hour for others: it is not asked. Memory is told in bytes of one GPU, an L4's 24 GB as 24 GiB.
 */
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);
static bool finish(struct feed *feed, struct error *error);

enum page { PAGE_SERVERS, PAGE_AVAILABILITY };

static const char *const pages[] = {"servers", "availability", NULL};

static const struct zone {
	const char *id, *region, *country;
} zones[] = {
	{"fr-par-1", "fr-par", "FR"}, {"fr-par-2", "fr-par", "FR"}, {"fr-par-3", "fr-par", "FR"},
	{"nl-ams-1", "nl-ams", "NL"}, {"nl-ams-2", "nl-ams", "NL"}, {"nl-ams-3", "nl-ams", "NL"},
	{"pl-waw-1", "pl-waw", "PL"}, {"pl-waw-2", "pl-waw", "PL"}, {"pl-waw-3", "pl-waw", "PL"},
	{"it-mil-1", "it-mil", "IT"},
};

#define ZONES (sizeof(zones) / sizeof(zones[0]))

const struct provider scaleway = {
	.id = "scaleway",
	.source = "scaleway-api",
	.base_url = "https://api.scaleway.com",
	.refresh_seconds = 900,
	.gap_seconds = 0.05,
	.body_max = (size_t)8 << 20,
	.pages_max = 60,
	.pages = pages,
	.last_seen_live = "2026-07-01",
	.documentation = "https://www.scaleway.com/en/developers/api/instances/",
	.needs_euro = true,
	.request = request,
	.parse = parse,
	.finish = finish,
};

struct stock {
	struct stock *next;
	const char *zone, *type;
	enum availability availability;
};

struct state {
	size_t zone;
	int number; /* of the page that is asked, from 1 */
	struct stock *stocks;
	size_t answered;
};

static struct state *state_of(struct feed *feed)
{
	if (!feed->state) {
		struct state *state = arena_alloc(feed->arena, sizeof(*state));

		if (!state) {
			feed->is_exhausted = true;
			return NULL;
		}
		state->number = 1;
		feed->state = state;
	}
	return feed->state;
}

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	const struct state *state = state_of(feed);
	const char *zone;

	(void)error;
	if (!state || state->zone >= ZONES)
		return false;
	zone = zones[state->zone].id;
	*out = (struct fetch_request){
		.page = feed->page,
		.method = "GET",
		.url = arena_printf(
			feed->arena,
			"%s/instance/v1/zones/%s/products/servers%s?per_page=100&page=%d",
			feed->base_url, zone, feed->page == PAGE_SERVERS ? "" : "/availability",
			state->number),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = arena_printf(feed->arena, "%s-%s-%d", pages[feed->page], zone,
				      state->number),
		.is_optional = true, /* a zone may close; without stock, prices still stand */
	};
	return true;
}

static void take_server(struct feed *feed, const struct zone *zone, const char *type,
			const json_t *row)
{
	const json_t *info = json_object_get(row, "gpu_info");
	const char *const spellings[] = {type, payload_text(info, "gpu_name"), NULL};
	const char *amount;
	struct offer *offer;
	double bytes = 0;
	int64_t euro_micros;
	int gpus;

	if (!payload_integer(row, "gpu", &gpus) || gpus == 0)
		return;
	if (payload_flag(row, "end_of_service", false)) /* not sold any more */
		return;
	feed->rows_seen++;
	if (gpus < 0 || gpus > 1000) {
		feed_reject(feed, REJECTED_SCHEMA, "%.60s with %d GPUs", type, gpus);
		return;
	}
	offer = feed_add(feed);
	if (!offer)
		return;
	payload_number(info, "gpu_memory", &bytes);
	offer->region = zone->region;
	offer->zone = zone->id;
	offer->country = zone->country;
	offer->instance_type = feed_text(feed, type);
	offer->accelerator = payload_spelling(feed, "scaleway", bytes / GIB, spellings);
	offer->count_milli = gpus * COUNT_MILLI_ONE;
	offer->memory_gb = bytes / GIB * gpus;
	payload_number(row, "ncpus", &offer->vcpus);
	if (payload_number(row, "ram", &bytes))
		offer->ram_gib = bytes / GIB;
	euro_micros = payload_price(feed, row, "hourly_price", &amount);
	feed_price_euro(feed, offer, euro_micros, amount);
}

static void take_stock(struct feed *feed, struct state *state, const char *zone, const char *type,
		       const char *word)
{
	struct stock *stock = arena_alloc(feed->arena, sizeof(*stock));

	if (!stock) {
		feed->is_exhausted = true;
		return;
	}
	stock->zone = zone;
	stock->type = feed_text(feed, type);
	if (strcmp(word, "available") == 0 || strcmp(word, "scarce") == 0)
		stock->availability = AVAILABILITY_YES;
	else if (strcmp(word, "shortage") == 0)
		stock->availability = AVAILABILITY_NO;
	stock->next = state->stocks;
	state->stocks = stock;
}

static void next_page(struct feed *feed, struct state *state)
{
	state->number = 1;
	if (feed->page == PAGE_SERVERS) {
		feed->page = PAGE_AVAILABILITY;
	} else {
		feed->page = PAGE_SERVERS;
		state->zone++;
	}
}

/* The zone that a label names ("servers-pl-waw-2-1"): a recorded answer has no walk behind it. */
static const struct zone *zone_of(const char *label, const struct state *state)
{
	for (size_t i = 0; i < ZONES; i++)
		if (strstr(label, zones[i].id))
			return &zones[i];
	return &zones[state->zone];
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	struct state *state = state_of(feed);
	const struct zone *zone;
	json_auto_t *root = NULL;
	json_t *servers, *row;
	const char *type;

	if (!state || state->zone >= ZONES)
		return true;
	zone = zone_of(asked->label, state);
	if (!response->length) {
		if (asked->page == PAGE_SERVERS)
			state->zone++; /* nothing is sold there: no stock to ask for */
		else
			next_page(feed, state);
		return true;
	}
	root = payload_parse(response, error);
	if (!root || !payload_member(root, "servers", JSON_OBJECT, error))
		return false;
	state->answered++;
	servers = json_object_get(root, "servers");
	json_object_foreach (servers, type, row) {
		if (asked->page == PAGE_SERVERS)
			take_server(feed, zone, type, row);
		else
			take_stock(feed, state, zone->id, type, payload_text(row, "availability"));
	}
	if (strstr(response->link, "rel=\"next\"") && json_object_size(servers))
		state->number++;
	else
		next_page(feed, state);
	return true;
}

static bool finish(struct feed *feed, struct error *error)
{
	const struct state *state = state_of(feed);

	if (state && !state->answered)
		return error_set(error, ERROR_FEED, "no zone answers");
	for (const struct stock *stock = state ? state->stocks : NULL; stock; stock = stock->next)
		for (size_t i = 0; i < feed->count; i++)
			if (strcmp(feed->offers[i].instance_type, stock->type) == 0 &&
			    strcmp(feed->offers[i].zone, stock->zone) == 0)
				feed->offers[i].availability = stock->availability;
	return true;
}
