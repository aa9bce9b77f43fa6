/* Answers: see answer.h. */
#include "server/http/answer.h"

#include "server/clock.h"
#include "server/http/cors.h"
#include "server/http/problem.h"
#include "server/later.h"
#include "server/log.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A 304 tells the length of a body that is not sent; the library never asks for these bytes. */
static ssize_t no_bytes(void *cls, uint64_t position, char *buffer, size_t most)
{
	(void)cls;
	(void)position;
	(void)buffer;
	(void)most;
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* Takes reply->body over, also when it fails. */
static struct MHD_Response *response_new(struct reply *reply)
{
	struct MHD_Response *response;

	if (reply->body) {
		response = MHD_create_response_from_buffer(reply->length, reply->body,
							   MHD_RESPMEM_MUST_FREE);
		if (!response)
			free(reply->body);
		reply->body = NULL;
		return response;
	}
	if (reply->static_body)
		return MHD_create_response_from_buffer(reply->length,
						       (void *)(uintptr_t)reply->static_body,
						       MHD_RESPMEM_PERSISTENT);
	if (reply->status == 304)
		return MHD_create_response_from_callback(reply->length, 64, no_bytes, NULL, NULL);
	return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
}

static void add(struct MHD_Response *response, const char *name, const char *value)
{
	/* Refused by the library: a line break inside, which only a bug of ours could bring. */
	if (MHD_add_response_header(response, name, value) == MHD_NO)
		log_event(LOG_ERROR, "response header refused", "name", name, NULL);
}

/* Lets pages of other origins read the answer, and ask for more than a form could. */
static void add_cors(const struct exchange *exchange, const char *origins,
		     struct MHD_Response *response)
{
	const struct request *request = &exchange->request;
	const char *allowed = cors_allowed(origins, request_header(request, "Origin"));

	if (!allowed)
		return;
	add(response, "Access-Control-Allow-Origin", allowed);
	add(response, "Access-Control-Expose-Headers", CORS_EXPOSED_HEADERS);
	if (strcmp(request->method, "OPTIONS") != 0 ||
	    !request_header(request, "Access-Control-Request-Method"))
		return;
	add(response, "Access-Control-Allow-Methods", exchange->allowed);
	add(response, "Access-Control-Allow-Headers", CORS_REQUEST_HEADERS);
	add(response, "Access-Control-Max-Age", CORS_MAX_AGE_SECONDS);
}

/* `origins`: of other sites, or "". */
static void add_vary(const struct route *route, const char *origins, struct MHD_Response *response)
{
	bool by_type = route && route->produces && strchr(route->produces, ' ');
	bool by_origin = cors_varies(origins);

	if (by_type || by_origin)
		add(response, "Vary",
		    by_type && by_origin ? "Accept, Origin"
		    : by_type		 ? "Accept"
					 : "Origin");
}

static void add_headers(const struct exchange *exchange, const struct reply *reply,
			struct MHD_Response *response)
{
	const struct request *request = &exchange->request;
	bool is_api = exchange->connection->worker->http->port == ROUTE_API;
	const char *origins = is_api ? request->server->config->cors_origins : "";

	if (reply->length > 0 || reply->status != 204)
		add(response, "Content-Type", reply->content_type);
	add(response, "X-Request-Id", request->request_id);
	if (reply->cache_control)
		add(response, "Cache-Control", reply->cache_control);
	if (reply->etag)
		add(response, "ETag", reply->etag);
	add_vary(request->route, origins, response);
	if (*origins)
		add_cors(exchange, origins, response);
	for (int i = 0; i < reply->headers_count; i++)
		add(response, reply->headers[i].name, reply->headers[i].value);
	if (exchange->connection->is_surplus ||
	    atomic_load_explicit(&request->server->is_draining, memory_order_relaxed))
		add(response, "Connection", "close");
}

/* Defaults, and 304 for a client that has this answer already. */
static void complete(const struct exchange *exchange, struct reply *reply)
{
	const struct request *request = &exchange->request;
	bool is_get = request->method && strcmp(request->method, "GET") == 0;

	if (!reply->status)
		reply->status = 200;
	if (!reply->content_type)
		reply->content_type = "application/json";
	if (!reply->cache_control && request->route)
		reply->cache_control = reply->status == 200 || reply->status == 304
					       ? request->route->cache
					       : "no-store";
	if (!is_get || !reply->etag || reply->status != 200)
		return;
	request_remember_length(request, reply->etag, reply->length);
	if (request_has_etag(request, reply->etag))
		reply->status = 304;
}

static void record(const struct exchange *exchange, const struct reply *reply)
{
	const struct request *request = &exchange->request;
	const struct http *http = exchange->connection->worker->http;
	int64_t duration_us = clock_monotonic_us() - exchange->started_us;
	bool has_body = reply->status != 304 && reply->status != 204 && !request->is_head;

	metrics_request(request->server->metrics,
			request->route ? (int)(request->route - routes) : -1, reply->status,
			duration_us);
	if (reply->status >= 400 ? http->logs_errors : http->logs_success)
		log_access(&(struct log_access){
			.request_id = request->request_id,
			.trace_id = request->trace_id,
			.method = request->is_head ? "HEAD" : request->method,
			.route = request->route ? request->route->operation : "-",
			.client = request->client,
			.scheme = exchange->scheme,
			.host = exchange->host,
			.status = reply->status,
			.duration_us = duration_us,
			.bytes = has_body ? reply->length : 0,
		});
}

static bool handle(struct exchange *exchange, struct reply *reply)
{
	struct request *request = &exchange->request;
	struct snapshot_slot *slot = request->server->slot;
	bool is_done = false;

	if (!request->route) { /* OPTIONS */
		reply->status = 204;
		reply_header(reply, "Allow", exchange->allowed);
		return true;
	}
	request->body = exchange->body ? exchange->body : "";
	request->catalogue = slot ? snapshot_acquire(slot) : NULL;
	if (request->route->needs_snapshot && !request->catalogue)
		error_set(&exchange->error, ERROR_UNAVAILABLE, "no prices are loaded yet");
	else
		is_done = request->route->handle(request, reply, &exchange->error);
	if (request->catalogue)
		snapshot_release(slot, request->catalogue);
	request->catalogue = NULL;
	return is_done;
}

enum MHD_Result answer_send(struct exchange *exchange, struct MHD_Connection *connection)
{
	struct reply reply = {0};
	struct MHD_Response *response;
	enum MHD_Result result = MHD_NO;

	if (exchange->is_refused || !handle(exchange, &reply)) {
		problem_reply(&exchange->error, &exchange->request, &reply);
		if (exchange->error.code == ERROR_METHOD)
			reply_header(&reply, "Allow", exchange->allowed);
	}
	complete(exchange, &reply);
	response = response_new(&reply);
	if (response) {
		add_headers(exchange, &reply, response);
		record(exchange, &reply);
		exchange->is_answered = true;
		connection_enter(exchange->connection, PHASE_ANSWER);
		result = MHD_queue_response(connection, reply.status, response);
		MHD_destroy_response(response);
	}
	/* A slow reader shall hold no more than its answer. */
	free(exchange->body);
	exchange->body = NULL;
	job_free(exchange->job);
	exchange->job = NULL;
	arena_release(&exchange->request.arena);
	return result;
}
