/* Offer value: one member of an offer, not printed yet. Private to server/api/offer_*.c. */
#ifndef SERVER_API_OFFER_VALUE_H
#define SERVER_API_OFFER_VALUE_H

#include "server/api/offer_fields.h"

enum offer_value_kind {
	VALUE_NONE, /* not known */
	VALUE_ID,
	VALUE_TEXT, /* never "" */
	VALUE_FLAG,
	VALUE_NUMBER,
	VALUE_INTEGER,
	VALUE_THOUSANDTHS,
	VALUE_MICROS,
	VALUE_TIME,
	VALUE_AGE,     /* since integer */
	VALUE_FORMATS, /* bits of enum card_format */
};

struct offer_value {
	enum offer_value_kind kind;
	const char *text;
	double number;
	int64_t integer;
	uint64_t bits;
};

struct offer_value offer_value_of(const struct offer *offer, enum offer_field field);

#endif
