/* What the files of fetch share: fetch.c makes the transfer, fetch_answer.c reads what it brought,
 * fetch_grpc.c what that is of a gRPC call. Private to them. */
#ifndef SERVER_INGEST_FETCH_PARTS_H
#define SERVER_INGEST_FETCH_PARTS_H

#include "server/ingest/fetch.h"

/* What a transfer that ended well brought; `curl` is its handle, `body` NULL when it went to a
 * sink. */
enum fetch_failure fetch_answer(void *curl, const struct fetch_request *request, const char *body,
				size_t length, struct arena *arena, struct fetch_response *out,
				struct error *error);

/* A header, or a trailer, as libcurl's `origin` says; "" when there is none. */
const char *fetch_header(void *curl, const char *name, unsigned origin, struct arena *arena);

/* An answer to a gRPC call becomes that of its own status, with the message in place of its frame.
 */
enum fetch_failure fetch_call(void *curl, const struct fetch_request *request, const char **body,
			      size_t *length, struct arena *arena, struct fetch_response *out,
			      struct error *error);

/* A message as a gRPC call sends it, and its new length; NULL without memory. */
const char *fetch_frame(const char *message, size_t *length, struct arena *arena);

#endif
