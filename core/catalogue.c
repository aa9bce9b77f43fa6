/*
 * Catalogue: copying the input into one immutable allocation group: see catalogue.h. Packing and
 * look-up are catalogue_rows.c, grouping by shape is catalogue_group.c, ages are catalogue_age.c.
 */
#include "core/catalogue.h"

#include "core/catalogue_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A million offers take about 190 MB; past this the input is not a price table any more. */
#define ARENA_LIMIT ((size_t)16 << 30)

struct by_id {
	uint64_t id;
	size_t index; /* into the input */
};

static int compare_ids(const void *left, const void *right)
{
	const struct by_id *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

/* Private ones behind, each half in its order; how many are before. */
static size_t part(const struct catalogue_input *input, struct by_id *order, struct by_id *behind,
		   size_t count)
{
	size_t kept = 0, moved = 0;

	for (size_t i = 0; i < count; i++) {
		if (offer_is_private(&input->offers[order[i].index]))
			behind[moved++] = order[i];
		else
			order[kept++] = order[i];
	}
	if (moved)
		memcpy(order + kept, behind, moved * sizeof(*behind));
	return kept;
}

/* Offers on sale by id; `count` of them. False when two share an id. */
static bool order_offers(const struct catalogue_input *input, struct by_id *order, size_t *count,
			 struct error *error)
{
	*count = 0;
	for (size_t i = 0; i < input->offers_count; i++)
		if (input->offers[i].withdrawn_at_us == 0)
			order[(*count)++] = (struct by_id){input->offers[i].id, i};
	qsort(order, *count, sizeof(*order), compare_ids);
	for (size_t i = 1; i < *count; i++)
		if (order[i].id == order[i - 1].id) {
			char id[OFFER_ID_TEXT];

			offer_id_format(order[i].id, id);
			return error_set(error, ERROR_INTERNAL, "two offers share the id %s", id);
		}
	return true;
}

#define NOT_ON_SALE UINT32_MAX

/* Offers on sale, in their order, with their strings pooled. */
static bool copy_offers(struct catalogue_build *build, const struct catalogue_input *input,
			struct error *error)
{
	struct arena *scratch = &build->scratch;
	struct by_id *order = arena_array(scratch, input->offers_count, sizeof(*order));
	struct by_id *behind = arena_array(scratch, input->offers_count, sizeof(*behind));
	uint32_t *places = arena_array(scratch, input->offers_count, sizeof(*places));
	struct offer none = {0};
	const struct offer *previous = &none;
	size_t count;

	if (!order || !behind || !places || input->offers_count >= NOT_ON_SALE)
		return error_set(error, ERROR_UNAVAILABLE, "no memory for %zu offers",
				 input->offers_count);
	if (!order_offers(input, order, &count, error))
		return false;
	build->catalogue->public_count = (uint32_t)part(input, order, behind, count);
	build->offers = arena_array(&build->scratch, count, sizeof(*build->offers));
	if (!build->offers)
		return error_set(error, ERROR_UNAVAILABLE, "no memory for %zu offers", count);
	memset(places, 0xff, input->offers_count * sizeof(*places));
	for (size_t i = 0; i < count; i++)
		places[order[i].index] = (uint32_t)i;
	/* In the order of the input, where rows alike lie together. */
	for (size_t i = 0; i < input->offers_count; i++) {
		struct offer *offer;

		if (places[i] == NOT_ON_SALE)
			continue;
		offer = &build->offers[places[i]];
		*offer = input->offers[i];
		if (!catalogue_intern(build, offer, previous))
			return error_set(error, ERROR_UNAVAILABLE,
					 "no memory for the offers' text");
		previous = offer;
	}
	build->catalogue->offers_count = build->catalogue->on_sale_count = (uint32_t)count;
	return true;
}

static bool copy_providers(struct catalogue_build *build, const struct catalogue_input *input)
{
	struct catalogue *catalogue = build->catalogue;
	struct provider_status *providers =
		arena_array(&catalogue->arena, input->providers_count, sizeof(*providers));

	if (!providers)
		return false;
	for (size_t i = 0; i < input->providers_count; i++) {
		struct provider_status *to = &providers[i];

		*to = input->providers[i];
		to->provider = pool_intern(&build->pool, to->provider);
		to->source = pool_intern(&build->pool, to->source ? to->source : "");
		to->outcome = pool_intern(&build->pool, to->outcome ? to->outcome : "");
		to->detail = pool_intern(&build->pool, to->detail ? to->detail : "");
		to->rejections = pool_intern(&build->pool, to->rejections ? to->rejections : "");
		if (!to->provider || !to->source || !to->outcome || !to->detail || !to->rejections)
			return false;
	}
	catalogue->providers = providers;
	catalogue->providers_count = (uint32_t)input->providers_count;
	return true;
}

static bool copy_unmapped(struct catalogue_build *build, const struct catalogue_input *input)
{
	struct catalogue *catalogue = build->catalogue;
	struct unmapped *unmapped =
		arena_array(&catalogue->arena, input->unmapped_count, sizeof(*unmapped));

	if (!unmapped)
		return false;
	for (size_t i = 0; i < input->unmapped_count; i++) {
		unmapped[i] = input->unmapped[i];
		unmapped[i].provider = pool_intern(&build->pool, unmapped[i].provider);
		unmapped[i].spelling = pool_intern(&build->pool, unmapped[i].spelling);
		if (!unmapped[i].provider || !unmapped[i].spelling)
			return false;
	}
	catalogue->unmapped = unmapped;
	catalogue->unmapped_count = (uint32_t)input->unmapped_count;
	return true;
}

static bool fill(struct catalogue_build *build, const struct catalogue_input *input,
		 struct error *error)
{
	struct catalogue *catalogue = build->catalogue;

	if (!pool_init(&build->pool, &catalogue->arena, &build->scratch))
		return error_set(error, ERROR_UNAVAILABLE, "no memory for a catalogue");
	if (input->epoch)
		snprintf(catalogue->epoch, sizeof(catalogue->epoch), "%s", input->epoch);
	catalogue->version = input->version;
	catalogue->as_of_us = input->as_of_us;
	catalogue->built_at_us = input->built_at_us;
	if (!copy_offers(build, input, error))
		return false;
	if (!copy_providers(build, input) || !copy_unmapped(build, input) ||
	    !catalogue_keep_changes(build, input) || !catalogue_pack(build) ||
	    !catalogue_age(build) || !catalogue_group(build) ||
	    !catalogue_order_changes(build, catalogue) || !catalogue_part(build))
		return error_set(error, ERROR_UNAVAILABLE, "no memory for a catalogue");
	return true;
}

struct catalogue *catalogue_build(const struct catalogue_input *input, struct error *error)
{
	struct catalogue_build build = {0};
	struct arena arena;
	bool is_built;

	arena_init(&arena, ARENA_LIMIT);
	arena_init(&build.scratch, ARENA_LIMIT);
	build.catalogue = arena_alloc(&arena, sizeof(*build.catalogue));
	if (!build.catalogue) {
		error_set(error, ERROR_UNAVAILABLE, "no memory for a catalogue");
		return NULL;
	}
	build.catalogue->arena = arena;
	is_built = fill(&build, input, error);
	arena_release(&build.scratch);
	if (is_built)
		return build.catalogue;
	catalogue_free(build.catalogue);
	return NULL;
}

void catalogue_free(struct catalogue *catalogue)
{
	struct arena arena;

	if (!catalogue)
		return;
	/* A catalogue lies in the arena that it owns. */
	if (catalogue->public_view && catalogue->public_view != catalogue) {
		arena = catalogue->public_view->arena;
		arena_release(&arena);
	}
	arena = catalogue->arena;
	arena_release(&arena);
}

static int compare_region(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

uint32_t catalogue_region(const struct catalogue *catalogue, const char *name)
{
	const char *const *found =
		catalogue->regions_count
			? bsearch(name, catalogue->regions, catalogue->regions_count,
				  sizeof(*catalogue->regions), compare_region)
			: NULL;

	return found ? (uint32_t)(found - catalogue->regions) : CATALOGUE_NOWHERE;
}

uint16_t catalogue_country_tag(const char *country)
{
	if (!country || !country[0] || !country[1] || country[2])
		return 0;
	return (uint16_t)((unsigned char)country[0] << 8 | (unsigned char)country[1]);
}
