/*
 * Pairs: two changes at once, where memory lacks and no change alone gives a fit; those first that
 * cost the work the least time.
 */
#include "core/recommend_remedies.h"

#include <string.h>

/* Pairs of changes that are tried at most. */
#define PAIRS_MAX 12
/* Where so many machines may share the work, each trial is dear, and memory is theirs to spread. */
#define PAIRS_NODES_MAX 64

/* Whether some card lacks memory for the work. */
static bool lacks_memory(const struct recommend_answer *answer)
{
	for (int i = 0; i < answer->exclusions_count; i++)
		if (strcmp(answer->exclusions[i].reason, "memory") == 0)
			return true;
	return false;
}

/* Nothing fits, as asked or with one change. */
static bool is_without_fit(const struct trials *trials)
{
	const struct recommend_answer *out = trials->out;

	for (int i = 0; i < out->remedies_count; i++)
		if (out->remedies[i].result->plan.fit == FIT_FITS)
			return false;
	return (!trials->best || trials->best->plan.fit != FIT_FITS) && lacks_memory(out);
}

/* Where something just fits already, two changes are worth their while for a fit alone. */
static void ask_for_fit(struct trials *trials)
{
	if (!trials->best && !trials->out->remedies_count)
		return;
	trials->least = FIT_FITS;
	trials->bar = (struct bar){FIT_TIGHT, 0, false};
}

/* Two changes that cost so much time together, unless as many pairs as may be were tried. */
static bool try_pairs_of(struct trials *trials, int delay, int *tried, struct error *error)
{
	const struct change *end = recommend_changes + recommend_changes_count;

	for (const struct change *first = recommend_changes; first < end; first++)
		for (const struct change *second = first + 1; second < end; second++) {
			const struct ways ways = {{first, second}, 2};

			if (!first->delay || !second->delay ||
			    first->delay + second->delay != delay ||
			    strcmp(first->code, second->code) == 0)
				continue;
			if (*tried == PAIRS_MAX || trials->out->remedies_count == REMEDIES_MAX ||
			    !is_without_fit(trials))
				return true;
			ask_for_fit(trials);
			if (!remedies_try(trials, &ways, tried, error))
				return false;
		}
	return true;
}

bool remedies_try_pairs(const struct trials *singles, struct error *error)
{
	struct trials trials = *singles;
	int tried = 0;

	if (recommend_max_nodes(trials.request) > PAIRS_NODES_MAX)
		return true;
	for (int delay = 2; delay <= 2 * CHANGE_DELAY_MOST; delay++)
		if (!try_pairs_of(&trials, delay, &tried, error))
			return false;
	return true;
}
