/*
 * Pool: equal strings kept once. Rows of a feed repeat their provider, region and currency
 * thousands of times; kept once, a million offers stay small and equal strings have equal pointers.
 */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include "core/arena.h"

#include <stdint.h>

struct pool {
	struct arena *strings; /* owns the copies */
	struct arena *scratch; /* owns the table, which may die before the strings */
	const char **slots;
	size_t capacity, count; /* capacity is a power of two */
};

/* False when memory is out. */
bool pool_init(struct pool *pool, struct arena *strings, struct arena *scratch);

/* The pool's copy of `text`; NULL when memory is out. */
const char *pool_intern(struct pool *pool, const char *text);

#endif
