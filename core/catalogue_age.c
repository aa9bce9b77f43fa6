/* Catalogue: how old its offers are, counted once for all answers: see catalogue.h. */
#include "core/catalogue_parts.h"

#include <stdlib.h>
#include <string.h>

/* Strings of a catalogue are pooled: equal names are equal pointers. */
struct seller {
	const char *provider;
	bool is_live; /* some offer is not bundled */
};

struct sellers {
	struct arena *scratch;
	struct seller *items;
	size_t count, capacity;
};

static struct seller *find_seller(struct sellers *sellers, const char *provider)
{
	struct seller *grown;

	for (size_t i = 0; i < sellers->count; i++)
		if (sellers->items[i].provider == provider)
			return &sellers->items[i];
	if (sellers->count == sellers->capacity) {
		sellers->capacity = sellers->capacity ? sellers->capacity * 2 : 64;
		grown = arena_array(sellers->scratch, sellers->capacity, sizeof(*grown));
		if (!grown)
			return NULL;
		if (sellers->count)
			memcpy(grown, sellers->items, sellers->count * sizeof(*grown));
		sellers->items = grown;
	}
	sellers->items[sellers->count] = (struct seller){provider, false};
	return &sellers->items[sellers->count++];
}

static void widen(int64_t *oldest_us, int64_t *newest_us, int64_t observed_us)
{
	if (observed_us <= 0)
		return;
	if (*oldest_us == 0 || observed_us < *oldest_us)
		*oldest_us = observed_us;
	if (observed_us > *newest_us)
		*newest_us = observed_us;
}

static bool age_offers(const struct catalogue_build *build, struct sellers *sellers)
{
	struct catalogue *catalogue = build->catalogue;

	for (uint32_t i = 0; i < catalogue->offers_count; i++) {
		const struct offer *offer = &build->offers[i];
		struct seller *seller = find_seller(sellers, offer->provider);

		if (!seller)
			return false;
		widen(&catalogue->oldest_observed_us, &catalogue->newest_observed_us,
		      offer->observed_at_us);
		if (strcmp(offer->source, "bundled") != 0) {
			seller->is_live = true;
			continue;
		}
		catalogue->bundled_offers++;
		widen(&catalogue->oldest_bundled_us, &catalogue->newest_bundled_us,
		      offer->observed_at_us);
	}
	return true;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

bool catalogue_age(struct catalogue_build *build)
{
	struct catalogue *catalogue = build->catalogue;
	struct sellers sellers = {.scratch = &build->scratch};
	const char **stale;
	size_t count = 0, kept = 0;

	if (!age_offers(build, &sellers))
		return false;
	stale = arena_array(&catalogue->arena, catalogue->providers_count + sellers.count,
			    sizeof(*stale));
	if (!stale)
		return false;
	for (uint32_t i = 0; i < catalogue->providers_count; i++)
		if (catalogue->providers[i].is_stale)
			stale[count++] = catalogue->providers[i].provider;
	for (size_t i = 0; i < sellers.count; i++)
		if (!sellers.items[i].is_live)
			stale[count++] = sellers.items[i].provider;
	qsort(stale, count, sizeof(*stale), compare_texts);
	for (size_t i = 0; i < count; i++)
		if (!kept || stale[kept - 1] != stale[i])
			stale[kept++] = stale[i];
	catalogue->stale_providers = stale;
	catalogue->stale_providers_count = (uint32_t)kept;
	return true;
}
