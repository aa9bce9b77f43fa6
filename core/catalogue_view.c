/*
 * Catalogue view: the catalogue as those see it who may not see private prices: see catalogue.h.
 *
 * A catalogue of its own, so that no reader needs to know: lists, counts, ages and feeds are of
 * public offers alone. Only the offers themselves are shared, which lie in front.
 */
#include "core/catalogue_parts.h"

#include <string.h>

static bool part_unmapped(const struct catalogue *from, struct catalogue *view)
{
	struct unmapped *unmapped =
		arena_array(&view->arena, from->unmapped_count, sizeof(*unmapped));

	for (uint32_t i = 0; i < from->unmapped_count && unmapped; i++)
		if (!from->unmapped[i].is_private)
			unmapped[view->unmapped_count++] = from->unmapped[i];
	view->unmapped = unmapped;
	return unmapped;
}

/* Its own feed's row, else the provider's first. */
static struct provider_status *status_of(const struct offer *offer,
					 struct provider_status *providers, uint32_t count)
{
	struct provider_status *found = NULL;

	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(providers[i].provider, offer->provider) != 0)
			continue;
		if (!found || strcmp(providers[i].source, offer->source) == 0)
			found = &providers[i];
	}
	return found;
}

/* Strings of a catalogue are pooled, and offers of a feed come in runs. */
static void count_offers(const struct catalogue_build *build, const struct catalogue *view,
			 struct provider_status *providers)
{
	struct provider_status *status = NULL;
	const char *provider = NULL, *source = NULL;

	for (uint32_t i = 0; i < view->offers_count; i++) {
		const struct offer *offer = &build->offers[i];

		if (offer->provider != provider || offer->source != source)
			status = status_of(offer, providers, view->providers_count);
		provider = offer->provider;
		source = offer->source;
		if (status)
			status->offers++;
	}
}

static bool has_public_feed(const struct catalogue *from, const char *provider)
{
	for (uint32_t i = 0; i < from->providers_count; i++)
		if (from->providers[i].provider == provider &&
		    !offer_source_is_private(from->providers[i].source))
			return true;
	return false;
}

static bool has_offers(const struct catalogue_build *build, const struct catalogue *view,
		       const char *provider)
{
	for (uint32_t i = 0; i < view->offers_count; i++)
		if (build->offers[i].provider == provider)
			return true;
	return false;
}

/* A provider that has only bundled prices beside a company's list is shown as one without a feed.
 */
static bool part_providers(const struct catalogue_build *build, const struct catalogue *from,
			   struct catalogue *view)
{
	struct provider_status *providers =
		arena_array(&view->arena, from->providers_count, sizeof(*providers));

	for (uint32_t i = 0; i < from->providers_count && providers; i++) {
		const struct provider_status *status = &from->providers[i];
		struct provider_status *to = &providers[view->providers_count];

		if (!offer_source_is_private(status->source)) {
			*to = *status;
			to->offers = 0;
			view->providers_count++;
		} else if (!has_public_feed(from, status->provider) &&
			   has_offers(build, view, status->provider) &&
			   !status_of(&(struct offer){.provider = status->provider, .source = ""},
				      providers, view->providers_count)) {
			*to = (struct provider_status){.provider = status->provider,
						       .source = "",
						       .outcome = "",
						       .detail = "",
						       .rejections = ""};
			view->providers_count++;
		}
	}
	if (!providers)
		return false;
	count_offers(build, view, providers);
	view->providers = providers;
	return true;
}

/* Withdrawn ones are not told of either, nor is a list whose rows were all refused. */
static bool has_private_traces(const struct catalogue *whole)
{
	for (uint32_t i = 0; i < whole->providers_count; i++)
		if (offer_source_is_private(whole->providers[i].source))
			return true;
	for (uint32_t i = 0; i < whole->gone_count; i++)
		if (offer_is_private(&whole->gone[i]))
			return true;
	for (uint32_t i = 0; i < whole->states_count; i++)
		if (offer_is_private(&whole->states[i].offer))
			return true;
	return false;
}

bool catalogue_part(struct catalogue_build *build)
{
	struct catalogue *whole = build->catalogue, *view;
	struct arena arena;
	bool is_built;

	whole->public_view = whole;
	if (whole->public_count == whole->offers_count && !has_private_traces(whole))
		return true;
	arena_init(&arena, whole->arena.limit);
	view = arena_alloc(&arena, sizeof(*view));
	if (!view)
		return false;
	*view = (struct catalogue){.version = whole->version,
				   .as_of_us = whole->as_of_us,
				   .built_at_us = whole->built_at_us,
				   .rows = whole->rows,
				   .texts = whole->texts,
				   .offers_count = whole->public_count,
				   .public_count = whole->public_count,
				   .public_view = view,
				   .changes_from = whole->changes_from,
				   .gone = whole->gone,
				   .gone_count = whole->gone_count,
				   .states = whole->states,
				   .states_count = whole->states_count,
				   .on_sale_count = whole->on_sale_count,
				   .arena = arena};
	memcpy(view->epoch, whole->epoch, sizeof(view->epoch));
	whole->public_view = view; /* goes with the whole from here on */
	build->catalogue = view;
	is_built = part_providers(build, whole, view) && part_unmapped(whole, view) &&
		   catalogue_age(build) && catalogue_group(build) &&
		   catalogue_order_changes(build, whole);
	build->catalogue = whole;
	return is_built;
}
