/* CSV: a price page, or a history, for spreadsheets (RFC 4180), with the columns of the JSON. */
#ifndef SERVER_API_CSV_H
#define SERVER_API_CSV_H

#include "core/offer.h"
#include "server/history.h"
#include "server/json/writer.h"

#define CSV_TYPE "text/csv; charset=utf-8; header=present"

/* One cell, its comma not included. */
void csv_text_cell(struct writer *writer, const char *text);
void csv_time_cell(struct writer *writer, int64_t wall_us);

/* With its header; the columns of the JSON items. */
void csv_history(struct writer *writer, const struct history_item *items, size_t count);

#endif
