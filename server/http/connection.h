/*
 * Connections of one worker: their phases and deadlines, and who has hung up. Inside server/http
 * only, and only on the worker's thread.
 */
#ifndef SERVER_HTTP_CONNECTION_H
#define SERVER_HTTP_CONNECTION_H

#include "server/http/worker.h"

#include <microhttpd.h>

/* Of an accepted socket, which it takes over; the worker counts it already. */
void connection_open(struct worker *worker, int fd, const struct sockaddr_storage *address,
		     socklen_t length, bool is_surplus);

/* Closes the descriptor unless the library has it. */
void connection_free(struct connection *connection);

/* MHD_OPTION_NOTIFY_CONNECTION; `cls` is the worker. */
void connection_notify(void *cls, struct MHD_Connection *handle, void **state,
		       enum MHD_ConnectionNotificationCode code);

/* Hangs up; the library closes the descriptor once it sees that nothing comes any more. What the
 * library has not been given is freed. */
void connection_cut(struct connection *connection);

/* The peer said that it sends no more. */
void connection_left(struct connection *connection);

/* After the library has run: peers that left in the middle of a request or between two, */
void connections_cut_left(struct worker *worker);

/* connections whose phase has lasted too long, */
void connections_expire(struct worker *worker);

/* and, while stopping, those without a request that have had time to send one. */
void connections_close_quiet(struct worker *worker);

#endif
