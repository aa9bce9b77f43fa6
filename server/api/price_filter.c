/* Price filter: reading the parameters; matching is in price_match.c, order in price_order.c. */
#include "server/api/price_filter.h"

#include "core/country.h"
#include "core/hash.h"
#include "core/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const price_parameters[] = {"provider",
					"region",
					"country",
					"accelerator",
					"count",
					"price_kind",
					"availability",
					"interconnect",
					"min_memory_gb",
					"min_memory_per_gpu_gb",
					"max_usd_per_hour",
					"max_usd_per_gpu_hour",
					"memory_type",
					"formats",
					"max_billing_granularity_seconds",
					"min_memory_gb_per_usd",
					"min_bandwidth_gb_per_second_per_usd",
					"min_tflops_per_usd",
					"sort",
					"fields",
					"cursor",
					"limit",
					"format",
					"since",
					"wait",
					NULL};

static bool has_provider(const struct catalogue *catalogue, const char *provider)
{
	uint32_t i;

	if (terms_find(provider))
		return true;
	for (i = 0; i < catalogue->providers_count; i++)
		if (strcmp(catalogue->providers[i].provider, provider) == 0)
			return true;
	for (i = 0; i < catalogue->lists_count; i++)
		if (strcmp(catalogue->lists[i].provider, provider) == 0)
			return true;
	return false;
}

static void read_providers(struct query_reader *reader, const struct catalogue *catalogue,
			   struct price_filter *out)
{
	size_t i;

	out->providers_count = query_list(reader, "provider", &out->providers);
	for (i = 0; i < out->providers_count; i++)
		if (!has_provider(catalogue, out->providers[i]))
			query_fault(reader, "provider", "unknown_value",
				    terms_nearest(out->providers[i]),
				    "'%.60s' is not a known provider: see /v1/providers",
				    out->providers[i]);
}

/* A name that means one card is that card; else a family's name is all its variants, and a spelling
 * that no rule knows is meant too as it stands: by pollers also when it has just left. */
static size_t read_accelerator(struct query_reader *reader, const struct catalogue *catalogue,
			       const char *text, const struct accelerator **family,
			       const char **out)
{
	const struct accelerator *found = accelerator_resolve(NULL, text);
	size_t i, count;

	if (found) {
		*out = found->name;
		return 1;
	}
	count = accelerator_family(text, family, accelerators_count);
	for (i = 0; i < count; i++)
		out[i] = family[i]->name;
	if (catalogue_has_spelling(catalogue, text))
		out[count++] = text;
	if (!count)
		query_fault(reader, "accelerator", "unknown_value", accelerator_nearest(text),
			    "'%.60s' is not a known accelerator: see /v1/accelerators", text);
	return count;
}

static void read_accelerators(struct query_reader *reader, const struct catalogue *catalogue,
			      struct price_filter *out)
{
	const struct accelerator **family;
	const char **texts;
	size_t i, count = query_list(reader, "accelerator", &texts);

	if (!count)
		return;
	family = arena_array(reader->error->arena, accelerators_count, sizeof(*family));
	/* A family and a spelling; there are at most QUERY_LIST_MAX. */
	out->accelerators = arena_array(reader->error->arena, count * (accelerators_count + 1),
					sizeof(*out->accelerators));
	if (!family || !out->accelerators) {
		error_set(reader->error, ERROR_TOO_LARGE, "the request needs too much memory");
		return;
	}
	for (i = 0; i < count; i++)
		out->accelerators_count +=
			read_accelerator(reader, catalogue, texts[i], family,
					 out->accelerators + out->accelerators_count);
}

static void read_counts(struct query_reader *reader, struct price_filter *out)
{
	const char **texts;
	size_t i, count = query_list(reader, "count", &texts);

	for (i = 0; i < count; i++) {
		char *end;
		double value = strtod(texts[i], &end);

		if (*end || texts[i][strspn(texts[i], "0123456789.")] ||
		    !(value >= 0.001 && value <= 1e6)) {
			query_fault(reader, "count", "type", NULL,
				    "'%.60s' is not a number of GPUs from 0.001 to 1000000",
				    texts[i]);
			continue;
		}
		out->counts_milli[out->counts_count++] = (int32_t)lround(value * COUNT_MILLI_ONE);
	}
}

/* A code in small letters is meant as the same country. */
static void read_countries(struct query_reader *reader, struct price_filter *out)
{
	size_t i;

	out->countries_count = query_list(reader, "country", &out->countries);
	for (i = 0; i < out->countries_count; i++) {
		const char *text = out->countries[i];
		char code[COUNTRY_TEXT];

		if (!country_read(text, code))
			query_fault(reader, "country", "syntax", NULL,
				    "'%.60s' is not a country code of two letters", text);
		out->countries[i] = arena_strdup(reader->error->arena, code);
		if (out->countries[i])
			continue;
		error_set(reader->error, ERROR_TOO_LARGE, "the request needs too much memory");
		out->countries_count = 0;
	}
}

static const char *const sort_text[PRICE_SORTS] = {
	[SORT_USD_PER_HOUR] = "usd_per_hour",
	[SORT_USD_PER_GPU_HOUR] = "usd_per_gpu_hour",
	[SORT_MEMORY_GB] = "memory_gb",
	[SORT_MEMORY_PER_GPU_GB] = "memory_per_gpu_gb",
	[SORT_COUNT] = "count",
	[SORT_ACCELERATOR] = "accelerator",
	[SORT_PROVIDER] = "provider",
	[SORT_REGION] = "region",
	[SORT_OBSERVED_AT] = "observed_at",
	[SORT_MEMORY_TYPE] = "memory_type",
	[SORT_BANDWIDTH] = "bandwidth_gb_per_second",
	[SORT_TFLOPS] = "tflops_16_bit",
	[SORT_BILLING_SECONDS] = "billing_granularity_seconds",
	[SORT_MEMORY_PER_USD] = "memory_gb_per_usd",
	[SORT_BANDWIDTH_PER_USD] = "bandwidth_gb_per_second_per_usd",
	[SORT_TFLOPS_PER_USD] = "tflops_per_usd",
};
static const struct names sort_names = {sort_text, PRICE_SORTS};

static void read_order(struct query_reader *reader, struct price_filter *out)
{
	const char **texts;
	size_t i, count = query_list(reader, "sort", &texts);

	if (count > CURSOR_KEYS_MAX) {
		query_fault(reader, "sort", "too_many", NULL, "takes at most %d keys",
			    CURSOR_KEYS_MAX);
		return;
	}
	for (i = 0; i < count; i++) {
		bool is_descending = *texts[i] == '-';
		const char *name = texts[i] + is_descending;
		int key = names_find(&sort_names, name);

		if (key < 0)
			query_fault(reader, "sort", "unknown_value",
				    names_nearest(&sort_names, name),
				    "'%.60s' is none of the keys %s", name,
				    query_choices(reader->error->arena, &sort_names));
		else
			out->order[out->order_count++] =
				(struct price_order){(enum price_sort)key, is_descending};
	}
	if (!out->order_count)
		out->order[out->order_count++] = (struct price_order){SORT_USD_PER_HOUR, false};
}

/* Does a key grow (1) or shrink (-1) with the price of what is alike in all else? 0: neither. */
static int along_price(enum price_sort key)
{
	if (key == SORT_USD_PER_HOUR || key == SORT_USD_PER_GPU_HOUR)
		return 1;
	if (key == SORT_MEMORY_PER_USD || key == SORT_BANDWIDTH_PER_USD ||
	    key == SORT_TFLOPS_PER_USD)
		return -1;
	return 0;
}

/* Inside a list of the catalogue price decides, and all else that is alike in it decides nothing:
 * how far the order of the list is the order asked for. */
static void read_walk(struct price_filter *out)
{
	bool has_price = false;
	int i;

	for (i = 0; i < out->order_count; i++) {
		enum price_sort key = out->order[i].key;
		int direction = along_price(key);
		bool backwards = out->order[i].is_descending != (direction < 0);

		/* Rounded, two prices may be one value: then a second key decides, its own way. */
		if (key == SORT_REGION || key == SORT_OBSERVED_AT ||
		    (direction && has_price && backwards != out->walks_backwards))
			break;
		if (direction && !has_price)
			out->walks_backwards = backwards;
		has_price = has_price || direction;
	}
	out->walk_keys = i;
}

/* What columns hold of regions and countries. */
static void read_tags(const struct catalogue *catalogue, struct price_filter *out)
{
	size_t i;

	for (i = 0; i < out->regions_count; i++)
		out->region_tags[i] = catalogue_region(catalogue, out->regions[i]);
	for (i = 0; i < out->countries_count; i++)
		out->country_tags[i] = catalogue_country_tag(out->countries[i]);
}

/* Order of parameters does not matter: their hashes are summed. */
static uint64_t hash_of(const struct request *request)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < request->queries; i++) {
		const struct query *query = &request->query[i];
		if (strcmp(query->name, "cursor") && strcmp(query->name, "limit") &&
		    strcmp(query->name, "format") && strcmp(query->name, "fields") &&
		    strcmp(query->name, "since") && strcmp(query->name, "wait"))
			sum += hash_text(hash_text(HASH_START, query->name), query->value);
	}
	return sum;
}

static bool is_memory_type(const char *text)
{
	for (size_t i = 0; i < accelerators_count; i++)
		if (price_filter_is_memory_type(text, accelerators[i].memory_type))
			return true;
	return false;
}

static int64_t read_per_usd(struct query_reader *reader, const char *name)
{
	double value = 0;

	query_number(reader, name, 0, 1e9, &value);
	return llround(value * 1000);
}

void price_filter_read_cards(struct query_reader *reader, struct price_filter *out)
{
	size_t i;

	out->memory_types_count = query_list(reader, "memory_type", &out->memory_types);
	for (i = 0; i < out->memory_types_count; i++)
		if (!is_memory_type(out->memory_types[i]))
			query_fault(reader, "memory_type", "unknown_value", NULL,
				    "no card has '%.60s' memory: kinds are those of "
				    "/v1/accelerators (HBM3e, GDDR6), families HBM and GDDR",
				    out->memory_types[i]);
	out->formats = query_enum_bits(reader, "formats", &card_format_names);
}

/* What cards, terms and what a dollar buys decide. */
static void read_facts(struct query_reader *reader, struct price_filter *out)
{
	price_filter_read_cards(reader, out);
	query_number(reader, "max_billing_granularity_seconds", 0, 1e9, &out->max_billing_seconds);
	out->min_memory_per_usd = read_per_usd(reader, "min_memory_gb_per_usd");
	out->min_bandwidth_per_usd = read_per_usd(reader, "min_bandwidth_gb_per_second_per_usd");
	out->min_tflops_per_usd = read_per_usd(reader, "min_tflops_per_usd");
}

void price_filter_read(struct query_reader *reader, const struct catalogue *catalogue,
		       struct price_filter *out)
{
	double usd;

	*out = (struct price_filter){.max_micros = PRICE_UNKNOWN,
				     .max_per_gpu_micros = PRICE_UNKNOWN};
	read_providers(reader, catalogue, out);
	out->regions_count = query_list(reader, "region", &out->regions);
	read_countries(reader, out);
	read_accelerators(reader, catalogue, out);
	read_counts(reader, out);
	out->price_kinds = query_enum_bits(reader, "price_kind", &price_kind_names);
	out->availabilities = query_enum_bits(reader, "availability", &availability_names);
	out->node_links = query_enum_bits(reader, "interconnect", &node_link_names);
	read_facts(reader, out);
	query_number(reader, "min_memory_gb", 0, 1e9, &out->min_memory_gb);
	query_number(reader, "min_memory_per_gpu_gb", 0, 1e9, &out->min_memory_per_gpu_gb);
	if (query_number(reader, "max_usd_per_hour", 0, 1e9, &usd))
		out->max_micros = micros_from_usd(usd);
	if (query_number(reader, "max_usd_per_gpu_hour", 0, 1e9, &usd))
		out->max_per_gpu_micros = micros_from_usd(usd);
	offer_fields_read(reader, &out->fields);
	read_order(reader, out);
	read_walk(out);
	read_tags(catalogue, out);
	out->hash = hash_of(reader->request);
}
