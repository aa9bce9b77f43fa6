/* What the feeds of AWS share: which instance types have accelerators, and what they are made of.
 */
#ifndef SERVER_INGEST_PROVIDERS_AWS_H
#define SERVER_INGEST_PROVIDERS_AWS_H

#include "server/ingest/provider.h"

/* In our table, or of a family that has accelerators (p5, g6e, inf2, trn1, dl1; not m6g or c7gn):
 * such a type is kept as a spelling that no rule knows rather than lost. */
bool aws_is_accelerated(const char *type);

/* The country of a local zone ("us-west-2-lax-1"), which need not be its region's; "" for a zone
 * that is not known, and for regions, which core/country has. */
const char *aws_zone_country(const char *region);

/* What the last page of a feed of spot prices is: how often machines were reclaimed, by AWS's spot
 * advisor. It is asked for a few times a day; between, and when it cannot be had, what it said
 * stands for a month. The feed must remember. */
bool aws_advisor_is_due(const struct feed *feed);
void aws_advisor_request(struct feed *feed, int page, struct fetch_request *out);
void aws_advisor_take(struct feed *feed, const struct fetch_response *response);

/* For finish(): the bands of the last good set, where the advisor was not heard. */
bool aws_advisor_finish(struct feed *feed, struct error *error);

/* Fills type, accelerator, count and the machine's figures, as far as our table has them. */
void aws_describe(struct feed *feed, const char *type, struct offer *offer);

#endif
