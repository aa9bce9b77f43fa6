/* Render: how the predictor fared on measurements of a workload's kind, so that nobody trusts
 * blindly. */
#include "core/accuracy.h"

#include "server/api/render.h"

static void render_accuracy(struct writer *writer, const struct accuracy *accuracy)
{
	writer_begin_object(writer);
	render_text(writer, "kind", accuracy->kind);
	render_integer(writer, "n", accuracy->used);
	render_number(writer, "median_percent", accuracy->median_percent, 2);
	render_number(writer, "p90_percent", accuracy->p90_percent, 2);
	writer_end_object(writer);
}

void render_accuracy_of_memory(struct writer *writer, const struct workload *workload)
{
	render_accuracy(writer, accuracy_of_memory(workload));
}

void render_accuracy_of_speed(struct writer *writer, const struct workload *workload)
{
	render_accuracy(writer, accuracy_of_speed(workload));
}
