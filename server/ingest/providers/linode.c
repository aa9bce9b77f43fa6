/*
 * Linode (Akamai): types, then where each is sold out, then the countries of regions; no
 * credential. No field names the card: it is read from the type's id or label by exact rules. A
 * region may have a price of its own. The list of availability knows plans that the types do not,
 * and not all of those.
 */
#include "core/accelerator.h"
#include "server/ingest/providers/payload.h"

#include <ctype.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);
static bool finish(struct feed *feed, struct error *error);

enum page { PAGE_TYPES, PAGE_AVAILABILITY, PAGE_REGIONS, PAGES };

static const char *const pages[] = {"types", "availability", "regions", NULL};
static const char *const paths[PAGES] = {"/v4/linode/types", "/v4/regions/availability",
					 "/v4/regions"};

const struct provider linode = {
	.id = "linode",
	.source = "linode-api",
	.base_url = "https://api.linode.com",
	.refresh_seconds = 900,
	.gap_seconds = 0.05,
	.body_max = (size_t)8 << 20,
	.pages_max = 60,
	.pages = pages,
	.last_seen_live = "2024-07",
	.documentation = "https://techdocs.akamai.com/linode-api/reference/get-linode-types",
	.request = request,
	.parse = parse,
	.finish = finish,
};

/* One type in one region. */
struct place {
	struct place *next;
	const char *region;
	bool has_price; /* of its own, whatever it is worth */
	int64_t price_micros;
	const char *amount;
	enum availability availability;
};

struct type {
	struct type *next;
	struct offer base;
	struct place *places;
};

struct region {
	struct region *next;
	const char *id, *country;
};

struct state {
	struct type *types;
	struct region *regions;
	int number; /* of the page that is asked, from 1 */
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
	struct state *state = state_of(feed);
	bool is_done = feed->page >= PAGES ||
		       (feed->page > PAGE_TYPES && state && !state->types); /* no GPU at all */

	(void)error;
	if (is_done || !state)
		return false;
	*out = (struct fetch_request){
		.page = feed->page,
		.method = "GET",
		.url = arena_printf(feed->arena, "%s%s?page=%d&page_size=500", feed->base_url,
				    paths[feed->page], state->number),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = arena_printf(feed->arena, "%s-%d", pages[feed->page], state->number),
		.is_optional = feed->page == PAGE_REGIONS,
	};
	return true;
}

/* What stands before the count and the size in a type's id. */
static const struct {
	const char *stem, *card;
} stems[] = {
	{"g1-gpu-rtx4000a", "RTX 4000 Ada 20GB"},
	{"g1-gpu-rtx6000", "Quadro RTX 6000 24GB"},
	{"g2-gpu-rtx4000a", "RTX 4000 Ada 20GB"},
	{"g3-gpu-rtxpro6000-blackwell", "RTX PRO 6000 Blackwell Server 96GB"},
};

/* Only "-2", "2-s", "-1-xl" may follow a stem: "g2-gpu-rtx4000b1-s" is another card. */
static bool is_count_and_size(const char *rest)
{
	rest += *rest == '-';
	if (!isdigit((unsigned char)*rest))
		return false;
	while (isdigit((unsigned char)*rest))
		rest++;
	if (!*rest)
		return true;
	return *rest == '-' && rest[1] && rest[1 + strspn(rest + 1, "smlxh")] == '\0';
}

static const char *spelling(const char *id, const char *label)
{
	if (accelerator_resolve("linode", id))
		return id;
	if (accelerator_resolve("linode", label))
		return label;
	for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++) {
		size_t length = strlen(stems[i].stem);

		if (strncmp(id, stems[i].stem, length) == 0 && is_count_and_size(id + length))
			return stems[i].card;
	}
	return id;
}

static struct place *place_in(struct feed *feed, struct type *type, const char *region)
{
	struct place **at = &type->places;

	while (*at && strcmp((*at)->region, region) != 0)
		at = &(*at)->next;
	if (!*at) {
		struct place *place = arena_alloc(feed->arena, sizeof(*place));

		if (!place) {
			feed->is_exhausted = true;
			return NULL;
		}
		place->region = feed_text(feed, region);
		*at = place;
	}
	return *at;
}

static void take_region_prices(struct feed *feed, struct type *type, const json_t *row)
{
	const json_t *prices = json_object_get(row, "region_prices");

	for (size_t i = 0; i < json_array_size(prices); i++) {
		const json_t *price = json_array_get(prices, i);
		const char *id = payload_text(price, "id");
		struct place *place = *id ? place_in(feed, type, id) : NULL;

		if (!place)
			continue;
		place->has_price = true;
		place->price_micros = payload_price(feed, price, "hourly", &place->amount);
	}
}

static void take_type(struct feed *feed, struct state *state, const json_t *row)
{
	const char *id = payload_text(row, "id");
	struct type *type;
	double memory_mb = 0, disk_mb = 0;
	int gpus;

	if (!payload_integer(row, "gpus", &gpus) || gpus == 0)
		return;
	if (!*id || gpus < 0 || gpus > 1000) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "type \"%.60s\" with %d GPUs", id, gpus);
		return;
	}
	type = arena_alloc(feed->arena, sizeof(*type));
	if (!type) {
		feed->is_exhausted = true;
		return;
	}
	type->base = feed_offer(feed);
	type->base.instance_type = feed_text(feed, id);
	type->base.accelerator = feed_text(feed, spelling(id, payload_text(row, "label")));
	type->base.count_milli = gpus * COUNT_MILLI_ONE;
	payload_number(row, "vcpus", &type->base.vcpus);
	if (payload_number(row, "memory", &memory_mb))
		type->base.ram_gib = memory_mb / 1024;
	if (payload_number(row, "disk", &disk_mb))
		type->base.disk_gb = disk_mb * MIB / GB;
	type->base.price_micros = payload_price(feed, json_object_get(row, "price"), "hourly",
						&type->base.original_amount);
	take_region_prices(feed, type, row);
	type->next = state->types;
	state->types = type;
}

static void take_availability(struct feed *feed, struct state *state, const json_t *row)
{
	const char *region = payload_text(row, "region"), *plan = payload_text(row, "plan");
	const json_t *available = json_object_get(row, "available");

	if (!*region || !json_is_boolean(available))
		return;
	for (struct type *type = state->types; type; type = type->next) {
		struct place *place;

		if (strcmp(type->base.instance_type, plan) != 0)
			continue;
		place = place_in(feed, type, region);
		if (place)
			place->availability =
				json_is_true(available) ? AVAILABILITY_YES : AVAILABILITY_NO;
		return;
	}
}

static void take_region(struct feed *feed, struct state *state, const json_t *row)
{
	const char *id = payload_text(row, "id"), *country = payload_text(row, "country");
	struct region *region;

	if (!*id)
		return;
	region = arena_alloc(feed->arena, sizeof(*region));
	if (!region) {
		feed->is_exhausted = true;
		return;
	}
	region->id = feed_text(feed, id);
	region->country = feed_text(feed, country);
	region->next = state->regions;
	state->regions = region;
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	static void (*const takes[PAGES])(struct feed *, struct state *, const json_t *) = {
		take_type, take_availability, take_region};
	struct state *state = state_of(feed);
	json_auto_t *root = NULL;
	const json_t *data;
	int page = asked->page, last, told;

	if (!state)
		return true;
	if (!response->length && asked->is_optional) { /* countries stay unknown */
		feed->page = PAGES;
		return true;
	}
	root = payload_parse(response, error);
	data = root ? payload_member(root, "data", JSON_ARRAY, error) : NULL;
	if (!data)
		return false;
	if (!payload_integer(root, "pages", &last))
		return error_set(error, ERROR_FEED, "%s: no number of pages", asked->label);
	if (payload_integer(root, "page", &told) && told != state->number)
		return error_set(error, ERROR_FEED, "%s: answered with page %d", asked->label,
				 told);
	for (size_t i = 0; i < json_array_size(data); i++)
		takes[page](feed, state, json_array_get(data, i));
	/* The number asked for counts, not the one answered: an answer cannot make the walk loop.
	 */
	if (state->number < last) {
		state->number++;
	} else {
		feed->page = page + 1;
		state->number = 1;
	}
	return true;
}

static void list_place(struct feed *feed, const struct state *state, const struct type *type,
		       const struct place *place)
{
	struct offer *offer = feed_add(feed);

	if (!offer)
		return;
	feed->rows_seen++;
	*offer = type->base;
	if (!place)
		return;
	offer->region = place->region;
	offer->availability = place->availability;
	if (place->has_price) {
		offer->price_micros = place->price_micros;
		offer->original_amount = place->amount;
	}
	for (const struct region *region = state->regions; region; region = region->next)
		if (strcmp(region->id, place->region) == 0)
			offer->country = region->country;
}

static bool finish(struct feed *feed, struct error *error)
{
	const struct state *state = state_of(feed);

	(void)error;
	for (const struct type *type = state ? state->types : NULL; type; type = type->next) {
		bool is_listed = false;

		for (const struct place *place = type->places; place; place = place->next) {
			list_place(feed, state, type, place);
			is_listed |= place->availability != AVAILABILITY_UNKNOWN;
		}
		if (!is_listed) /* sold somewhere, at the type's own price; nobody tells where */
			list_place(feed, state, type, NULL);
	}
	return true;
}
