/*
 * Fitting: moves constants so that predictions come near the measurements of chosen rows.
 *
 * Loss: of every kind the mean of |ln(predicted / measured)|, no row counting for more than a
 * factor of two, half of the weight given to rows and half to sources; kinds weigh the same. A
 * constant pays for leaving its anchor, so that one which no row determines stays there. Coordinate
 * descent: one constant at a time, in steps that shrink.
 */
#ifndef TESTS_ACCURACY_FITTING_H
#define TESTS_ACCURACY_FITTING_H

#include "tests/accuracy/constants.h"
#include "tests/accuracy/result.h"

#define CONSTANTS_MAX 512
#define FITTING_PRICE 0.01

struct fitting {
	struct results *results; /* predicted anew as constants move */
	struct constant constants[CONSTANTS_MAX];
	size_t count;
	size_t *rows[CONSTANTS_MAX]; /* that a constant bears upon */
	size_t rows_count[CONSTANTS_MAX];
	double anchors[CONSTANTS_MAX];
	double price; /* of crossing the whole range of a constant, in the mean error of one kind */
	size_t *kinds,
		*sources; /* of each result: the first one of its kind, and of its source there */
	double *weights;  /* of each result; 0: not fitted to */
	double *losses;	  /* of each result at the present values */
};

/* The results must have been predicted. */
void fitting_prepare(struct results *results, struct fitting *out);
void fitting_free(struct fitting *fitting);

/* Sets every constant to its present value, which is its anchor, and predicts every row. */
void fitting_set_present(struct fitting *fitting);

/* Fits to the rows that `is_chosen` says, from the anchors; then predicts every row. */
void fitting_run(struct fitting *fitting, const bool *is_chosen);

/* After a fit: what putting one constant back at its anchor would cost, in per cent of mean error.
 */
double fitting_gain(struct fitting *fitting, size_t constant);

#endif
