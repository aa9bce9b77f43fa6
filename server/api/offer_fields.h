/*
 * Offer fields: every member that an offer of the price list can be shown with, and how JSON and
 * CSV print it. The default members of either are what `fields` chooses from, and a few more.
 */
#ifndef SERVER_API_OFFER_FIELDS_H
#define SERVER_API_OFFER_FIELDS_H

#include "core/offer.h"
#include "server/api/query.h"
#include "server/json/writer.h"

/* id (the name in the API), in JSON by default, in CSV by default. */
#define OFFER_FIELDS(X)                                                                            \
	X(id, 1, 1)                                                                                \
	X(provider, 1, 1)                                                                          \
	X(region, 1, 1)                                                                            \
	X(zone, 1, 1)                                                                              \
	X(country, 1, 1)                                                                           \
	X(instance_type, 1, 1)                                                                     \
	X(accelerator, 1, 1)                                                                       \
	X(accelerator_known, 1, 1)                                                                 \
	X(count, 1, 1)                                                                             \
	X(memory_gb, 1, 1)                                                                         \
	X(memory_per_gpu_gb, 1, 1)                                                                 \
	X(vcpus, 1, 1)                                                                             \
	X(ram_gib, 1, 1)                                                                           \
	X(disk_gb, 1, 1)                                                                           \
	X(interconnect, 1, 1)                                                                      \
	X(tier, 1, 1)                                                                              \
	X(price_kind, 1, 1)                                                                        \
	X(term_months, 1, 1)                                                                       \
	X(usd_per_hour, 1, 1)                                                                      \
	X(usd_per_gpu_hour, 1, 1)                                                                  \
	X(upfront_usd, 1, 0)                                                                       \
	X(price_basis, 1, 1)                                                                       \
	X(original_currency, 1, 0)                                                                 \
	X(original_amount, 1, 0)                                                                   \
	X(availability, 1, 1)                                                                      \
	X(quantity, 1, 1)                                                                          \
	X(interruption_band, 1, 0)                                                                 \
	X(source, 1, 1)                                                                            \
	X(observed_at, 1, 1)                                                                       \
	X(age_seconds, 1, 0)                                                                       \
	X(first_seen_at, 1, 0)                                                                     \
	X(last_seen_at, 1, 0)                                                                      \
	X(memory_type, 0, 0)                                                                       \
	X(bandwidth_gb_per_second, 0, 0)                                                           \
	X(tflops_16_bit, 0, 0)                                                                     \
	X(formats, 0, 0)                                                                           \
	X(billing_granularity_seconds, 0, 0)                                                       \
	X(memory_gb_per_usd, 0, 0)                                                                 \
	X(bandwidth_gb_per_second_per_usd, 0, 0)                                                   \
	X(tflops_per_usd, 0, 0)

enum offer_field {
#define X(name, json, csv) FIELD_OF_OFFER_##name,
	OFFER_FIELDS(X)
#undef X
		OFFER_FIELD_COUNT
};

/* Which, in the order asked; count 0 = the default of the format. */
struct offer_fields {
	unsigned char field[OFFER_FIELD_COUNT];
	size_t count;
};

/* The parameter `fields`. */
void offer_fields_read(struct query_reader *reader, struct offer_fields *out);

/* What `fields` chose, or the default members. */
void offer_fields_render(struct writer *writer, const struct offer_fields *fields,
			 const struct offer *offer, int64_t now_us);
void offer_fields_csv_header(struct writer *writer, const struct offer_fields *fields);
void offer_fields_csv(struct writer *writer, const struct offer_fields *fields,
		      const struct offer *offer, int64_t now_us);

#endif
