/*
 * Price order: sort keys of offers. What is not known comes last in either direction; the id breaks
 * ties, so that the order is total and a cursor has one place.
 */
#include "server/api/price_filter.h"

#include <math.h>
#include <string.h>

int64_t price_per_gpu(const struct offer *offer)
{
	int64_t scaled;

	if (offer->price_micros == PRICE_UNKNOWN || offer->count_milli <= 0 ||
	    !micros_multiply(offer->price_micros, COUNT_MILLI_ONE, &scaled))
		return PRICE_UNKNOWN;
	return (scaled + offer->count_milli / 2) / offer->count_milli;
}

double price_memory_gb(const struct offer *offer)
{
	const struct accelerator *card =
		offer->is_mapped ? accelerator_find(offer->accelerator) : NULL;

	return card ? card->memory_gb * offer->count_milli / COUNT_MILLI_ONE : offer->memory_gb;
}

static struct cursor_key number_key(bool is_known, int64_t number)
{
	return (struct cursor_key){.is_unknown = !is_known, .number = is_known ? number : 0};
}

static struct cursor_key text_key(const char *text)
{
	return (struct cursor_key){.is_unknown = !*text, .text = *text ? text : NULL};
}

static struct cursor_key gb_key(double gb)
{
	return number_key(gb > 0, llround(gb * 1000));
}

static struct cursor_key key_of(const struct offer *offer, enum price_sort sort)
{
	const struct accelerator *card;
	int64_t price;

	switch (sort) {
	case SORT_USD_PER_HOUR:
		return number_key(offer->price_micros != PRICE_UNKNOWN, offer->price_micros);
	case SORT_USD_PER_GPU_HOUR:
		price = price_per_gpu(offer);
		return number_key(price != PRICE_UNKNOWN, price);
	case SORT_MEMORY_GB:
		return gb_key(price_memory_gb(offer));
	case SORT_MEMORY_PER_GPU_GB:
		card = offer->is_mapped ? accelerator_find(offer->accelerator) : NULL;
		return gb_key(card ? card->memory_gb : 0);
	case SORT_COUNT:
		return number_key(true, offer->count_milli);
	case SORT_ACCELERATOR:
		return text_key(offer->accelerator);
	case SORT_PROVIDER:
		return text_key(offer->provider);
	case SORT_REGION:
		return text_key(offer->region);
	case SORT_OBSERVED_AT:
	case PRICE_SORTS:
		break;
	}
	return number_key(offer->observed_at_us != 0, offer->observed_at_us);
}

static int compare_keys(const struct cursor_key *a, const struct cursor_key *b, bool is_descending)
{
	int order;

	if (a->is_unknown || b->is_unknown)
		return (int)a->is_unknown - (int)b->is_unknown;
	if (a->text && b->text)
		order = strcmp(a->text, b->text);
	else
		order = (a->number > b->number) - (a->number < b->number);
	return is_descending ? -order : order;
}

void price_filter_position(const struct price_filter *filter, const struct offer *offer,
			   struct cursor *out)
{
	int i;

	out->id = offer->id;
	out->keys_count = filter->order_count;
	for (i = 0; i < filter->order_count; i++)
		out->keys[i] = key_of(offer, filter->order[i].key);
}

int price_filter_compare(const struct price_filter *filter, int keys, const struct offer *a,
			 const struct offer *b)
{
	int i, order = 0;

	for (i = 0; i < keys && !order; i++) {
		struct cursor_key key_a = key_of(a, filter->order[i].key);
		struct cursor_key key_b = key_of(b, filter->order[i].key);

		order = compare_keys(&key_a, &key_b, filter->order[i].is_descending);
	}
	return order;
}

int price_filter_compare_cursor(const struct price_filter *filter, int keys,
				const struct offer *offer, const struct cursor *cursor)
{
	int i, order = 0;

	for (i = 0; i < keys && !order; i++) {
		struct cursor_key key = key_of(offer, filter->order[i].key);

		order = compare_keys(&key, &cursor->keys[i], filter->order[i].is_descending);
	}
	return order;
}

int price_filter_compare_tag(const struct price_filter *filter, const struct catalogue *catalogue,
			     const struct offer_tag *tag, const struct cursor *cursor)
{
	struct cursor_key key;

	switch (filter->order[0].key) {
	case SORT_REGION:
		key = text_key(catalogue->regions[tag->region]);
		break;
	case SORT_OBSERVED_AT:
		key = number_key(tag->observed_at_us != 0, tag->observed_at_us);
		break;
	case SORT_USD_PER_HOUR:
		key = number_key(true, tag->price_micros);
		break;
	case SORT_USD_PER_GPU_HOUR:
	case SORT_MEMORY_GB:
	case SORT_MEMORY_PER_GPU_GB:
	case SORT_COUNT:
	case SORT_ACCELERATOR:
	case SORT_PROVIDER:
	case PRICE_SORTS:
		return 0;
	}
	return compare_keys(&key, &cursor->keys[0], filter->order[0].is_descending);
}
