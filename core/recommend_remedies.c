/*
 * Remedies: other ways to do the same, each tried by the whole search before it is named.
 *
 * They are looked for when nothing fits, when the best only fits tightly, when it takes several
 * GPUs, and when it is expensive: then a cheaper way may do. A remedy that gives nothing better is
 * not told. Where memory lacks and no change alone gives a fit, two at once are tried, those first
 * that cost the least time.
 */
#include "core/recommend_remedies.h"
#include "core/recommend_notes.h"

#include <math.h>

/* An answer must be this much cheaper to be worth naming beside one that fits. */
#define CHEAPER 0.8
/* Nobody waits longer than a year for a result that may be had sooner. */
#define ENDLESS_SECONDS (365 * 24 * SECONDS_PER_HOUR)
/* From here on a person would look for a cheaper way. */
#define EXPENSIVE_RUN_MICROS (50 * MICROS_PER_USD)
#define EXPENSIVE_MONTH_MICROS (500 * MICROS_PER_USD)
/* A job is worth spreading over nodes when it ends this much sooner, or sooner at all where so few
 * others hold it. */
#define SOONER 0.8
#define FEW_ANSWERS 5
/* One on several nodes may cost as much as the last of so many answers. */
#define SPREAD_LIMIT 20

/* Whether the money is worth a search for other ways. */
static bool is_expensive(const struct cost *cost)
{
	return (cost->basis == COST_RUN && cost->total_micros >= EXPENSIVE_RUN_MICROS) ||
	       (cost->basis == COST_MONTH && cost->total_micros >= EXPENSIVE_MONTH_MICROS);
}

/* `cheapest` of the answer as asked; NULL when there is none. */
static bool is_worth_looking(const struct recommendation *cheapest)
{
	return !cheapest || cheapest->plan.fit != FIT_FITS ||
	       cheapest->plan.layout.gpus_per_node * cheapest->plan.layout.nodes > 1 ||
	       is_expensive(&cheapest->cost);
}

/* Fits where nothing did, fits where the best was tight, or costs clearly less. */
static bool is_better(const struct recommendation *best, const struct recommendation *result)
{
	if (!best)
		return true;
	if (best->plan.fit != result->plan.fit)
		return result->plan.fit > best->plan.fit;
	/* Cheaper and endless is no help to who has something that ends. */
	if (result->cost.basis == COST_RUN && result->cost.elapsed_seconds > ENDLESS_SECONDS &&
	    result->cost.elapsed_seconds > best->cost.elapsed_seconds)
		return false;
	return (double)result->cost.total_micros < CHEAPER * (double)best->cost.total_micros;
}

/* What has to be beaten for that share of the cost of the best, if there is one. */
static struct bar bar_of(const struct recommendation *best, double share)
{
	if (!best)
		return (struct bar){FIT_NO, HUGE_VAL, false};
	return (struct bar){best->plan.fit, share * (double)best->cost.total_micros, false};
}

static bool is_under(const struct bar *bar, const struct recommendation *result)
{
	return result->plan.fit < bar->fit ||
	       (result->plan.fit == bar->fit && (double)result->cost.total_micros > bar->micros);
}

/* What the money is for, and how long a run takes: what is cheap and endless helps nobody. */
static const char *end_text(struct arena *arena, const struct cost *cost)
{
	char took[DURATION_TEXT];

	if (cost->basis == COST_MONTH)
		return " a month";
	if (cost->basis == COST_UNIT)
		return cost_unit_words(cost->unit);
	duration_text(cost->elapsed_seconds, took);
	return arena_printf(arena, " in all, after %s", took);
}

/* "With QLoRA", "With weights in fp8 and with ..." */
static const char *ways_text(struct arena *arena, const struct ways *ways)
{
	const char *text = ways->changes[0]->what;

	for (int i = 1; text && i < ways->count; i++)
		text = arena_printf(arena, "%s and w%s", text, ways->changes[i]->what + 1);
	return text;
}

static const char *remedy_text(struct arena *arena, const struct ways *ways,
			       const struct recommendation *result)
{
	const char *shape = shape_text(arena, result->shape), *what = ways_text(arena, ways);
	const struct cost *cost = &result->cost;
	const char *end = end_text(arena, cost);

	if (!shape || !what || !end)
		return NULL;
	return arena_printf(arena, "%s, it %s on %d machine%s of %s at %s for $%s%s.", what,
			    result->plan.fit == FIT_FITS ? "fits" : "just fits", cost->nodes,
			    cost->nodes == 1 ? "" : "s", shape, result->offer->provider,
			    usd_text(cost->total_micros).text, end);
}

static const char *spread_text(struct arena *arena, const struct recommendation *result)
{
	const char *shape = shape_text(arena, result->shape);
	const struct cost *cost = &result->cost;
	const char *end = end_text(arena, cost);

	if (!shape || !end)
		return NULL;
	return arena_printf(arena, "On %d machines of %s joined by %s it %s at %s for $%s%s.",
			    cost->nodes, shape,
			    note_cluster_link(result->shape->fabric.cluster_link),
			    result->plan.fit == FIT_FITS ? "fits" : "just fits",
			    result->offer->provider, usd_text(cost->total_micros).text, end);
}

/* Fits no better, costs no less and ends no sooner than the first answer. */
static bool is_pointless(const struct recommend_answer *before, const struct recommendation *result)
{
	const struct recommendation *first = before->recommendations;

	return before->recommendations_count && result->plan.fit <= first->plan.fit &&
	       result->cost.total_micros >= first->cost.total_micros &&
	       result->cost.elapsed_seconds >= first->cost.elapsed_seconds;
}

/* Cheaper or, for more money, sooner: much so where there are other answers. */
static bool is_worth_spreading(const struct recommend_request *request,
			       const struct recommend_answer *before,
			       const struct recommendation *best,
			       const struct recommendation *result)
{
	bool is_few;

	if (is_better(best, result))
		return true;
	if (best->plan.fit != result->plan.fit)
		return false;
	/* A caller who asked for two answers and got them has not got few. */
	is_few = before->recommendations_count <
		 (request->limit < FEW_ANSWERS ? request->limit : FEW_ANSWERS);
	return result->cost.elapsed_seconds < (is_few ? 1 : SOONER) * best->cost.elapsed_seconds;
}

/* The cheapest that takes several nodes, on as few at most as give one, and that costs no more than
 * answers that are still looked at. */
static bool spread_remedy(const struct recommend_request *request,
			  const struct catalogue *catalogue, int64_t now_us,
			  const struct screen *screen, struct arena *arena,
			  const struct recommendation *best, struct recommend_answer *out,
			  struct remedy *remedies, struct error *error)
{
	struct bar bar = search_bar_of_best(screen, catalogue->shapes_count, SPREAD_LIMIT, arena);

	bar.is_spread = true;
	for (int nodes = 2; nodes <= 8; nodes *= 2) {
		struct recommend_request *other = arena_alloc(arena, sizeof(*other));
		struct recommend_answer answer;

		if (!other)
			return true;
		*other = *request;
		other->limit = SPREAD_LIMIT;
		other->group = GROUP_SHAPE;
		other->objective = OBJECTIVE_TOTAL_COST;
		other->constraints.max_nodes = nodes;
		if (!recommend_trial(other, catalogue, now_us, screen, &bar, arena, &answer, error))
			return false;
		for (int i = 0; i < answer.recommendations_count; i++) {
			const struct recommendation *result = &answer.recommendations[i];
			const char *text;

			if (result->cost.nodes < 2 || is_under(&bar, result) ||
			    is_pointless(out, result) ||
			    !is_worth_spreading(request, out, best, result))
				continue;
			text = spread_text(arena, result);
			if (text)
				remedies[out->remedies_count++] =
					(struct remedy){"more_nodes", {"more_nodes"}, text, result};
			return true;
		}
	}
	return true;
}

/* What other ways must beat in cost: the first answer, or what would be first by cost. */
static bool cheapest_of(const struct recommend_request *request, const struct catalogue *catalogue,
			int64_t now_us, const struct screen *screen, struct arena *arena,
			const struct recommend_answer *before, const struct recommendation **out,
			struct error *error)
{
	struct recommend_request other = *request;
	struct bar bar;
	struct recommend_answer answer;

	*out = before->recommendations_count ? before->recommendations : NULL;
	if (!*out || request->objective == OBJECTIVE_TOTAL_COST)
		return true;
	other.limit = 1;
	other.objective = OBJECTIVE_TOTAL_COST;
	bar = bar_of(*out, 1);
	if (!recommend_trial(&other, catalogue, now_us, screen, &bar, arena, &answer, error))
		return false;
	if (answer.recommendations_count)
		*out = answer.recommendations;
	return true;
}

/* The request changed in those ways; false when one does not apply. */
static bool is_changed(const struct trials *trials, const struct ways *ways,
		       struct recommend_request *out)
{
	*out = *trials->request;
	out->limit = 1;
	out->group = GROUP_SHAPE;
	out->objective = OBJECTIVE_TOTAL_COST;
	/* The more intrusive one first: it may leave nothing for the other to do. */
	for (int i = ways->count - 1; i >= 0; i--)
		if (!recommend_change(ways->changes[i], out, trials->arena))
			return false;
	return true;
}

bool remedies_try(struct trials *trials, const struct ways *ways, int *tried, struct error *error)
{
	struct remedy *remedy = &trials->remedies[trials->out->remedies_count];
	struct recommend_request changed, *other;
	const struct recommendation *result;
	struct recommend_answer answer;

	if (!is_changed(trials, ways, &changed))
		return true;
	other = arena_alloc(trials->arena, sizeof(*other));
	if (!other)
		return true;
	++*tried;
	*other = changed;
	if (!recommend_trial(other, trials->catalogue, trials->now_us, trials->screen, &trials->bar,
			     trials->arena, &answer, error))
		return false;
	result = answer.recommendations;
	if (!answer.recommendations_count || result->plan.fit < trials->least ||
	    !is_better(trials->best, result) || is_pointless(trials->out, result))
		return true;
	*remedy = (struct remedy){.code = ways->count > 1 ? "combined" : ways->changes[0]->code,
				  .text = remedy_text(trials->arena, ways, result),
				  .result = result};
	for (int i = 0; i < ways->count; i++)
		remedy->changes[i] = ways->changes[i]->code;
	if (remedy->text)
		trials->out->remedies_count++;
	return true;
}

static bool try_all(struct trials *trials, struct error *error)
{
	bool are_paired = false;
	int tried = 0;

	for (size_t i = 0; i < recommend_changes_count; i++) {
		const struct change *change = &recommend_changes[i];
		const struct ways ways = {{change}, 1};

		if (change->is_of_caller && !are_paired) {
			are_paired = true;
			if (!remedies_try_pairs(trials, error))
				return false;
		}
		if (trials->out->remedies_count == REMEDIES_MAX)
			break;
		if (!remedies_try(trials, &ways, &tried, error))
			return false;
	}
	return true;
}

bool recommend_remedies(const struct recommend_request *request, const struct catalogue *catalogue,
			int64_t now_us, const struct screen *screen, struct arena *arena,
			struct recommend_answer *out, struct error *error)
{
	struct remedy *remedies = arena_array(arena, REMEDIES_MAX, sizeof(*remedies));
	const struct recommendation *cheapest;
	struct trials trials;

	out->remedies = remedies;
	if (!remedies)
		return error_set(error, ERROR_UNAVAILABLE,
				 "the answer needs more memory than a request may take");
	if (!cheapest_of(request, catalogue, now_us, screen, arena, out, &cheapest, error))
		return false;
	if (!is_worth_looking(cheapest))
		return true;
	if (recommend_may_spread(request) && !spread_remedy(request, catalogue, now_us, screen,
							    arena, cheapest, out, remedies, error))
		return false;
	trials = (struct trials){.request = request,
				 .catalogue = catalogue,
				 .now_us = now_us,
				 .screen = screen,
				 .arena = arena,
				 .best = cheapest,
				 .bar = bar_of(cheapest, CHEAPER),
				 .out = out,
				 .remedies = remedies};
	return try_all(&trials, error);
}
