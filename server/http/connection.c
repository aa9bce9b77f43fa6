/* Connections: see connection.h. */
#include "server/http/connection.h"

#include "server/clock.h"
#include "server/http/answer.h"
#include "server/http/guard.h"
#include "server/http/refusal.h"
#include "server/http/wait.h"

#include <linux/tcp.h> /* tcpi_bytes_received, which <netinet/tcp.h> lacks */
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CLOSING_IDLE_US (US_PER_SECOND / 2)

static void unlink_connection(struct connection *connection)
{
	if (connection->phase == PHASES)
		return;
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		connection->worker->phases[connection->phase].oldest = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	else
		connection->worker->phases[connection->phase].newest = connection->previous;
	connection->previous = connection->next = NULL;
	connection->phase = PHASES;
}

void connection_enter(struct connection *connection, enum phase phase)
{
	struct worker *worker = connection->worker;

	if (connection->was_cut)
		return;
	unlink_connection(connection);
	connection->phase = phase;
	connection->since_us = worker->now_us;
	connection->previous = worker->phases[phase].newest;
	if (connection->previous)
		connection->previous->next = connection;
	else
		worker->phases[phase].oldest = connection;
	worker->phases[phase].newest = connection;
}

void connection_wait(struct connection *connection, int64_t deadline_us)
{
	struct worker *worker = connection->worker;
	struct connection *before = worker->phases[PHASE_WAIT].newest;

	unlink_connection(connection);
	while (before && before->since_us > deadline_us)
		before = before->previous;
	connection->phase = PHASE_WAIT;
	connection->since_us = deadline_us;
	connection->previous = before;
	connection->next = before ? before->next : worker->phases[PHASE_WAIT].oldest;
	if (before)
		before->next = connection;
	else
		worker->phases[PHASE_WAIT].oldest = connection;
	if (connection->next)
		connection->next->previous = connection;
	else
		worker->phases[PHASE_WAIT].newest = connection;
}

/*
 * When a peer's last bytes and its farewell arrive together, 0.9.75 reads the bytes, takes the
 * short read for "no more now", and never looks again: the connection would stay until its
 * deadline. So the worker watches for the farewell itself; and for bytes, on behalf of the guard.
 */
static bool watch_peer(struct connection *connection)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET,
				    .data.ptr = connection};

	return epoll_ctl(connection->worker->epoll, EPOLL_CTL_ADD, connection->fd, &event) == 0;
}

void connection_left(struct connection *connection)
{
	struct worker *worker = connection->worker;

	if (connection->has_left)
		return;
	connection->has_left = true;
	connection->next_left = worker->left;
	if (worker->left)
		worker->left->previous_left = connection;
	worker->left = connection;
}

static void unlink_left(struct connection *connection)
{
	if (!connection->has_left)
		return;
	if (connection->previous_left)
		connection->previous_left->next_left = connection->next_left;
	else
		connection->worker->left = connection->next_left;
	if (connection->next_left)
		connection->next_left->previous_left = connection->previous_left;
}

void connection_cut(struct connection *connection)
{
	if (!connection->handle) {
		connection_free(connection);
		return;
	}
	if (connection->phase == PHASE_WAIT)
		wait_end(connection, "the client left");
	unlink_connection(connection);
	connection->was_cut = true;
	shutdown(connection->fd, SHUT_RDWR);
	if (connection->guarded.is_held)
		guard_pass(connection);
}

static bool has_sent_anything(const struct connection *connection)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);

	return getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0 ||
	       info.tcpi_bytes_received > 0;
}

static void send_timeout(struct connection *connection)
{
	const struct exchange *exchange = connection->exchange;
	struct error error;

	error_init(&error, NULL);
	error_set(&error, ERROR_TIMEOUT, "the %s of the request did not come in time",
		  connection->phase == PHASE_HEAD ? "head" : "body");
	refusal_send(connection, &error, exchange && exchange->request.is_head);
}

static void expire(struct worker *worker, struct connection *connection)
{
	struct metrics *metrics = worker->http->server->metrics;

	if (connection->phase == PHASE_WAIT) {
		wait_expire(connection);
		return;
	}
	if (connection->phase == PHASE_HEAD)
		metrics_rejected(metrics, METRICS_REJECTED_HEAD_TIMEOUT);
	else if (connection->phase == PHASE_BODY)
		metrics_rejected(metrics, METRICS_REJECTED_BODY_TIMEOUT);
	if (connection->phase == PHASE_HEAD && guard_has(connection)) {
		guard_give_up(connection, ERROR_TIMEOUT,
			      "the head of the request did not come in time");
		return;
	}
	if ((connection->phase == PHASE_HEAD || connection->phase == PHASE_BODY) &&
	    has_sent_anything(connection))
		send_timeout(connection);
	connection_cut(connection);
}

void connections_expire(struct worker *worker)
{
	for (int phase = 0; phase < PHASES; phase++) {
		int64_t before_us = worker->now_us - worker->http->allowance_us[phase];
		struct connection *oldest;

		while ((oldest = worker->phases[phase].oldest) && oldest->since_us <= before_us)
			expire(worker, oldest);
	}
}

void connections_close_quiet(struct worker *worker)
{
	static const enum phase quiet[] = {PHASE_IDLE, PHASE_HEAD, PHASE_LINGER};

	for (size_t i = 0; i < sizeof(quiet) / sizeof(*quiet); i++) {
		struct connection *at = worker->phases[quiet[i]].oldest, *next;

		for (; at; at = next) {
			next = at->next;
			if (!at->exchange && at->since_us <= worker->now_us - CLOSING_IDLE_US)
				connection_cut(at);
		}
	}
}

/* The library must have read all there was: requests may have come before the farewell. */
void connections_cut_left(struct worker *worker)
{
	MHD_UNSIGNED_LONG_LONG library_ms;
	struct connection *next;

	if (!worker->left ||
	    (MHD_get_timeout(worker->daemon, &library_ms) == MHD_YES && library_ms == 0))
		return;
	for (struct connection *at = worker->left; at; at = next) {
		next = at->next_left;
		if (at->phase == PHASE_HEAD && guard_has(at))
			guard_give_up(at, ERROR_MALFORMED, "the request ends within its head");
		else if (at->phase != PHASE_ANSWER && !at->was_cut)
			connection_cut(at);
	}
}

void connection_open(struct worker *worker, int fd, const struct sockaddr_storage *address,
		     socklen_t length, bool is_surplus)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection) {
		close(fd);
		atomic_fetch_sub(&worker->connections, 1);
		return;
	}
	connection->worker = worker;
	connection->fd = fd;
	connection->phase = PHASES;
	connection->is_surplus = is_surplus;
	connection->address = *address;
	connection->address_length = length;
	connection->peer = peer_of((const struct sockaddr *)address);
	connection->is_trusted = trust_has(&worker->http->trust, &connection->peer);
	peer_format(&connection->peer, connection->client);
	metrics_connections(worker->http->server->metrics, 1);
	connection_enter(connection, PHASE_HEAD);
	if (!watch_peer(connection))
		guard_pass(connection);
}

void connection_free(struct connection *connection)
{
	struct worker *worker = connection->worker;

	epoll_ctl(worker->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
	unlink_left(connection);
	unlink_connection(connection);
	if (!connection->handle && connection->fd >= 0)
		close(connection->fd);
	free(connection);
	metrics_connections(worker->http->server->metrics, -1);
	atomic_fetch_sub(&worker->connections, 1);
}

void connection_notify(void *cls, struct MHD_Connection *handle, void **state,
		       enum MHD_ConnectionNotificationCode code)
{
	struct worker *worker = cls;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*state = worker->entering;
		worker->entering->handle = handle;
		worker->entering = NULL;
	} else {
		connection_free(*state);
		*state = NULL;
	}
}
