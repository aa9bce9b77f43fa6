#include "core/plan.h"

#include "tests/core/market.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>

/* A machine of that card as the card alone allows; `joined` gives it a cluster fabric. */
static struct shape shape_of(const char *card, double count, bool joined)
{
	const struct accelerator *accelerator = accelerator_find(card);
	struct shape shape = {.accelerator = accelerator,
			      .count_milli = (int32_t)(count * COUNT_MILLI_ONE + 0.5),
			      .ram_gib = 1024};

	ck_assert_msg(accelerator, "%s", card);
	shape.fabric = fabric_of_accelerator(accelerator, count);
	if (joined) {
		shape.has_cluster = true;
		shape.fabric.cluster_link = CLUSTER_LINK_INFINIBAND;
		shape.fabric.cluster_bytes_per_second = 400 * GB;
	}
	return shape;
}

static void plan_of(const struct workload *workload, const struct shape *shape, int max_nodes,
		    struct plan_set *set)
{
	static struct plan_basis basis;

	plan_prepare(workload, &basis);
	plan_shape(&basis, shape, max_nodes, set);
}

/* The plan must hold by the memory model itself, and its numbers must be consistent. */
static void check_plan(const struct workload *workload, const struct shape *shape,
		       const struct plan *plan)
{
	const struct layout *layout = &plan->layout;
	struct memory_basis basis;
	struct memory_estimate memory;
	struct accelerator slice = *shape->accelerator;
	int gpus = layout->gpus_per_node * layout->nodes;
	double share = fmin(1, (double)shape->count_milli / COUNT_MILLI_ONE), usable;

	slice.memory_usable_mib *= share;
	usable = accelerator_memory_bytes(&slice);
	memory_prepare(workload, &basis);
	memory_estimate(&basis, layout, &slice, &memory);
	ck_assert_double_eq_tol(memory.device_bytes, plan->memory.device_bytes, 1);
	ck_assert_double_le(memory.device_bytes, usable);
	if (plan->fit == FIT_FITS)
		ck_assert_double_le(memory.high_bytes, usable);
	ck_assert_double_eq_tol(plan->headroom_bytes, usable - memory.device_bytes, 1);
	if (workload->task == TASK_INFERENCE) {
		ck_assert_double_le(memory.device_bytes, usable * workload->gpu_memory_utilization);
		ck_assert_int_le(layout_gpus_per_replica(layout) * layout->replicas, gpus);
		if (workload->concurrency > 0 && (workload->mode == SERVING_INTERACTIVE ||
						  workload_has(workload, WORKLOAD_concurrency)))
			ck_assert_double_ge(layout->sequences * layout->replicas,
					    (double)workload->concurrency);
		if (workload->max_tpot_seconds > 0)
			ck_assert_double_le(plan->speed.tpot_seconds, workload->max_tpot_seconds);
	} else {
		ck_assert_int_le(layout_gpus_per_replica(layout) * layout->data_parallel, gpus);
		if (workload_has(workload, WORKLOAD_global_batch))
			ck_assert_int_eq(layout->micro_batch * layout->accumulation *
						 layout->data_parallel,
					 workload->global_batch);
		if (workload_has(workload, WORKLOAD_micro_batch))
			ck_assert_int_eq(layout->micro_batch, workload->micro_batch);
		ck_assert_int_ne(layout->sharding, SHARDING_AUTO);
		ck_assert_int_ne(layout->recompute, RECOMPUTE_AUTO);
		ck_assert_int_ne(layout->offload, OFFLOAD_AUTO);
	}
	ck_assert_double_gt(plan->speed.tokens_per_second, 0);
}

static enum fit fit_on(const char *model, const char *fields, const char *card, double count)
{
	struct workload workload = market_workload(model, fields);
	struct shape shape = shape_of(card, count, false);
	struct plan_set set;

	plan_of(&workload, &shape, 1, &set);
	if (!set.count)
		return FIT_NO;
	check_plan(&workload, &shape, &set.plans[0]);
	return set.plans[0].fit;
}

/* NF4 holds 70B in about 37 GiB, and at 2k tokens activations stay small with recomputation. */
START_TEST(qlora_of_70b_needs_one_80gb_card)
{
	static const char fields[] =
		"task=finetune method=qlora sequence_length=2048 micro_batch=1";
	static const char model[] = "meta-llama/Llama-3.1-70B";

	ck_assert_int_eq(fit_on(model, fields, "A100 SXM4 80GB", 1), FIT_FITS);
	ck_assert_int_eq(fit_on(model, fields, "H100 PCIe 80GB", 1), FIT_FITS);
	ck_assert_int_ne(fit_on(model, fields, "L40S 48GB", 1), FIT_FITS);
	ck_assert_int_eq(fit_on(model, fields, "L4 24GB", 1), FIT_NO);
	ck_assert_int_eq(fit_on(model, fields, "RTX 4090 24GB", 1), FIT_NO);
	ck_assert_int_eq(fit_on(model, fields, "A100 SXM4 40GB", 1), FIT_NO);
}
END_TEST

/* 32 sequences of 8k: 32 GiB of bf16 cache on 15 GiB of weights. */
START_TEST(serving_8b_at_8k_times_32)
{
	static const char bf16[] =
		"task=inference prompt_tokens=7936 output_tokens=256 concurrency=32 "
		"weight_format=bf16 kv_format=bf16";
	/* Of room alone: an L4 takes longer for such a prompt than people wait. */
	static const char any[] =
		"task=inference prompt_tokens=7936 output_tokens=256 concurrency=32 "
		"weight_format=bf16 max_ttft_seconds=0";
	static const char model[] = "meta-llama/Llama-3.1-8B";
	struct workload workload = market_workload(model, any);
	struct shape l40s = shape_of("L40S 48GB", 1, false), l4 = shape_of("L4 24GB", 1, false);
	struct plan_set set;

	ck_assert_int_eq(fit_on(model, bf16, "H100 SXM5 80GB", 1), FIT_FITS);
	ck_assert_int_eq(fit_on(model, bf16, "L40S 48GB", 1), FIT_NO);
	ck_assert_int_eq(fit_on(model, bf16, "L4 24GB", 1), FIT_NO);
	plan_of(&workload, &l40s, 1, &set);
	ck_assert_int_eq(set.count, 1);
	ck_assert_int_eq(set.plans[0].layout.kv_format, FORMAT_FP8);
	ck_assert_int_eq(set.plans[0].layout.weight_format, FORMAT_BF16);
	/* One 24 GB card does not hold it; several do, as copies. */
	plan_of(&workload, &l4, 1, &set);
	ck_assert_int_eq(set.count, 0);
	plan_of(&workload, &l4, 8, &set);
	ck_assert_int_gt(set.count, 0);
	for (int i = 0; i < set.count; i++) {
		check_plan(&workload, &l4, &set.plans[i]);
		ck_assert_int_gt(set.plans[i].layout.nodes, 1);
	}
}
END_TEST

START_TEST(full_fine_tuning_needs_several_times_what_serving_does)
{
	struct workload serve = market_workload("meta-llama/Llama-3.1-8B",
						"task=inference concurrency=1 prompt_tokens=1024");
	struct workload train =
		market_workload("meta-llama/Llama-3.1-8B", "task=finetune method=full");
	struct shape shape = shape_of("B300 SXM 288GB", 1, false);
	struct plan_set served, trained;

	plan_of(&serve, &shape, 1, &served);
	plan_of(&train, &shape, 1, &trained);
	ck_assert_int_eq(served.count, 1);
	ck_assert_int_eq(trained.count, 1);
	ck_assert_double_gt(trained.plans[0].memory.device_bytes,
			    4 * served.plans[0].memory.device_bytes);
}
END_TEST

START_TEST(full_fine_tuning_of_70b_is_for_nodes_of_large_cards)
{
	static const char model[] = "meta-llama/Llama-3.1-70B";
	static const char fields[] = "task=finetune method=full";

	ck_assert_int_eq(fit_on(model, fields, "H100 SXM5 80GB", 1), FIT_NO);
	ck_assert_int_eq(fit_on(model, fields, "L40S 48GB", 8), FIT_NO);
	ck_assert_int_eq(fit_on(model, fields, "B300 SXM 288GB", 8), FIT_FITS);
}
END_TEST

START_TEST(several_nodes_need_a_fabric_to_train_and_none_to_serve)
{
	struct workload train = market_workload("meta-llama/Llama-3.1-70B",
						"task=pretrain total_tokens=1000000000");
	struct workload serve = market_workload(
		"meta-llama/Llama-3.1-8B",
		"task=inference prompt_tokens=7936 output_tokens=256 concurrency=64 "
		"weight_format=bf16 kv_format=bf16");
	struct shape alone = shape_of("H100 SXM5 80GB", 8, false);
	struct shape joined = shape_of("H100 SXM5 80GB", 8, true);
	struct shape one = shape_of("H100 SXM5 80GB", 1, false);
	struct plan_set set;

	plan_of(&train, &alone, 8, &set);
	ck_assert_int_eq(set.count, 0);
	ck_assert_int_eq(set.failure, PLAN_NO_CLUSTER);
	plan_of(&train, &joined, 1, &set);
	ck_assert_int_eq(set.count, 0);
	ck_assert_int_eq(set.failure, PLAN_NO_MEMORY);
	ck_assert_double_gt(set.nearest_distance, 1);
	plan_of(&train, &joined, 8, &set);
	ck_assert_int_gt(set.count, 0);
	for (int i = 0; i < set.count; i++) {
		ck_assert_int_gt(set.plans[i].layout.nodes, 1);
		check_plan(&train, &joined, &set.plans[i]);
	}
	plan_of(&serve, &one, 4, &set);
	ck_assert_int_gt(set.count, 0);
	ck_assert_int_ge(set.plans[0].layout.nodes, 2);
	ck_assert_int_ge(set.plans[0].layout.replicas, 2);
}
END_TEST

START_TEST(tensor_parallelism_divides_heads_and_stays_on_fast_links)
{
	struct workload train = market_workload(
		"meta-llama/Llama-3.1-70B", "task=pretrain stack=megatron total_tokens=1000000000");
	struct workload serve =
		market_workload("meta-llama/Llama-3.1-70B", "task=inference concurrency=8");
	struct shape pcie = shape_of("RTX PRO 6000 Blackwell Server 96GB", 8, true);
	struct shape six = shape_of("A100 SXM4 80GB", 6, false);
	struct plan_set set;

	plan_of(&train, &pcie, 16, &set);
	ck_assert_int_gt(set.count, 0);
	for (int i = 0; i < set.count; i++)
		ck_assert_int_eq(set.plans[i].layout.tensor_parallel, 1);
	/* 64 heads do not divide by 6 nor by 3. */
	plan_of(&serve, &six, 1, &set);
	ck_assert_int_gt(set.count, 0);
	ck_assert_int_eq(64 % set.plans[0].layout.tensor_parallel, 0);
}
END_TEST

START_TEST(a_given_batch_is_kept_to_the_sequence)
{
	struct workload workload =
		market_workload("meta-llama/Llama-3.1-8B",
				"task=finetune method=lora global_batch=12 micro_batch=2");
	struct shape shape = shape_of("H100 SXM5 80GB", 8, false);
	struct plan_set set;

	plan_of(&workload, &shape, 1, &set);
	ck_assert_int_eq(set.count, 1);
	/* 6 micro-batches over 8 ranks: two stay idle. */
	ck_assert_int_eq(set.plans[0].layout.data_parallel, 6);
	check_plan(&workload, &shape, &set.plans[0]);
}
END_TEST

START_TEST(latency_limits_are_kept_or_told)
{
	struct workload loose = market_workload("meta-llama/Llama-3.1-70B",
						"task=inference concurrency=4 max_tpot_seconds=1");
	struct workload tight = market_workload(
		"meta-llama/Llama-3.1-70B", "task=inference concurrency=4 max_tpot_seconds=0.0001");
	struct shape shape = shape_of("H100 SXM5 80GB", 8, false);
	struct plan_set set;

	plan_of(&loose, &shape, 1, &set);
	ck_assert_int_eq(set.count, 1);
	check_plan(&loose, &shape, &set.plans[0]);
	plan_of(&tight, &shape, 1, &set);
	ck_assert_int_eq(set.count, 0);
	ck_assert_int_eq(set.failure, PLAN_TOO_SLOW);
}
END_TEST

START_TEST(a_rate_takes_as_many_copies_as_it_needs)
{
	struct workload workload = market_workload(
		"meta-llama/Llama-3.1-8B",
		"task=inference requests_per_second=200 prompt_tokens=1000 output_tokens=200");
	struct shape shape = shape_of("L40S 48GB", 1, false);
	struct plan_set few, many;

	plan_of(&workload, &shape, 1, &few);
	ck_assert_int_eq(few.count, 0);
	plan_of(&workload, &shape, 1000, &many);
	ck_assert_int_gt(many.count, 0);
	ck_assert_double_ge(many.plans[0].speed.requests_per_second, 200 / PLAN_TARGET_LOAD);
	/* One machine fewer would run above its target share of the saturated rate. */
	ck_assert_int_gt(many.plans[0].layout.nodes, 1);
}
END_TEST

/* The first token must come in time with the wait for it: by more copies where need be. */
START_TEST(a_limit_on_the_first_token_counts_the_queue)
{
	static const char fields[] =
		"task=inference requests_per_second=20 prompt_tokens=1000 output_tokens=200";
	struct workload free = market_workload("meta-llama/Llama-3.1-8B", fields);
	struct shape shape = shape_of("L40S 48GB", 1, false);
	struct plan_set loose, tight;

	plan_of(&free, &shape, 64, &loose);
	ck_assert_int_gt(loose.count, 0);
	ck_assert_double_gt(loose.plans[0].wait_seconds, 0);
	ck_assert_double_le(loose.plans[0].utilisation, PLAN_TARGET_LOAD + 1e-9);
	/* Between the prompt alone and what it takes with the queue. */
	free.max_ttft_seconds = loose.plans[0].speed.ttft_seconds + loose.plans[0].wait_seconds / 4;
	plan_of(&free, &shape, 64, &tight);
	ck_assert_int_gt(tight.count, 0);
	for (int i = 0; i < tight.count; i++)
		ck_assert_double_le(tight.plans[i].speed.ttft_seconds + tight.plans[i].wait_seconds,
				    free.max_ttft_seconds);
	/* Less than the prompt alone cannot be had. */
	free.max_ttft_seconds = loose.plans[0].speed.ttft_seconds / 50;
	plan_of(&free, &shape, 64, &tight);
	ck_assert_int_eq(tight.count, 0);
	ck_assert_int_eq(tight.failure, PLAN_TOO_SLOW);
}
END_TEST

START_TEST(replicas_that_must_stay_up_are_planned)
{
	struct workload workload = market_workload(
		"meta-llama/Llama-3.1-8B", "task=inference requests_per_second=0.5 min_replicas=3");
	struct shape one = shape_of("H100 SXM5 80GB", 1, false),
		     eight = shape_of("H100 SXM5 80GB", 8, false);
	struct plan_set set;

	plan_of(&workload, &one, 8, &set);
	ck_assert_int_gt(set.count, 0);
	ck_assert_int_eq(set.plans[0].layout.nodes, 3);
	plan_of(&workload, &eight, 8, &set);
	ck_assert_int_gt(set.count, 0);
	for (int i = 0; i < set.count; i++)
		ck_assert_int_ge(set.plans[i].layout.replicas, 3);
}
END_TEST

/* 64 heads go over 2 of 3 GPUs and over 4 of 6. */
START_TEST(gpus_without_work_are_told)
{
	struct workload workload =
		market_workload("meta-llama/Llama-3.1-70B", "task=inference concurrency=4");
	struct shape three = shape_of("H200 SXM 141GB", 3, false);
	struct plan_set set;

	plan_of(&workload, &three, 1, &set);
	ck_assert_int_eq(set.count, 1);
	ck_assert_int_eq(
		set.plans[0].layout.tensor_parallel * set.plans[0].layout.pipeline_parallel, 2);
	ck_assert_int_eq(set.plans[0].idle_gpus, 1);
}
END_TEST

/* Both dies of an MI250X are GPUs to software, with half of the card each; slices of one card
 * cannot exchange data. */
START_TEST(cards_of_dies_and_slices_are_planned_as_software_sees_them)
{
	struct workload serve = market_workload("meta-llama/Llama-3.1-8B",
						"task=inference concurrency=4 weight_format=bf16");
	struct workload train =
		market_workload("meta-llama/Llama-3.1-8B", "task=finetune method=lora");
	struct shape dies = shape_of("MI250X 128GB (2 GCD)", 1, false);
	struct shape slices = shape_of("RTX PRO 6000 Blackwell Server MIG 48GB", 2, false);
	struct plan_set set;

	plan_of(&serve, &dies, 1, &set);
	ck_assert_int_eq(set.count, 1);
	ck_assert_int_eq(set.plans[0].layout.gpus_per_node, 2);
	ck_assert_double_eq_tol(set.plans[0].usable_bytes,
				accelerator_memory_bytes(dies.accelerator) / 2, MIB);
	plan_of(&serve, &slices, 1, &set);
	ck_assert_int_eq(set.count, 1);
	ck_assert_int_eq(set.plans[0].layout.tensor_parallel, 1);
	ck_assert_int_eq(set.plans[0].layout.replicas, 2);
	plan_of(&train, &slices, 1, &set);
	ck_assert_int_eq(set.count, 1);
	ck_assert_int_eq(set.plans[0].layout.data_parallel, 1);
	ck_assert_int_eq(set.plans[0].idle_gpus, 1);
}
END_TEST

/* The bound on the search holds, is told, and leaves a plan. */
START_TEST(a_search_that_is_cut_says_so)
{
	struct workload workload = market_workload(
		"deepseek-ai/DeepSeek-V3", "task=pretrain stack=torchtitan sequence_length=131072");
	struct shape shape = shape_of("B200 SXM 180GB", 8, true);
	static struct plan_basis basis;
	struct plan_set set;

	plan_prepare(&workload, &basis);
	basis.evaluations = PLAN_EVALUATIONS_MAX; /* others took all */
	plan_shape(&basis, &shape, 1024, &set);
	ck_assert(set.is_cut);
	ck_assert_int_lt(basis.evaluations, PLAN_EVALUATIONS_MAX + PLAN_EVALUATIONS_SHAPE);
	plan_prepare(&workload, &basis);
	plan_shape(&basis, &shape, 64, &set);
	ck_assert_int_gt(set.count, 0);
	ck_assert_int_lt(basis.evaluations, 2 * PLAN_EVALUATIONS_SHAPE);
	for (int i = 0; i < set.count; i++)
		ck_assert_int_eq(set.plans[i].is_cut, set.is_cut);
}
END_TEST

/* DeepSeek-V3: 671e9 weights in 4 bits are 312 GiB and more, a quarter of them on each GPU. What
 * is named is that, not what is left of it over several machines. */
START_TEST(the_nearest_miss_is_what_one_machine_would_need)
{
	struct workload workload =
		market_workload("deepseek-ai/DeepSeek-V3", "task=inference concurrency=1");
	struct workload more =
		market_workload("deepseek-ai/DeepSeek-V3", "task=inference concurrency=64");
	struct shape shape = shape_of("T4 16GB", 4, true);
	struct plan_set set, wide;

	plan_of(&workload, &shape, 4, &set);
	plan_of(&more, &shape, 4, &wide);
	ck_assert_int_eq(set.count, 0);
	ck_assert_int_eq(set.failure, PLAN_NO_MEMORY);
	ck_assert_int_eq(set.nearest.layout.nodes, 1);
	ck_assert_double_gt(set.nearest.memory.device_bytes, 671e9 / 2 / 4);
	ck_assert_double_lt(set.nearest.memory.device_bytes, 671e9 / 2 / 4 * 1.3);
	ck_assert_double_eq_tol(set.nearest_distance,
				set.nearest.memory.device_bytes / set.nearest_limit_bytes, 1e-9);
	/* With the cache of all that is asked, of which a stage holds its layers. */
	ck_assert_int_eq(wide.count, 0);
	ck_assert_double_eq_tol(wide.nearest.layout.sequences, 64, 1e-9);
	ck_assert_double_gt(
		wide.nearest.memory.kv_cache_bytes * wide.nearest.layout.pipeline_parallel,
		60 * set.nearest.memory.kv_cache_bytes * set.nearest.layout.pipeline_parallel);
}
END_TEST

START_TEST(too_few_machines_for_a_rate_is_a_miss_of_speed)
{
	struct workload workload = market_workload(
		"meta-llama/Llama-3.1-8B",
		"task=inference requests_per_second=200 prompt_tokens=1000 output_tokens=200");
	struct shape shape = shape_of("L40S 48GB", 1, false);
	struct plan_set set;

	plan_of(&workload, &shape, 1, &set);
	ck_assert_int_eq(set.failure, PLAN_TOO_SLOW);
	ck_assert_int_gt(set.slow.layout.nodes, 1);
	ck_assert_double_eq_tol(set.slow_distance, set.slow.layout.nodes, 1e-9);
}
END_TEST

START_TEST(offload_comes_only_where_it_is_asked)
{
	struct workload none =
		market_workload("meta-llama/Llama-3.1-8B", "task=finetune method=full");
	struct workload automatic = market_workload("meta-llama/Llama-3.1-8B",
						    "task=finetune method=full offload=auto");
	struct shape shape = shape_of("H100 SXM5 80GB", 1, false);
	struct plan_set set;

	plan_of(&none, &shape, 1, &set);
	ck_assert_int_eq(set.count, 0);
	plan_of(&automatic, &shape, 1, &set);
	ck_assert_int_eq(set.count, 1);
	ck_assert_int_ne(set.plans[0].layout.offload, OFFLOAD_NONE);
	ck_assert_double_gt(set.plans[0].memory.host_bytes, 0);
	check_plan(&automatic, &shape, &set.plans[0]);
	/* Not into memory that the host does not have. */
	shape.ram_gib = 16;
	plan_of(&automatic, &shape, 1, &set);
	ck_assert_int_eq(set.count, 0);
	ck_assert_double_gt(set.nearest_distance, 1);
	ck_assert(set.nearest.memory.device_bytes > set.nearest_limit_bytes ||
		  set.nearest.memory.host_bytes > set.nearest_ram_bytes);
}
END_TEST

START_TEST(a_slice_has_its_share)
{
	struct workload workload = market_workload(
		"meta-llama/Llama-3.1-8B", "task=inference concurrency=1 weight_format=bf16");
	struct shape whole = shape_of("A10 24GB", 1, false),
		     half = shape_of("A10 24GB", 0.5, false);
	struct plan_set set;

	plan_of(&workload, &whole, 1, &set);
	ck_assert_int_eq(set.count, 1);
	plan_of(&workload, &half, 1, &set);
	ck_assert_int_eq(set.count, 0);
	ck_assert_double_eq_tol(set.nearest.usable_bytes,
				accelerator_memory_bytes(whole.accelerator) / 2, MIB);
}
END_TEST

/* Random workloads: what is kept holds, and asking for more never makes a smaller card feasible. */
static struct workload random_workload(uint64_t *state)
{
	static const char *const methods[] = {"full", "lora", "qlora"};
	static const char *const stacks[] = {"huggingface", "torchtitan", "megatron", "deepspeed",
					     "unsloth"};
	const char *model =
		market_random(state) % 2 ? "meta-llama/Llama-3.1-8B" : "meta-llama/Llama-3.1-70B";
	char fields[300];

	if (market_random(state) % 2)
		snprintf(fields, sizeof(fields),
			 "task=inference prompt_tokens=%u output_tokens=%u concurrency=%u",
			 (unsigned)(market_random(state) % 16000 + 1),
			 (unsigned)(market_random(state) % 1000 + 1),
			 (unsigned)(market_random(state) % 64 + 1));
	else
		snprintf(fields, sizeof(fields),
			 "task=finetune method=%s stack=%s sequence_length=%u micro_batch=%u",
			 methods[market_random(state) % 3], stacks[market_random(state) % 5],
			 (unsigned)(market_random(state) % 8192 + 128),
			 1u << market_random(state) % 3);
	return market_workload(model, fields);
}

static const char *const cards[] = {"L4 24GB",	      "L40S 48GB",	"A100 SXM4 80GB",
				    "H100 SXM5 80GB", "H200 SXM 141GB", "B200 SXM 180GB",
				    "MI300X 192GB",   "RTX 4090 24GB"};
#define CARDS (sizeof(cards) / sizeof(cards[0]))

/* The whole batch at once adds up no gradients and may fit where half of it does not. */
START_TEST(batches_between_those_that_fit_are_judged_too)
{
	struct workload workload =
		market_workload("togethercomputer/RedPajama-INCITE-3B-v1",
				"task=pretrain stack=torchtitan sequence_length=128 "
				"global_batch=64");
	struct shape shape = shape_of("RTX A5000 24GB", 2, false);
	struct plan_set set;

	plan_of(&workload, &shape, 1, &set);
	ck_assert_int_eq(set.count, 1);
	ck_assert_int_ne(set.plans[0].fit, FIT_NO);
	check_plan(&workload, &shape, &set.plans[0]);
}
END_TEST

START_TEST(every_plan_of_random_workloads_holds)
{
	uint64_t state = 4242;

	for (int i = 0; i < 120; i++) {
		struct workload workload = random_workload(&state);
		struct shape shape =
			shape_of(cards[market_random(&state) % CARDS],
				 1 << market_random(&state) % 4, market_random(&state) % 2);
		struct plan_set set;

		plan_of(&workload, &shape, 4, &set);
		for (int j = 0; j < set.count; j++)
			check_plan(&workload, &shape, &set.plans[j]);
		if (set.count == 0)
			ck_assert_int_ne(set.failure, PLAN_OK);
	}
}
END_TEST

START_TEST(more_asked_never_fits_where_less_does_not)
{
	uint64_t state = 777;

	for (int i = 0; i < 120; i++) {
		struct workload less = random_workload(&state), more = less;
		struct shape shape = shape_of(cards[market_random(&state) % CARDS],
					      1 << market_random(&state) % 4, false);
		struct plan_set a, b;

		/* A wider format or a longer sequence needs more in every layout. */
		if (less.task == TASK_INFERENCE) {
			less.weight_format = more.weight_format = FORMAT_BF16;
			less.kv_format = more.kv_format = FORMAT_BF16;
			more.concurrency *= 2;
		} else {
			more.sequence_length *= 2;
		}
		plan_of(&less, &shape, 1, &a);
		plan_of(&more, &shape, 1, &b);
		if (!a.count)
			ck_assert_msg(!b.count, "case %d on %d x %s", i, shape.count_milli / 1000,
				      shape.accelerator->name);
		else if (b.count)
			ck_assert_int_ge(a.plans[0].fit, b.plans[0].fit);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan");
	TCase *tests = tcase_create("plan");

	tcase_add_test(tests, qlora_of_70b_needs_one_80gb_card);
	tcase_add_test(tests, serving_8b_at_8k_times_32);
	tcase_add_test(tests, full_fine_tuning_needs_several_times_what_serving_does);
	tcase_add_test(tests, full_fine_tuning_of_70b_is_for_nodes_of_large_cards);
	tcase_add_test(tests, several_nodes_need_a_fabric_to_train_and_none_to_serve);
	tcase_add_test(tests, tensor_parallelism_divides_heads_and_stays_on_fast_links);
	tcase_add_test(tests, a_given_batch_is_kept_to_the_sequence);
	tcase_add_test(tests, latency_limits_are_kept_or_told);
	tcase_add_test(tests, a_rate_takes_as_many_copies_as_it_needs);
	tcase_add_test(tests, a_limit_on_the_first_token_counts_the_queue);
	tcase_add_test(tests, replicas_that_must_stay_up_are_planned);
	tcase_add_test(tests, gpus_without_work_are_told);
	tcase_add_test(tests, cards_of_dies_and_slices_are_planned_as_software_sees_them);
	tcase_add_test(tests, a_search_that_is_cut_says_so);
	tcase_add_test(tests, the_nearest_miss_is_what_one_machine_would_need);
	tcase_add_test(tests, too_few_machines_for_a_rate_is_a_miss_of_speed);
	tcase_add_test(tests, offload_comes_only_where_it_is_asked);
	tcase_add_test(tests, a_slice_has_its_share);
	tcase_add_test(tests, batches_between_those_that_fit_are_judged_too);
	tcase_add_test(tests, every_plan_of_random_workloads_holds);
	tcase_add_test(tests, more_asked_never_fits_where_less_does_not);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
