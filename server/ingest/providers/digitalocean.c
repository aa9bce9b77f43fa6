/*
 * DigitalOcean: sizes page by page, with a token. Dollars per hour come with the noise of a float;
 * video memory is told for the whole size. The regions of a size are those that have it; none, or a
 * size that is not available, means sold out at a price that still stands.
 */
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"sizes", NULL};

const struct provider digitalocean = {
	.id = "digitalocean",
	.source = "digitalocean-api",
	.base_url = "https://api.digitalocean.com",
	.key_variable = "GPUPICK_DIGITALOCEAN_KEY",
	.refresh_seconds = 900,
	.gap_seconds = 0.1,
	.body_max = (size_t)8 << 20,
	.pages_max = 20,
	.pages = pages,
	.documentation = "https://docs.digitalocean.com/reference/api/",
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	if (feed->page > 0 && !feed->next_url)
		return false;
	*out = (struct fetch_request){
		.method = "GET",
		.url = feed->next_url ? feed->next_url
				      : arena_printf(feed->arena, "%s/v2/sizes?per_page=200",
						     feed->base_url),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = arena_printf(feed->arena, "sizes-%d", feed->page + 1),
	};
	return payload_key_header(feed, &digitalocean, "Authorization: Bearer ", out, error);
}

static bool has_ending(const char *text, const char *ending)
{
	size_t length = strlen(text), tail = strlen(ending);

	return length >= tail && strcmp(text + length - tail, ending) == 0;
}

static void take_size(struct feed *feed, const json_t *row)
{
	const char *slug = payload_text(row, "slug");
	const json_t *info = json_object_get(row, "gpu_info");
	const json_t *vram = json_object_get(info, "vram"), *regions;
	const char *const spellings[] = {payload_text(info, "model"), slug, NULL};
	struct offer base = feed_offer(feed), *offer;
	double memory_mb = 0;
	int gpus = 0;

	if (!json_is_object(info))
		return;
	feed->rows_seen++;
	if (!*slug || !payload_integer(info, "count", &gpus) || gpus <= 0 || gpus > 1000) {
		feed_reject(feed, REJECTED_SCHEMA, "size \"%.60s\": no number of GPUs", slug);
		return;
	}
	payload_number(vram, "amount", &base.memory_gb);
	base.instance_type = feed_text(feed, slug);
	base.accelerator = payload_spelling(feed, "digitalocean", base.memory_gb / gpus, spellings);
	base.count_milli = gpus * COUNT_MILLI_ONE;
	base.price_kind = has_ending(slug, "-spot") ? PRICE_SPOT : PRICE_ON_DEMAND;
	base.price_micros = payload_price(feed, row, "price_hourly", &base.original_amount);
	payload_number(row, "vcpus", &base.vcpus);
	payload_number(row, "disk", &base.disk_gb);
	if (payload_number(row, "memory", &memory_mb))
		base.ram_gib = memory_mb / 1024;
	regions = payload_flag(row, "available", true) ? json_object_get(row, "regions") : NULL;
	if (!json_array_size(regions)) {
		base.availability = AVAILABILITY_NO;
		feed_copy(feed, &base);
		return;
	}
	feed->rows_seen += (int64_t)json_array_size(regions) - 1;
	for (size_t i = 0; i < json_array_size(regions); i++) {
		const char *region = json_string_value(json_array_get(regions, i));

		if (!region || !*region) {
			feed_reject(feed, REJECTED_SCHEMA, "%.60s: a region without a name", slug);
			continue;
		}
		offer = feed_copy(feed, &base);
		if (!offer)
			return;
		offer->region = feed_text(feed, region);
		offer->availability = AVAILABILITY_YES;
	}
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *sizes = root ? payload_member(root, "sizes", JSON_ARRAY, error) : NULL;
	const char *next;

	(void)asked;
	feed->page++;
	feed->next_url = NULL;
	if (!sizes)
		return false;
	for (size_t i = 0; i < json_array_size(sizes); i++)
		take_size(feed, json_array_get(sizes, i));
	next = payload_text(json_object_get(json_object_get(root, "links"), "pages"), "next");
	if (!*next || !json_array_size(sizes))
		return true;
	feed->next_url = payload_next_url(feed, digitalocean.base_url, next, error);
	return feed->next_url != NULL;
}
