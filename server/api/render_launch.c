/* Render: how a recommendation is rented and started. */
#include "core/launch.h"

#include "server/api/render.h"

#define LAUNCH_BYTES_MAX ((size_t)1024 * 1024)

static void render_way(struct writer *writer, const char *key, const char *name,
		       const struct launch_text *way)
{
	writer_key(writer, key);
	writer_begin_object(writer);
	render_text(writer, name, way->text);
	render_text(writer, "reason", way->reason);
	writer_end_object(writer);
}

void render_launch(struct writer *writer, const struct workload *workload,
		   const struct recommendation *item)
{
	struct launch launch;
	struct arena arena;

	arena_init(&arena, LAUNCH_BYTES_MAX);
	writer_key(writer, "launch");
	if (launch_write(workload, item, &arena, &launch)) {
		writer_begin_object(writer);
		render_way(writer, "skypilot", "task", &launch.skypilot);
		render_way(writer, "dstack", "task", &launch.dstack);
		render_way(writer, "provider", "command", &launch.command);
		render_text(writer, "page", launch.page);
		writer_end_object(writer);
	} else {
		writer->failed = true; /* memory is out: half an answer is none */
	}
	arena_release(&arena);
}
