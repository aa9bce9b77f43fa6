/* Render: how the predictor fared on measurements of a workload's kind, so that nobody trusts
 * blindly. */
#include "core/accuracy.h"

#include "server/api/render.h"

static void render_kind(struct writer *writer, const char *key, const struct accuracy *accuracy)
{
	writer_key(writer, key);
	writer_begin_object(writer);
	render_text(writer, "kind", accuracy->kind);
	render_integer(writer, "n", accuracy->used);
	render_number(writer, "median_percent", accuracy->median_percent, 2);
	render_number(writer, "p90_percent", accuracy->p90_percent, 2);
	writer_end_object(writer);
}

void render_accuracy(struct writer *writer, const struct workload *workload, bool with_speed)
{
	writer_key(writer, "accuracy");
	writer_begin_object(writer);
	render_kind(writer, "memory", accuracy_of_memory(workload));
	if (with_speed)
		render_kind(writer, "speed", accuracy_of_speed(workload));
	writer_end_object(writer);
}
