/*
 * CSV stream: rows of a list that is too large to keep, as its bytes come in pieces of any size. A
 * row is handed over with its columns by name and is gone when the call returns.
 */
#ifndef SERVER_INGEST_PROVIDERS_CSV_STREAM_H
#define SERVER_INGEST_PROVIDERS_CSV_STREAM_H

#include "server/ingest/providers/csv.h"

#define CSV_LINE_MAX ((size_t)64 << 10)

struct csv_stream {
	struct csv csv;	   /* its names are in the arena, its values in `line` */
	bool has_names;	   /* the line with the names of columns has come */
	bool is_in_quotes; /* where a line break does not end the row */
	char *line;	   /* CSV_LINE_MAX bytes in the arena */
	size_t line_length;
	const char *const *required;
};

/* Once for a stream; the arena keeps the buffer. `required` as in csv_open(): lines before the one
 * that has these columns are a preamble. False when memory is out. */
bool csv_stream_init(struct csv_stream *stream, struct arena *arena, const char *const *required);

/* Back to the start of a file. */
void csv_stream_restart(struct csv_stream *stream);

typedef void csv_row(void *closure, const struct csv *csv);

/* False and an error for a row that is too long, or when memory is out. */
bool csv_stream_take(struct csv_stream *stream, struct arena *arena, const char *bytes,
		     size_t length, csv_row *row, void *closure, struct error *error);

/* After the last piece: a last row without a line break. False and an error when the columns never
 * came. */
bool csv_stream_end(struct csv_stream *stream, struct arena *arena, csv_row *row, void *closure,
		    struct error *error);

#endif
