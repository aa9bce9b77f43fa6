/*
 * The recorded result of a cross-validation (core/data/cross_validation.inc). It takes minutes, so
 * it has a command of its own, and what is printed beside the plain figures is its last record.
 */
#ifndef TESTS_ACCURACY_CROSS_VALIDATED_H
#define TESTS_ACCURACY_CROSS_VALIDATED_H

#include "tests/accuracy/result.h"

#include <stdio.h>

struct cross_validated {
	const char *kind;
	double median_percent, p90_percent, under10_percent;
	double low, high;	     /* measured over predicted: 10th and 90th percentile */
	double plain_median_percent; /* at that time, by the constants as they stood */
};

/* NULL when nothing is recorded of the kind. */
const struct cross_validated *cross_validated_find(const char *kind);

/* Writes the file from rows that were predicted without their sources, and plainly. */
void cross_validated_record(FILE *file, const struct results *held_out,
			    const struct results *plain);

#endif
