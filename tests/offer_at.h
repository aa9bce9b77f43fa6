/* Offers of a catalogue by value, for tests. */
#ifndef TESTS_OFFER_AT_H
#define TESTS_OFFER_AT_H

#include "core/catalogue.h"

static inline struct offer offer_at(const struct catalogue *catalogue, uint32_t place)
{
	struct offer offer;

	catalogue_read(catalogue, place, &offer);
	return offer;
}

/* Of all that changed, also what is gone. */
static inline struct offer changed_at(const struct catalogue *catalogue, uint32_t place)
{
	struct offer offer;

	catalogue_read_changed(catalogue, place, &offer);
	return offer;
}

#endif
