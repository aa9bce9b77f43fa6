/* The tables of measurements that a program of this folder is given. */
#ifndef TESTS_ACCURACY_MEASUREMENTS_H
#define TESTS_ACCURACY_MEASUREMENTS_H

#include "tests/accuracy/result.h"
#include "tests/accuracy/table.h"

#define MEASUREMENTS_MISSING 77 /* exit status of a test that is skipped */

struct measurements {
	const char *paths[RESULT_TABLES]; /* NULL: not given */
	struct table tables[RESULT_TABLES];
};

/* How many arguments are an option that names a file: 2, or 0. */
int measurements_option(struct measurements *measurements, int argc, char **argv);

/* 0, or an exit status: what could not be read, or that nothing was given, is told on standard
 * error. So are kinds of which there is no row, and rows of kinds that nobody predicts. */
int measurements_read(struct measurements *measurements);

/* Predicts every row. */
void measurements_run(const struct measurements *measurements, struct results *results);

void measurements_free(struct measurements *measurements);

#endif
