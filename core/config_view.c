/* Tree of a pasted configuration: see config_view.h. */
#include "core/config_view.h"

#include <string.h>

const struct config_value *config_member(const struct config_value *object, const char *name)
{
	size_t low = 0, high;

	if (!object || object->type != CONFIG_OBJECT)
		return NULL;
	high = object->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, object->items[middle]->name);

		if (!order)
			return object->items[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const struct config_value *config_get(const struct config_value *object, const char *name)
{
	const struct config_value *value = config_member(object, name);

	return value && value->type != CONFIG_NULL ? value : NULL;
}

const struct config_value *config_item(const struct config_value *array, size_t index)
{
	if (!array || array->type != CONFIG_ARRAY || index >= array->count)
		return NULL;
	return array->items[index];
}

bool config_is_text(const struct config_value *value, const char *text)
{
	return value && value->type == CONFIG_STRING && strcmp(value->text, text) == 0;
}
