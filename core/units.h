/*
 * Units: what the numbers of this program mean, and arithmetic that notices overflow.
 *
 * Bytes are real bytes. "GB" (1e9) is what a card's box says; "GiB" (2^30) is what a driver counts:
 * the two never mix, and a name that carries `_gb` holds the advertised number only.
 * Memory and time inside the predictor are `double` (exact for integers up to 2^53).
 * Money is int64_t micro-dollars: 1 USD = 1,000,000. A price that is not known is PRICE_UNKNOWN,
 * never zero.
 */
#ifndef CORE_UNITS_H
#define CORE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define KIB 1024.0
#define MIB (1024.0 * KIB)
#define GIB (1024.0 * MIB)
#define GB 1e9

#define MICROS_PER_USD INT64_C(1000000)
#define PRICE_UNKNOWN INT64_C(-1)

#define SECONDS_PER_HOUR 3600.0
#define HOURS_PER_MONTH 730.0 /* the clouds' own convention: 8760 / 12 */

/* Each returns false, and leaves *out alone, when the result does not fit. */
static inline bool micros_add(int64_t a, int64_t b, int64_t *out)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*out = sum;
	return true;
}

static inline bool micros_multiply(int64_t a, int64_t b, int64_t *out)
{
	int64_t product;
	if (__builtin_mul_overflow(a, b, &product))
		return false;
	*out = product;
	return true;
}

/* Rounds half up to whole micro-dollars; PRICE_UNKNOWN for a value that is not a sane amount. */
static inline int64_t micros_from_usd(double usd)
{
	if (!(usd >= 0 && usd < 9e12))
		return PRICE_UNKNOWN;
	return (int64_t)(usd * 1e6 + 0.5);
}

static inline double usd_from_micros(int64_t micros)
{
	return (double)micros / 1e6;
}

#endif
