/* One element of Forwarded: see element.h. */
#include "server/http/element.h"

#include <string.h>
#include <strings.h>

#define ELEMENT_BYTES_MAX 1024

static const char *const pair_names[PAIRS] = {"for", "proto", "host", "by"};

struct text text_trimmed(const char *at, size_t length)
{
	while (length > 0 && (*at == ' ' || *at == '\t')) {
		at++;
		length--;
	}
	while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t'))
		length--;
	return (struct text){at, length};
}

bool text_consists_of(struct text text, const char *bytes)
{
	for (size_t i = 0; i < text.length; i++) {
		if (!text.at[i] || !strchr(bytes, text.at[i]))
			return false;
	}
	return text.length > 0;
}

bool text_equals(struct text text, const char *word)
{
	return text.length == strlen(word) && strncasecmp(text.at, word, text.length) == 0;
}

static bool is_token_byte(char byte)
{
	return byte && strchr(LETTERS DIGITS "!#$%&'*+-.^_`|~", byte);
}

/* A token or a quoted string at *at, without its quotes and backslashes. */
static bool take_value(const char **at, const char *end, char out[PAIR_TEXT])
{
	bool is_quoted = *at < end && **at == '"';
	size_t used = 0;

	*at += is_quoted;
	for (; *at < end && used < PAIR_TEXT - 1; (*at)++) {
		if (is_quoted ? **at == '"' : !is_token_byte(**at))
			break;
		if (**at == '\\' && ++*at == end)
			return false;
		out[used++] = **at;
	}
	out[used] = '\0';
	if (is_quoted)
		return *at < end && *(*at)++ == '"';
	return used > 0;
}

static bool take_pair(const char **at, const char *end, struct element *element)
{
	char value[PAIR_TEXT];
	struct text name = {*at, 0};

	while (*at < end && is_token_byte(**at))
		(*at)++;
	name.length = (size_t)(*at - name.at);
	if (name.length == 0 || *at == end || *(*at)++ != '=' || !take_value(at, end, value))
		return false;
	for (int i = 0; i < PAIRS; i++) {
		if (!text_equals(name, pair_names[i]))
			continue;
		if (element->has[i])
			return false; /* given twice */
		element->has[i] = true;
		memcpy(element->text[i], value, sizeof(value));
	}
	return true;
}

static bool parse_element(struct text text, struct element *element)
{
	const char *at = text.at, *end = text.at + text.length;

	memset(element->has, 0, sizeof(element->has));
	element->is_blank = text.length == 0;
	while (at < end) {
		if (*at != ';' && !take_pair(&at, end, element))
			return false;
		if (at < end && *at++ != ';')
			return false;
	}
	return true;
}

bool element_last(struct text line, size_t end, size_t *from, struct element *element)
{
	for (*from = end; end - *from <= ELEMENT_BYTES_MAX; (*from)--) {
		while (*from > 0 && line.at[*from - 1] != ',')
			(*from)--;
		if (parse_element(text_trimmed(line.at + *from, end - *from), element))
			return true;
		if (*from == 0)
			break;
	}
	return false;
}
