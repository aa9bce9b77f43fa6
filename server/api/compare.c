/* Compare: see compare.h. */
#include "server/api/compare.h"

#include "server/clock.h"

/*
 * A worker answers nobody else meanwhile, so that a comparison stops before its next variant once
 * this has passed; what is left out says so. An ordinary variant takes about a millisecond, the
 * dearest found a third of a second.
 */
#define BUDGET_US (2 * US_PER_SECOND)

void compare_warn(const struct comparison_input *input, struct arena *arena, struct error *warnings)
{
	for (int i = 0; i < input->count; i++) {
		const char *prefix = arena_printf(arena, "/variants/%d/workload", i);

		workload_warn(&input->variants[i].request.workload, prefix ? prefix : "", warnings);
	}
}

const struct compared *compare(const struct comparison_input *input,
			       const struct catalogue *catalogue, const struct plan_keeper *keeper,
			       int64_t now_us, struct arena *arena, struct error *error)
{
	struct compared *out = arena_alloc(arena, sizeof(*out));
	int64_t started_us = clock_monotonic_us();

	if (!out) {
		error_set(error, ERROR_TOO_LARGE, "the comparison needs too much memory");
		return NULL;
	}
	out->input = input;
	for (int i = 0; i < input->count; i++) {
		struct recommend_request request = input->variants[i].request;

		out->variants[i] = (struct comparison_variant){.name = input->names[i]};
		if (clock_monotonic_us() - started_us > BUDGET_US)
			continue;
		request.keeper = keeper;
		if (!recommend(&request, catalogue, now_us, arena, &out->answers[i], error))
			return NULL;
		comparison_read(input->names[i], &request.workload, &out->answers[i],
				&out->variants[i]);
	}
	if (!comparison_compute(out->variants, input->count, arena, &out->comparison)) {
		error_set(error, ERROR_TOO_LARGE, "the comparison needs too much memory");
		return NULL;
	}
	return out;
}
