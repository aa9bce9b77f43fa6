/*
 * The parts of catalogue_build(): private to core/catalogue*.c.
 */
#ifndef CORE_CATALOGUE_PARTS_H
#define CORE_CATALOGUE_PARTS_H

#include "core/catalogue.h"
#include "core/pool.h"

/* One build: what it makes lives in the catalogue's arena, what it only needs meanwhile in scratch.
 */
struct catalogue_build {
	struct catalogue *catalogue;
	struct arena scratch;
	struct pool pool;
	struct offer *offers; /* the catalogue's own, being filled */
};

/* Hardware shapes in order of discovery; sorted, they are the catalogue's. */
struct catalogue_shapes {
	struct arena *scratch;
	struct catalogue_kind *kinds; /* open addressing */
	size_t kinds_capacity, kinds_count;
	struct shape *items;
	uint32_t count, capacity;
	uint32_t *ranks; /* number in order of discovery → place in the catalogue */
};

#define CATALOGUE_NO_SHAPE UINT32_MAX

/* The number of the offer's shape, or CATALOGUE_NO_SHAPE for an unmapped card. False when memory is
 * out. */
bool catalogue_shapes_find(struct catalogue_shapes *shapes, const struct offer *offer,
			   uint32_t *number);

/* By name and count, into the catalogue's arena; fills `ranks`. */
bool catalogue_shapes_sort(struct catalogue_shapes *shapes, struct catalogue *catalogue);

/* Shapes, lists, by_price, tags, regions and unlisted from the offers. False when memory is out. */
bool catalogue_group(struct catalogue_build *build);

/* How old the offers are and which providers are stale, once offers and providers are copied. False
 * when memory is out. */
bool catalogue_age(struct catalogue_build *build);

#endif
