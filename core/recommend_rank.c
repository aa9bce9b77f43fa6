/*
 * Ranking: prices the heads of presorted lists, never all offers, and merges them.
 *
 * Inside a list all offers have the same shape, provider terms and price kind, so a lower price is
 * a better answer by every objective: the best offer of a list is its first that passes the
 * filters.
 */
#include "core/recommend_parts.h"

#include <string.h>

#define ALTERNATIVES_MAX 5

struct front_point {
	double cost, seconds;
};

/* The best fit of any head: what is only tight beats nothing that fits. */
static enum fit best_fit(const struct search *search)
{
	enum fit best = FIT_NO;

	for (uint32_t i = 0; i < search->heads_count; i++)
		if (search->heads[i].plan->fit > best)
			best = search->heads[i].plan->fit;
	return best;
}

/* Adds a point that none of the front beats, in the place of those that it beats. */
static uint32_t add_point(struct front_point *front, uint32_t count, struct front_point point)
{
	uint32_t low = 0, high = count, kept;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (front[middle].seconds < point.seconds)
			low = middle + 1;
		else
			high = middle;
	}
	if ((low > 0 && front[low - 1].cost <= point.cost) ||
	    (low < count && front[low].seconds <= point.seconds && front[low].cost <= point.cost))
		return count;
	for (kept = low; kept < count && front[kept].cost >= point.cost; kept++)
		;
	memmove(&front[low + 1], &front[kept], (count - kept) * sizeof(*front));
	front[low] = point;
	return count - (kept - low) + 1;
}

/* The cost/time front of the heads of that fit: soonest first, each cheaper than the one before. */
static uint32_t make_front(const struct search *search, enum fit fit, struct front_point *front)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < search->heads_count; i++)
		if (search->heads[i].plan->fit == fit)
			count = add_point(
				front, count,
				(struct front_point){(double)search->heads[i].cost.total_micros,
						     search->heads[i].seconds});
	return count;
}

static bool is_on_front(const struct candidate *candidate, const struct front_point *front,
			uint32_t count)
{
	double cost = (double)candidate->cost.total_micros;

	for (uint32_t i = 0; i < count; i++)
		if ((front[i].cost < cost && front[i].seconds <= candidate->seconds) ||
		    (front[i].cost <= cost && front[i].seconds < candidate->seconds))
			return false;
	return true;
}

/* A binary heap of candidates, best on top. */
struct heap {
	const struct search *search;
	struct candidate *items;
	uint32_t count;
};

static void heap_sift(struct heap *heap, uint32_t at)
{
	for (;;) {
		uint32_t best = at;

		for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count;
		     child++)
			if (candidate_compare(heap->search, &heap->items[child],
					      &heap->items[best]) < 0)
				best = child;
		if (best == at)
			return;
		struct candidate held = heap->items[at];

		heap->items[at] = heap->items[best];
		heap->items[best] = held;
		at = best;
	}
}

static void heap_init(struct heap *heap, const struct search *search, struct candidate *items,
		      uint32_t count)
{
	*heap = (struct heap){search, items, count};
	for (uint32_t i = count / 2; i-- > 0;)
		heap_sift(heap, i);
}

/* Takes the best; what follows it in its list takes its place. */
static bool heap_take(struct heap *heap, struct search *search, struct candidate *out)
{
	const struct offer_list *list;
	struct candidate *top = heap->items;
	uint32_t next;
	enum exclusion_reason why;

	if (!heap->count)
		return false;
	*out = *top;
	list = &search->catalogue->lists[out->list];
	next = search_next(search, list, out->position + 1);
	if (next == list->first + list->launchable ||
	    !search_price(search, out->planned, list, next, top, &why))
		*top = heap->items[--heap->count];
	heap_sift(heap, 0);
	return true;
}

/* Next offers of the winner's shape in order of cost. */
static bool find_alternatives(struct search *search, struct candidate *heads, uint32_t count,
			      struct recommendation *out)
{
	uint32_t *places = arena_array(search->arena, ALTERNATIVES_MAX, sizeof(*places));
	struct heap heap;
	struct candidate next;

	if (!places)
		return false;
	heap_init(&heap, search, heads, count);
	while (out->alternatives_count < ALTERNATIVES_MAX && heap_take(&heap, search, &next)) {
		uint32_t place = search->catalogue->by_price[next.position];

		if (place != out->offer->place)
			places[out->alternatives_count++] = place;
	}
	out->alternatives = places;
	return true;
}

/* Heads of one shape lie together: [first, first + count). */
struct leader {
	struct candidate best;
	uint32_t first, count;
};

static uint32_t make_leaders(const struct search *search, struct leader *leaders)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < search->heads_count; i++) {
		const struct candidate *head = &search->heads[i];

		if (!count || leaders[count - 1].best.planned != head->planned) {
			leaders[count++] = (struct leader){*head, i, 1};
			continue;
		}
		leaders[count - 1].count++;
		if (candidate_compare(search, head, &leaders[count - 1].best) < 0)
			leaders[count - 1].best = *head;
	}
	return count;
}

static bool fill(const struct ranking_context *context, const struct candidate *candidate, int rank,
		 const struct front_point *front, uint32_t front_count, struct recommendation *out)
{
	out->offer = candidate_offer(context->search, candidate);
	if (!out->offer)
		return false;
	out->shape = candidate->planned->shape;
	out->plan = *candidate->plan;
	out->cost = candidate->cost;
	out->is_pareto =
		candidate->plan->fit == context->fit && is_on_front(candidate, front, front_count);
	recommend_notes(context, candidate, rank, out);
	return true;
}

/* The best `limit` leaders, by repeated selection: limits are small. */
static bool rank_shapes(struct search *search, struct ranking_context *context,
			const struct front_point *front, uint32_t front_count,
			struct recommendation *out, int *out_count)
{
	struct leader *leaders =
		arena_array_raw(&search->scratch, search->heads_count, sizeof(*leaders));
	uint32_t count;

	if (!leaders)
		return false;
	count = make_leaders(search, leaders);
	context->answers = count;
	for (int rank = 0; rank < search->request->limit && (uint32_t)rank < count; rank++) {
		uint32_t best = (uint32_t)rank;
		struct leader held;

		for (uint32_t i = best + 1; i < count; i++)
			if (candidate_compare(search, &leaders[i].best, &leaders[best].best) < 0)
				best = i;
		held = leaders[best];
		leaders[best] = leaders[rank];
		leaders[rank] = held;
		if (!fill(context, &held.best, rank, front, front_count, &out[rank]) ||
		    !find_alternatives(search, &search->heads[held.first], held.count, &out[rank]))
			return false;
		*out_count = rank + 1;
	}
	return true;
}

static bool rank_offers(struct search *search, struct ranking_context *context,
			const struct front_point *front, uint32_t front_count,
			struct recommendation *out, int *out_count)
{
	struct heap heap;
	struct candidate next;

	context->answers = search->offers_held;
	heap_init(&heap, search, search->heads, search->heads_count);
	while (*out_count < search->request->limit && heap_take(&heap, search, &next)) {
		if (!fill(context, &next, *out_count, front, front_count, &out[*out_count]))
			return false;
		(*out_count)++;
	}
	return true;
}

bool search_rank(struct search *search, struct recommend_answer *out)
{
	struct arena *arena = search->arena;
	int limit = search->request->limit;
	struct recommendation *items = arena_array(arena, (size_t)limit, sizeof(*items));
	struct front_point *front =
		arena_array_raw(&search->scratch, search->heads_count, sizeof(*front));
	struct ranking_context context = {.search = search, .fit = best_fit(search)};
	uint32_t front_count;
	bool is_good;

	if (!items || !front)
		return false;
	context.extremes = &search->extremes[context.fit];
	front_count = make_front(search, context.fit, front);
	is_good = search->request->group == GROUP_OFFER
			  ? rank_offers(search, &context, front, front_count, items,
					&out->recommendations_count)
			  : rank_shapes(search, &context, front, front_count, items,
					&out->recommendations_count);
	out->recommendations = items;
	return is_good && !search->is_out_of_memory;
}
