/*
 * Plan memo: estimates of serving layouts of one card. Copies of a model share nothing, so that one
 * takes as long and holds as much on a machine of eight cards as on one of two, and the shapes of a
 * card ask for the same layouts again. Places are overwritten, never searched.
 */
#include "core/plan_parts.h"

#include <math.h>

void plan_memo_clear(struct plan_memo *memo)
{
	memo->card = memo->copy.card = 0;
	for (int i = 0; i < PLAN_MEMO; i++)
		memo->timed[i].key.card = memo->judged[i].key.card = 0;
}

static struct plan_memo_key key_of(const struct planning *planning, const struct layout *layout)
{
	const struct fabric *fabric = &planning->fabric;
	bool has_links = layout->tensor_parallel > 1;
	/* What lies past the bridge goes another way; other links do not tell. */
	bool is_pair = has_links && fabric->node_link == NODE_LINK_NVLINK_PAIR;

	return (struct plan_memo_key){
		.card = planning->basis->memo.card,
		.tensor = layout->tensor_parallel,
		.stages = layout->pipeline_parallel,
		.weight = layout->weight_format,
		.kv = layout->kv_format,
		.sequences = layout->sequences,
		.link = has_links ? fabric->node_link : NODE_LINK_SINGLE,
		.domain = is_pair ? fabric->domain_gpus : 0,
		.link_bytes_per_second = has_links ? fabric->node_bytes_per_second : 0,
	};
}

static bool is_same(const struct plan_memo_key *a, const struct plan_memo_key *b)
{
	return a->card == b->card && a->tensor == b->tensor && a->stages == b->stages &&
	       a->weight == b->weight && a->kv == b->kv && a->link == b->link &&
	       a->domain == b->domain && !(fabs(a->sequences - b->sequences) > 0) &&
	       !(fabs(a->link_bytes_per_second - b->link_bytes_per_second) > 0);
}

/* Multiplied by odd numbers, so that layouts that differ in little lie apart. */
static unsigned place_of(const struct plan_memo_key *key)
{
	unsigned mixed = (unsigned)key->sequences * 2654435761U;

	mixed += (unsigned)key->tensor * 40503U + (unsigned)key->stages * 10007U;
	mixed += (unsigned)key->weight * 30011U + (unsigned)key->kv * 50021U;
	return (mixed ^ mixed >> 15) % PLAN_MEMO;
}

/* Of one replica. Loads of one copy come one after the other. */
static void estimate(struct planning *planning, int fidelity, const struct layout *layout,
		     const struct plan_memo_key *key, struct speed_estimate *out)
{
	struct plan_memo *memo = &planning->basis->memo;
	struct plan_memo_key copy = *key;
	struct layout single = *layout;

	copy.sequences = 0;
	if (!is_same(&memo->copy, &copy)) {
		memo->copy = copy;
		memo->speed.is_known = false;
	}
	single.replicas = 1;
	speed_estimate_load(&planning->basis->formats[fidelity].speed, &single, &planning->fabric,
			    &memo->speed, out);
}

void plan_memo_time(struct planning *planning, int fidelity, const struct layout *layout,
		    struct speed_estimate *out)
{
	struct plan_memo_key key = key_of(planning, layout);
	struct plan_timed *timed = &planning->basis->memo.timed[place_of(&key)];

	if (!is_same(&timed->key, &key)) {
		timed->key = key;
		estimate(planning, fidelity, layout, &key, &timed->speed);
	}
	*out = timed->speed;
	speed_replicate(out, layout->replicas);
}

void plan_memo_judge(struct planning *planning, const struct layout *layout,
		     struct memory_estimate *out)
{
	struct plan_memo_key key = key_of(planning, layout);
	struct plan_judged *judged;

	key.link = NODE_LINK_SINGLE;
	key.domain = 0;
	key.link_bytes_per_second = 0;
	judged = &planning->basis->memo.judged[place_of(&key)];
	if (!is_same(&judged->key, &key)) {
		judged->key = key;
		memory_estimate(&planning->basis->memory, layout, &planning->basis->slice,
				&judged->memory);
	}
	*out = judged->memory;
}
