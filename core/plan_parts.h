/* What the planner's files share; private to core/plan*.c. */
#ifndef CORE_PLAN_PARTS_H
#define CORE_PLAN_PARTS_H

#include "core/plan.h"

/* One shape being planned. */
struct planning {
	struct plan_basis *basis;
	const struct shape *shape;
	struct fabric fabric;
	int gpus;      /* a node, as software counts them */
	bool can_talk; /* with each other: slices of a card cannot */
	int max_nodes;
	double usable_bytes; /* a GPU, as the driver shows */
	double limit_bytes;  /* of it, what may be used: an engine is told to leave a share alone */
	double ram_bytes;    /* a node's, that offload may take; 0 = not told */
	int evaluations;     /* of layouts of this shape, so far */
	int evaluations_most;
	struct plan_set *out;
};

/* plan_formats.c: the formats under trial on the basis's card, by fidelity. */
void plan_formats(struct plan_basis *basis);
/* Whether the card's figures suffice for the speed of the format of that place; finds its rates
 * when first asked, since formats of less fidelity are seldom come to. */
bool plan_format_has_speed(struct plan_basis *basis, int fidelity);

/* plan_memo.c: forgets everything. */
void plan_memo_clear(struct plan_memo *memo);
/* The copy of the model that a serving layout has, which stays until the next is asked for. */
struct plan_copy *plan_memo_copy(const struct planning *planning, const struct layout *layout);

/* Fills memory, usable, headroom and fit of a plan whose layout is set. */
void plan_judge(struct planning *planning, struct plan *plan);
/* The same but the memory, which is known. */
void plan_fit(const struct planning *planning, struct plan *plan);

/* Fills speed and support of a plan whose layout is set. */
void plan_time(struct planning *planning, int fidelity, struct plan *plan);

/* True when the evaluations that this shape may take are spent: the set is marked as cut. */
bool plan_is_spent(struct planning *planning);

/* Offers a judged plan with its speed: kept when it is the best of its number of nodes. `fidelity`
 * is the place of its format in the basis: a lower one wins over speed. */
void plan_keep(struct planning *planning, const struct plan *plan, int fidelity);

/* False when a plan that fits with better fidelity is already kept on as few nodes. */
bool plan_may_win(const struct planning *planning, int nodes, int fidelity);

/* Whether a plan of that speed at best, on that many nodes at least, cannot win: one of no less
 * speed and fidelity, that fits, is kept on as few. */
bool plan_is_beaten(const struct planning *planning, int nodes, const struct speed_estimate *speed,
		    int fidelity);

/* Whether a miss at that distance would be the nearest so far. */
bool plan_is_nearer(const struct planning *planning, double distance);

/* Most nodes on which a plan of that fidelity is still a choice: fewer than those that fit with
 * better fidelity take. */
int plan_nodes_left(const struct planning *planning, int fidelity);

/* Remembers the layout that missed by least, be it memory of the GPU or the host, or the number of
 * nodes that it needs. */
void plan_miss(struct planning *planning, const struct plan *plan);

/* Layouts of one format; `fidelity` is its place. */
void plan_training(struct planning *planning, int fidelity);
void plan_serving(struct planning *planning, int fidelity);

/* plan_media.c: of a pipeline. */
void plan_media(struct planning *planning, int fidelity);
void plan_media_most(const struct workload *workload, struct plan *plan);

/* Of a kept plan for a rate, what its replicas can do at most. */
void plan_serving_most(struct planning *planning, int fidelity, struct plan *plan);

/* Whether attention can be split that many ways. */
bool plan_divides_heads(const struct plan_basis *basis, int ways);

/* GPUs of a node that reach each other over a fast link; 1 over PCIe. */
int plan_domain(const struct planning *planning);

/* One way to hold a copy of a served model, and the plan being made of it. */
struct serving {
	struct planning *planning;
	const struct workload *workload;
	const struct plan_format *format;
	int fidelity;
	struct plan plan;	/* of one replica count, being tried */
	struct plan_copy *copy; /* of the plan's layout */
	double judged;		/* sequences that its memory was judged with */
	bool is_late;		/* a limit on latency, not memory, keeps it from more of them */
	double missed;		/* how many times over such a limit a single one was, if it was */
};

/* plan_load.c: plan_judge() and plan_time() of the plan, which has a copy. */
void plan_load_judge(struct serving *serving);
void plan_load_time(struct serving *serving);

/* Remembers the layout that came nearest to the limits on latency or on nodes. */
void plan_load_miss(struct serving *serving, double distance);

/* How many times over what it may take a replica with that many sequences is, in memory for a fit
 * of `wanted` or in its latency; up to 1 it holds them. */
double plan_load(struct serving *serving, double sequences, enum fit wanted);

/* Most sequences, up to `wanted`, that one replica holds; 0 when not even one. */
double plan_load_held(struct serving *serving, double wanted, enum fit fit);

/* Requests a second that one replica of the layout answers with that many sequences. */
double plan_load_rate(struct serving *serving, double sequences);

/* Fewest sequences a replica at which it answers `rate` requests a second; `most` when none does.
 */
double plan_load_for_rate(struct serving *serving, double rate, double most);

/* plan_batch.c: training on one set of degrees. */
struct choices {
	int values[5];
	int count;
};

/* The best of one number of nodes, found so far. */
struct plan_pick {
	struct layout layout;
	enum fit fit; /* FIT_NO: none */
	double tokens_per_second;
};

struct training {
	struct planning *planning;
	const struct plan_format *format;
	int fidelity;
	struct choices recomputes, shardings;
	struct choices tried;  /* of the shardings, those of use to the ranks at hand */
	struct plan plan;      /* being tried: layout with degrees, ranks and offload set */
	struct plan_pick best; /* of this number of nodes */
	double rank_speed; /* of the degrees tried last: most tokens a second and rank, whether that
			      fitted or not */
};

struct choices plan_recomputes(const struct workload *workload);

/* Lists the divisors of a global batch in the basis. */
void plan_divisors(int64_t batch, struct plan_basis *basis);

/* Whether no layout of the degrees in `plan` fits; remembers the one that missed by least. */
bool plan_is_hopeless(struct training *training, int ranks);

/* Tries every sharding, recomputation and micro-batch of the degrees in `plan`. */
void plan_batches(struct training *training, int ranks);

#endif
