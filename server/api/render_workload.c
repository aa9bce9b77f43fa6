/* Render: the workload as the service understood it, so that a caller sees every assumption. */
#include "server/api/render.h"

#include "core/model_numbers.h"

#include <string.h>

void render_model(struct writer *writer, const char *id, const struct architecture *architecture,
		  const struct model *model)
{
	struct parameter_count parameters;

	architecture_count(architecture, &parameters);
	writer_begin_object(writer);
	render_text(writer, "id", model ? model->id : id);
	render_text(writer, "family", architecture->family);
	render_text(writer, "modality", names_text(&modality_names, (int)architecture->modality));
	writer_key(writer, "parameters");
	writer_unsigned(writer, parameters.total);
	writer_key(writer, "active_parameters");
	writer_unsigned(writer, parameters.active);
	render_known(writer, "layers", architecture_layers(architecture), 0);
	render_known(writer, "hidden_size", architecture->hidden, 0);
	render_known(writer, "vocabulary", architecture->vocab, 0);
	render_known(writer, "max_context", architecture->max_context, 0);
	render_known(writer, "experts", architecture_experts(architecture), 0);
	render_whole(writer, "kv_elements_per_token",
		     architecture_kv_elements_per_token(architecture));
	/* In 16 bits, what engines keep unless told otherwise. */
	render_whole(writer, "kv_bytes_per_token",
		     2 * architecture_kv_elements_per_token(architecture));
	render_text(writer, "native_format",
		    names_text(&format_names, (int)architecture->native_format));
	render_number(writer, "uncertainty", architecture->uncertainty, 3);
	writer_key(writer, "assumed");
	writer_begin_array(writer);
	for (int i = 0; i < MODEL_NUMBER_COUNT; i++)
		if (architecture->assumed >> i & 1u)
			writer_string(writer, model_number_fields[i].name);
	writer_end_array(writer);
	writer_end_object(writer);
}

/* A field that nobody gave and no default fills has nothing to show. */
static bool is_shown(const struct workload *workload, enum workload_field_id id)
{
	const struct workload_field *field = &workload_fields[id];
	const char *member = (const char *)workload + field->offset;
	int64_t count;
	double number;

	if (workload_has(workload, id))
		return true;
	if (!workload_takes(workload, id))
		return false;
	/* Without work that they could multiply, epochs mean nothing. */
	if (id == WORKLOAD_epochs)
		return workload_has(workload, WORKLOAD_tokens_per_epoch) ||
		       workload_has(workload, WORKLOAD_examples);
	if (field->kind == FIELD_COUNT) {
		memcpy(&count, member, sizeof(count));
		return count != 0;
	}
	if (field->kind == FIELD_NUMBER) {
		memcpy(&number, member, sizeof(number));
		return number > 0;
	}
	return true;
}

static void render_field(struct writer *writer, const struct workload *workload,
			 const struct workload_field *field)
{
	const char *member = (const char *)workload + field->offset;
	int64_t count;
	double number;
	int value;
	bool flag;

	writer_key(writer, field->name);
	switch (field->kind) {
	case FIELD_ENUM:
		memcpy(&value, member, sizeof(value));
		writer_string(writer, names_text(field->names, value));
		break;
	case FIELD_COUNT:
		memcpy(&count, member, sizeof(count));
		writer_integer(writer, count);
		break;
	case FIELD_NUMBER:
		memcpy(&number, member, sizeof(number));
		writer_number(writer, number, 6);
		break;
	case FIELD_FLAG:
		memcpy(&flag, member, sizeof(flag));
		writer_bool(writer, flag);
		break;
	}
}

/* What pictures and sound come to; nothing where there are none. */
static void render_senses(struct writer *writer, const struct workload *workload)
{
	if (workload->media_tokens > 0) {
		render_whole(writer, "media_tokens", workload->media_tokens);
		render_number(writer, "media_share_of_context",
			      workload->media_tokens / workload->full_context, 4);
	}
	if (workload->tower_patches > 0)
		render_whole(writer, "tower_patches", workload->tower_patches);
	if (workload->passes > 1)
		render_whole(writer, "windows", workload->passes);
}

void render_workload(struct writer *writer, const struct workload *workload,
		     const struct model *model)
{
	enum workload_field_id id;

	writer_begin_object(writer);
	writer_key(writer, "model");
	render_model(writer, workload->model, workload->architecture, model);
	for (id = 0; id < WORKLOAD_FIELD_COUNT; id++)
		if (is_shown(workload, id))
			render_field(writer, workload, &workload_fields[id]);
	if (workload->task != TASK_INFERENCE)
		render_known(writer, "tokens", workload->tokens, 0);
	else
		render_senses(writer, workload);
	writer_key(writer, "defaults");
	writer_begin_array(writer);
	for (id = 0; id < WORKLOAD_FIELD_COUNT; id++)
		if (!workload_has(workload, id) && is_shown(workload, id))
			writer_string(writer, workload_fields[id].name);
	writer_end_array(writer);
	writer_end_object(writer);
}

void render_warnings(struct writer *writer, const struct error *warnings)
{
	const struct error_item *item;

	writer_begin_array(writer);
	for (item = warnings->first; item; item = item->next) {
		writer_begin_object(writer);
		writer_key(writer, "pointer");
		writer_string(writer, item->pointer);
		render_text(writer, "code", item->code);
		render_text(writer, "detail", item->detail);
		render_text(writer, "suggestion", item->suggestion);
		writer_end_object(writer);
	}
	writer_end_array(writer);
}
