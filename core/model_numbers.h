/*
 * Model numbers: an architecture from what a caller knows of a model that is in no registry, from
 * its size alone up to every dimension.
 *
 * What is not told follows the habits of published models (model_numbers.c names them) and is
 * listed in `architecture.assumed`; `architecture.uncertainty` starts at 0.15 (0.20 with experts)
 * and shrinks with every fact that is told. What is told must add up: sizes that give another
 * total are a fault, not a compromise.
 */
#ifndef CORE_MODEL_NUMBERS_H
#define CORE_MODEL_NUMBERS_H

#include "core/architecture.h"
#include "core/error.h"

/*
 * member, name in the API, least, most. All are numbers; 0 = not told. `intermediate_size` is the
 * width of the dense MLP, or of one expert. `experts_active` are those that a token passes.
 */
#define MODEL_NUMBERS(X)                                                                           \
	X(parameters, "parameters", 1e6, 1e14)                                                     \
	X(active_parameters, "active_parameters", 1e6, 1e14)                                       \
	X(layers, "layers", 1, 4096)                                                               \
	X(hidden, "hidden_size", 16, 1e6)                                                          \
	X(heads, "heads", 1, 4096)                                                                 \
	X(kv_heads, "kv_heads", 1, 4096)                                                           \
	X(head_dim, "head_dim", 8, 4096)                                                           \
	X(ffn, "intermediate_size", 16, 1e7)                                                       \
	X(vocab, "vocabulary", 16, 1e7)                                                            \
	X(experts, "experts", 2, 65536)                                                            \
	X(experts_active, "experts_active", 1, 65536)                                              \
	X(max_context, "max_context", 16, 1e9)

enum model_number {
#define X(member, name, least, most) MODEL_NUMBER_##member,
	MODEL_NUMBERS(X)
#undef X
		MODEL_NUMBER_COUNT
};

struct model_numbers {
	double values[MODEL_NUMBER_COUNT];
	enum modality modality; /* text, vision-text or embedding */
};

struct model_number_field {
	const char *name;
	double least, most;
};

extern const struct model_number_field model_number_fields[MODEL_NUMBER_COUNT];

/* False with items at `prefix` + "/" + name when what is told is out of range or does not add up.
 * `parameters` must be told. */
bool model_numbers_build(const struct model_numbers *numbers, const char *prefix,
			 struct architecture *out, struct error *error);

#endif
