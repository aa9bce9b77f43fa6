/* Price match: whether an offer, a list of the catalogue or a tag is what the filter asks for. */
#include "server/api/price_filter.h"

#include <string.h>

static bool is_among(const char *const *texts, size_t count, const char *text)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(texts[i], text) == 0)
			return true;
	return count == 0;
}

static bool has_count(const struct price_filter *filter, int32_t count_milli)
{
	size_t i;

	for (i = 0; i < filter->counts_count; i++)
		if (filter->counts_milli[i] == count_milli)
			return true;
	return filter->counts_count == 0;
}

static bool memory_suffices(const struct price_filter *filter, const struct offer *offer)
{
	const struct accelerator *card;
	double total = price_memory_gb(offer), count = offer->count_milli / (double)COUNT_MILLI_ONE;

	if (!(filter->min_memory_gb > 0) && !(filter->min_memory_per_gpu_gb > 0))
		return true;
	card = offer->is_mapped ? accelerator_find(offer->accelerator) : NULL;
	if (total < filter->min_memory_gb)
		return false;
	if (card && card->memory_gb > 0)
		return card->memory_gb >= filter->min_memory_per_gpu_gb;
	return count > 0 && total / count >= filter->min_memory_per_gpu_gb;
}

static bool price_suffices(const struct price_filter *filter, const struct offer *offer)
{
	int64_t per_gpu = price_per_gpu(offer);

	/* What costs an unknown amount is not known to be below a limit. */
	if (filter->max_micros != PRICE_UNKNOWN &&
	    (offer->price_micros == PRICE_UNKNOWN || offer->price_micros > filter->max_micros))
		return false;
	return filter->max_per_gpu_micros == PRICE_UNKNOWN ||
	       (per_gpu != PRICE_UNKNOWN && per_gpu <= filter->max_per_gpu_micros);
}

bool price_filter_matches(const struct price_filter *filter, const struct offer *offer)
{
	return is_among(filter->providers, filter->providers_count, offer->provider) &&
	       is_among(filter->accelerators, filter->accelerators_count, offer->accelerator) &&
	       has_count(filter, offer->count_milli) &&
	       (!filter->price_kinds || filter->price_kinds >> offer->price_kind & 1) &&
	       (!filter->availabilities || filter->availabilities >> offer->availability & 1) &&
	       is_among(filter->regions, filter->regions_count, offer->region) &&
	       is_among(filter->countries, filter->countries_count, offer->country) &&
	       memory_suffices(filter, offer) && price_suffices(filter, offer);
}

bool price_filter_matches_list(const struct price_filter *filter, const struct catalogue *catalogue,
			       const struct offer_list *list)
{
	const struct shape *shape = &catalogue->shapes[list->shape];

	return (!filter->price_kinds || filter->price_kinds >> list->price_kind & 1) &&
	       (!filter->node_links || filter->node_links >> shape->fabric.node_link & 1) &&
	       has_count(filter, shape->count_milli) &&
	       is_among(filter->providers, filter->providers_count, list->provider) &&
	       is_among(filter->accelerators, filter->accelerators_count, shape->accelerator->name);
}

bool price_filter_matches_tag(const struct price_filter *filter, const struct offer_tag *tag)
{
	size_t i;

	if (filter->availabilities && !(filter->availabilities >> tag->availability & 1))
		return false;
	if (filter->max_micros != PRICE_UNKNOWN && tag->price_micros > filter->max_micros)
		return false;
	for (i = 0; i < filter->regions_count; i++)
		if (filter->region_tags[i] == tag->region)
			break;
	if (filter->regions_count && i == filter->regions_count)
		return false;
	for (i = 0; i < filter->countries_count; i++)
		if (filter->country_tags[i] == tag->country)
			break;
	return !filter->countries_count || i < filter->countries_count;
}
