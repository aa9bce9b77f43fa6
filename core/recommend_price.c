/*
 * Pricing: the best plan for one offer, what it costs, whether the constraints allow it, and how
 * two priced offers compare.
 */
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
	return candidate->cost.wall_seconds;
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
		return (double)cost->per_million_tokens_micros;
	case OBJECTIVE_VALUE: /* cost and time weigh alike: half the time for twice the money is
				 even */
		return (double)cost->total_micros * candidate->seconds;
	case OBJECTIVE_TOTAL_COST:
	case OBJECTIVES:
		break;
	}
	return (double)cost->total_micros;
}

const struct offer *candidate_offer(const struct search *search, const struct candidate *candidate)
{
	return &search->catalogue->offers[search->catalogue->by_price[candidate->position]];
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

/* What fits before what is tight; then the objective, then cost and time; ties by more resources,
 * then by name. Never 0 for two different offers. */
int candidate_compare(const struct search *search, const struct candidate *a,
		      const struct candidate *b)
{
	const struct offer *x = candidate_offer(search, a), *y = candidate_offer(search, b);
	int order = (int)b->plan->fit - (int)a->plan->fit;

	if (!order)
		order = compare_doubles(a->key, b->key);
	if (!order)
		order = compare_doubles((double)a->cost.total_micros, (double)b->cost.total_micros);
	if (!order)
		order = compare_doubles(a->seconds, b->seconds);
	if (!order)
		order = compare_doubles(resources_of(b), resources_of(a));
	if (!order)
		order = compare_doubles(links_of(b), links_of(a));
	if (!order)
		order = compare_doubles(y->ram_gib, x->ram_gib);
	if (!order)
		order = compare_doubles(y->vcpus, x->vcpus);
	if (!order)
		order = strcmp(x->provider, y->provider);
	if (!order)
		order = strcmp(x->instance_type, y->instance_type);
	if (!order)
		order = strcmp(x->region, y->region);
	if (!order)
		order = (x->id > y->id) - (x->id < y->id);
	return order;
}

static enum exclusion_reason check_constraints(const struct search *search,
					       const struct candidate *candidate)
{
	const struct constraints *constraints = &search->request->constraints;
	const struct cost *cost = &candidate->cost;

	if (constraints->max_usd_per_hour_micros != PRICE_UNKNOWN &&
	    cost->usd_per_hour_micros > constraints->max_usd_per_hour_micros)
		return EXCLUSION_OVER_HOURLY_BUDGET;
	if (constraints->max_total_micros != PRICE_UNKNOWN && cost->basis != COST_UNIT &&
	    cost->total_micros > constraints->max_total_micros)
		return EXCLUSION_OVER_BUDGET;
	if (constraints->deadline_seconds > 0 && cost->basis == COST_RUN &&
	    cost->wall_seconds > constraints->deadline_seconds)
		return EXCLUSION_DEADLINE;
	return EXCLUSION_NONE;
}

/* A commitment suits work that lasts for most of its term, and services that run on. */
static bool suits_term(const struct cost *cost, const struct offer_list *list)
{
	double term = list->term_months * HOURS_PER_MONTH * SECONDS_PER_HOUR;

	return list->price_kind != PRICE_RESERVED || cost->basis == COST_MONTH ||
	       cost->basis == COST_UNIT || cost->wall_seconds >= 0.8 * term;
}

static void note_miss(struct search *search, enum exclusion_reason why,
		      const struct candidate *candidate)
{
	const struct constraints *constraints = &search->request->constraints;
	const struct shape *shape = candidate->planned->shape;
	const struct cost *cost = &candidate->cost;
	struct arena *arena = search->arena;
	const char *name, *text;
	double distance;

	if (why == EXCLUSION_DEADLINE)
		distance = cost->wall_seconds;
	else if (why == EXCLUSION_OVER_HOURLY_BUDGET)
		distance = (double)cost->usd_per_hour_micros;
	else
		distance = (double)cost->total_micros;
	if (!search_is_nearer(search, why, distance))
		return;
	name = shape_text(arena, shape);
	if (!name)
		text = NULL;
	else if (why == EXCLUSION_DEADLINE)
		text = arena_printf(arena, "%s at %s would take %.1f h, the deadline is %.1f h",
				    name, candidate_offer(search, candidate)->provider,
				    cost->wall_seconds / SECONDS_PER_HOUR,
				    constraints->deadline_seconds / SECONDS_PER_HOUR);
	else if (why == EXCLUSION_OVER_HOURLY_BUDGET)
		text = arena_printf(arena, "%s at %s costs $%.2f an hour, the limit is $%.2f", name,
				    candidate_offer(search, candidate)->provider,
				    usd_from_micros(cost->usd_per_hour_micros),
				    usd_from_micros(constraints->max_usd_per_hour_micros));
	else if (why == EXCLUSION_OVER_BUDGET)
		text = arena_printf(arena, "%s at %s would cost $%.2f, the budget is $%.2f", name,
				    candidate_offer(search, candidate)->provider,
				    usd_from_micros(cost->total_micros),
				    usd_from_micros(constraints->max_total_micros));
	else
		text = arena_printf(arena, "%s at %s, for $%.2f in all", name,
				    candidate_offer(search, candidate)->provider,
				    usd_from_micros(cost->total_micros));
	search_set_nearest(search, why, shape, distance, text);
}

/* The best plan for that offer; false with the reason when none passes the constraints. */
bool search_price(struct search *search, const struct planned *planned,
		  const struct offer_list *list, uint32_t position, struct candidate *out,
		  enum exclusion_reason *why)
{
	size_t row = list->terms ? (size_t)(list->terms - terms_table) : terms_count;
	struct candidate next = {.planned = planned,
				 .terms = &search->terms[row],
				 .list = (uint32_t)(list - search->catalogue->lists),
				 .position = position};
	const struct cost_price price = {list->price_kind,
					 search->catalogue->tags[position].price_micros,
					 list->interruptions_per_hour};
	struct candidate missed = {0};
	bool has_one = false;

	if (!search->has_terms[row]) {
		cost_terms_resolve(list->terms, &search->terms[row]);
		search->has_terms[row] = true;
	}
	*why = EXCLUSION_UNCOUNTABLE;
	for (int i = 0; i < planned->count; i++) {
		enum exclusion_reason fault;

		next.plan = &planned->plans[i];
		if (!cost_of(&planned->jobs[i], next.terms, &price, &next.cost))
			continue;
		next.seconds = seconds_of(search, &next);
		next.key = key_of(search, &next);
		fault = check_constraints(search, &next);
		if (fault == EXCLUSION_NONE && !suits_term(&next.cost, list))
			fault = EXCLUSION_TERM_TOO_LONG;
		if (fault != EXCLUSION_NONE) {
			if (!missed.plan || next.key < missed.key) {
				missed = next;
				*why = fault;
			}
			continue;
		}
		if (!has_one || candidate_compare(search, &next, out) < 0)
			*out = next;
		has_one = true;
	}
	if (!has_one && missed.plan)
		note_miss(search, *why, &missed);
	return has_one;
}
