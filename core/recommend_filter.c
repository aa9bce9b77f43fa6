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

unsigned search_filter_shape(const struct search *search, const struct shape *shape)
{
	const struct filters *filters = &search->request->filters;
	bool is_asked = filters->accelerators_count == 0;
	unsigned failed = 0;

	for (size_t i = 0; i < filters->accelerators_count && !is_asked; i++)
		is_asked = filters->accelerators[i] == shape->accelerator;
	if (!is_asked)
		failed |= 1u << EXCLUSION_FILTERED_ACCELERATOR;
	/* A slice is no whole GPU. */
	if ((filters->least_gpus > 0 &&
	     shape->count_milli < filters->least_gpus * COUNT_MILLI_ONE) ||
	    (filters->most_gpus > 0 && shape->count_milli > filters->most_gpus * COUNT_MILLI_ONE))
		failed |= 1u << EXCLUSION_FILTERED_GPUS;
	return failed;
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

/* Copies of one type in one place are often reclaimed together: an endpoint is then away, however
 * well it survives the loss of one machine. */
static bool tolerates_spot(const struct workload *workload)
{
	if (workload_is_endpoint(workload))
		return false;
	return workload->fault_tolerant ||
	       (workload->task == TASK_INFERENCE && workload->mode == SERVING_BATCH);
}

bool search_filters_alike(const struct recommend_request *a, const struct recommend_request *b)
{
	return memcmp(&a->filters, &b->filters, sizeof(a->filters)) == 0 &&
	       tolerates_spot(&a->workload) == tolerates_spot(&b->workload);
}

static bool is_named(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool search_wants_provider(const struct filters *filters, const char *provider)
{
	return (!filters->providers_count ||
		is_named(filters->providers, filters->providers_count, provider)) &&
	       !is_named(filters->excluded_providers, filters->excluded_providers_count, provider);
}

unsigned search_filter_list(const struct search *search, const struct offer_list *list)
{
	const struct filters *filters = &search->request->filters;
	unsigned failed = 0;

	if (!search_wants_provider(filters, list->provider))
		failed |= 1u << EXCLUSION_FILTERED_PROVIDER;
	if (filters->price_kinds && !(filters->price_kinds >> list->price_kind & 1u))
		failed |= 1u << EXCLUSION_FILTERED_PRICE_KIND;
	for (int feature = 0; feature < FEATURES; feature++)
		if (filters->features >> feature & 1u &&
		    !has_feature(list->terms, (enum feature)feature))
			failed |= 1u << EXCLUSION_FILTERED_FEATURE;
	if (list->price_kind == PRICE_SPOT && !tolerates_spot(&search->request->workload))
		failed |= 1u << EXCLUSION_SPOT_NOT_TOLERATED;
	return failed;
}

static bool is_in_countries(const struct filters *filters, uint16_t country)
{
	for (size_t i = 0; i < filters->countries_count; i++)
		if (catalogue_country_tag(filters->countries[i]) == country)
			return true;
	return false;
}

static const enum exclusion_reason tag_reasons[TAG_REASONS] = {
	EXCLUSION_FILTERED_REGION, EXCLUSION_FILTERED_COUNTRY, EXCLUSION_FILTERED_AVAILABILITY,
	EXCLUSION_STALE};

static bool is_in_regions(const struct search *search, uint32_t region)
{
	for (size_t i = 0; i < search->regions_count; i++)
		if (search->regions[i] == region)
			return true;
	return false;
}

static bool tag_fails(const struct search *search, const struct offer_tag *tag, int place)
{
	const struct filters *filters = &search->request->filters;

	switch (place) {
	case 0:
		return filters->regions_count && !is_in_regions(search, tag->region);
	case 1:
		return filters->countries_count && !is_in_countries(filters, tag->country);
	case 2:
		return filters->available_only && tag->availability != AVAILABILITY_YES;
	default:
		return filters->max_age_seconds > 0 &&
		       search->now_us - tag->observed_at_us >
			       filters->max_age_seconds * INT64_C(1000000);
	}
}

/* The place in tag_reasons of the first that it fails; TAG_REASONS when it passes. */
static int first_failed(const struct search *search, const struct offer_tag *tag)
{
	int place = 0;

	while (place < TAG_REASONS && !tag_fails(search, tag, place))
		place++;
	return place;
}

static bool fails_only(const struct search *search, const struct offer_tag *tag, int place)
{
	while (++place < TAG_REASONS)
		if (tag_fails(search, tag, place))
			return false;
	return true;
}

bool search_filter_tag(const struct search *search, const struct offer_tag *tag)
{
	return first_failed(search, tag) == TAG_REASONS;
}

enum exclusion_reason search_missed_reason(int place)
{
	return place < TAG_REASONS ? tag_reasons[place] : EXCLUSION_SOLD_OUT;
}

uint32_t search_next(const struct search *search, const struct offer_list *list, uint32_t from)
{
	/* Sold-out offers come last in a list. */
	uint32_t end = list->first + list->launchable;

	if (search->has_tag_filters)
		while (from < end && !search_filter_tag(search, &search->catalogue->tags[from]))
			from++;
	return from < end ? from : end;
}

uint32_t search_count_list(struct search *search, const struct offer_list *list)
{
	const struct catalogue *catalogue = search->catalogue;
	const struct shape *shape = &catalogue->shapes[list->shape];
	uint32_t end = list->first + list->launchable, left = list->launchable;
	uint32_t counts[TAG_REASONS] = {0};
	struct missed *missed = &search->missed[list - catalogue->lists];

	search_tally(search, EXCLUSION_SOLD_OUT, shape, list->count - list->launchable);
	for (uint32_t i = end; i < list->first + list->count && !missed->next[TAG_REASONS]; i++)
		if (!search->has_tag_filters || search_filter_tag(search, &catalogue->tags[i]))
			missed->next[TAG_REASONS] = i + 1;
	if (!search->has_tag_filters)
		return left;
	for (uint32_t i = list->first; i < end; i++) {
		const struct offer_tag *tag = &catalogue->tags[i];
		int place = first_failed(search, tag);

		if (place == TAG_REASONS)
			continue;
		counts[place]++;
		left--;
		if (!missed->next[place] && fails_only(search, tag, place))
			missed->next[place] = i + 1;
	}
	for (int place = 0; place < TAG_REASONS; place++)
		search_tally(search, tag_reasons[place], shape, counts[place]);
	return left;
}
