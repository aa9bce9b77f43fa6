/* Header field values: see fields.h. */
#include "server/http/fields.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

static size_t trimmed(const char *text, size_t length)
{
	while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	return length;
}

/* A range ("text/csv", "text/" "*", "*" "/" "*") against a type: 3, 2, 1 by how exactly, 0 for not.
 */
static int range_matches(const char *range, size_t length, const char *type, size_t type_length)
{
	if (length == 3 && strncmp(range, "*/*", 3) == 0)
		return 1;
	if (length > 2 && strncmp(range + length - 2, "/*", 2) == 0)
		return length <= type_length && strncasecmp(range, type, length - 1) == 0 ? 2 : 0;
	return length == type_length && strncasecmp(range, type, length) == 0 ? 3 : 0;
}

/* The q of one item's parameters, in thousandths. */
static int quality(const char *parameters, size_t length)
{
	for (size_t i = 0; i + 2 < length; i++) {
		if (parameters[i] == ';') {
			const char *name = skip_blanks(parameters + i + 1);

			if ((*name == 'q' || *name == 'Q') && name[1] == '=') {
				double q = strtod(name + 2, NULL);

				return q > 0 ? (q < 1 ? (int)(q * 1000) : 1000) : 0;
			}
		}
	}
	return 1000;
}

/* What Accept gives to one type: the q of its most exact range, or 0. */
static int type_quality(const char *accept, const char *type, size_t type_length)
{
	int best_match = 0, best_quality = 0;

	while (*accept) {
		size_t length = strcspn(accept, ","), range_length;
		const char *range = skip_blanks(accept);
		int match;

		length -= (size_t)(range - accept) < length ? (size_t)(range - accept) : length;
		range_length = strcspn(range, ";,");
		if (range_length > length)
			range_length = length;
		match = range_matches(range, trimmed(range, range_length), type, type_length);
		if (match > best_match) {
			best_match = match;
			best_quality = quality(range + range_length, length - range_length);
		}
		accept = range + length;
		accept += *accept == ',';
	}
	return best_quality;
}

bool field_accept(const char *accept, const char *produces, char out[MEDIA_TYPE_TEXT])
{
	int best = 0;

	if (!accept || !*skip_blanks(accept))
		accept = "*/*";
	while (*produces) {
		size_t length = strcspn(produces, " ");
		int q = type_quality(accept, produces, length);

		if (q > best && length < MEDIA_TYPE_TEXT) {
			best = q;
			memcpy(out, produces, length);
			out[length] = '\0';
		}
		produces += length + (produces[length] == ' ');
	}
	return best > 0;
}

bool field_etag_matches(const char *if_none_match, const char *etag)
{
	size_t length;

	if (strncmp(etag, "W/", 2) == 0)
		etag += 2;
	length = strlen(etag);
	while (*(if_none_match = skip_blanks(if_none_match))) {
		const char *close;

		if (*if_none_match == '*')
			return true;
		if (strncmp(if_none_match, "W/", 2) == 0)
			if_none_match += 2;
		close = *if_none_match == '"' ? strchr(if_none_match + 1, '"') : NULL;
		if (!close)
			return false; /* not a list of tags */
		if ((size_t)(close + 1 - if_none_match) == length &&
		    memcmp(if_none_match, etag, length) == 0)
			return true;
		if_none_match = skip_blanks(close + 1);
		if_none_match += *if_none_match == ',';
	}
	return false;
}

bool field_is_json(const char *content_type)
{
	size_t length = trimmed(content_type, strcspn(content_type, ";"));
	const char *charset = strcasestr(content_type, "charset=");

	if (length != strlen("application/json") ||
	    strncasecmp(content_type, "application/json", length) != 0)
		return false;
	if (!charset)
		return true;
	charset += strlen("charset=");
	charset += *charset == '"';
	return strncasecmp(charset, "utf-8", 5) == 0 || strncasecmp(charset, "us-ascii", 8) == 0;
}

bool field_is_request_id(const char *value)
{
	size_t length = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789-_.:=+/@");

	return length > 0 && length <= 64 && !value[length];
}

bool field_trace_id(const char *traceparent, char out[33])
{
	static const char *const hex = "0123456789abcdef";

	/* version-traceid-parentid-flags; later versions may append more. */
	if (strspn(traceparent, hex) != 2 || strncmp(traceparent, "ff", 2) == 0 ||
	    traceparent[2] != '-' || strspn(traceparent + 3, hex) != 32 || traceparent[35] != '-' ||
	    strspn(traceparent + 36, hex) != 16 || traceparent[52] != '-' ||
	    strspn(traceparent + 53, hex) < 2 || strspn(traceparent + 3, "0") == 32 ||
	    strspn(traceparent + 36, "0") == 16)
		return false;
	memcpy(out, traceparent + 3, 32);
	out[32] = '\0';
	return true;
}

bool field_prefers(const char *prefer, const char *preference)
{
	size_t wanted = strlen(preference);

	while (*(prefer = skip_blanks(prefer))) {
		size_t length = strcspn(prefer, ","), own = strcspn(prefer, ",;");

		if (trimmed(prefer, own) == wanted && strncasecmp(prefer, preference, wanted) == 0)
			return true;
		prefer += length + (prefer[length] == ',');
	}
	return false;
}
