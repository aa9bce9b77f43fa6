/*
 * Near misses of filters: of the offers that hold the workload and keep its constraints, and that
 * one filter alone leaves out, the cheapest of each filter. So an empty answer, or a dear one, says
 * which filter it is due to and what it would take.
 */
#include "core/recommend_notes.h"
#include "core/recommend_parts.h"

static enum exclusion_reason only_reason(unsigned failed)
{
	return failed && !(failed & (failed - 1)) ? (enum exclusion_reason)__builtin_ctz(failed)
						  : EXCLUSION_NONE;
}

bool search_has_near(const struct search *search, const struct shape *shape)
{
	unsigned of_shape = search_filter_shape(search, shape);

	for (uint32_t i = 0; i < shape->lists; i++) {
		const struct offer_list *list = &search->catalogue->lists[shape->first_list + i];
		const struct missed *missed = &search->missed[shape->first_list + i];
		unsigned failed = of_shape | search_filter_list(search, list);

		if (failed && only_reason(failed) != EXCLUSION_NONE && list->launchable)
			return true;
		for (int place = 0; !failed && place <= TAG_REASONS; place++)
			if (missed->next[place])
				return true;
	}
	return false;
}

const char *search_near_text(struct search *search, const struct candidate *candidate)
{
	const struct cost *cost = &candidate->cost;
	const char *shape = shape_text(search->arena, candidate->planned->shape);
	static const char *const kinds[PRICE_KINDS] = {
		[PRICE_SPOT] = " on spot", [PRICE_RESERVED] = " with a commitment"};
	struct offer offer;

	if (!shape)
		return NULL;
	candidate_read(search, candidate, &offer);
	return arena_printf(search->arena,
			    "%d machine%s of %s at %s %s%s %s for $%s%s, were it not for "
			    "this alone",
			    cost->nodes, cost->nodes == 1 ? "" : "s", shape, offer.provider,
			    offer.region, kinds[offer.price_kind] ? kinds[offer.price_kind] : "",
			    candidate->plan->fit == FIT_FITS ? "would do it" : "might just hold it",
			    usd_text(cost->total_micros).text,
			    cost->basis == COST_RUN	? " in all"
			    : cost->basis == COST_MONTH ? " a month"
							: cost_unit_words(cost->unit));
}

/* The nearest so far: most are not the last, so no text is made of them. */
static void set_near(struct search *search, enum exclusion_reason reason, double distance,
		     const struct candidate *candidate)
{
	struct tally *tally = &search->tallies[reason];
	struct candidate *near =
		tally->near ? tally->near : arena_alloc(&search->scratch, sizeof(*near));

	search_set_nearest(search, reason, candidate->planned->shape, distance, "");
	search->is_out_of_memory = search->is_out_of_memory || !near;
	if (near)
		*near = *candidate;
	tally->near = near;
}

/* Whatever fits is nearer than what is tight. */
#define TIGHT_DISTANCE 1e18

static void consider(struct search *search, enum exclusion_reason reason,
		     const struct planned *planned, const struct offer_list *list,
		     uint32_t position)
{
	double price = (double)catalogue_price(search->catalogue, list, position);
	struct candidate candidate;
	double distance;

	/* Most are told by their price alone to be no nearer. */
	if (!search_is_nearer(search, reason, price * planned->least_hours) ||
	    !search_price_quietly(search, planned, list, position, &candidate))
		return;
	distance = (double)candidate.cost.total_micros;
	if (candidate.plan->fit != FIT_FITS)
		distance += TIGHT_DISTANCE;
	if (search_is_nearer(search, reason, distance))
		set_near(search, reason, distance, &candidate);
}

void search_near(struct search *search, const struct planned *planned)
{
	const struct shape *shape = planned->shape;
	unsigned of_shape = search_filter_shape(search, shape);

	for (uint32_t i = 0; i < shape->lists; i++) {
		const struct offer_list *list = &search->catalogue->lists[shape->first_list + i];
		const struct missed *missed = &search->missed[shape->first_list + i];
		unsigned failed = of_shape | search_filter_list(search, list);
		enum exclusion_reason only = only_reason(failed);

		if (only != EXCLUSION_NONE) {
			uint32_t position = search_next(search, list, list->first);

			if (position < list->first + list->launchable)
				consider(search, only, planned, list, position);
		}
		for (int place = 0; !failed && place <= TAG_REASONS; place++)
			if (missed->next[place])
				consider(search, search_missed_reason(place), planned, list,
					 missed->next[place] - 1);
	}
}
