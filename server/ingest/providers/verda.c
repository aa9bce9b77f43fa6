/*
 * Verda (once DataCrunch): the list of instance types, which is read without a credential. Stock
 * and locations are told to accounts only: without a key the region is "", with one (ID:SECRET of
 * API credentials, exchanged for a token) each type is listed where it is free, and nowhere as sold
 * out, and also at what it costs under a contract of some months, which takes a share off. Prices
 * are texts, dollars per instance-hour. The memory told is that of all GPUs of the instance, or, in
 * some answers, of one: whichever agrees with the card that is named.
 */
#include "core/accelerator.h"
#include "server/ingest/providers/payload.h"

#include <ctype.h>
#include <string.h>

static bool request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool account_request(struct feed *feed, struct fetch_request *out, struct error *error);
static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);
static bool account_finish(struct feed *feed, struct error *error);

#define PERIODS_MAX 8

enum { PAGE_TYPES, PAGE_STOCK, PAGE_SPOT_STOCK, PAGE_PERIODS, PAGE_TOKEN };

static const char *const pages[] = {"instance-types", NULL};
static const char *const account_pages[] = {"instance-types", "stock", "spot-stock",
					    "long-term",      "token", NULL};

const struct provider verda = {
	.id = "verda",
	.source = "verda-catalog",
	.base_url = "https://api.verda.com",
	.refresh_seconds = 600,
	.body_max = (size_t)4 << 20,
	.pages_max = 1,
	.pages = pages,
	.documentation = "https://api.verda.com/v1/docs",
	.superseded_by = "verda-account",
	.request = request,
	.parse = parse,
};

const struct provider verda_account = {
	.id = "verda",
	.source = "verda-account",
	.base_url = "https://api.verda.com",
	.key_variable = "GPUPICK_VERDA_KEY",
	.refresh_seconds = 600,
	.body_max = (size_t)4 << 20,
	.pages_max = 5,
	.pages = account_pages,
	.documentation = "https://api.verda.com/v1/docs",
	.request = account_request,
	.parse = parse,
	.finish = account_finish,
};

/* Which types are free where, on demand and as spot. */
struct stock {
	const char *location, *type;
	enum price_kind kind;
};

/* A contract, and what it takes off prices on demand, in hundredths of a per cent. */
struct period {
	int months, off;
};

struct account {
	const char *authorization; /* a header */
	struct period periods[PERIODS_MAX];
	size_t periods_count;
	struct stock *stock;
	size_t count, capacity;
	int asked; /* pages after the token */
};

static bool request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	(void)error;
	if (feed->page > 0)
		return false;
	*out = (struct fetch_request){
		.method = "GET",
		.page = PAGE_TYPES,
		.url = arena_printf(feed->arena, "%s/v1/instance-types?currency=usd",
				    feed->base_url),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = "instance-types",
	};
	return true;
}

/* The two halves of the key stand in a JSON text: nothing that would need quoting there. */
static bool token_request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	const char *colon = feed->key ? strchr(feed->key, ':') : NULL;

	for (const char *c = feed->key; c && *c; c++)
		if (*c <= ' ' || *c > '~' || *c == '"' || *c == '\\')
			colon = NULL;
	if (!colon || colon == feed->key || !colon[1])
		return error_set(error, ERROR_FEED, "GPUPICK_VERDA_KEY is not ID:SECRET");
	*out = (struct fetch_request){
		.method = "POST",
		.page = PAGE_TOKEN,
		.url = arena_printf(feed->arena, "%s/v1/oauth2/token", feed->base_url),
		.headers = {"Content-Type: application/json", "Accept: application/json"},
		.headers_count = 2,
		.body = arena_printf(
			feed->arena,
			"{\"grant_type\":\"client_credentials\",\"client_id\":\"%.*s\","
			"\"client_secret\":\"%s\"}",
			(int)(colon - feed->key), feed->key, colon + 1),
		.label = "token",
		.is_secret = true,
	};
	feed->is_exhausted = feed->is_exhausted || !out->body;
	return true;
}

static bool account_request(struct feed *feed, struct fetch_request *out, struct error *error)
{
	static const char *const paths[] = {
		"instance-types?currency=usd", "instance-availability?is_spot=false",
		"instance-availability?is_spot=true", "long-term/periods/instances"};
	const struct account *account = feed->state;

	if (!account)
		return token_request(feed, out, error);
	if (account->asked > PAGE_PERIODS)
		return false;
	*out = (struct fetch_request){
		.method = "GET",
		.page = account->asked,
		.url = arena_printf(feed->arena, "%s/v1/%s", feed->base_url, paths[account->asked]),
		.headers = {"Accept: application/json", account->authorization},
		.headers_count = 2,
		.label = account_pages[account->asked],
		.is_optional = account->asked == PAGE_PERIODS,
	};
	return true;
}

/* "H100 SXM5 80GB" of "1x H100 SXM5 80GB". */
static const char *without_count(const char *text)
{
	const char *rest = text;

	while (isdigit((unsigned char)*rest))
		rest++;
	return rest > text && strncmp(rest, "x ", 2) == 0 ? rest + 2 : text;
}

/* The memory of one GPU by the two readings of what is told; 0 when neither fits the card. */
static double memory_gb_each(const char *const *spellings, double told_gb, int gpus)
{
	for (; *spellings; spellings++) {
		if (accelerator_resolve_memory("verda", *spellings, told_gb / gpus))
			return told_gb / gpus;
		if (accelerator_resolve_memory("verda", *spellings, told_gb))
			return told_gb;
	}
	return told_gb / gpus;
}

static void take_type(struct feed *feed, const json_t *row)
{
	const char *type = payload_text(row, "instance_type");
	const json_t *gpu = json_object_get(row, "gpu");
	const char *const spellings[] = {payload_text(row, "name"),
					 without_count(payload_text(gpu, "description")), type,
					 NULL};
	struct offer base = feed_offer(feed), *offer;
	const char *spot_amount;
	double told_gb = 0, each_gb;
	int64_t spot_micros;
	int gpus;

	if (!payload_integer(gpu, "number_of_gpus", &gpus) || gpus < 0 || gpus > 1000 || !*type) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "\"%.60s\": no number of GPUs", type);
		return;
	}
	if (gpus == 0)
		return;
	feed->rows_seen++;
	if (strcmp(payload_text(row, "currency"), "usd") != 0) {
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: priced in \"%.10s\", not in usd", type,
			    payload_text(row, "currency"));
		return;
	}
	payload_number(json_object_get(row, "gpu_memory"), "size_in_gigabytes", &told_gb);
	each_gb = memory_gb_each(spellings, told_gb, gpus);
	base.instance_type = feed_text(feed, type);
	base.accelerator = payload_spelling(feed, "verda", each_gb, spellings);
	base.count_milli = gpus * COUNT_MILLI_ONE;
	base.memory_gb = each_gb * gpus;
	payload_number(json_object_get(row, "cpu"), "number_of_cores", &base.vcpus);
	payload_number(json_object_get(row, "memory"), "size_in_gigabytes", &base.ram_gib);
	payload_number(json_object_get(row, "storage"), "size_in_gigabytes", &base.disk_gb);
	base.interconnect = feed_text(feed, payload_text(row, "p2p"));
	base.price_micros = payload_price(feed, row, "price_per_hour", &base.original_amount);
	feed_copy(feed, &base);
	spot_micros = payload_price(feed, row, "spot_price", &spot_amount);
	if (spot_micros == PRICE_UNKNOWN) /* not sold so */
		return;
	feed->rows_seen++;
	offer = feed_copy(feed, &base);
	if (!offer)
		return;
	offer->price_kind = PRICE_SPOT;
	offer->price_micros = spot_micros;
	offer->original_amount = spot_amount;
}

static bool parse_token(struct feed *feed, const struct fetch_response *response,
			struct error *error)
{
	json_auto_t *root = payload_parse(response, error);
	const char *token = root ? payload_text(root, "access_token") : "";
	struct account *account;

	if (!root)
		return false;
	for (const char *c = token; *c || c == token; c++)
		if (*c <= ' ' || *c > '~')
			return error_set(error, ERROR_FEED, "no usable access_token is told");
	account = arena_alloc(feed->arena, sizeof(*account));
	if (account)
		account->authorization =
			arena_printf(feed->arena, "Authorization: Bearer %s", token);
	feed->is_exhausted = feed->is_exhausted || !account || !account->authorization;
	feed->state = account;
	return true;
}

static void note_stock(struct feed *feed, struct account *account, const struct stock *stock)
{
	if (account->count == account->capacity) {
		size_t capacity = account->capacity ? account->capacity * 2 : 128;
		struct stock *grown = arena_array(feed->arena, capacity, sizeof(*grown));

		if (!grown) {
			feed->is_exhausted = true;
			return;
		}
		if (account->count)
			memcpy(grown, account->stock, account->count * sizeof(*grown));
		account->stock = grown;
		account->capacity = capacity;
	}
	account->stock[account->count++] = *stock;
}

static void take_stock(struct feed *feed, struct account *account, const json_t *rows,
		       enum price_kind kind)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const json_t *types = json_object_get(row, "availabilities");
		const char *location = feed_text(feed, payload_text(row, "location_code"));

		for (size_t t = 0; *location && t < json_array_size(types); t++) {
			const char *type = json_string_value(json_array_get(types, t));
			const struct stock stock = {location, feed_text(feed, type), kind};

			if (type)
				note_stock(feed, account, &stock);
		}
	}
}

static void take_periods(struct account *account, const json_t *rows)
{
	for (size_t i = 0; i < json_array_size(rows) && account->periods_count < PERIODS_MAX; i++) {
		const json_t *row = json_array_get(rows, i);
		double percent;
		int months;

		if (!payload_flag(row, "is_enabled", false) ||
		    strcmp(payload_text(row, "unit_name"), "month") != 0 ||
		    !payload_integer(row, "unit_value", &months) || months < 1 || months > 120 ||
		    !payload_number(row, "discount_percentage", &percent) ||
		    !(percent >= 0 && percent < 100))
			continue;
		account->periods[account->periods_count++] =
			(struct period){months, (int)(percent * 100 + 0.5)};
	}
}

static bool parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error)
{
	struct account *account = feed->state;
	json_auto_t *root = NULL;

	if (asked->page == PAGE_TOKEN)
		return parse_token(feed, response, error);
	feed->page = 1;
	if (account)
		account->asked++;
	if (asked->page == PAGE_PERIODS && response->status != 200)
		return true;
	root = payload_parse_list(response, error);
	if (!root)
		return false;
	if (asked->page != PAGE_TYPES) {
		/* `gpupick parse` has no token. */
		if (account && asked->page == PAGE_PERIODS)
			take_periods(account, root);
		else if (account)
			take_stock(feed, account, root,
				   asked->page == PAGE_SPOT_STOCK ? PRICE_SPOT : PRICE_ON_DEMAND);
		return true;
	}
	for (size_t i = 0; i < json_array_size(root); i++)
		take_type(feed, json_array_get(root, i));
	return true;
}

/* Each type that is sold on demand, under each contract; where there is room for one nobody says.
 */
static void add_contracts(struct feed *feed, const struct account *account)
{
	const size_t types = feed->count;

	for (size_t i = 0; i < types; i++)
		for (size_t p = 0; p < account->periods_count; p++) {
			const struct period *period = &account->periods[p];
			const struct offer base = feed->offers[i];
			struct offer *offer;
			int64_t scaled;

			if (base.price_kind != PRICE_ON_DEMAND || base.price_micros <= 0 ||
			    !micros_multiply(base.price_micros, 10000 - period->off, &scaled))
				continue;
			offer = feed_copy(feed, &base);
			if (!offer)
				return;
			feed->rows_seen++;
			offer->price_kind = PRICE_RESERVED;
			offer->term_months = period->months;
			offer->price_micros = price_divide(scaled, 10000);
			offer->price_basis = feed_text(
				feed, arena_printf(feed->arena, "instance, %.4g %% under on demand",
						   period->off / 100.0));
		}
}

/* Each offer moves to the first place where its type is free, and is copied for the others. */
static bool account_finish(struct feed *feed, struct error *error)
{
	const struct account *account = feed->state;
	const size_t types = feed->count;

	(void)error;
	if (account)
		add_contracts(feed, account);
	for (size_t i = 0; account && i < types; i++) {
		bool is_placed = false;

		feed->offers[i].availability = AVAILABILITY_NO;
		for (size_t s = 0; s < account->count; s++) {
			const struct stock *stock = &account->stock[s];
			struct offer *offer = &feed->offers[i];

			if (stock->kind != offer->price_kind ||
			    strcmp(stock->type, offer->instance_type) != 0)
				continue;
			if (is_placed) {
				const struct offer base = *offer;

				feed->rows_seen++;
				offer = feed_copy(feed, &base);
			}
			if (!offer)
				return true;
			offer->region = stock->location;
			offer->country = "";
			offer->availability = AVAILABILITY_YES;
			is_placed = true;
		}
	}
	return true;
}
