/*
 * Discount: what a company pays less than a provider's list, by kind of price. "12.5" is 12.5 per
 * cent off prices on demand; "on_demand:12.5,reserved:5,spot:0" tells each. The offer keeps the
 * list's amount as original_amount, and price_basis says what was taken off.
 */
#ifndef SERVER_INGEST_DISCOUNT_H
#define SERVER_INGEST_DISCOUNT_H

#include "server/ingest/provider.h"

bool discount_check(const char *text, struct error *error);

/* To every offer of a feed, or of the bundled list, that was normalised; `text` has passed
 * discount_check(). */
void discount_apply(const char *text, struct feed *feed);

#endif
