/* Markets and workloads for tests: see market.h. */
#include "tests/core/market.h"

#include "core/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

void market_init(struct market *market, size_t capacity)
{
	*market = (struct market){.capacity = capacity};
	arena_init(&market->arena, (size_t)4 << 30);
	market->offers = arena_array(&market->arena, capacity, sizeof(*market->offers));
	REQUIRE(market->offers);
}

void market_release(struct market *market)
{
	arena_release(&market->arena);
}

struct offer *market_add(struct market *market, const char *provider, const char *type,
			 const char *accelerator, double count, double usd_per_hour)
{
	struct offer *offer = &market->offers[market->count++];

	REQUIRE(market->count <= market->capacity);
	*offer = (struct offer){
		.provider = provider,
		.region = "us-east",
		.zone = "",
		.instance_type = type,
		.accelerator = accelerator,
		.count_milli = (int32_t)(count * COUNT_MILLI_ONE + 0.5),
		.tier = "",
		.price_kind = PRICE_ON_DEMAND,
		.is_mapped = accelerator_find(accelerator) != NULL,
		.interconnect = "",
		.country = "US",
		.price_micros = micros_from_usd(usd_per_hour),
		.price_basis = "instance",
		.original_currency = "USD",
		.original_amount = "",
		.availability = AVAILABILITY_YES,
		.quantity = -1,
		.source = "test",
		.observed_at_us = MARKET_NOW_US - INT64_C(60000000),
	};
	return offer;
}

/* The fields of one line without quotes; returns how many. */
static int split(char *line, char **fields, int most)
{
	int count = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (count < most) {
		fields[count++] = line;
		line = strchr(line, ',');
		if (!line)
			break;
		*line++ = '\0';
	}
	return count;
}

void market_add_bundled(struct market *market)
{
	FILE *file = fopen(MARKET_CSV, "r");
	char line[2048];

	REQUIRE(file && fgets(line, sizeof(line), file));
	while (fgets(line, sizeof(line), file)) {
		char *field[16];
		int count = split(line, field, 16);
		struct offer *offer;

		REQUIRE(count == 16);
		for (int i = 0; i < count; i++)
			REQUIRE((field[i] = arena_strdup(&market->arena, field[i])));
		offer = market_add(market, field[0], field[3], field[4], strtod(field[5], NULL),
				   strtod(field[13], NULL));
		offer->region = field[1];
		offer->zone = field[2];
		offer->tier = field[6];
		offer->price_kind = (enum price_kind)names_find(&price_kind_names, field[7]);
		offer->term_months = atoi(field[8]);
		offer->ram_gib = strtod(field[11], NULL);
		offer->availability = AVAILABILITY_UNKNOWN;
		offer->source = "bundled";
	}
	fclose(file);
}

uint64_t market_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Machines that are sold: each has its provider, card and count. */
#define MARKET_TYPES 3000

void market_add_random(struct market *market, size_t count, uint64_t seed)
{
	static const double counts[] = {1, 2, 4, 8};
	static const char *const countries[] = {"US", "DE", "FR", "GB", "JP", "IN", "CA", "NL"};
	uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (size_t i = 0; i < count; i++) {
		size_t type = i % MARKET_TYPES;
		uint64_t machine = (type + 1) * UINT64_C(0x9e3779b97f4a7c15);
		const struct terms *terms = &terms_table[machine % terms_count];
		const struct accelerator *accelerator =
			&accelerators[(machine >> 20) % accelerators_count];
		double gpus = counts[(machine >> 40) % 4];
		double usd = gpus * (0.1 + accelerator->memory_gb / 40) *
			     (0.5 + (double)(market_random(&state) % 1000) / 1000);
		struct offer *offer = market_add(market, terms->provider,
						 arena_printf(&market->arena, "m%zu", type),
						 accelerator->name, gpus, usd);

		offer->region = arena_printf(&market->arena, "region-%u",
					     (unsigned)(market_random(&state) % 300));
		offer->zone = arena_printf(&market->arena, "z%zu", i / MARKET_TYPES);
		offer->country = countries[market_random(&state) % 8];
		offer->price_kind = (enum price_kind)(market_random(&state) % 2);
		offer->availability = (enum availability)(market_random(&state) % AVAILABILITIES);
		offer->ram_gib = 64 * gpus;
	}
}

struct catalogue *market_build(struct market *market)
{
	struct catalogue_input input = {.epoch = "00000000-0000-0000-0000-000000000001",
					.version = 1,
					.as_of_us = MARKET_NOW_US,
					.built_at_us = MARKET_NOW_US,
					.offers = market->offers,
					.offers_count = market->count};
	struct catalogue *catalogue;
	struct error error;

	error_init(&error, NULL);
	for (size_t i = 0; i < market->count; i++)
		market->offers[i].id = offer_id(&market->offers[i]);
	catalogue = catalogue_build(&input, &error);
	if (!catalogue)
		fprintf(stderr, "%s\n", error.detail);
	return catalogue;
}

struct catalogue *market_build_shapes(struct market *market, size_t count, uint32_t shapes)
{
	struct catalogue *whole, *catalogue;
	size_t kept = 0;
	bool *is_kept;

	market_init(market, count);
	market_add_random(market, count, 1);
	whole = market_build(market);
	is_kept = calloc(count, sizeof(*is_kept));
	REQUIRE(whole && is_kept);
	for (uint32_t i = 0; i < whole->lists_count; i++) {
		const struct offer_list *list = &whole->lists[i];
		uint64_t number = (uint64_t)list->shape * shapes;

		if (number / whole->shapes_count == (number + shapes) / whole->shapes_count)
			continue;
		for (uint32_t j = 0; j < list->count; j++)
			is_kept[whole->by_price[list->first + j]] = true;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t place = catalogue_find(whole, market->offers[i].id);

		if (place != CATALOGUE_NOWHERE && is_kept[place])
			market->offers[kept++] = market->offers[i];
	}
	market->count = kept;
	free(is_kept);
	catalogue_free(whole);
	catalogue = market_build(market);
	return catalogue;
}

static void set_field(struct workload *workload, const char *name, const char *value)
{
	for (int i = 0; i < WORKLOAD_FIELD_COUNT; i++) {
		const struct workload_field *field = &workload_fields[i];
		void *at = (char *)workload + field->offset;

		if (strcmp(field->name, name))
			continue;
		if (field->kind == FIELD_ENUM) {
			*(int *)at = names_find(field->names, value);
			REQUIRE(*(int *)at >= 0);
		} else if (field->kind == FIELD_COUNT) {
			*(int64_t *)at = strtoll(value, NULL, 10);
		} else if (field->kind == FIELD_NUMBER) {
			*(double *)at = strtod(value, NULL);
		} else {
			*(bool *)at = strcmp(value, "true") == 0;
		}
		workload->given |= WORKLOAD_BIT(i);
		return;
	}
	fprintf(stderr, "no field %s\n", name);
	abort();
}

struct workload market_fields(const char *model, const char *fields)
{
	const struct model *found = model_find(model);
	struct workload workload = {0};
	char text[1024], *rest = text, *field;

	REQUIRE(found && strlen(fields) < sizeof(text));
	snprintf(text, sizeof(text), "%s", fields);
	workload.architecture = &found->architecture;
	workload.model = found->id;
	while ((field = strsep(&rest, " "))) {
		char *value = strchr(field, '=');

		if (!value)
			continue;
		*value++ = '\0';
		set_field(&workload, field, value);
	}
	return workload;
}

struct workload market_workload(const char *model, const char *fields)
{
	struct workload workload = market_fields(model, fields);
	struct error error;
	struct arena arena;

	arena_init(&arena, 1 << 16);
	error_init(&error, &arena);
	if (!workload_complete(&workload, "/workload", &error)) {
		fprintf(stderr, "%s: %s\n", fields,
			error.first ? error.first->detail : error.detail);
		abort();
	}
	arena_release(&arena);
	return workload;
}

struct recommend_request market_request(const struct workload *workload)
{
	return (struct recommend_request){
		.workload = *workload,
		.constraints = {.max_total_micros = PRICE_UNKNOWN,
				.max_usd_per_hour_micros = PRICE_UNKNOWN},
		.limit = 10,
	};
}
