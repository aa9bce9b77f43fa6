/*
 * Refresh: the thread that keeps a replica's snapshot near the database.
 *
 * Polls the one-row clock, reads the changes since its version (or everything, on a new epoch or
 * when the log no longer reaches back), builds the next catalogue aside and publishes it. With
 * PostgreSQL away it keeps trying with back-off while the replica goes on answering.
 */
#ifndef SERVER_REFRESH_H
#define SERVER_REFRESH_H

#include "server/config.h"
#include "server/metrics.h"
#include "server/snapshot.h"

struct refresh;

/* Loads the snapshot file first, when there is one. NULL only when no thread can be made. */
struct refresh *refresh_start(const struct config *config, struct snapshot_slot *slot,
			      struct metrics *metrics, struct error *error);
void refresh_stop(struct refresh *refresh);

#endif
