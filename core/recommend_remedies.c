/*
 * Remedies: other ways to do the same, each tried by the whole search before it is named.
 *
 * They are looked for when nothing fits, when the best only fits tightly, and when it takes several
 * GPUs: then a cheaper method may do. A remedy that gives nothing better is not told.
 */
#include "core/recommend_parts.h"

/* An answer must be this much cheaper to be worth naming beside one that fits. */
#define CHEAPER 0.8
#define REMEDIES_MAX 6
/* A job is worth spreading over nodes when it ends this much sooner, or so few others hold it. */
#define SOONER 0.8
#define FEW_ANSWERS 5
/* Answers looked through for one on several nodes. */
#define SPREAD_LIMIT 20

struct change {
	const char *code;
	/* Changes the request; false where it does not apply or changes nothing. */
	bool (*apply)(struct recommend_request *request);
	const char *what; /* "With QLoRA" */
};

static bool is_training(const struct workload *workload)
{
	return workload->task != TASK_INFERENCE;
}

static bool is_method(const struct workload *workload, enum method method)
{
	return workload->task == TASK_FINETUNE && workload->method == (int)method;
}

static bool to_adapters(struct recommend_request *request, enum method method, enum format base)
{
	struct workload *workload = &request->workload;

	workload->method = (int)method;
	workload->base_format = (int)base;
	if (workload->lora_rank < 1)
		workload->lora_rank = 16;
	workload->lora_targets = LORA_ALL_LINEAR;
	return true;
}

static bool apply_lora(struct recommend_request *request)
{
	return is_method(&request->workload, METHOD_FULL) &&
	       to_adapters(request, METHOD_LORA, FORMAT_BF16);
}

static bool apply_qlora(struct recommend_request *request)
{
	return (is_method(&request->workload, METHOD_FULL) ||
		is_method(&request->workload, METHOD_LORA)) &&
	       to_adapters(request, METHOD_QLORA, FORMAT_NF4);
}

static bool apply_small_optimizer(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) || workload_base_is_frozen(workload) ||
	    workload->optimizer != OPTIMIZER_ADAMW)
		return false;
	workload->optimizer = OPTIMIZER_ADAMW_8BIT;
	return true;
}

static bool apply_pure_bf16(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) || workload_base_is_frozen(workload) ||
	    workload->precision == PRECISION_BF16 || workload->stack == STACK_MEGATRON)
		return false;
	workload->precision = PRECISION_BF16;
	return true;
}

static bool apply_recompute(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) ||
	    (workload->recompute != RECOMPUTE_NONE && workload->recompute != RECOMPUTE_SELECTIVE))
		return false;
	workload->recompute = RECOMPUTE_FULL;
	return true;
}

static bool apply_micro_batch(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) || workload->micro_batch <= 1)
		return false;
	workload->micro_batch = 1;
	return true;
}

static bool apply_offload(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) || workload->offload != OFFLOAD_NONE)
		return false;
	workload->offload = OFFLOAD_AUTO;
	return true;
}

static bool apply_sharding(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (!is_training(workload) || workload->sharding == SHARDING_AUTO ||
	    workload->sharding == SHARDING_ZERO3)
		return false;
	workload->sharding = SHARDING_ZERO3;
	return true;
}

static bool apply_kv_fp8(struct recommend_request *request)
{
	struct workload *workload = &request->workload;

	if (is_training(workload) || workload->kv_format == FORMAT_AUTO ||
	    format_facts((enum format)workload->kv_format)->linear_bits <= 8)
		return false;
	workload->kv_format = FORMAT_FP8;
	return true;
}

static bool apply_weights(struct recommend_request *request, enum format format)
{
	struct workload *workload = &request->workload;

	if (is_training(workload) || workload->weight_format == FORMAT_AUTO ||
	    workload->engine == ENGINE_LLAMA_CPP ||
	    format_facts((enum format)workload->weight_format)->linear_bits <=
		    format_facts(format)->linear_bits)
		return false;
	workload->weight_format = (int)format;
	return true;
}

static bool apply_weights_fp8(struct recommend_request *request)
{
	return apply_weights(request, FORMAT_FP8);
}

static bool apply_weights_awq(struct recommend_request *request)
{
	return apply_weights(request, FORMAT_AWQ);
}

/* Training of every weight keeps to one node unless told: spread_remedy() looks beyond. */
static bool may_spread(const struct recommend_request *request)
{
	const struct workload *workload = &request->workload;

	return request->constraints.max_nodes == 0 &&
	       (workload->task == TASK_PRETRAIN || is_method(workload, METHOD_FULL));
}

static bool apply_more_nodes(struct recommend_request *request)
{
	int nodes = recommend_max_nodes(request);

	if (nodes >= 16 || may_spread(request))
		return false;
	request->constraints.max_nodes = nodes < 4 ? 4 : 16;
	return true;
}

static bool apply_spot(struct recommend_request *request)
{
	if (!is_training(&request->workload) || request->workload.fault_tolerant)
		return false;
	request->workload.fault_tolerant = true;
	return true;
}

/* Least intrusive first. */
static const struct change changes[] = {
	{"recompute", apply_recompute, "With full recomputation of activations"},
	{"micro_batch", apply_micro_batch, "With a micro-batch of one and more accumulation"},
	{"shard", apply_sharding, "With full sharding (ZeRO-3, FSDP)"},
	{"quantise_kv", apply_kv_fp8, "With the KV cache in fp8"},
	{"more_nodes", apply_more_nodes, "With more machines"},
	{"small_optimizer", apply_small_optimizer, "With 8-bit AdamW"},
	{"pure_bf16", apply_pure_bf16, "With weights, gradients and states all in bf16"},
	{"quantise_weights", apply_weights_fp8, "With weights in fp8"},
	{"quantise_weights", apply_weights_awq, "With weights in 4 bits (AWQ)"},
	{"lora", apply_lora, "With LoRA instead of training every weight"},
	{"qlora", apply_qlora, "With QLoRA, the base frozen in 4 bits"},
	{"offload", apply_offload, "With states offloaded to host memory"},
	{"spot", apply_spot, "With checkpoints that make the work fault-tolerant, on spot"},
};

static bool is_worth_looking(const struct recommend_answer *answer)
{
	const struct recommendation *best = answer->recommendations;

	return !answer->recommendations_count || best->plan.fit != FIT_FITS ||
	       best->plan.layout.gpus_per_node * best->plan.layout.nodes > 1;
}

/* Fits where nothing did, fits where the best was tight, or costs clearly less. */
static bool is_better(const struct recommend_answer *before, const struct recommendation *result)
{
	const struct recommendation *best = before->recommendations;

	if (!before->recommendations_count)
		return true;
	if (best->plan.fit != result->plan.fit)
		return result->plan.fit > best->plan.fit;
	return (double)result->cost.total_micros < CHEAPER * (double)best->cost.total_micros;
}

static const char *remedy_text(struct arena *arena, const struct change *change,
			       const struct recommendation *result)
{
	const char *shape = shape_text(arena, result->shape);
	const struct cost *cost = &result->cost;

	if (!shape)
		return NULL;
	return arena_printf(arena, "%s, it %s on %d machine%s of %s at %s for $%.2f%s.",
			    change->what, result->plan.fit == FIT_FITS ? "fits" : "just fits",
			    cost->nodes, cost->nodes == 1 ? "" : "s", shape,
			    result->offer->provider, usd_from_micros(cost->total_micros),
			    cost->basis == COST_RUN	? " in all"
			    : cost->basis == COST_MONTH ? " a month"
							: " a million tokens");
}

static const char *link_name(enum cluster_link link)
{
	switch (link) {
	case CLUSTER_LINK_INFINIBAND:
		return "InfiniBand";
	case CLUSTER_LINK_ROCE:
		return "RoCE";
	case CLUSTER_LINK_EFA:
		return "EFA";
	case CLUSTER_LINK_TCPX:
		return "GPUDirect-TCPX";
	case CLUSTER_LINK_NVL72:
		return "NVLink";
	case CLUSTER_LINK_TCP:
	case CLUSTER_LINK_NONE:
	case CLUSTER_LINKS:
		break;
	}
	return "Ethernet";
}

static const char *spread_text(struct arena *arena, const struct recommendation *result)
{
	const char *shape = shape_text(arena, result->shape);
	const struct cost *cost = &result->cost;

	if (!shape)
		return NULL;
	return arena_printf(arena, "On %d machines of %s joined by %s it %s at %s for $%.2f%s.",
			    cost->nodes, shape, link_name(result->shape->fabric.cluster_link),
			    result->plan.fit == FIT_FITS ? "fits" : "just fits",
			    result->offer->provider, usd_from_micros(cost->total_micros),
			    cost->basis == COST_RUN ? " in all" : " a month");
}

static bool is_worth_spreading(const struct recommend_answer *before,
			       const struct recommendation *result)
{
	const struct recommendation *best = before->recommendations;

	if (is_better(before, result))
		return true;
	if (best->plan.fit != result->plan.fit)
		return false;
	return before->recommendations_count < FEW_ANSWERS ||
	       result->cost.wall_seconds < SOONER * best->cost.wall_seconds;
}

/* The cheapest that takes several nodes, on as few at most as give one. */
static bool spread_remedy(const struct recommend_request *request,
			  const struct catalogue *catalogue, int64_t now_us, struct arena *arena,
			  struct recommend_answer *out, struct remedy *remedies,
			  struct error *error)
{
	for (int nodes = 2; nodes <= 8; nodes *= 2) {
		struct recommend_request *other = arena_alloc(arena, sizeof(*other));
		struct recommend_answer answer;

		if (!other)
			return true;
		*other = *request;
		other->limit = SPREAD_LIMIT;
		other->group = GROUP_SHAPE;
		other->objective = OBJECTIVE_TOTAL_COST;
		other->constraints.max_nodes = nodes;
		if (!recommend_once(other, catalogue, now_us, arena, &answer, error))
			return false;
		for (int i = 0; i < answer.recommendations_count; i++) {
			const struct recommendation *result = &answer.recommendations[i];
			const char *text;

			if (result->cost.nodes < 2 || !is_worth_spreading(out, result))
				continue;
			text = spread_text(arena, result);
			if (text)
				remedies[out->remedies_count++] =
					(struct remedy){"more_nodes", text, result};
			return true;
		}
	}
	return true;
}

bool recommend_remedies(const struct recommend_request *request, const struct catalogue *catalogue,
			int64_t now_us, struct arena *arena, struct recommend_answer *out,
			struct error *error)
{
	struct remedy *remedies = arena_array(arena, REMEDIES_MAX, sizeof(*remedies));

	out->remedies = remedies;
	if (!remedies)
		return error_set(error, ERROR_UNAVAILABLE,
				 "the answer needs more memory than a request may take");
	if (!is_worth_looking(out))
		return true;
	if (may_spread(request) &&
	    !spread_remedy(request, catalogue, now_us, arena, out, remedies, error))
		return false;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct recommend_request *other = arena_alloc(arena, sizeof(*other));
		struct recommend_answer answer;
		struct remedy *remedy = &remedies[out->remedies_count];

		if (!other || out->remedies_count == REMEDIES_MAX)
			break;
		*other = *request;
		other->limit = 1;
		other->group = GROUP_SHAPE;
		other->objective = OBJECTIVE_TOTAL_COST;
		if (!changes[i].apply(other))
			continue;
		if (!recommend_once(other, catalogue, now_us, arena, &answer, error))
			return false;
		if (!answer.recommendations_count || !is_better(out, answer.recommendations))
			continue;
		*remedy = (struct remedy){changes[i].code,
					  remedy_text(arena, &changes[i], answer.recommendations),
					  answer.recommendations};
		if (remedy->text)
			out->remedies_count++;
	}
	return true;
}
