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

/* Rounds the size up to what is handed out; false when the arena may not hand out so much. */
static bool grant(const struct arena *arena, size_t *size)
{
	const size_t alignment = alignof(max_align_t);

	if (*size > arena->limit || *size > SIZE_MAX - alignment)
		return false;
	*size = (*size + alignment - 1) & ~(alignment - 1);
	return *size <= arena->limit - arena->used;
}

/* In a chunk of its own, behind the one that small allocations go on in. */
static void *take_large(struct arena *arena, size_t size, bool is_zeroed)
{
	size_t bytes = sizeof(struct arena_chunk) + size;
	struct arena_chunk *chunk = is_zeroed ? calloc(1, bytes) : malloc(bytes);
	struct arena_chunk **link = &arena->chunks;

	if (!chunk)
		return NULL;
	if (*link)
		link = &(*link)->next;
	chunk->next = *link;
	chunk->used = chunk->size = size;
	*link = chunk;
	arena->used += size;
	return chunk->bytes;
}

/* Not zeroed. */
static void *take_small(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk = arena->chunks;
	void *memory;

	if (!chunk || chunk->size - chunk->used < size) {
		chunk = malloc(sizeof(*chunk) + CHUNK_BYTES);
		if (!chunk)
			return NULL;
		chunk->next = arena->chunks;
		chunk->used = 0;
		chunk->size = CHUNK_BYTES;
		arena->chunks = chunk;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += size;
	arena->used += size;
	return memory;
}

static void *take(struct arena *arena, size_t size, bool is_zeroed)
{
	void *memory;

	if (!grant(arena, &size))
		return NULL;
	if (size > CHUNK_BYTES)
		return take_large(arena, size, is_zeroed);
	memory = take_small(arena, size);
	return memory && is_zeroed ? memset(memory, 0, size) : memory;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	return take(arena, size, true);
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	size_t total;

	return __builtin_mul_overflow(count, size, &total) ? NULL : take(arena, total, true);
}

void *arena_array_raw(struct arena *arena, size_t count, size_t size)
{
	size_t total;

	return __builtin_mul_overflow(count, size, &total) ? NULL : take(arena, total, false);
}

void *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
	void *copy = take(arena, size, false);

	return copy && size ? memcpy(copy, bytes, size) : copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy = length < SIZE_MAX ? take(arena, length + 1, false) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

/* Written into what is left of the chunk, and only where that is too little once more. */
char *arena_vprintf(struct arena *arena, const char *format, va_list arguments)
{
	struct arena_chunk *chunk = arena->chunks;
	size_t room = chunk ? chunk->size - chunk->used : 0;
	va_list again;
	char *text;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(room ? (char *)chunk->bytes + chunk->used : NULL, room, format, again);
	va_end(again);
	if (length < 0)
		return NULL;
	text = take(arena, (size_t)length + 1, false);
	if (text && (size_t)length >= room)
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
