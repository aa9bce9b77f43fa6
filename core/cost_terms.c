/*
 * Terms that a provider does not publish: the dearest quartile of what its class publishes, of all
 * providers where the class publishes too little, and at last a measured figure. Never zero: a
 * provider must not win by keeping silent. What the caller assumes takes the quartile's place.
 */
#include "core/cost.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Published values that make a quartile worth having. */
#define SAMPLE_LEAST 3
#define SAMPLE_MOST 128

/* Where a term lies, what the caller may set in its place, and what is taken where too few publish
 * it. An hour is the coarsest usual step; egress and volumes: the hyperscalers'
 * list prices. The rate of interruptions is the dearest quartile of the bands that AWS publishes,
 * in terms.c; one provider makes no quartile of its own. */
static const struct {
	size_t offset;
	enum cost_assumption_id assumption;
	double last;
} known[COST_TERMS] = {
	[COST_TERM_GRANULARITY] = {offsetof(struct terms, billing_granularity_seconds),
				   ASSUMPTION_billing_granularity_seconds, SECONDS_PER_HOUR},
	[COST_TERM_MINIMUM] = {offsetof(struct terms, minimum_charge_seconds),
			       ASSUMPTION_minimum_charge_seconds, SECONDS_PER_HOUR},
	[COST_TERM_VOLUME_PRICE] = {offsetof(struct terms, volume_usd_per_gb_month),
				    ASSUMPTION_volume_usd_per_gb_month, 0.2},
	[COST_TERM_EGRESS_PRICE] = {offsetof(struct terms, egress_usd_per_gb),
				    ASSUMPTION_egress_usd_per_gb, 0.12},
	[COST_TERM_INTERRUPTIONS] = {offsetof(struct terms, spot_interruptions_per_hour),
				     ASSUMPTION_spot_interruptions_per_hour,
				     TERMS_SPOT_QUARTILE_PER_HOUR},
	[COST_TERM_SETUP] = {offsetof(struct terms, setup_delay_seconds), ASSUMPTION_setup_seconds,
			     SECONDS_PER_HOUR},
};

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

void cost_defaults_prepare(const struct cost_assumptions *given, struct cost_defaults *out)
{
	*out = (struct cost_defaults){0};
	for (int term = 0; term < COST_TERMS; term++) {
		double of_all = upper_quartile(known[term].offset, PROVIDER_CLASSES);
		double assumed = (double)NAN;

		if (given)
			assumed = cost_assumption(given, known[term].assumption);
		if (!isnan(assumed))
			out->given |= 1u << term;
		for (int class = 0; class <= PROVIDER_CLASSES; class ++) {
			double value = assumed;

			if (isnan(value) && class < PROVIDER_CLASSES)
				value = upper_quartile(known[term].offset,
						       (enum provider_class) class);
			if (isnan(value))
				value = of_all;
			out->value[class][term] = isnan(value) ? known[term].last : value;
		}
	}
}

/* The provider's own figure, else what its class is taken for. */
static double resolve(const struct terms *terms, const struct cost_defaults *defaults,
		      enum cost_term term, unsigned *assumed)
{
	double value = terms ? term_value(terms, known[term].offset) : (double)NAN;

	if (!isnan(value))
		return value;
	*assumed |= (1u << term) & ~defaults->given;
	return defaults->value[terms ? terms->class : PROVIDER_CLASSES][term];
}

void cost_terms_resolve(const struct terms *terms, const struct cost_defaults *defaults,
			struct cost_terms *out)
{
	unsigned *assumed = &out->assumed;

	*out = (struct cost_terms){0};
	out->granularity_seconds = resolve(terms, defaults, COST_TERM_GRANULARITY, assumed);
	out->minimum_seconds = resolve(terms, defaults, COST_TERM_MINIMUM, assumed);
	out->setup_seconds = resolve(terms, defaults, COST_TERM_SETUP, assumed);
	out->egress_usd_per_gb = resolve(terms, defaults, COST_TERM_EGRESS_PRICE, assumed);
	out->interruptions_per_hour = resolve(terms, defaults, COST_TERM_INTERRUPTIONS, assumed);
	out->free_egress_gb = terms ? terms->free_egress_gb_per_month : 0;
	/* What nobody confirms is paid for and still not relied upon. */
	out->keeps_data = terms && terms->persistent_volume == TERM_YES;
	out->bills_stopped_storage = !terms || terms->storage_billed_while_stopped != TERM_NO;
	/* A disk that waits is one that is paid for, or part of a volume. */
	out->keeps_machine = terms && terms->can_stop == TERM_YES &&
			     terms->compute_billed_while_stopped == TERM_NO &&
			     (out->keeps_data || terms->storage_billed_while_stopped == TERM_YES);
	out->bills_storage = !terms || terms->persistent_volume != TERM_NO;
	if (out->bills_storage || out->keeps_machine)
		out->volume_usd_per_gb_month =
			resolve(terms, defaults, COST_TERM_VOLUME_PRICE, assumed);
}
