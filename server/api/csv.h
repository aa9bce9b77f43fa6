/* CSV: a price page for spreadsheets (RFC 4180), with the columns of the JSON offer. */
#ifndef SERVER_API_CSV_H
#define SERVER_API_CSV_H

#include "core/offer.h"
#include "server/json/writer.h"

void csv_header(struct writer *writer);
void csv_offer(struct writer *writer, const struct offer *offer);

#endif
