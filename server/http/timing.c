/* Timing: see timing.h. */
#include "server/http/timing.h"

#include <stdio.h>
#include <string.h>

static void add(char out[TIMING_TEXT], const char *name, int64_t us)
{
	size_t used = strlen(out);

	if (us > 0)
		snprintf(out + used, TIMING_TEXT - used, "%s%s;dur=%lld.%03lld", used ? ", " : "",
			 name, (long long)us / 1000, (long long)us % 1000);
}

void timing_format(const struct timing *timing, int64_t total_us, char out[TIMING_TEXT])
{
	*out = '\0';
	add(out, "db", timing->waited_us);
	add(out, "app", timing->handled_us);
	add(out, "gzip", timing->coded_us);
	add(out, "total", total_us > 0 ? total_us : 1);
}
