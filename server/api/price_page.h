/*
 * Price page: the first offers behind a cursor, in the order asked.
 *
 * They are kept in a heap while candidates pass by: no sorting of the whole, no state between
 * pages. The lists of a catalogue are in order of price, so that in most sort orders each list is
 * entered at the cursor and left at the first offer that cannot be on the page any more.
 */
#ifndef SERVER_API_PRICE_PAGE_H
#define SERVER_API_PRICE_PAGE_H

#include "server/api/price_filter.h"

struct price_page {
	const struct offer **offers; /* sorted */
	size_t count;
	bool has_more;
};

/* `after` NULL is the first page. Lives in `arena`; false when memory is out. */
bool price_page_read(const struct price_filter *filter, const struct catalogue *catalogue,
		     const struct cursor *after, size_t limit, struct arena *arena,
		     struct price_page *out);

#endif
