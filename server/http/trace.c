/* Trace: see trace.h. */
#include "server/http/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH (TRACE_PARENT_TEXT - 1)

/* version-traceid-parentid-flags; later versions may append more. */
static bool is_traceparent(const char *text)
{
	static const char *const hex = "0123456789abcdef";

	if (strspn(text, hex) != 2 || strncmp(text, "ff", 2) == 0 || text[2] != '-' ||
	    strspn(text + 3, hex) != 32 || text[35] != '-' || strspn(text + 36, hex) != 16 ||
	    text[52] != '-' || strspn(text + 53, hex) != 2 || strspn(text + 3, "0") == 32 ||
	    strspn(text + 36, "0") == 16)
		return false;
	return !text[LENGTH] || (text[LENGTH] == '-' && strncmp(text, "00", 2) != 0);
}

bool trace_read(const char *traceparent, uint64_t span, struct trace *out)
{
	*out = (struct trace){.is_sampled = false};
	if (!is_traceparent(traceparent))
		return false;
	memcpy(out->id, traceparent + 3, TRACE_ID_TEXT - 1);
	memcpy(out->parent, traceparent + 36, TRACE_SPAN_TEXT - 1);
	snprintf(out->span, sizeof(out->span), "%016" PRIx64, span ? span : 1);
	out->is_sampled = strtoul(traceparent + 53, NULL, 16) & 1;
	return true;
}

void trace_format(const struct trace *trace, char out[TRACE_PARENT_TEXT])
{
	snprintf(out, TRACE_PARENT_TEXT, "00-%s-%s-0%d", trace->id, trace->span, trace->is_sampled);
}
