/*
 * Training on one set of degrees: sharding, recomputation and micro-batch.
 *
 * Exact but for what cannot win: the leanest layout decides whether any fits; recomputation only
 * costs time, so that no more of it is tried once the largest micro-batch fits, nor when even that
 * would not be the fastest; memory grows with the micro-batch, so that the largest that fits is
 * found by halving. It is also the fastest, but with a pipeline, where smaller ones leave a smaller
 * bubble, and with a given batch that larger ones divide among fewer ranks: then all that fit are
 * compared.
 */
#include "core/plan_parts.h"

#include <math.h>

/* Beyond this many tokens a pass, larger micro-batches gain nothing on any card. */
#define PASS_TOKENS 32768
#define MICRO_BATCH_MOST 64
#define BATCHES_MAX 8 /* 1, 2, 4 ... MICRO_BATCH_MOST */

struct batch {
	int64_t micro_batch, accumulation;
	int ranks;
};

struct batches {
	struct batch items[BATCHES_MAX]; /* micro-batches rising */
	int count;
	bool all_matter; /* the largest need not be the fastest */
};

struct choices plan_recomputes(const struct workload *workload)
{
	if (workload->recompute != RECOMPUTE_AUTO)
		return (struct choices){{workload->recompute}, 1};
	if (workload->stack == STACK_TORCHTITAN || workload->stack == STACK_MEGATRON)
		return (struct choices){{RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL}, 3};
	return (struct choices){{RECOMPUTE_NONE, RECOMPUTE_FULL}, 2};
}

/* Found once: a search for ranks that divide the batch, layout by layout, took seconds for a large
 * prime. */
void plan_divisors(int64_t batch, struct plan_basis *basis)
{
	int64_t low = 1, high;
	int *count = &basis->divisors_count;

	for (; low * low <= batch && *count < PLAN_DIVISORS_MAX; low++)
		if (batch % low == 0)
			basis->divisors[(*count)++] = (int32_t)low;
	for (int i = *count - 1; i >= 0 && *count < PLAN_DIVISORS_MAX; i--) {
		high = batch / basis->divisors[i];
		if (high > basis->divisors[*count - 1])
			basis->divisors[(*count)++] = (int32_t)high;
	}
}

/* The place of the largest divisor of the global batch up to `most`, which is at least 1. */
static int last_divisor(const struct plan_basis *basis, int most)
{
	int low = 0, high = basis->divisors_count;

	while (high - low > 1) {
		int middle = low + (high - low) / 2;

		if (basis->divisors[middle] <= most)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Data-parallel ranks and passes for a micro-batch. A global batch that the caller gave is kept to
 * the sequence, so that ranks beyond its divisors stay idle; our own default is only a target.
 */
static bool set_batch(const struct plan_basis *basis, int ranks, int64_t micro_batch,
		      struct batch *out)
{
	const struct workload *workload = basis->workload;
	int64_t batch = workload->global_batch;
	int i;

	*out = (struct batch){micro_batch, 1, ranks};
	if (!workload_has(workload, WORKLOAD_global_batch)) {
		int64_t pass = ranks * micro_batch;

		if (batch > pass && !workload->optimizer_in_backward)
			out->accumulation = (batch + pass - 1) / pass;
		return true;
	}
	if (batch % micro_batch)
		return false;
	batch /= micro_batch;
	/* Whatever divides a part of the batch divides the batch. */
	i = last_divisor(basis, ranks);
	while (batch % basis->divisors[i])
		i--;
	out->ranks = basis->divisors[i];
	out->accumulation = batch / out->ranks;
	/* Gradients that are freed as they come cannot be added up. */
	return out->accumulation == 1 || !workload->optimizer_in_backward;
}

static void list_batches(const struct plan_basis *basis, int ranks, struct batches *out)
{
	const struct workload *workload = basis->workload;
	int64_t most = PASS_TOKENS / workload->sequence_length, next = 1;
	int64_t share = workload->global_batch / ranks;

	out->count = 0;
	if (most > MICRO_BATCH_MOST)
		most = MICRO_BATCH_MOST;
	if (most > share)
		most = share;
	if (most < 1)
		most = 1;
	if (workload_has(workload, WORKLOAD_micro_batch))
		most = next = workload->micro_batch;
	for (; next <= most && out->count < BATCHES_MAX; next *= 2)
		if (set_batch(basis, ranks, next, &out->items[out->count]))
			out->count++;
}

static void take(struct layout *layout, const struct batch *batch)
{
	layout->micro_batch = batch->micro_batch;
	layout->accumulation = batch->accumulation;
	layout->data_parallel = batch->ranks;
}

static enum fit fit_of(struct training *training, const struct batch *batch)
{
	take(&training->plan.layout, batch);
	plan_judge(training->planning, &training->plan);
	return training->plan.fit;
}

static double speed_of(struct training *training, const struct batch *batch)
{
	struct plan *plan = &training->plan;

	take(&plan->layout, batch);
	plan_time(training->planning, training->fidelity, plan);
	training->rank_speed =
		fmax(training->rank_speed, plan->speed.tokens_per_second / batch->ranks);
	return plan->speed.tokens_per_second;
}

/* The last place up to `count` whose fit is at least `wanted`; the first is known to be. */
static int last_fitting(struct training *training, const struct batches *batches, enum fit wanted)
{
	int low = 0, high = batches->count;

	if (high > 1 && fit_of(training, &batches->items[high - 1]) >= wanted)
		return high - 1;
	for (high--; high - low > 1;) {
		int middle = low + (high - low) / 2;

		if (fit_of(training, &batches->items[middle]) >= wanted)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void offer(struct training *training, const struct batch *batch, enum fit fit, double speed)
{
	struct plan_pick *best = &training->best;

	if (fit < best->fit || (fit == best->fit && speed <= best->tokens_per_second))
		return;
	take(&training->plan.layout, batch);
	*best = (struct plan_pick){training->plan.layout, fit, speed};
}

/* Speeds by micro-batch, of the largest or of all. False when none would win. */
static bool time_all(struct training *training, const struct batches *batches, double *speeds)
{
	int end = batches->count - 1;
	double most = 0;

	for (int i = batches->all_matter ? 0 : end; i <= end; i++) {
		speeds[i] = speed_of(training, &batches->items[i]);
		most = fmax(most, speeds[i]);
	}
	return training->best.fit != FIT_FITS || most > training->best.tokens_per_second;
}

/* One sharding and recomputation. False when more recomputation can only be slower. */
static bool try_recompute(struct training *training, const struct batches *batches, bool is_first)
{
	double speeds[BATCHES_MAX];
	int end = batches->count - 1, last;
	enum fit fit;

	/* The first tells how fast these degrees can be at all. */
	if (is_first && !time_all(training, batches, speeds))
		return false;
	fit = fit_of(training, &batches->items[0]);
	if (fit == FIT_NO || fit < training->best.fit)
		return true;
	if (!is_first && !time_all(training, batches, speeds))
		return false;
	last = last_fitting(training, batches, fit);
	if (last < end && !batches->all_matter)
		speeds[last] = speed_of(training, &batches->items[last]);
	for (int i = batches->all_matter ? 0 : last; i <= last; i++) {
		const struct plan_pick *best = &training->best;

		if (fit == best->fit && speeds[i] <= best->tokens_per_second)
			continue;
		/* Those between the ends may need more than the last, which adds up no gradients
		 * where it takes the whole batch at once. */
		if (i == last || fit_of(training, &batches->items[i]) >= fit)
			offer(training, &batches->items[i], fit, speeds[i]);
	}
	return fit != FIT_FITS || last < end;
}

/*
 * Whether not even the leanest layouts of these degrees fit: everything recomputed, the smallest
 * micro-batch, and the sharding that spreads most. A pipeline gathers what is sharded for a whole
 * step, so that there any sharding may be the leanest.
 */
static bool is_hopeless(struct training *training, const struct choices *shardings,
			const struct batches *batches)
{
	struct layout *layout = &training->plan.layout;
	const struct choices *recomputes = &training->recomputes;
	int most = SHARDING_ZERO3;

	if (shardings->values[0] != SHARDING_ZERO3)
		most = shardings->values[shardings->count - 1];
	layout->recompute = (enum recompute)recomputes->values[recomputes->count - 1];
	for (int i = 0; i < shardings->count; i++) {
		layout->sharding = (enum sharding)shardings->values[i];
		if (shardings->values[i] != most && layout->pipeline_parallel == 1)
			continue;
		if (fit_of(training, &batches->items[0]) != FIT_NO)
			return false;
		plan_miss(training->planning, &training->plan);
	}
	return true;
}

/* The micro-batches and shardings of so many ranks; false when there are none. */
static bool prepare(struct training *training, int ranks, struct choices *shardings,
		    struct batches *batches)
{
	const struct layout *layout = &training->plan.layout;

	list_batches(training->planning->basis, ranks, batches);
	if (!batches->count)
		return false;
	batches->all_matter = layout->pipeline_parallel > 1 ||
			      batches->items[0].ranks != batches->items[batches->count - 1].ranks;
	*shardings = training->shardings;
	/* One rank has nothing to shard over, and hybrid differs only across nodes. */
	if (ranks == 1)
		*shardings = (struct choices){{SHARDING_NONE}, 1};
	else if (layout->nodes == 1 && shardings->count > 1 &&
		 shardings->values[shardings->count - 1] == SHARDING_HYBRID)
		shardings->count--;
	return true;
}

bool plan_is_hopeless(struct training *training, int ranks)
{
	struct choices shardings;
	struct batches batches;

	return !prepare(training, ranks, &shardings, &batches) ||
	       is_hopeless(training, &shardings, &batches);
}

void plan_batches(struct training *training, int ranks)
{
	struct layout *layout = &training->plan.layout;
	const struct choices *recomputes = &training->recomputes;
	const struct choices *shardings = &training->tried;
	struct batches batches;

	training->rank_speed = 0;
	if (!prepare(training, ranks, &training->tried, &batches) ||
	    is_hopeless(training, shardings, &batches))
		return;
	for (int i = 0; i < shardings->count; i++) {
		layout->sharding = (enum sharding)shardings->values[i];
		for (int j = 0; j < recomputes->count; j++) {
			layout->recompute = (enum recompute)recomputes->values[j];
			if (!try_recompute(training, &batches, j == 0))
				break;
		}
	}
}
