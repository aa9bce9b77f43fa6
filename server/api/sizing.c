/* POST /v1/sizing: what a workload needs of memory, without prices and without a snapshot. */
#include "core/sizing.h"

#include "server/api/api.h"
#include "server/api/query.h"
#include "server/api/render.h"

bool api_sizing(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	const struct request_input *input;
	struct query_reader reader;
	struct writer writer;
	struct sizing sizing;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	input = request_input_sizing(request->body, request->body_length,
				     request_is_lenient(request) ? &reader.warnings : NULL,
				     &request->arena, error);
	if (!input || !sizing_compute(&input->request.workload, &request->arena, &sizing, error))
		return false;
	workload_warn(&input->request.workload, "/workload", &reader.warnings);
	sizing_warn(&input->request.workload, &sizing, "/workload", &reader.warnings);
	writer_init(&writer, ANSWER_BYTES_MAX);
	render_sizing(&writer, input, &sizing, &reader.warnings);
	return query_reply(&writer, reply, error);
}
