/* Feed: what every provider's parser adds to, and exact prices out of the ways that feeds quote
 * them. */
#include "server/ingest/provider.h"

#include "core/pool.h"
#include "server/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FEW_ROWS 65536
#define MANY_ROWS ((size_t)2 << 20)

const char *const rejection_names[REJECTIONS] = {
	[REJECTED_SCHEMA] = "schema",	    [REJECTED_NO_PRICE] = "no_price",
	[REJECTED_PRICE] = "absurd_price",  [REJECTED_MEMORY] = "memory",
	[REJECTED_DUPLICATE] = "duplicate", [REJECTED_TEXT] = "text",
	[REJECTED_JUMP] = "jump",
};

/* Kept once: rows of a feed repeat their texts thousands of times. */
const char *feed_text(struct feed *feed, const char *text)
{
	const char *copy = NULL;

	if (!text || !*text)
		return "";
	if (!feed->texts) {
		struct pool *texts = arena_alloc(feed->arena, sizeof(*texts));

		if (texts && pool_init(texts, feed->arena, feed->arena))
			feed->texts = texts;
	}
	if (feed->texts)
		copy = pool_intern(feed->texts, text);
	if (!copy) {
		feed->is_exhausted = true;
		return "";
	}
	return copy;
}

int64_t feed_time(const char *text)
{
	return clock_parse(text);
}

const char *feed_time_text(struct feed *feed, int64_t wall_us)
{
	char text[CLOCK_TEXT];

	clock_format(wall_us, text);
	return feed_text(feed, text);
}

static bool feed_grow(struct feed *feed)
{
	size_t capacity = feed->capacity ? feed->capacity * 2 : 64;

	/* Arrays that were outgrown stay in the arena; of a large one only what is used is real
	 * memory. */
	if (capacity > FEW_ROWS)
		capacity = capacity < MANY_ROWS ? MANY_ROWS : capacity;
	struct offer *grown;

	grown = arena_array(feed->arena, capacity, sizeof(*grown));
	if (!grown)
		return false;
	if (feed->count)
		memcpy(grown, feed->offers, feed->count * sizeof(*grown));
	feed->offers = grown;
	feed->capacity = capacity;
	return true;
}

struct offer feed_offer(const struct feed *feed)
{
	return (struct offer){
		.provider = "",
		.region = "",
		.zone = "",
		.instance_type = "",
		.accelerator = "",
		.count_milli = COUNT_MILLI_ONE,
		.tier = "",
		.interconnect = "",
		.country = "",
		.price_micros = PRICE_UNKNOWN,
		.price_basis = "instance",
		.original_currency = "USD",
		.original_amount = "",
		.quantity = -1,
		.source = "",
		.observed_at_us = feed->now_us,
	};
}

struct offer *feed_add(struct feed *feed)
{
	if (feed->count == feed->capacity && !feed_grow(feed)) {
		feed->is_exhausted = true;
		return NULL;
	}
	feed->offers[feed->count] = feed_offer(feed);
	return &feed->offers[feed->count++];
}

struct offer *feed_copy(struct feed *feed, const struct offer *base)
{
	struct offer *offer = feed_add(feed);

	if (offer)
		*offer = *base;
	return offer;
}

void feed_keep(struct feed *feed, const char *region, bool is_confirmed)
{
	for (size_t i = 0; i < feed->last_count; i++) {
		struct offer *offer;

		if (strcmp(feed->last[i].region, region) != 0)
			continue;
		feed->rows_seen++;
		offer = feed_copy(feed, &feed->last[i]);
		if (offer && is_confirmed)
			offer->observed_at_us = feed->now_us;
	}
}

void feed_price_euro(struct feed *feed, struct offer *offer, int64_t euro_micros,
		     const char *amount)
{
	int64_t product;

	offer->original_currency = "EUR";
	offer->original_amount = feed_text(feed, amount);
	offer->price_micros = PRICE_UNKNOWN;
	if (euro_micros <= 0 || feed->euro.usd_micros <= 0 ||
	    !micros_multiply(euro_micros, feed->euro.usd_micros, &product))
		return;
	offer->price_micros = price_divide(product, MICROS_PER_USD);
	offer->price_basis = feed_text(
		feed, arena_printf(feed->arena, "%s, EUR at %.4f USD (ECB %s)", offer->price_basis,
				   usd_from_micros(feed->euro.usd_micros), feed->euro.date));
}

void feed_reject(struct feed *feed, enum rejection reason, const char *format, ...)
{
	va_list arguments;

	feed->rejected[reason]++;
	if (feed->first_rejection[0])
		return;
	va_start(arguments, format);
	vsnprintf(feed->first_rejection, sizeof(feed->first_rejection), format, arguments);
	va_end(arguments);
}

const char *feed_rejections(const struct feed *feed, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (int reason = 0; reason < REJECTIONS && used < size; reason++)
		if (feed->rejected[reason]) {
			int more = snprintf(out + used, size - used, "%s%s %lld", used ? ", " : "",
					    rejection_names[reason],
					    (long long)feed->rejected[reason]);

			used += more > 0 ? (size_t)more : 0;
		}
	return out;
}

/* Where the decimal point stands and which digits there are; the digits themselves stay in place.
 */
struct decimal {
	const char *whole, *fraction;
	size_t whole_length, fraction_length;
	int exponent;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool decimal_parse(const char *text, struct decimal *out)
{
	bool is_negative = false;

	*out = (struct decimal){0};
	if (*text == '$')
		text++;
	out->whole = text;
	while (is_digit(*text))
		text++;
	out->whole_length = (size_t)(text - out->whole);
	if (*text == '.')
		text++;
	out->fraction = text;
	while (is_digit(*text))
		text++;
	out->fraction_length = (size_t)(text - out->fraction);
	if (!out->whole_length && !out->fraction_length)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		if (*text == '+' || *text == '-')
			is_negative = *text++ == '-';
		if (!is_digit(*text))
			return false;
		for (; is_digit(*text); text++)
			if (out->exponent < 1000)
				out->exponent = out->exponent * 10 + (*text - '0');
		if (is_negative)
			out->exponent = -out->exponent;
	}
	return !*text;
}

/* The digit worth 10^position dollars; 0 where the text has none. */
static int decimal_digit(const struct decimal *decimal, long position)
{
	long index = position - decimal->exponent;

	if (index >= 0)
		return index < (long)decimal->whole_length
			       ? decimal->whole[(long)decimal->whole_length - 1 - index] - '0'
			       : 0;
	return -index <= (long)decimal->fraction_length ? decimal->fraction[-index - 1] - '0' : 0;
}

int64_t price_parse(const char *text)
{
	struct decimal decimal;
	int64_t micros = 0;
	long top;

	if (!text || strnlen(text, 65) > 64 || !decimal_parse(text, &decimal))
		return PRICE_UNKNOWN;
	top = (long)decimal.whole_length + decimal.exponent;
	for (long position = top > -6 ? top : -6; position >= -6; position--) {
		if (!micros_multiply(micros, 10, &micros) ||
		    !micros_add(micros, decimal_digit(&decimal, position), &micros))
			return PRICE_UNKNOWN;
	}
	if (decimal_digit(&decimal, -7) >= 5 && !micros_add(micros, 1, &micros))
		return PRICE_UNKNOWN;
	return micros > 0 ? micros : PRICE_UNKNOWN;
}

int64_t price_from_double(double usd)
{
	char text[40];

	/* 15 digits are what a decimal survives in a double: the text is the one the feed printed.
	 */
	if (!(usd > 0 && usd < 9e12))
		return PRICE_UNKNOWN;
	snprintf(text, sizeof(text), "%.15g", usd);
	return price_parse(text);
}

int64_t price_divide(int64_t micros, int64_t parts)
{
	int64_t share;

	if (micros <= 0 || parts <= 0)
		return PRICE_UNKNOWN;
	share = micros / parts;
	if (micros % parts >= parts - micros % parts)
		share++;
	return share > 0 ? share : PRICE_UNKNOWN;
}

int64_t price_times(int64_t micros, int64_t count)
{
	int64_t total;

	if (micros <= 0 || count <= 0 || !micros_multiply(micros, count, &total))
		return PRICE_UNKNOWN;
	return total;
}
