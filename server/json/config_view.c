/* Pasted config.json to a plain tree: see config_view.h. */
#include "server/json/config_view.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool too_large(struct error *error)
{
	return error_set(error, ERROR_TOO_LARGE,
			 "The configuration needs more memory than a request may take.");
}

static bool convert(const json_t *json, int depth, struct config_value *value, struct arena *arena,
		    struct error *error);

static int by_name(const void *a, const void *b)
{
	const struct config_value *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

/* Room for `count` children, linked from the value. */
static struct config_value **add_items(struct config_value *value, size_t count,
				       struct arena *arena, struct error *error)
{
	struct config_value **items = arena_array(arena, count, sizeof(*items));
	struct config_value *children = arena_array(arena, count, sizeof(*children));

	if (!items || !children) {
		too_large(error);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		items[i] = &children[i];
	value->items = (const struct config_value *const *)items;
	value->count = count;
	return items;
}

static bool convert_array(const json_t *json, int depth, struct config_value *value,
			  struct arena *arena, struct error *error)
{
	struct config_value **items = add_items(value, json_array_size(json), arena, error);

	if (!items)
		return false;
	for (size_t i = 0; i < value->count; i++)
		if (!convert(json_array_get(json, i), depth + 1, items[i], arena, error))
			return false;
	return true;
}

static bool convert_object(const json_t *json, int depth, struct config_value *value,
			   struct arena *arena, struct error *error)
{
	struct config_value **items = add_items(value, json_object_size(json), arena, error);
	const char *key;
	json_t *child;
	size_t i = 0;

	if (!items)
		return false;
	/* jansson's iterator takes a pointer to non-const, but reading changes nothing. */
	json_object_foreach ((json_t *)(uintptr_t)json, key, child) {
		items[i]->name = arena_strdup(arena, key);
		if (!items[i]->name)
			return too_large(error);
		if (!convert(child, depth + 1, items[i], arena, error))
			return false;
		i++;
	}
	qsort(items, value->count, sizeof(struct config_value *), by_name);
	return true;
}

static bool convert(const json_t *json, int depth, struct config_value *value, struct arena *arena,
		    struct error *error)
{
	if (depth > CONFIG_DEPTH_MAX)
		return error_set(error, ERROR_MALFORMED,
				 "The configuration is nested deeper than %d levels.",
				 CONFIG_DEPTH_MAX);
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		value->type = CONFIG_OBJECT;
		return convert_object(json, depth, value, arena, error);
	case JSON_ARRAY:
		value->type = CONFIG_ARRAY;
		return convert_array(json, depth, value, arena, error);
	case JSON_STRING:
		value->type = CONFIG_STRING;
		value->text = arena_strdup(arena, json_string_value(json));
		return value->text || too_large(error);
	case JSON_INTEGER:
	case JSON_REAL:
		value->type = CONFIG_NUMBER;
		value->number = json_number_value(json);
		return true;
	case JSON_TRUE:
	case JSON_FALSE:
		value->type = CONFIG_BOOL;
		value->boolean = json_is_true(json);
		return true;
	case JSON_NULL:
		break;
	}
	value->type = CONFIG_NULL;
	return true;
}

struct config_value *config_view_from_json(const json_t *json, struct arena *arena,
					   struct error *error)
{
	struct config_value *root = arena_alloc(arena, sizeof(*root));

	if (!root) {
		too_large(error);
		return NULL;
	}
	return convert(json, 0, root, arena, error) ? root : NULL;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Copies, with the non-numbers outside strings replaced by what strict JSON can say. */
static size_t make_strict(const char *text, size_t length, char *out)
{
	static const struct {
		const char *word, *strict;
	} words[] = {{"Infinity", "1e308"}, {"NaN", "null"}};
	bool in_string = false;
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		bool starts_word = !in_string && (i == 0 || !is_word(text[i - 1]));
		bool replaced = false;

		for (size_t k = 0; starts_word && k < sizeof(words) / sizeof(words[0]); k++) {
			size_t n = strlen(words[k].word), m = strlen(words[k].strict);

			if (length - i < n || memcmp(&text[i], words[k].word, n) != 0 ||
			    (i + n < length && is_word(text[i + n])))
				continue;
			memcpy(&out[used], words[k].strict, m);
			used += m;
			i += n - 1;
			replaced = true;
			break;
		}
		if (replaced)
			continue;
		if (text[i] == '"')
			in_string = !in_string;
		out[used++] = text[i];
		if (in_string && text[i] == '\\' && i + 1 < length)
			out[used++] = text[++i];
	}
	return used;
}

struct config_value *config_view_parse(const char *text, size_t length, struct arena *arena,
				       struct error *error)
{
	struct config_value *root = NULL;
	json_error_t problem;
	json_t *json;
	char *strict;

	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		length -= 3;
	}
	/* "NaN" to "null" is the only replacement that grows. */
	strict = length < SIZE_MAX / 2 ? arena_alloc(arena, length + length / 3 + 1) : NULL;
	if (!strict) {
		too_large(error);
		return NULL;
	}
	/* Integers as reals: sizes are exact to 2^53, and longer ones are no reason to refuse a
	 * file. */
	json = json_loadb(strict, make_strict(text, length, strict), JSON_DECODE_INT_AS_REAL,
			  &problem);
	if (!json) {
		error_set(
			error, ERROR_MALFORMED,
			"The configuration is not JSON: %.110s (line %d, column %d). Infinity and "
			"NaN are read; comments, trailing commas and single quotes are not.",
			problem.text, problem.line, problem.column);
		return NULL;
	}
	if (json_is_object(json))
		root = config_view_from_json(json, arena, error);
	else
		error_set(error, ERROR_MALFORMED, "The configuration is not a JSON object.");
	json_decref(json);
	return root;
}
