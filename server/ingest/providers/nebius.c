/*
 * Nebius, by its gRPC interface, which an account's key opens: the one tenant of the account, its
 * projects (one a region serves), each region's platforms with their presets, and what the
 * calculator of the bill says that each preset costs an hour, one call a price, on demand and,
 * where the platform allows it, preemptible. Prices are dollars per instance-hour, without a disk.
 * Whether there is stock nobody says.
 *
 * Messages are those of Nebius's own .proto files (nebius/api, 2026-08-19); fields are named by
 * their numbers there. Answers have not been seen live.
 */
#include "server/ingest/providers/nebius.h"
#include "server/ingest/providers/payload.h"

#include <string.h>

#define DOMAIN "api.nebius.cloud"
#define PAGE_SIZE 999
#define INSTANCE_MESSAGE "type.googleapis.com/nebius.compute.v1.CreateInstanceRequest"
#define UNIT_HOUR 2    /* FilterAggregationUnitValue */
#define PREEMPT_STOP 1 /* PreemptionPolicy */

/* Numbers of fields, by message. */
enum { TENANTS_PAGE_SIZE = 1 };
enum { PROJECTS_PARENT = 1, PROJECTS_PAGE_SIZE = 2, PROJECTS_TOKEN = 3 };
enum { PLATFORMS_PAGE_SIZE = 1, PLATFORMS_TOKEN = 2, PLATFORMS_PARENT = 3 };
enum { INSTANCE_SPEC = 2, INSTANCE_RESOURCES = 2, INSTANCE_PREEMPTIBLE = 19 };
enum { RESOURCES_PLATFORM = 1, RESOURCES_PRESET = 2, PREEMPTIBLE_ON_PREEMPTION = 1 };
enum { BATCH_SPECS = 1, BATCH_CURRENCY = 11, BATCH_UNITS = 20, UNITS_VALUES = 1 };
enum { SPEC_ANY = 1, ANY_TYPE = 1, ANY_VALUE = 2 };

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);

static const char *const pages[] = {"tenants", "projects", "platforms", "estimate", "token", NULL};

const struct provider nebius = {
	.id = "nebius",
	.source = "nebius-calculator",
	.base_url = "https://" DOMAIN,
	.key_variable = "GPUPICK_NEBIUS_KEY",
	.refresh_seconds = 21600,
	.gap_seconds = 0.05,
	.body_max = (size_t)4 << 20,
	.pages_max = 4000,
	.pages = pages,
	.documentation = "https://github.com/nebius/api",
	.request = request,
	.parse = nebius_parse,
};

void nebius_call(struct feed *feed, const char *service, const char *method,
		 const struct protobuf_writer *message, struct fetch_request *out)
{
	*out = (struct fetch_request){
		.method = "POST",
		.url = feed->base_url_is_override
			       ? arena_printf(feed->arena, "%s/%s", feed->base_url, method)
			       : arena_printf(feed->arena, "https://%s/%s", service, method),
		.headers = {"Content-Type: application/grpc", "TE: trailers"},
		.headers_count = 2,
		.body = message->bytes,
		.body_length = message->length,
		.is_grpc = true,
	};
	feed->is_exhausted = feed->is_exhausted || message->is_exhausted || !out->url;
}

static void ask_tenants(struct feed *feed, struct fetch_request *out)
{
	struct protobuf_writer message = {.arena = feed->arena};

	protobuf_put_number(&message, TENANTS_PAGE_SIZE, PAGE_SIZE);
	nebius_call(feed, "cpl.iam." DOMAIN, "nebius.iam.v1.TenantService/List", &message, out);
	out->label = "tenants";
}

static void ask_projects(struct feed *feed, const struct nebius_account *account,
			 struct fetch_request *out)
{
	struct protobuf_writer message = {.arena = feed->arena};

	protobuf_put_text(&message, PROJECTS_PARENT, account->tenant);
	protobuf_put_number(&message, PROJECTS_PAGE_SIZE, PAGE_SIZE);
	if (*account->token)
		protobuf_put_text(&message, PROJECTS_TOKEN, account->token);
	nebius_call(feed, "cpl.iam." DOMAIN, "nebius.iam.v1.ProjectService/List", &message, out);
	out->label = arena_printf(feed->arena, "projects-%d", account->pages + 1);
}

static void ask_platforms(struct feed *feed, const struct nebius_account *account,
			  struct fetch_request *out)
{
	const struct nebius_site *site = &account->sites[account->site];
	struct protobuf_writer message = {.arena = feed->arena};

	protobuf_put_number(&message, PLATFORMS_PAGE_SIZE, PAGE_SIZE);
	if (*account->token)
		protobuf_put_text(&message, PLATFORMS_TOKEN, account->token);
	protobuf_put_text(&message, PLATFORMS_PARENT, site->project);
	nebius_call(feed, "compute." DOMAIN, "nebius.compute.v1.PlatformService/List", &message,
		    out);
	out->label = arena_printf(feed->arena, "platforms-%s-%d", site->region, account->pages + 1);
}

/* "estimate-eu-north1-gpu-h100-sxm_8gpu-128vcpu-1600gb-spot": by it an answer finds its offer. */
const char *nebius_estimate_label(struct feed *feed, const struct offer *offer)
{
	return arena_printf(feed->arena, "estimate-%s-%s%s", offer->region, offer->instance_type,
			    offer->price_kind == PRICE_SPOT ? "-spot" : "");
}

const char *nebius_project_of(const struct nebius_account *account, const char *region)
{
	for (size_t i = 0; i < account->sites_count; i++)
		if (strcmp(account->sites[i].region, region) == 0)
			return account->sites[i].project;
	return "";
}

/* The instance that would be created, as the calculator takes it. */
static struct protobuf_writer instance_of(struct feed *feed, const struct nebius_account *account,
					  const struct offer *offer)
{
	struct protobuf_writer metadata = {.arena = feed->arena}, resources = metadata,
			       preemptible = metadata, spec = metadata, instance = metadata;

	protobuf_put_text(&metadata, NEBIUS_METADATA_PARENT,
			  nebius_project_of(account, offer->region));
	protobuf_put_text(&metadata, NEBIUS_METADATA_NAME, offer->instance_type);
	/* The platform is the accelerator's spelling; see take_preset(). */
	protobuf_put_text(&resources, RESOURCES_PLATFORM, offer->accelerator);
	protobuf_put_text(&resources, RESOURCES_PRESET,
			  offer->instance_type + strlen(offer->accelerator) + 1);
	protobuf_put_message(&spec, INSTANCE_RESOURCES, &resources);
	if (offer->price_kind == PRICE_SPOT) {
		protobuf_put_number(&preemptible, PREEMPTIBLE_ON_PREEMPTION, PREEMPT_STOP);
		protobuf_put_message(&spec, INSTANCE_PREEMPTIBLE, &preemptible);
	}
	protobuf_put_message(&instance, NEBIUS_METADATA, &metadata);
	protobuf_put_message(&instance, INSTANCE_SPEC, &spec);
	return instance;
}

static void ask_estimate(struct feed *feed, const struct nebius_account *account,
			 struct fetch_request *out)
{
	const struct offer *offer = &feed->offers[account->estimated];
	const struct protobuf_writer instance = instance_of(feed, account, offer);
	struct protobuf_writer any = {.arena = feed->arena}, spec = any, units = any, batch = any;

	protobuf_put_text(&any, ANY_TYPE, INSTANCE_MESSAGE);
	protobuf_put_message(&any, ANY_VALUE, &instance);
	protobuf_put_message(&spec, SPEC_ANY, &any);
	protobuf_put_message(&batch, BATCH_SPECS, &spec);
	protobuf_put_text(&batch, BATCH_CURRENCY, "usd");
	protobuf_put_number(&units, UNITS_VALUES, UNIT_HOUR);
	protobuf_put_message(&batch, BATCH_UNITS, &units);
	nebius_call(feed, "api.calculator.billing-data-plane." DOMAIN,
		    "nebius.billing.v1.CalculatorService/EstimateBatch", &batch, out);
	out->label = nebius_estimate_label(feed, offer);
	out->is_optional = true; /* a preset may not be sold to this account, or not so */
}

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	const struct nebius_account *account = feed->state;

	if (nebius_has_account(feed)) {
		if (!nebius_token_request(feed, out, error))
			return false;
		out->page = NEBIUS_TOKEN;
		return true;
	}
	if (!account || !account->tenant)
		ask_tenants(feed, out);
	else if (feed->page == NEBIUS_PROJECTS)
		ask_projects(feed, account, out);
	else if (account->site < account->sites_count)
		ask_platforms(feed, account, out);
	else if (account->estimated < feed->count)
		ask_estimate(feed, account, out);
	else
		return false;
	out->page = feed->page;
	return payload_key_header(feed, &nebius, "Authorization: Bearer ", out, error);
}
