/* Writing reasons and warnings; private to core/recommend_reasons.c and core/recommend_warnings.c.
 */
#ifndef CORE_RECOMMEND_NOTES_H
#define CORE_RECOMMEND_NOTES_H

#include "core/recommend_parts.h"

#define DURATION_TEXT 24

/* A note without text (memory is out) is left out. */
void note_add(struct note *notes, int *count, const char *code, const char *text);

/* "42 s", "17 min", "5.3 h", "12.1 days" */
void duration_text(double seconds, char out[DURATION_TEXT]);

/* Whether GPUs of the plan exchange data at all. */
bool note_gpus_talk(const struct plan *plan);

void recommend_warnings(const struct search *search, const struct candidate *candidate,
			struct recommendation *out);

#endif
