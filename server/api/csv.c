/*
 * CSV: see csv.h. Text from a feed that a spreadsheet would run as a formula gets an apostrophe in
 * front: a provider's instance name must not execute on somebody's desk.
 */
#include "server/api/csv.h"

#include "core/accelerator.h"
#include "server/api/price_filter.h"
#include "server/clock.h"

#include <string.h>

void csv_header(struct writer *writer)
{
	static const char header[] =
		"id,provider,region,zone,country,instance_type,accelerator,accelerator_known,count,"
		"memory_gb,memory_per_gpu_gb,vcpus,ram_gib,disk_gb,interconnect,tier,price_kind,"
		"term_months,usd_per_hour,usd_per_gpu_hour,price_basis,availability,quantity,"
		"source,"
		"observed_at\r\n";

	writer_raw(writer, header, sizeof(header) - 1);
}

static void text_cell(struct writer *writer, const char *text)
{
	bool is_formula = *text && strchr("=+-@\t\r", *text);

	writer_raw(writer, ",", 1);
	if (!is_formula && !text[strcspn(text, ",\"\r\n")]) {
		writer_raw(writer, text, strlen(text));
		return;
	}
	writer_raw(writer, is_formula ? "\"'" : "\"", is_formula ? 2 : 1);
	for (; *text; text++)
		writer_raw(writer, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	writer_raw(writer, "\"", 1);
}

/* Empty when not told. */
static void number_cell(struct writer *writer, double value)
{
	writer_raw(writer, ",", 1);
	if (value > 0)
		writer_number(writer, value, 3);
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

void csv_offer(struct writer *writer, const struct offer *offer)
{
	const struct accelerator *card =
		offer->is_mapped ? accelerator_find(offer->accelerator) : NULL;
	char id[OFFER_ID_TEXT], observed[CLOCK_TEXT] = "";

	offer_id_format(offer->id, id);
	if (offer->observed_at_us)
		clock_format(offer->observed_at_us, observed);
	writer_raw(writer, id, strlen(id));
	text_cell(writer, offer->provider);
	text_cell(writer, offer->region);
	text_cell(writer, offer->zone);
	text_cell(writer, offer->country);
	text_cell(writer, offer->instance_type);
	text_cell(writer, offer->accelerator);
	text_cell(writer, offer->is_mapped ? "true" : "false");
	number_cell(writer, offer->count_milli / (double)COUNT_MILLI_ONE);
	number_cell(writer, price_memory_gb(offer));
	number_cell(writer, card ? card->memory_gb : 0);
	number_cell(writer, offer->vcpus);
	number_cell(writer, offer->ram_gib);
	number_cell(writer, offer->disk_gb);
	text_cell(writer, offer->interconnect);
	text_cell(writer, offer->tier);
	text_cell(writer, names_text(&price_kind_names, (int)offer->price_kind));
	number_cell(writer, offer->price_kind == PRICE_RESERVED ? offer->term_months : 0);
	micros_cell(writer, offer->price_micros);
	micros_cell(writer, price_per_gpu(offer));
	text_cell(writer, offer->price_basis);
	text_cell(writer, names_text(&availability_names, (int)offer->availability));
	quantity_cell(writer, offer->quantity);
	text_cell(writer, offer->source);
	text_cell(writer, observed);
	writer_raw(writer, "\r\n", 2);
}

static void history_row(struct writer *writer, const struct history_item *item)
{
	char at[CLOCK_TEXT];

	clock_format(item->at_us, at);
	writer_raw(writer, at, strlen(at));
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
