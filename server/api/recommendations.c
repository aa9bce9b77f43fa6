/* POST /v1/recommendations: a workload against the prices of this replica's snapshot. */
#include "server/api/api.h"
#include "server/api/query.h"
#include "server/api/render.h"

bool api_recommendations(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	const struct request_input *input;
	struct recommend_answer answer;
	struct query_reader reader;
	struct writer writer;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	input = request_input_recommend(request->body, request->body_length,
					request_is_lenient(request) ? &reader.warnings : NULL,
					request->catalogue, &request->arena, error);
	if (!input)
		return false;
	if (!recommend(&input->request, request->catalogue, request->now_us, &request->arena,
		       &answer, error))
		return false;
	writer_init(&writer, ANSWER_BYTES_MAX);
	render_recommendations(&writer, input, &answer, request->catalogue, &reader.warnings,
			       request->now_us);
	return query_reply(&writer, reply, error);
}
