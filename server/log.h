/*
 * Log: one JSON object a line on standard error, written by one call so that lines never mix. Never
 * a secret. Fields come in pairs: log_event(LOG_INFO, "listening", "address", text, NULL).
 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include "core/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

/* Call once before threads start. False for a name that is no level. */
bool log_configure(const char *level);

bool log_enabled(enum log_level level);

/* Pairs of (const char *name, const char *value), ended by NULL; values are JSON strings. */
void log_event(enum log_level level, const char *message, ...) __attribute__((sentinel));

/* One access line. Durations in microseconds. Gathered per thread until log_flush(). */
struct log_access {
	const char *request_id, *method, *route, *client;
	const char *trace_id, *span_id, *parent_id; /* or "" */
	const char *caller;			    /* "key:ID", "identity:NAME", or "" */
	const char *scheme, *host; /* as the client asked, told by a proxy; or "" */
	unsigned status;
	int64_t duration_us;
	uint64_t bytes;
};
void log_access(const struct log_access *access);

/* Writes this thread's gathered access lines; call before the thread waits or ends. */
void log_flush(void);

#endif
