/*
 * Terminal: `gpupick size`, `recommend` and `compare`, the API's answers without a server.
 *
 * The same decoding, core and encoding as over HTTP; a table for people, the API's JSON with
 * --json.
 */
#ifndef SERVER_API_TERMINAL_H
#define SERVER_API_TERMINAL_H

#include "server/config.h"

/* Exit statuses: answered; the request or the service failed (said on standard error); wrong usage.
 */
#define TERMINAL_OK 0
#define TERMINAL_FAILED 1
#define TERMINAL_USAGE 2

/* The verb's own operands, without the verb: FILE or -, [--json], and what the verb alone takes.
 * Return an exit status. */
int terminal_size(const struct config *config, int argc, char **argv);
int terminal_recommend(const struct config *config, int argc, char **argv);
int terminal_compare(const struct config *config, int argc, char **argv);

#endif
