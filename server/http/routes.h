/*
 * Routes: the one table of what can be asked. It feeds dispatch, 404 and 405 with Allow, body
 * limits, cache headers, metrics labels, `gpupick routes` and one side of the OpenAPI check.
 *
 * A pattern is matched on the raw target, segment by segment, before any decoding. "{}" takes one
 * segment; "{*}" takes all the rest, slashes included (model ids: %2F and a plain slash both work,
 * since gateways decode).
 */
#ifndef SERVER_HTTP_ROUTES_H
#define SERVER_HTTP_ROUTES_H

#include "server/http/request.h"
#include "server/later.h"

enum route_port { ROUTE_API, ROUTE_OPS };

/*
 * Of a route whose answer needs the database. `ask` looks at the request and notes in `arena` what
 * must be read; `read` reads it, on a thread of the pool; then the route's handler, back on the
 * worker, finds it in request->wanted. Until then the connection is suspended.
 */
struct route_later {
	bool (*ask)(struct request *request, struct arena *arena, void **wanted,
		    struct error *error);
	later_read *read;
};

/* Who may call: what is not said needs the scope "read". */
enum route_access { ACCESS_READ, ACCESS_OPEN, ACCESS_METRICS };

struct route {
	const char *method;
	const char *pattern;
	const char *operation; /* OpenAPI operationId = metrics label = log field */
	route_handler *handle;
	size_t body_max;   /* 0: a body is refused */
	const char *cache; /* Cache-Control of a 200 */
	enum route_port port;
	bool needs_snapshot;  /* 503 with Retry-After until one is loaded */
	const char *produces; /* media types of a 200, separated by spaces, the default first */
	const struct route_later *later; /* NULL: answered from memory */
	enum route_access access;
	unsigned cost; /* units of a caller's limit; 0 is 1 */
};

extern const struct route routes[];
extern const size_t routes_count;

/*
 * What `path` (raw, without the query) asks on `port`: the route for `method`, with its parameters
 * still raw; or NULL, and then `allowed` tells whether another method would do ("GET, HEAD,
 * OPTIONS"; "" when the path is unknown).
 */
#define ROUTE_ALLOW_TEXT 64
struct route_match {
	const struct route *route;
	struct {
		const char *text;
		size_t length;
	} parameter[REQUEST_PARAMETERS_MAX];
	int parameters;
	char allowed[ROUTE_ALLOW_TEXT];
};
void routes_find(enum route_port port, const char *method, const char *path, size_t path_length,
		 struct route_match *out);

/* method <tab> pattern <tab> operation, a line each. */
void routes_print(void);

#endif
