/* Offers as rows, in both directions. Private to server/store. */
#ifndef SERVER_STORE_OFFERS_H
#define SERVER_STORE_OFFERS_H

#include "server/store/connection.h"

struct offer_rows {
	struct offer *offers;
	bool *follows_feed;
	size_t count;
};

/* Offers that `where` (SQL after "where", on offer o, with `parameters`) picks, within the current
 * transaction. Strings are kept once in `arena`. */
bool offers_read(struct store *store, const char *where, const struct parameters *parameters,
		 struct arena *arena, struct offer_rows *out, struct error *error);

/* Inserts or overwrites whole rows; first_seen stays as it is for those that exist. */
bool offers_write(struct store *store, const struct offer *const *offers, const bool *follows_feed,
		  size_t count, struct error *error);

#endif
