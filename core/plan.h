/*
 * Plan: the best layouts of a workload on one hardware shape, and their speed.
 *
 * Memory and speed terms are computed once per workload and accelerator; layouts are judged from them.
 * Prices play no part here: the planner returns the fastest layout that fits (and for inference the
 * one of highest throughput), so that price and billing decide afterwards.
 */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include "core/catalogue.h"
#include "core/memory.h"
#include "core/speed.h"
#include "core/support.h"
#include "core/workload.h"

enum fit {
	FIT_NO,
	FIT_TIGHT, /* only the point estimate is within what the driver shows */
	FIT_FITS,  /* the high estimate is */
};

struct plan {
	struct layout layout;
	enum fit fit;
	struct support_verdict support;
	struct memory_estimate memory;
	double usable_bytes;	/* a GPU, as the driver shows */
	double headroom_bytes;	/* usable - device */
	struct speed_estimate speed;
	double kv_tokens_capacity; /* inference: tokens that fit in one replica */
	double max_concurrency;	   /* inference: sequences of the asked context, all replicas */
};

enum plan_failure {
	PLAN_OK,
	PLAN_UNSUPPORTED,    /* see nearest.support */
	PLAN_NO_MEMORY,	     /* nearest holds the layout that came closest */
	PLAN_NO_FIGURES,     /* the card's figures do not suffice for speed */
	PLAN_TOO_SLOW,	     /* latency limits cannot be met */
	PLAN_NO_CLUSTER,     /* would need nodes that nothing joins */
	PLAN_FAILURES
};

extern const struct names plan_failure_names;

#define PLANS_MAX 4

struct plan_set {
	struct plan plans[PLANS_MAX]; /* best first; distinct trade-offs (time, throughput, fewest GPUs) */
	int count;
	enum plan_failure failure; /* when count is 0 */
	struct plan nearest;	   /* when count is 0 and a layout came close */
};

/* `max_nodes` 1 keeps to one node. */
void plan_shape(const struct workload *workload, const struct shape *shape, int max_nodes,
		struct plan_set *out);

#endif
