/*
 * Request input: the bodies of POST /v1/recommendations and /v1/sizing, decoded into core's
 * structs. No JSON library type appears here.
 */
#ifndef SERVER_JSON_REQUEST_INPUT_H
#define SERVER_JSON_REQUEST_INPUT_H

#include "core/arena.h"
#include "core/catalogue.h"
#include "core/error.h"
#include "core/model.h"
#include "core/recommend.h"

#include <stdbool.h>
#include <stddef.h>

#define RECOMMENDATIONS_MAX 100
#define RECOMMENDATIONS_DEFAULT 20

struct request_input {
	struct recommend_request request;
	const struct model *model; /* NULL when the caller gave a config or a size */
};

/*
 * NULL and every fault at once in `error`, whose code says which kind they are. `catalogue` only
 * adds to the provider names that a filter may use; it may be NULL. The result lives in `arena`.
 */
const struct request_input *request_input_recommend(const char *body, size_t length,
						    struct error *warnings,
						    const struct catalogue *catalogue,
						    struct arena *arena, struct error *error);

/* The same for a body that holds a workload only. */
const struct request_input *request_input_sizing(const char *body, size_t length,
						 struct error *warnings, struct arena *arena,
						 struct error *error);

#endif
