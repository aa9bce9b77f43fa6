/* Price match: whether an offer, a list of the catalogue or a tag is what the filter asks for. */
#include "server/api/price_filter.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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
	double total = offer_memory_gb(offer), count = offer->count_milli / (double)COUNT_MILLI_ONE;

	if (!(filter->min_memory_gb > 0) && !(filter->min_memory_per_gpu_gb > 0))
		return true;
	card = offer->is_mapped ? accelerator_find(offer->accelerator) : NULL;
	if (total < filter->min_memory_gb)
		return false;
	if (card && card->memory_gb > 0)
		return card->memory_gb >= filter->min_memory_per_gpu_gb;
	return count > 0 && total / count >= filter->min_memory_per_gpu_gb;
}

bool price_filter_is_memory_type(const char *kind, const char *memory_type)
{
	size_t length = strlen(kind);

	if (!memory_type || strncasecmp(kind, memory_type, length) != 0)
		return false;
	return !memory_type[length] || (!isdigit((unsigned char)kind[length - 1]) &&
					isdigit((unsigned char)memory_type[length]));
}

/* A figure that is not known suffices for nothing. */
bool price_filter_matches_card(const struct price_filter *filter, const struct accelerator *card)
{
	size_t i;

	if (!filter->memory_types_count && !filter->formats)
		return true;
	if (!card || (card_formats(card) & filter->formats) != filter->formats)
		return false;
	for (i = 0; i < filter->memory_types_count; i++)
		if (price_filter_is_memory_type(filter->memory_types[i], card->memory_type))
			return true;
	return !filter->memory_types_count;
}

static bool billing_suffices(const struct price_filter *filter, double seconds)
{
	return !(filter->max_billing_seconds > 0) ||
	       (seconds > 0 && seconds <= filter->max_billing_seconds);
}

static bool value_suffices(const struct price_filter *filter, const struct offer *offer)
{
	return (!filter->min_memory_per_usd ||
		offer_memory_per_usd(offer) >= filter->min_memory_per_usd) &&
	       (!filter->min_bandwidth_per_usd ||
		offer_bandwidth_per_usd(offer) >= filter->min_bandwidth_per_usd) &&
	       (!filter->min_tflops_per_usd ||
		offer_tflops_per_usd(offer) >= filter->min_tflops_per_usd);
}

static bool price_suffices(const struct price_filter *filter, const struct offer *offer)
{
	int64_t per_gpu = offer_per_gpu_micros(offer);

	/* What costs an unknown amount is not known to be below a limit. */
	if (filter->max_micros != PRICE_UNKNOWN &&
	    (offer->price_micros == PRICE_UNKNOWN || offer->price_micros > filter->max_micros))
		return false;
	return filter->max_per_gpu_micros == PRICE_UNKNOWN ||
	       (per_gpu != PRICE_UNKNOWN && per_gpu <= filter->max_per_gpu_micros);
}

bool price_filter_matches_key(const struct price_filter *filter, const struct offer *offer)
{
	return is_among(filter->providers, filter->providers_count, offer->provider) &&
	       is_among(filter->accelerators, filter->accelerators_count, offer->accelerator) &&
	       has_count(filter, offer->count_milli) &&
	       (!filter->price_kinds || filter->price_kinds >> offer->price_kind & 1) &&
	       is_among(filter->regions, filter->regions_count, offer->region) &&
	       (!(filter->max_billing_seconds > 0) ||
		billing_suffices(filter, offer_billing_seconds(offer))) &&
	       ((!filter->memory_types_count && !filter->formats) ||
		price_filter_matches_card(filter, offer_card(offer)));
}

/* What has no shape in a catalogue, and so no list, has no link that is known. */
static bool has_link(const struct price_filter *filter, const struct offer *offer)
{
	struct fabric fabric;

	if (!filter->node_links)
		return true;
	if (offer->price_micros <= 0 || !catalogue_fabric(offer, &fabric))
		return filter->node_links >> NODE_LINK_UNKNOWN & 1;
	return filter->node_links >> fabric.node_link & 1;
}

bool price_filter_takes(const struct price_filter *filter, const struct offer *offer)
{
	return price_filter_matches(filter, offer) && has_link(filter, offer);
}

bool price_filter_matches(const struct price_filter *filter, const struct offer *offer)
{
	return price_filter_matches_key(filter, offer) &&
	       (!filter->availabilities || filter->availabilities >> offer->availability & 1) &&
	       is_among(filter->countries, filter->countries_count, offer->country) &&
	       memory_suffices(filter, offer) && price_suffices(filter, offer) &&
	       value_suffices(filter, offer);
}

bool price_filter_matches_list(const struct price_filter *filter, const struct catalogue *catalogue,
			       const struct offer_list *list)
{
	const struct shape *shape = &catalogue->shapes[list->shape];

	return (!filter->price_kinds || filter->price_kinds >> list->price_kind & 1) &&
	       (!filter->node_links || filter->node_links >> shape->fabric.node_link & 1) &&
	       has_count(filter, shape->count_milli) &&
	       is_among(filter->providers, filter->providers_count, list->provider) &&
	       is_among(filter->accelerators, filter->accelerators_count,
			shape->accelerator->name) &&
	       price_filter_matches_card(filter, shape->accelerator) &&
	       billing_suffices(filter, list->terms ? list->terms->billing_granularity_seconds : 0);
}

bool price_filter_matches_at(const struct price_filter *filter, const struct catalogue *catalogue,
			     uint32_t position)
{
	const struct offer_columns *columns = &catalogue->columns;
	size_t i;

	if (filter->availabilities &&
	    !(filter->availabilities >> columns->availability[position] & 1))
		return false;
	if (filter->max_micros != PRICE_UNKNOWN &&
	    columns->price_micros[position] > filter->max_micros)
		return false;
	for (i = 0; i < filter->regions_count; i++)
		if (filter->region_tags[i] == columns->region[position])
			break;
	if (filter->regions_count && i == filter->regions_count)
		return false;
	for (i = 0; i < filter->countries_count; i++)
		if (filter->country_tags[i] == columns->country[position])
			break;
	return !filter->countries_count || i < filter->countries_count;
}
