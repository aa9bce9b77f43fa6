/*
 * Diff: what a refresh changes in the rows of its provider. Pure: no database. Private to
 * server/store.
 */
#ifndef SERVER_STORE_DIFF_H
#define SERVER_STORE_DIFF_H

#include "server/store/offers.h"

enum diff_event { DIFF_LISTED, DIFF_CHANGED, DIFF_WITHDRAWN, DIFF_EVENTS };

extern const struct names diff_event_names;

struct diff {
	const struct offer **offers; /* rows to write, as they shall be */
	bool *follows_feed;
	enum diff_event *events;
	size_t count;
	int64_t listed, changed, unchanged, withdrawn;
};

/* `stored`: every row of the provider, withdrawn ones too. False when the refresh cannot be stored
 * as it is (a bad row, two with one id), naming the first fault; nothing of it may then be written.
 */
bool diff_compute(const struct offer_rows *stored, const struct store_refresh *refresh,
		  struct arena *arena, struct diff *out, struct error *error);

#endif
