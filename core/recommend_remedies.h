/* Trying ways to change a request: shared by core/recommend_remedies.c and core/recommend_pairs.c.
 */
#ifndef CORE_RECOMMEND_REMEDIES_H
#define CORE_RECOMMEND_REMEDIES_H

#include "core/recommend_parts.h"

#define REMEDIES_MAX 8

/* Ways to change a request, taken together. */
struct ways {
	const struct change *changes[REMEDY_CHANGES_MAX];
	int count;
};

/* What the trials of one answer share. */
struct trials {
	const struct recommend_request *request;
	const struct catalogue *catalogue;
	int64_t now_us;
	const struct screen *screen;
	struct arena *arena;
	const struct recommendation *best; /* what has to be beaten; NULL = nothing fits */
	struct bar bar;
	enum fit least; /* that is of use */
	struct recommend_answer *out;
	struct remedy *remedies;
};

/* recommend_remedies.c: a remedy, where the request so changed gives something better; `tried` is
 * raised where the changes apply. */
bool remedies_try(struct trials *trials, const struct ways *ways, int *tried, struct error *error);

/* recommend_pairs.c */
bool remedies_try_pairs(const struct trials *singles, struct error *error);

#endif
