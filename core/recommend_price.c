/*
 * Pricing: the best plan for one offer, what it costs, whether the constraints allow it, and how
 * two priced offers compare.
 */
#include "core/recommend_notes.h"
#include "core/recommend_parts.h"

#include <string.h>

/* Time that `objective: time` and the Pareto front compare: the run; of a service, the latency of a
 * request; without an amount of work, the time of a unit. */
static double seconds_of(const struct search *search, const struct candidate *candidate)
{
	const struct workload *workload = &search->request->workload;

	if (candidate->cost.basis == COST_MONTH)
		return candidate->plan->speed.ttft_seconds +
		       candidate->plan->speed.tpot_seconds * (double)workload->output_tokens;
	return candidate->cost.elapsed_seconds;
}

static double key_of(const struct search *search, const struct candidate *candidate)
{
	const struct cost *cost = &candidate->cost;

	switch (search->request->objective) {
	case OBJECTIVE_TIME:
		return candidate->seconds;
	case OBJECTIVE_USD_PER_HOUR:
		return (double)cost->usd_per_hour_micros;
	case OBJECTIVE_USD_PER_MILLION_TOKENS:
		return (double)cost->per_unit_micros;
	case OBJECTIVE_VALUE: /* cost and time weigh alike: half the time for twice the money is
				 even */
		return (double)cost->total_micros * candidate->seconds;
	case OBJECTIVE_TOTAL_COST:
	case OBJECTIVES:
		break;
	}
	return (double)cost->total_micros;
}

void candidate_read(const struct search *search, const struct candidate *candidate,
		    struct offer *out)
{
	catalogue_read(search->catalogue, search->catalogue->by_price[candidate->position], out);
}

const struct offer *candidate_offer(const struct search *search, const struct candidate *candidate)
{
	struct offer *offer = arena_alloc(search->arena, sizeof(*offer));

	if (offer)
		candidate_read(search, candidate, offer);
	return offer;
}

static int compare_doubles(double a, double b)
{
	return (a > b) - (a < b);
}

/* All GPU memory that is rented. */
static double resources_of(const struct candidate *candidate)
{
	const struct shape *shape = candidate->planned->shape;

	return shape->accelerator->memory_gb * shape->count_milli * candidate->plan->layout.nodes;
}

static double links_of(const struct candidate *candidate)
{
	const struct fabric *fabric = &candidate->planned->shape->fabric;

	return fabric_is_fast(fabric) ? fabric->node_bytes_per_second : 0;
}

static int compare_ties(const struct search *search, const struct candidate *a,
			const struct candidate *b)
{
	int order = compare_doubles(resources_of(b), resources_of(a));
	struct offer x, y;

	if (!order)
		order = compare_doubles(links_of(b), links_of(a));
	if (order)
		return order;
	candidate_read(search, a, &x);
	candidate_read(search, b, &y);
	order = compare_doubles(y.ram_gib, x.ram_gib);
	if (!order)
		order = compare_doubles(y.vcpus, x.vcpus);
	if (!order)
		order = strcmp(x.provider, y.provider);
	if (!order)
		order = strcmp(x.instance_type, y.instance_type);
	if (!order)
		order = strcmp(x.region, y.region);
	if (!order)
		order = (x.id > y.id) - (x.id < y.id);
	return order;
}

/* What fits before what is tight; then the objective, then cost and time; ties by more resources,
 * then by name. Never 0 for two different offers, which are read for ties alone: of a million, none
 * is in the cache. */
int candidate_compare(const struct search *search, const struct candidate *a,
		      const struct candidate *b)
{
	int order = (int)b->plan->fit - (int)a->plan->fit;

	if (!order)
		order = compare_doubles(a->key, b->key);
	if (!order)
		order = compare_doubles((double)a->cost.total_micros, (double)b->cost.total_micros);
	if (!order)
		order = compare_doubles(a->seconds, b->seconds);
	return order ? order : compare_ties(search, a, b);
}

/* How many times over a limit it is, the one that it misses by most; 1 when it keeps all. */
struct miss {
	enum exclusion_reason why;
	double ratio;
};

static void miss_by(struct miss *miss, enum exclusion_reason why, double value, double limit)
{
	if (value > limit * miss->ratio)
		*miss = (struct miss){why, value / limit};
}

/* A commitment suits work that lasts for most of its term, and services that run on. */
#define TERM_SHARE 0.8

static struct miss miss_of(const struct search *search, const struct candidate *candidate,
			   const struct offer_list *list)
{
	const struct constraints *constraints = &search->request->constraints;
	const struct cost *cost = &candidate->cost;
	double term = list->term_months * HOURS_PER_MONTH * SECONDS_PER_HOUR;
	struct miss miss = {EXCLUSION_NONE, 1};

	if (constraints->max_usd_per_hour_micros != PRICE_UNKNOWN)
		miss_by(&miss, EXCLUSION_OVER_HOURLY_BUDGET, (double)cost->usd_per_hour_micros,
			(double)constraints->max_usd_per_hour_micros);
	if (constraints->max_total_micros != PRICE_UNKNOWN && cost->basis != COST_UNIT)
		miss_by(&miss, EXCLUSION_OVER_BUDGET, (double)cost->total_micros,
			(double)constraints->max_total_micros);
	if (constraints->deadline_seconds > 0 && cost->basis == COST_RUN)
		miss_by(&miss, EXCLUSION_DEADLINE, cost->elapsed_seconds,
			constraints->deadline_seconds);
	if (list->price_kind == PRICE_RESERVED && cost->basis == COST_RUN)
		miss_by(&miss, EXCLUSION_TERM_TOO_LONG, TERM_SHARE * term, cost->elapsed_seconds);
	return miss;
}

static const char *miss_text(struct search *search, enum exclusion_reason why,
			     const struct candidate *candidate)
{
	const struct constraints *constraints = &search->request->constraints;
	const struct cost *cost = &candidate->cost;
	const char *provider =
		catalogue_text(search->catalogue, search->catalogue->by_price[candidate->position],
			       OFFER_TEXT_provider);
	const char *name = shape_text(search->arena, candidate->planned->shape);
	char worked[DURATION_TEXT], paid[DURATION_TEXT];

	if (name && cost->nodes > 1)
		name = arena_printf(search->arena, "%d machines of %s", cost->nodes, name);
	if (!name)
		return NULL;
	if (why == EXCLUSION_DEADLINE)
		return arena_printf(search->arena,
				    "%s at %s would take %.4g h, the deadline is %.4g h", name,
				    provider, cost->elapsed_seconds / SECONDS_PER_HOUR,
				    constraints->deadline_seconds / SECONDS_PER_HOUR);
	if (why == EXCLUSION_OVER_HOURLY_BUDGET)
		return arena_printf(search->arena, "%s at %s costs $%s an hour, the limit is $%s",
				    name, provider, usd_text(cost->usd_per_hour_micros).text,
				    usd_text(constraints->max_usd_per_hour_micros).text);
	if (why == EXCLUSION_OVER_BUDGET)
		return arena_printf(search->arena, "%s at %s would cost $%s, the budget is $%s",
				    name, provider, usd_text(cost->total_micros).text,
				    usd_text(constraints->max_total_micros).text);
	duration_text(cost->elapsed_seconds, worked);
	duration_text(cost->billed_seconds, paid);
	return arena_printf(search->arena, "%s at %s would work for %s and be paid for %s, $%s",
			    name, provider, worked, paid, usd_text(cost->total_micros).text);
}

/* A provider's terms, resolved once a search. Keyed by where they lie, which is nobody's table. */
static const struct cost_terms *terms_of(struct search *search, const struct terms *terms)
{
	struct resolved_terms **bucket =
		&search->terms[(uintptr_t)terms / sizeof(*terms) % SEARCH_TERMS];
	struct resolved_terms *resolved = *bucket;

	while (resolved && resolved->terms != terms)
		resolved = resolved->next;
	if (!resolved) {
		resolved = arena_alloc(&search->scratch, sizeof(*resolved));
		if (!resolved) {
			search->is_out_of_memory = true;
			return NULL;
		}
		*resolved = (struct resolved_terms){.terms = terms, .next = *bucket};
		cost_terms_resolve(terms, &search->work.defaults, &resolved->cost);
		*bucket = resolved;
	}
	return &resolved->cost;
}

/* Its machines alone cost more than the best so far does in all. */
static bool is_dearer(const struct search *search, const struct planned *planned, int i,
		      int64_t price_micros, const struct candidate *best)
{
	const struct cost_job *job = &planned->jobs[i];

	return search->request->objective == OBJECTIVE_TOTAL_COST &&
	       planned->plans[i].fit <= best->plan->fit &&
	       (double)price_micros * job->nodes * job->run_seconds / SECONDS_PER_HOUR >
		       (double)best->cost.total_micros + 1;
}

static void note_extremes(struct search *search, const struct candidate *candidate)
{
	struct extremes *extremes = &search->extremes[candidate->plan->fit];
	const struct cost *cost = &candidate->cost;

	if (!extremes->is_set || cost->total_micros < extremes->cheapest_micros ||
	    (cost->total_micros == extremes->cheapest_micros &&
	     candidate->seconds < extremes->cheapest_seconds)) {
		extremes->cheapest_micros = cost->total_micros;
		extremes->cheapest_seconds = candidate->seconds;
	}
	if (!extremes->is_set || cost->usd_per_hour_micros < extremes->lowest_hourly_micros)
		extremes->lowest_hourly_micros = cost->usd_per_hour_micros;
	extremes->is_set = true;
}

/* The best plan for that offer; false when none keeps the constraints: then the one that misses
 * them by least, if any can be costed, in `missed`. `is_offered`: no filter leaves it out. */
static bool price_best(struct search *search, const struct planned *planned,
		       const struct offer_list *list, uint32_t position, struct candidate *out,
		       struct candidate *missed, struct miss *nearest, bool is_offered)
{
	const struct cost_terms *terms = terms_of(search, list->terms);
	struct candidate other;
	const struct cost_price price = {list->price_kind,
					 catalogue_price(search->catalogue, list, position),
					 list->interruptions_per_hour,
					 list->term_months * HOURS_PER_MONTH * SECONDS_PER_HOUR};
	bool has_one = false;

	*nearest = (struct miss){EXCLUSION_UNCOUNTABLE, 0};
	if (!terms)
		return false;
	for (int i = 0; i < planned->count; i++) {
		struct candidate *next = has_one ? &other : out; /* most have one plan */
		struct miss miss;

		if (has_one && is_dearer(search, planned, i, price.micros, out))
			continue;
		next->planned = planned;
		next->plan = &planned->plans[i];
		next->terms = terms;
		next->list = (uint32_t)(list - search->catalogue->lists);
		next->position = position;
		if (!cost_of(&planned->jobs[i], terms, &price, &next->cost))
			continue;
		next->seconds = seconds_of(search, next);
		next->key = key_of(search, next);
		miss = miss_of(search, next, list);
		if (miss.why == EXCLUSION_NONE) {
			if (is_offered)
				note_extremes(search, next);
			if (has_one && candidate_compare(search, next, out) < 0)
				*out = *next;
			has_one = true;
		} else if (nearest->why == EXCLUSION_UNCOUNTABLE || miss.ratio < nearest->ratio) {
			*missed = *next;
			*nearest = miss;
		}
	}
	return has_one;
}

bool search_price(struct search *search, const struct planned *planned,
		  const struct offer_list *list, uint32_t position, struct candidate *out,
		  enum exclusion_reason *why)
{
	struct candidate missed;
	struct miss nearest;

	if (price_best(search, planned, list, position, out, &missed, &nearest, true))
		return true;
	*why = nearest.why;
	if (nearest.why != EXCLUSION_UNCOUNTABLE &&
	    search_is_nearer(search, nearest.why, nearest.ratio))
		search_set_nearest(search, nearest.why, planned->shape, nearest.ratio,
				   miss_text(search, nearest.why, &missed));
	return false;
}

bool search_price_quietly(struct search *search, const struct planned *planned,
			  const struct offer_list *list, uint32_t position, struct candidate *out)
{
	struct candidate missed;
	struct miss nearest;

	return price_best(search, planned, list, position, out, &missed, &nearest, false);
}
