/* CSV: see csv.h. */
#include "server/ingest/providers/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cuts one field at *at, in place; true when it was the last of its line. */
static bool cut(char **at, const char **field)
{
	char *from = *at, *to = from, end;

	*field = to;
	if (*from == '"') {
		for (from++; *from; from++) {
			if (*from == '"' && *++from != '"')
				break;
			*to++ = *from;
		}
	}
	while (*from && *from != ',' && *from != '\n')
		*to++ = *from++;
	end = *from;
	*at = end ? from + 1 : from;
	if (end != ',' && to > *field && to[-1] == '\r')
		to--;
	*to = '\0';
	return end != ',';
}

static size_t read_line(struct csv *csv, const char **out)
{
	size_t count = 0;
	bool is_last = false;

	while (!is_last) {
		const char *field;

		is_last = cut(&csv->at, &field);
		if (count < CSV_COLUMNS_MAX)
			out[count++] = field;
	}
	return count;
}

bool csv_open(struct csv *csv, struct arena *arena, const char *text, size_t length,
	      const char *const *required, struct error *error)
{
	*csv = (struct csv){.at = arena_strndup(arena, text, length)};
	if (!csv->at)
		return error_set(error, ERROR_FEED, "no memory for the list");
	if (strncmp(csv->at, "\xef\xbb\xbf", 3) == 0)
		csv->at += 3;
	csv->columns = read_line(csv, csv->names);
	for (; *required; required++) {
		size_t i = 0;

		while (i < csv->columns && strcmp(csv->names[i], *required) != 0)
			i++;
		if (i == csv->columns)
			return error_set(error, ERROR_FEED, "the list has no column \"%s\"",
					 *required);
	}
	return true;
}

bool csv_next(struct csv *csv)
{
	while (*csv->at) {
		csv->fields = read_line(csv, csv->values);
		if (csv->fields > 1 || *csv->values[0])
			return true;
	}
	return false;
}

const char *csv_text(const struct csv *csv, const char *name)
{
	for (size_t i = 0; i < csv->columns && i < csv->fields; i++)
		if (strcmp(csv->names[i], name) == 0)
			return csv->values[i];
	return "";
}

bool csv_is(const struct csv *csv, const char *name, const char *text)
{
	return strcmp(csv_text(csv, name), text) == 0;
}

double csv_number(const struct csv *csv, const char *name)
{
	const char *text = csv_text(csv, name);
	char *end;
	double value = strtod(text, &end);

	return *text && !*end && isfinite(value) ? value : 0;
}
