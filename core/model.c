/* Registry of models: see model.h. */
#include "core/model.h"

#include "core/media.h"
#include "core/names.h"

#include <string.h>
#include <strings.h>

/*
 * Rows stand in order of their ids without letter case, and so do aliases: look-up is a binary
 * search over constants. tests/core/test_model.c holds the files to that order.
 */
#include "core/data/media.inc"

const struct model models[] = {
#include "core/data/models.inc"
};

const size_t models_count = sizeof(models) / sizeof(models[0]);

struct alias {
	const char *alias, *id;
};

static const struct alias aliases[] = {
#include "core/data/model_aliases.inc"
};

static const struct model *find_id(const char *id)
{
	size_t low = 0, high = models_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcasecmp(id, models[middle].id);

		if (!order)
			return &models[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static const struct alias *find_alias(const char *id)
{
	size_t low = 0, high = sizeof(aliases) / sizeof(aliases[0]);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcasecmp(id, aliases[middle].alias);

		if (!order)
			return &aliases[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static const char *without_owner(const char *id)
{
	const char *slash = strchr(id, '/');

	return slash ? slash + 1 : id;
}

/* "Llama-3.1-70B" without its owner, when only one row bears that name; then by other names of
 * rows. */
static const struct model *find_bare(const char *name)
{
	const struct model *found = NULL, *other;

	for (size_t i = 0; i < models_count; i++) {
		if (strcasecmp(name, without_owner(models[i].id)) != 0)
			continue;
		if (found)
			return NULL;
		found = &models[i];
	}
	if (found)
		return found;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (strcasecmp(name, without_owner(aliases[i].alias)) != 0)
			continue;
		other = find_id(aliases[i].id);
		if (found && found != other)
			return NULL;
		found = other;
	}
	return found;
}

const struct model *model_find(const char *id)
{
	const struct model *model = find_id(id);
	const struct alias *alias = model ? NULL : find_alias(id);

	if (alias)
		model = find_id(alias->id);
	if (!model && !strchr(id, '/'))
		model = find_bare(id);
	return model;
}

const char *model_checkpoint(const struct model *model, const char *id)
{
	const struct alias *alias = strchr(id, '/') ? find_alias(id) : NULL;

	return alias ? alias->alias : model->id;
}

/* "Qwen3-8B" and "Qwen3-8B-Instruct": one is the other with a tail of whole words. */
static bool is_variant(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), shorter = n < m ? n : m;

	if (shorter < 4 || n == m || strncasecmp(a, b, shorter) != 0)
		return false;
	return (n > m ? a : b)[shorter] == '-';
}

/* How unlike two ids are: the owner counts less than the name, since it is what people forget. */
static unsigned unlikeness(const char *asked, const char *id, unsigned limit)
{
	unsigned whole = names_distance(asked, id, limit);
	unsigned bare = names_distance(without_owner(asked), without_owner(id), limit);

	if (whole > 1 && is_variant(without_owner(asked), without_owner(id)))
		return 1;
	return whole <= bare + 1 ? whole : bare + 1;
}

size_t model_nearest(const char *id, const char **out, size_t max)
{
	unsigned distances[16];
	size_t found = 0;
	unsigned limit = (unsigned)strnlen(id, 60) / 2 + 1;

	if (max > sizeof(distances) / sizeof(distances[0]))
		max = sizeof(distances) / sizeof(distances[0]);
	for (size_t i = 0; i < models_count; i++) {
		unsigned distance = unlikeness(id, models[i].id, limit);
		size_t at = found;

		if (distance > limit || max == 0)
			continue;
		while (at > 0 && distances[at - 1] > distance)
			at--;
		if (at >= max)
			continue;
		if (found < max)
			found++;
		memmove(&distances[at + 1], &distances[at], (found - at - 1) * sizeof(*distances));
		memmove(&out[at + 1], &out[at], (found - at - 1) * sizeof(*out));
		distances[at] = distance;
		out[at] = models[i].id;
	}
	return found;
}
