/*
 * Filters: what a request does not want, decided for whole shapes and lists. What only single
 * offers decide is recommend_scan.c's.
 */
#include "core/recommend_parts.h"

#include <string.h>

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

bool search_sieves_alike(const struct recommend_request *a, const struct recommend_request *b)
{
	const struct filters *x = &a->filters, *y = &b->filters;

	return x->regions == y->regions && x->regions_count == y->regions_count &&
	       x->countries == y->countries && x->countries_count == y->countries_count &&
	       x->available_only == y->available_only && x->max_age_seconds == y->max_age_seconds;
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

/* What is known of a seller decides on all of its lists. */
static unsigned filter_seller(const struct filters *filters, const struct offer_seller *seller)
{
	unsigned failed = 0;

	if (!search_wants_provider(filters, seller->provider))
		failed |= 1u << EXCLUSION_FILTERED_PROVIDER;
	for (int feature = 0; feature < FEATURES; feature++)
		if (filters->features >> feature & 1u &&
		    !has_feature(seller->terms, (enum feature)feature))
			failed |= 1u << EXCLUSION_FILTERED_FEATURE;
	return failed;
}

bool search_prepare_filters(struct search *search)
{
	const struct filters *filters = &search->request->filters;
	const struct catalogue *catalogue = search->catalogue;

	search->sellers =
		arena_array(&search->scratch, catalogue->sellers_count, sizeof(*search->sellers));
	if (!search->sellers)
		return false;
	for (uint32_t i = 0; i < catalogue->sellers_count; i++)
		search->sellers[i] = filter_seller(filters, &catalogue->sellers[i]);
	for (int kind = 0; kind < PRICE_KINDS; kind++)
		if (filters->price_kinds && !(filters->price_kinds >> kind & 1u))
			search->kinds[kind] |= 1u << EXCLUSION_FILTERED_PRICE_KIND;
	if (!tolerates_spot(&search->request->workload))
		search->kinds[PRICE_SPOT] |= 1u << EXCLUSION_SPOT_NOT_TOLERATED;
	return search_prepare_sieve(search);
}
