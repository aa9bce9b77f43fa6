/* Reading of single facts from a pasted configuration: see hf_config_parts.h. */
#include "core/hf_config_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_LENGTH 80

/* Copies the name up to '|' and returns what follows, or NULL at the end. */
static const char *next_name(const char *names, char name[NAME_LENGTH])
{
	size_t length = strcspn(names, "|");

	snprintf(name, NAME_LENGTH, "%.*s", (int)length, names);
	return names[length] ? names + length + 1 : NULL;
}

static const struct config_value *by_path(const struct config_value *object, const char *path)
{
	char name[NAME_LENGTH];
	const char *dot;

	while ((dot = strchr(path, '.'))) {
		snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
		object = config_get(object, name);
		path = dot + 1;
	}
	return config_get(object, path);
}

/* The first alternative that is not null, and its name. */
static const struct config_value *find(const struct hf_reader *reader, const char *names,
				       char name[NAME_LENGTH])
{
	while (names) {
		const struct config_value *value;

		names = next_name(names, name);
		value = by_path(reader->text, name);
		if (value)
			return value;
	}
	return NULL;
}

const struct config_value *hf_value(const struct hf_reader *reader, const char *names)
{
	char name[NAME_LENGTH];

	return find(reader, names, name);
}

bool hf_has(const struct hf_reader *reader, const char *names)
{
	return hf_value(reader, names) != NULL;
}

const char *hf_key(struct hf_reader *reader, const char *names)
{
	return find(reader, names, reader->key) ? reader->key : NULL;
}

void hf_fail(struct hf_reader *reader, const char *key, const char *code, const char *detail)
{
	char pointer[160];

	snprintf(pointer, sizeof(pointer), "%s/%s", reader->text_path, key);
	for (char *c = pointer; *c; c++)
		if (*c == '.')
			*c = '/';
	error_add(reader->error, pointer, code, NULL, "%s", detail);
	reader->failed = true;
}

void hf_unknown_layer(struct hf_reader *reader)
{
	hf_fail(reader, "layer_types", "unknown_layer",
		"The family has no layer of this type, so its size is not known.");
}

static int to_int(struct hf_reader *reader, const struct config_value *value, const char *name,
		  int fallback)
{
	bool is_number = value->type == CONFIG_NUMBER;

	/* Written so that NaN fails too. */
	if (!is_number || !(value->number >= 0 && value->number <= 1e9) ||
	    value->number > floor(value->number)) {
		hf_fail(reader, name, is_number ? "out_of_range" : "invalid_type",
			"This must be a whole number from 0 to 1e9.");
		return fallback < 0 ? 0 : fallback;
	}
	return (int)value->number;
}

int hf_int(struct hf_reader *reader, const char *names, int fallback)
{
	char name[NAME_LENGTH];
	const struct config_value *value = find(reader, names, name);

	if (value)
		return to_int(reader, value, name, fallback);
	if (fallback == HF_REQUIRED) {
		next_name(names, name);
		hf_fail(reader, name, "missing",
			"This size is missing and its family has no default.");
		return 0;
	}
	return fallback;
}

int hf_dim(struct hf_reader *reader, const char *names, int fallback)
{
	char name[NAME_LENGTH];
	int value = hf_int(reader, names, fallback);

	if (value <= 200000)
		return value;
	find(reader, names, name);
	hf_fail(reader, name, "out_of_range", "This is more than 200000.");
	return 0;
}

int hf_layer_int(struct hf_reader *reader, const char *names, int index, int fallback)
{
	char name[NAME_LENGTH];
	const struct config_value *value = find(reader, names, name);

	if (!value || value->type != CONFIG_ARRAY)
		return hf_int(reader, names, fallback);
	value = config_item(value, (size_t)index);
	if (!value || value->type == CONFIG_NULL) {
		hf_fail(reader, name, "too_short", "This list has no value for every layer.");
		return 0;
	}
	if (value->type == CONFIG_BOOL)
		return value->boolean;
	return to_int(reader, value, name, fallback);
}

const char *hf_layer_text(const struct hf_reader *reader, const char *names, int index)
{
	const struct config_value *value = config_item(hf_value(reader, names), (size_t)index);

	return value && value->type == CONFIG_STRING ? value->text : NULL;
}

bool hf_bool(struct hf_reader *reader, const char *names, bool fallback)
{
	char name[NAME_LENGTH];
	const struct config_value *value = find(reader, names, name);

	if (!value)
		return fallback;
	if (value->type == CONFIG_BOOL)
		return value->boolean;
	if (value->type == CONFIG_NUMBER)
		return value->number > 0;
	hf_fail(reader, name, "invalid_type", "This must be true or false.");
	return fallback;
}

double hf_number(struct hf_reader *reader, const char *names, double fallback)
{
	char name[NAME_LENGTH];
	const struct config_value *value = find(reader, names, name);

	if (!value)
		return fallback;
	if (value->type == CONFIG_NUMBER)
		return value->number;
	hf_fail(reader, name, "invalid_type", "This must be a number.");
	return fallback;
}

bool hf_list_holds(const struct hf_reader *reader, const char *names, int value)
{
	const struct config_value *list = hf_value(reader, names);

	if (!list || list->type != CONFIG_ARRAY)
		return false;
	for (size_t i = 0; i < list->count && i < HF_LAYERS_MAX; i++)
		if (list->items[i]->type == CONFIG_NUMBER && !(list->items[i]->number > value) &&
		    !(list->items[i]->number < value))
			return true;
	return false;
}
