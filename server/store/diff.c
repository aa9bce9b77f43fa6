/* What a refresh changes: a merge of two lists sorted by id. See diff.h. */
#include "server/store/diff.h"

#include "core/terms.h"

#include <stdlib.h>
#include <string.h>

static bool has_all_texts(const struct offer *offer)
{
#define X(name) offer->name &&
	return OFFER_TEXT_FIELDS(X) true;
#undef X
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

	if (!has_all_texts(offer))
		return error_set(error, ERROR_STORE, "an offer of %s has a text that is NULL",
				 refresh->provider);
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
	else if (offer->interruption_band < 0 || offer->interruption_band > TERMS_BANDS)
		fault = "has a band of interruptions that does not exist";
	else if ((unsigned)offer->price_kind >= PRICE_KINDS ||
		 (unsigned)offer->availability >= AVAILABILITIES)
		fault = "has a price kind or availability that does not exist";
	if (fault)
		return error_set(error, ERROR_STORE, "offer %s/%s/%s %s", offer->provider,
				 offer->region, offer->instance_type, fault);
	return true;
}

/* The date that a row carries of its own; 0 = it follows its feed. */
static int64_t own_date(const struct store_refresh *refresh, const struct offer *offer)
{
	if (offer->observed_at_us && offer->observed_at_us != refresh->observed_at_us)
		return offer->observed_at_us;
	return is_bundled(refresh->source) ? refresh->observed_at_us : 0;
}

/* `mark` (NULL when the offer is new) and what the refresh says of it. */
static bool put(const struct store_refresh *refresh, const struct offer_mark *mark,
		const struct offer *offer, struct diff *out, struct error *error)
{
	const int64_t own_date_us = own_date(refresh, offer);
	const uint64_t hash = offer_row_hash(offer, own_date_us);
	const bool is_listed = !mark || mark->is_withdrawn;

	if (mark && mark->hash && (mark->hash ^ hash) >> OFFER_KEY_SHIFT)
		return error_set(error, ERROR_STORE, "another offer has the id of %s/%s",
				 offer->region, offer->instance_type);
	if (!is_listed && is_bundled(refresh->source) && !mark->is_bundled) {
		out->unchanged++; /* a live price stands */
		return true;
	}
	if (!is_listed && mark->hash == hash) {
		out->unchanged++;
		return true;
	}
	out->listed += is_listed;
	out->changed += !is_listed;
	out->puts[out->puts_count++] = (struct offer_put){
		.offer = offer,
		.own_date_us = own_date_us,
		.hash = hash,
		.is_listed = is_listed,
	};
	return true;
}

/* A stored row that the refresh does not have. */
static void leave(const struct store_refresh *refresh, const struct offer_mark *mark,
		  struct diff *out)
{
	if (!mark->is_withdrawn &&
	    (mark->is_own || (refresh->replaces_bundled && mark->is_bundled)))
		out->gone[out->gone_count++] = mark->id;
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

bool diff_compute(const struct offer_mark *marks, size_t marks_count,
		  const struct store_refresh *refresh, struct arena *arena, struct diff *out,
		  struct error *error)
{
	const struct offer **new = sorted(refresh->offers, refresh->offers_count, arena);

	*out = (struct diff){.puts_count = 0};
	out->puts = arena_array(arena, refresh->offers_count, sizeof(*out->puts));
	out->gone = arena_array(arena, marks_count, sizeof(*out->gone));
	if (!new || !out->puts || !out->gone)
		return error_set(error, ERROR_STORE, "no memory for a refresh of %zu offers",
				 refresh->offers_count);
	if (!check_rows(refresh, new, error))
		return false;
	for (size_t i = 0, j = 0; i < marks_count || j < refresh->offers_count;) {
		if (j == refresh->offers_count || (i < marks_count && marks[i].id < new[j]->id)) {
			leave(refresh, &marks[i++], out);
		} else {
			const bool is_there = i < marks_count && marks[i].id == new[j]->id;

			if (!put(refresh, is_there ? &marks[i] : NULL, new[j], out, error))
				return false;
			i += is_there;
			j++;
		}
	}
	return true;
}
