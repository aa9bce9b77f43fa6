/* Workload input: the `workload` object of a body, scalar by the table in core/workload.h, and the
 * model that it names, pastes or sketches. */
#ifndef SERVER_JSON_WORKLOAD_INPUT_H
#define SERVER_JSON_WORKLOAD_INPUT_H

#include "core/model.h"
#include "core/workload.h"
#include "server/json/input.h"

struct workload_input {
	const struct model *model;	  /* NULL when it came as a config or as a size */
	struct architecture architecture; /* used when model is NULL */
	struct media media;		  /* what it points to when it is a pipeline */
};

/*
 * Fills `workload` (completed, with its defaults) and what its architecture lives in. False when
 * anything in it is wrong; all of it is then reported.
 */
bool workload_input(struct input *input, const struct input_at *at, struct workload_input *storage,
		    struct workload *workload);

#endif
