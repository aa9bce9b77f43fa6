/* Migrations as the binary carries them; the table is made by embed.sh. Private to server/store. */
#ifndef SERVER_STORE_MIGRATIONS_H
#define SERVER_STORE_MIGRATIONS_H

#include "core/error.h"
#include "server/store/store.h"

#include <stddef.h>

struct migration {
	int number;
	const char *name; /* "0002_offers" */
	const char *sql;
};

extern const struct migration migrations[];
extern const size_t migrations_count;

/* store_migrate() with another table: what the tests edit. */
bool migrate_with(struct store *store, const struct migration *table, size_t count,
		  struct migration_report *out, struct error *error);

#endif
