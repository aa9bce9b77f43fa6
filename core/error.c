/* Error values: see error.h. */
#include "core/error.h"

#include <stdio.h>
#include <string.h>

static const char *const slugs[ERROR_CODES] = {
#define X(code, slug, title) [ERROR_##code] = slug,
	ERROR_TABLE(X)
#undef X
};

static const char *const titles[ERROR_CODES] = {
#define X(code, slug, title) [ERROR_##code] = title,
	ERROR_TABLE(X)
#undef X
};

void error_init(struct error *error, struct arena *arena)
{
	*error = (struct error){.arena = arena};
}

bool error_set(struct error *error, enum error_code code, const char *format, ...)
{
	va_list arguments;

	error->code = code;
	va_start(arguments, format);
	vsnprintf(error->detail, sizeof(error->detail), format, arguments);
	va_end(arguments);
	return false;
}

static struct error_item *item_new(struct error *error, const char *pointer, const char *code,
				   const char *suggestion, const char *detail)
{
	struct error_item *item = arena_alloc(error->arena, sizeof(*item));

	if (!item || !detail)
		return NULL;
	item->detail = detail;
	item->pointer = arena_strdup(error->arena, pointer);
	item->code = arena_strdup(error->arena, code);
	item->suggestion = suggestion ? arena_strdup(error->arena, suggestion) : NULL;
	return item->pointer && item->code ? item : NULL;
}

bool error_add(struct error *error, const char *pointer, const char *code, const char *suggestion,
	       const char *format, ...)
{
	struct error_item *item = NULL;
	va_list arguments;

	if (error->code == ERROR_NONE) {
		error->code = ERROR_INVALID;
		va_start(arguments, format);
		vsnprintf(error->detail, sizeof(error->detail), format, arguments);
		va_end(arguments);
	}
	if (error->arena && error->count < ERROR_ITEMS_MAX) {
		va_start(arguments, format);
		item = item_new(error, pointer, code, suggestion,
				arena_vprintf(error->arena, format, arguments));
		va_end(arguments);
	}
	if (!item) {
		error->dropped++;
		return false;
	}
	if (error->last)
		error->last->next = item;
	else
		error->first = item;
	error->last = item;
	error->count++;
	return false;
}

bool error_is_set(const struct error *error)
{
	return error->code != ERROR_NONE;
}

const char *error_slug(enum error_code code)
{
	return slugs[code];
}

const char *error_title(enum error_code code)
{
	return titles[code];
}
