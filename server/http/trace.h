/*
 * Trace: W3C Trace Context. What a caller's traceparent says, and the span of our own that logs and
 * answers name. Pure.
 */
#ifndef SERVER_HTTP_TRACE_H
#define SERVER_HTTP_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_ID_TEXT 33
#define TRACE_SPAN_TEXT 17
#define TRACE_PARENT_TEXT 56

struct trace {
	char id[TRACE_ID_TEXT];	      /* 32 hex digits, or "": the caller traces nothing */
	char parent[TRACE_SPAN_TEXT]; /* the caller's span */
	char span[TRACE_SPAN_TEXT];   /* ours */
	bool is_sampled;
};

/* False, and nothing is traced, for what is no traceparent. `span` names ours; 0 is taken for 1. */
bool trace_read(const char *traceparent, uint64_t span, struct trace *out);

/* The traceparent of our span. */
void trace_format(const struct trace *trace, char out[TRACE_PARENT_TEXT]);

#endif
