/*
 * Comparison: one workload in several variants, each already answered by recommend(): which is
 * cheapest, soonest, smallest, and how every one differs from the first.
 *
 * What counts of a variant is its best recommendation. Figures are only compared where they mean
 * the same: a total with a total, a run with a run.
 */
#ifndef CORE_COMPARISON_H
#define CORE_COMPARISON_H

#include "core/recommend.h"

#define COMPARISON_VARIANTS_MAX 16

/* What the time of a variant is. */
enum time_basis {
	TIME_RUN,	     /* the whole work, with setup and interruptions */
	TIME_MILLION_TOKENS, /* without an amount of work: a million tokens */
	TIME_REQUEST,	     /* a service: one request, from its arrival to its last token */
	TIME_BASES
};

/* The figures of one variant: filled by comparison_read(), kept when its answer is gone. */
struct comparison_variant {
	const char *name;
	bool is_computed;    /* false: there was no time left for it */
	bool is_feasible;    /* has a recommendation: what follows but memory is then set */
	double memory_bytes; /* were it one GPU of any size */
	enum cost_basis cost_basis;
	enum cost_unit unit; /* what a cost of that basis is of, where no amount is given */
	int64_t cost_micros; /* total; a million tokens where there is no total; or PRICE_UNKNOWN */
	enum time_basis time_basis;
	double seconds; /* 0 = not known */
};

/* A figure against the first variant's; 0 where they cannot be compared. */
struct comparison_ratios {
	double memory, cost, time;
	const char *text;
};

struct comparison {
	int cheapest, fastest, smallest; /* index; -1 = cannot be told, or all are the same */
	struct comparison_ratios ratios[COMPARISON_VARIANTS_MAX]; /* of the first: all 1 */
	const char *text;					  /* the three in a sentence */
};

extern const struct names time_basis_names;

void comparison_read(const char *name, const struct workload *workload,
		     const struct recommend_answer *answer, struct comparison_variant *out);

/* Texts live in `arena`; false only when memory is out. */
bool comparison_compute(const struct comparison_variant *variants, int count, struct arena *arena,
			struct comparison *out);

#endif
