/* What the accuracy harness prints. */
#include "tests/accuracy/result.h"

#include "core/accuracy.h"
#include "tests/accuracy/cross_validated.h"

#include <math.h>
#include <string.h>

static const char *const table_text[RESULT_TABLES] = {
	[RESULT_MEMORY] = "memory",
	[RESULT_THROUGHPUT] = "throughput",
	[RESULT_FIT] = "fit",
};

/* Share of the rows whose columns suffice that is compared, in per cent. */
static double used_share(const struct figures *figures)
{
	return figures->suffice ? 100 * (double)figures->used / (double)figures->suffice
				: (double)NAN;
}

/* A kind without a record has unknown figures. */
static struct cross_validated cross_validated(const char *kind)
{
	const struct cross_validated *found = cross_validated_find(kind);
	double none = (double)NAN;

	return found ? *found : (struct cross_validated){kind, none, none, none, none, none, none};
}

/* Skipped rows of a kind by reason. */
static void skipped(FILE *file, const struct results *results, const struct figures *figures)
{
	for (size_t i = 0; i < results->count; i++) {
		const struct result *first = &results->items[i];
		size_t count = 0;
		bool is_first = true;

		if (first->is_used || first->table != figures->table ||
		    strcmp(first->kind, figures->kind) != 0)
			continue;
		for (size_t j = 0; j < results->count; j++) {
			const struct result *other = &results->items[j];

			if (other->is_used || other->table != figures->table ||
			    strcmp(other->kind, figures->kind) != 0 ||
			    other->reason != first->reason)
				continue;
			if (j < i)
				is_first = false;
			count++;
		}
		if (is_first)
			fprintf(file, "    skipped %4zu, %s: %s (%s%s)\n", count,
				skip_class_text(skip_class(first->reason)),
				skip_text(first->reason), first->id, count > 1 ? ", ..." : "");
	}
}

void report_text(FILE *file, const struct results *results, const struct figures *figures,
		 size_t count)
{
	fprintf(file,
		"%-20s %5s %7s %5s %5s %7s %7s %7s %7s | %7s %7s | %7s %7s | %6s %6s | %6s %5s\n",
		"kind", "rows", "suffice", "used", "share", "median", "p90", "bias", "under10",
		"macro50", "macro90", "cross50", "cross90", "noise50", "noise90", "tau", "pairs");
	for (size_t i = 0; i < count; i++) {
		const struct figures *f = &figures[i];
		struct cross_validated cross = cross_validated(f->kind);

		if (f->table == RESULT_FIT)
			fprintf(file,
				"%-20s %5zu %7zu %5zu %5.1f  said fits though it did not %.1f %%, "
				"said no "
				"though it did %.1f %%\n",
				f->kind, f->rows, f->suffice, f->used, used_share(f), f->false_fit,
				f->false_oom);
		else
			fprintf(file,
				"%-20s %5zu %7zu %5zu %5.1f %7.2f %7.2f %7.2f %7.2f | %7.2f %7.2f "
				"| %7.2f "
				"%7.2f | %6.2f %6.2f | %6.3f %5zu\n",
				f->kind, f->rows, f->suffice, f->used, used_share(f), f->median,
				f->p90, f->bias, f->under10, f->macro_median, f->macro_p90,
				cross.median_percent, cross.p90_percent, f->noise_median,
				f->noise_p90, f->tau, f->pairs);
		skipped(file, results, f);
	}
}

void report_rows(FILE *file, const struct results *results)
{
	for (size_t i = 0; i < results->count; i++) {
		const struct result *r = &results->items[i];

		if (r->is_used && r->table == RESULT_FIT)
			fprintf(file, "%s %s %s: predicted %s, measured %s [%s] %s | %s | %s\n",
				r->kind, r->id,
				(r->predicted > 0.5) == (r->measured > 0.5) ? "right" : "WRONG",
				r->predicted > 0.5 ? "fits" : "does not",
				r->measured > 0.5 ? "fits" : "does not", r->terms, r->model,
				r->card, r->source);
		else if (r->is_used)
			fprintf(file,
				"%s %s %+7.1f%% predicted %.4g measured %.4g [%s] %s | %s | %s\n",
				r->kind, r->id, r->error_percent, r->predicted, r->measured,
				r->terms, r->model, r->card, r->source);
		else
			fprintf(file, "%s %s skipped, %s: %s | %s | %s | %s\n", r->kind, r->id,
				skip_class_text(skip_class(r->reason)), skip_text(r->reason),
				r->reason == SKIP_REFUSED ? r->terms : "", r->model, r->source);
	}
}

static void text_json(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		if ((unsigned char)*text >= 0x20)
			fputc(*text, file);
	}
	fputc('"', file);
}

static void number_json(FILE *file, const char *name, double value)
{
	if (isfinite(value))
		fprintf(file, ", \"%s\": %.3f", name, value);
	else
		fprintf(file, ", \"%s\": null", name);
}

void report_json(FILE *file, const struct results *results, const struct figures *figures,
		 size_t count)
{
	fprintf(file, "{\"kinds\": [");
	for (size_t i = 0; i < count; i++) {
		const struct figures *f = &figures[i];
		struct cross_validated cross = cross_validated(f->kind);

		fprintf(file,
			"%s\n  {\"kind\": \"%s\", \"table\": \"%s\", \"rows\": %zu, \"suffice\": "
			"%zu, \"used\": %zu",
			i ? "," : "", result_kind_of_rows(f->kind), table_text[f->table], f->rows,
			f->suffice, f->used);
		number_json(file, "used_share", used_share(f));
		number_json(file, "median", f->median);
		number_json(file, "p90", f->p90);
		number_json(file, "bias", f->bias);
		number_json(file, "under10", f->under10);
		number_json(file, "macro_median", f->macro_median);
		number_json(file, "macro_p90", f->macro_p90);
		number_json(file, "cross_validated_median", cross.median_percent);
		number_json(file, "cross_validated_p90", cross.p90_percent);
		number_json(file, "cross_validated_under10", cross.under10_percent);
		number_json(file, "noise_median", f->noise_median);
		number_json(file, "noise_p90", f->noise_p90);
		fprintf(file, ", \"noise_rows\": %zu", f->noise_rows);
		number_json(file, "low", f->low);
		number_json(file, "high", f->high);
		number_json(file, "tau", f->tau);
		fprintf(file, ", \"pairs\": %zu", f->pairs);
		number_json(file, "false_fit", f->false_fit);
		number_json(file, "false_oom", f->false_oom);
		fprintf(file, ", \"skipped\": [");
		bool first = true;
		for (size_t j = 0; j < results->count; j++) {
			const struct result *r = &results->items[j];

			if (r->is_used || r->table != f->table || strcmp(r->kind, f->kind) != 0)
				continue;
			fprintf(file, "%s{\"id\": ", first ? "" : ", ");
			text_json(file, r->id);
			fprintf(file, ", \"reason\": ");
			text_json(file, skip_text(r->reason));
			fprintf(file, ", \"class\": \"%s\"",
				skip_class_text(skip_class(r->reason)));
			fputc('}', file);
			first = false;
		}
		fprintf(file, "]}");
	}
	fprintf(file, "\n]}\n");
}

/* A plain median that moved by more than this is of another predictor. */
#define STALE_PERCENT 0.2

static void number_record(FILE *file, double value, int digits)
{
	if (isfinite(value))
		fprintf(file, "%.*f", digits, value);
	else
		fprintf(file, "(double)NAN");
}

void report_record(FILE *file, const struct figures *figures, size_t count)
{
	fprintf(file, "/* Written by tests/accuracy/run --record: do not edit. */\n");
	for (size_t i = 0; i < count; i++) {
		const struct figures *f = &figures[i];
		struct cross_validated cross = cross_validated(f->kind);

		if (f->table == RESULT_FIT || !f->used)
			continue;
		if (!(fabs(f->median - cross.plain_median_percent) < STALE_PERCENT))
			fprintf(stderr, "%s: the predictor changed since its cross-validation\n",
				f->kind);
		fprintf(file,
			"\t{.kind = \"%s\", .table = \"%s\", .rows = %zu, .used = %zu, "
			".median_percent = %.2f, "
			".p90_percent = %.2f, .under10_percent = %.2f, .tau = ",
			f->kind, table_text[f->table], f->rows, f->used, f->median, f->p90,
			f->under10);
		number_record(file, f->tau, 3);
		fprintf(file, ", .pairs = %zu, .cross_median_percent = ", f->pairs);
		number_record(file, cross.median_percent, 2);
		fprintf(file, ", .cross_p90_percent = ");
		number_record(file, cross.p90_percent, 2);
		fprintf(file, ", .low = %.3f, .high = %.3f},\n", fmin(f->low, cross.low),
			fmax(f->high, cross.high));
	}
}

void report_markdown(FILE *file, const struct figures *figures, size_t count)
{
	fprintf(file, "| kind | rows | columns suffice | compared | median error | 90th percentile "
		      "| under by > 10 %% | cross-validated: median, 90th | tau (pairs) |\n"
		      "|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < count; i++) {
		const struct figures *f = &figures[i];
		struct cross_validated cross = cross_validated(f->kind);

		if (f->table == RESULT_FIT) {
			fprintf(file,
				"| did it fit | %zu | %zu | %zu | said yes, was no: %.1f %% "
				"| said no, was yes: %.1f %% | | | |\n",
				f->rows, f->suffice, f->used, f->false_fit, f->false_oom);
			continue;
		}
		fprintf(file,
			"| %s | %zu | %zu | %zu | %.1f %% | %.1f %% | %.1f %% | %.1f %%, %.1f %% "
			"| ",
			f->kind, f->rows, f->suffice, f->used, f->median, f->p90, f->under10,
			cross.median_percent, cross.p90_percent);
		if (f->pairs)
			fprintf(file, "%.2f (%zu) |\n", f->tau, f->pairs);
		else
			fprintf(file, "|\n");
	}
}

/* Rounding of the record. */
#define SLACK_PERCENT 0.02
/* Of the rows whose columns suffice, this share must be compared. */
#define LEAST_USED_PERCENT 85.0

static size_t worse(FILE *file, const char *kind, const char *what, double now, double then)
{
	if (!(now > then + SLACK_PERCENT))
		return 0;
	fprintf(file, "%s: %s is %.2f %%, was %.2f %%\n", kind, what, now, then);
	return 1;
}

size_t report_check(FILE *file, const struct figures *figures, size_t count)
{
	size_t faults = 0;

	for (size_t i = 0; i < count; i++) {
		const struct figures *f = &figures[i];
		const struct accuracy *then = accuracy_find(f->kind);

		if (used_share(f) < LEAST_USED_PERCENT) {
			fprintf(file,
				"%s: %zu of %zu rows whose columns suffice are compared: under "
				"%.0f %%\n",
				f->kind, f->used, f->suffice, LEAST_USED_PERCENT);
			faults++;
		}
		if (f->table == RESULT_FIT || !then)
			continue;
		faults += worse(file, f->kind, "median error", f->median, then->median_percent);
		faults += worse(file, f->kind, "90th percentile", f->p90, then->p90_percent);
		faults += worse(file, f->kind, "share under-predicted", f->under10,
				then->under10_percent);
		if (f->used < (size_t)then->used) {
			fprintf(file, "%s: %zu rows compared, were %d\n", f->kind, f->used,
				then->used);
			faults++;
		}
	}
	return faults;
}
