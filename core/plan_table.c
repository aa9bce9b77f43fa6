/* Plan table: see plan_table.h. */
#include "core/plan_table.h"

#include "core/hash.h"
#include "core/media.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define BIT(field) (WORKLOAD_BIT(WORKLOAD_##field))
/* Fields that decide what the work costs, not how it is laid out. */
#define UNPLANNED                                                                                  \
	(BIT(total_tokens) | BIT(tokens_per_epoch) | BIT(examples) | BIT(epochs) |                 \
	 BIT(dataset_gb) | BIT(bytes_per_token) | BIT(checkpoint_gb) |                             \
	 BIT(checkpoint_interval_seconds) | BIT(sessions) | BIT(hours_per_day) |                   \
	 BIT(fault_tolerant) | BIT(requests) | BIT(audio_hours) | BIT(items))

struct key_writer {
	unsigned char *bytes;
	size_t length;
	bool is_full;
};

static void put(struct key_writer *writer, const void *bytes, size_t length)
{
	if (writer->is_full || length > PLAN_KEY_BYTES_MAX - writer->length) {
		writer->is_full = true;
		return;
	}
	memcpy(writer->bytes + writer->length, bytes, length);
	writer->length += length;
}

static size_t bytes_of(enum field_kind kind)
{
	switch (kind) {
	case FIELD_ENUM:
		return sizeof(WORKLOAD_TYPE_ENUM);
	case FIELD_COUNT:
		return sizeof(WORKLOAD_TYPE_COUNT);
	case FIELD_NUMBER:
		return sizeof(WORKLOAD_TYPE_NUMBER);
	case FIELD_FLAG:
		break;
	}
	return sizeof(WORKLOAD_TYPE_FLAG);
}

/* Unset bytes between the members of an architecture may differ for equal models: that costs a
 * second table, never a wrong one. Length 0 when it is too long. */
static struct plan_key key_of(const struct workload *workload, int max_nodes, unsigned char *bytes)
{
	const struct architecture *architecture = workload->architecture;
	struct key_writer writer = {.bytes = bytes};
	workload_bits given = workload->given & ~UNPLANNED;

	put(&writer, &max_nodes, sizeof(max_nodes));
	for (int i = 0; i < WORKLOAD_FIELD_COUNT; i++)
		if (!(UNPLANNED >> i & 1u))
			put(&writer, (const char *)workload + workload_fields[i].offset,
			    bytes_of(workload_fields[i].kind));
	put(&writer, &given, sizeof(given));
	put(&writer, architecture, offsetof(struct architecture, kinds));
	put(&writer, architecture->kinds,
	    (size_t)architecture->kinds_count * sizeof(architecture->kinds[0]));
	put(&writer, (const char *)architecture + offsetof(struct architecture, kinds_count),
	    sizeof(*architecture) - offsetof(struct architecture, kinds_count));
	if (architecture->media)
		put(&writer, architecture->media, sizeof(*architecture->media));
	if (writer.is_full)
		return (struct plan_key){bytes, 0, 0};
	return (struct plan_key){bytes, writer.length,
				 hash_bytes(HASH_START, bytes, writer.length)};
}

/* Bytes of a set without the places for plans that it does not have. */
static size_t set_bytes(const struct plan_set *set)
{
	int plans = set->count ? set->count : set->slow_distance > 0 ? 2 : 1;

	return offsetof(struct plan_set, plans) + (size_t)plans * sizeof(struct plan);
}

static const struct plan_set *copy_set(struct plan_table *table, uint32_t place,
				       const struct plan_set *set)
{
	const struct plan_set *copy = arena_copy(&table->arena, set, set_bytes(set));

	if (!copy)
		return NULL;
	table->sets[place] = copy;
	table->planned_count++;
	return copy;
}

void plan_table_free(struct plan_table *table)
{
	arena_release(&table->arena);
	free(table);
}

static struct plan_table *table_new(const struct plan_key *key, uint32_t shapes_count)
{
	struct plan_table *table = calloc(1, sizeof(*table));
	unsigned char *bytes;

	if (!table)
		return NULL;
	arena_init(&table->arena, PLAN_TABLE_BYTES_MAX);
	bytes = arena_alloc(&table->arena, key->length);
	table->sets = arena_array(&table->arena, shapes_count, sizeof(*table->sets));
	if (!bytes || !table->sets) {
		plan_table_free(table);
		return NULL;
	}
	if (key->length) /* without a keeper there is none */
		memcpy(bytes, key->bytes, key->length);
	table->key = (struct plan_key){bytes, key->length, key->hash};
	table->shapes_count = shapes_count;
	return table;
}

void plan_search_begin(struct plan_search *search, const struct plan_keeper *keeper,
		       const struct workload *workload, const struct catalogue *catalogue,
		       int max_nodes)
{
	struct plan_key key = {0};

	search->keeper = keeper;
	search->catalogue = catalogue;
	search->max_nodes = max_nodes;
	search->is_prepared = false;
	search->kept = NULL;
	search->fresh = NULL;
	search->basis.workload = workload;
	if (keeper)
		key = key_of(workload, max_nodes, search->key);
	if (key.length)
		search->kept = keeper->find(keeper->context, &key, &search->handle);
	else
		search->keeper = NULL;
	if (!search->kept)
		search->fresh = table_new(&key, catalogue->shapes_count);
}

/* The own table of a search that found one which lacks a shape: all that was found, and more. */
static void extend(struct plan_search *search)
{
	const struct plan_table *kept = search->kept;

	search->fresh = table_new(&kept->key, kept->shapes_count);
	for (uint32_t i = 0; search->fresh && i < kept->shapes_count; i++)
		if (kept->sets[i] && !copy_set(search->fresh, i, kept->sets[i]))
			return;
}

/* Whether two shapes of a card have the same plans: the links differ where none is used, or the RAM
 * where nothing is offloaded. */
static bool is_alike(const struct plan_search *search, const struct shape *a, const struct shape *b)
{
	const struct workload *workload = search->basis.workload;
	bool is_serving = workload->task == TASK_INFERENCE;
	bool has_host_states = !is_serving && (workload->offload != OFFLOAD_NONE ||
					       workload->optimizer == OPTIMIZER_PAGED_ADAMW ||
					       workload->optimizer == OPTIMIZER_PAGED_ADAMW_8BIT);
	bool has_nodes = search->max_nodes > 1 && (a->has_cluster || b->has_cluster);
	const struct fabric *x = &a->fabric, *y = &b->fabric;

	if (a->accelerator != b->accelerator || a->count_milli != b->count_milli)
		return false;
	if (has_host_states && (a->ram_gib < b->ram_gib || a->ram_gib > b->ram_gib))
		return false;
	/* Copies of a model that one GPU holds use no link; a job over nodes uses all. */
	if (has_nodes)
		return false;
	return a->count_milli <= COUNT_MILLI_ONE ||
	       (x->node_link == y->node_link && x->domain_gpus == y->domain_gpus &&
		!(x->node_bytes_per_second < y->node_bytes_per_second) &&
		!(x->node_bytes_per_second > y->node_bytes_per_second));
}

/* The plans of a shape that has the same, planned before; shapes of one card lie together. */
static const struct plan_set *find_alike(const struct plan_search *search, uint32_t place)
{
	const struct shape *shapes = search->catalogue->shapes;

	for (uint32_t i = place; i-- > 0 && shapes[i].accelerator == shapes[place].accelerator;)
		if (search->fresh->sets[i] && is_alike(search, &shapes[i], &shapes[place]))
			return search->fresh->sets[i];
	return NULL;
}

const struct plan_set *plan_search_shape(struct plan_search *search, uint32_t place)
{
	const struct plan_set *found;

	if (search->kept && search->kept->sets[place])
		return search->kept->sets[place];
	if (search->kept && !search->fresh)
		extend(search);
	if (search->fresh && !search->fresh->sets[place]) {
		search->fresh->sets[place] = find_alike(search, place);
		search->fresh->planned_count += search->fresh->sets[place] != NULL;
	}
	if (search->fresh && search->fresh->sets[place])
		return search->fresh->sets[place];
	if (!search->is_prepared)
		plan_prepare(search->basis.workload, &search->basis);
	search->is_prepared = true;
	plan_shape(&search->basis, &search->catalogue->shapes[place], search->max_nodes,
		   &search->set);
	found = search->fresh ? copy_set(search->fresh, place, &search->set) : NULL;
	return found ? found : &search->set;
}

void plan_search_end(struct plan_search *search)
{
	const struct plan_keeper *keeper = search->keeper;

	if (search->kept)
		keeper->release(keeper->context, search->handle);
	if (search->fresh && keeper && search->fresh->planned_count)
		keeper->keep(keeper->context, search->fresh);
	else if (search->fresh)
		plan_table_free(search->fresh);
}
