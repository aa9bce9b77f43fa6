/*
 * Hot Aisle: the machines that a team can have now, with a key written "TEAM:TOKEN". Whole US cents
 * per machine-hour, RAM and disk in bytes. One site, whose name is not told. A machine has no name
 * either: it is named here by what it is made of.
 */
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"available", NULL};

const struct provider hotaisle = {
	.id = "hotaisle",
	.source = "hotaisle-api",
	.base_url = "https://admin.hotaisle.app",
	.key_variable = "GPUPICK_HOTAISLE_KEY",
	.refresh_seconds = 600,
	.body_max = (size_t)1 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://admin.hotaisle.app/api/docs/",
	.request = request,
	.parse = parse,
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	const char *colon = feed->key ? strchr(feed->key, ':') : NULL;
	struct feed token = *feed; /* the same feed with the token alone as its key */
	const char *team, *path;
	bool is_asked;

	if (feed->page > 0)
		return false;
	if (!colon || colon == feed->key)
		return error_set(error, ERROR_FEED, "%s is not TEAM:TOKEN", hotaisle.key_variable);
	team = feed_text(feed, arena_strndup(feed->arena, feed->key, (size_t)(colon - feed->key)));
	token.key = colon + 1;
	path = feed_text(feed,
			 arena_printf(feed->arena, "/api/teams/%s/virtual_machines/available/",
				      payload_escape(feed, team)));
	is_asked =
		payload_request_once(&token, &hotaisle, path, "Authorization: Token ", out, error);
	feed->is_exhausted |= token.is_exhausted;
	return is_asked;
}

static void take_machine(struct feed *feed, const json_t *row)
{
	const json_t *specs = json_object_get(row, "Specs");
	const json_t *gpus = json_object_get(specs, "gpus"), *gpu = json_array_get(gpus, 0);
	const char *model = payload_text(gpu, "model");
	struct offer *offer;
	double bytes = 0;
	int count = 0, quantity;

	if (json_is_object(specs) && !json_array_size(gpus)) /* a machine without GPUs */
		return;
	feed->rows_seen++;
	if (json_array_size(gpus) != 1 || !*model || !payload_integer(gpu, "count", &count) ||
	    count <= 0 || count > 1000) {
		feed_reject(feed, REJECTED_SCHEMA, "a machine with %d of \"%.40s\"", count, model);
		return;
	}
	offer = feed_add(feed);
	if (!offer)
		return;
	payload_number(specs, "cpu_cores", &offer->vcpus);
	if (payload_number(specs, "ram_capacity", &bytes))
		offer->ram_gib = bytes / GIB;
	if (payload_number(specs, "disk_capacity", &bytes))
		offer->disk_gb = bytes / GB;
	offer->instance_type = feed_text(
		feed, arena_printf(feed->arena, "%dx-%s-%.0fc", count, model, offer->vcpus));
	offer->accelerator = feed_text(feed, model);
	offer->count_milli = count * COUNT_MILLI_ONE;
	offer->price_micros = payload_cents(feed, row, "OnDemandPrice", &offer->original_amount);
	if (payload_integer(row, "Quantity", &quantity) && quantity >= 0) {
		offer->quantity = quantity;
		offer->availability = quantity > 0 ? AVAILABILITY_YES : AVAILABILITY_NO;
	}
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse_list(response, error);

	(void)asked;
	feed->page = 1;
	for (size_t i = 0; i < json_array_size(root); i++)
		take_machine(feed, json_array_get(root, i));
	return root != NULL;
}
