/*
 * Request input: the bodies of POST /v1/recommendations, /v1/sizing and /v1/comparisons, decoded
 * into core's structs. No JSON library type appears here.
 */
#ifndef SERVER_JSON_REQUEST_INPUT_H
#define SERVER_JSON_REQUEST_INPUT_H

#include "core/arena.h"
#include "core/catalogue.h"
#include "core/comparison.h"
#include "core/error.h"
#include "core/model.h"
#include "core/recommend.h"

#include <stdbool.h>
#include <stddef.h>

#define RECOMMENDATIONS_MAX 100
#define RECOMMENDATIONS_DEFAULT 20
#define COMPARISON_LIMIT_MAX 10 /* recommendations a variant */
#define COMPARISON_LIMIT_DEFAULT 1

struct request_input {
	struct recommend_request request;
	const struct model *model; /* NULL when the caller gave a config or a size */
	bool wants_launch;	   /* each recommendation says how it is rented and started */
};

/* One workload in several variants, each a whole request of its own. */
struct comparison_input {
	const char *names[COMPARISON_VARIANTS_MAX];
	struct request_input variants[COMPARISON_VARIANTS_MAX];
	int count;
};

/*
 * NULL and every fault at once in `error`, whose code says which kind they are. `catalogue` only
 * adds to the provider names that a filter may use; it may be NULL. The result lives in `arena`.
 */
const struct request_input *request_input_recommend(const char *body, size_t length,
						    struct error *warnings,
						    const struct catalogue *catalogue,
						    struct arena *arena, struct error *error);

/* comparison_input.c: a base and its variants, each the base with its members laid over (RFC 7396:
 * null removes). What is wrong in a variant is reported there, what is wrong in all of them in the
 * base. */
const struct comparison_input *request_input_compare(const char *body, size_t length,
						     struct error *warnings,
						     const struct catalogue *catalogue,
						     struct arena *arena, struct error *error);

/* The same for a body that holds a workload only. */
const struct request_input *request_input_sizing(const char *body, size_t length,
						 struct error *warnings, struct arena *arena,
						 struct error *error);

#endif
