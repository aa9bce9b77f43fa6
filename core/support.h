/*
 * Support: does a method in a format run on an architecture of card at all? Decided before memory
 * is computed: a card that has room but no kernels is no answer.
 */
#ifndef CORE_SUPPORT_H
#define CORE_SUPPORT_H

#include "core/accelerator.h"
#include "core/workload.h"

enum support {
	SUPPORT_RUNS,
	SUPPORT_SLOW,	 /* runs on a slow path: ranked, with a warning */
	SUPPORT_NO,	 /* does not run */
	SUPPORT_UNKNOWN, /* nobody showed that it runs: excluded, with that reason */
};

struct support_verdict {
	enum support support;
	const char *
		code; /* "no_bf16", "no_fp8_kernels", "dropped_by_frameworks", ...; NULL for RUNS */
	const char *reason; /* one sentence; NULL for RUNS */
};

/* `weight_format` is the format under trial (inference or a quantised base), else FORMAT_AUTO. */
struct support_verdict support_of(const struct workload *workload, enum format weight_format,
				  const struct accelerator *accelerator);

#endif
