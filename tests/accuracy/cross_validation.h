/*
 * Cross-validation by source: sources are dealt into folds by a hash of their name; the constants
 * are fitted to the rows of all folds but one, from the middle of each constant's range and so with
 * no knowledge of the values that stand in the code, and predict the rows of that one.
 */
#ifndef TESTS_ACCURACY_CROSS_VALIDATION_H
#define TESTS_ACCURACY_CROSS_VALIDATION_H

#include "tests/accuracy/fitting.h"

#define FOLDS_MAX 20

struct cross_validation {
	struct results held_out; /* every row as predicted without its source */
	double values[FOLDS_MAX][CONSTANTS_MAX];
};

struct cross_validation_options {
	int folds;
	bool from_present;  /* every fold starts at the values that stand in the code */
	bool by_repository; /* all sources of one repository lie in one fold */
};

/* Leaves the constants and the results of `fitting` as they were. From the present values, which
 * have seen all rows, it only tells whether fitting them anew gains on rows it does not see. */
void cross_validation_run(struct fitting *fitting, const struct cross_validation_options *options,
			  struct cross_validation *out);
void cross_validation_free(struct cross_validation *validation);

int cross_validation_fold(const char *source, const struct cross_validation_options *options);

#endif
