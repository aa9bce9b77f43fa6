/* The guard before the library: see guard.h. */
#include "server/http/guard.h"

#include "server/http/connection.h"
#include "server/http/refusal.h"

#include <errno.h>
#include <linux/tcp.h> /* tcpi_bytes_received, which <netinet/tcp.h> lacks */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define LINGER_BYTES_MAX ((size_t)1 << 20)
/* Of a chunked body, waiting unread; a kernel's buffer holds more only where it was told to. */
#define FOLLOWED_BYTES_MAX ((size_t)8 << 20)
/* enum tcp_states of the kernel: the peer's farewell has come, and counts as a byte. */
#define TCP_STATE_CLOSE_WAIT 8

bool guard_has(const struct connection *connection)
{
	return !connection->handle || connection->guarded.is_held;
}

/* --- how far the library has read --- */

static size_t unread_bytes(const struct connection *connection)
{
	int unread = 0;

	return ioctl(connection->fd, FIONREAD, &unread) == 0 && unread > 0 ? (size_t)unread : 0;
}

/* The library does not tell, but the kernel does. False where it does not (Unix sockets). */
static bool read_so_far(const struct connection *connection, uint64_t *position)
{
	/* In this order: what comes in between makes it more, never less. */
	size_t unread = unread_bytes(connection);
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);

	if (getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
		return false;
	*position = info.tcpi_bytes_received - (info.tcpi_state == TCP_STATE_CLOSE_WAIT) - unread;
	return true;
}

/* Whether the library has read all requests that it told of and nothing behind them, so that what
 * waits begins with a head. */
static bool is_at_boundary(const struct connection *connection)
{
	uint64_t position;

	return !connection->guarded.is_uncounted && read_so_far(connection, &position) &&
	       position == connection->guarded.consumed_bytes;
}

/* --- answering --- */

static void hold(struct connection *connection)
{
	if (!connection->handle || connection->guarded.is_held)
		return;
	MHD_suspend_connection(connection->handle);
	connection->guarded.is_held = true;
}

void guard_pass(struct connection *connection)
{
	struct worker *worker = connection->worker;

	if (connection->handle) {
		connection->guarded.is_held = false;
		worker->has_resumed = true;
		MHD_resume_connection(connection->handle);
		return;
	}
	worker->entering = connection;
	/* When it fails it closes the descriptor, and tells of that only if it told that it came.
	 */
	if (MHD_add_connection(worker->daemon, connection->fd,
			       (const struct sockaddr *)&connection->address,
			       connection->address_length) != MHD_YES &&
	    worker->entering) {
		connection->fd = -1;
		connection_free(connection);
	}
	worker->entering = NULL;
}

/* Reads what still comes after the answer, since closing a socket with unread bytes would reset the
 * connection, and the peer might never see the answer. */
static void drain(struct connection *connection)
{
	char *bytes = connection->worker->looked_at;
	ssize_t length;

	while ((length = recv(connection->fd, bytes, HEAD_BYTES_MAX, MSG_DONTWAIT)) > 0) {
		connection->guarded.drained_bytes += (size_t)length;
		if (connection->guarded.drained_bytes > LINGER_BYTES_MAX)
			break;
	}
	if (length >= 0 || (errno != EAGAIN && errno != EINTR))
		connection_cut(connection);
}

static void tell(struct connection *connection, const struct head *head)
{
	struct error error;

	error_init(&error, NULL);
	error_set(&error, head->code, "%s", head->problem);
	refusal_send(connection, &error, head->is_method_head);
}

static void refuse(struct connection *connection, const struct head *head)
{
	hold(connection);
	tell(connection, head);
	shutdown(connection->fd, SHUT_WR);
	connection_enter(connection, PHASE_LINGER);
	drain(connection);
}

static void count_refusal(const struct connection *connection, const struct head *head)
{
	bool is_large = head->code == ERROR_HEAD_TOO_LARGE || head->code == ERROR_TARGET_TOO_LONG ||
			head->code == ERROR_TOO_LARGE;

	metrics_rejected(connection->worker->http->server->metrics,
			 is_large ? METRICS_REJECTED_TOO_LARGE : METRICS_REJECTED_FRAMING);
}

static void refuse_unreadable(struct connection *connection, const struct head *head)
{
	count_refusal(connection, head);
	refuse(connection, head);
}

void guard_give_up(struct connection *connection, enum error_code code, const char *problem)
{
	struct head head = {.code = code, .problem = problem};

	if (unread_bytes(connection) == 0) {
		connection_cut(connection);
		return;
	}
	if (code != ERROR_TIMEOUT) /* counted with those that never sent anything */
		count_refusal(connection, &head);
	refuse(connection, &head);
}

/* --- chunked bodies --- */

/* Looks at all that waits. `position`: how far the library has read. */
static void follow(struct connection *connection, uint64_t position)
{
	struct guarded *guarded = &connection->guarded;
	size_t unread = unread_bytes(connection), seen;
	char *bytes = NULL;
	ssize_t length;

	if (position <= guarded->followed_bytes && unread <= FOLLOWED_BYTES_MAX)
		bytes = malloc(unread + 1);
	guarded->is_followed = bytes != NULL;
	if (!bytes)
		return;
	length = recv(connection->fd, bytes, unread, MSG_PEEK | MSG_DONTWAIT);
	seen = (size_t)(guarded->followed_bytes - position);
	if (length > 0 && (size_t)length > seen)
		guarded->followed_bytes +=
			chunks_take(&guarded->chunks, bytes + seen, (size_t)length - seen);
	free(bytes);
}

/* False: it was framed wrongly, and the connection may be gone. */
static bool check_body(struct connection *connection)
{
	const struct chunks *chunks = &connection->guarded.chunks;

	if (!connection->guarded.is_followed || chunks->state != CHUNKS_BAD)
		return true;
	refuse_unreadable(connection,
			  &(struct head){.code = chunks->code, .problem = chunks->problem});
	return false;
}

static void look_at_body(struct connection *connection)
{
	uint64_t position;

	if (!read_so_far(connection, &position)) {
		connection->guarded.is_followed = false;
		return;
	}
	follow(connection, position);
	check_body(connection);
}

/* --- heads --- */

/* Where the next request begins, in bytes that begin with this one; 0: not in these. */
static size_t next_request(const char *bytes, size_t length, struct head *head)
{
	size_t rest = length - head->length;
	struct chunks chunks = {0};

	if (head->may_close || rest == 0)
		return 0;
	if (!head->is_chunked)
		return head->body_length < rest ? head->length + (size_t)head->body_length : 0;
	rest -= chunks_take(&chunks, bytes + head->length, rest);
	head->code = chunks.code;
	head->problem = chunks.problem;
	return chunks.state == CHUNKS_DONE && rest > 0 ? length - rest : 0;
}

/* Of requests that came in one piece, the first of which is readable. `ahead`: of the one that is
 * being answered. */
static void look_ahead(struct connection *connection, const char *bytes, size_t length,
		       struct head head, unsigned ahead)
{
	enum head_verdict verdict = HEAD_READABLE;
	size_t whole;

	while (verdict == HEAD_READABLE && (whole = next_request(bytes, length, &head)) > 0) {
		ahead++;
		bytes += whole;
		length -= whole;
		verdict = head_check(bytes, length, &head);
	}
	if (ahead > 0 && head.code != ERROR_NONE &&
	    (guard_has(connection) || is_at_boundary(connection))) {
		connection->guarded.ahead = ahead;
		connection->guarded.refused = head;
	}
}

static void take_readable(struct connection *connection, const char *bytes, size_t length,
			  const struct head *head)
{
	struct guarded *guarded = &connection->guarded;

	if (head->is_chunked && (guard_has(connection) || is_at_boundary(connection))) {
		guarded->chunks = (struct chunks){0};
		guarded->followed_bytes = guarded->consumed_bytes + head->length;
		follow(connection, guarded->consumed_bytes);
		if (!check_body(connection))
			return;
	}
	look_ahead(connection, bytes, length, *head, 0);
	/* The library does not count them to the head; see guard_count(). */
	if (head->empty_bytes > 0 && (guard_has(connection) || is_at_boundary(connection)))
		guarded->consumed_bytes += head->empty_bytes;
	if (guard_has(connection))
		guard_pass(connection);
}

/* What comes next is here before the library is done with what came before: it is refused then. */
static void look_behind_answer(struct connection *connection, const char *bytes, size_t length)
{
	struct head head;

	if (connection->guarded.ahead > 0)
		return;
	switch (head_check(bytes, length, &head)) {
	case HEAD_READABLE:
		look_ahead(connection, bytes, length, head, 1);
		break;
	case HEAD_REFUSED:
		connection->guarded.ahead = is_at_boundary(connection);
		connection->guarded.refused = head;
		break;
	case HEAD_PARTIAL:
		break;
	}
}

static void look_at_head(struct connection *connection, const char *bytes, size_t length)
{
	struct head head;
	enum head_verdict verdict = head_check(bytes, length, &head);

	if (verdict == HEAD_READABLE) {
		take_readable(connection, bytes, length, &head);
		return;
	}
	if (!guard_has(connection) && !is_at_boundary(connection))
		return;
	if (verdict == HEAD_REFUSED) {
		refuse_unreadable(connection, &head);
	} else if (!guard_has(connection)) {
		hold(connection);
		connection_enter(connection, PHASE_HEAD);
	}
}

static void look_at_heads(struct connection *connection)
{
	char *bytes = connection->worker->looked_at;
	ssize_t length = recv(connection->fd, bytes, HEAD_BYTES_MAX, MSG_PEEK | MSG_DONTWAIT);

	if (length <= 0)
		return;
	if (connection->phase == PHASE_ANSWER)
		look_behind_answer(connection, bytes, (size_t)length);
	else
		look_at_head(connection, bytes, (size_t)length);
}

void guard_look(struct connection *connection)
{
	if (connection->phase == PHASE_LINGER)
		drain(connection);
	else if (guard_has(connection) || connection->phase == PHASE_ANSWER ||
		 (connection->phase == PHASE_IDLE && !connection->exchange))
		look_at_heads(connection);
	else if (connection->phase == PHASE_BODY && connection->guarded.is_followed)
		look_at_body(connection);
}

void guard_count(struct connection *connection, size_t head_bytes, uint64_t body_bytes,
		 bool is_chunked)
{
	struct guarded *guarded = &connection->guarded;

	guarded->is_uncounted |= is_chunked && !guarded->is_followed;
	guarded->consumed_bytes += head_bytes + body_bytes;
}

void guard_finish(struct connection *connection, bool was_chunked, bool is_last)
{
	struct guarded *guarded = &connection->guarded;

	if (was_chunked && guarded->is_followed && guarded->chunks.state == CHUNKS_DONE)
		guarded->consumed_bytes = guarded->followed_bytes;
	else if (was_chunked)
		guarded->is_uncounted = true;
	guarded->is_followed = false;
	if (is_last || connection->was_cut || guarded->ahead == 0 || --guarded->ahead > 0)
		return;
	count_refusal(connection, &guarded->refused);
	tell(connection, &guarded->refused);
	connection_cut(connection); /* the library has read what is refused, and may not answer */
}

void guard_end_all(struct worker *worker)
{
	static const enum phase phases[] = {PHASE_HEAD, PHASE_LINGER};

	for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
		struct connection *at = worker->phases[phases[i]].oldest, *next;

		for (; at; at = next) {
			next = at->next;
			if (guard_has(at))
				connection_cut(at);
		}
	}
}
