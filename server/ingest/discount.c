/* Discount: see discount.h. The setting is read anew for each feed: it is short. */
#include "server/ingest/discount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE 1000000 /* one, in the millionths that a rate is told in */

struct rates {
	int64_t millionths[PRICE_KINDS]; /* taken off */
};

/* "12.5" as 125000, to the fourth decimal; -1 when it is no per cent from 0 to below 100. */
static int64_t parse_percent(const char *text, size_t length)
{
	char copy[16], *end;
	double percent;

	if (!length || length >= sizeof(copy))
		return -1;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (strspn(copy, "0123456789.") != length)
		return -1;
	percent = strtod(copy, &end);
	return *end || !(percent >= 0 && percent < 100) ? -1 : (int64_t)(percent * 10000 + 0.5);
}

static bool parse(const char *text, struct rates *out, struct error *error)
{
	*out = (struct rates){0};
	do {
		size_t length = strcspn(text, ","), name = strcspn(text, ":,");
		bool is_named = name < length;
		char kind[24] = "on_demand";
		int index;

		if (is_named)
			snprintf(kind, sizeof(kind), "%.*s", name < 23 ? (int)name : 23, text);
		index = names_find(&price_kind_names, kind);
		if (index < 0)
			return error_set(error, ERROR_INVALID, "\"%s\" is no kind of price", kind);
		if (is_named)
			name++;
		else
			name = 0;
		out->millionths[index] = parse_percent(text + name, length - name);
		if (out->millionths[index] < 0)
			return error_set(
				error, ERROR_INVALID, "\"%.*s\" is no per cent from 0 to below 100",
				length - name < 40 ? (int)(length - name) : 40, text + name);
		text += length + (text[length] == ',');
	} while (*text);
	return true;
}

bool discount_check(const char *text, struct error *error)
{
	struct rates rates;

	return parse(text, &rates, error);
}

void discount_apply(const char *text, struct feed *feed)
{
	struct rates rates;
	struct error error;

	error_init(&error, NULL);
	if (!parse(text, &rates, &error))
		return; /* config has refused it before */
	for (size_t i = 0; i < feed->count; i++) {
		struct offer *offer = &feed->offers[i];
		const int64_t off = rates.millionths[offer->price_kind];
		int64_t scaled;

		if (!off || !micros_multiply(offer->price_micros, WHOLE - off, &scaled))
			continue;
		offer->price_micros = price_divide(scaled, WHOLE);
		offer->price_basis = feed_text(
			feed, arena_printf(feed->arena, "%s, %.4g %%" OFFER_BASIS_DISCOUNTED,
					   offer->price_basis, (double)off / 10000));
	}
}
