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
		     bool *regions_seen, struct coverage *out)
{
	uint32_t i;

	out->priced += list->count;
	out->by_kind[list->price_kind] += list->count;
	for (i = list->first; i < list->first + list->count; i++) {
		const struct offer_tag *tag = &catalogue->tags[i];
		uint32_t place = catalogue->by_price[i];

		if (!regions_seen[tag->region] && *catalogue->regions[tag->region]) {
			regions_seen[tag->region] = true;
			out->regions++;
		}
		out->bundled +=
			strcmp(catalogue_text(catalogue, place, OFFER_SOURCE), "bundled") == 0;
		add_time(out, tag->observed_at_us);
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
	bool *regions_seen = arena_array(arena, catalogue->regions_count, sizeof(bool));
	bool *cards_seen = arena_array(arena, accelerators_count, sizeof(bool));
	uint32_t l;

	*out = (struct coverage){.offers = 0};
	if (!regions_seen || !cards_seen)
		return false;
	for (l = 0; l < catalogue->lists_count; l++) {
		const struct offer_list *list = &catalogue->lists[l];
		ptrdiff_t card = catalogue->shapes[list->shape].accelerator - accelerators;

		if (strcmp(list->provider, provider) != 0)
			continue;
		add_list(catalogue, list, regions_seen, out);
		if (!cards_seen[card]) {
			cards_seen[card] = true;
			out->accelerators++;
		}
	}
	add_unlisted(catalogue, provider, out);
	out->offers = out->priced + out->unpriced + out->unmapped;
	return true;
}
