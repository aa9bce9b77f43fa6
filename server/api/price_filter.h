/* Price filter: which offers GET /v1/prices asks for, and in which order. */
#ifndef SERVER_API_PRICE_FILTER_H
#define SERVER_API_PRICE_FILTER_H

#include "core/catalogue.h"
#include "server/api/cursor.h"
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
	PRICE_SORTS
};

struct price_order {
	enum price_sort key;
	bool is_descending;
};

struct price_filter {
	const char **providers, **regions, **countries, **accelerators;
	size_t providers_count, regions_count, countries_count, accelerators_count;
	uint32_t region_tags[QUERY_LIST_MAX]; /* as offer_tag has them; UINT32_MAX = none there */
	uint16_t country_tags[QUERY_LIST_MAX];
	int32_t counts_milli[QUERY_LIST_MAX];
	size_t counts_count;
	unsigned price_kinds, availabilities, node_links; /* bits; 0 = any */
	double min_memory_gb, min_memory_per_gpu_gb;	  /* 0 = any */
	int64_t max_micros, max_per_gpu_micros;		  /* PRICE_UNKNOWN = any */
	struct price_order order[CURSOR_KEYS_MAX];
	int order_count;
	int walk_keys;	      /* leading keys by which each list of the catalogue is in order... */
	bool walks_backwards; /* ...read from its end */
	uint64_t hash;	      /* of everything but cursor, limit and format */
};

/* Parameters that the filter reads, then "cursor", "limit" and "format"; ended by NULL. */
extern const char *const price_parameters[];

/* Faults go to the reader. */
void price_filter_read(struct query_reader *reader, const struct catalogue *catalogue,
		       struct price_filter *out);

bool price_filter_matches(const struct price_filter *filter, const struct offer *offer);

/* For the offers that lists hold: what no list and no tag can match is skipped unread. */
bool price_filter_matches_list(const struct price_filter *filter, const struct catalogue *catalogue,
			       const struct offer_list *list);
bool price_filter_matches_tag(const struct price_filter *filter, const struct offer_tag *tag);

/* The sort keys of an offer, as a cursor keeps them. */
void price_filter_position(const struct price_filter *filter, const struct offer *offer,
			   struct cursor *out);

/* Less than, equal or greater than 0, as for qsort, by the first `keys` sort keys; the id, which
 * makes the order total, is not looked at. */
int price_filter_compare(const struct price_filter *filter, int keys, const struct offer *a,
			 const struct offer *b);
int price_filter_compare_cursor(const struct price_filter *filter, int keys,
				const struct offer *offer, const struct cursor *cursor);

/* By the first key alone where a tag holds it (else 0), without reading the offer. */
int price_filter_compare_tag(const struct price_filter *filter, const struct catalogue *catalogue,
			     const struct offer_tag *tag, const struct cursor *cursor);

/* Of all GPUs, as advertised: by the card where it is known, else as the feed tells; 0 = not known.
 */
double price_memory_gb(const struct offer *offer);

/* Micro-dollars a GPU-hour; PRICE_UNKNOWN when the price is. */
int64_t price_per_gpu(const struct offer *offer);

#endif
