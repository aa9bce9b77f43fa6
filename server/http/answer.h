/* Answer: what an exchange is told: handler or problem, headers, 304, access line. Inside
 * server/http only. */
#ifndef SERVER_HTTP_ANSWER_H
#define SERVER_HTTP_ANSWER_H

#include "server/http/exchange.h"
#include "server/http/fields.h"
#include "server/http/framing.h"
#include "server/http/timing.h"
#include "server/http/trace.h"

struct exchange {
	struct request request;
	struct connection *connection;
	struct error error; /* why it is refused, when is_refused */
	struct framing framing;
	int64_t started_us, held_since_us;
	const char *raw_target; /* the library's, before it decodes in place */
	size_t raw_length;
	char *body;
	size_t body_capacity;
	uint64_t received; /* body bytes, kept or not */
	char allowed[ROUTE_ALLOW_TEXT];
	char accepted[MEDIA_TYPE_TEXT];
	struct trace trace;
	struct timing timing;
	const char *scheme, *host; /* told by trusted proxies, or "" */
	struct job *job;	   /* what it waits or has waited for, or NULL */
	struct credentials credentials;
	struct peer client; /* told by trusted proxies or seen */
	bool is_forwarded;  /* some proxy has told of somebody, believed or not */
	struct limit_state limit;
	const char *holder; /* of whose held requests it is one */
	bool has_bad_credential;
	bool has_begun, is_refused, has_waited, is_hold_over, is_answered;
	bool is_last; /* it is answered before its end, which costs the connection */
};

/* Makes the answer and queues it; afterwards the request's memory is gone. */
enum MHD_Result answer_send(struct exchange *exchange, struct MHD_Connection *connection);

/* What of a catalogue the caller may see. */
const struct catalogue *answer_view(const struct request *request, const struct catalogue *whole);

#endif
