/* Offer fields: see offer_fields.h. The encoders know kinds of values, not members. */
#include "server/api/offer_fields.h"

#include "server/api/csv.h"
#include "server/api/offer_facts.h"
#include "server/api/offer_value.h"

#include <string.h>

static const char *const field_text[OFFER_FIELD_COUNT] = {
#define X(name, json, csv) [FIELD_OF_OFFER_##name] = #name,
	OFFER_FIELDS(X)
#undef X
};
static const struct names field_names = {field_text, OFFER_FIELD_COUNT};

static const bool is_json_default[OFFER_FIELD_COUNT] = {
#define X(name, json, csv) [FIELD_OF_OFFER_##name] = json,
	OFFER_FIELDS(X)
#undef X
};

static const bool is_csv_default[OFFER_FIELD_COUNT] = {
#define X(name, json, csv) [FIELD_OF_OFFER_##name] = csv,
	OFFER_FIELDS(X)
#undef X
};

void offer_fields_read(struct query_reader *reader, struct offer_fields *out)
{
	bool is_asked[OFFER_FIELD_COUNT] = {false};
	const char **texts;
	size_t i, count = query_list(reader, "fields", &texts);

	out->count = 0;
	for (i = 0; i < count; i++) {
		int field = names_find(&field_names, texts[i]);

		if (field < 0) {
			query_fault(reader, "fields", "unknown_value",
				    names_nearest(&field_names, texts[i]),
				    "'%.60s' is no field of an offer", texts[i]);
		} else if (!is_asked[field]) {
			is_asked[field] = true;
			out->field[out->count++] = (unsigned char)field;
		}
	}
}

static void choose(const struct offer_fields *asked, const bool *is_default,
		   struct offer_fields *out)
{
	if (asked->count) {
		*out = *asked;
		return;
	}
	out->count = 0;
	for (int i = 0; i < OFFER_FIELD_COUNT; i++)
		if (is_default[i])
			out->field[out->count++] = (unsigned char)i;
}

static void write_formats(struct writer *writer, unsigned bits)
{
	writer_begin_array(writer);
	for (int i = 0; i < CARD_FORMATS; i++)
		if (bits >> i & 1)
			writer_string(writer, names_text(&card_format_names, i));
	writer_end_array(writer);
}

static void write_id(struct writer *writer, uint64_t id)
{
	char text[OFFER_ID_TEXT];

	offer_id_format(id, text);
	writer_string(writer, text);
}

static void write_value(struct writer *writer, const struct offer_value *value, int64_t now_us)
{
	switch (value->kind) {
	case VALUE_NONE:
		writer_null(writer);
		break;
	case VALUE_ID:
		write_id(writer, value->bits);
		break;
	case VALUE_TEXT:
		writer_string(writer, value->text);
		break;
	case VALUE_FLAG:
		writer_bool(writer, value->integer != 0);
		break;
	case VALUE_NUMBER:
		writer_number(writer, value->number, 3);
		break;
	case VALUE_INTEGER:
		writer_integer(writer, value->integer);
		break;
	case VALUE_THOUSANDTHS:
		writer_number(writer, (double)value->integer / 1e3, 3);
		break;
	case VALUE_MICROS:
		writer_micros(writer, value->integer);
		break;
	case VALUE_TIME:
		writer_time(writer, value->integer);
		break;
	case VALUE_AGE:
		writer_age(writer, value->integer, now_us);
		break;
	case VALUE_FORMATS:
		write_formats(writer, (unsigned)value->bits);
		break;
	}
}

void offer_fields_render(struct writer *writer, const struct offer_fields *fields,
			 const struct offer *offer, int64_t now_us)
{
	struct offer_fields chosen;

	choose(fields, is_json_default, &chosen);
	writer_begin_object(writer);
	for (size_t i = 0; i < chosen.count; i++) {
		enum offer_field field = (enum offer_field)chosen.field[i];
		struct offer_value value = offer_value_of(offer, field);

		writer_key(writer, field_text[field]);
		write_value(writer, &value, now_us);
	}
	writer_end_object(writer);
}

/* --- CSV --- */

void offer_fields_csv_header(struct writer *writer, const struct offer_fields *fields)
{
	struct offer_fields chosen;

	choose(fields, is_csv_default, &chosen);
	for (size_t i = 0; i < chosen.count; i++) {
		const char *name = field_text[chosen.field[i]];

		if (i)
			writer_raw(writer, ",", 1);
		writer_raw(writer, name, strlen(name));
	}
	writer_raw(writer, "\r\n", 2);
}

/* Words of one cell, with blanks between. */
static void write_words(struct writer *writer, unsigned bits)
{
	bool is_first = true;

	for (int i = 0; i < CARD_FORMATS; i++) {
		if (!(bits >> i & 1))
			continue;
		if (!is_first)
			writer_raw(writer, " ", 1);
		is_first = false;
		csv_text_cell(writer, names_text(&card_format_names, i));
	}
}

/* What JSON quotes is text, which a spreadsheet must not run; the rest looks the same in both, and
 * empty is unknown. */
static void write_cell(struct writer *writer, const struct offer_value *value, int64_t now_us)
{
	char id[OFFER_ID_TEXT];

	switch (value->kind) {
	case VALUE_NONE:
		return;
	case VALUE_ID:
		offer_id_format(value->bits, id);
		csv_text_cell(writer, id);
		return;
	case VALUE_TEXT:
		csv_text_cell(writer, value->text);
		return;
	case VALUE_TIME:
		csv_time_cell(writer, value->integer);
		return;
	case VALUE_FORMATS:
		write_words(writer, (unsigned)value->bits);
		return;
	case VALUE_FLAG:
	case VALUE_NUMBER:
	case VALUE_INTEGER:
	case VALUE_THOUSANDTHS:
	case VALUE_MICROS:
	case VALUE_AGE:
		write_value(writer, value, now_us);
		return;
	}
}

void offer_fields_csv(struct writer *writer, const struct offer_fields *fields,
		      const struct offer *offer, int64_t now_us)
{
	struct offer_fields chosen;

	choose(fields, is_csv_default, &chosen);
	for (size_t i = 0; i < chosen.count; i++) {
		struct offer_value value = offer_value_of(offer, (enum offer_field)chosen.field[i]);

		if (i)
			writer_raw(writer, ",", 1);
		write_cell(writer, &value, now_us);
	}
	writer_raw(writer, "\r\n", 2);
}
