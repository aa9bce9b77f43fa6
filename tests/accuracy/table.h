/* A CSV file (RFC 4180: quotes, doubled quotes, newlines in quotes) whose first row names the
 * columns. */
#ifndef TESTS_ACCURACY_TABLE_H
#define TESTS_ACCURACY_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct table {
	char *text; /* owns every cell */
	char **cells;
	size_t columns, rows; /* without the head */
};

struct row {
	const struct table *table;
	size_t index;
};

/* False when the file cannot be read or is not a table; says why on standard error. */
bool table_read(const char *path, struct table *out);
void table_free(struct table *table);

/* The cell, "" when the column does not exist. */
const char *row_text(const struct row *row, const char *column);

/* The number that the cell starts with; `fallback` when there is none. */
double row_number(const struct row *row, const char *column, double fallback);

/* The same for what is counted: `fallback` for less than 1, or more than anybody has, as well. */
int row_count(const struct row *row, const char *column, int fallback);

/* Whether the cell holds `word` anywhere, letter case ignored. */
bool row_has(const struct row *row, const char *column, const char *word);
bool text_has(const char *text, const char *word);

/* The number behind `key` in text like "tp=4,pp=8" (key "tp="); `fallback` when the key is not
 * there. */
double text_number_after(const char *text, const char *key, double fallback);

#endif
