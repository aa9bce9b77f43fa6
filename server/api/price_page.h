/*
 * Price page: the first offers behind a cursor, in the order asked.
 *
 * They are kept in a heap while candidates pass by: no sorting of the whole, no state between
 * pages. The lists of a catalogue are in order of price, so that in most sort orders each list is
 * entered at the cursor and left at the first offer that cannot be on the page any more. Which
 * offers a page has is kept as long as the snapshot lives: pollers ask for the same ones.
 */
#ifndef SERVER_API_PRICE_PAGE_H
#define SERVER_API_PRICE_PAGE_H

#include "server/api/price_filter.h"
#include "server/memo.h"

struct price_page {
	const uint32_t *places; /* of the offers in the catalogue, sorted */
	size_t count;
	bool has_more;
};

/* The page that the request's own target asks for, from `memo` when it is there, else read and kept
 * there; `memo` may be NULL. */
bool price_page_find(const struct price_filter *filter, struct request *request,
		     const struct cursor *after, size_t limit, struct memo *memo,
		     struct price_page *out);

/* `after` NULL is the first page. Lives in `arena`; false when memory is out. */
bool price_page_read(const struct price_filter *filter, const struct catalogue *catalogue,
		     const struct cursor *after, size_t limit, struct arena *arena,
		     struct price_page *out);

#endif
