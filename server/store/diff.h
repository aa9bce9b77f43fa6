/*
 * Diff: what a refresh changes in the rows of its provider. Pure: no database. Private to
 * server/store.
 */
#ifndef SERVER_STORE_DIFF_H
#define SERVER_STORE_DIFF_H

#include "server/store/offers.h"

struct diff {
	struct offer_put *puts; /* rows to write, by id */
	size_t puts_count;
	uint64_t *gone; /* ids of rows to withdraw */
	size_t gone_count;
	int64_t listed, changed, unchanged;
};

/* `marks`: of every row of the provider, sorted by id. False when the refresh cannot be stored as
 * it is (a bad row, two with one id), naming the first fault; nothing of it may then be written. */
bool diff_compute(const struct offer_mark *marks, size_t marks_count,
		  const struct store_refresh *refresh, struct arena *arena, struct diff *out,
		  struct error *error);

#endif
