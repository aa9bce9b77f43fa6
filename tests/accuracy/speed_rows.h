/* Rows of throughput.csv: training and serving of language models. */
#ifndef TESTS_ACCURACY_SPEED_ROWS_H
#define TESTS_ACCURACY_SPEED_ROWS_H

#include "tests/accuracy/request.h"
#include "tests/accuracy/result.h"
#include "tests/accuracy/table.h"

extern const char *const speed_kinds[];
extern const size_t speed_kinds_count;

void speed_rows_run(const struct table *table, struct results *results);

/*
 * Each fills predicted and measured (higher is faster: tokens or requests a second) or returns the
 * reason why the row cannot be used. The request has its architecture and cards.
 */
enum skip speed_train_row(const struct row *row, struct request *request, struct result *result);
enum skip speed_serve_row(const struct row *row, struct request *request, struct result *result);
enum skip speed_media_row(const struct row *row, struct request *request, struct result *result);

enum skip speed_media_train_row(const struct row *row, struct request *request,
				struct result *result);
/* Whether a row of minutes to a target tells how long a step takes as well. */
bool speed_media_tells_step(const struct row *row);
enum skip speed_media_cards(const struct row *row, struct request *request);

/* The pipeline that a row's model column means. */
enum skip speed_media_model(const struct row *row, struct architecture *out);

/* Links of the row's machines, from its interconnect column and the card. */
void speed_row_fabric(const struct row *row, const struct accelerator *card,
		      const struct layout *layout, struct fabric *out);

#endif
