/* Other origins: see cors.h. */
#include "server/http/cors.h"

#include <string.h>

#define BETWEEN ", \t"

/* scheme://host or scheme://host:port, as browsers write it: lower case, no path. */
static bool is_origin(const char *text, size_t length)
{
	size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
			: strncmp(text, "http://", 7) == 0 ? 7
							   : 0;

	return scheme > 0 && length > scheme &&
	       strspn(text + scheme, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") >=
		       length - scheme;
}

bool cors_check(const char *list, struct error *error)
{
	while (*(list += strspn(list, BETWEEN))) {
		size_t length = strcspn(list, BETWEEN);

		if (!is_origin(list, length) && !(length == 1 && *list == '*'))
			return error_set(error, ERROR_INVALID,
					 "'%.*s' is neither '*' nor an origin as browsers write it "
					 "(https://shop.example, http://localhost:3000)",
					 (int)(length < 80 ? length : 80), list);
		list += length;
	}
	return true;
}

const char *cors_allowed(const char *list, const char *origin)
{
	while (origin && *(list += strspn(list, BETWEEN))) {
		size_t length = strcspn(list, BETWEEN);

		if (length == 1 && *list == '*')
			return "*";
		if (strlen(origin) == length && memcmp(origin, list, length) == 0)
			return origin;
		list += length;
	}
	return NULL;
}

bool cors_varies(const char *list)
{
	return *list && !strchr(list, '*');
}
