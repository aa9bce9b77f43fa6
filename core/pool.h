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
	uint32_t *numbers;	/* of the text in each slot, in order of arrival from 0 */
	size_t capacity, count; /* capacity is a power of two */
};

/* False when memory is out. */
bool pool_init(struct pool *pool, struct arena *strings, struct arena *scratch);

/* The number of a text that is the pool's own copy. */
uint32_t pool_number(const struct pool *pool, const char *copy);

/* Every text by its number; `out` has room for pool->count. */
void pool_list(const struct pool *pool, const char **out);

/* The pool's copy of `text`; NULL when memory is out. */
const char *pool_intern(struct pool *pool, const char *text);

#endif
