/*
 * Plan table: the plans of one workload for the shapes of one catalogue, and the search through
 * them that fills what is not planned yet.
 *
 * Plans depend on neither prices nor filters, so that a table serves every request of its workload
 * until the catalogue changes. One thread fills a table; once a keeper has it, nobody changes it
 * any more: a request that needs further shapes plans them into a table of its own, which holds all
 * that the kept one does, and the keeper may take that in its place.
 */
#ifndef CORE_PLAN_TABLE_H
#define CORE_PLAN_TABLE_H

#include "core/plan.h"

#define PLAN_KEY_BYTES_MAX 16384
#define PLAN_TABLE_BYTES_MAX ((size_t)32 << 20)

/* What plans depend on, besides the catalogue: the fields of the workload that planning reads, its
 * architecture and the nodes that it may take. Equal bytes are equal plans. */
struct plan_key {
	const unsigned char *bytes;
	size_t length;
	uint64_t hash;
};

struct plan_table {
	struct plan_key key;
	const struct plan_set **sets; /* by place in catalogue->shapes; NULL = not planned */
	uint32_t shapes_count, planned_count;
	struct arena arena; /* owns all of it, the table itself apart */
};

/* Keeps tables between requests. Every function may be called from any thread. */
struct plan_keeper {
	void *context;
	/* The table of that key, which stays until `handle` is released; NULL when there is none.
	 */
	const struct plan_table *(*find)(void *context, const struct plan_key *key, void **handle);
	void (*release)(void *context, void *handle);
	/* Takes the table over, be it to keep it or to free it. */
	void (*keep)(void *context, struct plan_table *table);
};

struct plan_search {
	const struct plan_keeper *keeper;
	const struct catalogue *catalogue;
	int max_nodes;
	struct plan_basis basis;
	bool is_prepared;
	const struct plan_table *kept; /* as found */
	void *handle;		       /* of `kept` */
	struct plan_table *fresh;      /* made by this search, when `kept` did not do */
	struct plan_set set; /* the last one planned, when there is no memory to keep it */
	unsigned char key[PLAN_KEY_BYTES_MAX];
};

/* `keeper` NULL: plans are forgotten at the end. */
void plan_search_begin(struct plan_search *search, const struct plan_keeper *keeper,
		       const struct workload *workload, const struct catalogue *catalogue,
		       int max_nodes);

/* Plans of the shape at that place; valid until the next call or the end. */
const struct plan_set *plan_search_shape(struct plan_search *search, uint32_t place);

void plan_search_end(struct plan_search *search);

void plan_table_free(struct plan_table *table);

#endif
