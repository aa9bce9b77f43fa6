/*
 * Wait: requests that wait for what no worker may wait for: a job of the pool, or (held) a newer
 * catalogue. Inside server/http only, and only on the worker's thread but for what a job's end
 * brings.
 *
 * A waiting connection is suspended in the library, which then neither times it out nor notices
 * that its client leaves, and must find none suspended when it stops. So every way out of
 * PHASE_WAIT leads through wait_end(): the job was told, the deadline passed, the client left, the
 * worker ends. Only the worker's own thread resumes: other threads queue the job and wake it.
 */
#ifndef SERVER_HTTP_WAIT_H
#define SERVER_HTTP_WAIT_H

#include "server/http/exchange.h"

/* True when the exchange now waits: nothing may be queued for it. False when there is nothing to
 * wait for (any more), or nothing can be waited for (it is refused then). */
bool wait_begin(struct exchange *exchange, struct MHD_Connection *handle);

/* Ends it without what was waited for: an answer of 503, unless the connection was cut. */
void wait_end(struct connection *connection, const char *why);

/* Holds the request, when its handler asked for that: true then, and nothing may be queued for it.
 * False when there is no place for it (it is refused then). */
bool hold_begin(struct exchange *exchange, struct MHD_Connection *handle);

/* After a catalogue was published: those go on whom it concerns. */
void holds_look(struct worker *worker);

/* When the port closes: all are answered with what there is. */
void holds_end_all(struct worker *worker);

/* When the time of a held or waiting request is over. */
void wait_expire(struct connection *connection);

/* Jobs that were told since the last round. */
void waits_take_told(struct worker *worker);

/* When the worker's thread ends: answers all. */
void waits_end_all(struct worker *worker);

#endif
