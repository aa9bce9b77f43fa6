/*
 * Names: the spelling of an enum's values, and the nearest spelling to one that is wrong.
 *
 * A name table is a constant array indexed by the enum. Look-up is exact; names_nearest() only
 * feeds the suggestion of an error, it never decides what a caller meant.
 */
#ifndef CORE_NAMES_H
#define CORE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct names {
	const char *const *text; /* text[value]; NULL entries are values that cannot be asked for */
	int count;
};

/* The value, or -1. Case-sensitive. */
int names_find(const struct names *names, const char *text);

/* The spelling, or "unknown" for a value outside the table. */
const char *names_text(const struct names *names, int value);

/* The entry with the smallest edit distance, or NULL when none is near (over a third of its
 * length). */
const char *names_nearest(const struct names *names, const char *text);

/* As strcmp, with ASCII letters compared without case: the order of the fact tables. */
int names_compare(const char *a, const char *b);

/* Edit distance (insert, delete, replace, swap of neighbours), letters compared without case; stops
 * at `limit` and returns limit + 1. Texts over 127 bytes are compared by their first 127. */
unsigned names_distance(const char *a, const char *b, unsigned limit);

#endif
