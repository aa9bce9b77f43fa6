/* CSV stream: lines out of pieces: see csv_stream.h. */
#include "server/ingest/providers/csv_stream.h"

#include <string.h>

bool csv_stream_init(struct csv_stream *stream, struct arena *arena, const char *const *required)
{
	*stream = (struct csv_stream){
		.line = arena_alloc(arena, CSV_LINE_MAX),
		.required = required,
	};
	return stream->line != NULL;
}

void csv_stream_restart(struct csv_stream *stream)
{
	stream->has_names = stream->is_in_quotes = false;
	stream->line_length = 0;
}

static bool has_required(const struct csv *csv, const char *const *required)
{
	for (; *required; required++) {
		size_t i = 0;

		while (i < csv->fields && strcmp(csv->values[i], *required) != 0)
			i++;
		if (i == csv->fields)
			return false;
	}
	return true;
}

static bool take_names(struct csv_stream *stream, struct arena *arena, struct error *error)
{
	struct csv *csv = &stream->csv;

	for (size_t i = 0; i < csv->fields; i++) {
		csv->names[i] = arena_strdup(arena, csv->values[i]);
		if (!csv->names[i])
			return error_set(error, ERROR_FEED, "no memory for the list");
	}
	csv->columns = csv->fields;
	stream->has_names = true;
	return true;
}

static bool end_line(struct csv_stream *stream, struct arena *arena, csv_row *row, void *closure,
		     struct error *error)
{
	struct csv *csv = &stream->csv;

	stream->line[stream->line_length] = '\0';
	stream->line_length = 0;
	csv->at = stream->line;
	if (!csv_next(csv))
		return true;
	if (stream->has_names)
		row(closure, csv);
	else if (has_required(csv, stream->required))
		return take_names(stream, arena, error);
	return true;
}

bool csv_stream_take(struct csv_stream *stream, struct arena *arena, const char *bytes,
		     size_t length, csv_row *row, void *closure, struct error *error)
{
	for (size_t i = 0; i < length; i++) {
		char c = bytes[i];

		if (c == '"')
			stream->is_in_quotes = !stream->is_in_quotes;
		if (c == '\n' && !stream->is_in_quotes) {
			if (!end_line(stream, arena, row, closure, error))
				return false;
			continue;
		}
		if (stream->line_length + 1 == CSV_LINE_MAX)
			return error_set(error, ERROR_FEED, "a row is over %zu bytes long",
					 CSV_LINE_MAX);
		stream->line[stream->line_length++] = c;
	}
	return true;
}

bool csv_stream_end(struct csv_stream *stream, struct arena *arena, csv_row *row, void *closure,
		    struct error *error)
{
	if (stream->is_in_quotes)
		return error_set(error, ERROR_FEED, "the list ends inside quotes");
	if (!end_line(stream, arena, row, closure, error))
		return false;
	return stream->has_names ||
	       error_set(error, ERROR_FEED, "the list has no column \"%s\" or one beside it",
			 stream->required[0]);
}
