/* Compare: answers every variant of a comparison, for the API and for the terminal. */
#ifndef SERVER_API_COMPARE_H
#define SERVER_API_COMPARE_H

#include "core/comparison.h"
#include "server/json/request_input.h"

struct compared {
	const struct comparison_input *input;
	struct recommend_answer answers[COMPARISON_VARIANTS_MAX]; /* of those that are computed */
	struct comparison_variant variants[COMPARISON_VARIANTS_MAX];
	struct comparison comparison;
};

/* NULL with `error` set when memory is out. The result lives in `arena` and borrows from the
 * catalogue. `keeper` of plans may be NULL. */
const struct compared *compare(const struct comparison_input *input,
			       const struct catalogue *catalogue, const struct plan_keeper *keeper,
			       int64_t now_us, struct arena *arena, struct error *error);

/* What is odd about the variants' workloads, with pointers into them. */
void compare_warn(const struct comparison_input *input, struct arena *arena,
		  struct error *warnings);

#endif
