/*
 * Memo: a bounded store of results by key, to be had again instead of computed again.
 *
 * A value is immutable once it is in. It stays as long as somebody uses it, whatever happens to its
 * place: when the store is full, what was used longest ago gives way. Safe from any thread; the
 * lock is never held while a value is made or freed.
 */
#ifndef SERVER_MEMO_H
#define SERVER_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memo;
struct memo_item;

/* What came of it; whoever owns it outlives the memo. */
struct memo_counts {
	_Atomic uint64_t hits, misses, evictions;
	_Atomic int64_t items, bytes; /* held now */
};

typedef void memo_free_function(void *value);

/* NULL when memory is out. */
struct memo *memo_new(size_t bytes_most, memo_free_function *free_value,
		      struct memo_counts *counts);
void memo_free(struct memo *memo); /* no item may be in use */

struct memo_key {
	const void *bytes;
	size_t length;
	uint64_t hash;
};

struct memo_key memo_key(const void *bytes, size_t length);

/* In use until memo_release(); NULL when there is none. */
struct memo_item *memo_find(struct memo *memo, const struct memo_key *key);
void memo_release(struct memo *memo, struct memo_item *item);

/* Takes the value over, in the place of one with that key. `bytes` is what it occupies. The item is
 * in use; NULL, and the value is freed, when memory is out or it is larger than a quarter of the
 * memo. */
struct memo_item *memo_add(struct memo *memo, const struct memo_key *key, void *value,
			   size_t bytes);

void *memo_value(const struct memo_item *item);

#endif
