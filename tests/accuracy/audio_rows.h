/* Rows of kind `audio` in both tables: speech that is read, speech and music that is made. */
#ifndef TESTS_ACCURACY_AUDIO_ROWS_H
#define TESTS_ACCURACY_AUDIO_ROWS_H

#include "tests/accuracy/request.h"
#include "tests/accuracy/result.h"

/* Load, software and format of a row of memory.csv. */
enum skip audio_memory_request(const struct row *row, struct request *request);

/* A row of throughput.csv on the first card of the request, predicted and measured. */
enum skip audio_speed_row(const struct row *row, struct request *request, struct result *result);

#endif
