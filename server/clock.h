/* The two clocks of the program, in microseconds: wall time since 1970 UTC, and time that only
 * grows. */
#ifndef SERVER_CLOCK_H
#define SERVER_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define US_PER_SECOND INT64_C(1000000)

int64_t clock_wall_us(void);
int64_t clock_monotonic_us(void);

/* RFC 3339 UTC: "2026-11-30T04:24:42Z", with ".123456" when there is a fraction. */
#define CLOCK_TEXT 32
void clock_format(int64_t wall_us, char out[CLOCK_TEXT]);

/* Parses what clock_format prints, an offset instead of Z, and a plain date. -1 when it is neither.
 */
int64_t clock_parse(const char *text);

#endif
