/* Body: gathered piece by piece up to the route's limit, then read past. Inside server/http only.
 */
#ifndef SERVER_HTTP_BODY_H
#define SERVER_HTTP_BODY_H

#include "server/http/answer.h"

/* Takes all of the piece; *length becomes 0. MHD_NO: the connection ends. */
enum MHD_Result body_take(struct exchange *exchange, const char *data, size_t *length);

#endif
