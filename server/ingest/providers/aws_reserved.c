/* AWS's reservations: see aws_reserved.h. */
#include "server/ingest/providers/aws_reserved.h"

#include <string.h>

#define HOURS_PER_YEAR 8760 /* of AWS's own effective rates */

static struct aws_reservation *find_or_add(struct feed *feed, struct aws_reservations *reservations,
					   const struct offer *offer)
{
	struct aws_reservation *items = reservations->items;

	for (size_t i = 0; i < reservations->count; i++)
		if (offer_key_equal(&items[i].offer, offer))
			return &items[i];
	if (reservations->count == reservations->capacity) {
		size_t capacity = reservations->capacity ? reservations->capacity * 2 : 256;

		items = arena_array(feed->arena, capacity, sizeof(*items));
		if (!items) {
			feed->is_exhausted = true;
			return NULL;
		}
		if (reservations->count)
			memcpy(items, reservations->items, reservations->count * sizeof(*items));
		reservations->items = items;
		reservations->capacity = capacity;
	}
	items[reservations->count] = (struct aws_reservation){
		.offer = *offer, .hour_micros = PRICE_UNKNOWN, .upfront_micros = PRICE_UNKNOWN};
	return &items[reservations->count++];
}

/* "No Upfront", "standard": sold under one name, told apart by tier. */
static const char *tier_of(struct feed *feed, const struct csv *csv)
{
	char *tier = arena_printf(feed->arena, "%s %s", csv_text(csv, "OfferingClass"),
				  csv_text(csv, "PurchaseOption"));

	feed->is_exhausted = feed->is_exhausted || !tier;
	for (char *c = tier; c && *c; c++)
		*c = *c == ' ' ? '_' : (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
	return tier ? tier : "";
}

void aws_reserved_take(struct feed *feed, struct aws_reservations *reservations,
		       const struct csv *csv, const struct offer *machine)
{
	const char *length = csv_text(csv, "LeaseContractLength");
	int64_t micros = price_parse(csv_text(csv, "PricePerUnit"));
	int years = *length >= '1' && *length <= '9' ? *length - '0' : 0;
	struct aws_reservation *reservation;
	struct offer offer = *machine;

	if (!years || strcmp(length + 1, "yr") != 0 || !*csv_text(csv, "PurchaseOption")) {
		feed->rows_seen++;
		feed_reject(feed, REJECTED_SCHEMA, "%.40s: reserved for \"%.20s\"",
			    offer.instance_type, length);
		return;
	}
	offer.price_kind = PRICE_RESERVED;
	offer.term_months = years * 12;
	offer.tier = tier_of(feed, csv);
	reservation = find_or_add(feed, reservations, &offer);
	if (!reservation)
		return;
	reservation->years = years;
	if (csv_is(csv, "Unit", "Quantity"))
		reservation->upfront_micros = micros;
	else if (csv_is(csv, "Unit", "Hrs")) /* 0 where all is paid upfront */
		reservation->hour_micros = micros == PRICE_UNKNOWN ? 0 : micros;
}

/* The price of an hour: its own part and the share of what is paid upfront. */
static void add(struct feed *feed, const struct aws_reservation *reservation)
{
	struct offer offer = reservation->offer;
	bool has_upfront = strstr(offer.tier, "no_upfront") == NULL;

	feed->rows_seen++;
	if (reservation->hour_micros == PRICE_UNKNOWN ||
	    has_upfront != (reservation->upfront_micros != PRICE_UNKNOWN)) {
		feed_reject(feed, REJECTED_SCHEMA, "%.40s, %.40s: half of the price is missing",
			    offer.instance_type, offer.tier);
		return;
	}
	offer.price_micros = reservation->hour_micros;
	if (has_upfront) {
		offer.upfront_micros = reservation->upfront_micros;
		offer.price_micros += price_divide(reservation->upfront_micros,
						   (int64_t)HOURS_PER_YEAR * reservation->years);
		offer.price_basis = "instance, upfront part spread over the term";
		offer.original_amount = "";
	}
	feed_copy(feed, &offer);
}

void aws_reserved_end(struct feed *feed, const struct aws_reservations *reservations)
{
	for (size_t i = 0; i < reservations->count; i++)
		add(feed, &reservations->items[i]);
}
