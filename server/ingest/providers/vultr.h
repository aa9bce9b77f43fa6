/* Vultr's parts: what the walk (vultr.c) and the reading of a plan (vultr_plan.c) share. */
#ifndef SERVER_INGEST_PROVIDERS_VULTR_H
#define SERVER_INGEST_PROVIDERS_VULTR_H

#include "server/ingest/providers/payload.h"

struct vultr_price {
	bool is_told; /* the feed has the field, whatever it is worth */
	int64_t micros;
	const char *amount;
};

struct vultr_region {
	struct vultr_region *next;
	const char *id, *country;
};

struct vultr_place {
	struct vultr_place *next;
	const struct vultr_region *region;
	struct vultr_price prices[PRICE_SPOT + 1];
	enum availability availability;
};

struct vultr_plan {
	struct vultr_plan *next;
	struct offer base;
	struct vultr_price prices[PRICE_SPOT + 1];
	bool is_sold[PRICE_SPOT + 1];
	struct vultr_place *places;
};

struct vultr_state {
	struct vultr_plan *plans;
	struct vultr_region *regions;	  /* those that some GPU plan names */
	const struct vultr_region *asked; /* whose stock is asked for */
	const char *cursor;		  /* of the page that is asked, or NULL */
	int number;			  /* pages of this kind that are done */
};

struct vultr_state *vultr_state(struct feed *feed);

/* Found or made; NULL when memory is out. */
struct vultr_region *vultr_region(struct feed *feed, const char *id);

/* Adds the plan to the state when it has a GPU. */
void vultr_take_plan(struct feed *feed, const json_t *row, bool is_metal);

#endif
