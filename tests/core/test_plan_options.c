/* Options of a workload that rule layouts out: no plan has what was asked not to be, and each still
 * finds one. */
#include "core/plan.h"

#include "core/units.h"
#include "tests/core/market.h"
#include "tests/suite.h"

#include <stdio.h>

#define MODEL "meta-llama/Llama-3.1-8B"

/* Machines of eight H100 in one InfiniBand network. */
static void plans_of(const char *fields, struct workload *workload, struct plan_set *set)
{
	static struct plan_basis basis;
	const struct accelerator *accelerator = accelerator_find("H100 SXM5 80GB");
	struct shape shape = {.accelerator = accelerator,
			      .count_milli = 8 * COUNT_MILLI_ONE,
			      .ram_gib = 1024,
			      .has_cluster = true,
			      .fabric = fabric_of_accelerator(accelerator, 8)};

	shape.fabric.cluster_link = CLUSTER_LINK_INFINIBAND;
	shape.fabric.cluster_bytes_per_second = 400 * GB;
	*workload = market_workload(MODEL, fields);
	plan_prepare(workload, &basis);
	plan_shape(&basis, &shape, 4, set);
	ck_assert_msg(set->count > 0, "%s", fields);
}

START_TEST(an_optimizer_in_backward_never_accumulates)
{
	static const char *const fields[] = {
		"task=finetune method=full precision=bf16 optimizer_in_backward=true",
		"task=finetune method=full optimizer_in_backward=true global_batch=64",
		"task=pretrain optimizer_in_backward=true offload=auto",
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct workload workload;
		struct plan_set set;

		plans_of(fields[i], &workload, &set);
		for (int j = 0; j < set.count; j++) {
			ck_assert_int_eq(set.plans[j].layout.accumulation, 1);
			ck_assert_int_ne(set.plans[j].layout.sharding, SHARDING_ZERO1);
			ck_assert_int_ne(set.plans[j].layout.sharding, SHARDING_ZERO2);
			ck_assert_int_eq(set.plans[j].layout.offload, OFFLOAD_NONE);
		}
	}
}
END_TEST

START_TEST(projected_states_are_not_sharded)
{
	struct workload workload;
	struct plan_set set;

	plans_of("task=finetune method=full precision=bf16 optimizer=galore_adamw", &workload,
		 &set);
	for (int j = 0; j < set.count; j++)
		ck_assert_int_eq(set.plans[j].layout.sharding, SHARDING_NONE);
}
END_TEST

/* Every layout of tensor parallelism splits the residual stream too, unless it was asked not to. */
START_TEST(sequence_parallelism_is_as_asked)
{
	const char *fields = "task=pretrain stack=megatron sequence_length=8192 sequence_parallel=";
	char text[160];

	for (int is_asked = 0; is_asked < 2; is_asked++) {
		struct workload workload;
		struct plan_set set;

		snprintf(text, sizeof(text), "%s%s", fields, is_asked ? "true" : "false");
		plans_of(text, &workload, &set);
		for (int j = 0; j < set.count; j++)
			ck_assert_int_eq(set.plans[j].layout.sequence_parallel,
					 is_asked && set.plans[j].layout.tensor_parallel > 1);
	}
}
END_TEST

/* Layouts of the degrees that were asked alone; machines that they do not divide are told apart
 * from machines that are too small. */
START_TEST(degrees_are_as_asked)
{
	static const char *const fields[] = {
		"task=pretrain stack=megatron tensor_parallel=2 pipeline_parallel=4",
		"task=pretrain tensor_parallel=4 context_parallel=2 sequence_length=8192",
		"task=inference tensor_parallel=2 concurrency=8",
		"task=inference tensor_parallel=4 pipeline_parallel=2 concurrency=8",
	};
	const struct accelerator *accelerator = accelerator_find("H100 SXM5 80GB");
	struct shape single = {.accelerator = accelerator,
			       .count_milli = COUNT_MILLI_ONE,
			       .fabric = fabric_of_accelerator(accelerator, 1)};
	static struct plan_basis basis;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct workload workload;
		struct plan_set set;

		plans_of(fields[i], &workload, &set);
		for (int j = 0; j < set.count; j++) {
			const struct layout *layout = &set.plans[j].layout;

			ck_assert_int_eq(layout->tensor_parallel, workload.tensor_parallel);
			if (workload.pipeline_parallel)
				ck_assert_int_eq(layout->pipeline_parallel,
						 workload.pipeline_parallel);
			if (workload.context_parallel)
				ck_assert_int_eq(layout->context_parallel,
						 workload.context_parallel);
		}
		plan_prepare(&workload, &basis);
		plan_shape(&basis, &single, 1, &set);
		ck_assert_int_eq(set.count, 0);
		ck_assert_int_eq(set.failure, PLAN_NO_LAYOUT);
	}
}
END_TEST

/* The interleaved pipeline's shorter bubble is its point: never slower than 1F1B. */
START_TEST(pipeline_chunks_shorten_the_bubble)
{
	const char *fields = "task=pretrain stack=megatron global_batch=16 pipeline_chunks=";
	struct speed_estimate speeds[2];
	char text[160];

	for (int i = 0; i < 2; i++) {
		struct layout layout = layout_single;
		const struct accelerator *accelerator = accelerator_find("H100 SXM5 80GB");
		struct fabric fabric = fabric_of_accelerator(accelerator, 8);
		struct workload workload;
		struct speed_basis basis;

		layout.gpus_per_node = 8;
		layout.pipeline_parallel = 8;
		layout.accumulation = 16;
		snprintf(text, sizeof(text), "%s%d", fields, i ? 4 : 1);
		workload = market_workload(MODEL, text);
		ck_assert(speed_prepare(&workload, accelerator, FORMAT_AUTO, &basis));
		speed_estimate(&basis, &layout, &fabric, &speeds[i]);
	}
	/* 7 passes of bubble beside 16, against 7 / 4: 23 / 17.75 */
	ck_assert_double_eq_tol(speeds[1].tokens_per_second / speeds[0].tokens_per_second,
				23 / 17.75, 0.06);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_options");
	TCase *tests = tcase_create("plan_options");

	tcase_add_test(tests, an_optimizer_in_backward_never_accumulates);
	tcase_add_test(tests, projected_states_are_not_sharded);
	tcase_add_test(tests, sequence_parallelism_is_as_asked);
	tcase_add_test(tests, degrees_are_as_asked);
	tcase_add_test(tests, pipeline_chunks_shorten_the_bubble);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
