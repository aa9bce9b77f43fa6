/* Nebius: what its answers say: see nebius.c. */
#include "server/ingest/providers/nebius.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT_MOST 4096
#define LIST_PAGES_MOST 64 /* of 999 items each */

/* Numbers of fields, by message. */
enum { LIST_ITEMS = 1, LIST_NEXT_TOKEN = 2 };
enum { CONTAINER_SPEC = 2, CONTAINER_STATUS = 3, SPEC_REGION = 1, STATUS_REGION = 4 };
enum { PLATFORM_SPEC = 2, PLATFORM_STATUS = 3, PLATFORM_PREEMPTIBLE = 3 };
enum { PLATFORM_PRESETS = 1, PLATFORM_MEMORY_GB = 12 };
enum { PRESET_NAME = 1, PRESET_RESOURCES = 2, PRESET_VCPUS = 1, PRESET_GIB = 3, PRESET_GPUS = 4 };
enum { ANSWER_TOTALS = 10, ANSWER_CURRENCY = 20 };
enum { TOTAL_UNIT = 1, UNIT_NAME = 1, TOTAL_GENERAL = 20, GENERAL_TOTAL = 1, BREAKDOWN_COST = 2 };

/* "" rather than NULL, and the feed exhausted, when memory is out. */
static const char *text_of(struct feed *feed, struct protobuf message, uint64_t number)
{
	const char *text = protobuf_text(message, number, feed->arena);

	feed->is_exhausted = feed->is_exhausted || !text;
	return text ? text : "";
}

static struct nebius_account *open_account(struct feed *feed)
{
	struct nebius_account *account =
		feed->state ? feed->state : arena_alloc(feed->arena, sizeof(*account));

	feed->is_exhausted = feed->is_exhausted || !account;
	if (account && !account->token)
		account->token = "";
	feed->state = account;
	return account;
}

/* The next page of a list is asked for, or the next kind of page. A list that names ever new pages
 * has no end. */
static bool turn_page(struct feed *feed, struct nebius_account *account, struct protobuf list,
		      const char *label, struct error *error)
{
	account->token = text_of(feed, list, LIST_NEXT_TOKEN);
	account->pages = *account->token ? account->pages + 1 : 0;
	return account->pages < LIST_PAGES_MOST ||
	       error_set(error, ERROR_FEED, "%.60s: over %d pages", label, LIST_PAGES_MOST);
}

static bool parse_tenants(struct feed *feed, struct nebius_account *account, struct protobuf list,
			  struct error *error)
{
	struct protobuf_field item;
	size_t count = 0;

	while (protobuf_next(&list, &item)) {
		if (item.number != LIST_ITEMS || item.type != PROTOBUF_BYTES)
			continue;
		account->tenant = text_of(feed, protobuf_message(item.bytes, NEBIUS_METADATA),
					  NEBIUS_METADATA_ID);
		count++;
	}
	if (count != 1 || !*account->tenant)
		return error_set(error, ERROR_FEED, "the key opens %zu tenants, not one", count);
	feed->page = NEBIUS_PROJECTS;
	return true;
}

static void take_project(struct feed *feed, struct nebius_account *account, struct protobuf project)
{
	const char *id =
		text_of(feed, protobuf_message(project, NEBIUS_METADATA), NEBIUS_METADATA_ID);
	const char *region =
		text_of(feed, protobuf_message(project, CONTAINER_STATUS), STATUS_REGION);

	if (!*region)
		region = text_of(feed, protobuf_message(project, CONTAINER_SPEC), SPEC_REGION);
	if (!*id || !*region || *nebius_project_of(account, region) ||
	    account->sites_count == NEBIUS_SITES_MAX)
		return;
	account->sites[account->sites_count++] = (struct nebius_site){region, id};
}

static bool parse_projects(struct feed *feed, struct nebius_account *account,
			   const struct fetch_request *asked, struct protobuf list,
			   struct error *error)
{
	const struct protobuf whole = list;
	struct protobuf_field item;

	while (protobuf_next(&list, &item))
		if (item.number == LIST_ITEMS && item.type == PROTOBUF_BYTES)
			take_project(feed, account, item.bytes);
	if (!turn_page(feed, account, whole, asked->label, error))
		return false;
	if (*account->token)
		return true;
	feed->page = NEBIUS_PLATFORMS;
	if (account->sites_count == NEBIUS_SITES_MAX)
		return error_set(error, ERROR_FEED, "projects in %d regions or more",
				 NEBIUS_SITES_MAX);
	return account->sites_count > 0 ||
	       error_set(error, ERROR_FEED, "the tenant has no project with a region");
}

/* One preset of a platform, as it is sold on demand; its price is asked for later. */
static bool take_preset(struct feed *feed, const char *region, const char *platform,
			double memory_gb, struct protobuf preset, struct offer *out)
{
	const struct protobuf resources = protobuf_message(preset, PRESET_RESOURCES);
	const uint64_t gpus = protobuf_number(resources, PRESET_GPUS);
	const char *name = text_of(feed, preset, PRESET_NAME);
	const char *type = arena_printf(feed->arena, "%s_%s", platform, name);

	if (!gpus)
		return false;
	feed->rows_seen++;
	if (gpus > COUNT_MOST || !*name || !*platform) {
		feed_reject(feed, REJECTED_SCHEMA, "\"%.40s\" of \"%.40s\": no name or no number",
			    name, platform);
		return false;
	}
	*out = feed_offer(feed);
	out->region = region;
	out->instance_type = feed_text(feed, type);
	out->accelerator = platform;
	out->count_milli = (int32_t)gpus * COUNT_MILLI_ONE;
	out->memory_gb = memory_gb * (double)gpus;
	out->vcpus = (double)protobuf_number(resources, PRESET_VCPUS);
	out->ram_gib = (double)protobuf_number(resources, PRESET_GIB);
	return true;
}

static void take_platform(struct feed *feed, const char *region, struct protobuf platform)
{
	const char *name =
		text_of(feed, protobuf_message(platform, NEBIUS_METADATA), NEBIUS_METADATA_NAME);
	const bool is_preemptible =
		protobuf_number(protobuf_message(platform, PLATFORM_STATUS), PLATFORM_PREEMPTIBLE);
	struct protobuf spec = protobuf_message(platform, PLATFORM_SPEC);
	const double memory_gb = (double)protobuf_number(spec, PLATFORM_MEMORY_GB);
	struct protobuf_field preset;

	while (protobuf_next(&spec, &preset)) {
		struct offer offer, *spot;

		if (preset.number != PLATFORM_PRESETS || preset.type != PROTOBUF_BYTES ||
		    !take_preset(feed, region, name, memory_gb, preset.bytes, &offer))
			continue;
		feed_copy(feed, &offer);
		if (!is_preemptible)
			continue;
		feed->rows_seen++;
		spot = feed_copy(feed, &offer);
		if (spot)
			spot->price_kind = PRICE_SPOT;
	}
}

/* "eu-north1" of "platforms-eu-north1-1": all that a saved answer says of its region. */
static const char *region_of_label(struct feed *feed, const char *label)
{
	const char *start = strchr(label, '-'), *end = strrchr(label, '-');
	char *region = start && end > start
			       ? arena_strndup(feed->arena, start + 1, (size_t)(end - start - 1))
			       : NULL;

	return region ? region : "";
}

static bool parse_platforms(struct feed *feed, struct nebius_account *account,
			    const struct fetch_request *asked, struct protobuf list,
			    struct error *error)
{
	const char *region = account->site < account->sites_count
				     ? account->sites[account->site].region
				     : region_of_label(feed, asked->label);
	const struct protobuf whole = list;
	struct protobuf_field item;

	while (protobuf_next(&list, &item))
		if (item.number == LIST_ITEMS && item.type == PROTOBUF_BYTES)
			take_platform(feed, region, item.bytes);
	if (!turn_page(feed, account, whole, asked->label, error))
		return false;
	if (!*account->token)
		account->site++;
	if (account->site >= account->sites_count)
		feed->page = NEBIUS_ESTIMATE;
	return true;
}

/* The total of the answer that is told for an hour; "" when there is none. */
static const char *hourly_cost(struct feed *feed, struct protobuf answer)
{
	struct protobuf_field total;

	while (protobuf_next(&answer, &total)) {
		struct protobuf unit, breakdown;

		if (total.number != ANSWER_TOTALS || total.type != PROTOBUF_BYTES)
			continue;
		unit = protobuf_message(total.bytes, TOTAL_UNIT);
		if (strcasecmp(text_of(feed, unit, UNIT_NAME), "hour") != 0)
			continue;
		breakdown = protobuf_message(protobuf_message(total.bytes, TOTAL_GENERAL),
					     GENERAL_TOTAL);
		return text_of(feed, breakdown, BREAKDOWN_COST);
	}
	return "";
}

static struct offer *offer_of_label(struct feed *feed, const struct nebius_account *account,
				    const char *label)
{
	for (size_t i = 0; i < feed->count; i++) {
		/* Beginning with the one that was asked for. */
		const size_t place = (account->estimated + i) % feed->count;
		const char *own = nebius_estimate_label(feed, &feed->offers[place]);

		if (own && strcmp(own, label) == 0)
			return &feed->offers[place];
	}
	return NULL;
}

static bool parse_estimate(struct feed *feed, struct nebius_account *account,
			   const struct fetch_request *asked, const struct fetch_response *response,
			   struct protobuf answer, struct error *error)
{
	struct offer *offer = offer_of_label(feed, account, asked->label);
	const char *currency = text_of(feed, answer, ANSWER_CURRENCY);

	account->estimated++;
	if (response->status == 401 || response->status == 403)
		return error_set(error, ERROR_FEED, "%.100s: the key may not use the calculator",
				 asked->label);
	if (!offer)
		return true;
	/* A price that stays unknown is counted so, and the first says why. */
	if (response->status != 200 || strcasecmp(currency, "usd") != 0) {
		if (!feed->first_rejection[0])
			snprintf(feed->first_rejection, sizeof(feed->first_rejection),
				 "%.90s: %s%.60s", asked->label,
				 response->status == 200 ? "not in usd but in " : "",
				 response->status == 200 ? currency : response->reason);
		return true;
	}
	offer->original_amount = hourly_cost(feed, answer);
	offer->price_micros = price_parse(offer->original_amount);
	return true;
}

bool nebius_parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	const struct protobuf message = {.at = response->body, .length = response->length};
	struct nebius_account *account = open_account(feed);

	if (!account)
		return true;
	if (!protobuf_is_whole(message))
		return error_set(error, ERROR_FEED, "%.60s: no protobuf message", asked->label);
	switch (asked->page) {
	case NEBIUS_TOKEN:
		return nebius_take_token(feed, message, error);
	case NEBIUS_TENANTS:
		return parse_tenants(feed, account, message, error);
	case NEBIUS_PROJECTS:
		return parse_projects(feed, account, asked, message, error);
	case NEBIUS_PLATFORMS:
		return parse_platforms(feed, account, asked, message, error);
	default:
		return parse_estimate(feed, account, asked, response, message, error);
	}
}
