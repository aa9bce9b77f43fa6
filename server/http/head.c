/* Heads, unread: see head.h. */
#include "server/http/head.h"

#include "server/http/framing.h"
#include "server/http/target.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#define TEXT(value) #value
#define NUMBER(macro) TEXT(macro)
#define METHOD_HEAD "HEAD "
#define BAD_LINE "the request line is not METHOD TARGET HTTP/1.1"

struct reading {
	struct head *head;
	bool has_line, has_cookie; /* the request line; the library reads one Cookie only */
	bool is_old;		   /* HTTP/1.0 */
	unsigned framings;	   /* lengths and transfer codings */
	size_t notes_bytes;
};

static bool refuse(struct head *head, enum error_code code, const char *problem)
{
	head->code = code;
	head->problem = problem;
	return false;
}

/* As many as lie between separators of either kind. */
static size_t parts(const char *text, size_t length, char separator, char other)
{
	size_t count = 1;

	for (size_t i = 0; i < length; i++)
		count += text[i] == separator || text[i] == other;
	return count;
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool is_version(const char *text, size_t length)
{
	return length == strlen("HTTP/1.1") && memcmp(text, "HTTP/", 5) == 0 && is_digit(text[5]) &&
	       text[6] == '.' && is_digit(text[7]);
}

/* Of a head that is not all there. */
static bool is_target_too_long(const char *head, const char *end)
{
	const char *feed = memchr(head, '\n', (size_t)(end - head));
	const char *line_end = feed ? feed : end;
	const char *target = memchr(head, ' ', (size_t)(line_end - head));

	return target && line_end - target > TARGET_BYTES_MAX;
}

static bool take_request_line(struct reading *reading, const char *line, size_t length)
{
	const char *end = line + length, *target = memchr(line, ' ', length), *version, *query;

	if (!target || target == line)
		return refuse(reading->head, ERROR_MALFORMED, BAD_LINE);
	while (target < end && *target == ' ')
		target++;
	version = (const char *)memrchr(line, ' ', length) + 1;
	if (version <= target || !is_version(version, (size_t)(end - version)))
		return refuse(reading->head, ERROR_MALFORMED, BAD_LINE);
	if (version[5] != '1') /* not 505: what a stranger sends is no failure of the service */
		return refuse(reading->head, ERROR_MALFORMED,
			      "only HTTP/1.1 and HTTP/1.0 are taken");
	reading->is_old = version[7] == '0';
	query = memchr(target, '?', (size_t)(version - target));
	if (query)
		reading->notes_bytes +=
			HEAD_NOTE_BYTES * parts(query, (size_t)(version - query), '&', '&');
	return true;
}

static bool is_named(const char *text, const char *end, const char *name)
{
	size_t length = strlen(name);

	return (size_t)(end - text) == length && strncasecmp(text, name, length) == 0;
}

/* Of what says how the stream goes on after the head. */
static bool take_framing(struct reading *reading, const char *line, const char *colon,
			 const char *value, const char *end)
{
	struct head *head = reading->head;

	if (is_named(line, colon, "Content-Length")) {
		reading->framings++;
		return framing_read_length(value, (size_t)(end - value), &head->body_length) ||
		       refuse(head, ERROR_MALFORMED, FRAMING_BAD_LENGTH);
	}
	if (is_named(line, colon, "Transfer-Encoding")) {
		reading->framings++;
		head->is_chunked = is_named(value, end, "chunked");
		head->may_close |= !head->is_chunked;
	}
	if (is_named(line, colon, "Connection"))
		head->may_close |= !is_named(value, end, "keep-alive");
	return true;
}

static bool take_field(struct reading *reading, const char *line, size_t length)
{
	const char *end = line + length, *colon = memchr(line, ':', length), *value;

	if (*line == ' ' || *line == '\t')
		return refuse(reading->head, ERROR_MALFORMED, FRAMING_BAD_LINE);
	if (!colon)
		return refuse(reading->head, ERROR_MALFORMED, "a line of the head has no colon");
	value = colon + 1;
	while (value < end && (*value == ' ' || *value == '\t'))
		value++;
	if (!take_framing(reading, line, colon, value, end))
		return false;
	if (is_named(line, colon, "Cookie") && !reading->has_cookie) {
		size_t cookie = (size_t)(end - value);

		reading->has_cookie = true;
		reading->notes_bytes +=
			cookie + HEAD_NOTE_BYTES * (1 + parts(value, cookie, ';', ','));
	}
	reading->notes_bytes += HEAD_NOTE_BYTES;
	return true;
}

/* A line without its line feed; it may be empty but for a carriage return. */
static bool take_line(struct reading *reading, const char *line, const char *feed)
{
	size_t length = (size_t)(feed - line);

	if (length == 0 || feed[-1] != '\r')
		return refuse(reading->head, ERROR_MALFORMED, FRAMING_BAD_LINE);
	length--;
	if (!reading->has_line) {
		reading->has_line = true;
		return take_request_line(reading, line, length);
	}
	return take_field(reading, line, length);
}

static bool is_blank(const char *line, const char *feed)
{
	return feed == line || (feed == line + 1 && *line == '\r');
}

/* Several ways to frame a body, and chunks in HTTP/1.0, will be refused (framing.h). */
static void settle(const struct reading *reading)
{
	struct head *head = reading->head;

	if (reading->framings <= 1 && !reading->is_old)
		return;
	head->is_chunked = false;
	head->may_close = true;
}

/* After its last line, or in the middle of one. */
static bool check_whole(const struct reading *reading, const char *from, const char *to)
{
	size_t length = (size_t)(to - from);
	size_t buffered = reading->framings ? HEAD_BUFFER_BYTES : length;

	if (memchr(from, '\0', length))
		return refuse(reading->head, ERROR_MALFORMED, FRAMING_BAD_LINE);
	if (buffered + reading->notes_bytes > HEAD_POOL_BYTES - HEAD_ANSWER_BYTES)
		return refuse(reading->head, ERROR_HEAD_TOO_LARGE,
			      "the request has too many header fields, parameters or cookies");
	return true;
}

enum head_verdict head_check(const char *bytes, size_t length, struct head *head)
{
	const char *start = bytes, *at = bytes, *feed;
	const char *end = bytes + (length < HEAD_BYTES_MAX ? length : HEAD_BYTES_MAX);
	struct reading reading = {.head = head};

	*head = (struct head){.code = ERROR_NONE};
	while (at < end && (feed = memchr(at, '\n', (size_t)(end - at)))) {
		bool is_end = is_blank(at, feed);

		if (!reading.has_line && !is_end) { /* empty lines before it are passed over */
			bytes = at;
			head->empty_bytes = (size_t)(at - start);
			head->is_method_head = strncmp(at, METHOD_HEAD, strlen(METHOD_HEAD)) == 0;
		}
		head->length = (size_t)(feed + 1 - start);
		if (is_end && reading.has_line && *at == '\r') {
			settle(&reading);
			return check_whole(&reading, bytes, feed) ? HEAD_READABLE : HEAD_REFUSED;
		}
		if ((!is_end || reading.has_line) && !take_line(&reading, at, feed))
			return HEAD_REFUSED;
		at = feed + 1;
	}
	if (!check_whole(&reading, bytes, end))
		return HEAD_REFUSED;
	if (length < HEAD_BYTES_MAX)
		return HEAD_PARTIAL;
	if (is_target_too_long(bytes, end))
		refuse(head, ERROR_TARGET_TOO_LONG,
		       "the request target is longer than " NUMBER(TARGET_BYTES_MAX) " bytes");
	else
		refuse(head, ERROR_HEAD_TOO_LARGE,
		       "the head of the request is larger than " NUMBER(HEAD_BYTES_MAX) " bytes");
	return HEAD_REFUSED;
}
