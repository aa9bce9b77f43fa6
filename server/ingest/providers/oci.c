/*
 * Oracle Cloud: the price list by part number, then the shapes of the cost estimator, which say
 * what a machine is made of and whether it is sold preemptible (at half the price, by Oracle's
 * rule); no credential. A price "per GPU hour" is taken times the GPUs of the shape; prices per
 * OCPU are those of other parts. Prices are the same in every region, and which region has a shape
 * is not told. Where the estimator does not answer, the shapes of our own table are priced, on
 * demand only.
 */
#include "core/accelerator.h"
#include "core/instance.h"
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);
static bool finish(struct feed *feed, struct error *error);

enum page { PAGE_PRODUCTS, PAGE_SHAPES, PAGES };

#define SHAPES_URL "https://www.oracle.com"

static const char *const pages[] = {"products", "shapes", NULL};

const struct provider oci = {
	.id = "oci",
	.source = "oci-price-list",
	.base_url = "https://apexapps.oracle.com",
	.refresh_seconds = 21600,
	.body_max = (size_t)16 << 20,
	.pages_max = PAGES,
	.pages = pages,
	.documentation = "https://docs.oracle.com/iaas/Content/Billing/Tasks/signingup_topic-"
			 "Estimating_Costs.htm",
	.request = request,
	.parse = parse,
	.finish = finish,
};

/* What one GPU-hour costs under a part number. */
struct part {
	struct part *next;
	const char *number, *name;
	int64_t price_micros;
	const char *amount;
};

struct state {
	struct part *parts;
	bool has_shapes;
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	(void)error;
	if (feed->page >= PAGES)
		return false;
	*out = (struct fetch_request){
		.page = feed->page,
		.method = "GET",
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = pages[feed->page],
		.is_optional = feed->page == PAGE_SHAPES,
	};
	if (feed->page == PAGE_PRODUCTS)
		out->url = arena_printf(feed->arena,
					"%s/pls/apex/cetools/api/v1/products/?currencyCode=USD",
					feed->base_url);
	else
		out->url =
			arena_printf(feed->arena, "%s/a/ocom/docs/cloudestimator2/data/shapes.json",
				     feed->base_url_is_override ? feed->base_url : SHAPES_URL);
	return true;
}

static int64_t pay_as_you_go(struct feed *feed, const json_t *item, const char **amount)
{
	const json_t *currencies = json_object_get(item, "currencyCodeLocalizations");

	*amount = "";
	for (size_t c = 0; c < json_array_size(currencies); c++) {
		const json_t *currency = json_array_get(currencies, c);
		const json_t *prices = json_object_get(currency, "prices");

		if (strcmp(payload_text(currency, "currencyCode"), "USD") != 0)
			continue;
		for (size_t p = 0; p < json_array_size(prices); p++) {
			const json_t *price = json_array_get(prices, p);

			if (strcmp(payload_text(price, "model"), "PAY_AS_YOU_GO") == 0)
				return payload_price(feed, price, "value", amount);
		}
	}
	return PRICE_UNKNOWN;
}

static bool take_products(struct feed *feed, struct state *state, const json_t *root,
			  struct error *error)
{
	const json_t *items = payload_member(root, "items", JSON_ARRAY, error);

	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);
		const char *number = payload_text(item, "partNumber");
		struct part *part;

		if (!*number || !strstr(payload_text(item, "metricName"), "GPU"))
			continue;
		part = arena_alloc(feed->arena, sizeof(*part));
		if (!part) {
			feed->is_exhausted = true;
			break;
		}
		part->number = feed_text(feed, number);
		part->name = feed_text(feed, payload_text(item, "displayName"));
		part->price_micros = pay_as_you_go(feed, item, &part->amount);
		part->next = state->parts;
		state->parts = part;
	}
	return items != NULL;
}

static const struct part *find_part(const struct state *state, const char *number)
{
	const struct part *part = state->parts;

	while (part && strcmp(part->number, number) != 0)
		part = part->next;
	return part;
}

/* The part of a shape that is priced per GPU, or NULL. */
static const struct part *part_of(const struct state *state, const json_t *shape)
{
	const json_t *products = json_object_get(shape, "products");

	for (size_t i = 0; i < json_array_size(products); i++) {
		const struct part *part =
			find_part(state, payload_text(json_array_get(products, i), "partNumber"));

		if (part)
			return part;
	}
	return NULL;
}

static void add(struct feed *feed, const struct part *part, const struct offer *base, int gpus,
		bool is_preemptible)
{
	struct offer *offer = feed_copy(feed, base);

	if (!offer)
		return;
	feed->rows_seen++;
	offer->count_milli = gpus * COUNT_MILLI_ONE;
	offer->price_micros = price_times(part->price_micros, gpus);
	offer->original_amount = part->amount;
	if (!is_preemptible)
		return;
	offer = feed_copy(feed, offer);
	if (!offer)
		return;
	feed->rows_seen++;
	offer->price_kind = PRICE_SPOT;
	offer->price_micros = price_divide(offer->price_micros, 2);
	offer->price_basis = "instance, half the list price";
}

/* The table's record of a shape; the estimator writes "BM.GPU.GB200.4 (NVL72)". */
static const struct instance *known_shape(struct feed *feed, const char *name)
{
	size_t length = strcspn(name, " (");

	return instance_find("oci", feed_text(feed, arena_strndup(feed->arena, name, length)));
}

/* The total is told for most shapes, and that of one GPU for a few. */
static double memory_gb_of(const char *spelling, double told_gb, int gpus)
{
	if (accelerator_resolve_memory("oci", spelling, told_gb / gpus))
		return told_gb;
	return accelerator_resolve_memory("oci", spelling, told_gb) ? told_gb * gpus : told_gb;
}

static void take_shape(struct feed *feed, const struct state *state, const json_t *shape)
{
	const char *name = payload_text(shape, "name");
	const struct part *part = part_of(state, shape);
	const struct instance *known = known_shape(feed, name);
	struct offer base = feed_offer(feed);
	double memory_gb = 0;
	int gpus = 0;

	if (!payload_integer(shape, "gpuQty", &gpus) || gpus <= 0 ||
	    payload_flag(shape, "hidden", false) ||
	    strcmp(payload_text(shape, "status"), "ACTIVE") != 0)
		return;
	if (!part || gpus > 1000) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_NO_PRICE, "%.60s: no part with a price per GPU", name);
		return;
	}
	base.instance_type = known ? known->type : feed_text(feed, name);
	base.accelerator = known ? known->accelerator : base.instance_type;
	payload_number(shape, "gpuMemoryQty", &memory_gb);
	base.memory_gb = memory_gb_of(base.accelerator, memory_gb, gpus);
	payload_number(shape, "bundleMemoryQty", &base.ram_gib);
	base.vcpus = known ? known->vcpus : 0; /* OCPUs are told, wrongly for some */
	base.disk_gb = known ? known->local_nvme_gb : 0;
	add(feed, part, &base, gpus, payload_flag(shape, "allowPreemptible", false));
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = NULL;
	struct state *state = feed->state;
	const json_t *shapes;

	if (!state)
		feed->state = state = arena_alloc(feed->arena, sizeof(*state));
	feed->page = asked->page + 1;
	if (!state) {
		feed->is_exhausted = true;
		return true;
	}
	if (!response->length && asked->is_optional)
		return true;
	root = payload_parse(response, error);
	if (!root)
		return false;
	if (asked->page == PAGE_PRODUCTS)
		return take_products(feed, state, root, error);
	shapes = payload_member(root, "items", JSON_ARRAY, error);
	for (size_t i = 0; i < json_array_size(shapes); i++)
		take_shape(feed, state, json_array_get(shapes, i));
	state->has_shapes = json_array_size(shapes) > 0;
	return shapes != NULL;
}

/* Our shapes of the card that a part is for. */
static void price_known_shapes(struct feed *feed, const struct part *part)
{
	const char *const spellings[] = {part->number, part->name, NULL};
	const char *card = payload_spelling(feed, "oci", 0, spellings);

	for (size_t i = 0; i < instances_count; i++) {
		const struct instance *shape = &instances[i];
		struct offer base = feed_offer(feed);

		if (strcmp(shape->provider, "oci") != 0 || strcmp(shape->accelerator, card) != 0)
			continue;
		base.instance_type = shape->type;
		base.accelerator = shape->accelerator;
		base.vcpus = shape->vcpus;
		base.ram_gib = shape->memory_gib;
		base.disk_gb = shape->local_nvme_gb;
		add(feed, part, &base, (int)shape->count, false);
	}
}

static bool finish(struct feed *feed, struct error *error)
{
	const struct state *state = feed->state;

	(void)error;
	if (state && !state->has_shapes)
		for (const struct part *part = state->parts; part; part = part->next)
			price_known_shapes(feed, part);
	return true;
}
