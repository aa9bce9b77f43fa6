/*
 * Catalogue: everything about offers that a request may read, immutable once built.
 *
 * Offers are grouped by hardware shape (card, count, fabric) and each shape's offers lie presorted
 * by price in lists of one (provider, price kind, cost class), so that ranking merges lists instead
 * of scanning offers: the cost of a query hardly grows with their number. A cost class is what
 * makes price order equal cost order inside a list: terms are a provider's, so it is the reserved
 * term.
 *
 * What filters read of an offer lies apart, in list order and packed (struct offer_tag): a filter
 * that no list can answer as a whole reads 24 bytes an offer in sequence instead of the whole
 * offer.
 *
 * One allocation group: catalogue_free() drops all of it. The counted reference to it is
 * server/snapshot.
 */
#ifndef CORE_CATALOGUE_H
#define CORE_CATALOGUE_H

#include "core/accelerator.h"
#include "core/arena.h"
#include "core/error.h"
#include "core/fabric.h"
#include "core/instance.h"
#include "core/offer.h"
#include "core/terms.h"

#include <stdint.h>

#define EPOCH_TEXT 37 /* a UUID and its terminator */

/* How one provider's feed is doing, as the database tells it. */
struct provider_status {
	const char *provider;
	const char *source; /* feed; "" when only bundled prices exist */
	const char
		*outcome; /* of the last attempt: "ok", "http", "timeout", ...; "" = never tried */
	const char *detail;			  /* "" when ok */
	int64_t last_attempt_us, last_success_us; /* 0 = never */
	int64_t refresh_seconds;
	int64_t rows_seen, rows_accepted, rows_rejected, rows_unmapped; /* last success */
	const char *rejections; /* of it, by reason: "no_price 2, schema 1"; "" when none */
	int64_t rows_usual;	/* median of rows_accepted over the last fortnight; 0 = not told */
	int64_t offers;		/* on sale in this catalogue */
	bool is_stale;		/* no success within three refresh periods at as_of */
};

/* A spelling that no rule knew, kept and shown. */
struct unmapped {
	const char *provider, *spelling;
	int64_t rows, first_seen_us, last_seen_us;
};

struct offer_list {
	uint32_t shape;
	const char *provider;
	const struct terms *terms; /* NULL when not known */
	enum price_kind price_kind;
	int32_t term_months;	       /* reserved: the cost class; 0 otherwise */
	double interruptions_per_hour; /* spot: the cost class; NAN = not published */
	uint32_t first, count;	       /* into catalogue->by_price and ->tags */
	uint32_t launchable;	       /* of count: not sold out; these come first */
};

/* What filters and merging read of one offer, in the order of by_price. */
struct offer_tag {
	int64_t price_micros;
	int64_t observed_at_us;
	uint32_t region;  /* into catalogue->regions */
	uint16_t country; /* catalogue_country_tag(); 0 = not told */
	uint8_t availability;
};

struct shape {
	const struct accelerator *accelerator;
	int32_t count_milli; /* GPUs an instance */
	struct fabric fabric;
	bool has_cluster; /* several can be joined by an RDMA-class fabric */
	double ram_gib;	  /* least among its offers that tell; 0 = not told */
	uint32_t first_list, lists;
	uint32_t offers;
};

struct catalogue {
	char epoch[EPOCH_TEXT];
	int64_t version;
	int64_t as_of_us;    /* commit that this version came from, by the database's clock */
	int64_t built_at_us; /* when this replica learned of it */

	const struct offer *offers; /* sorted by id; on sale only */
	uint32_t offers_count;
	const uint32_t *by_price; /* indexes into offers, list by list, cheapest first */
	const struct offer_tag *tags;
	uint32_t listed_count;	    /* of by_price and tags */
	const char *const *regions; /* every region's name once, sorted */
	uint32_t regions_count;
	const struct shape *shapes;
	uint32_t shapes_count;
	const struct offer_list *lists;
	uint32_t lists_count;
	const uint32_t *unlisted; /* on sale, but no shape holds them: unmapped card or no price */
	uint32_t unlisted_count;
	uint32_t unmapped_offers, unpriced_offers; /* the two kinds of unlisted */

	const struct provider_status *providers;
	uint32_t providers_count;
	const struct unmapped *unmapped;
	uint32_t unmapped_count;

	/* How old the offers are: "bundled" ones are history until a feed replaces them. */
	uint32_t bundled_offers;
	int64_t oldest_observed_us, newest_observed_us; /* of all offers; 0 = none tells */
	int64_t oldest_bundled_us, newest_bundled_us;	/* of the bundled ones */
	/* Whose feed is stale or whose offers are all bundled; each once, sorted. */
	const char *const *stale_providers;
	uint32_t stale_providers_count;

	struct arena arena; /* owns everything above */
};

/* What a catalogue is built from; all borrowed, copied by the build. */
struct catalogue_input {
	const char *epoch;
	int64_t version, as_of_us, built_at_us;
	const struct offer *offers; /* any order; withdrawn ones are left out */
	size_t offers_count;
	const struct provider_status *providers;
	size_t providers_count;
	const struct unmapped *unmapped;
	size_t unmapped_count;
};

/* NULL and an error when memory is out or two offers share an id. */
struct catalogue *catalogue_build(const struct catalogue_input *input, struct error *error);
void catalogue_free(struct catalogue *catalogue);

/* By id; NULL when not on sale here. */
const struct offer *catalogue_find(const struct catalogue *catalogue, uint64_t id);

/* A country as offer_tag keeps it; 0 for anything but two letters. */
uint16_t catalogue_country_tag(const char *country);

#endif
