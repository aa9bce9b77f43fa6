/* Serve: the long-running verbs, from start to an orderly stop. */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

#include "server/config.h"
#include "server/ingest/ingest.h"

/* The API, with `ingest` not NULL also the worker. Returns an exit status after SIGTERM or SIGINT.
 */
int serve(const struct config *config, const struct ingest_options *ingest);

/* The worker alone, with its ops port. */
int serve_ingest(const struct config *config, const struct ingest_options *options);

/* Warns in the log of variables that are set and that nothing reads. */
void serve_report_unread(void);

#endif
