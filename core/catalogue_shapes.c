/*
 * Catalogue shapes: which hardware shape an offer has, and the shapes in order.
 *
 * Every offer of one (provider, instance type, card, count) has the same shape, so the tables
 * behind a shape are asked once for each such kind, not for each of a million offers.
 */
#include "core/catalogue_parts.h"

#include <stdlib.h>
#include <string.h>

/* Offers alike but for place and price. Strings are pooled: equal text, equal pointer. */
struct catalogue_kind {
	const char *provider, *instance_type, *accelerator;
	int32_t count_milli;
	uint32_t shape;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t hash_kind(const struct offer *offer)
{
	uint64_t hash = mix((uintptr_t)offer->provider, (uintptr_t)offer->instance_type);

	return mix(mix(hash, (uintptr_t)offer->accelerator), (uint32_t)offer->count_milli);
}

/* Zero or larger; doubles are equal when neither is larger. */
static int compare_doubles(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_fabrics(const struct fabric *a, const struct fabric *b)
{
	int order = (int)a->node_link - (int)b->node_link;

	if (!order)
		order = compare_doubles(a->node_bytes_per_second, b->node_bytes_per_second);
	if (!order)
		order = a->domain_gpus - b->domain_gpus;
	if (!order)
		order = (int)a->cluster_link - (int)b->cluster_link;
	if (!order)
		order = compare_doubles(a->cluster_bytes_per_second, b->cluster_bytes_per_second);
	return order;
}

static int compare_shapes(const void *left, const void *right)
{
	const struct shape *a = left, *b = right;
	int order = strcmp(a->accelerator->name, b->accelerator->name);

	if (!order)
		order = (a->count_milli > b->count_milli) - (a->count_milli < b->count_milli);
	if (!order)
		order = (int)a->has_cluster - (int)b->has_cluster;
	return order ? order : compare_fabrics(&a->fabric, &b->fabric);
}

/* How the machine's GPUs are joined: by the instance table where it means the same machine, else
 * what the card alone allows. */
static struct shape shape_of(const struct offer *offer, const struct accelerator *accelerator)
{
	double count = (double)offer->count_milli / COUNT_MILLI_ONE;
	const struct instance *instance = instance_find(offer->provider, offer->instance_type);
	struct shape shape = {.accelerator = accelerator, .count_milli = offer->count_milli};

	if (instance && strcmp(instance->accelerator, accelerator->name) == 0 &&
	    (int32_t)(instance->count * COUNT_MILLI_ONE + 0.5) == offer->count_milli) {
		shape.fabric = instance->fabric;
		shape.has_cluster = instance->has_cluster && fabric_has_rdma(&instance->fabric);
	} else {
		shape.fabric = fabric_of_accelerator(accelerator, count);
	}
	return shape;
}

bool catalogue_fabric(const struct offer *offer, struct fabric *out)
{
	const struct accelerator *accelerator =
		offer->is_mapped ? accelerator_find(offer->accelerator) : NULL;

	if (!accelerator || offer->count_milli <= 0)
		return false;
	*out = shape_of(offer, accelerator).fabric;
	return true;
}

static uint32_t shape_add(struct catalogue_shapes *shapes, const struct shape *shape)
{
	for (uint32_t i = 0; i < shapes->count; i++)
		if (shapes->items[i].accelerator == shape->accelerator &&
		    shapes->items[i].count_milli == shape->count_milli &&
		    compare_shapes(&shapes->items[i], shape) == 0)
			return i;
	if (shapes->count == shapes->capacity) {
		uint32_t capacity = shapes->capacity ? shapes->capacity * 2 : 256;
		struct shape *items = arena_array(shapes->scratch, capacity, sizeof(*items));

		if (!items)
			return CATALOGUE_NO_SHAPE;
		if (shapes->count)
			memcpy(items, shapes->items, shapes->count * sizeof(*items));
		shapes->items = items;
		shapes->capacity = capacity;
	}
	shapes->items[shapes->count] = *shape;
	return shapes->count++;
}

static bool kinds_grow(struct catalogue_shapes *shapes)
{
	size_t capacity = shapes->kinds_capacity ? shapes->kinds_capacity * 2 : 4096;
	struct catalogue_kind *kinds = arena_array(shapes->scratch, capacity, sizeof(*kinds));

	if (!kinds)
		return false;
	for (size_t i = 0; i < shapes->kinds_capacity; i++) {
		const struct catalogue_kind *kind = &shapes->kinds[i];
		struct offer offer = {.provider = kind->provider,
				      .instance_type = kind->instance_type,
				      .accelerator = kind->accelerator,
				      .count_milli = kind->count_milli};
		size_t at;

		if (!kind->provider)
			continue;
		at = hash_kind(&offer) & (capacity - 1);
		while (kinds[at].provider)
			at = (at + 1) & (capacity - 1);
		kinds[at] = *kind;
	}
	shapes->kinds = kinds;
	shapes->kinds_capacity = capacity;
	return true;
}

/* The kind of an offer, made when new; NULL when memory is out. */
static const struct catalogue_kind *kind_of(struct catalogue_shapes *shapes,
					    const struct offer *offer)
{
	const struct accelerator *accelerator;
	struct catalogue_kind *kind;
	size_t at;

	if (shapes->kinds_count * 2 >= shapes->kinds_capacity && !kinds_grow(shapes))
		return NULL;
	at = hash_kind(offer) & (shapes->kinds_capacity - 1);
	for (;; at = (at + 1) & (shapes->kinds_capacity - 1)) {
		kind = &shapes->kinds[at];
		if (!kind->provider)
			break;
		if (kind->provider == offer->provider &&
		    kind->instance_type == offer->instance_type &&
		    kind->accelerator == offer->accelerator &&
		    kind->count_milli == offer->count_milli)
			return kind;
	}
	*kind = (struct catalogue_kind){offer->provider, offer->instance_type, offer->accelerator,
					offer->count_milli, CATALOGUE_NO_SHAPE};
	shapes->kinds_count++;
	accelerator = offer->is_mapped ? accelerator_find(offer->accelerator) : NULL;
	if (accelerator && offer->count_milli > 0) {
		struct shape shape = shape_of(offer, accelerator);

		kind->shape = shape_add(shapes, &shape);
		if (kind->shape == CATALOGUE_NO_SHAPE)
			return NULL;
	}
	return kind;
}

bool catalogue_shapes_find(struct catalogue_shapes *shapes, const struct offer *offer,
			   uint32_t *number)
{
	const struct catalogue_kind *kind = kind_of(shapes, offer);

	if (kind)
		*number = kind->shape;
	return kind;
}

bool catalogue_shapes_sort(struct catalogue_shapes *shapes, struct catalogue *catalogue)
{
	struct shape *sorted = arena_array(&catalogue->arena, shapes->count, sizeof(*sorted));

	shapes->ranks = arena_array(shapes->scratch, shapes->count, sizeof(*shapes->ranks));
	if (!sorted || !shapes->ranks)
		return false;
	if (shapes->count) {
		memcpy(sorted, shapes->items, shapes->count * sizeof(*sorted));
		qsort(sorted, shapes->count, sizeof(*sorted), compare_shapes);
	}
	for (uint32_t i = 0; i < shapes->count; i++) {
		const struct shape *place = bsearch(&shapes->items[i], sorted, shapes->count,
						    sizeof(*sorted), compare_shapes);

		shapes->ranks[i] = (uint32_t)(place - sorted);
	}
	shapes->items = sorted;
	catalogue->shapes = sorted;
	catalogue->shapes_count = shapes->count;
	return true;
}
