/*
 * Config view: a parsed JSON document as a plain tree in an arena, so that core can read a pasted
 * configuration without knowing a JSON library. server/json/config_view.c builds it.
 *
 * Members of an object are in order of their names (strcmp) and unique, so that look-up is a binary
 * search: readers ask for dozens of names in every layer of files that strangers send. Numbers are
 * double: integers are exact to 2^53.
 */
#ifndef CORE_CONFIG_VIEW_H
#define CORE_CONFIG_VIEW_H

#include <stdbool.h>
#include <stddef.h>

enum config_type {
	CONFIG_NULL,
	CONFIG_BOOL,
	CONFIG_NUMBER,
	CONFIG_STRING,
	CONFIG_ARRAY,
	CONFIG_OBJECT,
};

struct config_value {
	enum config_type type;
	const char *name; /* of a member of an object; else NULL */
	bool boolean;
	double number;
	const char *text;			 /* of a string */
	const struct config_value *const *items; /* of an array, or the members of an object */
	size_t count;				 /* of items */
};

/* The member, or NULL when `object` is NULL, no object, or has none of that name. */
const struct config_value *config_member(const struct config_value *object, const char *name);

/* The same, but a null counts as missing. */
const struct config_value *config_get(const struct config_value *object, const char *name);

/* The item, or NULL outside the array. */
const struct config_value *config_item(const struct config_value *array, size_t index);

bool config_is_text(const struct config_value *value, const char *text);

#endif
