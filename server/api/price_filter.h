/* Price filter: which offers GET /v1/prices asks for, and in which order. */
#ifndef SERVER_API_PRICE_FILTER_H
#define SERVER_API_PRICE_FILTER_H

#include "core/catalogue.h"
#include "server/api/cursor.h"
#include "server/api/offer_facts.h"
#include "server/api/offer_fields.h"
#include "server/api/query.h"

enum price_sort {
	SORT_USD_PER_HOUR,
	SORT_USD_PER_GPU_HOUR,
	SORT_MEMORY_GB,
	SORT_MEMORY_PER_GPU_GB,
	SORT_COUNT,
	SORT_ACCELERATOR,
	SORT_PROVIDER,
	SORT_REGION,
	SORT_OBSERVED_AT,
	SORT_MEMORY_TYPE,
	SORT_BANDWIDTH,
	SORT_TFLOPS,
	SORT_BILLING_SECONDS,
	SORT_MEMORY_PER_USD,
	SORT_BANDWIDTH_PER_USD,
	SORT_TFLOPS_PER_USD,
	PRICE_SORTS
};

struct price_order {
	enum price_sort key;
	bool is_descending;
};

struct price_filter {
	const char **providers, **regions, **countries, **accelerators;
	size_t providers_count, regions_count, countries_count, accelerators_count;
	uint32_t region_tags[QUERY_LIST_MAX]; /* as their column has them; CATALOGUE_NOWHERE too */
	uint16_t country_tags[QUERY_LIST_MAX];
	int32_t counts_milli[QUERY_LIST_MAX];
	size_t counts_count;
	unsigned price_kinds, availabilities, node_links; /* bits; 0 = any */
	const char **memory_types;			  /* kinds ("HBM3e") or families ("HBM") */
	size_t memory_types_count;
	unsigned formats;	    /* bits of enum card_format: all of them */
	double max_billing_seconds; /* 0 = any */
	int64_t min_memory_per_usd, min_bandwidth_per_usd,
		min_tflops_per_usd;		     /* thousandths; 0 = any */
	double min_memory_gb, min_memory_per_gpu_gb; /* 0 = any */
	int64_t max_micros, max_per_gpu_micros;	     /* PRICE_UNKNOWN = any */
	struct price_order order[CURSOR_KEYS_MAX];
	int order_count;
	int walk_keys;	      /* leading keys by which each list of the catalogue is in order... */
	bool walks_backwards; /* ...read from its end */
	struct offer_fields fields;
	uint64_t hash; /* of what chooses and orders */
};

/* Is `kind` a card's memory of that kind or family? Letter case is ignored. */
bool price_filter_is_memory_type(const char *kind, const char *memory_type);

/* Parameters that the filter reads, then those of pages and pollers; ended by NULL. */
extern const char *const price_parameters[];

/* Faults go to the reader. */
void price_filter_read(struct query_reader *reader, const struct catalogue *catalogue,
		       struct price_filter *out);

/* The parts of it that cards decide: memory_type and formats. */
void price_filter_read_cards(struct query_reader *reader, struct price_filter *out);
bool price_filter_matches_card(const struct price_filter *filter, const struct accelerator *card);

/* All but the interconnect, which lists decide. Facts of card and provider are the key's. */
bool price_filter_matches(const struct price_filter *filter, const struct offer *offer);

/* Of what identifies an offer alone: what does not match never did and never will. */
bool price_filter_matches_key(const struct price_filter *filter, const struct offer *offer);

/* The whole filter on an offer by itself, in a catalogue or not. */
bool price_filter_takes(const struct price_filter *filter, const struct offer *offer);

/* For the offers that lists hold: what no list can match, or nothing at a position of by_price, is
 * skipped unread. */
bool price_filter_matches_list(const struct price_filter *filter, const struct catalogue *catalogue,
			       const struct offer_list *list);
bool price_filter_matches_at(const struct price_filter *filter, const struct catalogue *catalogue,
			     uint32_t position);

/* The sort keys of an offer, as a cursor keeps them. */
void price_filter_position(const struct price_filter *filter, const struct offer *offer,
			   struct cursor *out);

/* Less than, equal or greater than 0, as for qsort, by the first `keys` sort keys; the id, which
 * makes the order total, is not looked at. */
int price_filter_compare(const struct price_filter *filter, int keys, const struct offer *a,
			 const struct offer *b);
int price_filter_compare_cursor(const struct price_filter *filter, int keys,
				const struct offer *offer, const struct cursor *cursor);

/* By the first key alone where a column holds it (else 0), without reading the offer. */
int price_filter_compare_at(const struct price_filter *filter, const struct catalogue *catalogue,
			    uint32_t position, const struct cursor *cursor);

#endif
