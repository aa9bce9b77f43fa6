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

int field_quality(const char *parameters, size_t length)
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
			best_quality = field_quality(range + range_length, length - range_length);
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

/* The end of an entity tag, or NULL when there is none here: RFC 9110 8.8.3. */
static const char *tag_end(const char *text)
{
	if (strncmp(text, "W/", 2) == 0)
		text += 2;
	if (*text++ != '"')
		return NULL;
	while ((unsigned char)*text >= 0x21 && *text != '"' && *text != 0x7f)
		text++;
	return *text == '"' ? text + 1 : NULL;
}

bool field_etag_matches(const char *if_none_match, const char *etag)
{
	bool is_found = false;
	size_t length;

	if_none_match = skip_blanks(if_none_match);
	if (*if_none_match == '*')
		return !*skip_blanks(if_none_match + 1);
	etag += strncmp(etag, "W/", 2) == 0 ? 2 : 0;
	length = strlen(etag);
	while (*(if_none_match += strspn(if_none_match, " \t,"))) {
		const char *end = tag_end(if_none_match);

		if (!end || (*end && !strchr(" \t,", *end)))
			return false; /* not a list of tags, and so none of ours */
		if_none_match += strncmp(if_none_match, "W/", 2) == 0 ? 2 : 0;
		if ((size_t)(end - if_none_match) == length &&
		    memcmp(if_none_match, etag, length) == 0)
			is_found = true;
		if_none_match = skip_blanks(end);
		if (*if_none_match && *if_none_match != ',')
			return false;
	}
	return is_found;
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

bool field_wait(const char *prefer, int64_t *seconds)
{
	while (*(prefer = skip_blanks(prefer))) {
		size_t length = strcspn(prefer, ","), own = trimmed(prefer, strcspn(prefer, ",;"));
		size_t digits =
			strncasecmp(prefer, "wait=", 5) == 0 ? strspn(prefer + 5, "0123456789") : 0;

		if (digits > 0 && digits < 10 && own == 5 + digits) {
			*seconds = strtol(prefer + 5, NULL, 10);
			return true;
		}
		prefer += length + (prefer[length] == ',');
	}
	return false;
}
