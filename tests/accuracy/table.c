/* CSV reader of the accuracy harness: see table.h. */
#include "tests/accuracy/table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	long size;

	if (!file)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0) {
		text = malloc((size_t)size + 1);
		rewind(file);
		if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
			free(text);
			text = NULL;
		}
		if (text)
			text[size] = '\0';
	}
	fclose(file);
	return text;
}

/* Takes one cell at *cursor apart in place; true when it ends its row. */
static bool next_cell(char **cursor, char **cell)
{
	char *from = *cursor, *to = *cursor;
	bool quoted = *from == '"';

	*cell = to;
	if (quoted)
		from++;
	while (*from && (quoted || (*from != ',' && *from != '\n'))) {
		if (quoted && *from == '"') {
			if (from[1] != '"') {
				quoted = false;
				from++;
				continue;
			}
			from++;
		}
		if (*from != '\r' || quoted)
			*to++ = *from;
		from++;
	}
	bool ends_row = *from != ',';
	*cursor = *from ? from + 1 : from;
	*to = '\0';
	return ends_row;
}

bool table_read(const char *path, struct table *out)
{
	size_t count = 0, room = 0;
	char *cursor;

	*out = (struct table){.text = read_all(path)};
	if (!out->text) {
		fprintf(stderr, "cannot read %s\n", path);
		return false;
	}
	cursor = out->text;
	while (*cursor) {
		bool ends_row;

		if (count == room) {
			room = room ? room * 2 : 4096;
			out->cells = realloc(out->cells, room * sizeof(*out->cells));
			if (!out->cells)
				abort();
		}
		ends_row = next_cell(&cursor, &out->cells[count++]);
		if (ends_row && !out->columns)
			out->columns = count;
		if (ends_row && count % out->columns) {
			fprintf(stderr, "%s: row %zu has not %zu cells\n", path,
				count / out->columns + 1, out->columns);
			table_free(out);
			return false;
		}
	}
	out->rows = out->columns ? count / out->columns - 1 : 0;
	return true;
}

void table_free(struct table *table)
{
	free(table->text);
	free(table->cells);
	*table = (struct table){0};
}

const char *row_text(const struct row *row, const char *column)
{
	/* The first letters differ more often than not, and fits ask a million times. */
	for (size_t i = 0; i < row->table->columns; i++)
		if (row->table->cells[i][0] == column[0] &&
		    strcmp(row->table->cells[i], column) == 0)
			return row->table->cells[(row->index + 1) * row->table->columns + i];
	return "";
}

double row_number(const struct row *row, const char *column, double fallback)
{
	const char *text = row_text(row, column);
	char *end;
	double value = strtod(text, &end);

	return end == text ? fallback : value;
}

#define COUNT_MOST 1e8

int row_count(const struct row *row, const char *column, int fallback)
{
	double value = row_number(row, column, fallback);

	return value >= 1 && value <= COUNT_MOST ? (int)value : fallback;
}

bool text_has(const char *text, const char *word)
{
	return strcasestr(text, word) != NULL;
}

bool row_has(const struct row *row, const char *column, const char *word)
{
	return text_has(row_text(row, column), word);
}

double text_number_after(const char *text, const char *key, double fallback)
{
	for (const char *at = strcasestr(text, key); at; at = strcasestr(at + 1, key)) {
		char *end;
		double value;

		if (at > text && isalnum((unsigned char)at[-1]))
			continue; /* "tp=" inside "etp=" */
		value = strtod(at + strlen(key), &end);
		if (end != at + strlen(key))
			return value;
	}
	return fallback;
}
