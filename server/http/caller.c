/* Who asks, and under which path: see caller.h. */
#include "server/http/caller.h"

#include <string.h>

#define REFUSED_COST 5 /* units of a caller's limit */

/* A copy that lives as long as the request, or `fallback` for an empty one. */
static const char *kept_text(struct exchange *exchange, const char *text, const char *fallback)
{
	const char *copy = *text ? arena_strdup(&exchange->request.arena, text) : NULL;

	return copy ? copy : fallback;
}

void caller_take(struct exchange *exchange, const struct forwarded_lines *lines)
{
	struct request *request = &exchange->request;
	const struct connection *connection = exchange->connection;
	const struct http *http = connection->worker->http;
	struct forwarded told;
	char client[PEER_TEXT];

	exchange->is_forwarded = lines->count > 0;
	if (lines->count == 0)
		return;
	forwarded_read(lines, &http->trust, http->forwarded_style, &connection->peer,
		       connection->is_trusted, &told);
	for (int i = 0; i < FORWARDED_FAULTS; i++) {
		if (told.faults[i])
			metrics_forwarded_ignored(request->server->metrics, i);
	}
	exchange->client = told.client;
	peer_format(&told.client, client);
	request->client = kept_text(exchange, client, request->client);
	request->prefix = kept_text(exchange, told.prefix, request->prefix);
	exchange->scheme = kept_text(exchange, told.scheme, exchange->scheme);
	exchange->host = kept_text(exchange, told.host, exchange->host);
}

void caller_take_path(struct exchange *exchange, const struct target *target)
{
	struct request *request = &exchange->request;
	const char *base = request->server->config->base_path;
	size_t length = strlen(base);

	request->path = target->path;
	request->path_length = target->path_length;
	if (length == 0 || exchange->connection->worker->http->port != ROUTE_API)
		return;
	if (target->path_length < length || memcmp(target->path, base, length) != 0 ||
	    (target->path_length > length && target->path[length] != '/')) {
		if (!*request->prefix)
			request->prefix = base;
		return;
	}
	request->path += length;
	request->path_length -= length;
	if (*request->prefix)
		base = arena_printf(&request->arena, "%s%s", request->prefix, base);
	request->prefix = base ? base : request->prefix;
}

/* Who may not come in is counted by address, and dearer: guessing shall not be cheap. */
static bool charge(struct exchange *exchange)
{
	const struct request *request = &exchange->request;
	struct limit *limit = request->server->limit;
	bool is_known = *request->caller && !exchange->has_bad_credential;
	unsigned cost = request->route ? request->route->cost : 1;

	if (!limit || exchange->connection->worker->http->port != ROUTE_API)
		return true;
	if (exchange->has_bad_credential)
		cost = REFUSED_COST;
	limit_charge(limit,
		     is_known ? limit_caller(limit, request->caller)
			      : limit_address(limit, &exchange->client),
		     cost ? cost : 1, exchange->started_us, &exchange->limit);
	if (!exchange->limit.is_refused)
		return true;
	return error_set(&exchange->error, ERROR_QUOTA,
			 "the caller's limit is used up; it is restored in %lld s at the latest",
			 (long long)exchange->limit.reset_seconds);
}

bool caller_admit(struct exchange *exchange)
{
	bool is_admitted;

	if (error_is_set(&exchange->error)) { /* no route: it counts all the same */
		charge(exchange);
		return false;
	}
	if (!exchange->request.route) /* OPTIONS: browsers ask it without credentials */
		return true;
	is_admitted = auth_admit(exchange);
	return charge(exchange) && is_admitted;
}
