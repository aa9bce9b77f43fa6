/*
 * The book: from one catalogue and what the database told since, the next. Private to refresh; no
 * thread, no database.
 */
#ifndef SERVER_REFRESH_MERGE_H
#define SERVER_REFRESH_MERGE_H

#include "core/catalogue.h"
#include "server/store/store.h"

struct book {
	bool is_complete;   /* flags belong to the current catalogue (never to one from a file) */
	bool *follows_feed; /* of each of its offers, in its order */
};

/* The next catalogue, or NULL and an error, the book then unchanged. `base` may be NULL when the
 * view holds everything. Without a view it is `base` again, at today's staleness. */
struct catalogue *book_build(struct book *book, const struct catalogue *base,
			     const struct store_view *view, struct error *error);
void book_release(struct book *book);

#endif
