/* Input: see input.h. */
#include "server/json/input.h"

#include <math.h>
#include <string.h>

#define POINTER_PARTS_MAX (INPUT_DEPTH_MAX + 1)

/* Deepest nesting outside strings. Counted before parsing, since jansson recurses. */
static unsigned depth_of(const char *bytes, size_t length)
{
	unsigned depth = 0, deepest = 0;
	bool in_string = false;
	size_t i;

	for (i = 0; i < length; i++) {
		char byte = bytes[i];
		if (in_string) {
			if (byte == '\\')
				i++;
			else if (byte == '"')
				in_string = false;
		} else if (byte == '"') {
			in_string = true;
		} else if (byte == '{' || byte == '[') {
			if (++depth > deepest)
				deepest = depth;
		} else if ((byte == '}' || byte == ']') && depth) {
			depth--;
		}
	}
	return deepest;
}

static const char *kind_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		break;
	}
	return "null";
}

json_t *input_parse(struct input *input, const char *bytes, size_t length)
{
	const char *zero = bytes ? memchr(bytes, '\0', length) : NULL;
	json_error_t fault;
	json_t *root;

	if (!bytes || !length) {
		error_set(input->error, ERROR_MALFORMED, "the body is empty: send a JSON object");
		return NULL;
	}
	if (depth_of(bytes, length) > INPUT_DEPTH_MAX) {
		error_set(input->error, ERROR_MALFORMED, "the JSON is nested deeper than %d levels",
			  INPUT_DEPTH_MAX);
		return NULL;
	}
	if (zero) { /* jansson 2.14 skips one behind a number */
		error_set(input->error, ERROR_MALFORMED, "invalid JSON: a NUL at byte %td",
			  zero - bytes + 1);
		return NULL;
	}
	root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &fault);
	if (!root) {
		error_set(input->error, ERROR_MALFORMED,
			  "invalid JSON at line %d, column %d (byte %d): %s", fault.line,
			  fault.column, fault.position, fault.text);
		return NULL;
	}
	if (!json_is_object(root)) {
		error_set(input->error, ERROR_MALFORMED, "the body must be a JSON object, not %s",
			  kind_of(root));
		json_decref(root);
		return NULL;
	}
	return root;
}

struct input_at input_member(const struct input_at *object, const char *key)
{
	return (struct input_at){
		.up = object, .key = key, .value = json_object_get(object->value, key)};
}

struct input_at input_element(const struct input_at *array, size_t index)
{
	return (struct input_at){
		.up = array, .index = index, .value = json_array_get(array->value, index)};
}

static char *append_escaped(char *out, const char *key)
{
	for (; *key; key++) {
		if (*key == '~' || *key == '/') {
			*out++ = '~';
			*out++ = *key == '~' ? '0' : '1';
		} else {
			*out++ = *key;
		}
	}
	return out;
}

const char *input_pointer(struct input *input, const struct input_at *at)
{
	const struct input_at *parts[POINTER_PARTS_MAX];
	size_t count = 0, room = 1;
	char *text, *end;

	for (; at->up && count < POINTER_PARTS_MAX; at = at->up) {
		parts[count++] = at;
		room += 1 + (at->key ? 2 * strlen(at->key) : 20);
	}
	text = arena_alloc(input->arena, room);
	if (!text)
		return "";
	end = text;
	while (count) {
		const struct input_at *part = parts[--count];
		*end++ = '/';
		if (part->key)
			end = append_escaped(end, part->key);
		else
			end += snprintf(end, 20, "%zu", part->index);
	}
	return text;
}

bool input_fault(struct input *input, const struct input_at *at, const char *code,
		 const char *suggestion, const char *format, ...)
{
	va_list arguments;
	char *detail;

	va_start(arguments, format);
	detail = arena_vprintf(input->arena, format, arguments);
	va_end(arguments);
	return error_add(input->error, input_pointer(input, at), code, suggestion, "%s",
			 detail ? detail : code);
}

static bool wrong_kind(struct input *input, const struct input_at *at, const char *wanted)
{
	return input_fault(input, at, "type", NULL, "must be %s, not %s", wanted,
			   kind_of(at->value));
}

static void unknown_field(struct input *input, const struct input_at *object, const char *key,
			  const struct names *known)
{
	struct input_at at = {.up = object, .key = key};
	const char *nearest = names_nearest(known, key);
	struct error *where = input->warnings ? input->warnings : input->error;
	const char *suggestion = NULL;

	if (nearest) {
		struct input_at meant = {.up = object, .key = nearest};
		suggestion = input_pointer(input, &meant);
	}
	error_add(where, input_pointer(input, &at), "unknown_field", suggestion,
		  input->warnings ? "unknown field, ignored" : "unknown field");
}

bool input_object(struct input *input, const struct input_at *at, const struct names *known)
{
	void *iterator;

	if (!at->value)
		return false;
	if (!json_is_object(at->value))
		return wrong_kind(input, at, "an object");
	/* jansson's iterator takes a non-const object, though it only reads. */
	for (iterator = json_object_iter((json_t *)(uintptr_t)at->value); iterator;
	     iterator = json_object_iter_next((json_t *)(uintptr_t)at->value, iterator)) {
		const char *key = json_object_iter_key(iterator);
		if (names_find(known, key) < 0)
			unknown_field(input, at, key, known);
	}
	return true;
}

bool input_number(struct input *input, const struct input_at *at, double *out)
{
	if (!at->value)
		return false;
	if (!json_is_number(at->value))
		return wrong_kind(input, at, "a number");
	*out = json_number_value(at->value);
	return true;
}

bool input_number_within(struct input *input, const struct input_at *at, double least, double most,
			 double *out)
{
	double value;

	if (!input_number(input, at, &value))
		return false;
	if (!(value >= least && value <= most))
		return input_fault(input, at, "out_of_range", NULL, "must be from %.10g to %.10g",
				   least, most);
	*out = value;
	return true;
}

bool input_whole(struct input *input, const struct input_at *at, int64_t *out)
{
	double value;

	if (!at->value)
		return false;
	if (!json_is_number(at->value))
		return wrong_kind(input, at, "a whole number");
	value = json_number_value(at->value);
	if (!(fabs(value) <= 9007199254740992.0)) /* 2^53: beyond it, neighbours look alike */
		return input_fault(input, at, "out_of_range", NULL, "is too large");
	if (floor(value) < value)
		return input_fault(input, at, "type", NULL, "must be a whole number, not %.10g",
				   value);
	*out = (int64_t)value;
	return true;
}

bool input_whole_within(struct input *input, const struct input_at *at, int64_t least, int64_t most,
			int64_t *out)
{
	int64_t value;

	if (!input_whole(input, at, &value))
		return false;
	if (value < least || value > most)
		return input_fault(input, at, "out_of_range", NULL, "must be from %lld to %lld",
				   (long long)least, (long long)most);
	*out = value;
	return true;
}

bool input_flag(struct input *input, const struct input_at *at, bool *out)
{
	if (!at->value)
		return false;
	if (!json_is_boolean(at->value))
		return wrong_kind(input, at, "true or false");
	*out = json_is_true(at->value);
	return true;
}

bool input_text(struct input *input, const struct input_at *at, const char **out)
{
	size_t length;

	if (!at->value)
		return false;
	if (!json_is_string(at->value))
		return wrong_kind(input, at, "a string");
	length = json_string_length(at->value);
	if (length == 0)
		return input_fault(input, at, "empty", NULL, "must not be empty");
	if (length > INPUT_TEXT_MAX)
		return input_fault(input, at, "too_long", NULL, "must have at most %d bytes",
				   INPUT_TEXT_MAX);
	*out = arena_strdup(input->arena, json_string_value(at->value));
	return *out ||
	       error_set(input->error, ERROR_TOO_LARGE, "the request needs too much memory");
}

/* "'full', 'lora', 'qlora'" */
static const char *choices(struct input *input, const struct names *names)
{
	const char *list = "";
	int i;

	for (i = 0; i < names->count && list; i++)
		if (names->text[i])
			list = arena_printf(input->arena, "%s%s'%s'", list, *list ? ", " : "",
					    names->text[i]);
	return list ? list : "(too many to name)";
}

bool input_enum(struct input *input, const struct input_at *at, const struct names *names, int *out)
{
	const char *text;
	int value;

	if (!input_text(input, at, &text))
		return false;
	value = names_find(names, text);
	if (value < 0)
		return input_fault(input, at, "unknown_value", names_nearest(names, text),
				   "must be one of %s", choices(input, names));
	*out = value;
	return true;
}

size_t input_list(struct input *input, const struct input_at *at)
{
	size_t count;

	if (!at->value)
		return 0;
	if (!json_is_array(at->value)) {
		wrong_kind(input, at, "an array");
		return 0;
	}
	count = json_array_size(at->value);
	if (count > INPUT_LIST_MAX) {
		input_fault(input, at, "too_many", NULL, "must have at most %d entries",
			    INPUT_LIST_MAX);
		return 0;
	}
	if (count == 0)
		input_fault(input, at, "empty", NULL,
			    "must not be empty: leave it out to filter nothing");
	return count;
}

unsigned input_enum_bits(struct input *input, const struct input_at *at, const struct names *names)
{
	size_t i, count = input_list(input, at);
	unsigned bits = 0;

	for (i = 0; i < count; i++) {
		struct input_at element = input_element(at, i);
		int value;
		if (input_enum(input, &element, names, &value))
			bits |= 1u << value;
	}
	return bits;
}
