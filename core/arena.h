/*
 * Arena: memory with one owner and one moment of death.
 *
 * An arena grows in chunks up to a limit that its owner sets, so that no request can take more than
 * its share. Everything in it dies with arena_release(). Memory comes zeroed and aligned for any
 * type. Not thread-safe: an arena belongs to one request, one refresh or one snapshot.
 */
#ifndef CORE_ARENA_H
#define CORE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;
	size_t used;  /* bytes handed out */
	size_t limit; /* most that may ever be handed out */
};

/* Hides the attribute from clang-format, which lays it out badly in front of a declaration. */
#define PRINTF_LIKE(format_index, first) __attribute__((format(printf, format_index, first)))

void arena_init(struct arena *arena, size_t limit_bytes);

/* Frees everything. Accepts an arena that is zeroed or already released. */
void arena_release(struct arena *arena);

/* Zeroed memory, or NULL past the limit or when the system has none. `size` 0 is a valid pointer.
 */
void *arena_alloc(struct arena *arena, size_t size);

/* Zeroed array; NULL also when count * size overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* The same, but not zeroed: for what is written before it is read. */
void *arena_array_raw(struct arena *arena, size_t count, size_t size);

/* A copy of any bytes. NULL as for arena_alloc. */
void *arena_copy(struct arena *arena, const void *bytes, size_t size);

/* Copies; the result is always terminated. NULL as for arena_alloc. */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list arguments) PRINTF_LIKE(2, 0);

#endif
