/* Holds: see holds.h. A table of callers by hash, with chains; a caller that waits for nothing is
 * in no chain. */
#include "server/http/holds.h"

#include "core/hash.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024

struct caller_holds {
	struct caller_holds *next;
	unsigned count;
	char name[];
};

struct holds {
	pthread_mutex_t lock;
	unsigned most, most_a_caller, count;
	struct caller_holds *buckets[BUCKETS];
};

struct holds *holds_new(unsigned most, unsigned most_a_caller)
{
	struct holds *holds = calloc(1, sizeof(*holds));

	if (!holds)
		return NULL;
	pthread_mutex_init(&holds->lock, NULL);
	holds->most = most;
	holds->most_a_caller = most_a_caller;
	return holds;
}

void holds_free(struct holds *holds)
{
	if (!holds)
		return;
	for (int i = 0; i < BUCKETS; i++) {
		struct caller_holds *at = holds->buckets[i], *next;

		for (; at; at = next) {
			next = at->next;
			free(at);
		}
	}
	pthread_mutex_destroy(&holds->lock);
	free(holds);
}

/* The place of the pointer to a caller, or to NULL at the end of its chain. */
static struct caller_holds **find(struct holds *holds, const char *name)
{
	struct caller_holds **link = &holds->buckets[hash_text(HASH_START, name) % BUCKETS];

	while (*link && strcmp((*link)->name, name) != 0)
		link = &(*link)->next;
	return link;
}

static bool enter(struct holds *holds, const char *name, struct error *error)
{
	struct caller_holds **link = find(holds, name);

	if (holds->most && holds->count >= holds->most)
		return error_set(error, ERROR_UNAVAILABLE,
				 "as many requests wait for news as this replica lets: ask again "
				 "without 'wait', or another replica");
	if (holds->most_a_caller && *link && (*link)->count >= holds->most_a_caller)
		return error_set(error, ERROR_WAITING,
				 "as many requests of this caller wait for news as one may have, "
				 "%u: ask without 'wait', or when one of them is answered",
				 holds->most_a_caller);
	if (!*link) {
		size_t length = strlen(name);

		*link = calloc(1, sizeof(**link) + length + 1);
		if (!*link)
			return error_set(error, ERROR_INTERNAL, "out of memory");
		memcpy((*link)->name, name, length);
	}
	(*link)->count++;
	holds->count++;
	return true;
}

bool holds_enter(struct holds *holds, const char *caller, struct error *error)
{
	bool is_in;

	pthread_mutex_lock(&holds->lock);
	is_in = enter(holds, caller, error);
	pthread_mutex_unlock(&holds->lock);
	return is_in;
}

void holds_leave(struct holds *holds, const char *caller)
{
	struct caller_holds **link, *empty = NULL;

	pthread_mutex_lock(&holds->lock);
	link = find(holds, caller);
	if (*link && --(*link)->count == 0) {
		empty = *link;
		*link = empty->next;
	}
	holds->count--;
	pthread_mutex_unlock(&holds->lock);
	free(empty);
}
