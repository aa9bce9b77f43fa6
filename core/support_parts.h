/* What the files of support share; nobody else includes it. */
#ifndef CORE_SUPPORT_PARTS_H
#define CORE_SUPPORT_PARTS_H

#include "core/support.h"

#define VERDICT(support_, code_, reason_)                                                          \
	((struct support_verdict){.support = (support_), .code = (code_), .reason = (reason_)})
#define RUNS ((struct support_verdict){.support = SUPPORT_RUNS})

static inline bool is_training(const struct workload *workload)
{
	return workload->task != TASK_INFERENCE;
}

/* support_nvidia.c */
struct support_verdict support_nvidia(const struct workload *workload, enum format format,
				      const struct accelerator *accelerator);

/* support_others.c */
struct support_verdict support_amd(const struct workload *workload, enum format format,
				   const struct accelerator *accelerator);
struct support_verdict support_others(const struct workload *workload, enum format format,
				      const struct accelerator *accelerator);

#endif
