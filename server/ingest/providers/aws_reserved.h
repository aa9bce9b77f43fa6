/*
 * AWS's reservations, in rows of its price list: one row an hour, or with an upfront part two,
 * which belong together by machine and term.
 */
#ifndef SERVER_INGEST_PROVIDERS_AWS_RESERVED_H
#define SERVER_INGEST_PROVIDERS_AWS_RESERVED_H

#include "server/ingest/provider.h"
#include "server/ingest/providers/csv.h"

struct aws_reservation {
	struct offer offer;
	int64_t hour_micros, upfront_micros; /* PRICE_UNKNOWN = not told yet; 0 = nothing an hour */
	int years;
};

/* In the feed's arena; zeroed is empty. */
struct aws_reservations {
	struct aws_reservation *items;
	size_t count, capacity;
};

/* Takes a row of a reservation of `machine`, or has the feed reject it. */
void aws_reserved_take(struct feed *feed, struct aws_reservations *reservations,
		       const struct csv *csv, const struct offer *machine);

/* After the last row: those whose price is whole become offers of the feed. */
void aws_reserved_end(struct feed *feed, const struct aws_reservations *reservations);

#endif
