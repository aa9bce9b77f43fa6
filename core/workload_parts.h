/*
 * The parts of workload_complete(), in the order in which it calls them. Private to
 * core/workload*.c: everybody else uses workload.h.
 */
#ifndef CORE_WORKLOAD_PARTS_H
#define CORE_WORKLOAD_PARTS_H

#include "core/workload.h"

#define WORKLOAD_POINTER 160

/* Writes `prefix` + "/" + the field's name and returns `out`. */
const char *workload_pointer(const char *prefix, enum workload_field_id field,
			     char out[WORKLOAD_POINTER]);

/* Two given fields that exclude each other, or one that needs another; adds items to `error`. */
void workload_check_contradictions(const struct workload *workload, const char *prefix,
				   struct error *error);

/* False, with items of code "unsupported", when the product cannot answer it yet. */
bool workload_check_supported(const struct workload *workload, const char *prefix,
			      struct error *error);

/* Defaults of task, method and stack into what was not given; the derived fields. */
void workload_fill(struct workload *workload);

/* Options that no stack or engine runs together; after workload_fill(). */
bool workload_check_combinations(const struct workload *workload, const char *prefix,
				 struct error *error);

/* Contradictions that only show once defaults are in. */
bool workload_check_filled(const struct workload *workload, const char *prefix,
			   struct error *error);

#endif
