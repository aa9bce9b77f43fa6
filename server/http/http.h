/*
 * HTTP: the listeners. Everything that knows libmicrohttpd is in this folder (http.c), shaped by
 * the traps of version 0.9.75: one external epoll daemon per thread on a shared listening socket, a
 * guard against smuggling in the first call, own deadlines for head and body, raw targets, drain on
 * stop.
 */
#ifndef SERVER_HTTP_HTTP_H
#define SERVER_HTTP_HTTP_H

#include "server/config.h"
#include "server/http/auth.h"
#include "server/http/holds.h"
#include "server/http/limit.h"
#include "server/http/routes.h"
#include "server/memo.h"
#include "server/metrics.h"
#include "server/snapshot.h"

#define HTTP_ANSWER_LENGTHS 256

struct price_versions; /* server/api/price_versions.h */

/* What handlers reach through request->server. */
struct server {
	const struct config *config;
	struct snapshot_slot *slot;
	struct metrics *metrics;
	struct later *later; /* NULL without a database */
	struct auth *auth;
	struct limit *limit; /* NULL: callers are not limited */
	struct holds *holds; /* long polls */
	struct price_versions *price_versions;
	struct memo *coded; /* answers in gzip, by their text; NULL: each is made anew */
	struct memo_counts coded_counts;
	_Atomic bool is_draining;

	/* Lengths of recent answers by hash of target and ETag; see reply_not_modified(). */
	_Atomic uint64_t answer_lengths[HTTP_ANSWER_LENGTHS];
};

struct http;

/*
 * Binds and starts the threads of one port. NULL and an error when the address cannot be had.
 * `server` must be zeroed but for its pointers, and outlive the result.
 */
struct http *http_start(struct server *server, enum route_port port, const char *address,
			unsigned threads, struct error *error);

/* The address really bound ("127.0.0.1:43121" when port 0 was asked). */
const char *http_address(const struct http *http);

/*
 * Stops without losing a request: refuses new connections, answers what runs (with Connection:
 * close), waits up to `grace_seconds`, then ends the threads. Frees `http`.
 */
void http_stop(struct http *http, double grace_seconds);

#endif
