/* Plans of pipelines: who shares what, how many nodes a rate takes, and what it costs a unit. */
#include "core/cost.h"
#include "core/plan.h"

#include "tests/core/market.h"
#include "tests/suite.h"

#include <math.h>

#define FLUX "black-forest-labs/FLUX.1-dev"
#define SDXL "stabilityai/stable-diffusion-xl-base-1.0"
#define WAN "Wan-AI/Wan2.1-T2V-14B-Diffusers"
#define WIDE_SEARCH 64

static struct shape shape_of(const char *card, int count)
{
	const struct accelerator *accelerator = accelerator_find(card);
	struct shape shape = {.accelerator = accelerator,
			      .count_milli = count * COUNT_MILLI_ONE,
			      .ram_gib = 1024};

	ck_assert_msg(accelerator, "%s", card);
	shape.fabric = fabric_of_accelerator(accelerator, count);
	return shape;
}

static void plan_of(const struct workload *workload, const struct shape *shape, int max_nodes,
		    struct plan_set *set)
{
	static struct plan_basis basis;

	plan_prepare(workload, &basis);
	plan_shape(&basis, shape, max_nodes, set);
}

/* The best plan on one machine, which must hold by the models themselves. */
static struct plan best_of(const struct workload *workload, const char *card, int count)
{
	struct shape shape = shape_of(card, count);
	struct memory_basis basis;
	struct memory_estimate memory;
	struct plan_set set;
	const struct layout *layout = &set.plans[0].layout;
	int copies;

	plan_of(workload, &shape, 1, &set);
	ck_assert_msg(set.count > 0, "%d %s: %s", count, card,
		      names_text(&plan_failure_names, (int)set.failure));
	memory_prepare(workload, &basis);
	memory_estimate(&basis, layout, shape.accelerator, &memory);
	ck_assert_double_le(memory.device_bytes, accelerator_memory_bytes(shape.accelerator));
	copies = workload->task == TASK_INFERENCE ? layout->replicas : layout->data_parallel;
	ck_assert_int_le(layout_gpus_per_replica(layout) * copies, count);
	ck_assert_int_eq(set.plans[0].idle_gpus, count - layout_gpus_per_replica(layout) * copies);
	ck_assert_double_gt(set.plans[0].speed.items_per_second, 0);
	return set.plans[0];
}

/* Copies give most items; where a time is asked for, GPUs share one. */
START_TEST(limits_on_time_share_an_item)
{
	struct workload calm = market_workload(WAN, "task=inference");
	struct workload hurried = calm;
	struct plan many = best_of(&calm, "H100 SXM5 80GB", 8), soon;

	ck_assert_int_eq(many.layout.replicas, 8);
	ck_assert_int_eq(layout_gpus_per_replica(&many.layout), 1);
	hurried.max_item_seconds = many.speed.batch_seconds / 3;
	hurried.given |= WORKLOAD_BIT(WORKLOAD_max_item_seconds);
	soon = best_of(&hurried, "H100 SXM5 80GB", 8);
	ck_assert_double_le(soon.speed.batch_seconds, hurried.max_item_seconds);
	ck_assert_int_ge(layout_gpus_per_replica(&soon.layout), 4);
	/* Passes of guidance share best, so they are shared first. */
	ck_assert_int_eq(soon.layout.guidance_parallel, 2);
	ck_assert_double_lt(soon.speed.items_per_second, many.speed.items_per_second);
}
END_TEST

START_TEST(asked_degrees_and_convolutions)
{
	struct workload asked = market_workload(WAN, "task=inference");
	struct workload net = market_workload(SDXL, "task=inference batch=8");
	struct plan plan;

	asked.context_parallel = 4;
	asked.given |= WORKLOAD_BIT(WORKLOAD_context_parallel);
	plan = best_of(&asked, "H100 SXM5 80GB", 8);
	ck_assert_int_eq(plan.layout.context_parallel, 4);
	/* A U-Net has no sequence to share, but passes of guidance. */
	net.max_item_seconds = 0.85 * best_of(&net, "H100 SXM5 80GB", 8).speed.batch_seconds;
	net.given |= WORKLOAD_BIT(WORKLOAD_max_item_seconds);
	plan = best_of(&net, "H100 SXM5 80GB", 8);
	ck_assert_int_eq(plan.layout.context_parallel, 1);
	ck_assert_int_eq(plan.layout.guidance_parallel, 2);
}
END_TEST

/* As few nodes as answer the rate at the load that a service is sized for. */
START_TEST(a_rate_takes_its_nodes)
{
	struct workload workload = market_workload(FLUX, "task=inference");
	struct shape shape = shape_of("H100 SXM5 80GB", 2);
	double node = 3600 * best_of(&workload, "H100 SXM5 80GB", 2).speed.items_per_second;
	struct plan_set set;

	workload.items_per_hour = 4.5 * node * PLAN_TARGET_LOAD;
	workload.given |= WORKLOAD_BIT(WORKLOAD_items_per_hour);
	plan_of(&workload, &shape, WIDE_SEARCH, &set);
	ck_assert_int_ge(set.count, 1);
	ck_assert_int_eq(set.plans[0].layout.nodes, 5);
	ck_assert_int_eq(set.plans[0].layout.replicas, 10);
	ck_assert_double_eq_tol(set.plans[0].utilisation, 4.5 / 5 * PLAN_TARGET_LOAD, 1e-6);
	plan_of(&workload, &shape, 2, &set);
	ck_assert_int_eq(set.count, 0);
	ck_assert_int_eq(set.failure, PLAN_TOO_SLOW);
	ck_assert_double_eq_tol(set.slow_distance, 2.5, 1e-9);
}
END_TEST

/* So many items may be spread over machines that nothing joins, up to those that may be taken. */
START_TEST(an_amount_may_take_more_machines)
{
	struct workload workload = market_workload(FLUX, "task=inference items=1000");
	struct shape shape = shape_of("H100 SXM5 80GB", 2);
	struct plan_set set;

	plan_of(&workload, &shape, 6, &set);
	ck_assert_int_eq(set.count, 3);
	for (int i = 0; i < set.count; i++) {
		ck_assert_int_eq(set.plans[i].layout.nodes, 1 << i);
		ck_assert_int_eq(set.plans[i].layout.replicas, 2 << i);
		ck_assert_double_eq_tol(set.plans[i].speed.items_per_second,
					(1 << i) * set.plans[0].speed.items_per_second, 1e-9);
	}
}
END_TEST

START_TEST(what_does_not_fit_says_so)
{
	struct workload workload = market_workload(FLUX, "task=inference");
	struct shape shape = shape_of("RTX 4090 24GB", 1);
	struct plan_set set;

	workload.weight_format = FORMAT_BF16;
	workload.given |= WORKLOAD_BIT(WORKLOAD_weight_format);
	plan_of(&workload, &shape, 1, &set);
	ck_assert_int_eq(set.count, 0);
	ck_assert_int_eq(set.failure, PLAN_NO_MEMORY);
	ck_assert_double_gt(set.nearest.memory.device_bytes, set.nearest.usable_bytes);
	/* Left to the planner, it takes fewer bits or host memory. */
	workload.media_offload = MEDIA_OFFLOAD_SEQUENTIAL;
	workload.given |= WORKLOAD_BIT(WORKLOAD_media_offload);
	plan_of(&workload, &shape, 1, &set);
	ck_assert_int_eq(set.count, 1);
}
END_TEST

/* Training spreads samples, not sequences. */
START_TEST(training_is_data_parallel)
{
	struct workload workload = market_workload(SDXL, "task=finetune method=lora");
	struct plan plan = best_of(&workload, "A100 SXM4 80GB", 4);

	ck_assert_int_eq(layout_gpus_per_replica(&plan.layout), 1);
	ck_assert_int_ge(plan.layout.data_parallel, 2);
	ck_assert_double_eq_tol(plan.speed.items_per_second, plan.speed.tokens_per_second, 1e-9);
}
END_TEST

/* An hour at 3.60 USD makes so many items: what a unit costs follows by the rule of three. */
START_TEST(a_unit_costs_its_time)
{
	static const struct {
		const char *model;
		enum cost_unit unit;
		double items; /* of one unit */
	} units[] = {
		{FLUX, COST_THOUSAND_IMAGES, 1000},
		{WAN, COST_VIDEO_MINUTE, 60 * 16 / 81.0},
		{"stabilityai/stable-audio-open-1.0", COST_AUDIO_HOUR, 3600 / 47.5},
	};
	static const struct cost_price price = {.kind = PRICE_ON_DEMAND, .micros = 3600000};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		struct workload workload =
			market_workload(units[i].model, "task=inference mode=batch");
		struct plan plan = best_of(&workload, "H100 SXM5 80GB", 1);
		struct cost_work work;
		struct cost_terms terms;
		struct cost_job job;
		struct cost cost;

		cost_work_prepare(&workload, NULL, &work);
		cost_terms_resolve(NULL, &work.defaults, &terms);
		ck_assert(cost_job_prepare(&work, &plan, &job));
		ck_assert(cost_of(&job, &terms, &price, &cost));
		ck_assert_int_eq(cost.basis, COST_UNIT);
		ck_assert_int_eq(cost.unit, units[i].unit);
		ck_assert_double_eq_tol((double)cost.compute_micros,
					units[i].items / plan.speed.items_per_second * 1000, 1);
		ck_assert_int_eq(cost.per_unit_micros, cost.total_micros);
		ck_assert_int_eq(cost.per_million_tokens_micros, PRICE_UNKNOWN);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_media");
	TCase *tcase = tcase_create("plan_media");

	tcase_add_test(tcase, limits_on_time_share_an_item);
	tcase_add_test(tcase, asked_degrees_and_convolutions);
	tcase_add_test(tcase, a_rate_takes_its_nodes);
	tcase_add_test(tcase, an_amount_may_take_more_machines);
	tcase_add_test(tcase, what_does_not_fit_says_so);
	tcase_add_test(tcase, training_is_data_parallel);
	tcase_add_test(tcase, a_unit_costs_its_time);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
