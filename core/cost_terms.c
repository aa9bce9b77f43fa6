/*
 * Terms that a provider does not publish: the dearest quartile of what its class publishes, of all
 * providers where the class publishes too little, and at last a measured figure. Never zero: a
 * provider must not win by keeping silent.
 */
#include "core/cost.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Published values that make a quartile worth having. */
#define SAMPLE_LEAST 3
#define SAMPLE_MOST 128

/* Mean uninterrupted window of a spot machine: 0.7-10.5 h in nine zones, 2.7-4.1 h in four
 * (measured, facts/hardware-notes.md 9: skypilot-org/spot-traces). One in four hours is their
 * middle. */
#define INTERRUPTIONS_PER_HOUR 0.25

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double term_value(const struct terms *terms, size_t offset)
{
	return *(const double *)(const void *)((const char *)terms + offset);
}

/* Upper quartile of a term over a class, or over all providers for PROVIDER_CLASSES; NAN when too
 * few publish it. */
static double upper_quartile(size_t offset, enum provider_class class)
{
	double values[SAMPLE_MOST];
	size_t count = 0;

	for (size_t i = 0; i < terms_count && count < SAMPLE_MOST; i++) {
		double value = term_value(&terms_table[i], offset);

		if ((class == PROVIDER_CLASSES || terms_table[i].class == class) && !isnan(value))
			values[count++] = value;
	}
	if (count < SAMPLE_LEAST)
		return (double)NAN;
	qsort(values, count, sizeof(values[0]), compare);
	return values[count * 3 / 4];
}

/* The provider's own figure, else the dearest quartile; `last` where nobody publishes any. */
static double resolve(const struct terms *terms, size_t offset, double last, unsigned bit,
		      unsigned *assumed)
{
	double value = terms ? term_value(terms, offset) : (double)NAN;

	if (!isnan(value))
		return value;
	*assumed |= bit;
	value = upper_quartile(offset, terms ? terms->class : PROVIDER_CLASSES);
	if (isnan(value))
		value = upper_quartile(offset, PROVIDER_CLASSES);
	return isnan(value) ? last : value;
}

void cost_terms_resolve(const struct terms *terms, struct cost_terms *out)
{
	*out = (struct cost_terms){0};
	out->granularity_seconds =
		resolve(terms, offsetof(struct terms, billing_granularity_seconds),
			SECONDS_PER_HOUR, COST_ASSUMED_GRANULARITY, &out->assumed);
	out->minimum_seconds = resolve(terms, offsetof(struct terms, minimum_charge_seconds),
				       SECONDS_PER_HOUR, COST_ASSUMED_MINIMUM, &out->assumed);
	out->setup_seconds = resolve(terms, offsetof(struct terms, setup_delay_seconds),
				     SECONDS_PER_HOUR, COST_ASSUMED_SETUP, &out->assumed);
	out->egress_usd_per_gb = resolve(terms, offsetof(struct terms, egress_usd_per_gb), 0.12,
					 COST_ASSUMED_EGRESS_PRICE, &out->assumed);
	out->interruptions_per_hour =
		resolve(terms, offsetof(struct terms, spot_interruptions_per_hour),
			INTERRUPTIONS_PER_HOUR, COST_ASSUMED_INTERRUPTIONS, &out->assumed);
	out->free_egress_gb = terms ? terms->free_egress_gb_per_month : 0;
	/* A volume that nobody confirms is paid for and still not relied upon. */
	out->keeps_data = terms && terms->persistent_volume == TERM_YES;
	out->bills_storage = !terms || terms->persistent_volume != TERM_NO;
	if (out->bills_storage)
		out->volume_usd_per_gb_month =
			resolve(terms, offsetof(struct terms, volume_usd_per_gb_month), 0.2,
				COST_ASSUMED_VOLUME_PRICE, &out->assumed);
}
