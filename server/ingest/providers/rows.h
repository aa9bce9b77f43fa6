/*
 * Rows: a table in a file, CSV or JSON (a list of objects, or an object with the list "offers"), as
 * texts by name. In JSON each row may have other names; numbers become text of 15 digits.
 */
#ifndef SERVER_INGEST_PROVIDERS_ROWS_H
#define SERVER_INGEST_PROVIDERS_ROWS_H

#include "core/arena.h"
#include "core/error.h"

#include <stddef.h>

#define ROWS_COLUMNS_MAX 128

/* One row; `values` has the place of `names`. Valid during the call. False ends the reading. */
typedef bool rows_take(void *closure, const char *const *names, const char *const *values,
		       size_t count, struct error *error);

/* False when the text is no table, or as rows_take() said. A CSV of no rows is taken once, with
 * names and `values` NULL, so that its columns can be judged. */
bool rows_read(const char *text, size_t length, struct arena *arena, rows_take *take, void *closure,
	       struct error *error);

#endif
