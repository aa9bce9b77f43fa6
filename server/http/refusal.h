/*
 * Refusal: a problem that is sent past the library, on a connection where that has nothing to say
 * (it waits for input, or has never seen it) and that must end afterwards. Inside server/http only.
 */
#ifndef SERVER_HTTP_REFUSAL_H
#define SERVER_HTTP_REFUSAL_H

#include "server/http/worker.h"

/* `is_method_head`: the answer has no body. What the socket does not take at once is lost. */
void refusal_send(struct connection *connection, const struct error *error, bool is_method_head);

#endif
