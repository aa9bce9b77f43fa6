/* Request targets: see target.h. */
#include "server/http/target.h"

#include "server/utf8.h"

#include <stdio.h>
#include <string.h>

static int hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

static bool is_printable(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f)
			return false;
	}
	return true;
}

bool target_split(const char *raw, struct target *out, struct error *error)
{
	const char *mark;

	/* What is not ASCII must be escaped; spaces and control bytes never belong here. */
	if (!is_printable(raw))
		return error_set(error, ERROR_MALFORMED,
				 "the request target holds a space, a control byte or a byte that "
				 "must be percent-encoded");
	if (strncmp(raw, "http://", 7) == 0 || strncmp(raw, "https://", 8) == 0) {
		raw = strchr(raw, ':') + 3;
		raw += strcspn(raw, "/?#");
		if (*raw != '/')
			raw = "/"; /* http://host alone */
	}
	if (*raw != '/' && strcmp(raw, "*") != 0)
		return error_set(error, ERROR_MALFORMED, "the request target is not a path");
	if (strchr(raw, '#'))
		return error_set(error, ERROR_MALFORMED, "the request target holds a fragment");
	mark = strchr(raw, '?');
	*out = (struct target){.path = raw,
			       .path_length = mark ? (size_t)(mark - raw) : strlen(raw),
			       .query = mark ? mark + 1 : ""};
	return true;
}

/* Decoded text, or NULL with the reason in `why`. */
static char *decode(struct arena *arena, const char *raw, size_t length, bool plus_is_space,
		    const char **why)
{
	char *text = arena_alloc(arena, length + 1);
	size_t used = 0;

	*why = "is too long";
	if (!text)
		return NULL;
	for (size_t i = 0; i < length; i++) {
		char byte = raw[i];

		if (byte == '%') {
			int high = i + 2 < length ? hex_digit(raw[i + 1]) : -1;
			int low = high >= 0 ? hex_digit(raw[i + 2]) : -1;

			if (low < 0) {
				*why = "holds a malformed percent-escape";
				return NULL;
			}
			byte = (char)(high * 16 + low);
			i += 2;
		} else if (byte == '+' && plus_is_space) {
			byte = ' ';
		}
		if ((unsigned char)byte < 0x20 || byte == 0x7f) {
			*why = "holds a control byte";
			return NULL;
		}
		text[used++] = byte;
	}
	*why = "is not valid UTF-8";
	return utf8_is_valid(text, used) ? text : NULL;
}

const char *target_decode(struct arena *arena, const char *raw, size_t length, struct error *error)
{
	const char *why, *text = decode(arena, raw, length, false, &why);

	if (!text)
		error_set(error, ERROR_MALFORMED, "the path %s", why);
	return text;
}

static bool add_query(struct request *request, const char *raw, size_t length, struct error *error)
{
	const char *equals = memchr(raw, '=', length), *why = "", *name, *value = "";
	size_t name_length = equals ? (size_t)(equals - raw) : length;

	name = decode(&request->arena, raw, name_length, true, &why);
	if (!name || !*name) {
		char shown[64];

		snprintf(shown, sizeof(shown), "%.*s", name_length < 40 ? (int)name_length : 40,
			 raw);
		return error_add(error, shown, "malformed", NULL, "the parameter's name %s",
				 name ? "is empty" : why);
	}
	if (equals)
		value = decode(&request->arena, equals + 1, length - name_length - 1, true, &why);
	if (!value)
		return error_add(error, name, "malformed", NULL, "the parameter's value %s", why);
	if (request_query(request, name))
		return error_add(error, name, "repeated", NULL, "the parameter is given twice");
	request->query[request->queries++] = (struct query){name, value};
	return true;
}

bool target_decode_query(struct request *request, const char *raw, struct error *error)
{
	bool is_good = true;

	while (*raw) {
		size_t length = strcspn(raw, "&");

		if (length > 0) {
			if (request->queries == REQUEST_QUERIES_MAX)
				return error_set(error, ERROR_INVALID_PARAMETER,
						 "more than %d query parameters",
						 REQUEST_QUERIES_MAX);
			is_good &= add_query(request, raw, length, error);
		}
		raw += length + (raw[length] == '&');
	}
	if (!is_good)
		error_set(error, ERROR_INVALID_PARAMETER, "%u query parameter%s malformed",
			  error->count, error->count == 1 ? " is" : "s are");
	return is_good;
}
