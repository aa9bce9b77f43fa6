/* The fitted constants of the predictor (core/fitted.h), one entry a figure. */
#ifndef TESTS_ACCURACY_CONSTANTS_H
#define TESTS_ACCURACY_CONSTANTS_H

#include <stddef.h>

struct constant {
	char name[96];
	double *value;
	double present;	  /* as it stands in the source */
	double low, high; /* what is known of it without the rows */
};

/* All of them, without those that are 0; aborts when there are more than `max`. */
size_t constants_all(struct constant *out, size_t max);

/* The geometric middle of its range: where a fit starts that may know nothing else. */
double constant_middle(const struct constant *constant);

/* How much of its range a change is: 1 from end to end. */
double constant_distance(const struct constant *constant, double from, double to);

#endif
