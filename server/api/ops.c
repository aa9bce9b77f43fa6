/*
 * Ops: what load balancers and Prometheus ask, on a port of its own. Liveness depends on nothing;
 * readiness on a snapshot and on a first look for API keys, never on the database, or one database
 * failure would take every replica away.
 */
#include "server/api/api.h"
#include "server/http/http.h"

#include <stdatomic.h>
#include <string.h>

#define BODY_BYTES_MAX 65536
#define METRICS_BYTES_MAX ((size_t)4 << 20)

static bool finish(struct writer *writer, struct reply *reply, struct error *error)
{
	reply->body = writer_take(writer, &reply->length);
	if (reply->body)
		return true;
	writer_release(writer);
	return error_set(error, ERROR_INTERNAL, "the answer found no memory");
}

static bool text_reply(struct reply *reply, const char *text)
{
	reply->static_body = text;
	reply->length = strlen(text);
	return true;
}

bool ops_livez(struct request *request, struct reply *reply, struct error *error)
{
	(void)request;
	(void)error;
	return text_reply(reply, "{\"status\":\"alive\"}\n");
}

bool ops_readyz(struct request *request, struct reply *reply, struct error *error)
{
	const struct catalogue *catalogue = request->catalogue;
	struct writer writer;

	if (atomic_load(&request->server->is_draining))
		return error_set(error, ERROR_UNAVAILABLE, "stopping");
	if (!catalogue)
		return error_set(error, ERROR_UNAVAILABLE, "no prices are loaded yet");
	if (!auth_is_ready(request->server->auth))
		return error_set(error, ERROR_UNAVAILABLE, "the API keys are not read yet");
	writer_init(&writer, BODY_BYTES_MAX);
	writer_begin_object(&writer);
	writer_key(&writer, "status");
	writer_string(&writer, "ready");
	writer_key(&writer, "version");
	writer_integer(&writer, catalogue->version);
	writer_key(&writer, "as_of");
	writer_time(&writer, catalogue->as_of_us);
	writer_key(&writer, "offers");
	writer_unsigned(&writer, catalogue->offers_count);
	writer_end_object(&writer);
	writer_raw(&writer, "\n", 1);
	return finish(&writer, reply, error);
}

bool ops_startupz(struct request *request, struct reply *reply, struct error *error)
{
	if (!request->catalogue)
		return error_set(error, ERROR_UNAVAILABLE, "no prices are loaded yet");
	return text_reply(reply, "{\"status\":\"started\"}\n");
}

bool ops_metrics(struct request *request, struct reply *reply, struct error *error)
{
	struct writer writer;

	writer_init(&writer, METRICS_BYTES_MAX);
	metrics_render(request->server->metrics, &writer);
	if (request->server->slot)
		kept_render(snapshot_kept_counts(request->server->slot),
			    &request->server->coded_counts, &writer);
	auth_render(request->server->auth, &writer);
	if (request->server->limit)
		limit_render(request->server->limit, &writer);
	reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
	return finish(&writer, reply, error);
}
