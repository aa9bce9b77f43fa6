/*
 * Accuracy: how the predictor fared on published measurements, by kind of work. The product's own
 * claim: answers carry it, and the ranges of memory and speed come from it.
 *
 * data/accuracy.inc is written by `tests/accuracy/run --record`, never by hand; the accuracy suite
 * fails when a figure gets worse than it says.
 */
#ifndef CORE_ACCURACY_H
#define CORE_ACCURACY_H

#include "core/workload.h"

#include <stddef.h>

struct accuracy {
	const char *kind;  /* "train_qlora", "serve_decode_single", ... */
	const char *table; /* "memory" or "throughput" */
	int rows, used;	   /* measurements of that kind, and those that could be compared */
	double median_percent, p90_percent; /* absolute error */
	double under10_percent;		    /* share that measured over 10 % more than predicted */
	double tau; /* Kendall's, over pairs that differ in hardware; NAN if none */
	int pairs;
	/* The same errors by constants that were fitted without the row's source. */
	double cross_median_percent, cross_p90_percent;
	/* Measured over predicted: 10th and 90th percentile, of the plain or of the
	 * cross-validated predictions, whichever is wider. */
	double low, high;
};

extern const struct accuracy accuracy_table[];
extern const size_t accuracy_count;

/* By kind; NULL when unknown. */
const struct accuracy *accuracy_find(const char *kind);

/* What bears on the memory, and on the speed, of a workload; never NULL. */
const struct accuracy *accuracy_of_memory(const struct workload *workload);
const struct accuracy *accuracy_of_speed(const struct workload *workload);

#endif
