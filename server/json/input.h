/*
 * Input: JSON that a caller sent, read so that every fault is named at once.
 *
 * A value is reached through a chain of `input_at` on the stack, from which the JSON Pointer of a
 * fault is made only when there is one. Getters report and return false; callers go on to the next
 * field, so that one answer lists all faults. What outlives the call is copied into the arena:
 * json_t never leaves this folder.
 */
#ifndef SERVER_JSON_INPUT_H
#define SERVER_JSON_INPUT_H

#include "core/arena.h"
#include "core/error.h"
#include "core/names.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_DEPTH_MAX 32
#define INPUT_TEXT_MAX 200 /* bytes of a name or an id */
#define INPUT_LIST_MAX 100 /* entries of a list */

struct input {
	struct arena *arena;
	struct error *error;
	struct error *warnings; /* lenient: unknown fields go here; NULL = strict */
};

/* A value and how it was reached: by key, or by index when key is NULL; the root has no `up`. */
struct input_at {
	const struct input_at *up;
	const char *key;
	size_t index;
	const json_t *value; /* NULL = absent */
};

/*
 * Parses a whole body: at most INPUT_DEPTH_MAX deep, no duplicate keys, an object at the top. NULL
 * and an error (with line, column and byte) otherwise. Integers arrive as reals, so that one too
 * large for 64 bits is a field out of range and not a syntax error.
 */
json_t *input_parse(struct input *input, const char *bytes, size_t length);

/* RFC 6901, with ~ and / escaped; "" for the root. Lives in the arena. */
const char *input_pointer(struct input *input, const struct input_at *at);

struct input_at input_member(const struct input_at *object, const char *key);
struct input_at input_element(const struct input_at *array, size_t index);

/* Reports at this place; returns false. */
bool input_fault(struct input *input, const struct input_at *at, const char *code,
		 const char *suggestion, const char *format, ...) PRINTF_LIKE(5, 6);

/* Is it an object, and is each key one of `known`? Unknown keys are faults (or warnings); false
 * only when it is no object. */
bool input_object(struct input *input, const struct input_at *at, const struct names *known);

/* Each: false when absent (no fault) or wrong (fault reported). */
bool input_number(struct input *input, const struct input_at *at, double *out);
bool input_number_within(struct input *input, const struct input_at *at, double least, double most,
			 double *out);
bool input_whole(struct input *input, const struct input_at *at, int64_t *out);
bool input_whole_within(struct input *input, const struct input_at *at, int64_t least, int64_t most,
			int64_t *out);
bool input_flag(struct input *input, const struct input_at *at, bool *out);
bool input_text(struct input *input, const struct input_at *at, const char **out);
bool input_enum(struct input *input, const struct input_at *at, const struct names *names,
		int *out);

/* A list of at most INPUT_LIST_MAX entries: its length, 0 when absent or wrong. */
size_t input_list(struct input *input, const struct input_at *at);

/* Bits of the named values of a list of names. */
unsigned input_enum_bits(struct input *input, const struct input_at *at, const struct names *names);

#endif
