/* The slot: see snapshot.h. Generations are few (the current one and those that a request still
 * reads), so a list is searched. */
#include "server/snapshot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct generation {
	struct generation *next;
	struct catalogue *catalogue;
	struct kept *kept;
	struct kept *public_kept; /* of its public view; NULL when that is the whole */
	size_t references;	  /* one is the slot's own while it is current */
};

struct snapshot_slot {
	pthread_mutex_t lock;
	struct generation *generations; /* newest first */
	struct generation *current;
	struct kept_counts counts;
	_Atomic uint64_t number;

	pthread_mutex_t listener_lock; /* guards the next two, also while `told` runs */
	void (*told)(void *listener);
	void *listener;
};

struct snapshot_slot *snapshot_slot_new(void)
{
	struct snapshot_slot *slot = calloc(1, sizeof(*slot));

	if (slot && pthread_mutex_init(&slot->lock, NULL) != 0) {
		free(slot);
		return NULL;
	}
	if (slot)
		pthread_mutex_init(&slot->listener_lock, NULL);
	return slot;
}

/* Drops one reference; the generation when it was the last, to be freed outside of the lock. */
static struct generation *drop(struct snapshot_slot *slot, struct generation *generation)
{
	struct generation **link = &slot->generations;

	if (--generation->references > 0)
		return NULL;
	while (*link != generation)
		link = &(*link)->next;
	*link = generation->next;
	return generation;
}

static void generation_free(struct generation *generation)
{
	if (!generation)
		return;
	kept_free(generation->kept);
	kept_free(generation->public_kept);
	catalogue_free(generation->catalogue);
	free(generation);
}

void snapshot_slot_free(struct snapshot_slot *slot)
{
	if (!slot)
		return;
	if (slot->current)
		generation_free(drop(slot, slot->current));
	pthread_mutex_destroy(&slot->lock);
	pthread_mutex_destroy(&slot->listener_lock);
	free(slot);
}

const struct catalogue *snapshot_acquire(struct snapshot_slot *slot)
{
	const struct catalogue *catalogue = NULL;

	pthread_mutex_lock(&slot->lock);
	if (slot->current) {
		slot->current->references++;
		catalogue = slot->current->catalogue;
	}
	pthread_mutex_unlock(&slot->lock);
	return catalogue;
}

/* With the lock held. */
static struct generation *generation_of(const struct snapshot_slot *slot,
					const struct catalogue *catalogue)
{
	struct generation *generation = slot->generations;

	while (generation && generation->catalogue != catalogue &&
	       generation->catalogue->public_view != catalogue)
		generation = generation->next;
	return generation;
}

struct kept *snapshot_kept(struct snapshot_slot *slot, const struct catalogue *catalogue)
{
	const struct generation *generation;

	pthread_mutex_lock(&slot->lock);
	generation = generation_of(slot, catalogue);
	pthread_mutex_unlock(&slot->lock);
	if (!generation)
		return NULL;
	return generation->catalogue == catalogue ? generation->kept : generation->public_kept;
}

const struct kept_counts *snapshot_kept_counts(const struct snapshot_slot *slot)
{
	return &slot->counts;
}

void snapshot_release(struct snapshot_slot *slot, const struct catalogue *catalogue)
{
	struct generation *generation, *dead = NULL;

	if (!catalogue)
		return;
	pthread_mutex_lock(&slot->lock);
	generation = generation_of(slot, catalogue);
	if (generation)
		dead = drop(slot, generation);
	pthread_mutex_unlock(&slot->lock);
	generation_free(dead);
}

bool snapshot_publish(struct snapshot_slot *slot, struct catalogue *catalogue)
{
	struct generation *next = malloc(sizeof(*next)), *dead = NULL;
	struct kept *kept = next ? kept_new(&slot->counts, catalogue->offers_count) : NULL,
		    *public_kept = NULL;
	const struct catalogue *now;

	if (!next)
		return false;
	if (catalogue->public_view != catalogue)
		public_kept = kept_new(&slot->counts, catalogue->offers_count);
	pthread_mutex_lock(&slot->lock);
	now = slot->current ? slot->current->catalogue : NULL;
	if (now && strcmp(now->epoch, catalogue->epoch) == 0 && now->version > catalogue->version) {
		pthread_mutex_unlock(&slot->lock);
		kept_free(kept);
		kept_free(public_kept);
		free(next);
		return false;
	}
	if (slot->current)
		dead = drop(slot, slot->current);
	*next = (struct generation){.next = slot->generations,
				    .catalogue = catalogue,
				    .kept = kept,
				    .public_kept = public_kept,
				    .references = 1};
	slot->generations = slot->current = next;
	pthread_mutex_unlock(&slot->lock);
	atomic_fetch_add(&slot->number, 1);
	pthread_mutex_lock(&slot->listener_lock);
	if (slot->told)
		slot->told(slot->listener);
	pthread_mutex_unlock(&slot->listener_lock);
	generation_free(dead);
	return true;
}

uint64_t snapshot_number(const struct snapshot_slot *slot)
{
	return atomic_load(&slot->number);
}

void snapshot_listen(struct snapshot_slot *slot, void (*told)(void *listener), void *listener)
{
	pthread_mutex_lock(&slot->listener_lock);
	slot->told = told;
	slot->listener = listener;
	pthread_mutex_unlock(&slot->listener_lock);
}
