/*
 * Catalogue: everything about offers that a request may read, immutable once built.
 *
 * Offers are grouped by hardware shape (card, count, fabric) and each shape's offers lie presorted
 * by price in lists of one (provider, price kind, cost class), so that ranking merges lists instead
 * of scanning offers: the cost of a query hardly grows with their number. A cost class is what
 * makes price order equal cost order inside a list: terms are a provider's, so it is the reserved
 * term.
 *
 * What filters read of an offer lies apart, in list order, each in a column of its own (struct
 * offer_columns): a filter that no list can answer as a whole reads one to eight bytes an offer in
 * sequence instead of the whole offer.
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
	bool is_private; /* told by a company's own list */
};

struct offer_row; /* an offer, packed */

/* A provider that has offers here. */
struct offer_seller {
	const char *provider;
	const struct terms *terms; /* NULL when not known */
};

struct offer_list {
	uint32_t shape;
	uint32_t first, count; /* into catalogue->by_price and ->columns */
	uint32_t launchable;   /* of count: not sold out; these come first */
	const char *provider;
	const struct terms *terms; /* NULL when not known */
	enum price_kind price_kind;
	int32_t term_months;	       /* reserved: the cost class; 0 otherwise */
	double interruptions_per_hour; /* spot: the cost class; NAN = not published */
	/* Told without a look at the columns: what is asked of every list in every search. */
	int64_t cheapest_micros;      /* of the launchable ones; 0 = none */
	int64_t sold_out_micros;      /* the cheapest of the others; 0 = none */
	int64_t oldest_us, newest_us; /* observed_at_us of all */
	uint32_t available;	      /* of launchable: availability is yes */
	uint32_t seller;	      /* into catalogue->sellers */
};

/* What filters and merging read of offers, in the order of by_price. */
struct offer_columns {
	const int64_t *price_micros;
	const int64_t *observed_at_us;
	const uint32_t *region;	 /* into catalogue->regions */
	const uint16_t *country; /* catalogue_country_tag(); 0 = not told */
	const uint8_t *availability;
};

/* The last change of one offer. */
struct offer_change {
	uint32_t since; /* its version, less catalogue->changes_from */
	uint32_t place; /* for catalogue_read_changed() */
};

/* What an offer was before a change. It began with offer.version. */
struct offer_state {
	struct offer offer;
	int64_t until; /* version of the change that ended it */
	bool is_whole; /* and no other state came between */
	bool is_gone;  /* it was not on sale */
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

	/* On sale only: first what everybody may see, sorted by id, then private ones, sorted too.
	 * An offer's place among them is its index; catalogue_read() unpacks it. */
	const struct offer_row *rows;
	const char *const *texts; /* that rows name */
	uint32_t offers_count, public_count;
	/* The same without what is private: its own lists, counts and ages over the same offers.
	 * This catalogue itself when nothing is. */
	const struct catalogue *public_view;
	/*
	 * For deltas: complete after the version changes_from. `changes` are in order of version
	 * and id; `gone` are offers that were withdrawn, by id. `states` are what this replica saw,
	 * by id and version: they tell what a change changed, where they reach.
	 */
	int64_t changes_from;
	const struct offer_change *changes;
	uint32_t changes_count;
	const struct offer *gone;
	uint32_t gone_count;
	const struct offer_state *states;
	uint32_t states_count;
	uint32_t on_sale_count;	      /* of the whole table, also in its public view */
	const char *const *spellings; /* of unmapped cards, on sale or gone; each once, sorted */
	uint32_t spellings_count;

	/* Places of offers, list by list: cheapest first of what is not sold out, then of what is.
	 */
	const uint32_t *by_price;
	struct offer_columns columns;
	uint32_t listed_count;	    /* of by_price and the columns */
	const char *const *regions; /* every region's name once, sorted */
	uint32_t regions_count;
	const struct shape *shapes;
	uint32_t shapes_count;
	const struct offer_list *lists;
	uint32_t lists_count;
	const struct offer_seller *sellers; /* whose offers there are; each once, sorted */
	uint32_t sellers_count;
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
	int64_t changes_from; /* the rest is complete after this version */
	const struct offer *gone;
	size_t gone_count;
	const struct offer_state *states;
	size_t states_count;
};

/* NULL and an error when memory is out or two offers share an id. */
struct catalogue *catalogue_build(const struct catalogue_input *input, struct error *error);
void catalogue_free(struct catalogue *catalogue);

#define CATALOGUE_NOWHERE UINT32_MAX

/* The place by id; CATALOGUE_NOWHERE when not on sale here. */
uint32_t catalogue_find(const struct catalogue *catalogue, uint64_t id);

/* The offer at a place. Its texts are the catalogue's: equal ones are equal pointers. */
void catalogue_read(const struct catalogue *catalogue, uint32_t place, struct offer *out);

/* Parts of it, without unpacking the rest. */
uint64_t catalogue_id(const struct catalogue *catalogue, uint32_t place);
const char *catalogue_text(const struct catalogue *catalogue, uint32_t place,
			   enum offer_text which);

/* Of the offer at a position of the list. */
static inline int64_t catalogue_price(const struct catalogue *catalogue,
				      const struct offer_list *list, uint32_t position)
{
	/* Those that are asked for most lie with the list. */
	if (position == list->first + list->launchable && position < list->first + list->count)
		return list->sold_out_micros;
	return position == list->first ? list->cheapest_micros
				       : catalogue->columns.price_micros[position];
}

/* What changed; on sale in this catalogue when `place` is below offers_count. */
void catalogue_read_changed(const struct catalogue *catalogue, uint32_t place, struct offer *out);
uint64_t catalogue_changed_id(const struct catalogue *catalogue, uint32_t place);

/* Is it the spelling of an unmapped card that is on sale here, or was of late? */
bool catalogue_has_spelling(const struct catalogue *catalogue, const char *spelling);

/* How the GPUs of an offer are joined, as its shape would have it; false for an unmapped card. */
bool catalogue_fabric(const struct offer *offer, struct fabric *out);

/* A region as its column keeps it; CATALOGUE_NOWHERE when no offer is there. */
uint32_t catalogue_region(const struct catalogue *catalogue, const char *name);

/* A country as its column keeps it; 0 for anything but two letters. */
uint16_t catalogue_country_tag(const char *country);

#endif
