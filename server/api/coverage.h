/* Coverage: what a catalogue holds of one provider. */
#ifndef SERVER_API_COVERAGE_H
#define SERVER_API_COVERAGE_H

#include "core/catalogue.h"

struct coverage {
	int64_t offers, priced, unmapped, unpriced;
	int64_t by_kind[PRICE_KINDS];
	int64_t accelerators, regions;
	int64_t regions_unplaced;		    /* of whose offers some have no country */
	bool *region_is_there, *region_is_unplaced; /* by the catalogue's number of it */
	int64_t bundled;			    /* offers that no live feed told */
	int64_t oldest_us, newest_us;		    /* observed; 0 when it has no offers */
};

/* Arrays are in `arena`. False when memory is out. */
bool coverage_of(const struct catalogue *catalogue, const char *provider, struct arena *arena,
		 struct coverage *out);

#endif
