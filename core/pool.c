/* String pool: an open-addressing set, see pool.h. */
#include "core/pool.h"

#include "core/hash.h"

#include <string.h>

#define FIRST_CAPACITY 1024

bool pool_init(struct pool *pool, struct arena *strings, struct arena *scratch)
{
	*pool = (struct pool){.strings = strings, .scratch = scratch, .capacity = FIRST_CAPACITY};
	pool->slots = arena_array(scratch, pool->capacity, sizeof(*pool->slots));
	pool->numbers = arena_array(scratch, pool->capacity, sizeof(*pool->numbers));
	return pool->slots && pool->numbers;
}

/* The length comes for free. */
static uint64_t hash_and_length(const char *text, size_t *length)
{
	uint64_t hash = HASH_START;
	const char *at = text;

	for (; *at; at++)
		hash = hash_byte(hash, (unsigned char)*at);
	*length = (size_t)(at - text);
	return hash ^ hash >> 32;
}

static bool pool_grow(struct pool *pool)
{
	size_t capacity = pool->capacity * 2;
	const char **slots = arena_array(pool->scratch, capacity, sizeof(*slots));
	uint32_t *numbers = arena_array(pool->scratch, capacity, sizeof(*numbers));

	if (!slots || !numbers)
		return false;
	for (size_t i = 0; i < pool->capacity; i++) {
		size_t length, at;

		if (!pool->slots[i])
			continue;
		at = hash_and_length(pool->slots[i], &length) & (capacity - 1);
		while (slots[at])
			at = (at + 1) & (capacity - 1);
		slots[at] = pool->slots[i];
		numbers[at] = pool->numbers[i];
	}
	pool->slots = slots;
	pool->numbers = numbers;
	pool->capacity = capacity;
	return true;
}

const char *pool_intern(struct pool *pool, const char *text)
{
	size_t length, at;
	uint64_t hash;

	if (pool->count * 2 >= pool->capacity && !pool_grow(pool))
		return NULL;
	hash = hash_and_length(text, &length);
	for (at = hash & (pool->capacity - 1); pool->slots[at];
	     at = (at + 1) & (pool->capacity - 1))
		if (strcmp(pool->slots[at], text) == 0)
			return pool->slots[at];
	pool->slots[at] = arena_strndup(pool->strings, text, length);
	if (pool->slots[at])
		pool->numbers[at] = (uint32_t)pool->count++;
	return pool->slots[at];
}

uint32_t pool_number(const struct pool *pool, const char *copy)
{
	size_t length, at = hash_and_length(copy, &length) & (pool->capacity - 1);

	while (pool->slots[at] != copy)
		at = (at + 1) & (pool->capacity - 1);
	return pool->numbers[at];
}

void pool_list(const struct pool *pool, const char **out)
{
	for (size_t i = 0; i < pool->capacity; i++)
		if (pool->slots[i])
			out[pool->numbers[i]] = pool->slots[i];
}
