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
#include "tests/accuracy/skip.h"
#include "tests/accuracy/table.h"

#define CARDS_MAX 8

struct request {
	struct architecture architecture;
	struct workload workload;
	struct layout layout;
	struct fabric fabric;
	const struct accelerator *cards[CARDS_MAX]; /* any of which the label may mean */
	int cards_count;
	char refusal[256]; /* what workload_complete() said against it */
};

/* Each returns SKIP_NONE, or the reason why the row cannot be used. */
enum skip request_architecture(const struct row *row, struct architecture *out);
enum skip request_model(const char *id, struct architecture *out);
enum skip request_cards(const char *label, struct request *request);

/* FORMAT_AUTO when the text names none. */
enum format request_format(const char *text);

/* Degrees from a text like "tp=4,pp=8,dp=2,sp"; what is missing is 1, data parallel fills the GPUs.
 */
enum skip request_parallelism(const char *text, double gpus, struct layout *layout);

/* Completes the workload through workload_complete(), which may refuse it. */
enum skip request_complete(struct request *request);

#endif
