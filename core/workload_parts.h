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

/* Defaults of task, method and stack into what was not given; the derived fields. */
void workload_fill(struct workload *workload);

/* The same of a pipeline. */
void workload_fill_media(struct workload *workload);

/* Of a pipeline: sizes that are no whole number of its latents' tokens. */
void workload_warn_media(const struct workload *workload, const char *prefix,
			 struct error *warnings);

/* Whether the model takes a field of pictures or sound; of any other field, true. And who does,
 * where it does not; NULL for other fields. */
bool workload_takes_sense(const struct workload *workload, enum workload_field_id field);
const char *workload_why_no_sense(enum workload_field_id field);

/* Inference: what pictures and sound leave open, before lengths are filled; then what they come to.
 */
void workload_fill_senses(struct workload *workload);
void workload_derive_senses(struct workload *workload);

/* Training: lengths of both sides where sound decides them, 0 where it does not. */
struct sound_lengths {
	int64_t source, target;
};
struct sound_lengths workload_sound_lengths(const struct workload *workload);

/* Options that no stack or engine runs together; after workload_fill(). */
bool workload_check_combinations(const struct workload *workload, const char *prefix,
				 struct error *error);

/* Does a pipeline take a field that its task does: by whether it makes pictures, video or sound? */
bool workload_media_takes(const struct workload *workload, enum workload_field_id field);

/* Combinations of options of a pipeline. */
bool workload_check_media(const struct workload *workload, const char *prefix, struct error *error);

/* Contradictions that only show once defaults are in. */
bool workload_check_filled(const struct workload *workload, const char *prefix,
			   struct error *error);

#endif
