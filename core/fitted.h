/*
 * Fitted constants: figures of the predictor that come from measurements of its kind, not from a
 * datasheet, a count of bytes or a default of some software.
 *
 * In the product each is a plain constant. `tests/accuracy/fit` links a build of the same sources
 * with FITTING defined, in which each is a variable that it moves: to propose better values, and to
 * fit on some sources of measurements and judge on the others.
 *
 *	FITTED(HALF_PROMPT, 96, 32, 512);                   a scalar: name, value, lowest, highest
 *	FITTED_TABLE struct engine engines[] = {...};       a table: in place of `static const`
 *	FITTED_COLUMN(engines, prefill, 0.3, 0.95);         one field of all of its entries
 *	FITTED_CELL(engines[ENGINE_VLLM].decode, 0.3, 0.9); one entry, or a field of one
 *
 * A range is what physics and what is known elsewhere leave open, and never what the rows say:
 * cross-validation knows nothing else of the constant and starts in its (geometric) middle. A value
 * of 0 is none, and stays. A cell that also lies in a declared column keeps its own range.
 */
#ifndef CORE_FITTED_H
#define CORE_FITTED_H

#ifdef FITTING

#include <stddef.h>

struct fitted {
	const char *name, *file;
	double *first;
	size_t count, stride_bytes;
	double low, high;
};

#define FITTED_PASTE(a, b) a##b
#define FITTED_NAME(line) FITTED_PASTE(fitted_, line)
/* Pointers, since the compiler may align larger objects with gaps between them. */
#define FITTED_ENTRY(text, where, entries, stride, lowest, highest)                                \
	static const struct fitted *const FITTED_NAME(__LINE__)                                    \
		__attribute__((section("fitted"), used)) = &(const struct fitted)                  \
	{                                                                                          \
		(text), __FILE__, (where), (entries), (stride), (lowest), (highest)                \
	}
#define FITTED(name, value, lowest, highest)                                                       \
	static double name = (value);                                                              \
	FITTED_ENTRY(#name, &name, 1, 0, lowest, highest)
#define FITTED_TABLE static
#define FITTED_COLUMN(table, field, lowest, highest)                                               \
	FITTED_ENTRY(#table "." #field, &(table)[0].field, sizeof(table) / sizeof((table)[0]),     \
		     sizeof((table)[0]), lowest, highest)
#define FITTED_CELL(cell, lowest, highest) FITTED_ENTRY(#cell, &(cell), 1, 0, lowest, highest)

#else

#define FITTED(name, value, lowest, highest) static const double name = (value)
#define FITTED_TABLE static const
#define FITTED_COLUMN(table, field, lowest, highest) FITTED_CELL((table)[0].field, lowest, highest)
#define FITTED_CELL(cell, lowest, highest)                                                         \
	_Static_assert(sizeof(cell) == sizeof(double), "a fitted constant is a double")

#endif

#endif
