/*
 * Trials: the search for one remedy, which is of use only when it beats what there is. Shapes are
 * looked at by the least that the work could cost on them, so that all are left whose machines
 * alone would cost more, were their cards never to wait, than the best so far does in all.
 */
#include "core/recommend_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fewest bits that an element of a cache is tried with, when they are left open. */
#define CACHE_BITS 8.0

/* Tokens of training or requests of inference that are paid for; of a service a second's. */
static double work_units(const struct workload *workload)
{
	enum cost_unit unit;
	double one = cost_unit_tokens(workload, &unit);
	double counted =
		workload->passes *
		(workload->output_tokens > 0 ? (double)workload->output_tokens : workload->prompt);

	if (workload->task != TASK_INFERENCE)
		return workload->tokens > 0 ? workload->tokens : one;
	if (workload->requests > 0)
		return workload->requests;
	if (workload->mode == SERVING_BATCH)
		return workload->architecture->media ? one : one / counted;
	return workload->requests_per_second / PLAN_TARGET_LOAD;
}

static bool is_service(const struct workload *workload)
{
	return workload->task == TASK_INFERENCE && workload->mode == SERVING_INTERACTIVE &&
	       !(workload->requests > 0);
}

/* What all shapes share, and what those of one card do. */
struct least {
	const struct workload *workload;
	const struct accelerator *card;
	struct speed_basis basis; /* of no card */
	double cache_bits;
	double units, unit_seconds; /* of work; GPU-seconds of one on the card at least */
};

static void least_init(const struct workload *workload, struct least *out)
{
	out->workload = workload;
	out->card = NULL;
	out->units = work_units(workload);
	out->cache_bits = CACHE_BITS;
	if (workload->kv_format != FORMAT_AUTO)
		out->cache_bits = fmin(CACHE_BITS,
				       format_facts((enum format)workload->kv_format)->linear_bits);
	speed_prepare_work(workload, &out->basis);
}

/* In the fastest format that may be tried; 0 where the figures tell nothing. */
static double unit_seconds(const struct least *least, const struct accelerator *card)
{
	const struct workload *workload = least->workload;
	enum format native = workload->architecture->native_format;
	enum format tried[] = {FORMAT_BF16, FORMAT_FP16, FORMAT_FP8, FORMAT_INT8, native};
	size_t count = sizeof(tried) / sizeof(tried[0]);
	double fewest = HUGE_VAL;

	if (workload->task != TASK_INFERENCE || workload->weight_format != FORMAT_AUTO) {
		tried[0] = workload->task == TASK_INFERENCE ? (enum format)workload->weight_format
							    : FORMAT_AUTO;
		count = 1;
	}
	for (size_t i = 0; i < count; i++) {
		struct speed_basis basis = least->basis;

		if (!speed_prepare_card(&basis, card, tried[i], 0))
			return 0;
		fewest = fmin(fewest, speed_least_seconds(&basis, least->cache_bits));
	}
	return fewest;
}

static double least_micros(struct least *least, const struct shape *shape, int64_t hourly_micros)
{
	double gpus = (double)shape->count_milli / COUNT_MILLI_ONE, hours;

	if (least->card != shape->accelerator) {
		least->card = shape->accelerator;
		/* Parts of a card share its power in ways that are not told. */
		least->unit_seconds =
			least->card->devices > 1 ? 0 : unit_seconds(least, least->card);
	}
	if (gpus < 1)
		hours = 0;
	else
		hours = least->units * least->unit_seconds / gpus;
	if (is_service(least->workload))
		hours = fmax(hours, 1) * HOURS_PER_MONTH / 24 * least->workload->hours_per_day;
	else
		hours /= SECONDS_PER_HOUR;
	return (double)hourly_micros * hours;
}

bool search_is_beaten(const struct search *search, double least_micros)
{
	return search->bar->fit == FIT_FITS && least_micros > search->bar->micros * (1 + 1e-9) + 1;
}

void search_raise_bar(struct bar *bar, const struct candidate *candidate)
{
	double micros = (double)candidate->cost.total_micros;
	enum fit fit = candidate->plan->fit;

	if (fit > bar->fit || (fit == bar->fit && micros < bar->micros)) {
		bar->fit = fit;
		bar->micros = micros;
	}
}

static int compare_bars(const void *left, const void *right)
{
	const struct bar *a = left, *b = right;

	if (a->fit != b->fit)
		return a->fit > b->fit ? -1 : 1;
	return (a->micros > b->micros) - (a->micros < b->micros);
}

struct bar search_bar_of_best(const struct screen *screen, uint32_t shapes, uint32_t count,
			      struct arena *arena)
{
	struct bar *sorted = arena_array(arena, shapes, sizeof(*sorted));

	if (!sorted || shapes < count)
		return (struct bar){FIT_NO, HUGE_VAL, false};
	memcpy(sorted, screen->best, shapes * sizeof(*sorted));
	qsort(sorted, shapes, sizeof(*sorted), compare_bars);
	if (sorted[count - 1].fit == FIT_NO)
		return (struct bar){FIT_NO, HUGE_VAL, false};
	return sorted[count - 1];
}

static int compare_turns(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;
	int order = (a->least_micros > b->least_micros) - (a->least_micros < b->least_micros);

	return order ? order : (a->place > b->place) - (a->place < b->place);
}

uint32_t search_turns(const struct search *search, struct turn *turns)
{
	const struct catalogue *catalogue = search->catalogue;
	struct least least;
	uint32_t count = 0;

	least_init(&search->request->workload, &least);
	for (uint32_t i = 0; i < catalogue->shapes_count; i++) {
		int64_t hourly = search->screen->cheapest_micros[i];
		double micros;

		if (!hourly || (search->bar->is_spread && !catalogue->shapes[i].has_cluster))
			continue;
		micros = least_micros(&least, &catalogue->shapes[i], hourly);
		if (!search_is_beaten(search, micros))
			turns[count++] = (struct turn){micros, i};
	}
	qsort(turns, count, sizeof(*turns), compare_turns);
	return count;
}
