/* Price list: columns by the spelling of the file, rows into offers: see price_list.h. */
#include "server/ingest/price_list.h"

#include "core/accelerator.h"
#include "core/instance.h"
#include "server/ingest/providers/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDER_MAX 40
#define AHEAD_US (86400 * INT64_C(1000000)) /* a date may be that of where the day is older */

enum column {
	COLUMN_PROVIDER,
	COLUMN_REGION,
	COLUMN_ZONE,
	COLUMN_INSTANCE_TYPE,
	COLUMN_ACCELERATOR,
	COLUMN_COUNT,
	COLUMN_TIER,
	COLUMN_PRICE_KIND,
	COLUMN_TERM_MONTHS,
	COLUMN_MEMORY_GB,
	COLUMN_MEMORY_EACH,
	COLUMN_VCPUS,
	COLUMN_RAM_GIB,
	COLUMN_DISK_GB,
	COLUMN_PRICE,
	COLUMN_SPOT_PRICE,
	COLUMN_AVAILABILITY,
	COLUMN_QUANTITY,
	COLUMN_COUNTRY,
	COLUMN_OBSERVED_ON,
	COLUMN_SOURCE,
	COLUMNS
};

/* How a kind of file calls its columns; NULL = has none such. */
struct dialect {
	const char *names[COLUMNS];
	bool is_strict; /* a column that is none of these refuses the file */
};

static const struct dialect dialects[] = {
	{.is_strict = true,
	 .names = {[COLUMN_PROVIDER] = "provider",
		   [COLUMN_REGION] = "region",
		   [COLUMN_ZONE] = "zone",
		   [COLUMN_INSTANCE_TYPE] = "instance_type",
		   [COLUMN_ACCELERATOR] = "accelerator",
		   [COLUMN_COUNT] = "count",
		   [COLUMN_TIER] = "tier",
		   [COLUMN_PRICE_KIND] = "price_kind",
		   [COLUMN_TERM_MONTHS] = "term_months",
		   [COLUMN_MEMORY_GB] = "memory_gb",
		   [COLUMN_VCPUS] = "vcpus",
		   [COLUMN_RAM_GIB] = "ram_gib",
		   [COLUMN_DISK_GB] = "disk_gb",
		   [COLUMN_PRICE] = "price_usd_per_hour",
		   [COLUMN_SPOT_PRICE] = "spot_price_usd_per_hour",
		   [COLUMN_AVAILABILITY] = "availability",
		   [COLUMN_QUANTITY] = "quantity",
		   [COLUMN_COUNTRY] = "country",
		   [COLUMN_OBSERVED_ON] = "observed_on",
		   [COLUMN_SOURCE] = "source"}},
	/* SkyPilot's catalogues: one file a cloud, which the file does not name. */
	{.names = {[COLUMN_REGION] = "Region",
		   [COLUMN_ZONE] = "AvailabilityZone",
		   [COLUMN_INSTANCE_TYPE] = "InstanceType",
		   [COLUMN_ACCELERATOR] = "AcceleratorName",
		   [COLUMN_COUNT] = "AcceleratorCount",
		   [COLUMN_VCPUS] = "vCPUs",
		   [COLUMN_RAM_GIB] = "MemoryGiB",
		   [COLUMN_PRICE] = "Price",
		   [COLUMN_SPOT_PRICE] = "SpotPrice"}},
	{.names = {[COLUMN_PROVIDER] = "cloud",
		   [COLUMN_REGION] = "region",
		   [COLUMN_ZONE] = "availability_zone",
		   [COLUMN_INSTANCE_TYPE] = "instance_type",
		   [COLUMN_ACCELERATOR] = "accelerator",
		   [COLUMN_COUNT] = "count",
		   [COLUMN_MEMORY_EACH] = "gpu_mem_gib",
		   [COLUMN_VCPUS] = "vcpus",
		   [COLUMN_RAM_GIB] = "mem_gib",
		   [COLUMN_PRICE] = "price_hour",
		   [COLUMN_SPOT_PRICE] = "spot_price_hour"}},
};

static const enum column required[] = {COLUMN_ACCELERATOR, COLUMN_COUNT, COLUMN_PRICE};

struct reader {
	const struct price_list_options *options;
	const struct dialect *dialect;
	struct arena *arena;
	struct price_list **list;
};

/* "" is not told: 0. NAN for what is no number. A count may be a fraction ("1/8"). */
static double number(const char *text)
{
	char *end;
	double value, parts;

	if (!*text)
		return 0;
	value = strtod(text, &end);
	if (*end == '/') {
		parts = strtod(end + 1, &end);
		value = parts > 0 ? value / parts : (double)NAN;
	}
	return *end || !isfinite(value) ? (double)NAN : value;
}

static bool is_provider_name(const char *name)
{
	size_t length = strlen(name);

	return length && length <= PROVIDER_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == length;
}

static struct price_list *list_of(const struct reader *reader, const char *provider)
{
	struct price_list **at = reader->list;

	while (*at && strcmp((*at)->provider, provider) != 0)
		at = &(*at)->next;
	if (!*at) {
		*at = arena_alloc(reader->arena, sizeof(**at));
		if (*at) {
			(*at)->provider = arena_strdup(reader->arena, provider);
			(*at)->feed.arena = reader->arena;
			(*at)->feed.now_us = reader->options->now_us;
		}
	}
	return *at && (*at)->provider ? *at : NULL;
}

/* The memory of all GPUs, where a list tells that of one; some tell the whole under that name. */
static double memory_of(const char *provider, const char *accelerator, double count, double each)
{
	const struct accelerator *whole =
		each > 0 && count > 1
			? accelerator_resolve_memory(provider, accelerator, each / count)
			: NULL;

	if (whole && !accelerator_resolve_memory(provider, accelerator, each))
		return each;
	return each * count;
}

static void describe(struct feed *feed, const char *provider, const char *const *values,
		     double count, struct offer *offer)
{
	const struct instance *known = instance_find(provider, values[COLUMN_INSTANCE_TYPE]);
	const double each = number(values[COLUMN_MEMORY_EACH]);

	offer->region = feed_text(feed, values[COLUMN_REGION]);
	offer->zone = feed_text(feed, values[COLUMN_ZONE]);
	offer->instance_type = feed_text(feed, values[COLUMN_INSTANCE_TYPE]);
	offer->tier = feed_text(feed, values[COLUMN_TIER]);
	offer->country = feed_text(feed, values[COLUMN_COUNTRY]);
	offer->count_milli = (int32_t)lround(count * COUNT_MILLI_ONE);
	offer->accelerator =
		known ? known->accelerator : feed_text(feed, values[COLUMN_ACCELERATOR]);
	offer->memory_gb = number(values[COLUMN_MEMORY_GB]);
	/* The type settles which card it is; a list that is vague about memory is not believed. */
	if (each > 0 && !known)
		offer->memory_gb = memory_of(provider, offer->accelerator, count, each);
	offer->vcpus = number(values[COLUMN_VCPUS]);
	offer->ram_gib = number(values[COLUMN_RAM_GIB]);
	offer->disk_gb = number(values[COLUMN_DISK_GB]);
}

static void add(struct feed *feed, const struct offer *base, const char *price)
{
	struct offer *offer = feed_copy(feed, base);

	if (!offer)
		return;
	offer->price_micros = price_parse(price);
	offer->original_amount = feed_text(feed, price);
}

/* -1 when a text is there that is no name of the list. */
static int choice(const struct names *names, const char *text, int fallback)
{
	return *text ? names_find(names, text) : fallback;
}

/* Others' catalogues count a slice of a GPU as one. */
static double count_of(const struct reader *reader, const char *provider, const char *const *values)
{
	const struct instance *known = instance_find(provider, values[COLUMN_INSTANCE_TYPE]);

	return known && !reader->dialect->is_strict ? known->count : number(values[COLUMN_COUNT]);
}

static void take_offers(const struct reader *reader, struct feed *feed, const char *provider,
			const char *const *values)
{
	const double count = count_of(reader, provider, values),
		     months = number(values[COLUMN_TERM_MONTHS]),
		     quantity = *values[COLUMN_QUANTITY] ? number(values[COLUMN_QUANTITY]) : -1;
	const int kind = choice(&price_kind_names, values[COLUMN_PRICE_KIND], PRICE_ON_DEMAND);
	const int available =
		choice(&availability_names, values[COLUMN_AVAILABILITY], AVAILABILITY_UNKNOWN);
	const char *observed_on = values[COLUMN_OBSERVED_ON], *spot = values[COLUMN_SPOT_PRICE];
	const int64_t observed_us = *observed_on ? feed_time(observed_on) : feed->now_us;
	struct offer base = feed_offer(feed);

	feed->rows_seen++;
	if (!(count > 0 && count < 100000) || !(months >= 0 && months < 1000) || kind < 0 ||
	    available < 0 || !(quantity >= -1 && quantity < 1e6) || observed_us <= 0 ||
	    observed_us > feed->now_us + AHEAD_US) {
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: a field is wrong",
			    values[COLUMN_INSTANCE_TYPE]);
		return;
	}
	if (!reader->dialect->is_strict && !*values[COLUMN_INSTANCE_TYPE]) {
		feed_reject(feed, REJECTED_SCHEMA,
			    "%.60s: no instance type: a price of the GPUs without their machine",
			    values[COLUMN_ACCELERATOR]);
		return;
	}
	describe(feed, provider, values, count, &base);
	if (!*base.tier)
		base.tier = reader->options->tier;
	base.price_kind = (enum price_kind)kind;
	base.term_months = (int32_t)months;
	base.availability = (enum availability)available;
	base.quantity = (int32_t)quantity;
	base.observed_at_us = observed_us < feed->now_us ? observed_us : feed->now_us;
	add(feed, &base, values[COLUMN_PRICE]);
	if (price_parse(spot) == PRICE_UNKNOWN) /* 0 and blank stand for "none" */
		return;
	feed->rows_seen++;
	base.price_kind = PRICE_SPOT;
	add(feed, &base, spot);
}

/* "shadeform/imwt" is sold by the first, run by the second: that is then the tier. */
static const char *cut_seller(struct arena *arena, const char **values)
{
	const char *provider = values[COLUMN_PROVIDER], *slash = strchr(provider, '/');
	const char *seller;

	if (!slash)
		return provider;
	seller = arena_strndup(arena, provider, (size_t)(slash - provider));
	if (!*values[COLUMN_TIER])
		values[COLUMN_TIER] = slash + 1;
	return seller ? seller : "";
}

static bool take_values(const struct reader *reader, const char **values, struct error *error)
{
	const char *provider = cut_seller(reader->arena, values);
	struct price_list *list;

	/* Others' catalogues hold machines without accelerators too. */
	if (!reader->dialect->is_strict && !*values[COLUMN_ACCELERATOR])
		return true;
	if (!*provider && reader->options->provider)
		provider = reader->options->provider;
	if (!is_provider_name(provider))
		return error_set(error, ERROR_FEED,
				 "a row names no provider of [a-z0-9_-]: \"%.60s\"", provider);
	list = list_of(reader, provider);
	if (!list)
		return error_set(error, ERROR_FEED, "no memory for the list");
	take_offers(reader, &list->feed, list->provider, values);
	return true;
}

static int column_of(const struct dialect *dialect, const char *name)
{
	for (int column = 0; column < COLUMNS; column++)
		if (dialect->names[column] && strcmp(dialect->names[column], name) == 0)
			return column;
	return -1;
}

/* The dialect whose price column is there; else the first, which then misses it. */
static const struct dialect *dialect_of(const char *const *names, size_t count)
{
	for (size_t d = 0; d < sizeof(dialects) / sizeof(dialects[0]); d++)
		for (size_t i = 0; i < count; i++)
			if (column_of(&dialects[d], names[i]) == COLUMN_PRICE)
				return &dialects[d];
	return &dialects[0];
}

static bool check_columns(const struct dialect *dialect, const char *const *names, size_t count,
			  struct error *error)
{
	for (size_t i = 0; dialect->is_strict && i < count; i++)
		if (column_of(dialect, names[i]) < 0)
			return error_set(error, ERROR_FEED, "no column is called \"%.60s\"",
					 names[i]);
	for (size_t r = 0; r < sizeof(required) / sizeof(required[0]); r++) {
		size_t i = 0;

		while (i < count && column_of(dialect, names[i]) != (int)required[r])
			i++;
		if (i == count)
			return error_set(error, ERROR_FEED, "the list has no column \"%s\"",
					 dialect->names[required[r]]);
	}
	return true;
}

static bool take_row(void *closure, const char *const *names, const char *const *values,
		     size_t count, struct error *error)
{
	struct reader *reader = closure;
	const char *own[COLUMNS];

	reader->dialect = dialect_of(names, count);
	if (!check_columns(reader->dialect, names, count, error))
		return false;
	if (!values)
		return true;
	for (int column = 0; column < COLUMNS; column++)
		own[column] = "";
	for (size_t i = 0; i < count; i++) {
		int column = column_of(reader->dialect, names[i]);

		if (column >= 0)
			own[column] = values[i];
	}
	return take_values(reader, own, error);
}

bool price_list_read(const char *text, size_t length, const struct price_list_options *options,
		     struct arena *arena, struct price_list **out, struct error *error)
{
	struct reader reader = {.options = options, .arena = arena, .list = out};

	*out = NULL;
	if (!rows_read(text, length, arena, take_row, &reader, error))
		return false;
	for (struct price_list *at = *out; at; at = at->next) {
		const struct provider provider = {.id = at->provider, .source = options->source};

		if (at->feed.is_exhausted)
			return error_set(error, ERROR_FEED, "no memory for the list");
		if (!normalise(&provider, &at->feed, &at->report, error))
			return false;
	}
	return true;
}
