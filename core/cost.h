/*
 * Cost: what a plan costs on an offer, in whole.
 *
 * Billed time (rounded up to the provider's granularity and minimum in every session, with
 * provisioning, the download of image, weights and data, and their loading) x price x nodes +
 * storage while running and between sessions + egress + expected loss to spot interruptions. What
 * is not known for a provider takes the dearest quartile of its class and is named in `assumed`:
 * never zero. What no provider tells is in struct cost_assumptions.
 */
#ifndef CORE_COST_H
#define CORE_COST_H

#include "core/cost_assumptions.h"
#include "core/offer.h"
#include "core/plan.h"
#include "core/terms.h"
#include "core/workload.h"

enum cost_basis { COST_RUN, COST_MONTH, COST_UNIT, COST_BASES };

/* What work is priced by where no amount of it is given. */
enum cost_unit {
	COST_MILLION_TOKENS,
	COST_THOUSAND_IMAGES,
	COST_VIDEO_MINUTE,
	COST_AUDIO_HOUR,
	COST_THOUSAND_SAMPLES, /* of training a pipeline */
	COST_UNITS
};

/* What becomes of a machine between two sessions. */
enum cost_between {
	BETWEEN_NOTHING, /* one session */
	BETWEEN_STOP,	 /* stopped unbilled, or committed to: its disk waits */
	BETWEEN_VOLUME,	 /* deleted; weights, data and checkpoints wait on a volume */
	BETWEEN_DELETE, /* deleted with all it holds: everything is loaded anew, by every session */
	BETWEENS
};

/* Terms that cost more when nobody publishes them. */
enum cost_term {
	COST_TERM_GRANULARITY,
	COST_TERM_MINIMUM,
	COST_TERM_VOLUME_PRICE,
	COST_TERM_EGRESS_PRICE,
	COST_TERM_INTERRUPTIONS,
	COST_TERM_SETUP,
	COST_TERMS
};

/* Bits of `assumed`: terms that the provider does not publish. */
enum cost_assumed {
	COST_ASSUMED_GRANULARITY = 1 << COST_TERM_GRANULARITY,
	COST_ASSUMED_MINIMUM = 1 << COST_TERM_MINIMUM,
	COST_ASSUMED_VOLUME_PRICE = 1 << COST_TERM_VOLUME_PRICE,
	COST_ASSUMED_EGRESS_PRICE = 1 << COST_TERM_EGRESS_PRICE,
	COST_ASSUMED_INTERRUPTIONS = 1 << COST_TERM_INTERRUPTIONS,
	COST_ASSUMED_SETUP = 1 << COST_TERM_SETUP,
};

struct cost {
	enum cost_basis basis;
	enum cost_between between;
	int nodes;
	double sessions;
	double run_seconds;	/* work alone; per month for COST_MONTH; 0 for COST_UNIT */
	double start_seconds;	/* of that, before work starts: the first session's */
	double wall_seconds;	/* of machines: with every start and interruption */
	double stopped_seconds; /* between sessions */
	double elapsed_seconds; /* from the first start to the end, where hours_per_day tells */
	double billed_seconds;	/* a node */
	int64_t usd_per_hour_micros; /* all nodes */
	int64_t compute_micros, storage_micros, egress_micros, interruption_micros, total_micros;
	int64_t stopped_storage_micros;	   /* part of storage_micros */
	int64_t per_million_tokens_micros; /* PRICE_UNKNOWN when the work has no tokens */
	enum cost_unit unit;
	int64_t per_unit_micros;
	/* Inference: the total shared out by the time that reading and writing take; times the
	 * tokens of each they add up to the total. PRICE_UNKNOWN where there are none. */
	int64_t per_million_input_micros, per_million_output_micros;
	/* Spot, and training on several machines: as given or by Young/Daly; 0 otherwise. */
	double checkpoint_interval_seconds;
	double interruptions_per_hour; /* of all nodes together, by spot and by failures */
	unsigned assumed;	       /* enum cost_assumed */
};

extern const struct names cost_basis_names, cost_between_names, cost_unit_names;

/* " a million tokens". */
const char *cost_unit_words(enum cost_unit unit);

/* What an unknown term is taken for, by class; PROVIDER_CLASSES = of nobody's class. */
struct cost_defaults {
	double value[PROVIDER_CLASSES + 1][COST_TERMS];
	unsigned given; /* enum cost_assumed: the caller's, so no quartile */
};

/* A provider's terms with every unknown one replaced; computed once a provider. */
struct cost_terms {
	double granularity_seconds, minimum_seconds, setup_seconds;
	double volume_usd_per_gb_month, egress_usd_per_gb, free_egress_gb;
	double interruptions_per_hour; /* of one spot instance */
	bool keeps_data;	       /* a volume survives between sessions */
	bool keeps_machine;	       /* it can be stopped, unbilled, with its disk */
	bool bills_stopped_storage;
	bool bills_storage; /* false where only the machine's own disk exists */
	unsigned assumed;   /* enum cost_assumed: what was replaced by a quartile */
};

/* What is computed once a workload. */
struct cost_work {
	const struct workload *workload;
	struct cost_assumptions assumptions;
	struct cost_defaults defaults;
	double weights_gb, data_gb;  /* what is downloaded before the first step */
	double checkpoint_gb;	     /* one checkpoint; 0 when nothing is trained */
	double result_gb;	     /* what leaves the provider at the end of a run */
	double stored_gb;	     /* on a volume while it runs */
	double format_gb[FORMATS];   /* inference: all weights in that format */
	double read_bytes_per_token; /* of the data set, while it trains; 0 = not known */
};

/* Tokens, or items of a pipeline, in what work is priced by where no amount is given. */
double cost_unit_tokens(const struct workload *workload, enum cost_unit *unit);

/* What is computed once a plan. */
struct cost_job {
	const struct cost_work *work;
	enum cost_basis basis;
	int nodes, gpus; /* gpus: of all nodes */
	double sessions;
	double run_seconds;
	double tokens_per_second; /* of a pipeline: items; 0 when the work has no tokens */
	enum cost_unit unit;
	double unit_tokens;			 /* of these in one unit */
	double requests_per_second, input_share; /* inference: of the time, that prompts take */
	double egress_gb;
	double spared_gb; /* of the work's weights, where they come in fewer bits */
};

/* `assumptions` NULL: none is set. */
void cost_work_prepare(const struct workload *workload, const struct cost_assumptions *assumptions,
		       struct cost_work *out);

/* Slows a training plan down to what its nodes read from storage; false when that binds nothing. */
bool cost_throttle(const struct cost_work *work, struct plan *plan);

/* False when the plan has no speed to cost. */
bool cost_job_prepare(const struct cost_work *work, const struct plan *plan, struct cost_job *out);

/* `given` NULL: no assumption is set. */
void cost_defaults_prepare(const struct cost_assumptions *given, struct cost_defaults *out);

/* `terms` NULL: a provider that no table knows. */
void cost_terms_resolve(const struct terms *terms, const struct cost_defaults *defaults,
			struct cost_terms *out);

struct cost_price {
	enum price_kind kind;
	int64_t micros;		       /* an instance-hour */
	double interruptions_per_hour; /* of this type and place; NAN = as the terms have it */
	double term_seconds;	       /* reserved: paid for, used or not; 0 otherwise */
};

/* False when the price is not known or an amount overflows. */
bool cost_of(const struct cost_job *job, const struct cost_terms *terms,
	     const struct cost_price *price, struct cost *out);

/* All of the above for one offer. */
bool cost_compute(const struct workload *workload, const struct cost_assumptions *assumptions,
		  const struct plan *plan, const struct offer *offer, const struct terms *terms,
		  struct cost *out);

#endif
