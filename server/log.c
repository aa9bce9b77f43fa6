/*
 * Log: see log.h. Events are written at once. Access lines are gathered per thread and written when
 * log_flush() says that the thread is about to wait, or before they outgrow what a pipe takes in
 * one piece: under load one write() carries many lines.
 */
#include "server/log.h"

#include "server/clock.h"
#include "server/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX 4096 /* PIPE_BUF on Linux: longer writes to a pipe may be torn */
#define ACCESS_VALUE_MAX                                                                           \
	256 /* so that all fields of an access line fit, however they are escaped */

static const char *const level_names[] = {[LOG_DEBUG] = "debug",
					  [LOG_INFO] = "info",
					  [LOG_WARNING] = "warning",
					  [LOG_ERROR] = "error"};

static enum log_level threshold = LOG_INFO;
static _Thread_local char access_lines[LINE_MAX];
static _Thread_local size_t access_length;

bool log_configure(const char *level)
{
	for (size_t i = 0; i < sizeof(level_names) / sizeof(*level_names); i++) {
		if (strcmp(level, level_names[i]) == 0) {
			threshold = (enum log_level)i;
			return true;
		}
	}
	return false;
}

bool log_enabled(enum log_level level)
{
	return level >= threshold;
}

struct line {
	char bytes[LINE_MAX];
	size_t length;
};

/* Room for the closing of a string, an object and the line is always kept. */
static void put(struct line *line, const char *text, size_t length)
{
	size_t room = sizeof(line->bytes) - 4 - line->length;

	if (length > room)
		length = room;
	memcpy(line->bytes + line->length, text, length);
	line->length += length;
}

static void put_escaped(struct line *line, const char *text, size_t left)
{
	size_t step;

	for (; left > 0; text += step, left -= step) {
		unsigned char byte = (unsigned char)*text;
		char escape[8];

		if (line->length + sizeof(escape) + 4 > sizeof(line->bytes))
			return; /* cut: a long value must not break the JSON */
		step = utf8_sequence(text, left);
		if (byte == '"' || byte == '\\') {
			escape[0] = '\\';
			escape[1] = *text;
			put(line, escape, 2);
		} else if (step == 0) {
			put(line, "\xef\xbf\xbd",
			    3); /* U+FFFD: what a client sent must not break it either */
			step = 1;
		} else if (byte < 0x20 || byte == 0x7f) {
			put(line, escape,
			    (size_t)snprintf(escape, sizeof(escape), "\\u%04x", byte));
		} else {
			put(line, text, step);
		}
	}
}

static void put_field_n(struct line *line, const char *name, const char *value, size_t length)
{
	if (line->length + strlen(name) + 16 > sizeof(line->bytes))
		return;
	put(line, ",\"", 2);
	put(line, name, strlen(name));
	put(line, "\":\"", 3);
	put_escaped(line, value, length);
	line->bytes[line->length++] = '"';
}

static void put_field(struct line *line, const char *name, const char *value)
{
	put_field_n(line, name, value, strlen(value));
}

/* What a client chose: a method may be as long as a head. */
static void put_short(struct line *line, const char *name, const char *value)
{
	put_field_n(line, name, value, strnlen(value, ACCESS_VALUE_MAX));
}

static void put_number(struct line *line, const char *name, long long value)
{
	char text[64];

	put(line, text, (size_t)snprintf(text, sizeof(text), ",\"%s\":%lld", name, value));
}

static void begin(struct line *line, enum log_level level, const char *message)
{
	char now[CLOCK_TEXT];

	clock_format(clock_wall_us(), now);
	line->length = 0;
	put(line, "{\"time\":\"", 9);
	put(line, now, strlen(now));
	line->bytes[line->length++] = '"';
	put_field(line, "level", level_names[level]);
	put_field(line, "message", message);
}

static void write_all(const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t written = write(STDERR_FILENO, bytes, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return; /* nowhere left to complain */
		bytes += written;
		length -= (size_t)written;
	}
}

static void end(struct line *line)
{
	line->bytes[line->length++] = '}';
	line->bytes[line->length++] = '\n';
}

void log_event(enum log_level level, const char *message, ...)
{
	struct line line;
	va_list fields;

	if (!log_enabled(level))
		return;
	begin(&line, level, message);
	va_start(fields, message);
	for (;;) {
		const char *name = va_arg(fields, const char *), *value;

		if (!name)
			break;
		value = va_arg(fields, const char *);
		put_field(&line, name, value ? value : "");
	}
	va_end(fields);
	end(&line);
	write_all(line.bytes, line.length);
}

static void put_trace(struct line *line, const struct log_access *access)
{
	put_field(line, "trace_id", access->trace_id);
	put_field(line, "span_id", access->span_id);
	put_field(line, "parent_id", access->parent_id);
}

void log_access(const struct log_access *access)
{
	struct line line;

	if (!log_enabled(LOG_INFO))
		return;
	begin(&line, LOG_INFO, "request");
	put_field(&line, "request_id", access->request_id);
	if (*access->trace_id)
		put_trace(&line, access);
	put_short(&line, "method", access->method);
	put_field(&line, "route", access->route);
	put_number(&line, "status", access->status);
	put_number(&line, "duration_us", access->duration_us);
	put_number(&line, "bytes", (long long)access->bytes);
	put_field(&line, "client", access->client);
	if (*access->caller)
		put_field(&line, "caller", access->caller);
	if (*access->scheme)
		put_field(&line, "scheme", access->scheme);
	if (*access->host)
		put_short(&line, "host", access->host);
	end(&line);
	if (access_length + line.length > sizeof(access_lines))
		log_flush();
	memcpy(access_lines + access_length, line.bytes, line.length);
	access_length += line.length;
}

void log_flush(void)
{
	write_all(access_lines, access_length);
	access_length = 0;
}
