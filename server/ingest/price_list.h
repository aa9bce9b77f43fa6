/*
 * Price list: a file of priced instances, as the bundled list, as a company keeps its own pool and
 * its negotiated prices, or as others write their catalogues. CSV with the names of columns in its
 * first line, or JSON: a list of objects, or an object with the list "offers".
 *
 *   provider, region, zone, instance_type, accelerator, count, tier, price_kind, term_months,
 *   memory_gb (all GPUs), vcpus, ram_gib, disk_gb, price_usd_per_hour (of the instance),
 *   spot_price_usd_per_hour, availability, quantity, country, observed_on, source (a remark)
 *
 * accelerator, count and price_usd_per_hour must be there; a column that is none of these refuses
 * the file, so that a misspelt one is not lost. A SkyPilot catalogue (InstanceType,
 * AcceleratorName, ..., Price, SpotPrice) and its like with `cloud`, `gpu_mem_gib` (of one GPU) and
 * `price_hour` are known by their own columns, and what else they have is left alone.
 */
#ifndef SERVER_INGEST_PRICE_LIST_H
#define SERVER_INGEST_PRICE_LIST_H

#include "server/ingest/ingest.h"

struct price_list_options {
	const char *provider; /* of rows that name none; NULL = each must */
	const char *source;
	const char *tier; /* of rows that tell none */
	int64_t now_us;
};

/* Rows of one provider, normalised, in the arena. */
struct price_list {
	const char *provider;
	struct feed feed;
	struct normalise_report report;
	struct price_list *next;
};

/* False when the file as a whole cannot be read; a bad row is refused and counted. */
bool price_list_read(const char *text, size_t length, const struct price_list_options *options,
		     struct arena *arena, struct price_list **out, struct error *error);

#endif
