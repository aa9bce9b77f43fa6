/* Provider terms: see terms.h. Both tables are sorted, so that a look-up is a binary search;
 * tests/core/test_terms.c holds the order. */
#include "core/terms.h"

#include <math.h>
#include <string.h>

#define UNKNOWN_AMOUNT ((double)NAN) /* NAN alone is a float */

const struct terms terms_table[] = {
#include "core/data/terms.inc"
};
const size_t terms_count = sizeof(terms_table) / sizeof(terms_table[0]);

static const char *const class_text[PROVIDER_CLASSES] = {
	[PROVIDER_HYPERSCALER] = "hyperscaler",
	[PROVIDER_CLOUD] = "cloud",
	[PROVIDER_MARKETPLACE] = "marketplace",
};
const struct names provider_class_names = {class_text, PROVIDER_CLASSES};

const struct terms *terms_find(const char *provider)
{
	size_t low = 0, high = terms_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = names_compare(provider, terms_table[middle].provider);

		if (order == 0)
			return &terms_table[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const char *terms_nearest(const char *provider)
{
	unsigned best = (unsigned)strlen(provider) / 3 + 1;
	const char *nearest = NULL;

	for (size_t i = 0; i < terms_count; i++) {
		unsigned distance = names_distance(provider, terms_table[i].provider, best);

		if (distance < best) {
			best = distance;
			nearest = terms_table[i].provider;
		}
	}
	return nearest;
}

/* AWS's advisor: how often a type was reclaimed in a region, in bands of a month's frequency. */
const struct spot_band spot_bands[] = {
#include "core/data/spot_bands.inc"
};
const size_t spot_bands_count = sizeof(spot_bands) / sizeof(spot_bands[0]);

/* Middle of each band; the last has no upper end and is taken as 25 %. */
static const double band_frequency[TERMS_BANDS] = {0.025, 0.075, 0.125, 0.175, 0.25};
#define BAND_TOP (TERMS_BANDS - 1)

static const struct spot_band *band_find(const char *type, const char *region)
{
	size_t low = 0, high = spot_bands_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = names_compare(type, spot_bands[middle].type);

		if (order == 0)
			order = names_compare(region, spot_bands[middle].region);
		if (order == 0)
			return &spot_bands[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const char *terms_band_text(int told_band)
{
	static const char *const texts[TERMS_BANDS] = {"<5%", "5-10%", "10-15%", "15-20%", ">20%"};

	return told_band >= 1 && told_band <= TERMS_BANDS ? texts[told_band - 1] : "";
}

double terms_spot_interruptions_per_hour(const char *provider, const char *instance_type,
					 const char *region, int told_band)
{
	const struct terms *terms = terms_find(provider);
	const struct spot_band *known = NULL;
	int band = told_band >= 1 && told_band <= TERMS_BANDS ? told_band - 1 : -1;

	if (band < 0 && names_compare(provider, "aws") == 0)
		known = band_find(instance_type, region);
	if (known)
		band = known->band;
	if (band >= 0)
		return TERMS_SPOT_QUARTILE_PER_HOUR * log1p(-band_frequency[band]) /
		       log1p(-band_frequency[BAND_TOP]);
	return terms ? terms->spot_interruptions_per_hour : UNKNOWN_AMOUNT;
}
