/*
 * Exchanges: see exchange.h.
 *
 * libmicrohttpd calls exchange_step() once with the head, once for each piece of body, once at the
 * end, and once more when what the answer had to wait for is there. A reply queued in the first
 * call costs the connection, so only what cannot be read past is answered there (broken framing, a
 * body that is refused unread); every other verdict is kept and told in the last call.
 */
#include "server/http/exchange.h"

#include "server/clock.h"
#include "server/http/answer.h"
#include "server/http/body.h"
#include "server/http/caller.h"
#include "server/http/coding.h"
#include "server/http/guard.h"
#include "server/http/target.h"
#include "server/http/wait.h"
#include "server/later.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ARENA_BYTES_MAX ((size_t)64 << 20)
/* Of a refused body with a declared length, which is read past: behind HAProxy, an answer that
 * comes before the body has gone out is lost more often than not. Gateways stop larger ones. */
#define DRAIN_BYTES_MAX ((uint64_t)1 << 20)

static struct connection *connection_of(struct MHD_Connection *handle)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static uint64_t scramble(uint64_t value)
{
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

/* A random number of the worker and a count, mixed so that neither shows. */
void exchange_new_id(struct worker *worker, char out[REQUEST_ID_TEXT])
{
	uint64_t count = ++worker->id_count;

	snprintf(out, REQUEST_ID_TEXT, "%016llx%016llx",
		 (unsigned long long)scramble(worker->id_base),
		 (unsigned long long)scramble(worker->id_base + count));
}

void *exchange_new(void *cls, const char *target, struct MHD_Connection *handle)
{
	struct worker *worker = cls;
	struct connection *connection = connection_of(handle);
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange || !connection) {
		free(exchange);
		return NULL; /* exchange_step() hangs up */
	}
	exchange->connection = connection;
	exchange->started_us = clock_monotonic_us();
	exchange->request.begun_us = exchange->started_us;
	exchange->raw_target = target;
	exchange->raw_length = target ? strlen(target) : 0;
	arena_init(&exchange->request.arena, ARENA_BYTES_MAX);
	error_init(&exchange->error, &exchange->request.arena);
	exchange->request.server = worker->http->server;
	exchange->request.connection = handle;
	exchange->request.now_us = clock_wall_us();
	exchange->request.accepted = exchange->request.coding = "";
	exchange->request.client = connection->client;
	exchange->request.caller = "";
	exchange->client = connection->peer;
	exchange->request.prefix = exchange->scheme = exchange->host = "";
	exchange->request.target =
		arena_strndup(&exchange->request.arena, target ? target : "", exchange->raw_length);
	connection->exchange = exchange;
	if (connection->phase == PHASE_IDLE)
		connection_enter(connection, PHASE_HEAD);
	metrics_in_flight(worker->http->server->metrics, 1);
	return exchange;
}

void exchange_free(void *cls, struct MHD_Connection *handle, void **state,
		   enum MHD_RequestTerminationCode reason)
{
	struct worker *worker = cls;
	struct exchange *exchange = *state;
	struct connection *connection;

	(void)handle;
	if (!exchange)
		return;
	connection = exchange->connection;
	/* Answered by the library itself: a head that does not parse or does not fit. */
	if (!exchange->is_answered && reason == MHD_REQUEST_TERMINATED_WITH_ERROR &&
	    !connection->was_cut && !exchange->has_begun)
		metrics_rejected(worker->http->server->metrics, METRICS_REJECTED_FRAMING);
	connection->exchange = NULL;
	connection_enter(connection, PHASE_IDLE);
	guard_finish(connection, exchange->framing.is_chunked,
		     exchange->is_last || reason != MHD_REQUEST_TERMINATED_COMPLETED_OK ||
			     connection->is_surplus ||
			     atomic_load(&worker->http->server->is_draining));
	free(exchange->body);
	job_free(exchange->job);
	arena_release(&exchange->request.arena);
	free(exchange);
	*state = NULL;
	metrics_in_flight(worker->http->server->metrics, -1);
}

/* --- the head --- */

struct fields {
	struct framing *framing;
	const struct auth *auth; /* NULL when nobody asks who calls */
	struct credentials *credentials;
	struct forwarded_lines forwarded;
};

static enum MHD_Result take_field(void *cls, enum MHD_ValueKind kind, const char *name,
				  size_t name_length, const char *value, size_t value_length)
{
	struct fields *fields = cls;

	(void)kind;
	framing_field(fields->framing, name, name_length, value ? value : "", value_length);
	forwarded_take(&fields->forwarded, name, name_length, value ? value : "", value_length);
	if (fields->auth)
		auth_take(fields->auth, fields->credentials, name, name_length, value ? value : "");
	return MHD_YES;
}

static void take_ids(struct exchange *exchange)
{
	struct request *request = &exchange->request;
	struct worker *worker = exchange->connection->worker;
	const char *given = request_header(request, "X-Request-Id");
	const char *parent = request_header(request, "traceparent");

	if (given && field_is_request_id(given))
		snprintf(request->request_id, sizeof(request->request_id), "%s", given);
	else
		exchange_new_id(worker, request->request_id);
	if (parent &&
	    trace_read(parent, scramble(worker->id_base ^ ++worker->id_count), &exchange->trace))
		request->trace_id = exchange->trace.id;
}

/*
 * What the library's parser hides is looked up in its own buffer, where 0.9.75 leaves the head from
 * the method to the blank line. Other versions may not; later ones refuse these things themselves.
 */
static void check_raw_head(struct exchange *exchange, struct MHD_Connection *handle,
			   const char *method, const char *version)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(handle, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	size_t length = info ? info->header_size : 0, from;

	if (strncmp(MHD_get_version(), "0.9.75", 6) != 0 || version < method ||
	    version >= method + length)
		return;
	/* A NUL byte inside ends the target early; the version then does not follow it. */
	if (version != exchange->raw_target + exchange->raw_length + 1)
		exchange->framing.problem = "the request line holds a NUL byte";
	from = (size_t)(version - method) + strlen(version);
	framing_head(&exchange->framing, method + from, length - from);
}

static bool check_framing(struct exchange *exchange, struct MHD_Connection *handle,
			  const char *method, const char *version)
{
	struct error *error = &exchange->error;
	struct fields fields = {.framing = &exchange->framing,
				.credentials = &exchange->credentials};
	const struct auth *auth = exchange->request.server->auth;

	fields.auth = auth_is_on(auth) ? auth : NULL;

	framing_method(&exchange->framing, method);
	MHD_get_connection_values_n(handle, MHD_HEADER_KIND, take_field, &fields);
	caller_take(exchange, &fields.forwarded);
	check_raw_head(exchange, handle, method, version);
	if (!framing_check(&exchange->framing, strcmp(version, "HTTP/1.0") == 0, error))
		return false;
	if (!exchange->request.target)
		return error_set(error, ERROR_INTERNAL, "out of memory");
	return true;
}

static bool check_size(struct exchange *exchange, struct MHD_Connection *handle)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(handle, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	if (exchange->raw_length > TARGET_BYTES_MAX)
		return error_set(&exchange->error, ERROR_TARGET_TOO_LONG,
				 "the request target is longer than %d bytes", TARGET_BYTES_MAX);
	if (info && info->header_size > HEAD_BYTES_MAX)
		return error_set(&exchange->error, ERROR_HEAD_TOO_LARGE,
				 "the head of the request is larger than %d bytes", HEAD_BYTES_MAX);
	return true;
}

static bool find_route(struct exchange *exchange, const struct target *target)
{
	struct request *request = &exchange->request;
	struct route_match match;

	if (strcmp(request->method, "OPTIONS") == 0 && strcmp(target->path, "*") == 0) {
		snprintf(exchange->allowed, sizeof(exchange->allowed), "GET, HEAD, POST, OPTIONS");
		return true;
	}
	caller_take_path(exchange, target);
	routes_find(exchange->connection->worker->http->port, request->method, request->path,
		    request->path_length, &match);
	memcpy(exchange->allowed, match.allowed, sizeof(exchange->allowed));
	request->route = match.route;
	if (!match.route && *match.allowed && strcmp(request->method, "OPTIONS") == 0)
		return true;
	if (!match.route && *match.allowed)
		return error_set(&exchange->error, ERROR_METHOD, "this path takes %s",
				 match.allowed);
	if (!match.route)
		return error_set(&exchange->error, ERROR_NOT_FOUND,
				 "there is nothing at this path");
	for (int i = 0; i < match.parameters; i++) {
		request->parameter[i] = target_decode(&request->arena, match.parameter[i].text,
						      match.parameter[i].length, &exchange->error);
		if (!request->parameter[i])
			return false;
	}
	return true;
}

static bool check_body(struct exchange *exchange)
{
	const struct request *request = &exchange->request;
	const char *type = request_header(request, "Content-Type");
	const char *coding = request_header(request, "Content-Encoding");
	struct error *error = &exchange->error;
	size_t most = request->route ? request->route->body_max : 0;

	if (!framing_has_body(&exchange->framing))
		return true;
	if (most == 0)
		return error_set(error, ERROR_TOO_LARGE, "this route takes no body");
	if (exchange->framing.length > most)
		return error_set(error, ERROR_TOO_LARGE, "the body is larger than %zu bytes", most);
	if (coding && strcasecmp(coding, "identity") != 0)
		return error_set(error, ERROR_MEDIA_TYPE,
				 "the body must not have a Content-Encoding");
	if (type && !field_is_json(type))
		return error_set(error, ERROR_MEDIA_TYPE,
				 "the body must be application/json in UTF-8");
	return true;
}

static bool check_accept(struct exchange *exchange)
{
	const struct route *route = exchange->request.route;
	const char *accept = request_list(&exchange->request, "Accept");

	if (!route || !route->produces)
		return true;
	if (!field_accept(accept, route->produces, exchange->accepted))
		return error_set(&exchange->error, ERROR_NOT_ACCEPTABLE, "this route produces %s",
				 route->produces);
	exchange->request.accepted = exchange->accepted;
	exchange->request.coding = coding_choose(&exchange->request);
	return true;
}

static bool check_request(struct exchange *exchange, struct MHD_Connection *handle)
{
	struct request *request = &exchange->request;
	struct target target;

	if (!check_size(exchange, handle) ||
	    !target_split(request->target, &target, &exchange->error))
		return false;
	find_route(exchange, &target);
	return caller_admit(exchange) &&
	       target_decode_query(request, target.query, &exchange->error) &&
	       check_body(exchange) && check_accept(exchange);
}

static void count_refusal(const struct exchange *exchange)
{
	struct metrics *metrics = exchange->request.server->metrics;
	enum error_code code = exchange->error.code;

	if (code == ERROR_TOO_LARGE || code == ERROR_TARGET_TOO_LONG ||
	    code == ERROR_HEAD_TOO_LARGE)
		metrics_rejected(metrics, METRICS_REJECTED_TOO_LARGE);
	else if (code == ERROR_MALFORMED)
		metrics_rejected(metrics, METRICS_REJECTED_TARGET);
}

static void count_consumed(struct exchange *exchange, struct MHD_Connection *handle)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(handle, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	guard_count(exchange->connection, info ? info->header_size : 0, exchange->framing.length,
		    exchange->framing.is_chunked);
}

/* In the first call, which costs the connection. */
static enum MHD_Result answer_at_once(struct exchange *exchange, struct MHD_Connection *handle)
{
	exchange->is_refused = exchange->is_last = true;
	return answer_send(exchange, handle);
}

/* The first call. */
static enum MHD_Result begin(struct exchange *exchange, struct MHD_Connection *handle,
			     const char *method, const char *version)
{
	struct request *request = &exchange->request;
	const struct framing *framing = &exchange->framing;

	exchange->has_begun = true;
	request->is_head = strcmp(method, "HEAD") == 0;
	request->method = request->is_head ? "GET" : method;
	take_ids(exchange);
	if (!check_framing(exchange, handle, method, version)) {
		metrics_rejected(request->server->metrics, METRICS_REJECTED_FRAMING);
		return answer_at_once(exchange, handle);
	}
	count_consumed(exchange, handle);
	if (exchange->connection->is_surplus) {
		metrics_rejected(request->server->metrics, METRICS_REJECTED_CONNECTIONS);
		error_set(&exchange->error, ERROR_UNAVAILABLE, "too many open connections");
		return answer_at_once(exchange, handle);
	}
	if (!check_request(exchange, handle)) {
		count_refusal(exchange);
		exchange->is_refused = true;
		if (framing_has_body(framing) &&
		    (framing->expects_continue || framing->length > DRAIN_BYTES_MAX))
			return answer_at_once(exchange, handle);
	}
	if (framing_has_body(framing))
		connection_enter(exchange->connection, PHASE_BODY);
	return MHD_YES;
}

enum MHD_Result exchange_step(void *cls, struct MHD_Connection *handle, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *data_length, void **state)
{
	struct exchange *exchange = *state;

	(void)cls;
	(void)url; /* decoded by the library, and so of no use */
	if (!exchange || exchange->connection->was_cut)
		return MHD_NO;
	if (!exchange->has_begun)
		return begin(exchange, handle, method, version);
	if (*data_length > 0)
		return body_take(exchange, data, data_length);
	return wait_begin(exchange, handle) ? MHD_YES : answer_send(exchange, handle);
}
