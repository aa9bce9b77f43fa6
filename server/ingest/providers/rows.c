/* Rows: see rows.h. */
#include "server/ingest/providers/rows.h"

#include "server/ingest/providers/csv.h"
#include "server/ingest/providers/payload.h"

#include <string.h>

static bool read_csv(const char *text, size_t length, struct arena *arena, rows_take *take,
		     void *closure, struct error *error)
{
	static const char *const nothing[] = {NULL};
	struct csv csv;

	if (!csv_open(&csv, arena, text, length, nothing, error))
		return false;
	if (csv.columns == 1 && !*csv.names[0])
		return error_set(error, ERROR_FEED, "the list is empty");
	if (!take(closure, csv.names, NULL, csv.columns, error))
		return false;
	while (csv_next(&csv)) {
		if (*csv.values[0] == '#') /* a remark */
			continue;
		for (size_t i = csv.fields; i < csv.columns; i++)
			csv.values[i] = "";
		if (csv.fields > csv.columns)
			return error_set(error, ERROR_FEED,
					 "a row has %zu fields, the list %zu columns", csv.fields,
					 csv.columns);
		if (!take(closure, csv.names, csv.values, csv.columns, error))
			return false;
	}
	return true;
}

static const char *text_of(struct arena *arena, const json_t *value)
{
	const char *text = "?"; /* of another type: no number and no name */

	if (json_is_null(value))
		return "";
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_number(value))
		text = arena_printf(arena, "%.15g", json_number_value(value));
	return text ? text : "?";
}

static bool read_object(json_t *row, struct arena *arena, rows_take *take, void *closure,
			struct error *error)
{
	const char *names[ROWS_COLUMNS_MAX], *values[ROWS_COLUMNS_MAX], *name;
	size_t count = 0;
	json_t *value;

	json_object_foreach (row, name, value) {
		if (count == ROWS_COLUMNS_MAX)
			return error_set(error, ERROR_FEED, "a row has over %d members",
					 ROWS_COLUMNS_MAX);
		names[count] = name;
		values[count++] = text_of(arena, value);
	}
	return take(closure, names, values, count, error);
}

static bool read_json(const char *text, size_t length, struct arena *arena, rows_take *take,
		      void *closure, struct error *error)
{
	const struct fetch_response whole = {.body = text, .length = length};
	const bool is_list = *text == '[';
	json_auto_t *root =
		is_list ? payload_parse_list(&whole, error) : payload_parse(&whole, error);
	json_t *rows = is_list || !root ? root : json_object_get(root, "offers");
	json_t *row;
	size_t i;

	if (!root)
		return false;
	if (!json_is_array(rows))
		return error_set(error, ERROR_FEED, "there is no list \"offers\"");
	json_array_foreach (rows, i, row) {
		if (!json_is_object(row))
			return error_set(error, ERROR_FEED, "row %zu is no object", i + 1);
		if (!read_object(row, arena, take, closure, error))
			return false;
	}
	return true;
}

bool rows_read(const char *text, size_t length, struct arena *arena, rows_take *take, void *closure,
	       struct error *error)
{
	const size_t blank = strspn(text, " \t\r\n");

	if (text[blank] == '[' || text[blank] == '{')
		return read_json(text + blank, length - blank, arena, take, closure, error);
	return read_csv(text, length, arena, take, closure, error);
}
