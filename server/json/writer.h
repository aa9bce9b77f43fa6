/*
 * Writer: bounded JSON (and plain text) output with integer decimals.
 *
 * A growing buffer with a most size; the first failure sticks and every later call does nothing, so
 * that callers check once, at writer_take(). Commas and nesting are the writer's business. jansson
 * needs about 200 us for a 20 KB answer; this takes about 8.
 */
#ifndef SERVER_JSON_WRITER_H
#define SERVER_JSON_WRITER_H

#include "core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WRITER_DEPTH_MAX 32

/* Where an age stands in the text, and what it is the age of. */
struct writer_age {
	size_t at, length;
	int64_t then_us;
};

struct writer {
	char *bytes; /* malloc'ed: handed to the HTTP layer whole */
	size_t length, capacity, limit;
	struct writer_age *ages; /* of those written since writer_note_ages() */
	size_t ages_count, ages_capacity;
	bool notes_ages;
	unsigned depth;
	bool failed;
	bool need_comma[WRITER_DEPTH_MAX];
};

void writer_init(struct writer *writer, size_t limit_bytes);
void writer_release(struct writer *writer);

/* The buffer (terminated, length without the terminator), now the caller's to free(); NULL if
 * failed. */
char *writer_take(struct writer *writer, size_t *length);

void writer_begin_object(struct writer *writer);
void writer_end_object(struct writer *writer);
void writer_begin_array(struct writer *writer);
void writer_end_array(struct writer *writer);
void writer_key(struct writer *writer, const char *name); /* name needs no escaping */

void writer_string(struct writer *writer,
		   const char *text); /* NULL prints null; bad UTF-8 is replaced */
void writer_string_n(struct writer *writer, const char *text, size_t length);
void writer_bool(struct writer *writer, bool value);
void writer_null(struct writer *writer);
void writer_integer(struct writer *writer, int64_t value);
void writer_unsigned(struct writer *writer, uint64_t value);

/* Micro-dollars as an exact decimal of at most six digits ("2.39"); PRICE_UNKNOWN prints null. */
void writer_micros(struct writer *writer, int64_t micros);

/* Rounded to `decimals` (0 to 6) digits, trailing zeros dropped; NaN and infinities print null. */
void writer_number(struct writer *writer, double value, int decimals);

/* Whole bytes, seconds... from a double that is meant as an integer. */
void writer_whole(struct writer *writer, double value);

/* RFC 3339 UTC from microseconds; 0 prints null. */
void writer_time(struct writer *writer, int64_t wall_us);

/* Whole seconds since then, never negative (clocks of two machines may differ a little); of what
 * happened at 0, null. */
void writer_age(struct writer *writer, int64_t then_us, int64_t now_us);

/* The same inside of a fragment; never of what happened at 0. */
void writer_raw_age(struct writer *writer, int64_t then_us, int64_t now_us);

/* Notes the places of ages, which writer_take() leaves to writer_release(). */
void writer_note_ages(struct writer *writer);

/* Makes room at once for a text of about that length. */
void writer_expect(struct writer *writer, size_t length);

/* Bytes as they are: rendered fragments (a comma is put before when one is due), plain text. */
void writer_fragment(struct writer *writer, const char *bytes, size_t length);
void writer_raw(struct writer *writer, const char *bytes, size_t length);
void writer_format(struct writer *writer, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
