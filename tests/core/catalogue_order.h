/*
 * What must hold of the order of any catalogue, by reading every offer: lists, columns, what lists
 * tell without them, shapes and counts.
 */
#ifndef TESTS_CORE_CATALOGUE_ORDER_H
#define TESTS_CORE_CATALOGUE_ORDER_H

#include "core/catalogue.h"
#include "tests/offer_at.h"
#include "tests/suite.h"

#include <string.h>

/* What a list tells without its columns, of one more offer. */
static inline void sum_up(struct offer_list *list, const struct offer *offer)
{
	int64_t *cheapest = offer->availability == AVAILABILITY_NO ? &list->sold_out_micros
								   : &list->cheapest_micros;

	if (!*cheapest || offer->price_micros < *cheapest)
		*cheapest = offer->price_micros;
	list->available += offer->availability == AVAILABILITY_YES;
	if (offer->observed_at_us < list->oldest_us)
		list->oldest_us = offer->observed_at_us;
	if (offer->observed_at_us > list->newest_us)
		list->newest_us = offer->observed_at_us;
}

static inline void check_told(const struct offer_list *list, const struct offer_list *expected)
{
	ck_assert_int_eq(list->cheapest_micros, expected->cheapest_micros);
	ck_assert_int_eq(list->sold_out_micros, expected->sold_out_micros);
	ck_assert_int_eq(list->oldest_us, expected->oldest_us);
	ck_assert_int_eq(list->newest_us, expected->newest_us);
	ck_assert_uint_eq(list->available, expected->available);
}

static inline void check_names(const struct catalogue *catalogue)
{
	for (uint32_t i = 1; i < catalogue->sellers_count; i++)
		ck_assert_int_lt(
			strcmp(catalogue->sellers[i - 1].provider, catalogue->sellers[i].provider),
			0);
	for (uint32_t i = 0; i < catalogue->regions_count; i++)
		ck_assert_uint_eq(catalogue_region(catalogue, catalogue->regions[i]), i);
	ck_assert_uint_eq(catalogue_region(catalogue, "no such region"), CATALOGUE_NOWHERE);
}

/* The list's j-th offer and its columns. */
static inline void check_listed(const struct catalogue *catalogue, const struct offer_list *list,
				uint32_t j, struct offer_list *sum)
{
	const struct shape *shape = &catalogue->shapes[list->shape];
	const struct offer_columns *columns = &catalogue->columns;
	uint32_t at = list->first + j;
	const struct offer offer = offer_at(catalogue, catalogue->by_price[at]);

	ck_assert_str_eq(offer.provider, list->provider);
	ck_assert_int_eq(offer.price_kind, list->price_kind);
	ck_assert_int_eq(offer.term_months, list->term_months);
	ck_assert_str_eq(offer.accelerator, shape->accelerator->name);
	ck_assert_int_eq(offer.count_milli, shape->count_milli);
	ck_assert_int_gt(offer.price_micros, 0);
	ck_assert_int_eq(columns->price_micros[at], offer.price_micros);
	ck_assert_int_eq(catalogue_price(catalogue, list, at), offer.price_micros);
	ck_assert_int_eq(columns->observed_at_us[at], offer.observed_at_us);
	ck_assert_str_eq(catalogue->regions[columns->region[at]], offer.region);
	ck_assert_uint_eq(columns->country[at], catalogue_country_tag(offer.country));
	ck_assert_int_eq(columns->availability[at], offer.availability);
	ck_assert_int_eq(offer.availability != AVAILABILITY_NO, j < list->launchable);
	if (j && j != list->launchable)
		ck_assert_int_le(columns->price_micros[at - 1], columns->price_micros[at]);
	sum_up(sum, &offer);
}

/* What must hold of any catalogue; returns the offers that are in lists. */
static inline uint32_t check_order(const struct catalogue *catalogue)
{
	uint32_t listed = 0, shape_offers = 0;

	check_names(catalogue);
	for (uint32_t i = 1; i < catalogue->offers_count; i++)
		if (i != catalogue->public_count)
			ck_assert_uint_lt(catalogue_id(catalogue, i - 1),
					  catalogue_id(catalogue, i));
	for (uint32_t i = 0; i < catalogue->shapes_count; i++) {
		const struct shape *shape = &catalogue->shapes[i];

		shape_offers += shape->offers;
		ck_assert_uint_gt(shape->lists, 0);
		for (uint32_t j = 0; j < shape->lists; j++)
			ck_assert_uint_eq(catalogue->lists[shape->first_list + j].shape, i);
	}
	for (uint32_t i = 0; i < catalogue->lists_count; i++) {
		const struct offer_list *list = &catalogue->lists[i];
		struct offer_list expected = {.oldest_us = INT64_MAX, .newest_us = INT64_MIN};

		ck_assert_uint_eq(list->first, listed);
		ck_assert_uint_gt(list->count, 0);
		ck_assert_str_eq(catalogue->sellers[list->seller].provider, list->provider);
		ck_assert_ptr_eq(catalogue->sellers[list->seller].terms, list->terms);
		ck_assert_ptr_eq(list->terms, terms_find(list->provider));
		for (uint32_t j = 0; j < list->count; j++)
			check_listed(catalogue, list, j, &expected);
		check_told(list, &expected);
		listed += list->count;
	}
	ck_assert_uint_eq(listed, catalogue->listed_count);
	ck_assert_uint_eq(shape_offers, listed);
	ck_assert_uint_eq(listed + catalogue->unlisted_count, catalogue->offers_count);
	ck_assert_uint_eq(catalogue->unmapped_offers + catalogue->unpriced_offers,
			  catalogue->unlisted_count);
	return listed;
}

#endif
