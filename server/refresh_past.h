/*
 * The past: what the next catalogue keeps of offers that left and of what offers were before, so
 * that pollers can be told what changed. Private to refresh; no thread, no database.
 */
#ifndef SERVER_REFRESH_PAST_H
#define SERVER_REFRESH_PAST_H

#include "core/catalogue.h"
#include "server/store/store.h"

struct past {
	int64_t changes_from;
	struct offer *gone;
	size_t gone_count;
	struct offer_state *states;
	size_t states_count;
};

/* Lives in `arena`, its strings in `base` and `view`, either of which may be NULL. False when
 * memory is out. */
bool past_build(struct past *out, struct arena *arena, const struct catalogue *base,
		const struct store_view *view);

#endif
