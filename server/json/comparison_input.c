/*
 * Comparison input: the body of POST /v1/comparisons.
 *
 * Every variant is made into a whole request (the base with the variant's members laid over, RFC
 * 7396) and read as one, at the variant's place in the body. Nothing is copied: what a variant does
 * not touch is shared with the base, so that a body cannot be made to multiply.
 */
#include "server/json/request_input_parts.h"

#include <string.h>

static const char *const body_texts[] = {"workload",	"constraints", "filters",
					 "assumptions", "objective",   "group",
					 "limit",	"launch",      "variants"};
static const struct names body_known = {body_texts, COUNT_OF(body_texts)};
static const char *const variant_texts[] = {"workload",	   "constraints", "filters",
					    "assumptions", "objective",	  "name"};
static const struct names variant_known = {variant_texts, COUNT_OF(variant_texts)};
#define LAID_OVER 5 /* the first of variant_texts: what a variant may lay over the base */

/* What the reading of one body carries. */
struct reading {
	struct input input;
	const struct catalogue *catalogue;
	struct input_at root, variants;
	size_t count;
	struct error faults[COMPARISON_VARIANTS_MAX], warnings[COMPARISON_VARIANTS_MAX];
	bool is_read[COMPARISON_VARIANTS_MAX]; /* false: no object, or past a full list */
	struct comparison_input result;
};

/* jansson takes non-const values to count them. */
static json_t *shared(const json_t *value)
{
	return json_incref((json_t *)(uintptr_t)value);
}

/* A new reference; NULL when memory is out. The depth of the body is limited, so is this. */
static json_t *laid_over(const json_t *base, const json_t *patch)
{
	json_t *result, *value;
	const char *key;

	if (!json_is_object(patch))
		return shared(patch);
	result = json_is_object(base) ? json_copy((json_t *)(uintptr_t)base) : json_object();
	json_object_foreach ((json_t *)(uintptr_t)patch, key, value) {
		if (json_is_null(value))
			json_object_del(result, key);
		else if (json_object_set_new(result, key,
					     laid_over(json_object_get(result, key), value)) < 0) {
			json_decref(result);
			return NULL;
		}
	}
	return result;
}

/* The request that a variant stands for; NULL when memory is out. */
static json_t *whole_request(const json_t *base, const json_t *variant)
{
	static const char *const from_base[] = {"group", "launch"};
	json_t *whole = json_object();

	for (size_t i = 0; whole && i < LAID_OVER; i++) {
		const char *key = variant_texts[i];
		const json_t *under = json_object_get(base, key),
			     *over = json_object_get(variant, key);

		if (json_is_null(over) || (!over && !under))
			continue;
		if (json_object_set_new(whole, key, over ? laid_over(under, over) : shared(under)) <
		    0) {
			json_decref(whole);
			return NULL;
		}
	}
	for (size_t i = 0; whole && i < sizeof(from_base) / sizeof(from_base[0]); i++) {
		const json_t *value = json_object_get(base, from_base[i]);

		if (value && json_object_set_new(whole, from_base[i], shared(value)) < 0) {
			json_decref(whole);
			return NULL;
		}
	}
	return whole;
}

static void read_name(struct reading *reading, const struct input_at *at, size_t index)
{
	struct input_at name = input_member(at, "name");
	const char **names = reading->result.names;

	if (!name.value)
		input_fault(&reading->input, &name, "required", NULL, "is required");
	if (!input_text(&reading->input, &name, &names[index]))
		return;
	for (size_t i = 0; i < index; i++)
		if (names[i] && strcmp(names[i], names[index]) == 0)
			input_fault(&reading->input, &name, "conflict", NULL,
				    "is the name of /variants/%zu too", i);
}

static bool read_variant(struct reading *reading, size_t index)
{
	struct decoder *decoder = arena_alloc(reading->input.arena, sizeof(*decoder));
	struct input_at at = input_element(&reading->variants, index);
	struct error *faults = &reading->faults[index];
	json_t *whole;

	if (!input_object(&reading->input, &at, &variant_known))
		return true;
	read_name(reading, &at, index);
	whole = decoder ? whole_request(reading->root.value, at.value) : NULL;
	if (!whole)
		return error_set(reading->input.error, ERROR_TOO_LARGE,
				 "the request needs too much memory");
	decoder->catalogue = reading->catalogue;
	decoder->input = reading->input;
	decoder->input.error = faults;
	if (reading->input.warnings)
		decoder->input.warnings = &reading->warnings[index];
	at.value = whole;
	request_input_read(decoder, &at);
	json_decref(whole);
	reading->result.variants[index] = decoder->result;
	reading->is_read[index] = true;
	return faults->first || !error_is_set(faults) ||
	       error_set(reading->input.error, faults->code, "%s", faults->detail);
}

/* Does the variant itself say what `pointer` names, or something in the way to it? */
static bool is_given(const json_t *variant, const char *pointer)
{
	while (*pointer == '/' && json_is_object(variant)) {
		char key[INPUT_TEXT_MAX];
		size_t length = 0;

		for (pointer++; *pointer && *pointer != '/'; pointer++) {
			char byte = *pointer;

			if (byte == '~' && (pointer[1] == '0' || pointer[1] == '1'))
				byte = *++pointer == '0' ? '~' : '/';
			if (length < sizeof(key) - 1)
				key[length++] = byte;
		}
		key[length] = '\0';
		variant = json_object_get(variant, key);
		if (!variant)
			return false;
	}
	return true;
}

/* "/variants/12/workload" without its first two parts. */
static const char *inside_variant(const char *pointer)
{
	for (int part = 0; part < 2 && *pointer; part++)
		pointer += 1 + strcspn(pointer + 1, "/");
	return pointer;
}

static bool has_same(const struct error *list, const struct error_item *wanted)
{
	const struct error_item *item;

	for (item = list->first; item; item = item->next)
		if (strcmp(inside_variant(item->pointer), inside_variant(wanted->pointer)) == 0 &&
		    strcmp(item->code, wanted->code) == 0 &&
		    strcmp(item->detail, wanted->detail) == 0)
			return true;
	return false;
}

/* Every variant has it, and none brought it: it is the base's. */
static bool is_of_base(const struct reading *reading, const struct error *lists,
		       const struct error_item *item)
{
	for (size_t i = 0; i < reading->count; i++) {
		const json_t *variant = json_array_get(reading->variants.value, i);

		if (!reading->is_read[i])
			continue;
		if (!has_same(&lists[i], item) || is_given(variant, inside_variant(item->pointer)))
			return false;
	}
	return true;
}

/* Of all variants into one list; the base's own once. */
static void gather(const struct reading *reading, const struct error *lists, struct error *out)
{
	bool is_first = true; /* of those that were read */

	for (size_t i = 0; i < reading->count; i++) {
		const struct error_item *item;

		for (item = lists[i].first; item; item = item->next) {
			bool is_base = is_of_base(reading, lists, item);
			const char *near = item->suggestion;

			if (is_base && !is_first)
				continue;
			if (is_base && near && strcmp(item->code, "unknown_field") == 0)
				near = inside_variant(near);
			error_add(out, is_base ? inside_variant(item->pointer) : item->pointer,
				  item->code, near, "%s", item->detail);
		}
		out->dropped += lists[i].dropped;
		is_first = is_first && !reading->is_read[i];
	}
}

/* What variants are laid over must be there, and must be what can be laid over. */
static bool read_base(struct reading *reading, int64_t *limit)
{
	struct input *input = &reading->input;
	struct input_at member = input_member(&reading->root, "workload");
	bool is_usable = member.value != NULL;

	input_object(input, &reading->root, &body_known);
	if (!member.value)
		input_fault(input, &member, "required", NULL, "is required");
	for (size_t i = 0; i < LAID_OVER - 1; i++) {
		member = input_member(&reading->root, variant_texts[i]);
		if (member.value && !json_is_object(member.value))
			is_usable = input_fault(input, &member, "type", NULL, "must be an object");
	}
	member = input_member(&reading->root, "limit");
	input_whole_within(input, &member, 1, COMPARISON_LIMIT_MAX, limit);
	return is_usable;
}

static bool read_variants(struct reading *reading)
{
	struct input *input = &reading->input;

	reading->variants = input_member(&reading->root, "variants");
	if (!reading->variants.value)
		return input_fault(input, &reading->variants, "required", NULL, "is required");
	reading->count = input_list(input, &reading->variants);
	if (reading->count == 1)
		return input_fault(input, &reading->variants, "too_few", NULL,
				   "must have two variants or more");
	if (reading->count > COMPARISON_VARIANTS_MAX)
		return input_fault(input, &reading->variants, "too_many", NULL,
				   "must have at most %d variants", COMPARISON_VARIANTS_MAX);
	return reading->count > 0;
}

static bool is_known(const struct error *error, const char *pointer)
{
	const struct error_item *item = error->first;

	while (item && strcmp(item->pointer, pointer) != 0)
		item = item->next;
	return item != NULL;
}

/* When nothing can be laid over it: what is wrong in the base, whatever a variant might add. */
static bool read_base_alone(struct reading *reading)
{
	struct decoder *decoder = arena_alloc(reading->input.arena, sizeof(*decoder));
	json_t *whole = decoder ? whole_request(reading->root.value, NULL) : NULL;
	struct input_at at = reading->root;
	struct error faults;

	if (!whole)
		return error_set(reading->input.error, ERROR_TOO_LARGE,
				 "the request needs too much memory");
	error_init(&faults, reading->input.arena);
	decoder->catalogue = reading->catalogue;
	decoder->input = reading->input;
	decoder->input.error = &faults;
	at.value = whole;
	request_input_read(decoder, &at);
	json_decref(whole);
	for (const struct error_item *item = faults.first; item; item = item->next)
		if (strcmp(item->code, "required") != 0 && strcmp(item->code, "conflict") != 0 &&
		    !is_known(reading->input.error, item->pointer))
			error_add(reading->input.error, item->pointer, item->code, item->suggestion,
				  "%s", item->detail);
	reading->input.error->dropped += faults.dropped;
	return true;
}

static bool read_body(struct reading *reading)
{
	int64_t limit = COMPARISON_LIMIT_DEFAULT;
	bool is_usable = read_base(reading, &limit), has_variants = read_variants(reading);

	if (!has_variants || !is_usable)
		return read_base_alone(reading) && request_input_conclude(reading->input.error);
	for (size_t i = 0; i < reading->count; i++) {
		error_init(&reading->faults[i], reading->input.arena);
		error_init(&reading->warnings[i], reading->input.arena);
		if (!read_variant(reading, i))
			return false;
		reading->result.variants[i].request.limit = (int)limit;
		if (reading->faults[i].count >= ERROR_ITEMS_MAX)
			break; /* the list is full: more would be counted, not shown */
	}
	reading->result.count = (int)reading->count;
	gather(reading, reading->faults, reading->input.error);
	if (reading->input.warnings)
		gather(reading, reading->warnings, reading->input.warnings);
	return request_input_conclude(reading->input.error);
}

const struct comparison_input *request_input_compare(const char *body, size_t length,
						     struct error *warnings,
						     const struct catalogue *catalogue,
						     struct arena *arena, struct error *error)
{
	struct reading *reading = arena_alloc(arena, sizeof(*reading));
	json_auto_t *json = NULL;

	if (!reading) {
		error_set(error, ERROR_INTERNAL, "memory is out");
		return NULL;
	}
	error->arena = error->arena ? error->arena : arena;
	reading->catalogue = catalogue;
	reading->input = (struct input){.arena = arena, .error = error, .warnings = warnings};
	json = input_parse(&reading->input, body, length);
	reading->root.value = json;
	return json && read_body(reading) ? &reading->result : NULL;
}
