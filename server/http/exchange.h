/*
 * Exchange: one request and its answer, from the request line to the last byte; the callbacks that
 * libmicrohttpd makes for it (`cls` is the worker). Inside server/http only.
 */
#ifndef SERVER_HTTP_EXCHANGE_H
#define SERVER_HTTP_EXCHANGE_H

#include "server/http/worker.h"

#include <microhttpd.h>

/* MHD_OPTION_URI_LOG_CALLBACK: the raw target, before any decoding. */
void *exchange_new(void *cls, const char *target, struct MHD_Connection *handle);

/* The access handler. */
enum MHD_Result exchange_step(void *cls, struct MHD_Connection *handle, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *data_length, void **state);

/* MHD_OPTION_NOTIFY_COMPLETED: called for every exchange_new(), answered or not. */
void exchange_free(void *cls, struct MHD_Connection *handle, void **state,
		   enum MHD_RequestTerminationCode reason);

/* The id of a request that brought none: unlike any other. */
void exchange_new_id(struct worker *worker, char out[REQUEST_ID_TEXT]);

/* request.c: what the answer with this ETag weighs. */
void request_remember_length(const struct request *request, const char *etag, size_t length);

#endif
