/*
 * Cost: what a plan costs on an offer, in whole.
 *
 * Billed time (rounded up to the provider's granularity and minimum, with provisioning and weight
 * download) x price x nodes + storage + egress + expected loss to spot interruptions. A term that
 * is not known for a provider takes the dearest quartile of its class and is named in `assumed`:
 * never zero.
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
	double run_seconds;	     /* work alone; per month for COST_MONTH; 0 for COST_UNIT */
	double wall_seconds;	     /* with setup, download and interruptions */
	double billed_seconds;	     /* a node */
	int64_t usd_per_hour_micros; /* all nodes */
	int64_t compute_micros, storage_micros, egress_micros, interruption_micros, total_micros;
	int64_t per_million_tokens_micros;  /* PRICE_UNKNOWN when the work has no tokens */
	double checkpoint_interval_seconds; /* spot: as given or by Young/Daly; 0 otherwise */
	double interruptions_per_hour;	    /* spot: of one instance; 0 otherwise */
	unsigned assumed;		    /* enum cost_assumption */
};

extern const struct names cost_basis_names;

/* A provider's terms with every unknown one replaced; computed once a provider. */
struct cost_terms {
	double granularity_seconds, minimum_seconds, setup_seconds;
	double volume_usd_per_gb_month, egress_usd_per_gb, free_egress_gb;
	double interruptions_per_hour; /* of one spot instance */
	bool keeps_data;	       /* a volume survives between sessions */
	bool bills_storage;	       /* false where only the machine's own disk exists */
	unsigned assumed;	       /* enum cost_assumption: what was replaced */
};

/* What is computed once a workload. */
struct cost_work {
	const struct workload *workload;
	double download_gb;   /* weights and data set, before the first step */
	double checkpoint_gb; /* one checkpoint; 0 when nothing is trained */
	double result_gb;     /* what leaves the provider at the end of a run */
	double stored_gb;     /* on a volume while it runs */
};

/* What is computed once a plan. */
struct cost_job {
	const struct cost_work *work;
	enum cost_basis basis;
	int nodes, sessions;
	double run_seconds;
	double tokens_per_second; /* 0 when the work has no tokens */
	double egress_gb;
};

/* `terms` NULL: a provider that no table knows. */
void cost_terms_resolve(const struct terms *terms, struct cost_terms *out);
void cost_work_prepare(const struct workload *workload, struct cost_work *out);

/* False when the plan has no speed to cost. */
bool cost_job_prepare(const struct cost_work *work, const struct plan *plan, struct cost_job *out);

struct cost_price {
	enum price_kind kind;
	int64_t micros;		       /* an instance-hour */
	double interruptions_per_hour; /* of this type and place; NAN = as the terms have it */
};

/* False when the price is not known or an amount overflows. */
bool cost_of(const struct cost_job *job, const struct cost_terms *terms,
	     const struct cost_price *price, struct cost *out);

/* All of the above for one offer. */
bool cost_compute(const struct workload *workload, const struct plan *plan,
		  const struct offer *offer, const struct terms *terms, struct cost *out);

#endif
