/*
 * CSV: rows of a price list by the names of their columns, whose order may change. RFC 4180
 * quoting, commas and line breaks inside quotes included. The text is copied into the arena and cut
 * in place.
 */
#ifndef SERVER_INGEST_PROVIDERS_CSV_H
#define SERVER_INGEST_PROVIDERS_CSV_H

#include "core/arena.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CSV_COLUMNS_MAX 128

struct csv {
	char *at; /* what is left */
	size_t columns, fields;
	const char *names[CSV_COLUMNS_MAX], *values[CSV_COLUMNS_MAX];
};

/* Reads the line with the names of columns; false and an error when one of `required` (NULL at the
 * end) is not there. */
bool csv_open(struct csv *csv, struct arena *arena, const char *text, size_t length,
	      const char *const *required, struct error *error);

/* The next row that is not empty; false at the end. */
bool csv_next(struct csv *csv);

/* "" for a column that is not there. */
const char *csv_text(const struct csv *csv, const char *name);

bool csv_is(const struct csv *csv, const char *name, const char *text);

/* 0 when it is no number. */
double csv_number(const struct csv *csv, const char *name);

#endif
