/*
 * Fitting and cross-validation on made-up rows whose law is known: measured = 3 x + 2, and twice
 * that in one source, for which there is a constant that no other source has a say in.
 */
#include "core/fitted.h"
#include "tests/accuracy/cross_validation.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>

FITTED(SLOPE, 1, 0.1, 30);
FITTED(OFFSET, 8, 0.5, 20);
FITTED(ODD_FACTOR, 1.1, 0.9, 10);
FITTED(IDLE, 7, 1, 10);
/* A cell keeps its own range; what is 0 is no constant. */
FITTED_TABLE struct {
	double share, other;
} table[] = {{1, 2}, {0, 3}};
FITTED_COLUMN(table, share, 0.25, 4);
FITTED_COLUMN(table, other, 1, 9);
FITTED_CELL(table[1].other, 2, 4);

#define SOURCES 12
#define ROWS_A_SOURCE 8
#define ODD 5

static void predict(struct result *result)
{
	double x = (double)result->row.index;

	result->predicted = (SLOPE * x + OFFSET) * table[0].share;
	if (result->card[0] == 'o')
		result->predicted *= ODD_FACTOR;
	result_close(result, IDLE > 0 ? SKIP_NONE : SKIP_NO_VALUE);
}

static void make_rows(struct results *results)
{
	for (size_t i = 0; i < SOURCES * ROWS_A_SOURCE; i++) {
		struct result *result = results_add(results);
		size_t source = i / ROWS_A_SOURCE, x = 1 + i % ROWS_A_SOURCE * 3;

		result->table = RESULT_THROUGHPUT;
		result->row.index = x;
		result->predict = predict;
		result->measured = (3 * (double)x + 2) * (source == ODD ? 2 : 1);
		snprintf(result->kind, sizeof(result->kind), "made_up");
		snprintf(result->source, sizeof(result->source), "source %zu", source);
		snprintf(result->card, sizeof(result->card), "%s", source == ODD ? "odd" : "even");
		predict(result);
	}
}

static struct results results;
static struct fitting fitting;

static void setup(void)
{
	make_rows(&results);
	fitting_prepare(&results, &fitting);
}

static void teardown(void)
{
	fitting_free(&fitting);
	results_free(&results);
}

static double worst_error(const struct results *of, bool odd)
{
	double worst = 0;

	for (size_t i = 0; i < of->count; i++)
		if ((of->items[i].card[0] == 'o') == odd)
			worst = fmax(worst, fabs(of->items[i].error_percent));
	return worst;
}

START_TEST(every_constant_once_with_its_own_range)
{
	static const struct {
		const double *value;
		double low, high;
	} wanted[] = {{&SLOPE, 0.1, 30},
		      {&IDLE, 1, 10},
		      {&table[0].share, 0.25, 4},
		      {&table[0].other, 1, 9},
		      {&table[1].other, 2, 4}};

	ck_assert_uint_eq(fitting.count, 7);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		size_t found = 0;

		for (size_t j = 0; j < fitting.count; j++)
			if (fitting.constants[j].value == wanted[i].value) {
				found++;
				ck_assert_double_eq_tol(fitting.constants[j].low, wanted[i].low,
							1e-12);
				ck_assert_double_eq_tol(fitting.constants[j].high, wanted[i].high,
							1e-12);
			}
		ck_assert_uint_eq(found, 1);
	}
}
END_TEST

START_TEST(a_fit_finds_the_law)
{
	bool is_chosen[SOURCES * ROWS_A_SOURCE];

	for (size_t i = 0; i < results.count; i++)
		is_chosen[i] = true;
	ck_assert_double_gt(worst_error(&results, false), 50);
	fitting_run(&fitting, is_chosen);
	ck_assert_double_lt(worst_error(&results, false), 5);
	ck_assert_double_lt(worst_error(&results, true), 5);
	ck_assert_double_eq_tol(IDLE, 7, 1e-12); /* no row says otherwise */
}
END_TEST

START_TEST(cross_validation_tells_what_one_source_decides)
{
	struct cross_validation_options options = {.folds = 4};
	struct cross_validation validation;

	cross_validation_run(&fitting, &options, &validation);
	ck_assert_double_lt(worst_error(&validation.held_out, false), 10);
	/* Without its source the factor stands in the middle of its range: 3, not 2. */
	ck_assert_double_gt(worst_error(&validation.held_out, true), 40);
	ck_assert_double_eq_tol(SLOPE, 1, 1e-12);
	ck_assert_double_eq_tol(fitting.anchors[0], fitting.constants[0].present, 1e-12);
	cross_validation_free(&validation);
}
END_TEST

START_TEST(folds_are_of_sources_and_even)
{
	struct cross_validation_options options = {.folds = 5};
	size_t counts[5] = {0};

	for (int i = 0; i < 200; i++) {
		char name[32];
		int fold;

		snprintf(name, sizeof(name), "owner/repository %d", i);
		fold = cross_validation_fold(name, &options);
		ck_assert(fold >= 0 && fold < 5);
		counts[fold]++;
	}
	for (int i = 0; i < 5; i++)
		ck_assert_uint_gt(counts[i], 20);
}
END_TEST

START_TEST(repositories_stay_together)
{
	struct cross_validation_options options = {.folds = FOLDS_MAX, .by_repository = true};
	static const char *const names[] = {"owner/name README.md",
					    "github:owner/name@0a1b page.md",
					    "github issue/PR owner/name#12", "owner/name"};

	for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_int_eq(cross_validation_fold(names[i], &options),
				 cross_validation_fold(names[0], &options));
	ck_assert_int_ne(cross_validation_fold("owner/other README.md", &options),
			 cross_validation_fold(names[0], &options));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fitting");
	TCase *fit = tcase_create("fit"), *pure = tcase_create("pure");

	tcase_add_checked_fixture(fit, setup, teardown);
	tcase_add_test(fit, every_constant_once_with_its_own_range);
	tcase_add_test(fit, a_fit_finds_the_law);
	tcase_add_test(fit, cross_validation_tells_what_one_source_decides);
	tcase_add_test(pure, folds_are_of_sources_and_even);
	tcase_add_test(pure, repositories_stay_together);
	suite_add_tcase(suite, fit);
	suite_add_tcase(suite, pure);
	return suite_run(suite);
}
