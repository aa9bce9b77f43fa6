/* Workload input: see workload_input.h. */
#include "server/json/workload_input.h"

#include "core/hf_config.h"
#include "core/media_config.h"
#include "core/model_numbers.h"
#include "server/json/config_view.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_SUGGESTIONS 3

/* The table's names, and the one field that the table does not hold. */
static const char *const known_texts[] = {
#define X(kind, field, names, least, most, tasks, media) [WORKLOAD_##field] = #field,
	WORKLOAD_FIELDS(X)
#undef X
		[WORKLOAD_FIELD_COUNT] = "model",
};
static const struct names known_fields = {known_texts, WORKLOAD_FIELD_COUNT + 1};

static bool read_field(struct input *input, const struct input_at *at,
		       const struct workload_field *field, void *member)
{
	switch (field->kind) {
	case FIELD_ENUM:
		return input_enum(input, at, field->names, member);
	case FIELD_COUNT:
		return input_whole(input, at, member);
	case FIELD_NUMBER:
		return input_number(input, at, member);
	case FIELD_FLAG:
		break;
	}
	return input_flag(input, at, member);
}

/* "13B", "350M", "1.5T", "7e9", or a plain number. */
static bool size_of(struct input *input, const struct input_at *at, double *out)
{
	static const char digits[] = "0123456789", suffixes[] = "KMBT";
	const char *text, *end, *suffix;

	if (json_is_number(at->value))
		return input_number(input, at, out);
	if (!input_text(input, at, &text))
		return false;
	/* strtod also takes "inf", "nan", hexadecimal and a sign: only what is spelled here. */
	end = text + strspn(text, digits);
	if (*end == '.')
		end += 1 + strspn(end + 1, digits);
	suffix = *end && end[1] == '\0' ? strchr(suffixes, *end & ~0x20) : NULL;
	if ((*end == 'e' || *end == 'E') && !suffix) {
		end += end[1] == '+' ? 2 : 1;
		end = *end && strlen(end) <= 2 ? end + strspn(end, digits) : "?";
	}
	if (strcspn(text, digits) == strlen(text) || (*end && !suffix))
		return input_fault(
			input, at, "syntax", NULL,
			"must be a number, or one with K, M, B or T behind it: \"13B\", \"1.5T\"");
	*out = strtod(text, NULL);
	for (; suffix && suffix >= suffixes; suffix--)
		*out *= 1e3;
	return true;
}

static bool read_modality(struct input *input, const struct input_at *at, enum modality *out)
{
	int modality = MODALITY_TEXT;

	if (!at->value)
		return true;
	if (!input_enum(input, at, &modality_names, &modality))
		return false;
	*out = (enum modality)modality;
	if (modality == MODALITY_TEXT || modality == MODALITY_VISION_TEXT ||
	    modality == MODALITY_EMBEDDING)
		return true;
	return input_fault(input, at, "unsupported", NULL,
			   "must be text, vision-text or embedding: others do not follow from "
			   "their size");
}

/* A size, and whatever else is known. */
static bool model_from_numbers(struct input *input, const struct input_at *at,
			       struct workload_input *storage, struct workload *workload)
{
	struct input_at modality = input_member(at, "modality");
	struct model_numbers numbers = {.modality = MODALITY_TEXT};
	const char *pointer = input_pointer(input, at);
	bool is_good = read_modality(input, &modality, &numbers.modality);

	for (int i = 0; i < MODEL_NUMBER_COUNT; i++) {
		struct input_at member = input_member(at, model_number_fields[i].name);
		bool is_size = i == MODEL_NUMBER_parameters || i == MODEL_NUMBER_active_parameters;
		int64_t whole;

		if (!member.value)
			continue;
		if (is_size) {
			is_good &= size_of(input, &member, &numbers.values[i]);
			continue;
		}
		if (!input_whole_within(input, &member, (int64_t)model_number_fields[i].least,
					(int64_t)model_number_fields[i].most, &whole))
			is_good = false;
		else
			numbers.values[i] = (double)whole;
	}
	if (!is_good ||
	    !model_numbers_build(&numbers, pointer, &storage->architecture, input->error))
		return false;
	workload->model = "parameters";
	return true;
}

/* What core says of a config, at its place in the body; a pasted text has no places inside. */
static bool config_faults(struct input *input, const struct input_at *at, const struct error *found,
			  bool is_text)
{
	const char *prefix = input_pointer(input, at), *pointer, *code = "invalid_config";
	const struct error_item *item;

	if (found->code == ERROR_UNSUPPORTED)
		code = "unsupported";
	for (item = found->first; item; item = item->next) {
		pointer = is_text ? prefix
				  : arena_printf(input->arena, "%s%s", prefix, item->pointer);
		error_add(input->error, pointer ? pointer : prefix, item->code, item->suggestion,
			  "%s%s%s", is_text ? item->pointer : "",
			  is_text && *item->pointer ? ": " : "", item->detail);
	}
	if (!found->first)
		input_fault(input, at, code, NULL, "%s", found->detail);
	return false;
}

static bool model_from_config(struct input *input, const struct input_at *at, bool is_text,
			      struct workload_input *storage, struct workload *workload)
{
	struct config_value *root;
	struct error found;

	if (is_text && !json_is_string(at->value))
		return input_fault(input, at, "type", NULL, "must be a string: the file as it is");
	error_init(&found, input->arena);
	if (is_text)
		root = config_view_parse(json_string_value(at->value),
					 json_string_length(at->value), input->arena, &found);
	else
		root = config_view_from_json(at->value, input->arena, &found);
	if (!root ||
	    !(media_config_is(root)
		      ? media_config_read(root, &storage->media, &storage->architecture, &found)
		      : hf_config_read(root, &storage->architecture, &found)))
		return config_faults(input, at, &found, is_text);
	workload->model = "config";
	return true;
}

static bool model_from_object(struct input *input, const struct input_at *at,
			      struct workload_input *storage, struct workload *workload)
{
	static const char *const texts[] = {
#define X(member, name, least, most) name,
		MODEL_NUMBERS(X)
#undef X
			"modality",
		"config",
		"config_text",
	};
	static const struct names known = {texts, sizeof(texts) / sizeof(texts[0])};
	static const struct names alone = {&texts[MODEL_NUMBER_COUNT + 1], 2};
	struct input_at config, config_text, parameters;
	int ways;

	config = input_member(at, "config");
	config_text = input_member(at, "config_text");
	parameters = input_member(at, "parameters");
	ways = !!config.value + !!config_text.value + !!parameters.value;
	if (!input_object(input, at, ways == 1 && !parameters.value ? &alone : &known))
		return false;
	if (ways != 1)
		return input_fault(
			input, at, ways ? "conflict" : "required", NULL,
			"must have exactly one of 'config', 'config_text', 'parameters'");
	workload->architecture = &storage->architecture;
	if (parameters.value)
		return model_from_numbers(input, at, storage, workload);
	return model_from_config(input, config.value ? &config : &config_text, !config.value,
				 storage, workload);
}

static bool unknown_model(struct input *input, const struct input_at *at, const char *id)
{
	const char *near[MODEL_SUGGESTIONS];
	size_t i, count = model_nearest(id, near, MODEL_SUGGESTIONS);
	const char *list = "";

	for (i = 0; i < count && list; i++)
		list = arena_printf(input->arena, "%s%s'%s'", list, i ? ", " : "", near[i]);
	if (!count || !list)
		return input_fault(input, at, "unknown_model", NULL,
				   "'%s' is not in the registry: see GET /v1/models, or give "
				   "{\"config\": ...} or {\"parameters\": \"13B\"}",
				   id);
	return input_fault(input, at, "unknown_model", near[0],
			   "'%s' is not in the registry; the nearest are %s", id, list);
}

static bool read_model(struct input *input, const struct input_at *at,
		       struct workload_input *storage, struct workload *workload)
{
	const char *id;

	if (!at->value)
		return input_fault(input, at, "required", NULL,
				   "is required: a model id, {\"config\": ...} or "
				   "{\"parameters\": \"13B\"}");
	if (json_is_object(at->value))
		return model_from_object(input, at, storage, workload);
	if (!json_is_string(at->value))
		return input_fault(input, at, "type", NULL, "must be a string or an object");
	if (!input_text(input, at, &id))
		return false;
	storage->model = model_find(id);
	if (!storage->model)
		return unknown_model(input, at, id);
	workload->architecture = &storage->model->architecture;
	workload->model = storage->model->id;
	workload->checkpoint = model_checkpoint(storage->model, id);
	return true;
}

static bool already_reported(const struct error *error, const char *pointer)
{
	const struct error_item *item;

	for (item = error->first; item; item = item->next)
		if (strcmp(item->pointer, pointer) == 0)
			return true;
	return false;
}

/* Core's checks, without repeating a field that could not even be read. Whether a field applies is
 * not said of a model that is not known: it might. */
static bool complete(struct input *input, const struct input_at *at, struct workload *workload,
		     bool has_model)
{
	const struct error_item *item;
	struct error found;

	error_init(&found, input->arena);
	if (workload_complete(workload, input_pointer(input, at), &found))
		return true;
	for (item = found.first; item; item = item->next)
		if (!already_reported(input->error, item->pointer) &&
		    (has_model || strcmp(item->code, "not_applicable") != 0))
			error_add(input->error, item->pointer, item->code, item->suggestion, "%s",
				  item->detail);
	if (!found.first)
		error_set(input->error, found.code, "%s", found.detail);
	return false;
}

bool workload_input(struct input *input, const struct input_at *at, struct workload_input *storage,
		    struct workload *workload)
{
	struct model_numbers any = {.values = {[MODEL_NUMBER_parameters] = 7e9}};
	struct error ignored = {0};
	struct input_at model;
	bool has_model, is_read = true;
	int i;

	memset(workload, 0, sizeof(*workload));
	if (!at->value)
		return input_fault(input, at, "required", NULL, "is required");
	if (!input_object(input, at, &known_fields))
		return false;
	for (i = 0; i < WORKLOAD_FIELD_COUNT; i++) {
		const struct workload_field *field = &workload_fields[i];
		struct input_at member = input_member(at, field->name);

		if (!member.value)
			continue;
		if (read_field(input, &member, field, (char *)workload + field->offset))
			workload->given |= WORKLOAD_BIT(i);
		else
			is_read = false;
	}
	model = input_member(at, "model");
	has_model = read_model(input, &model, storage, workload);
	if (!has_model) {
		/* Any architecture serves to find what else is wrong. */
		model_numbers_build(&any, "", &storage->architecture, &ignored);
		storage->architecture.max_context = INT_MAX;
		workload->architecture = &storage->architecture;
		workload->model = "";
	}
	/* Without a task every other field would seem out of place. */
	if (!workload_has(workload, WORKLOAD_task) && input_member(at, "task").value)
		return false;
	return complete(input, at, workload, has_model) && has_model && is_read;
}
