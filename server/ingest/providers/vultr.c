/*
 * Vultr: cloud plans, bare-metal plans, regions, then what each region has in stock; no credential.
 *
 * gpu_vram_gb is the total of the plan and may be a slice of one card, gpu_count a number or "1/8";
 * bare-metal plans have neither, only an id. A region may have a price of its own (location_cost).
 * An hourly cost of 0 is a plan that is sold otherwise, never a free one. The monthly cost is a
 * cap.
 */
#include "server/ingest/providers/vultr.h"

#include <ctype.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);
static bool finish(struct feed *feed, struct error *error);

enum page { PAGE_PLANS, PAGE_METAL, PAGE_REGIONS, PAGE_AVAILABILITY, PAGES };

static const char *const pages[] = {"plans", "metal", "regions", "availability", NULL};
static const char *const paths[] = {"/v2/plans?type=all&per_page=500",
				    "/v2/plans-metal?per_page=500", "/v2/regions?per_page=500"};
static const char *const lists[] = {"plans", "plans_metal", "regions", "available_plans"};

const struct provider vultr = {
	.id = "vultr",
	.source = "vultr-api",
	.base_url = "https://api.vultr.com",
	.refresh_seconds = 900,
	.gap_seconds = 0.05,
	.body_max = (size_t)8 << 20,
	.pages_max = 200,
	.pages = pages,
	.documentation = "https://www.vultr.com/api/#tag/plans",
	.request = request,
	.parse = parse,
	.finish = finish,
};

struct vultr_state *vultr_state(struct feed *feed)
{
	if (!feed->state) {
		feed->state = arena_alloc(feed->arena, sizeof(struct vultr_state));
		if (!feed->state)
			feed->is_exhausted = true;
	}
	return feed->state;
}

static const char *page_url(struct feed *feed, const struct vultr_state *state)
{
	const char *cursor = state->cursor;

	if (feed->page == PAGE_AVAILABILITY)
		return arena_printf(feed->arena, "%s/v2/regions/%s/availability", feed->base_url,
				    payload_escape(feed, state->asked->id));
	return arena_printf(feed->arena, "%s%s%s%s", feed->base_url, paths[feed->page],
			    cursor ? "&cursor=" : "", cursor ? payload_escape(feed, cursor) : "");
}

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	struct vultr_state *state = vultr_state(feed);
	bool is_done =
		!state || feed->page >= PAGES || (feed->page >= PAGE_REGIONS && !state->regions);

	(void)error;
	if (is_done)
		return false;
	if (feed->page == PAGE_AVAILABILITY && !state->asked)
		state->asked = state->regions;
	*out = (struct fetch_request){
		.page = feed->page,
		.method = "GET",
		.url = page_url(feed, state),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = feed->page == PAGE_AVAILABILITY
				 ? arena_printf(feed->arena, "availability-%s", state->asked->id)
				 : arena_printf(feed->arena, "%s-%d", pages[feed->page],
						state->number + 1),
		.is_optional = feed->page >= PAGE_REGIONS,
	};
	return true;
}

static struct vultr_region *find_region(const struct vultr_state *state, const char *id)
{
	struct vultr_region *region = state->regions;

	while (region && strcmp(region->id, id) != 0)
		region = region->next;
	return region;
}

struct vultr_region *vultr_region(struct feed *feed, const char *id)
{
	struct vultr_state *state = vultr_state(feed);
	struct vultr_region *region = state ? find_region(state, id) : NULL;

	if (region || !state)
		return region;
	region = arena_alloc(feed->arena, sizeof(*region));
	if (!region) {
		feed->is_exhausted = true;
		return NULL;
	}
	region->id = feed_text(feed, id);
	region->country = "";
	region->next = state->regions;
	state->regions = region;
	return region;
}

static void take_region(struct vultr_state *state, struct feed *feed, const json_t *row)
{
	struct vultr_region *region = find_region(state, payload_text(row, "id"));

	if (region)
		region->country = feed_text(feed, payload_text(row, "country"));
}

/* Which of the places of this region are in its list; the others are sold out there. */
static void take_availability(struct vultr_state *state, const char *id, const json_t *list)
{
	struct vultr_region *region = find_region(state, id);

	if (!region)
		return;
	for (struct vultr_plan *plan = state->plans; plan; plan = plan->next)
		for (struct vultr_place *place = plan->places; place; place = place->next) {
			if (place->region != region)
				continue;
			place->availability = AVAILABILITY_NO;
			for (size_t i = 0; i < json_array_size(list); i++) {
				const char *name = json_string_value(json_array_get(list, i));

				if (name && strcmp(name, plan->base.instance_type) == 0)
					place->availability = AVAILABILITY_YES;
			}
		}
}

static void next_page(struct feed *feed, struct vultr_state *state, const char *cursor)
{
	if (feed->page == PAGE_AVAILABILITY) {
		state->asked = state->asked ? state->asked->next : NULL;
		feed->page += state->asked == NULL;
	} else if (*cursor) {
		state->cursor = feed_text(feed, cursor);
		state->number++;
	} else {
		state->cursor = NULL;
		state->number = 0;
		feed->page++;
	}
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	struct vultr_state *state = vultr_state(feed);
	json_auto_t *root = NULL;
	const json_t *list, *links;
	const char *cursor;

	if (!state)
		return true;
	feed->page = asked->page;
	if (!response->length && asked->is_optional) { /* stays unknown */
		next_page(feed, state, "");
		return true;
	}
	root = payload_parse(response, error);
	list = root ? payload_member(root, lists[asked->page], JSON_ARRAY, error) : NULL;
	if (!list)
		return false;
	if (asked->page == PAGE_AVAILABILITY) {
		const char *region = strchr(asked->label, '-');

		take_availability(state, region ? region + 1 : "", list);
	} else {
		for (size_t i = 0; i < json_array_size(list); i++) {
			const json_t *row = json_array_get(list, i);

			if (asked->page == PAGE_REGIONS)
				take_region(state, feed, row);
			else
				vultr_take_plan(feed, row, asked->page == PAGE_METAL);
		}
	}
	links = json_object_get(json_object_get(root, "meta"), "links");
	cursor = payload_text(links, "next");
	if (*cursor && state->cursor && strcmp(cursor, state->cursor) == 0)
		return error_set(error, ERROR_FEED, "%s: the next page is this one", asked->label);
	next_page(feed, state, cursor);
	return true;
}

static void list_offer(struct feed *feed, const struct vultr_plan *plan,
		       const struct vultr_place *place, enum price_kind kind)
{
	const struct vultr_price *own = place ? &place->prices[kind] : NULL;
	const struct vultr_price *price = own && own->is_told ? own : &plan->prices[kind];
	struct offer *offer = feed_add(feed);

	if (!offer)
		return;
	feed->rows_seen++;
	*offer = plan->base;
	offer->price_kind = kind;
	offer->price_micros = price->micros;
	offer->original_amount = price->amount;
	/* A plan without locations is one that cannot be had anywhere now. */
	offer->availability = place ? place->availability : AVAILABILITY_NO;
	if (place) {
		offer->region = place->region->id;
		offer->country = place->region->country;
	}
}

static bool finish(struct feed *feed, struct error *error)
{
	const struct vultr_state *state = vultr_state(feed);

	(void)error;
	for (const struct vultr_plan *plan = state ? state->plans : NULL; plan; plan = plan->next)
		for (int kind = PRICE_ON_DEMAND; kind <= PRICE_SPOT; kind++) {
			if (!plan->is_sold[kind])
				continue;
			for (const struct vultr_place *place = plan->places; place;
			     place = place->next)
				list_offer(feed, plan, place, (enum price_kind)kind);
			if (!plan->places)
				list_offer(feed, plan, NULL, (enum price_kind)kind);
		}
	return true;
}
