/*
 * Price since: what a change of an offer means for one filter: see price_versions.h.
 *
 * What identifies an offer never changes, so most changes are out of the question at once. For the
 * rest (a price above the limit, sold out, withdrawn) the states of before decide, from the newest
 * back as long as they follow each other: an offer that the filter did not take in any of them
 * has not left it.
 */
#include "server/api/price_versions.h"

static const struct offer_state *last_state(const struct catalogue *catalogue, uint64_t id)
{
	uint32_t low = 0, high = catalogue->states_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (catalogue->states[middle].offer.id <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return low && catalogue->states[low - 1].offer.id == id ? &catalogue->states[low - 1]
								: NULL;
}

static bool is_hidden(const struct catalogue *catalogue, const struct offer *offer)
{
	return catalogue == catalogue->public_view && offer_is_private(offer);
}

/* When the states began in which the filter did not take the offer, which is so since `since`. */
static int64_t out_since(const struct price_filter *filter, const struct catalogue *catalogue,
			 uint64_t id, int64_t since)
{
	const struct offer_state *state = last_state(catalogue, id);

	for (; state && state->offer.id == id && state->is_whole && state->until == since;
	     state--) {
		if (!state->is_gone && !is_hidden(catalogue, &state->offer) &&
		    price_filter_takes(filter, &state->offer))
			break;
		since = state->offer.version;
		if (state == catalogue->states)
			break;
	}
	return since;
}

int64_t price_filter_since(const struct price_filter *filter, const struct catalogue *catalogue,
			   const struct offer_change *change, bool *is_in)
{
	int64_t version = catalogue->changes_from + change->since, since;
	struct offer offer;

	catalogue_read_changed(catalogue, change->place, &offer);
	*is_in = change->place < catalogue->offers_count && price_filter_takes(filter, &offer);
	if (*is_in)
		return version;
	if (!price_filter_matches_key(filter, &offer))
		return 0;
	since = out_since(filter, catalogue, offer.id, offer.version);
	if (since > version)
		since = version;
	return since > catalogue->changes_from ? since : 0;
}
