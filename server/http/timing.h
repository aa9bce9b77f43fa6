/* Timing: where the time of one request went, as Server-Timing tells it to who asks. Pure. */
#ifndef SERVER_HTTP_TIMING_H
#define SERVER_HTTP_TIMING_H

#include <stdint.h>

struct timing {
	int64_t waited_us;  /* for the database */
	int64_t handled_us; /* by the route's handler */
	int64_t coded_us;   /* by compression */
};

#define TIMING_TEXT 160

/* "db;dur=1.204, app;dur=0.31, gzip;dur=0.04, total;dur=1.6": milliseconds; parts of no time are
 * left out. */
void timing_format(const struct timing *timing, int64_t total_us, char out[TIMING_TEXT]);

#endif
