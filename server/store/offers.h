/* Offers as rows, in both directions. Private to server/store. */
#ifndef SERVER_STORE_OFFERS_H
#define SERVER_STORE_OFFERS_H

#include "server/store/connection.h"

struct offer_rows {
	struct offer *offers;
	bool *follows_feed;
	size_t count;
};

/* SQL: is `row` (an alias of table offer) a company's own price? As offer_is_private(). */
#define OFFERS_IS_PRIVATE(row)                                                                     \
	"(" row ".source like '" OFFER_SOURCE_OWN "%' or " row                                     \
	".price_basis like '%" OFFER_BASIS_DISCOUNTED "')"

/* Offers that `where` (SQL after "where", on offer o, with `parameters`) picks, within the current
 * transaction. Strings are kept once in `arena`. */
bool offers_read(struct store *store, const char *where, const struct parameters *parameters,
		 struct arena *arena, struct offer_rows *out, struct error *error);

/* Parts of a view, within its transaction: what left after changes_from, and what changed more than
 * once after `since`. */
bool view_gone(struct store *store, struct arena *arena, struct store_view *out,
	       struct error *error);
bool view_restless(struct store *store, int64_t since, struct arena *arena, struct store_view *out,
		   struct error *error);

/* What tells whether a stored row must be written again. */
struct offer_mark {
	uint64_t id, hash;
	bool is_own; /* of the source that is being refreshed */
	bool is_bundled, is_withdrawn;
};

/* All rows of a provider, withdrawn ones too, sorted by id. */
bool offers_marks(struct store *store, const char *provider, const char *source,
		  struct arena *arena, struct offer_mark **out, size_t *count, struct error *error);

#define OFFER_KEY_SHIFT 48 /* bits of a hash from here on are of the key */

/* Of what a refresh may change, its date included where the row has one of its own (`own_date_us`,
 * else 0). The 16 highest bits are of the key: rows of one id and another key are found by them. */
uint64_t offer_row_hash(const struct offer *offer, int64_t own_date_us);

/* One row to write as the refresh tells it. */
struct offer_put {
	const struct offer *offer;
	int64_t own_date_us; /* 0 = follows its feed */
	uint64_t hash;
	bool is_listed; /* not on sale before */
};

/* Inserts or overwrites, in one statement; first_seen stays as it is for rows that exist. */
bool offers_write(struct store *store, const struct offer_put *puts, size_t count, int64_t version,
		  int64_t observed_at_us, struct error *error);

/* Marks rows as gone; what was last known of them stays. */
bool offers_withdraw(struct store *store, const uint64_t *ids, size_t count, int64_t version,
		     int64_t observed_at_us, struct error *error);

#endif
