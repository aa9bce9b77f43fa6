/*
 * Models: the registry of known models. Data: data/models.inc, one row a line with its source.
 */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H

#include "core/architecture.h"

#include <stddef.h>

struct model {
	const char *id;		       /* "meta-llama/Llama-3.1-70B" */
	const char *aliases;	       /* separated by ';', or NULL */
	const char *license;	       /* or NULL */
	uint64_t published_parameters; /* 0 = not published exactly */
	const char *confidence;	       /* "A" or "B" */
	const char *source;
	const char *notes; /* or NULL */
	struct architecture architecture;
};

extern const struct model models[];
extern const size_t models_count;

/* By id or alias, letter case ignored; NULL when unknown. */
const struct model *model_find(const char *id);

/*
 * The weights that `id`, by which the model was found, stands for: an instruct version is an alias
 * of its base, which has the same sizes and other weights. In the registry's spelling.
 */
const char *model_checkpoint(const struct model *model, const char *id);

/* Fills up to `max` ids nearest to one that is not known; returns how many. */
size_t model_nearest(const char *id, const char **out, size_t max);

#endif
