/* Prices: how lists of the live table and their deltas show an offer. */
#ifndef SERVER_API_PRICES_H
#define SERVER_API_PRICES_H

#include "server/api/offer_fields.h"
#include "server/kept.h"

/* The offer at `place` of request->catalogue; from its fragment (`kept` may be NULL) when it is
 * shown as a whole. */
void prices_render(struct writer *writer, const struct request *request, struct kept *kept,
		   const struct offer_fields *fields, uint32_t place);

#endif
