/*
 * Snapshot: the slot that holds the current catalogue, and its count.
 *
 * A mutex around "load the pointer, add a reference": between an atomic load and an increment
 * inside the object, the object could be freed. Publishing never waits for readers; the last
 * release frees.
 */
#ifndef SERVER_SNAPSHOT_H
#define SERVER_SNAPSHOT_H

#include "core/catalogue.h"
#include "core/error.h"

#include "server/kept.h"

struct snapshot_slot;

struct snapshot_slot *snapshot_slot_new(void);
void snapshot_slot_free(struct snapshot_slot *slot); /* no reader may be left */

/* NULL while nothing was published. Each acquired catalogue must be released once. */
const struct catalogue *snapshot_acquire(struct snapshot_slot *slot);
void snapshot_release(struct snapshot_slot *slot, const struct catalogue *catalogue);

/* What is remembered as long as an acquired catalogue lives, of it or of its public view; NULL when
 * there was no memory for it. */
struct kept *snapshot_kept(struct snapshot_slot *slot, const struct catalogue *catalogue);

/* Of all that is and was kept. */
const struct kept_counts *snapshot_kept_counts(const struct snapshot_slot *slot);

/* Takes the catalogue over. False, and the catalogue stays the caller's, when its version is older
 * than the one in place (same epoch) or memory is out. */
bool snapshot_publish(struct snapshot_slot *slot, struct catalogue *catalogue);

/* How many were published: whoever remembers it can tell whether there is a newer one. */
uint64_t snapshot_number(const struct snapshot_slot *slot);

/* Calls `told` after each publication, on the thread that published; one listener at most, NULL to
 * stop it. It is not called any more when this returns. */
void snapshot_listen(struct snapshot_slot *slot, void (*told)(void *listener), void *listener);

/* On disk, for a start without the database: written beside and renamed, with a checksum and a
 * format number; anything else is refused, never half-read. */
bool snapshot_save(const struct catalogue *catalogue, const char *path, struct error *error);
struct catalogue *snapshot_load(const char *path, struct error *error);

#endif
