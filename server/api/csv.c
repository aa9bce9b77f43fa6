/*
 * CSV: see csv.h. Text from a feed that a spreadsheet would run as a formula gets an apostrophe in
 * front: a provider's instance name must not execute on somebody's desk.
 */
#include "server/api/csv.h"

#include "core/units.h"
#include "server/clock.h"

#include <string.h>

void csv_text_cell(struct writer *writer, const char *text)
{
	/* Some programs drop leading blanks first. */
	const char *first = text + strspn(text, " ");
	bool is_formula = *first && strchr("=+-@|%\t\r\n", *first);

	/* Elsewhere semicolons and tabs separate cells, and the rest would begin one. */
	if (!is_formula && !text[strcspn(text, ",;\t\"\r\n")]) {
		writer_raw(writer, text, strlen(text));
		return;
	}
	writer_raw(writer, is_formula ? "\"'" : "\"", is_formula ? 2 : 1);
	for (; *text; text++)
		writer_raw(writer, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	writer_raw(writer, "\"", 1);
}

void csv_time_cell(struct writer *writer, int64_t wall_us)
{
	char text[CLOCK_TEXT];

	clock_format(wall_us, text);
	writer_raw(writer, text, strlen(text));
}

static void text_cell(struct writer *writer, const char *text)
{
	writer_raw(writer, ",", 1);
	csv_text_cell(writer, text);
}

static void micros_cell(struct writer *writer, int64_t micros)
{
	writer_raw(writer, ",", 1);
	if (micros != PRICE_UNKNOWN)
		writer_micros(writer, micros);
}

static void quantity_cell(struct writer *writer, int32_t quantity)
{
	writer_raw(writer, ",", 1);
	if (quantity >= 0)
		writer_integer(writer, quantity);
}

static void history_row(struct writer *writer, const struct history_item *item)
{
	csv_time_cell(writer, item->at_us);
	text_cell(writer, names_text(&history_step_names, (int)item->step));
	text_cell(writer, names_text(&history_event_names, (int)item->event));
	writer_raw(writer, ",", 1);
	writer_integer(writer, item->changes);
	micros_cell(writer, item->first_micros);
	micros_cell(writer, item->last_micros);
	micros_cell(writer, item->low_micros);
	micros_cell(writer, item->high_micros);
	text_cell(writer, names_text(&availability_names, (int)item->availability));
	quantity_cell(writer, item->quantity);
	writer_raw(writer, "\r\n", 2);
}

void csv_history(struct writer *writer, const struct history_item *items, size_t count)
{
	static const char header[] =
		"at,step,event,changes,open_usd_per_hour,last_usd_per_hour,low_usd_per_hour,"
		"high_usd_per_hour,availability,quantity\r\n";

	writer_raw(writer, header, sizeof(header) - 1);
	for (size_t i = 0; i < count; i++)
		history_row(writer, &items[i]);
}
