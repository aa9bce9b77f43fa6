/*
 * Azure Retail Prices: no credential. The list is one of meters, not of machines: text decides what
 * a row means (Windows, Spot, Low Priority, Cloud Services and Dedicated are told apart by words
 * only), the price of a reservation is the total of its term under "1 Hour", units may be "100
 * Hours", rows of the future and rows of 0 stand among the others, and several rows may match one
 * machine.
 *
 * Nothing here says what GPU a size has: that is the table of instance types. A size of the N
 * series that it does not know is kept under its own name and counted as unmapped, even where the
 * name tells the card, since how many of it there are would be a guess.
 */
#include "core/accelerator.h"
#include "core/instance.h"
#include "server/ingest/providers/payload.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FULL_PAGE 100 /* a full page has 100 or 1000 rows, by version */
#define HOURS_PER_YEAR 8760

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);
static bool finish(struct feed *feed, struct error *error);

static const char *const pages[] = {"prices", NULL};

static const char first_page[] =
	"/api/retail/prices?api-version=2023-01-01-preview&currencyCode=%27USD%27"
	"&$filter=serviceName%20eq%20%27Virtual%20Machines%27"
	"%20and%20startswith(armSkuName,%27Standard_N%27)";

const struct provider azure = {
	.id = "azure",
	.source = "azure-retail-prices",
	.base_url = "https://prices.azure.com",
	.refresh_seconds = 21600,
	.gap_seconds = 0.05,
	.body_max = (size_t)16 << 20,
	.pages_max = 400,
	.pages = pages,
	.documentation = "https://learn.microsoft.com/rest/api/cost-management/retail-prices/"
			 "azure-retail-prices",
	.request = request,
	.parse = parse,
	.finish = finish,
};

/* One row that sells a GPU machine, with what decides between rows of the same machine. */
struct meter {
	struct offer offer;
	bool is_primary;
	int64_t start_us;
};

struct state {
	struct meter *meters;
	size_t count, capacity;
	long items; /* of all pages so far */
};

static struct state *state_of(struct feed *feed)
{
	if (!feed->state) {
		feed->state = arena_alloc(feed->arena, sizeof(struct state));
		if (!feed->state)
			feed->is_exhausted = true;
	}
	return feed->state;
}

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	(void)error;
	if (feed->page < 0 || !state_of(feed))
		return false;
	*out = (struct fetch_request){
		.method = "GET",
		.url = feed->next_url
			       ? feed->next_url
			       : arena_printf(feed->arena, "%s%s", feed->base_url, first_page),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = arena_printf(feed->arena, "prices-%d", feed->page + 1),
	};
	return true;
}

static void add_meter(struct feed *feed, const struct meter *meter)
{
	struct state *state = feed->state;

	if (state->count == state->capacity) {
		size_t capacity = state->capacity ? state->capacity * 2 : 256;
		struct meter *grown = arena_array(feed->arena, capacity, sizeof(*grown));

		if (!grown) {
			feed->is_exhausted = true;
			return;
		}
		if (state->count)
			memcpy(grown, state->meters, state->count * sizeof(*grown));
		state->meters = grown;
		state->capacity = capacity;
	}
	state->meters[state->count++] = *meter;
}

static bool has_word(const json_t *row, const char *name, const char *word)
{
	return strcasestr(payload_text(row, name), word) != NULL;
}

/* Rows for other goods than a plain Linux machine of one's own. */
static bool is_other_good(const json_t *row)
{
	const char *product = payload_text(row, "productName"), *type = payload_text(row, "type");
	size_t length = strlen(product);

	return has_word(row, "productName", "Windows") ||
	       (length > 4 && strcasecmp(product + length - 4, " Win") == 0) ||
	       has_word(row, "productName", "Cloud Services") ||
	       has_word(row, "productName", "CloudServices") ||
	       has_word(row, "productName", "Dedicated") ||
	       has_word(row, "skuName", "Low Priority") ||
	       has_word(row, "meterName", "Low Priority") ||
	       (strcmp(type, "Consumption") != 0 && strcmp(type, "Reservation") != 0);
}

/* N is Azure's letter for accelerators; of those, NP holds FPGAs and NM media cards. */
static bool is_gpu_size(const char *size)
{
	return strncmp(size, "Standard_N", 10) == 0 && isupper((unsigned char)size[10]) &&
	       size[10] != 'P' && size[10] != 'M';
}

/* "1 Hour" or "100 Hours": 1 or 100; 0 for a unit that is no number of hours. */
static int unit_hours(const char *unit)
{
	char word[16];
	int hours, used = 0;

	if (sscanf(unit, "%6d %15[A-Za-z]%n", &hours, word, &used) != 2 || unit[used] || hours < 1)
		return 0;
	return strcmp(word, "Hour") == 0 || strcmp(word, "Hours") == 0 ? hours : 0;
}

/* "1 Year", "3 Years": 1, 3; 0 otherwise. */
static int term_years(const char *term)
{
	int years;

	return sscanf(term, "%2d Year", &years) == 1 && years >= 1 && years <= 5 ? years : 0;
}

static void take_machine(struct feed *feed, struct offer *offer)
{
	const struct instance *instance = instance_find("azure", offer->instance_type);

	if (!instance) {
		/* A card that the name tells would be priced as if the machine had one of it. */
		offer->accelerator =
			accelerator_resolve("azure", offer->instance_type)
				? feed_text(feed, arena_printf(feed->arena, "%s, GPUs not told",
							       offer->instance_type))
				: offer->instance_type;
		return;
	}
	offer->accelerator = instance->accelerator;
	offer->count_milli = (int32_t)lround(instance->count * COUNT_MILLI_ONE);
	offer->vcpus = instance->vcpus;
	offer->ram_gib = instance->memory_gib;
	offer->disk_gb = instance->local_nvme_gb;
}

/* Savings plans stand inside the on-demand row, at prices that are hourly already. */
static void take_savings(struct feed *feed, const json_t *row, const struct meter *base, int hours)
{
	const json_t *plans = json_object_get(row, "savingsPlan");

	for (size_t i = 0; i < json_array_size(plans); i++) {
		const json_t *plan = json_array_get(plans, i);
		int years = term_years(payload_text(plan, "term"));
		struct meter meter = *base;

		feed->rows_seen++;
		if (!years) {
			feed_reject(feed, REJECTED_SCHEMA, "%.60s: savings plan of \"%.20s\"",
				    base->offer.instance_type, payload_text(plan, "term"));
			continue;
		}
		meter.offer.price_kind = PRICE_RESERVED;
		meter.offer.term_months = years * 12;
		meter.offer.tier = "savings_plan";
		meter.offer.price_micros = price_divide(
			payload_price(feed, plan, "retailPrice", &meter.offer.original_amount),
			hours);
		add_meter(feed, &meter);
	}
}

static void take_price(struct feed *feed, const json_t *row, int hours, struct meter *meter)
{
	struct offer *offer = &meter->offer;
	bool is_reservation = strcmp(payload_text(row, "type"), "Reservation") == 0;
	int64_t micros = payload_price(feed, row, "retailPrice", &offer->original_amount);
	int years;

	if (!is_reservation) {
		bool is_spot =
			has_word(row, "skuName", "Spot") || has_word(row, "meterName", "Spot");

		offer->price_kind = is_spot ? PRICE_SPOT : PRICE_ON_DEMAND;
		if (is_spot) /* seen six times off the portal */
			offer->price_basis = "instance, indicative: the portal may quote another";
		offer->price_micros = price_divide(micros, hours);
		add_meter(feed, meter);
		if (!is_spot)
			take_savings(feed, row, meter, hours);
		return;
	}
	years = term_years(payload_text(row, "reservationTerm"));
	if (!years) {
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: reservation of \"%.20s\"",
			    offer->instance_type, payload_text(row, "reservationTerm"));
		return;
	}
	offer->price_kind = PRICE_RESERVED;
	offer->term_months = years * 12;
	offer->price_micros = price_divide(micros, (int64_t)years * HOURS_PER_YEAR);
	add_meter(feed, meter);
}

static void take_item(struct feed *feed, const json_t *row)
{
	const char *size = payload_text(row, "armSkuName");
	const char *currency = payload_text(row, "currencyCode");
	const char *start = payload_text(row, "effectiveStartDate");
	const char *end = payload_text(row, "effectiveEndDate");
	int hours = unit_hours(payload_text(row, "unitOfMeasure"));
	double units = 0;
	struct meter meter = {.offer = feed_offer(feed)};

	if (!is_gpu_size(size) || is_other_good(row))
		return;
	meter.start_us = feed_time(start);
	/* Not of now, or the price from so many hours on. */
	if ((*end && feed_time(end) > 0 && feed_time(end) <= feed->now_us) ||
	    meter.start_us > feed->now_us ||
	    (payload_number(row, "tierMinimumUnits", &units) && units > 0))
		return;
	feed->rows_seen++;
	if (strcmp(currency, "USD") != 0 || !hours || meter.start_us < 0) {
		feed_reject(feed, REJECTED_SCHEMA,
			    "%.60s: currency \"%.5s\", unit \"%.20s\", start \"%.30s\"", size,
			    currency, payload_text(row, "unitOfMeasure"), start);
		return;
	}
	meter.is_primary = payload_flag(row, "isPrimaryMeterRegion", false);
	meter.offer.instance_type = feed_text(feed, size);
	meter.offer.region = feed_text(feed, payload_text(row, "armRegionName"));
	take_machine(feed, &meter.offer);
	take_price(feed, row, hours, &meter);
}

static bool set_next(struct feed *feed, const json_t *root, size_t items, struct error *error)
{
	const char *link = payload_text(root, "NextPageLink");
	struct state *state = feed->state;
	const char *asked = feed->next_url;

	feed->next_url = NULL;
	feed->page++;
	if (*link) {
		feed->next_url = payload_next_url(feed, azure.base_url, link, error);
		if (feed->next_url && asked && strcmp(feed->next_url, asked) == 0)
			return error_set(error, ERROR_FEED, "the next page is this one");
		return feed->next_url != NULL;
	}
	/* A full page without a link was once not the last one. */
	if (items && items % FULL_PAGE == 0)
		feed->next_url = arena_printf(feed->arena, "%s%s&$skip=%ld", feed->base_url,
					      first_page, state->items);
	else
		feed->page = -1;
	return true;
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *items = root ? payload_member(root, "Items", JSON_ARRAY, error) : NULL;
	struct state *state = state_of(feed);

	(void)asked;
	if (!items)
		return false;
	if (!state)
		return true;
	for (size_t i = 0; i < json_array_size(items); i++)
		take_item(feed, json_array_get(items, i));
	state->items += (long)json_array_size(items);
	return set_next(feed, root, json_array_size(items), error);
}

static int by_machine(const void *left, const void *right)
{
	const struct meter *a = left, *b = right;
	int order = strcmp(a->offer.instance_type, b->offer.instance_type);

	if (!order)
		order = strcmp(a->offer.region, b->offer.region);
	if (!order)
		order = (int)a->offer.price_kind - (int)b->offer.price_kind;
	if (!order)
		order = a->offer.term_months - b->offer.term_months;
	return order ? order : strcmp(a->offer.tier, b->offer.tier);
}

/* Of one machine: a price before none, the primary meter, the latest that is in force, the dearest.
 */
static int by_preference(const void *left, const void *right)
{
	const struct meter *a = left, *b = right;
	int order = by_machine(left, right);
	bool has_price = a->offer.price_micros > 0;

	if (order)
		return order;
	if (has_price != (b->offer.price_micros > 0))
		return has_price ? -1 : 1;
	if (a->is_primary != b->is_primary)
		return a->is_primary ? -1 : 1;
	if (a->start_us != b->start_us)
		return a->start_us > b->start_us ? -1 : 1;
	return (a->offer.price_micros < b->offer.price_micros) -
	       (a->offer.price_micros > b->offer.price_micros);
}

static bool finish(struct feed *feed, struct error *error)
{
	struct state *state = state_of(feed);

	(void)error;
	if (!state || !state->count)
		return true;
	qsort(state->meters, state->count, sizeof(*state->meters), by_preference);
	for (size_t i = 0; i < state->count; i++) {
		const struct meter *meter = &state->meters[i];
		struct offer *offer;

		if (i && by_machine(&state->meters[i - 1], meter) == 0) {
			feed_reject(feed, REJECTED_DUPLICATE,
				    "%.60s in %.30s: another meter counts",
				    meter->offer.instance_type, meter->offer.region);
			continue;
		}
		offer = feed_add(feed);
		if (!offer)
			return true;
		*offer = meter->offer;
	}
	return true;
}
