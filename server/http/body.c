/* The body of a request: see body.h. */
#include "server/http/body.h"

#include "server/http/refusal.h"

#include <stdlib.h>
#include <string.h>

#define BODY_CAPACITY_FIRST 4096
#define OVERFLOW_BYTES_MAX ((uint64_t)1 << 20) /* of a chunked body, past its limit */

static bool append(struct exchange *exchange, const char *data, size_t length)
{
	size_t wanted = exchange->request.body_length + length + 1;
	size_t capacity = exchange->body_capacity ? exchange->body_capacity : BODY_CAPACITY_FIRST;
	char *body;

	if (wanted > exchange->body_capacity) {
		while (capacity < wanted)
			capacity *= 2;
		body = realloc(exchange->body, capacity);
		if (!body)
			return error_set(&exchange->error, ERROR_INTERNAL, "out of memory");
		exchange->body = body;
		exchange->body_capacity = capacity;
	}
	memcpy(exchange->body + exchange->request.body_length, data, length);
	exchange->request.body_length += length;
	exchange->body[exchange->request.body_length] = '\0';
	return true;
}

/* No answer can be queued between pieces of a body; this one goes past the library, which has sent
 * nothing on this exchange yet, and then hangs up. */
static void send_too_large(const struct exchange *exchange, size_t most)
{
	struct error error;

	error_init(&error, NULL);
	error_set(&error, ERROR_TOO_LARGE, "the body is larger than %zu bytes", most);
	refusal_send(exchange->connection, &error, exchange->request.is_head);
}

enum MHD_Result body_take(struct exchange *exchange, const char *data, size_t *length)
{
	const struct route *route = exchange->request.route;
	size_t most = route ? route->body_max : 0;

	exchange->received += *length;
	if (!exchange->is_refused && exchange->received > most) {
		metrics_rejected(exchange->request.server->metrics, METRICS_REJECTED_TOO_LARGE);
		exchange->is_refused = true;
		error_set(&exchange->error, ERROR_TOO_LARGE, "the body is larger than %zu bytes",
			  most);
	}
	if (!exchange->is_refused && !append(exchange, data, *length))
		exchange->is_refused = true;
	if (exchange->received > most + OVERFLOW_BYTES_MAX) {
		send_too_large(exchange, most);
		return MHD_NO;
	}
	*length = 0;
	return MHD_YES;
}
