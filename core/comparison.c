/* Comparison: see comparison.h. Its sentences use the same words as those of a recommendation. */
#include "core/comparison.h"

#include "core/recommend_notes.h"

#include <math.h>
#include <stdio.h>

#define TOKENS_PER_MILLION 1e6
#define CELL 64
#define SAME 5e-4 /* a ratio nearer to 1 than that prints as 1 */

static const char *const time_basis_text[TIME_BASES] = {
	[TIME_RUN] = "run",
	[TIME_MILLION_TOKENS] = "million_tokens",
	[TIME_REQUEST] = "request",
};
const struct names time_basis_names = {time_basis_text, TIME_BASES};

static void read_time(const struct workload *workload, const struct recommendation *best,
		      struct comparison_variant *out)
{
	const struct speed_estimate *speed = &best->plan.speed;
	double tokens = (double)workload->output_tokens;

	if (best->cost.basis == COST_RUN) {
		out->time_basis = TIME_RUN;
		out->seconds = best->cost.elapsed_seconds;
	} else if (workload->task == TASK_INFERENCE) {
		out->time_basis = TIME_REQUEST;
		/* The first token comes with the prompt's answer; of a pipeline, a batch. */
		out->seconds =
			workload->architecture->media
				? speed->batch_seconds
				: speed->ttft_seconds +
					  (tokens > 1 ? (tokens - 1) * speed->tpot_seconds : 0);
	} else {
		out->time_basis = TIME_MILLION_TOKENS;
		if (speed->tokens_per_second > 0)
			out->seconds = TOKENS_PER_MILLION / speed->tokens_per_second;
	}
}

void comparison_read(const char *name, const struct workload *workload,
		     const struct recommend_answer *answer, struct comparison_variant *out)
{
	const struct recommendation *best = answer->recommendations;

	*out = (struct comparison_variant){.name = name,
					   .is_computed = true,
					   .memory_bytes = answer->memory.device_bytes,
					   .cost_micros = PRICE_UNKNOWN};
	if (!answer->recommendations_count)
		return;
	out->is_feasible = true;
	out->cost_basis = best->cost.basis;
	out->unit = best->cost.unit;
	out->cost_micros = best->cost.basis == COST_UNIT ? best->cost.per_unit_micros
							 : best->cost.total_micros;
	read_time(workload, best, out);
}

static bool has_cost(const struct comparison_variant *variant)
{
	return variant->is_feasible && variant->cost_micros != PRICE_UNKNOWN &&
	       variant->cost_micros > 0;
}

static bool has_time(const struct comparison_variant *variant)
{
	return variant->is_feasible && variant->seconds > 0;
}

/* Are all that have the figure of one basis? A month's bill is not less than a run's. */
static bool bases_agree(const struct comparison_variant *variants, int count, bool of_cost)
{
	const struct comparison_variant *first = NULL;

	for (int i = 0; i < count; i++) {
		const struct comparison_variant *variant = &variants[i];

		if (of_cost ? !has_cost(variant) : !has_time(variant))
			continue;
		if (first && (of_cost ? variant->cost_basis != first->cost_basis ||
						variant->unit != first->unit
				      : variant->time_basis != first->time_basis))
			return false;
		first = first ? first : variant;
	}
	return true;
}

/* Of those that have the figure; where several have and all the same, none is the least. */
static int least_of(const struct comparison_variant *variants, int count,
		    double (*figure)(const struct comparison_variant *))
{
	double least = (double)INFINITY, most = 0;
	int found = -1, figures = 0;

	for (int i = 0; i < count; i++) {
		double value = figure(&variants[i]);

		if (!(value > 0))
			continue;
		figures++;
		if (value < least)
			found = i;
		least = fmin(least, value);
		most = fmax(most, value);
	}
	return figures == 1 || most > least * (1 + SAME) ? found : -1;
}

static double cost_figure(const struct comparison_variant *variant)
{
	return has_cost(variant) ? (double)variant->cost_micros : 0;
}

static double time_figure(const struct comparison_variant *variant)
{
	return has_time(variant) ? variant->seconds : 0;
}

static double memory_figure(const struct comparison_variant *variant)
{
	return variant->is_computed ? variant->memory_bytes : 0;
}

static void divide(const struct comparison_variant *first, const struct comparison_variant *variant,
		   struct comparison_ratios *out)
{
	if (first->is_computed && variant->is_computed && first->memory_bytes > 0)
		out->memory = variant->memory_bytes / first->memory_bytes;
	if (has_cost(first) && has_cost(variant) && first->cost_basis == variant->cost_basis &&
	    first->unit == variant->unit)
		out->cost = (double)variant->cost_micros / (double)first->cost_micros;
	if (has_time(first) && has_time(variant) && first->time_basis == variant->time_basis)
		out->time = variant->seconds / first->seconds;
}

static void cost_text(const struct comparison_variant *variant, char out[CELL])
{
	double usd = usd_from_micros(variant->cost_micros);
	const char *unit = variant->cost_basis == COST_MONTH  ? " a month"
			   : variant->cost_basis == COST_UNIT ? cost_unit_words(variant->unit)
							      : "";

	snprintf(out, CELL, usd < 1 ? "$%.3g%s" : "$%.2f%s", usd, unit);
}

static void time_text(const struct comparison_variant *variant, char out[CELL])
{
	char time[DURATION_TEXT];

	if (variant->seconds < 10)
		snprintf(time, sizeof(time), "%.3g s", variant->seconds);
	else
		duration_text(variant->seconds, time);
	snprintf(out, CELL, "%s%s", time,
		 variant->time_basis == TIME_REQUEST	      ? " a request"
		 : variant->time_basis == TIME_MILLION_TOKENS ? " a million tokens"
							      : "");
}

static void memory_text(const struct comparison_variant *variant, char out[CELL])
{
	snprintf(out, CELL, "%.1f GiB", variant->memory_bytes / GIB);
}

/* "costs $0.37 instead of $1.16 (0.317 times)" */
static const char *change_text(struct arena *arena, const char *verb, double ratio,
			       const struct comparison_variant *first,
			       const struct comparison_variant *variant,
			       void (*text)(const struct comparison_variant *, char *))
{
	char now[CELL], before[CELL];

	text(variant, now);
	text(first, before);
	if (fabs(ratio - 1) < SAME)
		return arena_printf(arena, "%s %s, the same", verb, now);
	return arena_printf(arena, "%s %s instead of %s (%.*f times)", verb, now, before,
			    ratio < 10 ? 3 : 0, ratio);
}

/* What cannot be compared is left out of the sentence: it is null among the figures. */
static const char *changes_text(struct arena *arena, const struct comparison_variant *first,
				const struct comparison_variant *variant,
				const struct comparison_ratios *ratios)
{
	const char *parts[3], *text;
	int count = 0;

	if (ratios->memory > 0)
		parts[count++] =
			change_text(arena, "needs", ratios->memory, first, variant, memory_text);
	if (ratios->cost > 0)
		parts[count++] =
			change_text(arena, "costs", ratios->cost, first, variant, cost_text);
	if (ratios->time > 0)
		parts[count++] =
			change_text(arena, "takes", ratios->time, first, variant, time_text);
	text = variant->name;
	for (int i = 0; i < count && text; i++)
		text = parts[i] ? arena_printf(arena, "%s%s%s", text,
					       i == 0		? " "
					       : i == count - 1 ? " and "
								: ", ",
					       parts[i])
				: NULL;
	return text ? arena_printf(arena, "%s.", text) : NULL;
}

static const char *ratios_text(struct arena *arena, const struct comparison_variant *first,
			       const struct comparison_variant *variant,
			       const struct comparison_ratios *ratios)
{
	if (!variant->is_computed)
		return arena_printf(arena,
				    "%s was not computed: the variants before it took all the time "
				    "that a request has; ask for fewer at once.",
				    variant->name);
	if (!variant->is_feasible)
		return arena_printf(arena, "%s fits nothing that is on sale within its limits.",
				    variant->name);
	if (variant == first)
		return arena_printf(arena, "%s is what the others are measured against.",
				    variant->name);
	if (!(ratios->cost > 0) && !(ratios->time > 0))
		return arena_printf(arena,
				    "%s can be run; its cost and time have nothing to be measured "
				    "against in %s.",
				    variant->name, first->name);
	return changes_text(arena, first, variant, ratios);
}

/* "Cheapest: qlora. Fastest: full. Least memory: qlora." */
static const char *best_text(struct arena *arena, const struct comparison_variant *variants,
			     const struct comparison *found)
{
	const struct {
		const char *title;
		int index;
	} parts[] = {{"Cheapest", found->cheapest},
		     {"Fastest", found->fastest},
		     {"Least memory", found->smallest}};
	const char *text = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && text; i++)
		if (parts[i].index >= 0)
			text = arena_printf(arena, "%s%s%s: %s.", text, *text ? " " : "",
					    parts[i].title, variants[parts[i].index].name);
	return text;
}

bool comparison_compute(const struct comparison_variant *variants, int count, struct arena *arena,
			struct comparison *out)
{
	*out = (struct comparison){.cheapest = -1, .fastest = -1};
	if (bases_agree(variants, count, true))
		out->cheapest = least_of(variants, count, cost_figure);
	if (bases_agree(variants, count, false))
		out->fastest = least_of(variants, count, time_figure);
	out->smallest = least_of(variants, count, memory_figure);
	for (int i = 0; i < count; i++) {
		divide(&variants[0], &variants[i], &out->ratios[i]);
		out->ratios[i].text =
			ratios_text(arena, &variants[0], &variants[i], &out->ratios[i]);
		if (!out->ratios[i].text)
			return false;
	}
	out->text = best_text(arena, variants, out);
	return out->text != NULL;
}
