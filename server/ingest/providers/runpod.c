/*
 * RunPod: one GraphQL question, no credential. Every price in the answer is USD per GPU-hour, so
 * each pod size from one GPU to the most is an offer of its own at size x price. "secure" (data
 * centres) and "community" (other people's machines) are different goods under one name: the tier
 * keeps them apart. Prices are the same in every data centre, so the region is "".
 *
 * Left out: minVcpu and minMemory move within minutes and are what is free now, not what the offer
 * is; oneWeekPrice has no term in whole months; clusterPrice is for groups of machines only.
 */
#include "server/ingest/providers/payload.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define GPUS_MAX 64

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

static const char *const pages[] = {"gputypes", NULL};

const struct provider runpod = {
	.id = "runpod",
	.source = "runpod-graphql",
	.base_url = "https://api.runpod.io",
	.refresh_seconds = 300,
	.body_max = (size_t)4 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://graphql-spec.runpod.io/",
	.superseded_by = "runpod-rest",
	.request = request,
	.parse = parse,
};

#define STOCK "{ stockStatus availableGpuCounts }"

static const char query[] =
	"{\"query\":\"query { gpuTypes { id displayName manufacturer memoryInGb secureCloud"
	" communityCloud securePrice communityPrice secureSpotPrice communitySpotPrice "
	"oneMonthPrice"
	" threeMonthPrice sixMonthPrice maxGpuCount maxGpuCountSecureCloud"
	" maxGpuCountCommunityCloud minPodGpuCount"
	" secureStock: lowestPrice(input: {gpuCount: 1, secureCloud: true}) " STOCK
	" communityStock: lowestPrice(input: {gpuCount: 1, secureCloud: false}) " STOCK " } }\"}";

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	(void)error;
	if (feed->page > 0)
		return false;
	*out = (struct fetch_request){
		.method = "POST",
		.url = arena_printf(feed->arena, "%s/graphql", feed->base_url),
		.headers = {"Content-Type: application/json", "Accept: application/json"},
		.headers_count = 2,
		.body = query,
		.label = "gputypes",
	};
	return true;
}

/* How one of the two clouds sells one GPU type. */
struct cloud {
	const char *tier, *flag, *price, *spot, *count, *stock;
	bool has_plans; /* prices for commitments are for this cloud */
};

static const struct cloud clouds[] = {
	{"secure", "secureCloud", "securePrice", "secureSpotPrice", "maxGpuCountSecureCloud",
	 "secureStock", true},
	{"community", "communityCloud", "communityPrice", "communitySpotPrice",
	 "maxGpuCountCommunityCloud", "communityStock", false},
};

/* For a pod of `count` GPUs. No stock status means sold out; no stock object, that nobody told. */
static enum availability availability(const json_t *stock, int count)
{
	const char *status = payload_text(stock, "stockStatus");
	const json_t *counts = json_object_get(stock, "availableGpuCounts");

	if (!json_is_object(stock))
		return AVAILABILITY_UNKNOWN;
	if (!*status || strcasecmp(status, "none") == 0)
		return AVAILABILITY_NO;
	if (json_is_array(counts)) {
		for (size_t i = 0; i < json_array_size(counts); i++)
			if (fabs(json_number_value(json_array_get(counts, i)) - count) < 0.5)
				return AVAILABILITY_YES;
		return AVAILABILITY_NO;
	}
	return count == 1 ? AVAILABILITY_YES : AVAILABILITY_UNKNOWN;
}

struct quote {
	enum price_kind kind;
	int term_months;
	int64_t micros; /* of one GPU */
	const char *amount;
};

static void add_pods(struct feed *feed, const json_t *row, const struct cloud *cloud,
		     const struct quote *quote, int most)
{
	const char *id = feed_text(feed, payload_text(row, "id"));
	const json_t *stock = json_object_get(row, cloud->stock);
	double memory_gb = 0;
	int least = 1;

	if (!json_is_object(stock))
		stock = json_object_get(row, "lowestPrice");
	payload_number(row, "memoryInGb", &memory_gb);
	payload_integer(row, "minPodGpuCount", &least);
	for (int count = least > 1 ? least : 1; count <= most; count++) {
		struct offer *offer = feed_add(feed);

		if (!offer)
			return;
		feed->rows_seen++;
		offer->instance_type = offer->accelerator = id;
		offer->count_milli = count * COUNT_MILLI_ONE;
		offer->tier = cloud->tier;
		offer->price_kind = quote->kind;
		offer->term_months = quote->term_months;
		offer->price_micros = price_times(quote->micros, count);
		offer->original_amount = quote->amount;
		offer->memory_gb = memory_gb * count;
		offer->availability = quote->kind == PRICE_RESERVED ? AVAILABILITY_UNKNOWN
								    : availability(stock, count);
	}
}

static void add_plans(struct feed *feed, const json_t *row, const struct cloud *cloud, int most)
{
	static const struct {
		const char *name;
		int months;
	} plans[] = {{"oneMonthPrice", 1}, {"threeMonthPrice", 3}, {"sixMonthPrice", 6}};

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		struct quote quote = {.kind = PRICE_RESERVED, .term_months = plans[i].months};

		quote.micros = payload_price(feed, row, plans[i].name, &quote.amount);
		if (quote.micros != PRICE_UNKNOWN)
			add_pods(feed, row, cloud, &quote, most);
	}
}

static void add_cloud(struct feed *feed, const json_t *row, const struct cloud *cloud)
{
	struct quote on_demand = {.kind = PRICE_ON_DEMAND}, spot = {.kind = PRICE_SPOT};
	int most;

	if (!payload_flag(row, cloud->flag, true))
		return;
	on_demand.micros = payload_price(feed, row, cloud->price, &on_demand.amount);
	spot.micros = payload_price(feed, row, cloud->spot, &spot.amount);
	/* Only one GPU is certain where the feed does not say how many there are at most. */
	if (!payload_integer(row, cloud->count, &most) &&
	    !payload_integer(row, "maxGpuCount", &most))
		most = 1;
	if (most > GPUS_MAX) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: pods of %d GPUs",
			    payload_text(row, "id"), most);
		return;
	}
	if (on_demand.micros == PRICE_UNKNOWN) {
		if (json_is_true(json_object_get(row, cloud->flag))) {
			feed->rows_seen++;
			feed_reject(feed, REJECTED_NO_PRICE, "%.60s: no %s",
				    payload_text(row, "id"), cloud->price);
		}
	} else {
		add_pods(feed, row, cloud, &on_demand, most);
	}
	/* A spot price that saves nothing is a list price under another name. */
	if (spot.micros != PRICE_UNKNOWN && on_demand.micros != PRICE_UNKNOWN &&
	    spot.micros >= on_demand.micros) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_PRICE, "%.60s: %s is not below %s",
			    payload_text(row, "id"), cloud->spot, cloud->price);
	} else if (spot.micros != PRICE_UNKNOWN) {
		add_pods(feed, row, cloud, &spot, most);
	}
	if (cloud->has_plans)
		add_plans(feed, row, cloud, most);
}

/* GraphQL answers 200 to a question that failed, in part or in all. */
static bool check_errors(const json_t *root, struct error *error)
{
	const json_t *errors = json_object_get(root, "errors");
	const char *message;

	if (!json_is_array(errors) || !json_array_size(errors))
		return true;
	message = payload_text(json_array_get(errors, 0), "message");
	return error_set(error, ERROR_FEED, "GraphQL error: %.160s",
			 *message ? message : "no message");
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const json_t *data, *rows;

	(void)asked;
	feed->page = 1;
	if (!root || !check_errors(root, error))
		return false;
	data = payload_member(root, "data", JSON_OBJECT, error);
	rows = data ? payload_member(data, "gpuTypes", JSON_ARRAY, error) : NULL;
	if (!rows)
		return false;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *id = payload_text(row, "id");

		if (!*id || strcmp(id, "unknown") == 0) {
			feed->rows_seen++;
			feed_reject(feed, REJECTED_SCHEMA, "gpuTypes[%zu]: no usable id", i);
			continue;
		}
		for (size_t c = 0; c < sizeof(clouds) / sizeof(clouds[0]); c++)
			add_cloud(feed, row, &clouds[c]);
	}
	return true;
}
