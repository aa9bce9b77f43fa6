/*
 * Fitted constants against measurements: proposes values, and judges the way they are fitted by
 * fitting on some sources and predicting the others. See README.md beside this file.
 */
#include "tests/accuracy/cross_validated.h"
#include "tests/accuracy/cross_validation.h"
#include "tests/accuracy/fitting.h"
#include "tests/accuracy/measurements.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KINDS_MAX 64

static const char usage[] =
	"usage: fit [--memory FILE] [--throughput FILE] [--fit FILE] [--price PRICE]\n"
	"           [--set NAME=VALUE ...]\n"
	"           [--propose | --cross-validate FOLDS [--from-present] [--by-repository]\n"
	"            [--record] [--constants] [--rows]]\n"
	"  --propose         fits to all rows from the present values\n"
	"  --cross-validate  fits on all folds of the sources but one, from the middle of every "
	"range,\n"
	"                    and predicts that one\n"
	"  --from-present    starts every fold at the present values instead\n"
	"  --by-repository   deals whole repositories into the folds, not their single pages\n"
	"  --set             another present value of a constant, named as --propose does\n"
	"  --price           what a constant pays for crossing its range, in a kind's mean error\n"
	"  --record          core/data/cross_validation.inc\n"
	"  --constants       what every fold made of every constant\n"
	"  --rows            every row as predicted without its source\n";

/* Constants whose rows want another value, the largest gain first. */
static void propose(struct fitting *fitting)
{
	bool *is_chosen = malloc(fitting->results->count * sizeof(*is_chosen));
	static double gains[CONSTANTS_MAX];
	static bool is_told[CONSTANTS_MAX];

	if (!is_chosen)
		abort();
	memset(is_chosen, true, fitting->results->count * sizeof(*is_chosen));
	fitting_run(fitting, is_chosen);
	for (size_t i = 0; i < fitting->count; i++)
		gains[i] = fitting_gain(fitting, i);
	printf("%-52s %10s %10s %8s %5s %s\n", "constant", "present", "proposed", "gain", "rows",
	       "range");
	for (size_t told = 0; told < fitting->count; told++) {
		const struct constant *constant;
		size_t best = CONSTANTS_MAX;

		for (size_t i = 0; i < fitting->count; i++)
			if (!is_told[i] && (best == CONSTANTS_MAX || gains[i] > gains[best]))
				best = i;
		is_told[best] = true;
		constant = &fitting->constants[best];
		if (fabs(*constant->value / constant->present - 1) > 1e-9)
			printf("%-52s %10.4g %10.4g %8.3f %5zu %.4g to %.4g\n", constant->name,
			       constant->present, *constant->value, gains[best],
			       fitting->rows_count[best], constant->low, constant->high);
	}
	free(is_chosen);
}

static void print_figures(const char *title, const struct results *results)
{
	static struct figures figures[KINDS_MAX];
	size_t count = figures_compute(results, figures, KINDS_MAX);

	printf("%s\n%-20s %5s %8s %8s %8s %8s %6s\n", title, "kind", "used", "median", "p90",
	       "bias", "under10", "tau");
	for (size_t i = 0; i < count; i++) {
		const struct figures *f = &figures[i];

		if (f->table == RESULT_FIT)
			printf("%-20s %5zu said fits though it did not %.1f %%, said no though it "
			       "did %.1f %%\n",
			       f->kind, f->used, f->false_fit, f->false_oom);
		else
			printf("%-20s %5zu %8.2f %8.2f %8.2f %8.2f %6.3f\n", f->kind, f->used,
			       f->median, f->p90, f->bias, f->under10, f->tau);
	}
}

/* "speed/engine HALF_PROMPT=64": another present value, for this run. */
static bool set_constant(struct fitting *fitting, const char *text)
{
	const char *equals = strrchr(text, '=');

	for (size_t i = 0; equals && i < fitting->count; i++)
		if (strncmp(fitting->constants[i].name, text, (size_t)(equals - text)) == 0 &&
		    strlen(fitting->constants[i].name) == (size_t)(equals - text)) {
			fitting->constants[i].present = strtod(equals + 1, NULL);
			return fitting->constants[i].present > 0;
		}
	fprintf(stderr, "no constant and value: %s\n", text);
	return false;
}

#define SETTINGS_MAX 32

struct wishes {
	struct cross_validation_options validation;
	double price;
	const char *settings[SETTINGS_MAX];
	size_t settings_count;
	bool propose, record, constants, rows;
};

static void cross_validate(struct fitting *fitting, const struct wishes *wishes)
{
	struct cross_validation validation;

	if (!wishes->record)
		print_figures("present values, all rows", fitting->results);
	cross_validation_run(fitting, &wishes->validation, &validation);
	if (wishes->record)
		cross_validated_record(stdout, &validation.held_out, fitting->results);
	else
		print_figures("each row by constants that its source had no part in",
			      &validation.held_out);
	for (size_t i = 0; wishes->constants && i < fitting->count; i++) {
		const struct constant *constant = &fitting->constants[i];

		printf("%-52s present %9.4g, middle %9.4g:", constant->name, constant->present,
		       constant_middle(constant));
		for (int fold = 0; fold < wishes->validation.folds; fold++)
			printf(" %9.4g", validation.values[fold][i]);
		printf(" (%zu rows)\n", fitting->rows_count[i]);
	}
	if (wishes->rows)
		report_rows(stdout, &validation.held_out);
	cross_validation_free(&validation);
}

static bool flag(const char *text, struct wishes *wishes)
{
	const struct {
		const char *name;
		bool *is_set;
	} flags[] = {
		{"--propose", &wishes->propose},
		{"--from-present", &wishes->validation.from_present},
		{"--by-repository", &wishes->validation.by_repository},
		{"--record", &wishes->record},
		{"--constants", &wishes->constants},
		{"--rows", &wishes->rows},
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(text, flags[i].name) == 0)
			return *flags[i].is_set = true;
	return false;
}

/* -1, or an exit status. */
static int read_options(int argc, char **argv, struct measurements *measurements,
			struct wishes *wishes)
{
	for (int i = 1; i < argc; i++) {
		int used = measurements_option(measurements, argc - i, argv + i);
		bool has_value = i + 1 < argc;

		if (used) {
			i += used - 1;
		} else if (strcmp(argv[i], "--cross-validate") == 0 && has_value) {
			wishes->validation.folds = atoi(argv[++i]);
		} else if (strcmp(argv[i], "--set") == 0 && has_value &&
			   wishes->settings_count < SETTINGS_MAX) {
			wishes->settings[wishes->settings_count++] = argv[++i];
		} else if (strcmp(argv[i], "--price") == 0 && has_value) {
			wishes->price = strtod(argv[++i], NULL);
		} else if (!flag(argv[i], wishes)) {
			bool is_asked = strcmp(argv[i], "--help") == 0;

			fputs(usage, is_asked ? stdout : stderr);
			return is_asked ? 0 : 2;
		}
	}
	if (wishes->validation.folds < 0 || wishes->validation.folds == 1 ||
	    wishes->validation.folds > FOLDS_MAX) {
		fprintf(stderr, "folds: 2 to %d\n", FOLDS_MAX);
		return 2;
	}
	if (wishes->record && wishes->validation.from_present) {
		fputs("present values have seen all rows: nothing to record\n", stderr);
		return 2;
	}
	return -1;
}

static bool set_constants(struct fitting *fitting, const struct wishes *wishes)
{
	if (wishes->price > 0)
		fitting->price = wishes->price;
	for (size_t i = 0; i < wishes->settings_count; i++)
		if (!set_constant(fitting, wishes->settings[i]))
			return false;
	fitting_set_present(fitting);
	return true;
}

int main(int argc, char **argv)
{
	struct measurements measurements = {0};
	struct results results = {0};
	static struct fitting fitting;
	struct wishes wishes = {0};
	int status = read_options(argc, argv, &measurements, &wishes);

	if (status < 0)
		status = measurements_read(&measurements);
	if (status)
		return status;
	measurements_run(&measurements, &results);
	fitting_prepare(&results, &fitting);
	if (!set_constants(&fitting, &wishes)) {
		status = 2;
	} else if (wishes.validation.folds) {
		cross_validate(&fitting, &wishes);
	} else {
		print_figures("present values", &results);
		if (wishes.propose) {
			propose(&fitting);
			print_figures("proposed values", &results);
		}
	}
	fitting_free(&fitting);
	results_free(&results);
	measurements_free(&measurements);
	return status;
}
