/*
 * Cost: what a plan costs on an offer, in whole.
 *
 * Billed time (rounded up to the provider's granularity and minimum, with provisioning and weight
 * download) x price x nodes + storage + egress + expected loss to spot interruptions. A term that is
 * not known for a provider takes the dearest quartile of its class and is named in `assumed`: never
 * zero.
 */
#ifndef CORE_COST_H
#define CORE_COST_H

#include "core/offer.h"
#include "core/plan.h"
#include "core/terms.h"
#include "core/workload.h"

enum cost_basis { COST_RUN, COST_MONTH, COST_UNIT, COST_BASES };

/* Bits of `assumed`: terms that the provider does not publish. */
enum cost_assumption {
	COST_ASSUMED_GRANULARITY = 1 << 0,
	COST_ASSUMED_MINIMUM = 1 << 1,
	COST_ASSUMED_VOLUME_PRICE = 1 << 2,
	COST_ASSUMED_EGRESS_PRICE = 1 << 3,
	COST_ASSUMED_INTERRUPTIONS = 1 << 4,
	COST_ASSUMED_SETUP = 1 << 5,
};

struct cost {
	enum cost_basis basis;
	int nodes;
	double run_seconds;    /* work alone; per month for COST_MONTH; 0 for COST_UNIT */
	double wall_seconds;   /* with setup, download and interruptions */
	double billed_seconds; /* a node */
	int64_t usd_per_hour_micros; /* all nodes */
	int64_t compute_micros, storage_micros, egress_micros, interruption_micros, total_micros;
	int64_t per_million_tokens_micros; /* PRICE_UNKNOWN when the work has no tokens */
	double checkpoint_interval_seconds; /* spot: as given or by Young/Daly; 0 otherwise */
	unsigned assumed;		    /* enum cost_assumption */
};

extern const struct names cost_basis_names;

/* False when the price is not known or an amount overflows. */
bool cost_compute(const struct workload *workload, const struct plan *plan, const struct offer *offer,
		  const struct terms *terms, struct cost *out);

#endif
