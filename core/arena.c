/* Arena memory: see arena.h. */
#include "core/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)16 * 1024)

struct arena_chunk {
	struct arena_chunk *next;
	size_t used;
	size_t size;
	alignas(max_align_t) unsigned char bytes[];
};

void arena_init(struct arena *arena, size_t limit_bytes)
{
	*arena = (struct arena){.limit = limit_bytes};
}

void arena_release(struct arena *arena)
{
	struct arena_chunk *chunk = arena->chunks;

	while (chunk) {
		struct arena_chunk *next = chunk->next;
		free(chunk);
		chunk = next;
	}
	arena->chunks = NULL;
	arena->used = 0;
}

static struct arena_chunk *chunk_new(size_t payload)
{
	size_t size = payload > CHUNK_BYTES ? payload : CHUNK_BYTES;
	struct arena_chunk *chunk = calloc(1, sizeof(*chunk) + size);

	if (chunk)
		chunk->size = size;
	return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	const size_t alignment = alignof(max_align_t);
	struct arena_chunk *chunk = arena->chunks;
	void *memory;

	if (size > arena->limit || size > SIZE_MAX - alignment)
		return NULL;
	size = (size + alignment - 1) & ~(alignment - 1);
	if (size > arena->limit - arena->used)
		return NULL;
	if (!chunk || chunk->size - chunk->used < size) {
		chunk = chunk_new(size);
		if (!chunk)
			return NULL;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += size;
	arena->used += size;
	return memory;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		return NULL;
	return arena_alloc(arena, total);
}

void *arena_array_raw(struct arena *arena, size_t count, size_t size)
{
	struct arena_chunk *chunk, **link = &arena->chunks;
	size_t total;

	if (__builtin_mul_overflow(count, size, &total) || total > arena->limit - arena->used)
		return NULL;
	if (total <= CHUNK_BYTES)
		return arena_alloc(arena, total);
	chunk = malloc(sizeof(*chunk) + total);
	if (!chunk)
		return NULL;
	/* Behind the one that small allocations go on in. */
	if (*link)
		link = &(*link)->next;
	*chunk = (struct arena_chunk){.next = *link, .used = total, .size = total};
	*link = chunk;
	arena->used += total;
	return chunk->bytes;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy = length < SIZE_MAX ? arena_alloc(arena, length + 1) : NULL;

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(struct arena *arena, const char *format, va_list arguments)
{
	va_list again;
	char *text;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		return NULL;
	text = arena_alloc(arena, (size_t)length + 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, format, arguments);
	return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = arena_vprintf(arena, format, arguments);
	va_end(arguments);
	return text;
}
