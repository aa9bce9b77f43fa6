/* Answers: see answer.h. */
#include "server/http/answer.h"

#include "server/clock.h"
#include "server/http/coding.h"
#include "server/http/cors.h"
#include "server/http/problem.h"
#include "server/http/wait.h"
#include "server/later.h"
#include "server/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARED "public" /* of Cache-Control, at its start */

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
	if (strcmp(request->method, "OPTIONS") != 0 || !*exchange->allowed ||
	    !request_header(request, "Access-Control-Request-Method"))
		return;
	add(response, "Access-Control-Allow-Methods", exchange->allowed);
	add(response, "Access-Control-Allow-Headers", CORS_REQUEST_HEADERS);
	add(response, "Access-Control-Max-Age", CORS_MAX_AGE_SECONDS);
}

/* A list of field names, for Vary. */
struct varying {
	char text[512];
	size_t used;
};

static void vary_by(struct varying *varying, const char *names)
{
	if (*names)
		varying->used += (size_t)snprintf(varying->text + varying->used,
						  sizeof(varying->text) - varying->used, "%s%s",
						  varying->used ? ", " : "", names);
}

/* `origins`: of other sites, or "". */
static void add_vary(const struct request *request, const char *origins,
		     struct MHD_Response *response)
{
	const struct route *route = request->route;
	struct varying varying = {.used = 0};

	if (route && route->produces && strchr(route->produces, ' '))
		vary_by(&varying, "Accept");
	if (cors_varies(origins))
		vary_by(&varying, "Origin");
	if (coding_varies(request))
		vary_by(&varying, "Accept-Encoding");
	if (request_is_lenient(request))
		vary_by(&varying, "Prefer");
	if (route && route->access == ACCESS_READ)
		vary_by(&varying, auth_varies(request->server->auth));
	if (varying.used)
		add(response, "Vary", varying.text);
}

static void add_limit(const struct limit_state *limit, struct MHD_Response *response)
{
	char text[LIMIT_FIELD_TEXT];

	if (!limit->is_counted)
		return;
	limit_format_policy(limit, text);
	add(response, "RateLimit-Policy", text);
	limit_format_state(limit, text);
	add(response, "RateLimit", text);
	if (limit->is_refused) {
		snprintf(text, sizeof(text), "%lld", (long long)limit->retry_seconds);
		add(response, "Retry-After", text);
	}
}

/* Tells the caller which span of ours its trace goes on with. */
static void add_trace(const struct exchange *exchange, struct MHD_Response *response)
{
	char text[TRACE_PARENT_TEXT];

	if (!*exchange->trace.id)
		return;
	trace_format(&exchange->trace, text);
	add(response, "traceparent", text);
}

static void add_timing(const struct exchange *exchange, struct MHD_Response *response)
{
	const struct request *request = &exchange->request;
	const char *setting = request->server->config->server_timing;
	char text[TIMING_TEXT];

	if (strcmp(setting, "off") == 0 ||
	    (strcmp(setting, "all") != 0 && !request_prefers(request, "server-timing")))
		return;
	timing_format(&exchange->timing, clock_monotonic_us() - exchange->started_us, text);
	add(response, "Server-Timing", text);
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
	add_vary(request, origins, response);
	if (request_is_lenient(request))
		add(response, "Preference-Applied", "handling=lenient");
	add_trace(exchange, response);
	add_timing(exchange, response);
	add_limit(&exchange->limit, response);
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
	/* What a named caller is told is nobody else's: they may see more than others. */
	if (*request->caller && reply->cache_control &&
	    strncmp(reply->cache_control, SHARED, sizeof(SHARED) - 1) == 0) {
		const char *own =
			arena_printf((struct arena *)(uintptr_t)&request->arena, "private%s",
				     reply->cache_control + sizeof(SHARED) - 1);

		reply->cache_control = own ? own : "no-store";
	}
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
			.trace_id = exchange->trace.id,
			.span_id = exchange->trace.span,
			.parent_id = exchange->trace.parent,
			.method = request->is_head ? "HEAD" : request->method,
			.route = request->route ? request->route->operation : "-",
			.client = request->client,
			.caller = request->caller,
			.scheme = exchange->scheme,
			.host = exchange->host,
			.status = reply->status,
			.duration_us = duration_us,
			.bytes = has_body ? reply->length : 0,
		});
}

/* Who may not see a company's own prices has a catalogue without them. */
const struct catalogue *answer_view(const struct request *request, const struct catalogue *whole)
{
	bool sees_all = request->scopes & SCOPE_PRIVATE_PRICES || request->route->port == ROUTE_OPS;

	return sees_all ? whole : whole->public_view;
}

static bool handle(struct exchange *exchange, struct reply *reply)
{
	struct request *request = &exchange->request;
	struct snapshot_slot *slot = request->server->slot;
	const struct catalogue *whole;
	bool is_done = false;
	int64_t began_us;

	if (!request->route) { /* OPTIONS */
		reply->status = 204;
		reply_header(reply, "Allow", exchange->allowed);
		return true;
	}
	request->body = exchange->body ? exchange->body : "";
	began_us = clock_monotonic_us();
	if (exchange->has_waited)
		exchange->timing.waited_us = began_us - exchange->started_us;
	whole = slot ? snapshot_acquire(slot) : NULL;
	if (whole)
		request->catalogue = answer_view(request, whole);
	if (request->route->needs_snapshot && !request->catalogue)
		error_set(&exchange->error, ERROR_UNAVAILABLE, "no prices are loaded yet");
	else
		is_done = request->route->handle(request, reply, &exchange->error);
	exchange->timing.handled_us = clock_monotonic_us() - began_us;
	if (whole)
		snapshot_release(slot, whole);
	request->catalogue = NULL;
	return is_done;
}

/* While it was held, its key may have been revoked or have expired. */
static bool may_still(struct exchange *exchange)
{
	return !exchange->held_since_us || auth_admit(exchange);
}

static void code(struct exchange *exchange, struct reply *reply)
{
	int64_t began_us;

	if (!*exchange->request.coding)
		return;
	began_us = clock_monotonic_us();
	coding_apply(exchange->connection->worker->coder, &exchange->request, reply);
	exchange->timing.coded_us = clock_monotonic_us() - began_us;
}

enum MHD_Result answer_send(struct exchange *exchange, struct MHD_Connection *connection)
{
	struct reply reply = {0};
	struct MHD_Response *response;
	enum MHD_Result result = MHD_NO;
	bool is_done;

	exchange->request.may_hold = !exchange->is_hold_over &&
				     !atomic_load(&exchange->connection->worker->http->is_closed);
	is_done = !exchange->is_refused && may_still(exchange) && handle(exchange, &reply);
	if (is_done && exchange->request.hold) {
		is_done = hold_begin(exchange, connection);
		if (is_done)
			return MHD_YES;
	}
	if (!is_done) {
		problem_reply(&exchange->error, &exchange->request, &reply);
		if (exchange->error.code == ERROR_METHOD)
			reply_header(&reply, "Allow", exchange->allowed);
		if (reply.status == 401 || reply.status == 403)
			auth_challenge(exchange, &reply);
	}
	code(exchange, &reply);
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
