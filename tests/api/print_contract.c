/*
 * print_contract: the tables of the code that openapi.yaml must repeat, as JSON: the fields of a
 * workload with kind, range and tasks; the spellings of every enum; the problem types.
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

static void write_field(struct writer *writer, const struct workload_field *field)
{
	static const char *const kinds[] = {"enum", "count", "number", "flag"};
	char bound[40];

	writer_key(writer, field->name);
	writer_begin_object(writer);
	writer_key(writer, "kind");
	writer_string(writer, kinds[field->kind]);
	writer_key(writer, "tasks");
	writer_begin_array(writer);
	for (int task = 0; task < TASKS; task++)
		if (field->tasks & TASK_BIT((unsigned)task))
			writer_string(writer, names_text(&task_names, task));
	writer_end_array(writer);
	if (field->names) {
		writer_key(writer, "values");
		write_names(writer, field->names);
	}
	/* As texts with all digits: the writer rounds to six decimals. */
	writer_key(writer, "least");
	snprintf(bound, sizeof(bound), "%.17g", field->least);
	writer_string(writer, bound);
	writer_key(writer, "most");
	snprintf(bound, sizeof(bound), "%.17g", field->most);
	writer_string(writer, bound);
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
