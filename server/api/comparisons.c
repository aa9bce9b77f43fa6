/* POST /v1/comparisons: one workload in several variants, against the prices of this replica. */
#include "server/api/api.h"
#include "server/api/query.h"
#include "server/api/render.h"
#include "server/http/http.h"

bool api_comparisons(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	struct kept *kept = snapshot_kept(request->server->slot, request->catalogue);
	const struct comparison_input *input;
	const struct compared *compared;
	struct query_reader reader;
	struct writer writer;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	input = request_input_compare(request->body, request->body_length,
				      request_is_lenient(request) ? &reader.warnings : NULL,
				      request->catalogue, &request->arena, error);
	if (!input)
		return false;
	compare_warn(input, &request->arena, &reader.warnings);
	compared = compare(input, request->catalogue, kept ? &kept->keeper : NULL, request->now_us,
			   &request->arena, error);
	if (!compared)
		return false;
	writer_init(&writer, ANSWER_BYTES_MAX);
	render_comparison(&writer, compared, request->catalogue, &reader.warnings, request->now_us);
	return query_reply(&writer, reply, error);
}
