/* Sizing: which layouts are listed, what is kept of what the caller fixed, which cards are named.
 */
#include "core/sizing.h"

#include "core/model.h"
#include "tests/core/market.h"
#include "tests/suite.h"

#include <math.h>

static struct arena arena;
static struct error error;

static void start(void)
{
	arena_init(&arena, 16 << 20);
	error_init(&error, &arena);
}

static void stop(void)
{
	arena_release(&arena);
}

static struct workload workload_of(enum task task, enum method method, const char *model)
{
	struct workload workload = {.task = (int)task, .method = (int)method, .model = model};

	ck_assert_ptr_nonnull(model_find(model));
	workload.architecture = &model_find(model)->architecture;
	workload.given = WORKLOAD_BIT(WORKLOAD_task);
	if (task == TASK_FINETUNE)
		workload.given |= WORKLOAD_BIT(WORKLOAD_method);
	ck_assert(workload_complete(&workload, "", &error));
	return workload;
}

static void check_order(const struct sizing_layout *item)
{
	for (int i = 0; i < item->holders_count; i++) {
		const struct sizing_holder *holder = &item->holders[i];

		ck_assert(holder->fit != FIT_NO);
		ck_assert(holder->total_bytes <= holder->usable_bytes);
		ck_assert(fabs(holder->headroom_bytes -
			       (holder->usable_bytes - holder->total_bytes)) < 1);
		if (i == 0)
			continue;
		ck_assert(holder[-1].fit >= holder->fit);
		if (holder[-1].fit == holder->fit)
			ck_assert(holder[-1].usable_bytes <= holder->usable_bytes);
	}
}

START_TEST(training_lists_every_number_of_gpus_with_its_choices)
{
	struct workload workload =
		workload_of(TASK_FINETUNE, METHOD_FULL, "meta-llama/Llama-3.1-8B");
	struct sizing sizing;
	int seen[17] = {0};

	ck_assert(sizing_compute(&workload, &arena, &sizing, &error));
	for (int i = 0; i < sizing.layouts_count; i++) {
		const struct layout *layout = &sizing.layouts[i].layout;

		seen[layout->gpus_per_node * layout->nodes]++;
		ck_assert_int_eq(layout->data_parallel, layout->gpus_per_node * layout->nodes);
		ck_assert(layout->recompute != RECOMPUTE_AUTO);
		ck_assert(layout->sharding != SHARDING_AUTO);
		check_order(&sizing.layouts[i]);
	}
	ck_assert_int_eq(seen[1], 2);  /* recompute or not */
	ck_assert_int_eq(seen[2], 6);  /* that, by three ways of sharding */
	ck_assert_int_eq(seen[16], 6); /* two nodes */
}
END_TEST

START_TEST(what_the_caller_fixed_is_not_varied)
{
	struct workload workload =
		workload_of(TASK_FINETUNE, METHOD_QLORA, "meta-llama/Llama-3.1-70B");
	struct sizing sizing;

	workload.recompute = RECOMPUTE_FULL;
	workload.sharding = SHARDING_ZERO3;
	ck_assert(sizing_compute(&workload, &arena, &sizing, &error));
	ck_assert_int_eq(sizing.layouts_count, 5);
	for (int i = 0; i < sizing.layouts_count; i++) {
		ck_assert_int_eq(sizing.layouts[i].layout.recompute, RECOMPUTE_FULL);
		ck_assert_int_eq(sizing.layouts[i].layout.sharding,
				 i ? SHARDING_ZERO3 : SHARDING_NONE);
	}
}
END_TEST

START_TEST(serving_splits_only_by_what_divides_the_heads)
{
	struct workload workload =
		workload_of(TASK_INFERENCE, METHOD_FULL, "meta-llama/Llama-3.1-8B");
	struct architecture odd = *workload.architecture;
	struct sizing sizing;

	ck_assert(sizing_compute(&workload, &arena, &sizing, &error));
	ck_assert_int_eq(sizing.layouts_count, 4 * 6); /* 1, 2, 4, 8; three formats, two caches */
	ck_assert_int_eq(sizing.layouts[0].layout.weight_format, FORMAT_BF16);
	odd.kinds[0].heads = 25;
	odd.kinds[0].kv_heads = 5;
	workload.architecture = &odd;
	ck_assert(sizing_compute(&workload, &arena, &sizing, &error));
	ck_assert_int_eq(sizing.layouts_count, 6);
}
END_TEST

START_TEST(a_kv_cache_of_known_size)
{
	struct workload workload =
		workload_of(TASK_INFERENCE, METHOD_FULL, "meta-llama/Llama-3.1-8B");
	struct sizing sizing;

	workload.concurrency = 32;
	workload.prompt_tokens = 8192;
	workload.context = workload.full_context = 8192;
	ck_assert(sizing_compute(&workload, &arena, &sizing, &error));
	/* 32 layers x 2 x 8 heads x 128 x 2 bytes = 128 KiB a token; 32 x 8192 tokens are 32 GiB.
	 */
	ck_assert(fabs(sizing.memory.kv_cache_bytes - 32 * GIB) < 1);
}
END_TEST

/* No list is empty in silence. */
START_TEST(what_has_no_card_says_why)
{
	static const struct {
		const char *model, *fields, *code;
	} cases[] = {
		{"meta-llama/Llama-3.1-8B", "task=inference", NULL},
		{"meta-llama/Llama-3.1-8B", "task=inference tensor_parallel=32", "no_layout"},
		{"google-t5/t5-large", "task=inference engine=vllm", "engine_lacks_architecture"},
		{"moonshotai/Kimi-K2-Instruct", "task=pretrain sharding=none", "no_room"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload = market_workload(cases[i].model, cases[i].fields);
		struct error warnings;
		struct sizing sizing;

		error_init(&warnings, &arena);
		ck_assert(sizing_compute(&workload, &arena, &sizing, &error));
		sizing_warn(&workload, &sizing, "/w", &warnings);
		ck_assert_msg(!warnings.first == !cases[i].code, "%s", cases[i].fields);
		if (cases[i].code)
			ck_assert_str_eq(warnings.first->code, cases[i].code);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sizing");
	TCase *tests = tcase_create("sizing");

	tcase_add_checked_fixture(tests, start, stop);
	tcase_add_test(tests, training_lists_every_number_of_gpus_with_its_choices);
	tcase_add_test(tests, what_has_no_card_says_why);
	tcase_add_test(tests, what_the_caller_fixed_is_not_varied);
	tcase_add_test(tests, serving_splits_only_by_what_divides_the_heads);
	tcase_add_test(tests, a_kv_cache_of_known_size);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
