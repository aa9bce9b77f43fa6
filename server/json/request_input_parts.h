/* What request_input.c and comparison_input.c share: reading one request at a place in a body. */
#ifndef SERVER_JSON_REQUEST_INPUT_PARTS_H
#define SERVER_JSON_REQUEST_INPUT_PARTS_H

#include "server/json/input.h"
#include "server/json/request_input.h"
#include "server/json/workload_input.h"

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* What a decoder carries besides the input itself. */
struct decoder {
	struct input input;
	const struct catalogue *catalogue;
	struct workload_input workload;
	struct cost_assumptions assumptions;
	struct request_input result;
};

/* A whole body of POST /v1/recommendations; faults go to the decoder's input. */
void request_input_read(struct decoder *decoder, const struct input_at *root);

/* The headline over the faults that were found: one kind keeps its own code, several are an invalid
 * request. False when there is any. */
bool request_input_conclude(struct error *error);

#endif
