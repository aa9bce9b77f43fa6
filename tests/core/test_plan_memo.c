/*
 * What the planner finds once for a copy of a served model and uses for every load, and for every
 * machine of the same card: the same figures to the last bit as found anew.
 */
#include "core/plan.h"

#include "tests/core/market.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static const char *const models[] = {"meta-llama/Llama-3.1-8B", "deepseek-ai/DeepSeek-V2-Lite",
				     "Qwen/Qwen2.5-32B", "mistralai/Mixtral-8x7B-v0.1",
				     "openai/whisper-large-v3"};
static const char *const engines[] = {"vllm", "sglang", "transformers", "llama_cpp"};

static unsigned pick(uint64_t *state, unsigned below)
{
	return (unsigned)(market_random(state) % below);
}

static struct workload random_workload(uint64_t *state)
{
	unsigned model = pick(state, 5);
	char fields[300], load[80] = "", limits[80] = "";

	if (model == 4)
		return market_workload(models[model], "task=inference seconds=30 concurrency=8");
	if (pick(state, 2))
		snprintf(load, sizeof(load), "requests_per_second=%u", pick(state, 20) + 1);
	else
		snprintf(load, sizeof(load), "concurrency=%u", pick(state, 200) + 1);
	if (pick(state, 2))
		snprintf(limits, sizeof(limits), " max_ttft_seconds=%u max_tpot_seconds=0.%u",
			 pick(state, 4) + 1, pick(state, 9) + 1);
	snprintf(fields, sizeof(fields),
		 "task=inference engine=%s prompt_tokens=%u output_tokens=%u lora_adapters=%u %s%s",
		 engines[pick(state, 4)], pick(state, 8000) + 1, pick(state, 600) + 1,
		 pick(state, 3), load, limits);
	return market_workload(models[model], fields);
}

static bool is_equal(double a, double b)
{
	return !(a < b) && !(a > b);
}

static void check_memory(const struct memory_estimate *a, const struct memory_estimate *b)
{
#define X(term) ck_assert(is_equal(a->term##_bytes, b->term##_bytes));
	MEMORY_TERMS(X)
#undef X
	ck_assert(is_equal(a->device_bytes, b->device_bytes));
	ck_assert(is_equal(a->high_bytes, b->high_bytes));
	ck_assert(is_equal(a->kv_bytes_per_token, b->kv_bytes_per_token));
	ck_assert(is_equal(a->source_cache_bytes, b->source_cache_bytes));
}

static void check_speed(const struct speed_estimate *a, const struct speed_estimate *b)
{
	ck_assert(is_equal(a->prefill.seconds, b->prefill.seconds));
	ck_assert(is_equal(a->decode.seconds, b->decode.seconds));
	ck_assert(is_equal(a->decode.overhead_seconds, b->decode.overhead_seconds));
	ck_assert(is_equal(a->ttft_seconds, b->ttft_seconds));
	ck_assert(is_equal(a->tpot_seconds, b->tpot_seconds));
	ck_assert(is_equal(a->requests_per_second, b->requests_per_second));
	ck_assert(is_equal(a->mfu, b->mfu));
	ck_assert_int_eq(a->bottleneck, b->bottleneck);
}

static void check_loads(const struct workload *workload, const struct accelerator *card,
			uint64_t *state)
{
	static struct memory_basis memory;
	static struct speed_basis speed;
	struct fabric fabric = fabric_of_accelerator(card, 8);
	struct layout layout = layout_single;
	struct memory_copy held = {0};
	struct speed_copy timed = {0};

	layout.gpus_per_node = 8;
	layout.tensor_parallel = 1 << pick(state, 4);
	layout.pipeline_parallel = 1 << pick(state, 3);
	memory_prepare(workload, &memory);
	if (!speed_prepare(workload, card, layout.weight_format, &speed))
		return;
	for (int i = 0; i < 5; i++) {
		struct memory_estimate fresh_memory, known_memory;
		struct speed_estimate fresh, known;
		struct speed_load load;

		layout.sequences = pick(state, 300) + 1;
		memory_estimate(&memory, &layout, card, &fresh_memory);
		memory_estimate_load(&memory, &layout, card, &held, &known_memory);
		check_memory(&fresh_memory, &known_memory);
		speed_estimate(&speed, &layout, &fabric, &fresh);
		speed_estimate_load(&speed, &layout, &fabric, &timed, &known);
		check_speed(&fresh, &known);
		load = speed_load_of(&speed, &layout, &fabric, &timed);
		ck_assert(is_equal(load.ttft_seconds, fresh.ttft_seconds));
		ck_assert(is_equal(load.tpot_seconds, fresh.tpot_seconds));
		ck_assert(is_equal(load.requests_per_second, fresh.requests_per_second));
	}
}

START_TEST(a_copy_known_from_one_load_is_right_for_all)
{
	uint64_t state = 4711;

	for (int i = 0; i < 300; i++) {
		struct workload workload = random_workload(&state);

		check_loads(&workload, &accelerators[pick(&state, (unsigned)accelerators_count)],
			    &state);
	}
}
END_TEST

static void check_plans(const struct plan_set *a, const struct plan_set *b)
{
	ck_assert_int_eq(a->count, b->count);
	ck_assert_int_eq(a->failure, b->failure);
	for (int i = 0; i < a->count; i++) {
		const struct plan *x = &a->plans[i], *y = &b->plans[i];

		ck_assert_int_eq(x->fit, y->fit);
		ck_assert_int_eq(x->layout.nodes, y->layout.nodes);
		ck_assert_int_eq(x->layout.replicas, y->layout.replicas);
		ck_assert_int_eq(x->layout.tensor_parallel, y->layout.tensor_parallel);
		ck_assert_int_eq(x->layout.weight_format, y->layout.weight_format);
		ck_assert(is_equal(x->layout.sequences, y->layout.sequences));
		ck_assert(is_equal(x->most_requests_per_second, y->most_requests_per_second));
		check_memory(&x->memory, &y->memory);
		check_speed(&x->speed, &y->speed);
	}
	if (a->count)
		return;
	ck_assert(is_equal(a->nearest_distance, b->nearest_distance));
	ck_assert(is_equal(a->slow_distance, b->slow_distance));
	if (a->slow_distance > 0)
		check_speed(&a->slow.speed, &b->slow.speed);
}

START_TEST(plans_do_not_depend_on_the_machines_before)
{
	static struct plan_basis shared, fresh;
	static struct plan_set a, b;
	uint64_t state = 99;

	for (int i = 0; i < 60; i++) {
		struct workload workload = random_workload(&state);

		plan_prepare(&workload, &shared);
		for (int j = 0; j < 20; j++) {
			const struct accelerator *card =
				&accelerators[((size_t)i * 5 + (size_t)(j / 5) * 11) %
					      accelerators_count];
			int gpus = 1 << (j % 5 < 4 ? j % 5 : 3);
			struct shape shape = {.accelerator = card,
					      .count_milli = gpus * COUNT_MILLI_ONE,
					      .ram_gib = 64 * gpus,
					      .fabric = fabric_of_accelerator(card, gpus)};

			/* The same machine again, its cards joined by another link. */
			if (j % 5 == 4) {
				shape.fabric.node_link = NODE_LINK_PCIE_HOST;
				shape.fabric.node_bytes_per_second = 16e9;
			}
			plan_shape(&shared, &shape, 8, &a);
			memset(&fresh, 0, sizeof(fresh)); /* nothing of the last one's */
			plan_prepare(&workload, &fresh);
			plan_shape(&fresh, &shape, 8, &b);
			/* A search that ended early ends where the figures that it found did. */
			if (!a.is_cut && !b.is_cut)
				check_plans(&a, &b);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_memo");
	TCase *tests = tcase_create("plan_memo");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, a_copy_known_from_one_load_is_right_for_all);
	tcase_add_test(tests, plans_do_not_depend_on_the_machines_before);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
