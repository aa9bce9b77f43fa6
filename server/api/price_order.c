/*
 * Price order: sort keys of offers. What is not known comes last in either direction; the id breaks
 * ties, so that the order is total and a cursor has one place.
 */
#include "server/api/price_filter.h"

#include <math.h>
#include <string.h>

static struct cursor_key number_key(bool is_known, int64_t number)
{
	return (struct cursor_key){.is_unknown = !is_known, .number = is_known ? number : 0};
}

static struct cursor_key text_key(const char *text)
{
	return (struct cursor_key){.is_unknown = !*text, .text = *text ? text : NULL};
}

static struct cursor_key thousandths_key(double amount)
{
	return number_key(amount > 0, llround(amount * 1000));
}

static struct cursor_key rate_key(int64_t thousandths)
{
	return number_key(thousandths > 0, thousandths);
}

static struct cursor_key key_of(const struct offer *offer, enum price_sort sort)
{
	const struct accelerator *card;
	int64_t price;

	switch (sort) {
	case SORT_USD_PER_HOUR:
		return number_key(offer->price_micros != PRICE_UNKNOWN, offer->price_micros);
	case SORT_USD_PER_GPU_HOUR:
		price = offer_per_gpu_micros(offer);
		return number_key(price != PRICE_UNKNOWN, price);
	case SORT_MEMORY_GB:
		return thousandths_key(offer_memory_gb(offer));
	case SORT_MEMORY_PER_GPU_GB:
		card = offer_card(offer);
		return thousandths_key(card ? card->memory_gb : 0);
	case SORT_COUNT:
		return number_key(true, offer->count_milli);
	case SORT_ACCELERATOR:
		return text_key(offer->accelerator);
	case SORT_PROVIDER:
		return text_key(offer->provider);
	case SORT_REGION:
		return text_key(offer->region);
	case SORT_MEMORY_TYPE:
		card = offer_card(offer);
		return text_key(card && card->memory_type ? card->memory_type : "");
	case SORT_BANDWIDTH:
		card = offer_card(offer);
		return thousandths_key(card ? card->bandwidth_gb_s : 0);
	case SORT_TFLOPS:
		card = offer_card(offer);
		return thousandths_key(card ? card_tflops_16_bit(card) : 0);
	case SORT_BILLING_SECONDS:
		return thousandths_key(offer_billing_seconds(offer));
	case SORT_MEMORY_PER_USD:
		return rate_key(offer_memory_per_usd(offer));
	case SORT_BANDWIDTH_PER_USD:
		return rate_key(offer_bandwidth_per_usd(offer));
	case SORT_TFLOPS_PER_USD:
		return rate_key(offer_tflops_per_usd(offer));
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

int price_filter_compare_at(const struct price_filter *filter, const struct catalogue *catalogue,
			    uint32_t position, const struct cursor *cursor)
{
	const struct offer_columns *columns = &catalogue->columns;
	int64_t observed_us;
	struct cursor_key key;

	switch (filter->order[0].key) {
	case SORT_REGION:
		key = text_key(catalogue->regions[columns->region[position]]);
		break;
	case SORT_OBSERVED_AT:
		observed_us = columns->observed_at_us[position];
		key = number_key(observed_us != 0, observed_us);
		break;
	case SORT_USD_PER_HOUR:
		key = number_key(true, columns->price_micros[position]);
		break;
	case SORT_USD_PER_GPU_HOUR:
	case SORT_MEMORY_GB:
	case SORT_MEMORY_PER_GPU_GB:
	case SORT_COUNT:
	case SORT_ACCELERATOR:
	case SORT_PROVIDER:
	case SORT_MEMORY_TYPE:
	case SORT_BANDWIDTH:
	case SORT_TFLOPS:
	case SORT_BILLING_SECONDS:
	case SORT_MEMORY_PER_USD:
	case SORT_BANDWIDTH_PER_USD:
	case SORT_TFLOPS_PER_USD:
	case PRICE_SORTS:
		return 0;
	}
	return compare_keys(&key, &cursor->keys[0], filter->order[0].is_descending);
}
