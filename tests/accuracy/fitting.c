/* Coordinate descent over the fitted constants: see fitting.h. */
#include "tests/accuracy/fitting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* No row counts for more than a factor of two off. */
#define LOSS_CAP 0.7
/* Memory that is said too small is a failed run: it counts for this many times as much. */
#define SHORT_OF_MEMORY 1.5
/* A step must gain this much. */
#define LEAST_GAIN 1e-6
#define PASSES_A_STEP 3

/* Shares of a constant's range. */
static const double steps[] = {0.3, 0.12, 0.05, 0.02, 0.008};

static void *zeros(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		abort();
	return memory;
}

static double row_loss(const struct result *item)
{
	double ratio = item->predicted / item->measured;
	bool is_short = item->table == RESULT_MEMORY && ratio < 1;

	if (!item->is_used || !(ratio > 0))
		return LOSS_CAP;
	return fmin((is_short ? SHORT_OF_MEMORY : 1) * fabs(log(ratio)), LOSS_CAP);
}

/* Marks the rows whose prediction differs from `base` at the present values. */
static void mark_moved(const struct fitting *fitting, const double *base, bool *is_moved)
{
	for (size_t i = 0; i < fitting->results->count; i++) {
		struct result *item = &fitting->results->items[i];
		struct result trial;

		if (item->reason != SKIP_NONE || item->table == RESULT_FIT || is_moved[i])
			continue;
		trial = *item;
		trial.predict(&trial);
		is_moved[i] = !trial.is_used || fabs(trial.predicted / base[i] - 1) > 1e-9;
	}
}

/* Which rows a constant bears upon: those that move when it goes to either end of its range. */
static void find_rows(struct fitting *fitting, size_t which, const double *base)
{
	struct constant *constant = &fitting->constants[which];
	size_t all = fitting->results->count;
	bool *is_moved = zeros(all, sizeof(*is_moved));
	double value = *constant->value;

	*constant->value = constant->low;
	mark_moved(fitting, base, is_moved);
	*constant->value = constant->high;
	mark_moved(fitting, base, is_moved);
	*constant->value = value;
	fitting->rows[which] = zeros(all, sizeof(*fitting->rows[which]));
	for (size_t i = 0; i < all; i++)
		if (is_moved[i])
			fitting->rows[which][fitting->rows_count[which]++] = i;
	free(is_moved);
}

/* Once: it takes as long as a hundred predictions of every row. */
static void find_all_rows(struct fitting *fitting)
{
	double *base = zeros(fitting->results->count, sizeof(*base));

	for (size_t i = 0; i < fitting->results->count; i++)
		base[i] = fitting->results->items[i].predicted;
	for (size_t i = 0; i < fitting->count && !fitting->rows[i]; i++)
		find_rows(fitting, i, base);
	free(base);
}

/* The first result of the same kind, and of the same source within it. */
static void find_groups(struct fitting *fitting)
{
	const struct results *results = fitting->results;

	for (size_t i = 0; i < results->count; i++) {
		const struct result *item = &results->items[i];

		fitting->kinds[i] = fitting->sources[i] = i;
		for (size_t j = i; j-- > 0;) {
			const struct result *other = &results->items[j];

			if (other->table != item->table || strcmp(other->kind, item->kind) != 0)
				continue;
			fitting->kinds[i] = fitting->kinds[j];
			if (strcmp(other->source, item->source) == 0) {
				fitting->sources[i] = fitting->sources[j];
				break;
			}
		}
	}
}

void fitting_prepare(struct results *results, struct fitting *out)
{
	*out = (struct fitting){.results = results, .price = FITTING_PRICE};
	out->count = constants_all(out->constants, CONSTANTS_MAX);
	out->weights = zeros(results->count, sizeof(*out->weights));
	out->losses = zeros(results->count, sizeof(*out->losses));
	out->kinds = zeros(results->count, sizeof(*out->kinds));
	out->sources = zeros(results->count, sizeof(*out->sources));
	find_groups(out);
	for (size_t i = 0; i < out->count; i++)
		out->anchors[i] = out->constants[i].present;
}

void fitting_free(struct fitting *fitting)
{
	for (size_t i = 0; i < fitting->count; i++)
		free(fitting->rows[i]);
	free(fitting->kinds);
	free(fitting->sources);
	free(fitting->weights);
	free(fitting->losses);
}

static void predict_all(struct fitting *fitting)
{
	for (size_t i = 0; i < fitting->results->count; i++) {
		struct result *item = &fitting->results->items[i];

		item->predict(item);
		fitting->losses[i] = row_loss(item);
	}
}

void fitting_set_present(struct fitting *fitting)
{
	for (size_t i = 0; i < fitting->count; i++)
		*fitting->constants[i].value = fitting->anchors[i] = fitting->constants[i].present;
	predict_all(fitting);
}

/* Half a row's weight is its share of the kind's rows, half its share of one of the kind's sources.
 */
static void weigh(struct fitting *fitting, const bool *is_chosen)
{
	size_t all = fitting->results->count;
	size_t *rows = zeros(all, sizeof(*rows)), *same = zeros(all, sizeof(*same)),
	       *sources = zeros(all, sizeof(*sources));

	for (size_t i = 0; i < all; i++) {
		const struct result *item = &fitting->results->items[i];

		fitting->weights[i] = is_chosen[i] && item->is_used && item->table != RESULT_FIT;
		if (!(fitting->weights[i] > 0))
			continue;
		rows[fitting->kinds[i]]++;
		sources[fitting->kinds[i]] += same[fitting->sources[i]]++ == 0;
	}
	for (size_t i = 0; i < all; i++)
		if (fitting->weights[i] > 0) {
			size_t kind = fitting->kinds[i];

			fitting->weights[i] =
				0.5 / (double)rows[kind] +
				0.5 / (double)(sources[kind] * same[fitting->sources[i]]);
		}
	free(rows);
	free(same);
	free(sources);
}

/* How the loss changes with one constant at `value`; keeps the change if it gains. */
static double try_value(struct fitting *fitting, size_t which, double value, double *losses)
{
	struct constant *constant = &fitting->constants[which];
	double before = *constant->value, anchor = fitting->anchors[which];
	double change = fitting->price * (constant_distance(constant, anchor, value) -
					  constant_distance(constant, anchor, before));

	*constant->value = value;
	for (size_t i = 0; i < fitting->rows_count[which]; i++) {
		size_t row = fitting->rows[which][i];
		struct result *item = &fitting->results->items[row];

		if (!(fitting->weights[row] > 0))
			continue;
		item->predict(item);
		losses[i] = row_loss(item);
		change += fitting->weights[row] * (losses[i] - fitting->losses[row]);
	}
	if (change > -LEAST_GAIN) {
		*constant->value = before;
		return 0;
	}
	for (size_t i = 0; i < fitting->rows_count[which]; i++)
		if (fitting->weights[fitting->rows[which][i]] > 0)
			fitting->losses[fitting->rows[which][i]] = losses[i];
	return change;
}

/* Steps of one size, up or down for as long as they gain. */
static double step(struct fitting *fitting, size_t which, double share, double *losses)
{
	struct constant *constant = &fitting->constants[which];
	double factor = pow(constant->high / constant->low, share), total = 0;

	for (int up = 0; up <= 1; up++)
		for (bool gains = true; gains;) {
			double value = up ? *constant->value * factor : *constant->value / factor;
			double change;

			value = fmin(fmax(value, constant->low), constant->high);
			change = fabs(value / *constant->value - 1) > 1e-9
					 ? try_value(fitting, which, value, losses)
					 : 0;
			total += change;
			gains = change < 0;
		}
	return total;
}

void fitting_run(struct fitting *fitting, const bool *is_chosen)
{
	double *losses = zeros(fitting->results->count, sizeof(*losses));

	find_all_rows(fitting);
	for (size_t i = 0; i < fitting->count; i++)
		*fitting->constants[i].value = fitting->anchors[i];
	predict_all(fitting);
	weigh(fitting, is_chosen);
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++)
		for (int pass = 0; pass < PASSES_A_STEP; pass++) {
			double change = 0;

			for (size_t i = 0; i < fitting->count; i++)
				change += step(fitting, i, steps[s], losses);
			if (change > -LEAST_GAIN)
				break;
		}
	free(losses);
	predict_all(fitting);
}

double fitting_gain(struct fitting *fitting, size_t constant)
{
	double value = *fitting->constants[constant].value, change = 0;

	*fitting->constants[constant].value = fitting->anchors[constant];
	for (size_t i = 0; i < fitting->rows_count[constant]; i++) {
		size_t row = fitting->rows[constant][i];
		struct result trial = fitting->results->items[row];

		trial.predict(&trial);
		change += fitting->weights[row] * (row_loss(&trial) - fitting->losses[row]);
	}
	*fitting->constants[constant].value = value;
	return 100 * change;
}
