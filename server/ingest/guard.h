/*
 * Guard: does a whole refresh look like the market, or like a broken feed? Pure: what it remembers
 * between refreshes is one text per feed, which the store keeps.
 *
 * A refresh that is empty, half of the last good one or less, or has over a tenth of its rows moved
 * tenfold is held back, until three in a row agree with one another (each passes these same checks
 * against the one before). A single row that moved more than threefold keeps its last good price,
 * with its old date, until the next refresh tells the new price again, within a tenth. So does a
 * row that was refused for an absurd price; told absurdly again, it is withdrawn.
 */
#ifndef SERVER_INGEST_GUARD_H
#define SERVER_INGEST_GUARD_H

#include "server/ingest/provider.h"

/* What an offer of the last good set cost; PRICE_UNKNOWN = not known. */
struct guard_price {
	uint64_t id;
	int64_t micros;
};

struct guard_verdict {
	bool is_held; /* nothing of this refresh may be stored */
	bool is_empty;
	char reason[200]; /* why held, or that it was accepted after all; "" else */
	size_t *waiting;  /* rows that wait, by their place in feed->offers; some have only an id */
	size_t waiting_count;
	const char *state; /* to keep for the next refresh, in the feed's arena */
};

/*
 * `last` is the last good set, `state` what the previous verdict said ("" at first; nonsense counts
 * as ""). The caller gives rows that wait their last good values. With `accept` an operator has
 * looked: nothing is held. False only when memory is out.
 */
bool guard_check(const char *state, const struct guard_price *last, size_t last_count, bool accept,
		 struct feed *feed, struct guard_verdict *out, struct error *error);

#endif
