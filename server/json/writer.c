/*
 * Writer: bounded JSON output. Numbers are printed from integers, so that every machine and locale
 * prints the same digits; text is checked as UTF-8 byte by byte, since it may come from feeds.
 */
#include "server/json/writer.h"

#include "server/utf8.h"

#include "core/units.h"
#include "server/clock.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 4096
#define DIGITS_MAX 24

void writer_init(struct writer *writer, size_t limit_bytes)
{
	memset(writer, 0, sizeof(*writer));
	writer->limit = limit_bytes;
}

void writer_release(struct writer *writer)
{
	free(writer->bytes);
	free(writer->ages);
	writer->bytes = NULL;
	writer->ages = NULL;
	writer->length = writer->capacity = 0;
	writer->ages_count = writer->ages_capacity = 0;
}

static bool grow(struct writer *writer, size_t more)
{
	size_t wanted, capacity = writer->capacity ? writer->capacity : FIRST_CAPACITY;
	char *bytes;

	/* One byte stays free for the terminator. */
	if (more >= SIZE_MAX - writer->length || writer->length + more > writer->limit)
		return false;
	wanted = writer->length + more + 1;
	while (capacity < wanted) {
		if (capacity > SIZE_MAX / 2)
			return false;
		capacity *= 2;
	}
	bytes = realloc(writer->bytes, capacity);
	if (!bytes)
		return false;
	writer->bytes = bytes;
	writer->capacity = capacity;
	return true;
}

/* Room for `more` bytes and the terminator, or a failure that sticks. */
static bool reserve(struct writer *writer, size_t more)
{
	if (writer->failed)
		return false;
	if (writer->capacity - writer->length > more && writer->length + more <= writer->limit)
		return true;
	if (!grow(writer, more)) {
		writer->failed = true;
		return false;
	}
	return true;
}

static void append(struct writer *writer, const char *bytes, size_t length)
{
	if (!reserve(writer, length))
		return;
	memcpy(writer->bytes + writer->length, bytes, length);
	writer->length += length;
}

static void append_byte(struct writer *writer, char byte)
{
	append(writer, &byte, 1);
}

void writer_expect(struct writer *writer, size_t length)
{
	reserve(writer, length);
}

char *writer_take(struct writer *writer, size_t *length)
{
	char *bytes;

	/* An object left open is our own mistake, never a caller's: do not send half a document. */
	assert(writer->failed || writer->depth == 0);
	if (writer->failed || !reserve(writer, 0)) {
		writer_release(writer);
		return NULL;
	}
	bytes = writer->bytes;
	bytes[writer->length] = '\0';
	if (length)
		*length = writer->length;
	writer->bytes = NULL;
	writer->length = writer->capacity = 0;
	return bytes;
}

/* Called before every value: writes the comma that is due and makes the next one due. */
static void value_begins(struct writer *writer)
{
	if (writer->depth == 0)
		return;
	if (writer->need_comma[writer->depth - 1])
		append_byte(writer, ',');
	writer->need_comma[writer->depth - 1] = true;
}

static void open_level(struct writer *writer, char bracket)
{
	value_begins(writer);
	append_byte(writer, bracket);
	if (writer->depth == WRITER_DEPTH_MAX) {
		writer->failed = true;
		return;
	}
	writer->need_comma[writer->depth++] = false;
}

static void close_level(struct writer *writer, char bracket)
{
	if (writer->failed)
		return;
	assert(writer->depth > 0);
	writer->depth--;
	append_byte(writer, bracket);
}

void writer_begin_object(struct writer *writer)
{
	open_level(writer, '{');
}

void writer_end_object(struct writer *writer)
{
	close_level(writer, '}');
}

void writer_begin_array(struct writer *writer)
{
	open_level(writer, '[');
}

void writer_end_array(struct writer *writer)
{
	close_level(writer, ']');
}

/* Text between quotes, where a value may stand: in one piece, since answers are made of these. */
static void append_quoted(struct writer *writer, const char *text, size_t length, bool is_key)
{
	bool comma = writer->depth && writer->need_comma[writer->depth - 1];
	char *at;

	if (!reserve(writer, length + 2 + comma + is_key))
		return;
	at = writer->bytes + writer->length;
	if (comma)
		*at++ = ',';
	*at++ = '"';
	memcpy(at, text, length);
	at += length;
	*at++ = '"';
	if (is_key)
		*at++ = ':';
	writer->length = (size_t)(at - writer->bytes);
	if (writer->depth)
		writer->need_comma[writer->depth - 1] = !is_key; /* its value follows at once */
}

void writer_key(struct writer *writer, const char *name)
{
	append_quoted(writer, name, strlen(name), true);
}

static void append_escaped(struct writer *writer, unsigned char byte)
{
	static const char short_escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	char buffer[8];
	size_t i;

	for (i = 0; short_escapes[i]; i += 2) {
		if ((unsigned char)short_escapes[i] == byte) {
			buffer[0] = '\\';
			buffer[1] = short_escapes[i + 1];
			append(writer, buffer, 2);
			return;
		}
	}
	snprintf(buffer, sizeof(buffer), "\\u%04x", byte);
	append(writer, buffer, 6);
}

/* ASCII that stands for itself. */
static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

void writer_string_n(struct writer *writer, const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t at = 0, plain = 0;

	while (at < length && is_plain(bytes[at]))
		at++;
	if (at == length) {
		append_quoted(writer, text, length, false);
		return;
	}
	value_begins(writer);
	append_byte(writer, '"');
	while (at < length) {
		size_t step;

		if (is_plain(bytes[at])) {
			at++;
			continue;
		}
		step = utf8_sequence(text + at, length - at);
		if (step > 1) {
			at += step;
			continue;
		}
		append(writer, text + plain, at - plain);
		if (step)
			append_escaped(writer, bytes[at]);
		else
			append(writer, "\xef\xbf\xbd", 3); /* U+FFFD */
		plain = ++at;
	}
	append(writer, text + plain, at - plain);
	append_byte(writer, '"');
}

void writer_string(struct writer *writer, const char *text)
{
	if (text)
		writer_string_n(writer, text, strlen(text));
	else
		writer_null(writer);
}

void writer_bool(struct writer *writer, bool value)
{
	value_begins(writer);
	append(writer, value ? "true" : "false", value ? 4 : 5);
}

void writer_null(struct writer *writer)
{
	value_begins(writer);
	append(writer, "null", 4);
}

/* Digits of `value` at the end of `buffer`; returns where they begin. */
static char *digits_of(uint64_t value, char buffer[DIGITS_MAX])
{
	char *at = buffer + DIGITS_MAX;

	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return at;
}

static void append_digits(struct writer *writer, uint64_t value)
{
	char buffer[DIGITS_MAX];
	char *at = digits_of(value, buffer);

	append(writer, at, (size_t)(buffer + DIGITS_MAX - at));
}

void writer_unsigned(struct writer *writer, uint64_t value)
{
	value_begins(writer);
	append_digits(writer, value);
}

void writer_integer(struct writer *writer, int64_t value)
{
	value_begins(writer);
	if (value < 0)
		append_byte(writer, '-');
	append_digits(writer, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* `scaled` / 10^decimals without trailing zeros. */
static void append_decimal(struct writer *writer, bool is_negative, uint64_t scaled, int decimals)
{
	uint64_t divisor = 1, fraction;
	char text[8];
	int i;

	for (i = 0; i < decimals; i++)
		divisor *= 10;
	if (is_negative && scaled)
		append_byte(writer, '-');
	append_digits(writer, scaled / divisor);
	fraction = scaled % divisor;
	if (!fraction)
		return;
	for (i = decimals; i > 0; i--, fraction /= 10)
		text[i] = (char)('0' + fraction % 10);
	text[0] = '.';
	for (i = decimals; text[i] == '0'; i--)
		;
	append(writer, text, (size_t)i + 1);
}

void writer_micros(struct writer *writer, int64_t micros)
{
	if (micros == PRICE_UNKNOWN) {
		writer_null(writer);
		return;
	}
	value_begins(writer);
	append_decimal(writer, micros < 0, micros < 0 ? 0 - (uint64_t)micros : (uint64_t)micros, 6);
}

void writer_number(struct writer *writer, double value, int decimals)
{
	static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
	double scaled;

	assert(decimals >= 0 && decimals <= 6);
	if (!isfinite(value)) {
		writer_null(writer);
		return;
	}
	scaled = fabs(value) * powers[decimals];
	if (scaled >= 9007199254740992.0) { /* beyond 2^53 a double has no decimals to round */
		char text[40];
		int length = snprintf(text, sizeof(text), "%.16e", value);

		value_begins(writer);
		append(writer, text, (size_t)length);
		return;
	}
	value_begins(writer);
	append_decimal(writer, value < 0, (uint64_t)(scaled + 0.5), decimals);
}

void writer_whole(struct writer *writer, double value)
{
	if (!isfinite(value)) {
		writer_null(writer);
		return;
	}
	if (fabs(value) >= 9.2e18) {
		writer_number(writer, value, 0);
		return;
	}
	writer_integer(writer, (int64_t)llround(value));
}

void writer_time(struct writer *writer, int64_t wall_us)
{
	char text[CLOCK_TEXT];

	if (wall_us == 0) {
		writer_null(writer);
		return;
	}
	clock_format(wall_us, text);
	writer_string(writer, text);
}

void writer_note_ages(struct writer *writer)
{
	writer->notes_ages = true;
}

static void note_age(struct writer *writer, size_t at, int64_t then_us)
{
	size_t capacity = writer->ages_capacity ? 2 * writer->ages_capacity : 64;

	if (writer->failed)
		return;
	if (writer->ages_count == writer->ages_capacity) {
		struct writer_age *ages = realloc(writer->ages, capacity * sizeof(*writer->ages));

		if (!ages) {
			writer->failed = true;
			return;
		}
		writer->ages = ages;
		writer->ages_capacity = capacity;
	}
	writer->ages[writer->ages_count++] = (struct writer_age){at, writer->length - at, then_us};
}

void writer_age(struct writer *writer, int64_t then_us, int64_t now_us)
{
	if (then_us == 0) {
		writer_null(writer);
		return;
	}
	value_begins(writer);
	writer_raw_age(writer, then_us, now_us);
}

void writer_raw_age(struct writer *writer, int64_t then_us, int64_t now_us)
{
	size_t at = writer->length;

	append_digits(writer, now_us > then_us ? (uint64_t)(now_us - then_us) / US_PER_SECOND : 0);
	if (writer->notes_ages)
		note_age(writer, at, then_us);
}

void writer_fragment(struct writer *writer, const char *bytes, size_t length)
{
	value_begins(writer);
	append(writer, bytes, length);
}

void writer_raw(struct writer *writer, const char *bytes, size_t length)
{
	append(writer, bytes, length);
}

void writer_format(struct writer *writer, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0 || !reserve(writer, (size_t)length)) {
		writer->failed = true;
		return;
	}
	va_start(arguments, format);
	vsnprintf(writer->bytes + writer->length, (size_t)length + 1, format, arguments);
	va_end(arguments);
	writer->length += (size_t)length;
}
