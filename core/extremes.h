/*
 * Extremes: fmax() and fmin() of numbers, inlined. The compiler may not inline those of libm, which
 * look for NaN; the estimates of layouts call them some ten times each.
 */
#ifndef CORE_EXTREMES_H
#define CORE_EXTREMES_H

static inline double larger(double a, double b)
{
	return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
	return a < b ? a : b;
}

#endif
