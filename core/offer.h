/*
 * Offer: one priced instance, as stored and as served. Plain data with borrowed strings: who fills
 * it owns them (a feed's arena, the catalogue's string pool).
 */
#ifndef CORE_OFFER_H
#define CORE_OFFER_H

#include "core/fabric.h"
#include "core/names.h"
#include "core/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum price_kind { PRICE_ON_DEMAND, PRICE_SPOT, PRICE_RESERVED, PRICE_KINDS };
enum availability { AVAILABILITY_UNKNOWN, AVAILABILITY_YES, AVAILABILITY_NO, AVAILABILITIES };

#define COUNT_MILLI_ONE 1000

struct offer {
	uint64_t id; /* offer_id() of the key below; stable across refreshes and databases */

	/* The key. Strings are never NULL: "" where there is none. */
	const char *provider, *region, *zone, *instance_type;
	const char *accelerator; /* canonical name, or the raw spelling while unmapped */
	int32_t count_milli;	 /* GPUs of the instance times 1000: vGPU slices are fractions */
	bool is_mapped;		 /* no part of the key: `accelerator` is canonical */
	const char *tier;	 /* "secure", "community", ... or "" */
	enum price_kind price_kind;
	int32_t term_months; /* reserved: 1, 12, 36...; 0 otherwise */

	double memory_gb;		/* of all its GPUs, as the feed says; 0 = not told */
	double vcpus, ram_gib, disk_gb; /* 0 = not told */
	const char *interconnect;	/* as the feed says, or "" */
	const char *country;		/* ISO 3166 alpha-2, or "" */

	int64_t price_micros;	 /* USD per instance-hour; PRICE_UNKNOWN = not known, never 0 */
	int64_t upfront_micros;	 /* already inside price_micros as an effective hourly share; else 0
				  */
	const char *price_basis; /* what is included: "instance", "gpu_only", ... */
	const char *original_currency, *original_amount; /* as quoted: "EUR", "2.80" */

	enum availability availability;
	int32_t quantity; /* -1 = not told */
	/* How often such a spot machine was reclaimed in a month, by the feed: 1 = under 5 %, 2 = 5
	 * to 10 %, ... 5 = over 20 %; 0 = not told. */
	int32_t interruption_band;
	const char *source;	/* feed that told it: "runpod-graphql", "bundled" */
	int64_t observed_at_us; /* microseconds since 1970 UTC */
	int64_t first_seen_us, last_seen_us;
	int64_t withdrawn_at_us; /* 0 = on sale */

	/* The clock's, of its last change, and of the last one that shows where private prices do
	 * not; 0 = before that was noted, or never. */
	int64_t version, public_version;

	uint32_t place; /* where it was read from a catalogue; else 0 */
};

/* Its texts. Catalogues and snapshot files keep them in this order. */
#define OFFER_TEXT_FIELDS(X)                                                                       \
	X(provider)                                                                                \
	X(region)                                                                                  \
	X(zone)                                                                                    \
	X(instance_type)                                                                           \
	X(accelerator)                                                                             \
	X(tier)                                                                                    \
	X(interconnect)                                                                            \
	X(country)                                                                                 \
	X(price_basis)                                                                             \
	X(original_currency)                                                                       \
	X(original_amount)                                                                         \
	X(source)

enum offer_text {
#define X(name) OFFER_TEXT_##name,
	OFFER_TEXT_FIELDS(X)
#undef X
		OFFER_TEXTS
};

extern const struct names price_kind_names, availability_names;

/* A 64-bit hash of the key (FNV-1a over its fields with separators, then a finalizer): the same on
 * every machine and in every database. */
uint64_t offer_id(const struct offer *offer);

/* Sixteen lower-case hex digits and the terminator; parses what it prints, nothing else. */
#define OFFER_ID_TEXT 17
void offer_id_format(uint64_t id, char out[OFFER_ID_TEXT]);
bool offer_id_parse(const char *text, uint64_t *id);

/*
 * A company's own price, which is only for callers who may see such: of a list that it keeps
 * itself, or with its discount. Whoever makes either marks it with these.
 */
#define OFFER_SOURCE_OWN "file:"	       /* before the name of a company's own list */
#define OFFER_BASIS_DISCOUNTED " off the list" /* at the end of price_basis */
bool offer_is_private(const struct offer *offer);
bool offer_source_is_private(const char *source);

/* Same key? */
bool offer_key_equal(const struct offer *a, const struct offer *b);

#endif
