/* What a refresh changes: a merge of two lists sorted by id. See diff.h. */
#include "server/store/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const event_text[DIFF_EVENTS] = {
	[DIFF_LISTED] = "listed",
	[DIFF_CHANGED] = "changed",
	[DIFF_WITHDRAWN] = "withdrawn",
};
const struct names diff_event_names = {event_text, DIFF_EVENTS};

static const size_t text_members[] = {
	offsetof(struct offer, provider),
	offsetof(struct offer, region),
	offsetof(struct offer, zone),
	offsetof(struct offer, instance_type),
	offsetof(struct offer, accelerator),
	offsetof(struct offer, tier),
	offsetof(struct offer, interconnect),
	offsetof(struct offer, country),
	offsetof(struct offer, price_basis),
	offsetof(struct offer, original_currency),
	offsetof(struct offer, original_amount),
	offsetof(struct offer, source),
};
#define TEXT_MEMBERS (sizeof(text_members) / sizeof(text_members[0]))

static const char *text_member(const struct offer *offer, size_t i)
{
	return *(const char *const *)(const void *)((const char *)offer + text_members[i]);
}

static bool is_bundled(const char *source)
{
	return strcmp(source, STORE_BUNDLED) == 0;
}

static int compare_ids(const void *left, const void *right)
{
	const struct offer *a = *(const struct offer *const *)left;
	const struct offer *b = *(const struct offer *const *)right;

	return (a->id > b->id) - (a->id < b->id);
}

static const struct offer **sorted(const struct offer *offers, size_t count, struct arena *arena)
{
	const struct offer **pointers = arena_array(arena, count, sizeof(*pointers));

	if (!pointers)
		return NULL;
	for (size_t i = 0; i < count; i++)
		pointers[i] = &offers[i];
	if (count)
		qsort(pointers, count, sizeof(struct offer *), compare_ids);
	return pointers;
}

/* What the table's checks would refuse, found here to name the row. */
static bool check_row(const struct store_refresh *refresh, const struct offer *offer,
		      struct error *error)
{
	const char *fault = NULL;

	for (size_t i = 0; i < TEXT_MEMBERS; i++)
		if (!text_member(offer, i))
			fault = "has a text that is NULL";
	if (fault)
		return error_set(error, ERROR_STORE, "an offer of %s %s", refresh->provider, fault);
	if (strcmp(offer->provider, refresh->provider) != 0)
		fault = "is of another provider";
	else if (strcmp(offer->source, refresh->source) != 0)
		fault = "is of another source";
	else if (offer->id != offer_id(offer))
		fault = "has an id that is not its key's";
	else if (offer->count_milli <= 0)
		fault = "has no GPU";
	else if (offer->price_micros <= 0 && offer->price_micros != PRICE_UNKNOWN)
		fault = "has a price of zero or less";
	else if (offer->upfront_micros < 0 || offer->term_months < 0 || offer->quantity < -1)
		fault = "has a negative term, quantity or upfront price";
	else if ((unsigned)offer->price_kind >= PRICE_KINDS ||
		 (unsigned)offer->availability >= AVAILABILITIES)
		fault = "has a price kind or availability that does not exist";
	if (fault)
		return error_set(error, ERROR_STORE, "offer %s/%s/%s %s", offer->provider,
				 offer->region, offer->instance_type, fault);
	return true;
}

static double told(double amount)
{
	return amount > 0 ? amount : 0;
}

static bool same_amount(double a, double b)
{
	double x = told(a), y = told(b);

	return memcmp(&x, &y, sizeof(x)) == 0;
}

/* Would writing `next` over `stored` change anything that readers see? */
static bool is_unchanged(const struct offer *stored, bool stored_follows, const struct offer *next,
			 bool next_follows)
{
	for (size_t i = 0; i < TEXT_MEMBERS; i++)
		if (strcmp(text_member(stored, i), text_member(next, i)) != 0)
			return false;
	return stored->withdrawn_at_us == 0 && stored->is_mapped == next->is_mapped &&
	       same_amount(stored->memory_gb, next->memory_gb) &&
	       same_amount(stored->vcpus, next->vcpus) &&
	       same_amount(stored->ram_gib, next->ram_gib) &&
	       same_amount(stored->disk_gb, next->disk_gb) &&
	       stored->price_micros == next->price_micros &&
	       stored->upfront_micros == next->upfront_micros &&
	       stored->availability == next->availability && stored->quantity == next->quantity &&
	       stored_follows == next_follows &&
	       (next_follows || stored->observed_at_us == next->observed_at_us);
}

struct state {
	const struct store_refresh *refresh;
	struct arena *arena;
	struct diff *out;
	bool failed;
};

static struct offer *add(struct state *state, const struct offer *from, bool follows_feed,
			 enum diff_event event)
{
	struct offer *copy = arena_alloc(state->arena, sizeof(*copy));
	struct diff *out = state->out;

	if (!copy) {
		state->failed = true;
		return NULL;
	}
	*copy = *from;
	out->offers[out->count] = copy;
	out->follows_feed[out->count] = follows_feed;
	out->events[out->count] = event;
	out->count++;
	return copy;
}

/* `stored` (NULL when the offer is new) and what the refresh says of it. */
static void put(struct state *state, const struct offer *stored, bool stored_follows,
		const struct offer *incoming)
{
	const struct store_refresh *refresh = state->refresh;
	struct offer next = *incoming;
	bool has_own_date = incoming->observed_at_us != 0 &&
			    incoming->observed_at_us != refresh->observed_at_us;
	bool follows = !has_own_date && !is_bundled(refresh->source);
	bool is_new = !stored || stored->withdrawn_at_us != 0;

	if (!has_own_date)
		next.observed_at_us = refresh->observed_at_us;
	next.last_seen_us = refresh->observed_at_us;
	next.first_seen_us = refresh->observed_at_us;
	next.withdrawn_at_us = 0;
	if (!is_new && is_bundled(refresh->source) && !is_bundled(stored->source)) {
		state->out->unchanged++; /* a live price stands */
	} else if (is_new) {
		add(state, &next, follows, DIFF_LISTED);
		state->out->listed++;
	} else if (is_unchanged(stored, stored_follows, &next, follows)) {
		state->out->unchanged++;
	} else {
		add(state, &next, follows, DIFF_CHANGED);
		state->out->changed++;
	}
}

/* A stored row that the refresh does not have. */
static void leave(struct state *state, const struct offer *stored)
{
	const struct store_refresh *refresh = state->refresh;
	struct offer *gone;

	if (stored->withdrawn_at_us != 0)
		return;
	if (strcmp(stored->source, refresh->source) != 0 &&
	    !(refresh->replaces_bundled && is_bundled(stored->source)))
		return;
	gone = add(state, stored, false, DIFF_WITHDRAWN);
	if (gone)
		gone->withdrawn_at_us = refresh->observed_at_us;
	state->out->withdrawn++;
}

static bool check_rows(const struct store_refresh *refresh, const struct offer *const *incoming,
		       struct error *error)
{
	for (size_t i = 0; i < refresh->offers_count; i++) {
		if (!check_row(refresh, incoming[i], error))
			return false;
		if (i > 0 && incoming[i]->id == incoming[i - 1]->id)
			return error_set(error, ERROR_STORE, "offer %s/%s/%s is there twice",
					 incoming[i]->provider, incoming[i]->region,
					 incoming[i]->instance_type);
	}
	return true;
}

bool diff_compute(const struct offer_rows *stored, const struct store_refresh *refresh,
		  struct arena *arena, struct diff *out, struct error *error)
{
	size_t most = stored->count + refresh->offers_count;
	const struct offer **old = sorted(stored->offers, stored->count, arena);
	const struct offer **new = sorted(refresh->offers, refresh->offers_count, arena);
	struct state state = {.refresh = refresh, .arena = arena, .out = out};

	*out = (struct diff){.count = 0};
	out->offers = arena_array(arena, most, sizeof(*out->offers));
	out->follows_feed = arena_array(arena, most, sizeof(*out->follows_feed));
	out->events = arena_array(arena, most, sizeof(*out->events));
	if (!old || !new || !out->offers || !out->follows_feed || !out->events)
		return error_set(error, ERROR_STORE, "no memory for a refresh of %zu offers",
				 refresh->offers_count);
	if (!check_rows(refresh, new, error))
		return false;
	for (size_t i = 0, j = 0; i < stored->count || j < refresh->offers_count;) {
		if (j == refresh->offers_count || (i < stored->count && old[i]->id < new[j]->id)) {
			leave(&state, old[i++]);
		} else if (i == stored->count || new[j]->id < old[i]->id) {
			put(&state, NULL, false, new[j++]);
		} else {
			if (!offer_key_equal(old[i], new[j]))
				return error_set(error, ERROR_STORE,
						 "offers %s/%s and %s/%s have the same id",
						 old[i]->region, old[i]->instance_type,
						 new[j]->region, new[j]->instance_type);
			put(&state, old[i], stored->follows_feed[old[i] - stored->offers], new[j]);
			i++;
			j++;
		}
	}
	return !state.failed ||
	       error_set(error, ERROR_STORE, "no memory for a refresh of %zu offers",
			 refresh->offers_count);
}
