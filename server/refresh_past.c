/* The past: see refresh_past.h. */
#include "server/refresh_past.h"

#include <stdlib.h>
#include <string.h>

#define STATES_MAX                                                                                 \
	50000 /* some 12 MB; without them pollers are told of more than concerns them              \
	       */

static int compare_ids(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int compare_gone(const void *left, const void *right)
{
	const struct offer *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static int compare_versions(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static const struct offer *find_gone(const struct catalogue *base, uint64_t id)
{
	const struct offer key = {.id = id};

	return base->gone_count ? bsearch(&key, base->gone, base->gone_count, sizeof(*base->gone),
					  compare_gone)
				: NULL;
}

/* What an offer was until the change that `now` came with. One that is not known here was not on
 * sale for as long as withdrawn ones are kept. */
static struct offer_state state_before(const struct catalogue *base, const struct store_view *view,
				       const struct offer *now)
{
	uint32_t place = catalogue_find(base, now->id);
	struct offer_state state = {.until = now->version, .is_gone = place == CATALOGUE_NOWHERE};
	const struct offer *gone = state.is_gone ? find_gone(base, now->id) : NULL;

	if (!state.is_gone) {
		catalogue_read(base, place, &state.offer);
	} else {
		state.offer = gone ? *gone : *now;
		if (!gone)
			state.offer.version = base->changes_from;
	}
	state.is_whole = !bsearch(&now->id, view->restless, view->restless_count,
				  sizeof(*view->restless), compare_ids);
	return state;
}

static bool add_states(struct past *out, struct arena *arena, const struct catalogue *base,
		       const struct store_view *delta)
{
	size_t old_count = base ? base->states_count : 0;
	size_t new_count = delta ? delta->offers_count : 0;

	out->states = arena_array(arena, old_count + new_count, sizeof(*out->states));
	if (!out->states)
		return false;
	for (size_t i = 0; i < old_count; i++)
		out->states[out->states_count++] = base->states[i];
	for (size_t i = 0; i < new_count; i++)
		out->states[out->states_count++] = state_before(base, delta, &delta->offers[i]);
	return true;
}

static bool is_among(const struct store_view *delta, uint64_t id, const uint64_t *ids)
{
	return delta && bsearch(&id, ids, delta->offers_count, sizeof(*ids), compare_ids);
}

/* Those of before, but for what came back or changed, and those that left now. */
static bool add_gone(struct past *out, struct arena *arena, const struct catalogue *base,
		     const struct store_view *delta)
{
	size_t new_count = delta ? delta->offers_count : 0;
	uint64_t *ids = arena_array(arena, new_count, sizeof(*ids));

	out->gone = arena_array(arena, base->gone_count + new_count, sizeof(*out->gone));
	if (!ids || !out->gone)
		return false;
	for (size_t i = 0; i < new_count; i++)
		ids[i] = delta->offers[i].id;
	if (new_count)
		qsort(ids, new_count, sizeof(*ids), compare_ids);
	for (uint32_t i = 0; i < base->gone_count; i++)
		if (!is_among(delta, base->gone[i].id, ids))
			out->gone[out->gone_count++] = base->gone[i];
	for (size_t i = 0; i < new_count; i++)
		if (delta->offers[i].withdrawn_at_us != 0)
			out->gone[out->gone_count++] = delta->offers[i];
	return true;
}

/* The version that all but `most` of `count` are not after. */
static bool edge(const void *items, size_t count, size_t size, size_t member, size_t most,
		 struct arena *arena, int64_t *out)
{
	int64_t *versions = arena_array(arena, count, sizeof(*versions));

	if (!versions)
		return false;
	for (size_t i = 0; i < count; i++)
		memcpy(&versions[i], (const char *)items + i * size + member, sizeof(*versions));
	qsort(versions, count, sizeof(*versions), compare_versions);
	*out = versions[count - most - 1];
	return true;
}

/* Cut to three quarters, so that it is not done at every build. */
static bool bound(struct past *out, struct arena *arena)
{
	int64_t states_from = out->changes_from, from;
	size_t kept = 0;

	if (out->gone_count > STORE_GONE_MAX) {
		if (!edge(out->gone, out->gone_count, sizeof(*out->gone),
			  offsetof(struct offer, version), STORE_GONE_MAX / 4 * 3, arena, &from))
			return false;
		out->changes_from = from > out->changes_from ? from : out->changes_from;
	}
	if (out->states_count > STATES_MAX &&
	    !edge(out->states, out->states_count, sizeof(*out->states),
		  offsetof(struct offer_state, until), STATES_MAX / 4 * 3, arena, &states_from))
		return false;
	for (size_t i = 0; i < out->states_count; i++)
		if (out->states[i].until > states_from && out->states[i].until > out->changes_from)
			out->states[kept++] = out->states[i];
	out->states_count = kept;
	return true;
}

bool past_build(struct past *out, struct arena *arena, const struct catalogue *base,
		const struct store_view *view)
{
	bool is_all = view && !view->is_delta && view->offers;
	const struct store_view *delta = view && view->is_delta ? view : NULL;

	*out = (struct past){.changes_from = view ? view->changes_from : 0};
	if (is_all || !base) {
		out->gone = view ? view->gone : NULL;
		out->gone_count = view ? view->gone_count : 0;
		return true;
	}
	if (base->changes_from > out->changes_from)
		out->changes_from = base->changes_from;
	return add_states(out, arena, base, delta) && add_gone(out, arena, base, delta) &&
	       bound(out, arena);
}
