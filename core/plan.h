/*
 * Plan: the best layouts of a workload on one hardware shape, and their speed.
 *
 * Memory and speed terms are computed once per workload and accelerator; layouts are judged from
 * them. Prices play no part here: the planner returns the fastest layout that fits for each number
 * of nodes, so that price and billing decide afterwards.
 *
 * Training spreads one job over nodes, so nodes beyond one need a fabric that joins them. Serving
 * spreads copies of the model, which need none.
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
	double usable_bytes;   /* a GPU, as the driver shows */
	double headroom_bytes; /* usable - device */
	struct speed_estimate speed;
	int idle_gpus; /* rented, but in no copy of the model */
	bool is_cut;   /* faster layouts may exist: see PLAN_EVALUATIONS_MAX */
	/* Inference at a rate. The layout's sequences are as few as answer it, so that each token
	 * comes soon; with as many as have room within the limits on latency its replicas answer
	 * this many requests a second, of which the rate takes a share. */
	double most_requests_per_second, utilisation;
	double most_sequences; /* that one replica has room for within them; 0 = not looked for */
	double wait_seconds;   /* until a request's prompt is taken up */
	double kv_tokens_capacity; /* inference: tokens that fit in one replica */
	double max_concurrency;	   /* inference: sequences of the asked context, all replicas */
};

enum plan_failure {
	PLAN_OK,
	PLAN_UNSUPPORTED, /* see nearest.support */
	PLAN_NO_MEMORY,	  /* nearest holds the layout that came closest */
	PLAN_NO_FIGURES,  /* the card's figures do not suffice for speed */
	PLAN_TOO_SLOW,	  /* latency limits cannot be met */
	PLAN_NO_CLUSTER,  /* would need nodes that nothing joins */
	PLAN_NO_LAYOUT,	  /* the degrees that were asked do not divide these machines */
	PLAN_FAILURES
};

extern const struct names plan_failure_names;

/* One for each number of nodes that training tries: 1, 2, 4 ... 1024. Fewer would hide from a
 * deadline the large clusters that alone can keep it. */
#define PLANS_MAX 11

/*
 * Share of the saturated rate that a service is sized for. A request waits for rho / (1 - rho)
 * service times where arrivals are random (M/M/1): 4 at this load, 19 at 0.95, without end at 1.
 */
#define PLAN_TARGET_LOAD 0.8

/*
 * Evaluations of a layout (of its memory, or of its speed: about 0.1 us each) that one workload may
 * take over all shapes, that one shape may take, and that every shape may take however much the
 * others took. Only models with many experts on hundreds of nodes come near; a set whose search
 * ended early says so.
 */
#define PLAN_EVALUATIONS_MAX 40000
#define PLAN_EVALUATIONS_SHAPE 2000
#define PLAN_EVALUATIONS_LEAST 64

struct plan_set {
	int count;
	bool is_cut;		    /* not every layout was tried: see PLAN_EVALUATIONS_MAX */
	enum plan_failure failure;  /* when count is 0 */
	double nearest_limit_bytes; /* what `nearest` had to stay under: less than usable for an
				       engine */
	double nearest_ram_bytes;   /* the same of a node's RAM, for offload; 0 = not told */
	double nearest_distance; /* how many times over; needing too many nodes counts the same */
	double slow_distance;	 /* how many times over a latency limit, or over the nodes that may
				    share the rate, `slow` is; 0 = none */
	/* Last, so that a set may be kept with as many places as it fills. */
	union {
		struct plan plans[PLANS_MAX]; /* by nodes, fewest first; the best of each number */
		struct {
			struct plan nearest; /* when count is 0 and a layout came close */
			struct plan slow;    /* on PLAN_TOO_SLOW: the layout that had room and came
						nearest */
		};
	};
};

/* A weight format under trial on one card: whether it runs there, and its rates. */
struct plan_format {
	enum format weight, kv;
	enum format trial; /* that the card is judged with */
	struct support_verdict support;
	bool is_timed, has_speed; /* see plan_format_has_speed(), which fills `speed` */
	struct speed_basis speed;
};

#define PLAN_FORMATS_MAX 12
#define PLAN_DIVISORS_MAX 448 /* no whole number up to 1e7 has more */

/* One way to hold a copy of a served model on the card at hand: see plan_memo.c. */
struct plan_copy_key {
	uint32_t card; /* 1 + how many others came before; 0 = none */
	int tensor, stages, domain;
	enum format weight, kv;
	enum node_link link;
	double link_bytes_per_second;
};

/* How many sequences one replica holds, up to so many that are wanted, for a fit. */
struct plan_held {
	double wanted; /* 0 = not known */
	int fit;
	double sequences;
	double tried;  /* those that were looked at last */
	double missed; /* when not even one: how many times over a limit on latency that one is */
	bool is_late;
};

#define PLAN_LOADS 8

struct plan_copy {
	struct plan_copy_key key;
	struct memory_copy memory;
	struct speed_copy speed;
	/* Of one replica, what was found last. */
	struct {
		double sequences;
		struct speed_load load;
	} loads[PLAN_LOADS];
	unsigned loads_count;
	struct plan_held held; /* what was asked of it last */
};

#define PLAN_MEMO 64

struct plan_memo {
	uint32_t card;
	struct plan_copy copies[PLAN_MEMO];
};

/* What is computed once a workload, and once a card, before layouts are judged. */
struct plan_basis {
	const struct workload *workload;
	struct memory_basis memory;
	struct speed_basis speed;	       /* without a card */
	const struct accelerator *accelerator; /* the card that the formats below are for */
	int32_t share_milli;		       /* of one card: under 1000 for a slice */
	struct accelerator slice; /* the card scaled to that share; accelerator itself otherwise */
	struct plan_format formats[PLAN_FORMATS_MAX]; /* by fidelity, best first */
	int formats_count;
	int32_t divisors[PLAN_DIVISORS_MAX]; /* of a global batch that was given, rising */
	int divisors_count;
	int heads, kv_heads; /* what tensor parallelism may divide: see architecture.h */
	int64_t evaluations; /* of layouts, so far */
	struct plan_memo memo;
};

void plan_prepare(const struct workload *workload, struct plan_basis *basis);

/* `max_nodes` 1 keeps to one node. Shapes of one card in a row cost least. */
void plan_shape(struct plan_basis *basis, const struct shape *shape, int max_nodes,
		struct plan_set *out);

#endif
