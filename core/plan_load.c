/*
 * The load of one serving replica: how many sequences it holds, in memory and within the limits on
 * latency, and how few answer a rate.
 */
#include "core/plan_parts.h"

#include "core/extremes.h"

#include <math.h>

/* A load that is too much by less than any figure tells. */
#define OVER (1 + 1e-9)

/* How many times over its latency limits a layout is; up to 1 keeps them. */
static double latency_distance(const struct workload *workload, const struct speed_load *load)
{
	double distance = 0;

	if (workload->max_ttft_seconds > 0)
		distance = load->ttft_seconds / workload->max_ttft_seconds;
	if (workload->max_tpot_seconds > 0)
		distance = larger(distance, load->tpot_seconds / workload->max_tpot_seconds);
	return distance;
}

void plan_load_judge(struct serving *serving)
{
	struct planning *planning = serving->planning;
	struct plan *plan = &serving->plan;

	planning->evaluations++;
	memory_estimate_load(&planning->basis->memory, &plan->layout, &planning->basis->slice,
			     &serving->copy->memory, &plan->memory);
	plan_fit(planning, plan);
}

void plan_load_time(struct serving *serving)
{
	struct planning *planning = serving->planning;
	struct plan *plan = &serving->plan;

	planning->evaluations++;
	plan->support = serving->format->support;
	speed_estimate_load(&serving->format->speed, &plan->layout, &planning->fabric,
			    &serving->copy->speed, &plan->speed);
}

/* What the search asks of a replica of the plan's layout. */
static struct speed_load time_load(struct serving *serving)
{
	struct planning *planning = serving->planning;
	struct plan_copy *copy = serving->copy;
	unsigned count = copy->loads_count, at = count % PLAN_LOADS;
	double sequences = serving->plan.layout.sequences;

	for (unsigned i = 0; i < count && i < PLAN_LOADS; i++)
		if (fabs(copy->loads[i].sequences - sequences) <= 0)
			return copy->loads[i].load;
	planning->evaluations++;
	copy->loads[at].sequences = sequences;
	copy->loads[at].load = speed_load_of(&serving->format->speed, &serving->plan.layout,
					     &planning->fabric, &copy->speed);
	copy->loads_count++;
	return copy->loads[at].load;
}

void plan_load_miss(struct serving *serving, double distance)
{
	struct plan_set *set = serving->planning->out;

	if (set->count || (set->slow_distance > 0 && distance >= set->slow_distance))
		return;
	plan_load_time(serving);
	set->slow = serving->plan;
	set->slow_distance = distance;
}

/*
 * How many times over what it may take a replica with that many sequences is, in memory for a fit
 * of `wanted` or in its latency; up to 1 it holds them. Grows with the sequences, almost linearly.
 */
double plan_load(struct serving *serving, double sequences, enum fit wanted)
{
	const struct workload *workload = serving->workload;
	const struct memory_estimate *memory = &serving->plan.memory;
	struct speed_load speed;
	double load, distance;

	serving->plan.layout.sequences = sequences;
	plan_load_judge(serving);
	serving->judged = sequences;
	serving->is_late = false;
	load = memory->device_bytes / serving->planning->limit_bytes;
	if (wanted == FIT_FITS)
		load = larger(load, memory->high_bytes / serving->planning->usable_bytes);
	if (serving->plan.fit < wanted)
		return larger(load, OVER);
	if (!(workload->max_ttft_seconds > 0) && !(workload->max_tpot_seconds > 0))
		return load;
	speed = time_load(serving);
	distance = latency_distance(workload, &speed);
	serving->is_late = distance > 1;
	/* Fewer sequences may keep a limit that more do not. */
	if (distance > 1 && sequences <= 1) {
		serving->missed = distance;
		plan_load_miss(serving, distance);
	}
	return larger(load, distance);
}

/* A whole number strictly between low and high, near `guess`. */
static double between(double low, double high, double guess)
{
	return larger(low + 1, smaller(high - 1, floor(guess)));
}

/*
 * The next of whole numbers to try between one that is low and one that is high. `share` is where
 * between them the border would be if all were linear: that first, then its neighbour on the other
 * side, and the middle when both were wrong.
 */
static double next_guess(int step, double low, double high, double share, bool was_low)
{
	switch (step % 3) {
	case 0:
		return between(low, high, low + (high - low) * share);
	case 1:
		return was_low ? low + 1 : high - 1;
	default:
		return between(low, high, (low + high) / 2);
	}
}

static double find_held(struct serving *serving, double wanted, enum fit fit)
{
	double low = 1, high = wanted, at_low, at_high = plan_load(serving, wanted, fit);
	bool was_low = false, is_late = serving->is_late;

	if (at_high <= 1)
		return wanted;
	if (wanted <= 1)
		return 0;
	at_low = plan_load(serving, 1, fit);
	if (at_low > 1)
		return 0;
	for (int step = 0; high - low > 1; step++) {
		double guess =
			next_guess(step, low, high, (1 - at_low) / (at_high - at_low), was_low);
		double load = plan_load(serving, guess, fit);

		was_low = load <= 1;
		if (was_low) {
			low = guess;
			at_low = load;
		} else {
			high = guess;
			at_high = load;
			is_late = serving->is_late;
		}
	}
	serving->is_late = is_late;
	return low;
}

/* Most sequences, up to `wanted`, that one replica holds; 0 when not even one. Machines of more of
 * the same cards ask the same of a copy: then only what the search leaves behind is done again. */
double plan_load_held(struct serving *serving, double wanted, enum fit fit)
{
	struct plan_held *held = &serving->copy->held;

	if (held->fit == (int)fit && !(fabs(held->wanted - wanted) > 0)) {
		serving->plan.layout.sequences = serving->judged = held->tried;
		plan_load_judge(serving);
		serving->is_late = held->is_late;
		if (held->missed > 0)
			plan_load_miss(serving, held->missed);
		return held->sequences;
	}
	serving->missed = 0;
	held->sequences = find_held(serving, wanted, fit);
	held->wanted = wanted;
	held->fit = (int)fit;
	held->tried = serving->judged;
	held->missed = serving->missed;
	held->is_late = serving->is_late;
	return held->sequences;
}

double plan_load_rate(struct serving *serving, double sequences)
{
	serving->plan.layout.sequences = sequences;
	return time_load(serving).requests_per_second;
}

/*
 * Fewest sequences a replica at which it answers `rate` requests a second; `most` when none does.
 * The time of a request is a constant and a share for each sequence beside it, so that 1/rate is
 * almost linear in 1/sequences.
 */
double plan_load_for_rate(struct serving *serving, double rate, double most)
{
	double low = 1, high = most, at_low = plan_load_rate(serving, low), at_high;
	bool was_low = false;

	if (at_low >= rate || most <= 1)
		return low;
	at_high = plan_load_rate(serving, high);
	if (at_high < rate)
		return high;
	for (int step = 0; high - low > 1; step++) {
		double inverse = (1 / rate - 1 / at_low) / (1 / at_high - 1 / at_low);
		double border = 1 / (1 / low + inverse * (1 / high - 1 / low));
		double guess = next_guess(step, low, high, (border - low) / (high - low), was_low);
		double reached = plan_load_rate(serving, guess);

		was_low = reached < rate;
		if (was_low) {
			low = guess;
			at_low = reached;
		} else {
			high = guess;
			at_high = reached;
		}
	}
	return high;
}
