/* Rows of memory.csv and of the list of runs that fitted or did not. */
#ifndef TESTS_ACCURACY_MEMORY_ROWS_H
#define TESTS_ACCURACY_MEMORY_ROWS_H

#include "tests/accuracy/request.h"
#include "tests/accuracy/result.h"
#include "tests/accuracy/table.h"

extern const char *const memory_kinds[];
extern const size_t memory_kinds_count;

void memory_rows_run(const struct table *table, struct results *results);
void fit_rows_run(const struct table *constraints, const struct table *memory,
		  struct results *results);

/* The request of a row of each kind, or why there is none. */
enum skip memory_training_request(const struct row *row, struct request *request);
/* Of pipelines: memory_media_rows.c. */
enum skip media_model(const struct row *row, struct architecture *out);
enum skip media_infer_request(const struct row *row, struct request *request);
enum skip media_train_request(const struct row *row, struct request *request);
enum skip memory_serving_request(const struct row *row, struct request *request);

/* What the run of a training row would show on its card, and what the card has; or why not. */
enum skip memory_row_device(const struct row *row, double *device_bytes, double *usable_bytes);

#endif
