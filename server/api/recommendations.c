/*
 * POST /v1/recommendations: a workload against the prices of this replica's snapshot.
 *
 * A request that comes again word for word while the snapshot lives gets the kept answer with the
 * ages of now in it. Texts inside it tell ages in minutes and hours, and a filter may bear on them:
 * so an answer is kept for seconds only.
 */
#include "server/api/api.h"
#include "server/api/query.h"
#include "server/api/render.h"
#include "server/http/http.h"

#include <stdlib.h>

#define KEPT_US INT64_C(30000000)
#define KEPT_BODY_BYTES_MAX 16384

static bool compute(struct request *request, struct kept *kept, struct error *warnings,
		    const struct request_input **input_out, struct recommend_answer *answer,
		    struct error *error)
{
	struct arena *arena = &request->arena;
	const struct request_input *input = request_input_recommend(
		request->body, request->body_length, warnings, request->catalogue, arena, error);
	struct recommend_request *asked = arena_alloc(arena, sizeof(*asked));

	if (!input)
		return false;
	if (!asked)
		return error_set(error, ERROR_UNAVAILABLE, "out of memory");
	*input_out = input;
	*asked = input->request;
	asked->keeper = kept ? &kept->keeper : NULL;
	return recommend(asked, request->catalogue, request->now_us, arena, answer, error);
}

/* What was sent not long ago, if anything. */
static bool answer_kept(const struct request *request, struct kept *kept,
			const struct memo_key *key, struct reply *reply)
{
	struct memo_item *item = memo_find(kept->answers, key);
	const struct kept_answer *answer = item ? memo_value(item) : NULL;

	if (answer && request->now_us >= answer->written_us &&
	    request->now_us - answer->written_us < KEPT_US)
		reply->body = kept_answer_tell(answer, request->now_us, &reply->length);
	if (item)
		memo_release(kept->answers, item);
	return reply->body != NULL;
}

static void keep(const struct request *request, struct kept *kept, const struct memo_key *key,
		 const struct writer *writer, const struct reply *reply)
{
	size_t bytes;
	struct kept_answer *answer =
		kept_answer_new(writer, reply->body, reply->length, request->now_us, &bytes);
	struct memo_item *item = answer ? memo_add(kept->answers, key, answer, bytes) : NULL;

	if (item)
		memo_release(kept->answers, item);
}

/* Computes and writes; keeps it under `key` when there is one. */
static bool answer_new(struct request *request, struct kept *kept, const struct memo_key *key,
		       struct query_reader *reader, struct reply *reply, struct error *error)
{
	const struct request_input *input;
	const struct render_source source = {.catalogue = request->catalogue,
					     .fragments = kept ? kept->fragments : NULL,
					     .now_us = request->now_us};
	struct recommend_answer answer;
	struct writer writer;
	bool is_good;

	if (!compute(request, kept, request_is_lenient(request) ? &reader->warnings : NULL, &input,
		     &answer, error))
		return false;
	workload_warn(&input->request.workload, "/workload", &reader->warnings);
	writer_init(&writer, ANSWER_BYTES_MAX);
	if (key && input->request.filters.max_age_seconds == 0)
		writer_note_ages(&writer);
	render_recommendations(&writer, input, &answer, &source, &reader->warnings);
	is_good = query_reply(&writer, reply, error);
	if (is_good && writer.notes_ages)
		keep(request, kept, key, &writer, reply);
	writer_release(&writer);
	return is_good;
}

bool api_recommendations(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	struct kept *kept = snapshot_kept(request->server->slot, request->catalogue);
	struct memo_key key = memo_key(request->body, request->body_length);
	struct query_reader reader;
	/* What a lenient request gets as warnings is not kept. */
	bool is_keepable =
		kept && !request_is_lenient(request) && request->body_length <= KEPT_BODY_BYTES_MAX;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	if (is_keepable && answer_kept(request, kept, &key, reply))
		return true;
	return answer_new(request, kept, is_keepable ? &key : NULL, &reader, reply, error);
}
