/*
 * Vast.ai: what strangers' machines are offered for, with a key. A search answers at most so many
 * rows and has no next page, so it is asked for by numbers of GPUs, cheapest first, and after an
 * answer that may have been cut again from the price of its last row on. Where more offers have one
 * price than an answer holds, that is reported. Offers come and go within minutes, so a row is a
 * machine and a number of GPUs, which lasts longer than an offer's id.
 *
 * The price of an offer is that of its GPUs (dph_base) and of the disk that one rents with it, at
 * dollars per GB-month; dph_total has some disk in it already. min_bid, likewise for the whole
 * offer, is what the cheapest bid must reach. Memory is told per GPU in MiB and decides which card
 * a name means; a "4090" of 48 GB is a modified card and stays a spelling that no rule knows. CPUs
 * and RAM are those of the whole machine, of which the offer has its share.
 */
#include "core/accelerator.h"
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

#define DISK_GB 50
#define HOURS_PER_STORAGE_MONTH 720 /* Vast's own month */
#define ROWS_MAX 3000
#define ANSWERS_MAX 10 /* of one question */

static const char *const pages[] = {"gpus", NULL};

/* Questions by the number of GPUs. */
static const char *const segments[] = {"{\"eq\":1}", "{\"gte\":2,\"lte\":3}",
				       "{\"gte\":4,\"lte\":7}", "{\"gte\":8}"};

#define SEGMENTS ((int)(sizeof(segments) / sizeof(segments[0])))

const struct provider vast = {
	.id = "vast",
	.source = "vast-search",
	.base_url = "https://console.vast.ai",
	.key_variable = "GPUPICK_VAST_KEY",
	.bad_key_status = 404,
	.refresh_seconds = 300,
	.gap_seconds = 1.0, /* "API requests too frequent" */
	.body_max = (size_t)64 << 20,
	.pages_max = SEGMENTS * ANSWERS_MAX,
	.pages = pages,
	.documentation = "https://docs.vast.ai/api-reference/search/search-offers",
	.request = request,
	.parse = parse,
};

/* How far the answers to one question go. */
struct reach {
	int answers;
	double from_usd; /* dph_total of the last row */
	double *ids;	 /* of the last answer's rows */
	size_t ids_count;
};

static struct reach *reach_of(struct feed *feed)
{
	if (!feed->state)
		feed->state = arena_alloc(feed->arena, sizeof(struct reach));
	feed->is_exhausted |= !feed->state;
	return feed->state;
}

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	const struct reach *reach = reach_of(feed);
	const char *from = "";

	if (feed->page >= SEGMENTS || !reach)
		return false;
	if (reach->answers) /* a little less: it was rounded on its way here */
		from = arena_printf(feed->arena, ",\"dph_total\":{\"gte\":%.6f}",
				    reach->from_usd - 1e-6);
	*out = (struct fetch_request){
		.method = "POST",
		.url = arena_printf(feed->arena, "%s/api/v0/bundles/", feed->base_url),
		.headers = {"Content-Type: application/json", "Accept: application/json"},
		.headers_count = 2,
		.body = arena_printf(feed->arena,
				     "{\"limit\":%d,\"type\":\"ondemand\","
				     "\"order\":[[\"dph_total\",\"asc\"]],\"num_gpus\":%s%s}",
				     ROWS_MAX, segments[feed->page], from ? from : ""),
		.label = reach->answers ? arena_printf(feed->arena, "gpus-%d-%d", feed->page + 1,
						       reach->answers + 1)
					: arena_printf(feed->arena, "gpus-%d", feed->page + 1),
	};
	feed->is_exhausted |= !out->body || !from;
	return payload_key_header(feed, &vast, "Authorization: Bearer ", out, error);
}

/* By name and memory; a card whose memory is another's gets a name with its memory. */
static const char *spelling(struct feed *feed, const char *name, double memory_gb)
{
	const struct accelerator *card = accelerator_resolve_memory("vast", name, memory_gb);

	if (card)
		return card->name;
	if (!accelerator_resolve("vast", name))
		return feed_text(feed, name);
	return feed_text(feed, arena_printf(feed->arena, "%s %.0fGB", name, memory_gb));
}

/* Dollars an hour of `disk_gb`; unknown unless the offer tells its price, which may be nothing. */
static bool disk_micros(const json_t *row, double disk_gb, int64_t *micros)
{
	double usd_per_gb_month;

	if (!payload_number(row, "storage_cost", &usd_per_gb_month) || usd_per_gb_month < 0 ||
	    usd_per_gb_month > 1000)
		return false;
	*micros = micros_from_usd(usd_per_gb_month * disk_gb / HOURS_PER_STORAGE_MONTH);
	return true;
}

static void add(struct feed *feed, const struct offer *base, const json_t *row, const char *price,
		enum price_kind kind)
{
	const char *amount;
	int64_t micros = payload_price(feed, row, price, &amount), disk;
	struct offer *offer;

	if (kind == PRICE_SPOT && micros == PRICE_UNKNOWN) /* takes no bids */
		return;
	feed->rows_seen++;
	if (!disk_micros(row, base->disk_gb, &disk)) {
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: no storage_cost", base->instance_type);
		return;
	}
	offer = feed_copy(feed, base);
	if (!offer)
		return;
	offer->price_kind = kind;
	offer->original_amount = amount;
	if (micros != PRICE_UNKNOWN && micros_add(micros, disk, &micros))
		offer->price_micros = micros;
	offer->price_basis = feed_text(
		feed, arena_printf(feed->arena, "%s with %.0f GB of disk",
				   kind == PRICE_SPOT ? "lowest bid" : "instance", base->disk_gb));
}

static const char *tier(const json_t *row)
{
	int hosting = 0;

	if (strcmp(payload_text(row, "verification"), "verified") != 0)
		return "unverified";
	return payload_integer(row, "hosting_type", &hosting) && hosting == 1 ? "datacenter"
									      : "community";
}

static void take_offer(struct feed *feed, const json_t *row)
{
	const char *name = payload_text(row, "gpu_name");
	const char *place = payload_text(row, "geolocation"); /* "Quebec, CA" or ", US" */
	struct offer base = feed_offer(feed);
	double memory_mib = 0, cores = 0, share = 0, ram_mib = 0, disk_gb = DISK_GB, nvlink = 0;
	double machine;
	int gpus;

	if (!payload_integer(row, "num_gpus", &gpus) || gpus <= 0 || gpus > 1000 || !*name ||
	    !payload_number(row, "machine_id", &machine) || !(machine > 0 && machine < 1e15) ||
	    !payload_number(row, "gpu_ram", &memory_mib) || !(memory_mib > 0)) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "an offer of \"%.40s\" lacks a field", name);
		return;
	}
	base.instance_type =
		feed_text(feed, arena_printf(feed->arena, "machine-%.0f-%dx", machine, gpus));
	base.accelerator = spelling(feed, name, memory_mib / 1024);
	base.count_milli = gpus * COUNT_MILLI_ONE;
	base.memory_gb = memory_mib / 1024 * gpus;
	base.tier = tier(row);
	base.region = feed_text(feed, place + strspn(place, ", "));
	payload_number(row, "cpu_cores_effective", &base.vcpus);
	payload_number(row, "cpu_cores", &cores);
	share = cores > 0 && base.vcpus > 0 ? base.vcpus / cores : 0;
	if (payload_number(row, "cpu_ram", &ram_mib))
		base.ram_gib = ram_mib / 1024 * (share < 1 ? share : 1);
	payload_number(row, "disk_space", &disk_gb);
	base.disk_gb = disk_gb > 0 && disk_gb < DISK_GB ? disk_gb : DISK_GB;
	if (payload_number(row, "bw_nvlink", &nvlink) && nvlink > 0)
		base.interconnect = "nvlink";
	base.availability =
		payload_flag(row, "rentable", true) && !payload_flag(row, "rented", false)
			? AVAILABILITY_YES
			: AVAILABILITY_NO;
	add(feed, &base, row, "dph_base", PRICE_ON_DEMAND);
	add(feed, &base, row, "min_bid", PRICE_SPOT);
}

/* Was it in the last answer already? Then from_usd is its price too. */
static bool is_known(const struct reach *reach, const json_t *row)
{
	double id;

	if (!payload_number(row, "id", &id))
		return false;
	for (size_t i = 0; i < reach->ids_count; i++)
		if (!(reach->ids[i] < id) && !(reach->ids[i] > id))
			return true;
	return false;
}

/* Limits are round numbers, and a server may have a lower one than was asked for. */
static bool may_be_cut(size_t rows)
{
	return rows && (rows >= ROWS_MAX || rows % 100 == 0);
}

/* Whether the question is to be asked again from where this answer ends. */
static bool goes_on(struct feed *feed, struct reach *reach, const json_t *offers, size_t fresh)
{
	const size_t rows = json_array_size(offers);
	double from_usd = 0;

	if (!may_be_cut(rows) || !fresh ||
	    !payload_number(json_array_get(offers, rows - 1), "dph_total", &from_usd) ||
	    reach->answers + 1 >= ANSWERS_MAX)
		return false;
	reach->ids = arena_array(feed->arena, rows, sizeof(*reach->ids));
	reach->ids_count = 0;
	feed->is_exhausted |= !reach->ids;
	for (size_t i = 0; reach->ids && i < rows; i++)
		if (payload_number(json_array_get(offers, i), "id", &reach->ids[reach->ids_count]))
			reach->ids_count++;
	reach->from_usd = from_usd;
	reach->answers++;
	return true;
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *offers = root ? payload_member(root, "offers", JSON_ARRAY, error) : NULL;
	struct reach *reach = reach_of(feed);
	size_t fresh = 0;

	if (!reach)
		return true; /* the feed is exhausted, and says so */
	if (!offers)
		return false;
	for (size_t i = 0; i < json_array_size(offers); i++) {
		const json_t *row = json_array_get(offers, i);

		if (is_known(reach, row))
			continue;
		fresh++;
		take_offer(feed, row);
	}
	if (goes_on(feed, reach, offers, fresh))
		return true;
	if (json_array_size(offers) >= ROWS_MAX) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "%s is full: dearer offers are not seen",
			    asked->label);
	}
	*reach = (struct reach){0};
	feed->page++;
	return true;
}
