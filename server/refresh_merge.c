/* Merging changes into the current catalogue: see refresh_merge.h. */
#include "server/refresh_merge.h"

#include "server/clock.h"
#include "server/refresh_past.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)16 << 30)

static int compare_ids(const void *left, const void *right)
{
	const struct offer *a = *(const struct offer *const *)left;
	const struct offer *b = *(const struct offer *const *)right;

	return (a->id > b->id) - (a->id < b->id);
}

struct merge {
	struct arena arena;
	struct offer *offers; /* by id, on sale only */
	bool *follows_feed;   /* malloc'ed: becomes the book's */
	size_t count;
};

static void put(struct merge *merge, const struct offer *offer, bool follows_feed)
{
	if (offer->withdrawn_at_us != 0)
		return;
	merge->offers[merge->count] = *offer;
	merge->follows_feed[merge->count] = follows_feed;
	merge->count++;
}

/* The places of a catalogue's offers by id, whichever half they lie in. */
static uint32_t *by_id(struct arena *arena, const struct catalogue *catalogue, size_t count)
{
	uint32_t *out = arena_array(arena, count, sizeof(*out));
	uint32_t open = 0, own = count ? catalogue->public_count : 0;

	for (size_t i = 0; i < count && out; i++) {
		bool is_own = open == catalogue->public_count ||
			      (own < count &&
			       catalogue_id(catalogue, own) < catalogue_id(catalogue, open));

		out[i] = is_own ? own++ : open++;
	}
	return out;
}

static bool merge_offers(struct merge *merge, const struct book *book, const struct catalogue *base,
			 const struct store_view *view)
{
	bool is_all = view && !view->is_delta && view->offers;
	size_t old_count = base && !is_all ? base->offers_count : 0;
	size_t new_count = view ? view->offers_count : 0;
	const struct offer **new = arena_array(&merge->arena, new_count, sizeof(*new));
	const uint32_t *old = by_id(&merge->arena, base, old_count);

	merge->offers = arena_array(&merge->arena, old_count + new_count, sizeof(*merge->offers));
	merge->follows_feed = malloc(old_count + new_count + 1);
	if (!new || !old || !merge->offers || !merge->follows_feed)
		return false;
	for (size_t i = 0; i < new_count; i++)
		new[i] = &view->offers[i];
	if (new_count)
		qsort(new, new_count, sizeof(struct offer *), compare_ids);
	for (size_t i = 0, j = 0; i < old_count || j < new_count;) {
		uint64_t id = i < old_count ? catalogue_id(base, old[i]) : 0;

		if (j == new_count || (i < old_count && id < new[j]->id)) {
			struct offer offer;

			catalogue_read(base, old[i], &offer);
			put(merge, &offer, book->is_complete && book->follows_feed[old[i]]);
			i++;
		} else {
			i += i < old_count && id == new[j]->id;
			put(merge, new[j], view->follows_feed[new[j] - view->offers]);
			j++;
		}
	}
	return true;
}

/* What one (provider, source) stands for. Strings of a catalogue are kept once, so a small table by
 * their addresses saves comparing a million offers with every feed. */
struct origin {
	const char *provider, *source;
	const struct store_feed *feed;	/* NULL = none */
	struct provider_status *status; /* NULL = none */
};

#define ORIGINS 512 /* a power of two */

static struct origin *origin_slot(struct origin *origins, const struct offer *offer)
{
	uintptr_t mixed = (uintptr_t)offer->provider * 31 + (uintptr_t)offer->source;

	return &origins[(mixed ^ mixed >> 9 ^ mixed >> 18) & (ORIGINS - 1)];
}

/* Its own feed's row; what has none (bundled prices) goes to the provider's first row. */
static void find_origin(struct origin *out, const struct offer *offer,
			const struct store_view *view, struct provider_status *providers,
			size_t count)
{
	*out = (struct origin){.provider = offer->provider, .source = offer->source};
	for (size_t i = 0; view && i < view->feeds_count && !out->feed; i++)
		if (strcmp(view->feeds[i].provider, offer->provider) == 0 &&
		    strcmp(view->feeds[i].source, offer->source) == 0)
			out->feed = &view->feeds[i];
	for (size_t i = 0; i < count; i++) {
		if (strcmp(providers[i].provider, offer->provider) != 0)
			continue;
		if (!out->status || strcmp(providers[i].source, offer->source) == 0)
			out->status = &providers[i];
	}
}

/* Offers that follow their feed carry its date; every offer counts for its provider. */
static void date_and_count(struct merge *merge, const struct store_view *view,
			   struct provider_status *providers, size_t count)
{
	struct origin origins[ORIGINS] = {{.provider = NULL}};

	for (size_t i = 0; i < merge->count; i++) {
		struct offer *offer = &merge->offers[i];
		struct origin *origin = origin_slot(origins, offer);

		if (origin->provider != offer->provider || origin->source != offer->source)
			find_origin(origin, offer, view, providers, count);
		if (origin->feed && merge->follows_feed[i])
			offer->observed_at_us = offer->last_seen_us = origin->feed->observed_at_us;
		if (origin->status)
			origin->status->offers++;
	}
}

static struct provider_status *copy_providers(struct merge *merge, const struct catalogue *base,
					      const struct store_view *view, size_t *count)
{
	const struct provider_status *from = view ? view->providers : base->providers;
	struct provider_status *to;
	int64_t now_us = clock_wall_us();

	*count = view ? view->providers_count : base->providers_count;
	to = arena_array(&merge->arena, *count, sizeof(*to));
	for (size_t i = 0; i < *count && to; i++) {
		to[i] = from[i];
		to[i].offers = 0;
		to[i].is_stale = store_is_stale(&to[i], now_us);
	}
	return to;
}

/* From the order of ids to that of the catalogue: private offers behind. */
static bool part_follows(struct merge *merge)
{
	bool *behind = arena_array(&merge->arena, merge->count, sizeof(*behind));
	size_t kept = 0, moved = 0;

	for (size_t i = 0; i < merge->count && behind; i++) {
		if (offer_is_private(&merge->offers[i]))
			behind[moved++] = merge->follows_feed[i];
		else
			merge->follows_feed[kept++] = merge->follows_feed[i];
	}
	if (behind && moved)
		memcpy(merge->follows_feed + kept, behind, moved * sizeof(*behind));
	return behind;
}

struct catalogue *book_build(struct book *book, const struct catalogue *base,
			     const struct store_view *view, struct error *error)
{
	struct catalogue_input input = {.offers_count = 0};
	struct provider_status *providers;
	struct catalogue *next = NULL;
	struct merge merge = {.count = 0};
	struct past past;

	arena_init(&merge.arena, ARENA_BYTES);
	providers = copy_providers(&merge, base, view, &input.providers_count);
	if (!providers || !merge_offers(&merge, book, base, view) ||
	    !past_build(&past, &merge.arena, base, view)) {
		error_set(error, ERROR_INTERNAL, "no memory for the next snapshot");
		goto out;
	}
	date_and_count(&merge, view, providers, input.providers_count);
	input.providers = providers;
	input.epoch = view ? view->clock.epoch : base->epoch;
	input.version = view ? view->clock.version : base->version;
	input.as_of_us = view ? view->clock.as_of_us : base->as_of_us;
	input.built_at_us = view ? clock_wall_us() : base->built_at_us;
	input.offers = merge.offers;
	input.offers_count = merge.count;
	input.changes_from = past.changes_from;
	input.gone = past.gone;
	input.gone_count = past.gone_count;
	input.states = past.states;
	input.states_count = past.states_count;
	input.unmapped = view ? view->unmapped : base->unmapped;
	input.unmapped_count = view ? view->unmapped_count : base->unmapped_count;
	if (!part_follows(&merge)) {
		error_set(error, ERROR_INTERNAL, "no memory for the next snapshot");
		goto out;
	}
	next = catalogue_build(&input, error);
	if (next) {
		bool is_complete = view ? true : book->is_complete;

		free(book->follows_feed);
		book->follows_feed = merge.follows_feed;
		book->is_complete = is_complete;
		merge.follows_feed = NULL;
	}
out:
	free(merge.follows_feed);
	arena_release(&merge.arena);
	return next;
}

void book_release(struct book *book)
{
	free(book->follows_feed);
	*book = (struct book){.is_complete = false};
}
