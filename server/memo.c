/* Memo: see memo.h. A table of chains for finding, one list by last use for giving way. */
#include "server/memo.h"

#include "core/hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CHAINS 1024 /* a power of two */
/* One value may not push out all others. */
#define LARGEST_SHARE 4

struct memo_item {
	struct memo_item *next; /* of its chain, or of those to be freed */
	struct memo_item *newer, *older;
	struct memo_key key; /* its bytes follow the item */
	void *value;
	size_t bytes;
	size_t uses;
	bool is_listed; /* found by its key; else it lives only as long as it is in use */
};

struct memo {
	pthread_mutex_t lock;
	memo_free_function *free_value;
	struct memo_counts *counts;
	size_t bytes_most, bytes;
	struct memo_item *newest, *oldest;
	struct memo_item *chains[CHAINS];
};

struct memo *memo_new(size_t bytes_most, memo_free_function *free_value, struct memo_counts *counts)
{
	struct memo *memo = calloc(1, sizeof(*memo));

	if (memo && pthread_mutex_init(&memo->lock, NULL) != 0) {
		free(memo);
		return NULL;
	}
	if (memo) {
		memo->bytes_most = bytes_most;
		memo->free_value = free_value;
		memo->counts = counts;
	}
	return memo;
}

/* FNV-1a over words: keys are kilobytes, and a chain compares them in full. */
struct memo_key memo_key(const void *bytes, size_t length)
{
	uint64_t hash = HASH_START ^ length, word;
	const unsigned char *at = bytes;
	size_t left = length;

	for (; left >= sizeof(word); left -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * HASH_PRIME;
		hash ^= hash >> 29;
	}
	for (; left > 0; left--, at++)
		hash = hash_byte(hash, *at);
	return (struct memo_key){bytes, length, hash ^ hash >> 32};
}

static struct memo_item **chain_of(struct memo *memo, uint64_t hash)
{
	return &memo->chains[hash & (CHAINS - 1)];
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void count_held(struct memo_counts *counts, int64_t items, int64_t bytes)
{
	atomic_fetch_add_explicit(&counts->items, items, memory_order_relaxed);
	atomic_fetch_add_explicit(&counts->bytes, bytes, memory_order_relaxed);
}

static void unlink_by_use(struct memo *memo, struct memo_item *item)
{
	*(item->newer ? &item->newer->older : &memo->newest) = item->older;
	*(item->older ? &item->older->newer : &memo->oldest) = item->newer;
}

static void link_newest(struct memo *memo, struct memo_item *item)
{
	item->newer = NULL;
	item->older = memo->newest;
	*(memo->newest ? &memo->newest->newer : &memo->oldest) = item;
	memo->newest = item;
}

/* Takes the item out of its places; to `dead` when nobody uses it. */
static void unlist(struct memo *memo, struct memo_item *item, struct memo_item **dead)
{
	struct memo_item **link = chain_of(memo, item->key.hash);

	while (*link != item)
		link = &(*link)->next;
	*link = item->next;
	unlink_by_use(memo, item);
	memo->bytes -= item->bytes;
	count_held(memo->counts, -1, -(int64_t)item->bytes);
	item->is_listed = false;
	if (item->uses)
		return;
	item->next = *dead;
	*dead = item;
}

static void free_all(struct memo *memo, struct memo_item *dead)
{
	while (dead) {
		struct memo_item *next = dead->next;

		memo->free_value(dead->value);
		free(dead);
		dead = next;
	}
}

void memo_free(struct memo *memo)
{
	struct memo_item *dead = NULL;

	if (!memo)
		return;
	while (memo->newest)
		unlist(memo, memo->newest, &dead);
	free_all(memo, dead);
	pthread_mutex_destroy(&memo->lock);
	free(memo);
}

static struct memo_item *look_up(struct memo *memo, const struct memo_key *key)
{
	struct memo_item *item = *chain_of(memo, key->hash);

	while (item && (item->key.hash != key->hash || item->key.length != key->length ||
			memcmp(item->key.bytes, key->bytes, key->length) != 0))
		item = item->next;
	return item;
}

struct memo_item *memo_find(struct memo *memo, const struct memo_key *key)
{
	struct memo_item *item;

	pthread_mutex_lock(&memo->lock);
	item = look_up(memo, key);
	if (item) {
		item->uses++;
		unlink_by_use(memo, item);
		link_newest(memo, item);
	}
	pthread_mutex_unlock(&memo->lock);
	count(item ? &memo->counts->hits : &memo->counts->misses);
	return item;
}

void memo_release(struct memo *memo, struct memo_item *item)
{
	bool is_dead;

	pthread_mutex_lock(&memo->lock);
	is_dead = --item->uses == 0 && !item->is_listed;
	pthread_mutex_unlock(&memo->lock);
	if (!is_dead)
		return;
	item->next = NULL;
	free_all(memo, item);
}

struct memo_item *memo_add(struct memo *memo, const struct memo_key *key, void *value, size_t bytes)
{
	struct memo_item *item = malloc(sizeof(*item) + key->length), *dead = NULL, *same;

	bytes += sizeof(*item) + key->length;
	if (!item || bytes > memo->bytes_most / LARGEST_SHARE) {
		free(item);
		memo->free_value(value);
		return NULL;
	}
	memcpy(item + 1, key->bytes, key->length);
	*item = (struct memo_item){.key = {item + 1, key->length, key->hash},
				   .value = value,
				   .bytes = bytes,
				   .uses = 1,
				   .is_listed = true};
	pthread_mutex_lock(&memo->lock);
	same = look_up(memo, key);
	if (same)
		unlist(memo, same, &dead);
	while (memo->bytes + bytes > memo->bytes_most && memo->oldest) {
		unlist(memo, memo->oldest, &dead);
		count(&memo->counts->evictions);
	}
	item->next = *chain_of(memo, key->hash);
	*chain_of(memo, key->hash) = item;
	link_newest(memo, item);
	memo->bytes += bytes;
	count_held(memo->counts, 1, (int64_t)bytes);
	pthread_mutex_unlock(&memo->lock);
	free_all(memo, dead);
	return item;
}

void *memo_value(const struct memo_item *item)
{
	return item->value;
}
