/*
 * The parts of catalogue_build(): private to core/catalogue*.c.
 */
#ifndef CORE_CATALOGUE_PARTS_H
#define CORE_CATALOGUE_PARTS_H

#include "core/catalogue.h"
#include "core/pool.h"

struct offer_row {
	uint64_t id;
	int64_t price_micros, upfront_micros;
	int64_t observed_at_us, first_seen_us, last_seen_us;
	int64_t version, public_version;
	double memory_gb, vcpus, ram_gib, disk_gb;
	uint32_t texts[OFFER_TEXTS]; /* into catalogue->texts */
	int32_t count_milli, quantity, term_months;
	uint8_t price_kind, availability, interruption_band;
	bool is_mapped;
};

/* One build: what it makes lives in the catalogue's arena, what it only needs meanwhile in scratch.
 */
struct catalogue_build {
	struct catalogue *catalogue;
	struct arena scratch;
	struct pool pool;
	struct offer *offers; /* in the order of the catalogue, unpacked, in scratch */
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

/* Pools the strings of an offer; `previous` is one like it whose strings are. False when memory is
 * out.
 */
bool catalogue_intern(struct catalogue_build *build, struct offer *offer,
		      const struct offer *previous);

/* Rows and texts from the offers, once nothing more is pooled. False when memory is out. */
bool catalogue_pack(struct catalogue_build *build);

/* Offers that left and states of before. False when memory is out. */
bool catalogue_keep_changes(struct catalogue_build *build, const struct catalogue_input *input);

/* The changes of build->catalogue, which is `whole` or its public view, and its spellings; needs
 * the offers and their groups. False when memory is out. */
bool catalogue_order_changes(struct catalogue_build *build, const struct catalogue *whole);

/* Shapes, sellers, lists, by_price, columns, regions and unlisted from the offers. False when
 * memory is out. */
bool catalogue_group(struct catalogue_build *build);

/* The view without what is private; needs all of the rest. False when memory is out. */
bool catalogue_part(struct catalogue_build *build);

/* How old the offers are and which providers are stale, once offers and providers are copied. False
 * when memory is out. */
bool catalogue_age(struct catalogue_build *build);

#endif
