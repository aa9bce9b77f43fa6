/*
 * Google Cloud by its billing catalog: the account's list, by component. A machine's price is its
 * GPUs, vCPUs, GiB of RAM and, where they come with it, of local SSD; the newest are one slice with
 * everything in it. Without any one of its parts a machine has no price: GPUs alone would look
 * cheap. What a machine is made of is in our table, since the catalog does not say; that a region
 * has a price does not mean that it has the machine. Which part a row is stands in words.
 */
#include "core/instance.h"
#include "server/ingest/providers/gcp.h"
#include "server/ingest/providers/payload.h"

#include <math.h>
#include <string.h>

#define NANOS_PER_MICRO 1000
#define GB_PER_GIB 1.073741824
#define SSD_DISK_GIB 375
#define REGIONS_MAX 128

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);
static bool finish(struct feed *feed, struct error *error);

static const char *const pages[] = {"skus", NULL};

const struct provider gcp_billing = {
	.id = "gcp",
	.source = "gcp-billing-catalog",
	.base_url = "https://cloudbilling.googleapis.com",
	.key_variable = "GPUPICK_GCP_KEY",
	.refresh_seconds = 21600,
	.body_max = (size_t)64 << 20,
	.pages_max = 60,
	.pages = pages,
	.documentation =
		"https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list",
	.request = request,
	.parse = parse,
	.finish = finish,
};

enum part { PART_GPU, PART_CORE, PART_RAM, PARTS };

/* How rows are sold. */
enum sale { SALE_ON_DEMAND, SALE_SPOT, SALE_ONE_YEAR, SALE_THREE_YEARS, SALES };

static const struct {
	enum price_kind kind;
	int months;
} sales[SALES] = {
	[SALE_ON_DEMAND] = {PRICE_ON_DEMAND, 0},
	[SALE_SPOT] = {PRICE_SPOT, 0},
	[SALE_ONE_YEAR] = {PRICE_RESERVED, 12},
	[SALE_THREE_YEARS] = {PRICE_RESERVED, 36},
};

/* A family of machines, and the words of its parts. */
static const struct family {
	const char *type;    /* what its types begin with */
	const char *gpu[3];  /* any of these in the description, NULL at the end */
	const char *gpu_not; /* and not this; NULL = nothing */
	const char *host;    /* "A3 Instance Core" and "... Ram"; NULL = in the GPU's price */
	bool has_ssd;	     /* local SSD comes with it and is billed beside it */
} families[] = {
	{"a2-highgpu-", {"Tesla A100 GPU"}, "80GB", "A2 Instance ", false},
	{"a2-megagpu-", {"Tesla A100 GPU"}, "80GB", "A2 Instance ", false},
	{"a2-ultragpu-", {"A100 80GB GPU"}, NULL, "A2 Instance ", true},
	{"a3-highgpu-", {"H100 80GB GPU"}, NULL, "A3 Instance ", true},
	{"a3-edgegpu-", {"H100 80GB GPU"}, NULL, "A3 Instance ", true},
	{"a3-megagpu-",
	 {"H100 80GB Mega", "H100 Mega 80GB", "H100 80GB Plus"},
	 NULL,
	 "A3Plus Instance ",
	 true},
	{"a3-ultragpu-", {"H200 141GB GPU"}, NULL, "A3Ultra Instance ", true},
	{"a4-highgpu-", {"A4 Nvidia B200 (1 gpu slice)"}, NULL, NULL, false},
	{"a4x-highgpu-", {"A4X Nvidia GB200 (1 gpu slice)"}, NULL, NULL, false},
	{"g2-standard-", {"Nvidia L4 GPU"}, NULL, "G2 Instance ", false},
	{"g4-standard-", {"RTX 6000 96GB", "RTX PRO 6000"}, NULL, "G4 Instance ", false},
};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

/* In nano-dollars, since a GiB-hour costs less than a micro-dollar's rounding allows; 0 = not told.
 */
struct region {
	const char *name;
	int64_t nanos[FAMILIES][PARTS][SALES], ssd_nanos[SALES]; /* an hour, SSD a GiB-month */
};

struct billing {
	struct region *regions;
	size_t count;
	const char *token;
	int page;
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	const struct billing *billing = feed->state;
	const char *token = billing ? billing->token : "";

	if (billing && !*token)
		return false;
	*out = (struct fetch_request){
		.method = "GET", .headers = {"Accept: application/json"}, .headers_count = 1};
	out->url = arena_printf(feed->arena,
				"%s/v1/services/6F81-5844-456A/skus?pageSize=5000&currencyCode=USD"
				"%s%s",
				feed->base_url, *token ? "&pageToken=" : "",
				payload_escape(feed, token));
	out->label = arena_printf(feed->arena, "skus-%d", billing ? billing->page + 1 : 1);
	/* Not in the URL, which logs of any hop may keep. */
	return payload_key_header(feed, &gcp_billing, "X-Goog-Api-Key: ", out, error);
}

static struct region *region_of(struct feed *feed, struct billing *billing, const char *name)
{
	struct region *region;

	for (size_t i = 0; i < billing->count; i++)
		if (strcmp(billing->regions[i].name, name) == 0)
			return &billing->regions[i];
	if (!*name || billing->count == REGIONS_MAX)
		return NULL;
	region = &billing->regions[billing->count++];
	region->name = feed_text(feed, name);
	return region;
}

/* -1 for what is sold in another way: a host of one's own, a reservation that waits, a calendar. */
static int sale_of(const json_t *sku, const char *description)
{
	static const char *const others[] = {"Sole Tenancy", "Reserved ",     "Premium",  "Custom",
					     "DWS",	     "Calendar Mode", "suspended"};
	const char *usage = payload_text(json_object_get(sku, "category"), "usageType");

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcasestr(description, others[i]))
			return -1;
	if (strcmp(usage, "Commit1Yr") == 0)
		return SALE_ONE_YEAR;
	if (strcmp(usage, "Commit3Yr") == 0)
		return SALE_THREE_YEARS;
	/* Some spot rows call themselves on demand. */
	if (strcmp(usage, "Preemptible") == 0 || strstr(description, "Spot Preemptible"))
		return SALE_SPOT;
	return strcmp(usage, "OnDemand") == 0 ? SALE_ON_DEMAND : -1;
}

/* Of the rate that counts from nothing on; 0 when none is told or it is not in dollars. */
static int64_t nanos_of(const json_t *sku, const char *unit)
{
	const json_t *pricing = json_array_get(json_object_get(sku, "pricingInfo"), 0);
	const json_t *expression = json_object_get(pricing, "pricingExpression");
	const json_t *rates = json_object_get(expression, "tieredRates");

	if (strcmp(payload_text(expression, "usageUnit"), unit) != 0)
		return 0;
	for (size_t i = 0; i < json_array_size(rates); i++) {
		const json_t *rate = json_array_get(rates, i);
		const json_t *price = json_object_get(rate, "unitPrice");
		double from = 0, units = 0, nanos = 0;

		payload_number(rate, "startUsageAmount", &from);
		payload_number(price, "units", &units);
		payload_number(price, "nanos", &nanos);
		if (from > 0 || strcmp(payload_text(price, "currencyCode"), "USD") != 0)
			continue;
		return units >= 0 && units < 1e6 && nanos >= 0 && nanos < 1e9
			       ? (int64_t)units * 1000000000 + (int64_t)nanos
			       : 0;
	}
	return 0;
}

static bool is_gpu_of(const struct family *family, const char *description)
{
	if (family->gpu_not && strstr(description, family->gpu_not))
		return false;
	for (size_t i = 0; i < 3 && family->gpu[i]; i++)
		if (strstr(description, family->gpu[i]))
			return true;
	return false;
}

/* "A3 Instance Core running in ...", maybe after "Spot Preemptible " or "Commitment v1: ". */
static bool is_host_of(const struct family *family, const char *description, const char *part)
{
	const char *at = family->host ? strstr(description, family->host) : NULL;

	return at && (at == description || at[-1] == ' ') &&
	       strncmp(at + strlen(family->host), part, strlen(part)) == 0;
}

static void note(struct region *region, const json_t *sku, const char *description, int sale)
{
	const char *group = payload_text(json_object_get(sku, "category"), "resourceGroup");
	const int64_t hourly = nanos_of(sku, "h"), ram = nanos_of(sku, "GiBy.h");

	if (strcmp(group, "LocalSSD") == 0)
		region->ssd_nanos[sale] = nanos_of(sku, "GiBy.mo");
	for (size_t f = 0; f < FAMILIES; f++) {
		int64_t(*parts)[SALES] = region->nanos[f];

		if (strcmp(group, "GPU") == 0 && is_gpu_of(&families[f], description))
			parts[PART_GPU][sale] = hourly;
		else if (is_host_of(&families[f], description, "Core"))
			parts[PART_CORE][sale] = hourly;
		else if (is_host_of(&families[f], description, "Ram"))
			parts[PART_RAM][sale] = ram;
	}
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	struct billing *billing = feed->state;
	json_auto_t *root = payload_parse(response, error);
	const json_t *skus = root ? payload_member(root, "skus", JSON_ARRAY, error) : NULL;

	(void)asked;
	if (!skus)
		return false;
	if (!billing && (billing = arena_alloc(feed->arena, sizeof(*billing))))
		billing->regions = arena_array(feed->arena, REGIONS_MAX, sizeof(*billing->regions));
	if (!billing || !billing->regions) {
		feed->is_exhausted = true;
		return true;
	}
	feed->state = billing;
	for (size_t i = 0; i < json_array_size(skus); i++) {
		const json_t *sku = json_array_get(skus, i);
		const json_t *regions = json_object_get(sku, "serviceRegions");
		const char *description = payload_text(sku, "description");
		int sale = sale_of(sku, description);

		for (size_t r = 0; sale >= 0 && r < json_array_size(regions); r++) {
			const char *name = json_string_value(json_array_get(regions, r));
			struct region *region = region_of(feed, billing, name ? name : "");

			if (region)
				note(region, sku, description, sale);
		}
	}
	billing->page++;
	billing->token = feed_text(feed, payload_text(root, "nextPageToken"));
	return true;
}

/* Local SSD comes in disks of one size; our table has it in rounded GB. */
static double ssd_gib(const struct instance *machine)
{
	return round(machine->local_nvme_gb / GB_PER_GIB / SSD_DISK_GIB) * SSD_DISK_GIB;
}

/* Rounded half up to micro-dollars; PRICE_UNKNOWN when a part is missing. */
static int64_t sum_of(const struct region *region, size_t f, const struct instance *machine,
		      int sale)
{
	const int64_t(*parts)[SALES] = region->nanos[f];
	double nanos = machine->count * (double)parts[PART_GPU][sale];

	if (families[f].host) {
		if (!parts[PART_CORE][sale] || !parts[PART_RAM][sale])
			return PRICE_UNKNOWN;
		nanos += machine->vcpus * (double)parts[PART_CORE][sale] +
			 machine->memory_gib * (double)parts[PART_RAM][sale];
	}
	if (families[f].has_ssd && machine->local_nvme_gb > 0) {
		/* A commitment does not take the SSD in. */
		int64_t ssd = region->ssd_nanos[sale];

		if (!ssd)
			ssd = region->ssd_nanos[SALE_ON_DEMAND];
		if (!ssd)
			return PRICE_UNKNOWN;
		nanos += ssd_gib(machine) * (double)ssd / HOURS_PER_MONTH;
	}
	return (int64_t)(nanos / NANOS_PER_MICRO + 0.5);
}

static void add(struct feed *feed, const struct region *region, size_t f,
		const struct instance *machine, int sale)
{
	struct offer *offer;

	if (!region->nanos[f][PART_GPU][sale] ||
	    (sale == SALE_ON_DEMAND && !gcp_is_sold_on_demand(machine->type)))
		return;
	feed->rows_seen++;
	offer = feed_add(feed);
	if (!offer)
		return;
	offer->region = region->name;
	offer->instance_type = machine->type;
	offer->accelerator = machine->accelerator;
	offer->count_milli = (int32_t)(machine->count * COUNT_MILLI_ONE + 0.5);
	offer->vcpus = machine->vcpus;
	offer->ram_gib = machine->memory_gib;
	offer->disk_gb = machine->local_nvme_gb;
	offer->price_kind = sales[sale].kind;
	offer->term_months = sales[sale].months;
	offer->price_micros = sum_of(region, f, machine, sale);
	offer->price_basis = families[f].has_ssd ? "instance, local SSD included" : "instance";
}

static bool finish(struct feed *feed, struct error *error)
{
	const struct billing *billing = feed->state;

	for (size_t r = 0; billing && r < billing->count; r++)
		for (size_t i = 0; i < instances_count; i++)
			for (size_t f = 0; f < FAMILIES; f++)
				if (strcmp(instances[i].provider, "gcp") == 0 &&
				    strncmp(instances[i].type, families[f].type,
					    strlen(families[f].type)) == 0)
					for (int sale = 0; sale < SALES; sale++)
						add(feed, &billing->regions[r], f, &instances[i],
						    sale);
	return feed->count > 0 || error_set(error, ERROR_FEED, "no GPU has a price in the catalog");
}
