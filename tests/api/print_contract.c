/*
 * print_contract: the tables of the code that openapi.yaml must repeat, as JSON: the fields of a
 * workload with kind, range and tasks (of models of tokens, of pipelines); the spellings of every
 * enum; the problem types.
 */
#include "core/recommend.h"
#include "server/api/price_filter.h"
#include "server/json/writer.h"

#include <stdio.h>
#include <stdlib.h>

static void write_names(struct writer *writer, const struct names *names)
{
	writer_begin_array(writer);
	for (int i = 0; i < names->count; i++)
		if (names->text[i])
			writer_string(writer, names->text[i]);
	writer_end_array(writer);
}

/* As text with all digits: the writer rounds to six decimals. */
static void write_exactly(struct writer *writer, const char *key, double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", value);
	writer_key(writer, key);
	writer_string(writer, text);
}

static void write_tasks(struct writer *writer, const char *key, unsigned tasks)
{
	writer_key(writer, key);
	writer_begin_array(writer);
	for (int task = 0; task < TASKS; task++)
		if (tasks & TASK_BIT((unsigned)task))
			writer_string(writer, names_text(&task_names, task));
	writer_end_array(writer);
}

static void write_field(struct writer *writer, const struct workload_field *field)
{
	static const char *const kinds[] = {"enum", "count", "number", "flag"};

	writer_key(writer, field->name);
	writer_begin_object(writer);
	writer_key(writer, "kind");
	writer_string(writer, kinds[field->kind]);
	write_tasks(writer, "tasks", field->tasks);
	write_tasks(writer, "media_tasks", field->media_tasks);
	if (field->names) {
		writer_key(writer, "values");
		write_names(writer, field->names);
	}
	write_exactly(writer, "least", field->least);
	write_exactly(writer, "most", field->most);
	writer_end_object(writer);
}

static void write_assumption(struct writer *writer, enum cost_assumption_id id)
{
	const struct cost_assumption_field *field = &cost_assumption_fields[id];

	writer_key(writer, field->name);
	writer_begin_object(writer);
	write_exactly(writer, "least", field->least);
	write_exactly(writer, "most", field->most);
	write_exactly(writer, "value", cost_assumption(&cost_assumptions_default, id));
	writer_end_object(writer);
}

int main(void)
{
	static const struct {
		const char *name;
		const struct names *names;
	} enums[] = {
		{"objective", &objective_names},   {"group", &grouping_names},
		{"feature", &feature_names},	   {"price_kind", &price_kind_names},
		{"cost_basis", &cost_basis_names}, {"availability", &availability_names},
	};
	struct writer writer;
	char *text;

	writer_init(&writer, 1 << 20);
	writer_begin_object(&writer);
	writer_key(&writer, "workload");
	writer_begin_object(&writer);
	for (int i = 0; i < WORKLOAD_FIELD_COUNT; i++)
		write_field(&writer, &workload_fields[i]);
	writer_end_object(&writer);
	writer_key(&writer, "assumptions");
	writer_begin_object(&writer);
	for (int id = 0; id < ASSUMPTIONS; id++)
		write_assumption(&writer, (enum cost_assumption_id)id);
	writer_end_object(&writer);
	writer_key(&writer, "enums");
	writer_begin_object(&writer);
	for (size_t i = 0; i < sizeof(enums) / sizeof(enums[0]); i++) {
		writer_key(&writer, enums[i].name);
		write_names(&writer, enums[i].names);
	}
	writer_end_object(&writer);
	writer_key(&writer, "price_parameters");
	writer_begin_array(&writer);
	for (int i = 0; price_parameters[i]; i++)
		writer_string(&writer, price_parameters[i]);
	writer_end_array(&writer);
	writer_end_object(&writer);
	text = writer_take(&writer, NULL);
	if (!text)
		return 1;
	puts(text);
	free(text);
	return 0;
}
