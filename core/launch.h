/*
 * Launch: a recommendation as something to act on: a SkyPilot task, a dstack task and the
 * provider's own command or page. Text only; nothing is started here.
 *
 * Only what is known to be right is written. Where a tool does not serve a provider, or cannot name
 * this very machine, there is no text but the reason. What only the caller knows (data, keys, an
 * own training script) is an environment variable that the script asks for.
 *
 * Names of regions and machines come from providers' feeds: each is quoted for the place where it
 * stands, and one that holds control characters is refused.
 */
#ifndef CORE_LAUNCH_H
#define CORE_LAUNCH_H

#include "core/recommend.h"

/* Each: text, or NULL and why there is none. */
struct launch_text {
	const char *text;
	const char *reason;
};

struct launch {
	struct launch_text skypilot, dstack; /* YAML */
	struct launch_text command;	     /* shell */
	const char *page;		     /* where a person rents; NULL = not known */
};

/* Lives in `arena`; false only when memory is out. */
bool launch_write(const struct workload *workload, const struct recommendation *item,
		  struct arena *arena, struct launch *out);

#endif
