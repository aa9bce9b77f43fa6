/* Fit on some sources, judge on the others: see cross_validation.h. */
#include "tests/accuracy/cross_validation.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* "github:owner/name@commit path", "github issue/PR owner/name#1" and "owner/name path" begin with
 * their repository. */
static size_t repository_length(const char **source)
{
	static const char *const prefixes[] = {"github:", "github issue/PR "};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(*source, prefixes[i], strlen(prefixes[i])) == 0)
			*source += strlen(prefixes[i]);
	return strcspn(*source, " @#");
}

/* FNV-1a. */
int cross_validation_fold(const char *source, const struct cross_validation_options *options)
{
	size_t length = options->by_repository ? repository_length(&source) : strlen(source);
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)source[i]) * 16777619u;
	return (int)((hash ^ hash >> 16) % (unsigned)options->folds);
}

void cross_validation_run(struct fitting *fitting, const struct cross_validation_options *options,
			  struct cross_validation *out)
{
	const struct results *results = fitting->results;
	bool *is_chosen = calloc(results->count ? results->count : 1, sizeof(*is_chosen));

	*out = (struct cross_validation){0};
	if (!is_chosen)
		abort();
	for (size_t i = 0; i < results->count; i++)
		*results_add(&out->held_out) = results->items[i];
	for (size_t i = 0; i < fitting->count; i++)
		if (!options->from_present)
			fitting->anchors[i] = constant_middle(&fitting->constants[i]);
	for (int fold = 0; fold < options->folds; fold++) {
		for (size_t i = 0; i < results->count; i++)
			is_chosen[i] =
				cross_validation_fold(results->items[i].source, options) != fold;
		fitting_run(fitting, is_chosen);
		for (size_t i = 0; i < fitting->count; i++)
			out->values[fold][i] = *fitting->constants[i].value;
		for (size_t i = 0; i < results->count; i++)
			if (!is_chosen[i])
				out->held_out.items[i] = results->items[i];
	}
	fitting_set_present(fitting);
	free(is_chosen);
}

void cross_validation_free(struct cross_validation *validation)
{
	results_free(&validation->held_out);
}
