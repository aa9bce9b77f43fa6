/*
 * Plan memo: copies of a served model on one card. Copies share nothing, so that one takes as long
 * and holds as much on a machine of eight cards as on one of two: the shapes of a card find what is
 * the same under any load where another left it. Places are overwritten, never searched.
 */
#include "core/plan_parts.h"

#include <math.h>

void plan_memo_clear(struct plan_memo *memo)
{
	memo->card = 0;
	for (int i = 0; i < PLAN_MEMO; i++)
		memo->copies[i].key.card = 0;
}

static struct plan_copy_key key_of(const struct planning *planning, const struct layout *layout)
{
	const struct fabric *fabric = &planning->fabric;
	bool has_links = layout->tensor_parallel > 1;
	/* What lies past the bridge goes another way; other links do not tell. */
	bool is_pair = has_links && fabric->node_link == NODE_LINK_NVLINK_PAIR;

	return (struct plan_copy_key){
		.card = planning->basis->memo.card,
		.tensor = layout->tensor_parallel,
		.stages = layout->pipeline_parallel,
		.weight = layout->weight_format,
		.kv = layout->kv_format,
		.link = has_links ? fabric->node_link : NODE_LINK_SINGLE,
		.domain = is_pair ? fabric->domain_gpus : 0,
		.link_bytes_per_second = has_links ? fabric->node_bytes_per_second : 0,
	};
}

static bool is_same(const struct plan_copy_key *a, const struct plan_copy_key *b)
{
	return a->card == b->card && a->tensor == b->tensor && a->stages == b->stages &&
	       a->weight == b->weight && a->kv == b->kv && a->link == b->link &&
	       a->domain == b->domain &&
	       !(fabs(a->link_bytes_per_second - b->link_bytes_per_second) > 0);
}

/* Multiplied by odd numbers, so that layouts that differ in little lie apart. */
static unsigned place_of(const struct plan_copy_key *key)
{
	unsigned mixed = (unsigned)key->tensor * 2654435761U + (unsigned)key->stages * 40503U;

	mixed += (unsigned)key->weight * 30011U + (unsigned)key->kv * 50021U;
	return (mixed ^ mixed >> 15) % PLAN_MEMO;
}

struct plan_copy *plan_memo_copy(const struct planning *planning, const struct layout *layout)
{
	struct plan_copy_key key = key_of(planning, layout);
	struct plan_copy *copy = &planning->basis->memo.copies[place_of(&key)];

	if (!is_same(&copy->key, &key)) {
		copy->key = key;
		copy->memory.is_known = false;
		copy->speed.is_known = false;
		copy->loads_count = 0;
		copy->held.wanted = 0;
	}
	return copy;
}
