/*
 * TensorDock: GPUs by location, with a key. Every price is that of one component for an hour: a
 * machine is its GPUs, vCPUs, RAM and disk. What is priced here is a machine with a stated share of
 * each per GPU, no more than the location's share allows, since nobody gets all CPUs without all
 * GPUs. How many are free is often stale (launches then fail), so it bounds the sizes and does not
 * make them available.
 */
#include "server/ingest/providers/payload.h"

#include <math.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

#define VCPUS_EACH 8
#define RAM_GB_EACH 32
#define DISK_GB 100
#define GPUS_MAX 8

static const char *const pages[] = {"locations", NULL};

const struct provider tensordock = {
	.id = "tensordock",
	.source = "tensordock-v2",
	.base_url = "https://dashboard.tensordock.com",
	.key_variable = "GPUPICK_TENSORDOCK_KEY",
	.refresh_seconds = 600,
	.body_max = (size_t)8 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://dashboard.tensordock.com/api/docs",
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	return payload_request_once(feed, &tensordock, "/api/v2/locations",
				    "Authorization: Bearer ", out, error);
}

static const char *country_code(const char *name)
{
	static const struct {
		const char *name, *code;
	} known[] = {
		{"United States", "US"},  {"Canada", "CA"},    {"Germany", "DE"},
		{"United Kingdom", "GB"}, {"France", "FR"},    {"Netherlands", "NL"},
		{"Poland", "PL"},	  {"Sweden", "SE"},    {"Norway", "NO"},
		{"India", "IN"},	  {"Singapore", "SG"}, {"Japan", "JP"},
		{"Australia", "AU"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].code;
	return "";
}

/* `wanted` for each GPU, within this machine's share of what there is; 0 = no bound is told. */
static double share(double wanted, double most, int gpus, int gpus_most)
{
	double allowed = floor(most * gpus / gpus_most);

	return most > 0 && allowed < wanted * gpus ? allowed : wanted * gpus;
}

/* False when a component has no price: the sum is then not known. */
static bool add_component(const json_t *pricing, const char *name, double amount, double *usd)
{
	double each;

	if (!payload_number(pricing, name, &each) || each < 0)
		return false;
	*usd += each * amount;
	return true;
}

static void take_machine(struct feed *feed, const struct offer *base, const json_t *gpu, int gpus,
			 int gpus_most)
{
	const json_t *pricing = json_object_get(gpu, "pricing");
	const json_t *resources = json_object_get(gpu, "resources");
	struct offer *offer = feed_copy(feed, base);
	double vcpus = 0, ram_gb = 0, parts_usd = 0;
	int64_t micros;

	if (!offer)
		return;
	feed->rows_seen++;
	payload_number(resources, "max_vcpus", &vcpus);
	payload_number(resources, "max_ram_gb", &ram_gb);
	offer->count_milli = gpus * COUNT_MILLI_ONE;
	offer->vcpus = share(VCPUS_EACH, vcpus, gpus, gpus_most);
	offer->ram_gib = share(RAM_GB_EACH, ram_gb, gpus, gpus_most);
	offer->disk_gb = DISK_GB;
	micros = price_times(payload_price(feed, gpu, "price_per_hr", &offer->original_amount),
			     gpus);
	if (micros == PRICE_UNKNOWN ||
	    !add_component(pricing, "per_vcpu_hr", offer->vcpus, &parts_usd) ||
	    !add_component(pricing, "per_gb_ram_hr", offer->ram_gib, &parts_usd) ||
	    !add_component(pricing, "per_gb_storage_hr", DISK_GB, &parts_usd) ||
	    micros_from_usd(parts_usd) == PRICE_UNKNOWN ||
	    !micros_add(micros, micros_from_usd(parts_usd), &micros))
		return;
	offer->price_micros = micros;
	offer->price_basis = feed_text(
		feed, arena_printf(feed->arena, "GPUs, %.0f vCPUs, %.0f GB of RAM, %d GB of disk",
				   offer->vcpus, offer->ram_gib, DISK_GB));
}

static void take_location(struct feed *feed, const json_t *location)
{
	const char *city = payload_text(location, "city");
	const char *state = payload_text(location, "stateprovince");
	const json_t *gpus = json_object_get(location, "gpus");

	for (size_t i = 0; i < json_array_size(gpus); i++) {
		const json_t *gpu = json_array_get(gpus, i);
		const char *name = payload_text(gpu, "v0Name");
		const char *const spellings[] = {name, payload_text(gpu, "displayName"), NULL};
		struct offer base = feed_offer(feed);
		int most = 0;

		if (!*name || !payload_integer(gpu, "max_count", &most) || most < 0) {
			feed->rows_seen++;
			feed_reject(feed, REJECTED_SCHEMA, "a GPU of %.40s: no name or count",
				    city);
			continue;
		}
		base.region = feed_text(
			feed, arena_printf(feed->arena, "%s%s%s", city, *state ? ", " : "", state));
		base.country = country_code(payload_text(location, "country"));
		base.instance_type = feed_text(feed, name);
		base.accelerator = payload_spelling(feed, "tensordock", 0, spellings);
		if (most == 0) { /* sold out: what one would cost still stands */
			base.availability = AVAILABILITY_NO;
			take_machine(feed, &base, gpu, 1, 1);
		}
		for (int count = 1; count <= most && count <= GPUS_MAX; count++)
			take_machine(feed, &base, gpu, count, most);
	}
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *data = json_object_get(root, "data"), *locations;

	(void)asked;
	feed->page = 1;
	if (!root)
		return false;
	/* Some answers have the list right under "data". */
	locations =
		json_is_array(data) ? data : payload_member(data, "locations", JSON_ARRAY, error);
	for (size_t i = 0; i < json_array_size(locations); i++)
		take_location(feed, json_array_get(locations, i));
	return locations != NULL;
}
