/*
 * Cudo Compute: machine types by data centre, with a key. Prices are texts, dollars for one
 * component for an hour: a machine is its GPUs, vCPUs, GiB of RAM and disk, and an address. What is
 * priced here is a machine with a stated share of each per GPU, within the least and most vCPUs per
 * GPU and per GiB that the type allows. maxGpuFree is the largest machine that fits now;
 * totalGpuFree counts the whole site.
 */
#include "server/ingest/providers/payload.h"

#include <math.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

#define VCPUS_EACH 8
#define RAM_GIB_EACH 32
#define DISK_GIB 100
#define GPUS_MAX 16

static const char *const pages[] = {"machine-types", NULL};

const struct provider cudo = {
	.id = "cudo",
	.source = "cudo-api",
	.base_url = "https://rest.compute.cudo.org",
	.key_variable = "GPUPICK_CUDO_KEY",
	.refresh_seconds = 600,
	.body_max = (size_t)8 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://www.cudocompute.com/docs/api",
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	return payload_request_once(feed, &cudo, "/v1/vms/machine-types", "Authorization: Bearer ",
				    out, error);
}

/* A component's price; false when it is not told. Zero is a price of a part, not of a machine. */
static bool component(const json_t *row, const char *name, double amount, double *usd)
{
	double each;

	if (!payload_number(json_object_get(row, name), "value", &each) || each < 0)
		return false;
	*usd += each * amount;
	return true;
}

static double bounded(double value, double least, double most)
{
	if (most > 0 && value > most)
		value = floor(most);
	return value < least ? ceil(least) : value;
}

/* vCPUs and RAM of a machine of so many GPUs: 8 and 32 GiB each, bent to the type's rules. */
static void choose_host(const json_t *row, int gpus, double *vcpus, double *ram_gib)
{
	double least = 0, most = 0, least_per_gib = 0, most_per_gib = 0;

	payload_number(row, "minVcpuPerGpu", &least);
	payload_number(row, "maxVcpuPerGpu", &most);
	payload_number(row, "minVcpuPerMemoryGib", &least_per_gib);
	payload_number(row, "maxVcpuPerMemoryGib", &most_per_gib);
	*vcpus = bounded(VCPUS_EACH * gpus, least * gpus, most * gpus);
	*ram_gib = bounded(RAM_GIB_EACH * gpus, most_per_gib > 0 ? *vcpus / most_per_gib : 0,
			   least_per_gib > 0 ? *vcpus / least_per_gib : 0);
}

static void take_machine(struct feed *feed, const struct offer *base, const json_t *row, int gpus,
			 int free_gpus)
{
	struct offer *offer = feed_copy(feed, base);
	double parts_usd = 0;
	int64_t micros;

	if (!offer)
		return;
	feed->rows_seen++;
	choose_host(row, gpus, &offer->vcpus, &offer->ram_gib);
	offer->count_milli = gpus * COUNT_MILLI_ONE;
	offer->disk_gb = DISK_GIB * GIB / GB;
	offer->availability = free_gpus >= gpus ? AVAILABILITY_YES : AVAILABILITY_NO;
	micros = price_times(payload_price(feed, json_object_get(row, "gpuPriceHr"), "value",
					   &offer->original_amount),
			     gpus);
	if (micros == PRICE_UNKNOWN || !component(row, "vcpuPriceHr", offer->vcpus, &parts_usd) ||
	    !component(row, "memoryGibPriceHr", offer->ram_gib, &parts_usd) ||
	    !component(row, "minStorageGibPriceHr", DISK_GIB, &parts_usd) ||
	    !component(row, "ipv4PriceHr", 1, &parts_usd) ||
	    micros_from_usd(parts_usd) == PRICE_UNKNOWN ||
	    !micros_add(micros, micros_from_usd(parts_usd), &micros))
		return;
	offer->price_micros = micros;
	offer->price_basis = feed_text(
		feed, arena_printf(feed->arena, "GPUs, %.0f vCPUs, %.0f GiB of RAM, %d GiB of disk",
				   offer->vcpus, offer->ram_gib, DISK_GIB));
}

/* "no" of "no-luster-1". */
static const char *country(struct feed *feed, const char *centre)
{
	return strlen(centre) > 3 && centre[2] == '-'
		       ? feed_text(feed, arena_strndup(feed->arena, centre, 2))
		       : "";
}

static void take_type(struct feed *feed, const json_t *row)
{
	const char *type = payload_text(row, "machineType"), *model = payload_text(row, "gpuModel");
	const char *centre = payload_text(row, "dataCenterId");
	const char *const spellings[] = {model, payload_text(row, "gpuModelId"), NULL};
	struct offer base = feed_offer(feed);
	int free_gpus = 0;

	if (!*model) /* a machine without GPUs */
		return;
	if (!*type || !*centre || !payload_integer(row, "maxGpuFree", &free_gpus) ||
	    free_gpus < 0) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "\"%.60s\" in \"%.30s\": a field is missing",
			    type, centre);
		return;
	}
	base.region = feed_text(feed, centre);
	base.country = country(feed, centre);
	base.instance_type = feed_text(feed, type);
	base.accelerator = payload_spelling(feed, "cudo", 0, spellings);
	if (free_gpus == 0)
		take_machine(feed, &base, row, 1, 0);
	for (int gpus = 1; gpus <= free_gpus && gpus <= GPUS_MAX; gpus++)
		take_machine(feed, &base, row, gpus, free_gpus);
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *types = root ? payload_member(root, "machineTypes", JSON_ARRAY, error) : NULL;

	(void)asked;
	feed->page = 1;
	for (size_t i = 0; i < json_array_size(types); i++)
		take_type(feed, json_array_get(types, i));
	return types != NULL;
}
