/* Writing reasons and warnings; private to core/recommend_reasons.c, core/recommend_media.c,
 * core/recommend_warnings.c, core/recommend_rental.c, core/recommend_remedies.c,
 * core/recommend_exclude.c and core/comparison.c. */
#ifndef CORE_RECOMMEND_NOTES_H
#define CORE_RECOMMEND_NOTES_H

#include "core/recommend_parts.h"

#define DURATION_TEXT 24

/* A note without text (memory is out) is left out. */
void note_add(struct note *notes, int *count, const char *code, const char *text);

/* "42 s", "17 min", "5.3 h", "12.1 days" */
void duration_text(double seconds, char out[DURATION_TEXT]);

/* "12.34", "0.0041": cents, and more digits where cents would show next to nothing. */
struct usd_text {
	char text[24];
};
struct usd_text usd_text(int64_t micros);

/* As people write it: "InfiniBand", "RoCE". */
const char *note_cluster_link(enum cluster_link link);

/* recommend_media.c, of pipelines: what a plan makes; the phase that bounds it, and its name; why a
 * plan is too slow. */
void recommend_media_speed(const struct workload *workload, const struct candidate *candidate,
			   struct arena *arena, struct recommendation *out);
const struct speed_phase *recommend_media_phase(const struct workload *workload,
						const struct speed_estimate *speed,
						const char **what);
const char *recommend_media_miss(struct arena *arena, const char *name,
				 const struct workload *workload, const struct plan *slow,
				 int max_nodes);

/* Whether GPUs of the plan exchange data at all. */
bool note_gpus_talk(const struct plan *plan);

/* What the warnings about one answer are made from. */
struct warner {
	const struct search *search;
	const struct candidate *candidate;
	const struct workload *workload;
	const struct plan *plan;
	const struct shape *shape;
	const struct offer *offer;
	const struct offer_list *list;
	struct arena *arena;
	struct recommendation *out;
};

void warn(struct warner *warner, const char *code, const char *text);
void warn_rental(struct warner *warner); /* recommend_rental.c */

void recommend_warnings(const struct search *search, const struct candidate *candidate,
			struct recommendation *out);

#endif
