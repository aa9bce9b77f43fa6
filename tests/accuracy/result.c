/* Figures of the accuracy harness: see result.h. */
#include "tests/accuracy/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct result *results_add(struct results *results)
{
	if (results->count == results->room) {
		results->room = results->room ? results->room * 2 : 1024;
		results->items = realloc(results->items, results->room * sizeof(*results->items));
		if (!results->items)
			abort();
	}
	memset(&results->items[results->count], 0, sizeof(results->items[0]));
	return &results->items[results->count++];
}

void results_free(struct results *results)
{
	free(results->items);
	*results = (struct results){0};
}

/* Kinds that both tables have. */
static const char *const shared_kinds[] = {"audio", "diffusion_infer"};
#define SHARED_KINDS (sizeof(shared_kinds) / sizeof(shared_kinds[0]))

void result_set_kind(struct result *result, const char *kind)
{
	const char *table = "";

	for (size_t i = 0; i < SHARED_KINDS; i++)
		if (strcmp(kind, shared_kinds[i]) == 0)
			table = result->table == RESULT_MEMORY ? "_memory" : "_speed";
	snprintf(result->kind, sizeof(result->kind), "%s%s", kind, table);
}

const char *result_kind_of_rows(const char *kind)
{
	for (size_t i = 0; i < SHARED_KINDS; i++) {
		size_t length = strlen(shared_kinds[i]);

		if (strncmp(kind, shared_kinds[i], length) == 0 &&
		    (strcmp(kind + length, "_memory") == 0 || strcmp(kind + length, "_speed") == 0))
			return shared_kinds[i];
	}
	return kind;
}

void result_close(struct result *result, enum skip reason)
{
	result->reason = reason;
	result->is_used = reason == SKIP_NONE;
	if (result->is_used)
		result->error_percent = 100 * (result->predicted / result->measured - 1);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Linear between ranks; sorts `values`. */
static double percentile(double *values, size_t count, double share)
{
	double position;
	size_t below;

	if (!count)
		return (double)NAN;
	qsort(values, count, sizeof(*values), compare_doubles);
	position = share * (double)(count - 1);
	below = (size_t)position;
	if (below + 1 >= count)
		return values[count - 1];
	return values[below] + (position - (double)below) * (values[below + 1] - values[below]);
}

struct selection {
	const struct result **items;
	size_t count;
	double *values; /* room for count */
};

static void plain_figures(const struct selection *selection, struct figures *out)
{
	double sum = 0, under = 0;
	size_t n = selection->count;

	for (size_t i = 0; i < n; i++) {
		double error = selection->items[i]->error_percent;

		sum += error;
		under += error < -10;
		selection->values[i] = fabs(error);
	}
	out->bias = n ? sum / (double)n : (double)NAN;
	out->under10 = n ? 100 * under / (double)n : (double)NAN;
	out->median = percentile(selection->values, n, 0.5);
	out->p90 = percentile(selection->values, n, 0.9);
	for (size_t i = 0; i < n; i++)
		selection->values[i] =
			selection->items[i]->measured / selection->items[i]->predicted;
	out->low = percentile(selection->values, n, 0.1);
	out->high = percentile(selection->values, n, 0.9);
}

/* Weighted percentile where every source weighs the same. */
static double macro_percentile(const struct selection *selection, double share)
{
	size_t n = selection->count;
	struct {
		double value, weight;
	} *points = calloc(n ? n : 1, sizeof(*points));
	double total = 0, sum = 0, found = (double)NAN;

	for (size_t i = 0; i < n; i++) {
		size_t same = 0;

		for (size_t j = 0; j < n; j++)
			same += strcmp(selection->items[i]->source, selection->items[j]->source) ==
				0;
		points[i].value = fabs(selection->items[i]->error_percent);
		points[i].weight = 1.0 / (double)same;
		total += points[i].weight;
	}
	qsort(points, n, sizeof(*points), compare_doubles);
	for (size_t i = 0; i < n; i++) {
		sum += points[i].weight;
		if (sum >= share * total) {
			found = points[i].value;
			break;
		}
	}
	free(points);
	return found;
}

/* Spread among repeats of one setting: each value against the median of its group. */
static void noise_figures(const struct selection *selection, struct figures *out)
{
	size_t n = selection->count, used = 0;
	double *group = calloc(n ? n : 1, sizeof(*group));

	for (size_t i = 0; i < n; i++) {
		size_t count = 0;

		for (size_t j = 0; j < n; j++)
			if (strcmp(selection->items[i]->setting, selection->items[j]->setting) == 0)
				group[count++] = selection->items[j]->measured;
		if (count >= 2)
			selection->values[used++] =
				fabs(100 * (selection->items[i]->measured /
						    percentile(group, count, 0.5) -
					    1));
	}
	out->noise_rows = used;
	out->noise_median = percentile(selection->values, used, 0.5);
	out->noise_p90 = percentile(selection->values, used, 0.9);
	free(group);
}

/* Kendall's tau over pairs of rows that differ only in hardware. */
static void tau_figures(const struct selection *selection, struct figures *out)
{
	double sum = 0;

	for (size_t i = 0; i < selection->count; i++)
		for (size_t j = i + 1; j < selection->count; j++) {
			const struct result *a = selection->items[i], *b = selection->items[j];
			double measured, predicted;

			if (!a->configuration[0] ||
			    strcmp(a->configuration, b->configuration) != 0 ||
			    strcmp(a->card, b->card) == 0)
				continue;
			measured = a->measured - b->measured;
			predicted = a->predicted - b->predicted;
			out->pairs++;
			sum += (measured * predicted > 0) - (measured * predicted < 0);
		}
	out->tau = out->pairs ? sum / (double)out->pairs : (double)NAN;
}

static void fit_figures(const struct selection *selection, struct figures *out)
{
	double fitted = 0, missed = 0, failed = 0, passed = 0;

	for (size_t i = 0; i < selection->count; i++) {
		const struct result *item = selection->items[i];

		if (item->measured > 0.5) {
			fitted++;
			missed += item->predicted < 0.5;
		} else {
			failed++;
			passed += item->predicted > 0.5;
		}
	}
	out->false_oom = fitted > 0 ? 100 * missed / fitted : (double)NAN;
	out->false_fit = failed > 0 ? 100 * passed / failed : (double)NAN;
}

static void compute(const struct results *results, struct figures *out)
{
	struct selection selection = {0};

	selection.items = calloc(results->count, sizeof(*selection.items));
	selection.values = calloc(results->count, sizeof(*selection.values));
	if (!selection.items || !selection.values)
		abort();
	for (size_t i = 0; i < results->count; i++) {
		const struct result *item = &results->items[i];

		if (item->table != out->table || strcmp(item->kind, out->kind) != 0)
			continue;
		out->rows++;
		out->suffice += skip_counts(item->reason);
		if (item->is_used)
			selection.items[selection.count++] = item;
	}
	out->used = selection.count;
	if (out->table == RESULT_FIT) {
		fit_figures(&selection, out);
		out->median = out->p90 = out->bias = out->under10 = (double)NAN;
		out->macro_median = out->macro_p90 = (double)NAN;
		out->noise_median = out->noise_p90 = out->tau = (double)NAN;
	} else {
		out->false_fit = out->false_oom = (double)NAN;
		plain_figures(&selection, out);
		out->macro_median = macro_percentile(&selection, 0.5);
		out->macro_p90 = macro_percentile(&selection, 0.9);
		noise_figures(&selection, out);
		tau_figures(&selection, out);
	}
	free(selection.items);
	free(selection.values);
}

size_t figures_compute(const struct results *results, struct figures *out, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < results->count; i++) {
		bool is_known = false;

		for (size_t j = 0; j < count; j++)
			is_known = is_known || (out[j].table == results->items[i].table &&
						strcmp(out[j].kind, results->items[i].kind) == 0);
		if (is_known || count == max)
			continue;
		out[count] = (struct figures){.kind = results->items[i].kind,
					      .table = results->items[i].table};
		compute(results, &out[count++]);
	}
	return count;
}
