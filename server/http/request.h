/*
 * Request and reply: what a handler sees of HTTP. No library type appears here.
 *
 * A request owns an arena that lives until its answer is sent, and holds one snapshot for all that
 * time, so that an answer sees one consistent world. Request state lives here, never in
 * thread-local storage: a worker interleaves many connections.
 */
#ifndef SERVER_HTTP_REQUEST_H
#define SERVER_HTTP_REQUEST_H

#include "core/arena.h"
#include "core/catalogue.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_PARAMETERS_MAX 2
#define REQUEST_QUERIES_MAX 64
#define REQUEST_ID_TEXT 65

struct route;
struct server; /* config, slot, metrics: see http.h */

struct query {
	const char *name, *value; /* decoded, terminated, without NUL bytes inside */
};

struct request {
	const struct route *route;
	struct server *server;
	struct arena arena;
	const struct catalogue *catalogue; /* NULL while no snapshot is loaded */
	int64_t now_us;			   /* wall clock at the request line */

	const char *method; /* GET for HEAD */
	bool is_head;
	const char *target;			       /* raw, as received */
	const char *parameter[REQUEST_PARAMETERS_MAX]; /* decoded path parameters, in order */
	struct query query[REQUEST_QUERIES_MAX];
	int queries;
	const char *body;
	size_t body_length;
	char request_id[REQUEST_ID_TEXT];
	const char *trace_id;	   /* of the caller's trace; NULL: it traces nothing */
	const char *client;	   /* address of who asks, told by trusted proxies or seen */
	const char *caller;	   /* "key:ID", "identity:NAME", or "" */
	unsigned scopes;	   /* bits of enum scope: what the caller may */
	const char *missing_scope; /* why a 403; else NULL */
	const char *prefix;	   /* what the caller's path has before the route, or "" */
	const char *path;	   /* raw, after the prefix, not terminated; NULL until known */
	size_t path_length;
	const char *accepted; /* the one of route->produces that Accept asks for */
	const char *coding;   /* "gzip" when answers shall be coded, or "" */
	/* Set by request_hold(), whose request is not answered yet; and how long it may be held. */
	const struct hold *hold;
	int64_t hold_until_us, begun_us; /* monotonic */
	bool may_hold;
	void *wanted;	  /* what the route's `later` noted, now read; else NULL */
	void *connection; /* the HTTP library's; for request_header() and request_list() only */
};

/*
 * What a held request waits for: the head of a struct that the handler lays in the request's arena.
 * `is_due` is asked whenever a catalogue was published; then, or when the time is over, the handler
 * runs once more, and may hold again within its time.
 */
struct hold {
	bool (*is_due)(const struct hold *hold, const struct server *server,
		       const struct catalogue *catalogue);
};

/* False when it must be answered now: it has waited `seconds` since it came, or the server stops.
 */
bool request_may_hold(const struct request *request, int64_t seconds);

/* The handler returns true after this, without a body: its reply is dropped. */
void request_hold(struct request *request, const struct hold *hold, int64_t seconds);

/* Prefer: wait=N (RFC 7240). */
bool request_prefers_wait(const struct request *request, int64_t *seconds);

/* First value of a header, or NULL. */
const char *request_header(const struct request *request, const char *name);

/* A header that is a list: all its lines as one (RFC 9110, 5.3), or NULL. */
const char *request_list(const struct request *request, const char *name);

/* Value of a query parameter, or NULL. A repeated parameter was refused before any handler ran. */
const char *request_query(const struct request *request, const char *name);

/*
 * Checks that every query parameter is one of `known` (NULL-terminated); each other one is added to
 * `error` with the nearest name. False when any is not.
 */
bool request_check_query(const struct request *request, const char *const *known,
			 struct error *error);

/* Prefer: handling=lenient (RFC 7240): unknown fields become warnings. */
bool request_prefers(const struct request *request, const char *preference);
bool request_is_lenient(const struct request *request);

#define REPLY_HEADERS_MAX 8

struct reply {
	unsigned status;	  /* 200 unless set */
	const char *content_type; /* "application/json" unless set */
	char *body;		  /* malloc'ed and given away; or NULL with static_body */
	const char *static_body;  /* bytes that live as long as the process */
	size_t length;		  /* of the body, terminator not counted */
	const char *etag; /* complete, with quotes; If-None-Match is handled by the HTTP layer */
	const char *cache_control; /* else the route's */
	struct {
		const char *name, *value; /* static or in the request's arena */
	} headers[REPLY_HEADERS_MAX];
	int headers_count;
};

void reply_header(struct reply *reply, const char *name, const char *value);

/* True when If-None-Match names `etag`. */
bool request_has_etag(const struct request *request, const char *etag);

/*
 * True when If-None-Match matches `etag` and the length of the answer it stands for is remembered
 * (a 304 must tell the length that the 200 had): status and length are set and the handler may skip
 * the body. False is no loss: a full reply with its etag set becomes a 304 in the HTTP layer all
 * the same.
 */
bool reply_not_modified(const struct request *request, struct reply *reply, const char *etag);

/* True: `reply` is filled. False: `error` is, and becomes problem+json. */
typedef bool route_handler(struct request *request, struct reply *reply, struct error *error);

#endif
