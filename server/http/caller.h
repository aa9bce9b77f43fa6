/*
 * Caller: who asks and under which path, where proxies stand between. Inside server/http only.
 */
#ifndef SERVER_HTTP_CALLER_H
#define SERVER_HTTP_CALLER_H

#include "server/http/answer.h"
#include "server/http/target.h"

/* Takes what the trusted ones among the proxies tell. Out of memory: as this service sees it. */
void caller_take(struct exchange *exchange, const struct forwarded_lines *lines);

/*
 * The path without the base path. A gateway may leave that or cut it off, so both are served; and
 * then links need it unless the gateway tells another prefix. Probes never have one.
 */
void caller_take_path(struct exchange *exchange, const struct target *target);

/* May the caller have the route (auth.h), and now (limit.h)? Else the error, as it is when none was
 * found. */
bool caller_admit(struct exchange *exchange);

#endif
