/* Coverage: see coverage.h. Walks the provider's lists only. */
#include "server/api/coverage.h"

#include <string.h>

static void add_time(struct coverage *out, int64_t observed_us)
{
	if (!out->oldest_us || observed_us < out->oldest_us)
		out->oldest_us = observed_us;
	if (observed_us > out->newest_us)
		out->newest_us = observed_us;
}

static void add_list(const struct catalogue *catalogue, const struct offer_list *list,
		     struct coverage *out)
{
	uint32_t i;

	out->priced += list->count;
	out->by_kind[list->price_kind] += list->count;
	for (i = list->first; i < list->first + list->count; i++) {
		uint32_t region = catalogue->columns.region[i];
		uint32_t place = catalogue->by_price[i];

		if (*catalogue->regions[region]) {
			out->regions += !out->region_is_there[region];
			out->region_is_there[region] = true;
			if (!catalogue->columns.country[i]) {
				out->regions_unplaced += !out->region_is_unplaced[region];
				out->region_is_unplaced[region] = true;
			}
		}
		out->bundled +=
			strcmp(catalogue_text(catalogue, place, OFFER_TEXT_source), "bundled") == 0;
		add_time(out, catalogue->columns.observed_at_us[i]);
	}
}

static void add_unlisted(const struct catalogue *catalogue, const char *provider,
			 struct coverage *out)
{
	uint32_t i;

	for (i = 0; i < catalogue->unlisted_count; i++) {
		struct offer offer;

		catalogue_read(catalogue, catalogue->unlisted[i], &offer);
		if (strcmp(offer.provider, provider) != 0)
			continue;
		if (offer.is_mapped)
			out->unpriced++;
		else
			out->unmapped++;
		out->bundled += strcmp(offer.source, "bundled") == 0;
		add_time(out, offer.observed_at_us);
	}
}

bool coverage_of(const struct catalogue *catalogue, const char *provider, struct arena *arena,
		 struct coverage *out)
{
	bool *cards_seen = arena_array(arena, accelerators_count, sizeof(bool));
	uint32_t l;

	*out = (struct coverage){
		.region_is_there = arena_array(arena, catalogue->regions_count, sizeof(bool)),
		.region_is_unplaced = arena_array(arena, catalogue->regions_count, sizeof(bool)),
	};
	if (!out->region_is_there || !out->region_is_unplaced || !cards_seen)
		return false;
	for (l = 0; l < catalogue->lists_count; l++) {
		const struct offer_list *list = &catalogue->lists[l];
		ptrdiff_t card = catalogue->shapes[list->shape].accelerator - accelerators;

		if (strcmp(list->provider, provider) != 0)
			continue;
		add_list(catalogue, list, out);
		if (!cards_seen[card]) {
			cards_seen[card] = true;
			out->accelerators++;
		}
	}
	add_unlisted(catalogue, provider, out);
	out->offers = out->priced + out->unpriced + out->unmapped;
	return true;
}
