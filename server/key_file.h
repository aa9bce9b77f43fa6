/*
 * Key file: API keys by their hash, a line each (key.h), for a service without a database, and the
 * copy that a replica keeps of those in the database. Lines that are empty or begin with # are
 * passed over. Private to its owner (mode 0600): names and hashes are nobody else's business. What
 * root writes belongs to the owner of the file of before, a new one to that of its folder.
 */
#ifndef SERVER_KEY_FILE_H
#define SERVER_KEY_FILE_H

#include "server/key.h"

struct key_list {
	struct key *keys; /* malloc'ed */
	size_t count;
};

/* The whole file or nothing: an error names the bad line. A file that is not there is
 * ERROR_NOT_FOUND. Keys are sorted by id. */
bool key_file_read(const char *path, struct key_list *out, struct error *error);

/* Written beside and renamed. Revoked keys are left out. */
bool key_file_write(const char *path, const struct key_list *list, struct error *error);

void key_list_free(struct key_list *list);
void key_list_sort(struct key_list *list);
const struct key *key_list_find(const struct key_list *list, const char *id); /* sorted */

#endif
