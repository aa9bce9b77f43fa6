/*
 * From a row of measurements to a request through the code path of the API: architecture, card,
 * workload, layout. What a row does not say is a reason to skip it, never a guess.
 */
#ifndef TESTS_ACCURACY_REQUEST_H
#define TESTS_ACCURACY_REQUEST_H

#include "core/accelerator.h"
#include "core/fabric.h"
#include "core/layout.h"
#include "core/workload.h"
#include "tests/accuracy/table.h"

#define CARDS_MAX 8

struct request {
	struct architecture architecture;
	struct workload workload;
	struct layout layout;
	struct fabric fabric;
	const struct accelerator *cards[CARDS_MAX]; /* any of which the label may mean */
	int cards_count;
};

/* Each returns NULL, or the reason why the row cannot be used. */
const char *request_architecture(const struct row *row, struct architecture *out);
const char *request_model(const char *id, struct architecture *out);
const char *request_cards(const char *label, struct request *request);

/* FORMAT_AUTO when the text names none. */
enum format request_format(const char *text);

/* Degrees from a text like "tp=4,pp=8,dp=2,sp"; what is missing is 1, data parallel fills the GPUs.
 */
const char *request_parallelism(const char *text, double gpus, struct layout *layout);

/* Completes the workload through workload_complete(); the reason of a fault is its own text. */
const char *request_complete(struct request *request);

#endif
