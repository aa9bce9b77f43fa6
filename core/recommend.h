/*
 * Recommend: workload + catalogue → ranked, priced instances, with reasons, exclusions and
 * remedies.
 */
#ifndef CORE_RECOMMEND_H
#define CORE_RECOMMEND_H

#include "core/catalogue.h"
#include "core/cost.h"
#include "core/plan_table.h"
#include "core/workload.h"

enum objective {
	OBJECTIVE_TOTAL_COST,
	OBJECTIVE_TIME,
	OBJECTIVE_USD_PER_HOUR,
	OBJECTIVE_USD_PER_MILLION_TOKENS,
	OBJECTIVE_VALUE,
	OBJECTIVES
};
enum grouping { GROUP_SHAPE, GROUP_OFFER, GROUPINGS };

/* What a provider must offer: bits of filters.features. */
enum feature {
	FEATURE_PERSISTENT_VOLUME,
	FEATURE_SHARED_FILESYSTEM,
	FEATURE_DOCKER,
	FEATURE_SSH,
	FEATURE_JUPYTER,
	FEATURE_BARE_METAL,
	FEATURE_CAN_STOP,
	FEATURE_CLUSTER,
	FEATURES
};

/* An empty list filters nothing. */
struct filters {
	const char *const *providers;
	size_t providers_count;
	const char *const *excluded_providers;
	size_t excluded_providers_count;
	const char *const *regions;
	size_t regions_count;
	const char *const *countries; /* ISO alpha-2 */
	size_t countries_count;
	const struct accelerator *const *accelerators;
	size_t accelerators_count;
	unsigned price_kinds;	   /* bits of enum price_kind; 0 = all */
	unsigned features;	   /* bits of enum feature */
	int least_gpus, most_gpus; /* 0 = free */
	bool available_only;	   /* availability is yes */
	int64_t max_age_seconds;   /* of a price; 0 = any */
};

struct constraints {
	double deadline_seconds;	 /* 0 = none */
	int64_t max_total_micros;	 /* PRICE_UNKNOWN = none */
	int64_t max_usd_per_hour_micros; /* PRICE_UNKNOWN = none */
	int max_nodes; /* 0 = default: training one, serving up to eight copies' nodes */
};

struct recommend_request {
	struct workload workload; /* completed */
	struct constraints constraints;
	struct filters filters;
	const struct cost_assumptions *assumptions; /* NULL = nobody set any */
	const struct plan_keeper *keeper;	    /* of plans between requests; NULL = none */
	enum objective objective;
	enum grouping group;
	int limit;
};

/* A statement about an answer: a stable code and a sentence with figures. */
struct note {
	const char *code;
	const char *text;
};

#define NOTES_MAX 16

struct recommendation {
	const struct offer *offer;
	const struct shape *shape;
	struct plan plan;
	struct cost cost;
	bool is_pareto; /* no other answer is both cheaper and sooner */
	struct note reasons[NOTES_MAX], warnings[NOTES_MAX];
	int reasons_count, warnings_count;
	/* Places of offers of the same shape, next in order of cost; GROUP_SHAPE. */
	const uint32_t *alternatives;
	int alternatives_count;
};

/* Why something is not in the answer; `nearest` is the one that missed by least, or NULL. */
struct exclusion {
	const char *reason; /* code: "memory", "unsupported", "filtered_provider", "unknown_price",
			       ... */
	const char *text;
	uint32_t shapes, offers;
	const struct shape *nearest;
	const char *nearest_text; /* what it lacks, with figures; or NULL */
};

#define REMEDY_CHANGES_MAX 2

struct remedy {
	const char *code; /* "qlora", "quantise_kv", ...; "combined" of several changes */
	const char *changes[REMEDY_CHANGES_MAX]; /* their codes; NULL ends them */
	const char *text;
	const struct recommendation
		*result; /* checked by the core: what it would give; NULL if none */
};

struct recommend_answer {
	struct memory_estimate memory;	     /* on one GPU of any size: see struct sizing */
	struct cost_assumptions assumptions; /* that every total rests on */
	const struct recommendation *recommendations;
	int recommendations_count;
	const struct exclusion *exclusions;
	int exclusions_count;
	const struct remedy *remedies;
	int remedies_count;
	uint32_t shapes_considered, offers_considered;
	uint32_t searches_cut; /* shapes whose layouts were not all tried */
	int max_nodes;	       /* as asked, or the default of the task */
};

extern const struct names objective_names, grouping_names, feature_names;

/* `now_us` is the clock, handed in: core has none. Everything in `out` lives in `arena` and borrows
 * from the catalogue. False only when memory is out. */
bool recommend(const struct recommend_request *request, const struct catalogue *catalogue,
	       int64_t now_us, struct arena *arena, struct recommend_answer *out,
	       struct error *error);

#endif
