/*
 * Filters: what a request does not want, decided for whole shapes and lists where that is possible
 * and for single offers, by their packed tags, where it is not.
 */
#include "core/recommend_parts.h"

#include <stdlib.h>
#include <string.h>

static int compare_region(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

bool search_prepare_filters(struct search *search)
{
	const struct filters *filters = &search->request->filters;
	const struct catalogue *catalogue = search->catalogue;

	search->has_tag_filters = filters->regions_count || filters->countries_count ||
				  filters->available_only || filters->max_age_seconds > 0;
	search->regions =
		arena_array(&search->scratch, filters->regions_count, sizeof(*search->regions));
	if (!search->regions)
		return false;
	for (size_t i = 0; i < filters->regions_count; i++) {
		const char *const *found =
			catalogue->regions_count
				? bsearch(filters->regions[i], catalogue->regions,
					  catalogue->regions_count, sizeof(*catalogue->regions),
					  compare_region)
				: NULL;

		if (found)
			search->regions[search->regions_count++] =
				(uint32_t)(found - catalogue->regions);
	}
	return true;
}

enum exclusion_reason search_filter_shape(const struct search *search, const struct shape *shape)
{
	const struct filters *filters = &search->request->filters;
	bool is_asked = filters->accelerators_count == 0;

	for (size_t i = 0; i < filters->accelerators_count && !is_asked; i++)
		is_asked = filters->accelerators[i] == shape->accelerator;
	if (!is_asked)
		return EXCLUSION_FILTERED_ACCELERATOR;
	/* A slice is no whole GPU. */
	if (filters->least_gpus > 0 && shape->count_milli < filters->least_gpus * COUNT_MILLI_ONE)
		return EXCLUSION_FILTERED_GPUS;
	if (filters->most_gpus > 0 && shape->count_milli > filters->most_gpus * COUNT_MILLI_ONE)
		return EXCLUSION_FILTERED_GPUS;
	return EXCLUSION_NONE;
}

/* What nobody says is not promised: an unknown feature does not pass. */
static bool has_feature(const struct terms *terms, enum feature feature)
{
	if (!terms)
		return false;
	switch (feature) {
	case FEATURE_PERSISTENT_VOLUME:
		return terms->persistent_volume == TERM_YES;
	case FEATURE_SHARED_FILESYSTEM:
		return terms->shared_filesystem == TERM_YES;
	case FEATURE_DOCKER:
		return terms->docker_images == TERM_YES;
	case FEATURE_SSH:
		return terms->ssh == TERM_YES;
	case FEATURE_JUPYTER:
		return terms->jupyter == TERM_YES;
	case FEATURE_BARE_METAL:
		return terms->bare_metal == TERM_YES;
	case FEATURE_CAN_STOP:
		return terms->can_stop == TERM_YES;
	case FEATURE_CLUSTER:
		return terms->multi_node_cluster == TERM_YES;
	case FEATURES:
		break;
	}
	return false;
}

static bool tolerates_spot(const struct workload *workload)
{
	return workload->fault_tolerant ||
	       (workload->task == TASK_INFERENCE && workload->mode == SERVING_BATCH);
}

enum exclusion_reason search_filter_list(const struct search *search, const struct offer_list *list)
{
	const struct filters *filters = &search->request->filters;
	bool is_asked = filters->providers_count == 0;

	for (size_t i = 0; i < filters->providers_count && !is_asked; i++)
		is_asked = strcmp(filters->providers[i], list->provider) == 0;
	if (!is_asked)
		return EXCLUSION_FILTERED_PROVIDER;
	if (filters->price_kinds && !(filters->price_kinds >> list->price_kind & 1u))
		return EXCLUSION_FILTERED_PRICE_KIND;
	for (int feature = 0; feature < FEATURES; feature++)
		if (filters->features >> feature & 1u &&
		    !has_feature(list->terms, (enum feature)feature))
			return EXCLUSION_FILTERED_FEATURE;
	if (list->price_kind == PRICE_SPOT && !tolerates_spot(&search->request->workload))
		return EXCLUSION_SPOT_NOT_TOLERATED;
	return EXCLUSION_NONE;
}

static bool is_in_countries(const struct filters *filters, uint16_t country)
{
	for (size_t i = 0; i < filters->countries_count; i++)
		if (catalogue_country_tag(filters->countries[i]) == country)
			return true;
	return false;
}

enum exclusion_reason search_filter_tag(const struct search *search, const struct offer_tag *tag)
{
	const struct filters *filters = &search->request->filters;

	if (filters->regions_count) {
		bool is_asked = false;

		for (size_t i = 0; i < search->regions_count && !is_asked; i++)
			is_asked = search->regions[i] == tag->region;
		if (!is_asked)
			return EXCLUSION_FILTERED_REGION;
	}
	if (filters->countries_count && !is_in_countries(filters, tag->country))
		return EXCLUSION_FILTERED_COUNTRY;
	if (filters->available_only && tag->availability != AVAILABILITY_YES)
		return EXCLUSION_FILTERED_AVAILABILITY;
	if (filters->max_age_seconds > 0 &&
	    search->now_us - tag->observed_at_us > filters->max_age_seconds * INT64_C(1000000))
		return EXCLUSION_STALE;
	return EXCLUSION_NONE;
}

uint32_t search_next(const struct search *search, const struct offer_list *list, uint32_t from)
{
	/* Sold-out offers come last in a list. */
	uint32_t end = list->first + list->launchable;

	if (search->has_tag_filters)
		while (from < end &&
		       search_filter_tag(search, &search->catalogue->tags[from]) != EXCLUSION_NONE)
			from++;
	return from < end ? from : end;
}

uint32_t search_count_list(struct search *search, const struct offer_list *list)
{
	const struct shape *shape = &search->catalogue->shapes[list->shape];
	uint32_t end = list->first + list->launchable, left = list->launchable;
	uint32_t counts[EXCLUSION_REASONS] = {0};

	search_tally(search, EXCLUSION_SOLD_OUT, shape, list->count - list->launchable);
	if (!search->has_tag_filters)
		return left;
	for (uint32_t i = list->first; i < end; i++) {
		enum exclusion_reason reason =
			search_filter_tag(search, &search->catalogue->tags[i]);

		if (reason == EXCLUSION_NONE)
			continue;
		counts[reason]++;
		left--;
	}
	for (int reason = 0; reason < EXCLUSION_REASONS; reason++)
		search_tally(search, (enum exclusion_reason)reason, shape, counts[reason]);
	return left;
}
