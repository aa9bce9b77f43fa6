/* Refusals: see refusal.h. */
#include "server/http/refusal.h"

#include "server/clock.h"
#include "server/http/answer.h"
#include "server/http/problem.h"
#include "server/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#define HEAD_TEXT 512

/* The id that the request under way is known by, or one of its own. */
static void identify(const struct connection *connection, struct request *request)
{
	const struct exchange *exchange = connection->exchange;

	if (!exchange || !*exchange->request.request_id) {
		exchange_new_id(connection->worker, request->request_id);
		return;
	}
	memcpy(request->request_id, exchange->request.request_id, sizeof(request->request_id));
	request->trace_id = exchange->request.trace_id;
}

static int format_head(const struct request *request, const struct reply *reply,
		       char out[HEAD_TEXT])
{
	time_t now = (time_t)(clock_wall_us() / US_PER_SECOND);
	char date[64] = "";
	struct tm parts;

	if (gmtime_r(&now, &parts))
		strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
	return snprintf(out, HEAD_TEXT,
			"HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: close\r\n"
			"Content-Type: %s\r\nX-Request-Id: %s\r\nCache-Control: %s\r\n"
			"Content-Length: %zu\r\n\r\n",
			reply->status, MHD_get_reason_phrase_for(reply->status), date,
			reply->content_type, request->request_id, reply->cache_control,
			reply->length);
}

static void record(const struct connection *connection, const struct request *request,
		   const struct reply *reply, size_t body_bytes)
{
	const struct http *http = connection->worker->http;
	int64_t duration_us = clock_monotonic_us() - connection->worker->now_us;

	metrics_request(http->server->metrics, -1, reply->status, duration_us);
	if (http->logs_errors)
		log_access(&(struct log_access){
			.request_id = request->request_id,
			.trace_id = request->trace_id ? request->trace_id : "",
			.span_id = "",
			.parent_id = "",
			.method = "-",
			.route = "-",
			.client = connection->client,
			.caller = "",
			.scheme = "",
			.host = "",
			.status = reply->status,
			.duration_us = duration_us,
			.bytes = body_bytes,
		});
}

void refusal_send(struct connection *connection, const struct error *error, bool is_method_head)
{
	struct request request = {0};
	struct reply reply = {0};
	char head[HEAD_TEXT];
	struct iovec parts[2];
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = is_method_head ? 1 : 2};

	identify(connection, &request);
	problem_reply(error, &request, &reply);
	parts[0].iov_base = head;
	parts[0].iov_len = (size_t)format_head(&request, &reply, head);
	parts[1].iov_base = reply.body ? reply.body : (void *)(uintptr_t)reply.static_body;
	parts[1].iov_len = reply.length;
	if (sendmsg(connection->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		record(connection, &request, &reply, is_method_head ? 0 : reply.length);
	free(reply.body);
}
