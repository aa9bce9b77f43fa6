/*
 * Files: the price lists that a company keeps itself (its own pool, negotiated prices, a catalogue
 * taken from elsewhere), named by GPUPICK_PRICE_FILES: [PROVIDER=]PATH, separated by commas. Each
 * is a source of its own, "file:" and the file's name; a provider may have live feeds beside it.
 * They are looked at every few seconds and read when they changed. A file that cannot be read whole
 * leaves its last good rows where they are; one that is no longer named takes its rows with it.
 * They are not guarded like a feed: who wrote the file meant it.
 */
#ifndef SERVER_INGEST_FILES_H
#define SERVER_INGEST_FILES_H

#include "core/error.h"
#include "server/store/store.h"

#include <stdio.h>

#define FILES_LOOK_SECONDS 3.0

struct files; /* what was last read of each */

/* Is the setting well formed? Whether the files are there is found out as they are read. */
bool files_check(const char *setting, struct error *error);

/* NULL when memory is out. */
struct files *files_new(const char *setting);
void files_free(struct files *files);

/* Stores every file that changed since the last call. `report` (may be NULL) gets a line a provider
 * of each. False when a file or the database failed; the others are done all the same. */
bool files_apply(struct files *files, struct store *store, FILE *report, struct error *error);

#endif
