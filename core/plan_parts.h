/* What the planner's files share; private to core/plan*.c. */
#ifndef CORE_PLAN_PARTS_H
#define CORE_PLAN_PARTS_H

#include "core/plan.h"

/* One shape being planned. */
struct planning {
	struct plan_basis *basis;
	const struct shape *shape;
	int gpus; /* a node */
	int max_nodes;
	double usable_bytes; /* a GPU, as the driver shows */
	double limit_bytes;  /* of it, what may be used: an engine is told to leave a share alone */
	double ram_bytes;    /* a node's, that offload may take; 0 = not told */
	struct plan_set *out;
};

/* Fills memory, usable, headroom and fit of a plan whose layout is set. */
void plan_judge(const struct planning *planning, struct plan *plan);

/* Offers a judged plan with its speed: kept when it is the best of its number of nodes. `fidelity`
 * is the place of its format in the basis: a lower one wins over speed. */
void plan_keep(struct planning *planning, const struct plan *plan, int fidelity);

/* False when a plan that fits with better fidelity is already kept on as few nodes. */
bool plan_may_win(const struct planning *planning, int nodes, int fidelity);

/* Remembers the layout that missed by least, be it memory of the GPU or the host, or the number of
 * nodes that it needs. */
void plan_miss(struct planning *planning, const struct plan *plan);

/* Layouts of one format; `fidelity` is its place. */
void plan_training(struct planning *planning, int fidelity);
void plan_serving(struct planning *planning, int fidelity);

/* Whether attention can be split that many ways. */
bool plan_divides_heads(const struct architecture *architecture, int ways);

/* GPUs of a node that reach each other over a fast link; 1 over PCIe. */
int plan_domain(const struct planning *planning);

#endif
