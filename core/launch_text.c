/* Launch: text that grows, and quoting for the places where foreign names stand. */
#include "core/launch_parts.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX 200
#define ROOM_FIRST 1024

void text_init(struct text *text, struct arena *arena)
{
	*text = (struct text){.arena = arena};
}

static bool make_room(struct text *text, size_t more)
{
	size_t room = text->room ? text->room : ROOM_FIRST;
	char *bytes;

	if (text->failed)
		return false;
	if (text->length + more < text->room)
		return true;
	while (room <= text->length + more)
		room *= 2;
	bytes = arena_alloc(text->arena, room);
	if (!bytes) {
		text->failed = true;
		return false;
	}
	if (text->length)
		memcpy(bytes, text->bytes, text->length);
	text->bytes = bytes;
	text->room = room;
	return true;
}

static void append(struct text *text, const char *bytes, size_t length)
{
	if (!make_room(text, length + 1))
		return;
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
	va_list arguments;
	char *added;

	va_start(arguments, format);
	added = arena_vprintf(text->arena, format, arguments);
	va_end(arguments);
	if (added)
		append(text, added, strlen(added));
	else
		text->failed = true;
}

void text_indented(struct text *text, int indent, const char *lines)
{
	while (lines && *lines) {
		size_t length = strcspn(lines, "\n");

		text_add(text, "%*s", length ? indent : 0, "");
		append(text, lines, length);
		append(text, "\n", 1);
		lines += length + (lines[length] == '\n');
	}
}

const char *text_take(struct text *text)
{
	return text->failed ? NULL : text->bytes ? text->bytes : "";
}

bool launch_is_name(const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return length <= NAME_BYTES_MAX;
}

static bool is_plain_word(const char *word)
{
	for (const char *at = word; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_@%+=:,./-", *at))
			return false;
	return *word != '\0';
}

const char *launch_shell(struct arena *arena, const char *word)
{
	size_t length = strlen(word);
	char *quoted, *end;

	if (is_plain_word(word))
		return word;
	quoted = arena_alloc(arena, 4 * length + 3);
	if (!quoted)
		return NULL;
	end = quoted;
	*end++ = '\'';
	for (size_t i = 0; i < length; i++) {
		if (word[i] == '\'') { /* out, an escaped quote, in again */
			memcpy(end, "'\\''", 4);
			end += 4;
		} else {
			*end++ = word[i];
		}
	}
	*end++ = '\'';
	return quoted;
}

const char *launch_yaml(struct arena *arena, const char *text)
{
	size_t length = strlen(text);
	char *quoted = arena_alloc(arena, 2 * length + 3), *end = quoted;

	if (!quoted)
		return NULL;
	*end++ = '"';
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '"' || text[i] == '\\')
			*end++ = '\\';
		*end++ = text[i];
	}
	*end++ = '"';
	return quoted;
}

const char *launch_model(const struct workload *workload)
{
	return workload->checkpoint ? workload->checkpoint : workload->model;
}

void launch_name(const struct workload *workload, char out[LAUNCH_NAME])
{
	const char *model = launch_model(workload), *slash = strrchr(model, '/');
	size_t length = (size_t)snprintf(out, LAUNCH_NAME, "gpupick-");

	for (model = slash ? slash + 1 : model; *model && length < LAUNCH_NAME - 1; model++) {
		int byte = tolower((unsigned char)*model);

		if (isalnum(byte))
			out[length++] = (char)byte;
		else if (out[length - 1] != '-')
			out[length++] = '-';
	}
	while (out[length - 1] == '-')
		length--;
	out[length] = '\0';
}
