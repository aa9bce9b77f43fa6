/* Workloads: what is taken where the caller says nothing, and what follows from what is said. */
#include "tests/core/blank_workload.h"

#include "tests/core/market.h"
#include "tests/suite.h"

/* facts/memory-notes.md 1: what each stack keeps. */
START_TEST(defaults_are_those_of_the_stack_and_stay_marked)
{
	static const struct {
		enum stack stack;
		enum precision precision;
	} expected[] = {
		{STACK_HUGGINGFACE, PRECISION_AMP_BF16}, {STACK_TORCHTITAN, PRECISION_AMP_BF16},
		{STACK_MEGATRON, PRECISION_BF16_MASTER}, {STACK_DEEPSPEED, PRECISION_BF16_MASTER},
		{STACK_UNSLOTH, PRECISION_BF16},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct workload workload = blank(TASK_FINETUNE);

		GIVE(workload, method, METHOD_FULL);
		GIVE(workload, stack, (int)expected[i].stack);
		ck_assert(workload_complete(&workload, "", &error));
		ck_assert_int_eq(workload.precision, (int)expected[i].precision);
		ck_assert(!workload_has(&workload, WORKLOAD_precision));
		ck_assert(workload_has(&workload, WORKLOAD_stack));
	}
}
END_TEST

START_TEST(what_the_caller_gave_is_kept)
{
	struct workload workload = blank(TASK_FINETUNE);

	GIVE(workload, method, METHOD_QLORA);
	GIVE(workload, lora_rank, 64);
	GIVE(workload, base_format, FORMAT_NF4_DQ);
	GIVE(workload, fused_attention, false);
	ck_assert(workload_complete(&workload, "", &error));
	ck_assert_int_eq(workload.lora_rank, 64);
	ck_assert_int_eq(workload.base_format, FORMAT_NF4_DQ);
	ck_assert(!workload.fused_attention);
	ck_assert_int_eq(workload.lora_targets, LORA_ALL_LINEAR);
}
END_TEST

START_TEST(the_amount_of_work_has_three_spellings)
{
	struct workload a = market_workload("meta-llama/Llama-3.1-8B",
					    "task=finetune method=lora total_tokens=6000000");
	struct workload b =
		market_workload("meta-llama/Llama-3.1-8B",
				"task=finetune method=lora tokens_per_epoch=2000000 epochs=3");
	struct workload c = market_workload(
		"meta-llama/Llama-3.1-8B",
		"task=finetune method=lora examples=1000 sequence_length=2000 epochs=3");
	struct workload none =
		market_workload("meta-llama/Llama-3.1-8B", "task=finetune method=lora");

	ck_assert_double_eq_tol(a.tokens, 6e6, 1e-9);
	ck_assert_double_eq_tol(b.tokens, 6e6, 1e-9);
	ck_assert_double_eq_tol(c.tokens, 6e6, 1e-9);
	ck_assert_double_eq_tol(none.tokens, 0, 1e-9);
}
END_TEST

START_TEST(the_context_is_the_mean_where_it_is_given)
{
	struct workload full = market_workload(
		"meta-llama/Llama-3.1-8B", "task=inference prompt_tokens=900 output_tokens=100");
	struct workload mean = market_workload(
		"meta-llama/Llama-3.1-8B",
		"task=inference prompt_tokens=900 output_tokens=100 mean_context=400");

	ck_assert_double_eq_tol(full.context, 1000, 1e-9);
	ck_assert_double_eq_tol(mean.context, 400, 1e-9);
	ck_assert_double_eq_tol(mean.full_context, 1000, 1e-9);
}
END_TEST

START_TEST(a_rate_leaves_concurrency_to_the_planner)
{
	struct workload workload =
		market_workload("meta-llama/Llama-3.1-8B", "task=inference requests_per_second=2");

	ck_assert_int_eq(workload.concurrency, 0);
}
END_TEST

START_TEST(the_model_decides_which_lengths_it_takes)
{
	struct workload bert = blank(TASK_INFERENCE), t5 = blank(TASK_PRETRAIN);
	struct workload decoder = blank(TASK_PRETRAIN);

	bert.architecture = &model_find("google-bert/bert-base-uncased")->architecture;
	t5.architecture = &model_find("google/flan-t5-xl")->architecture;
	ck_assert(workload_complete(&bert, "/workload", &error));
	ck_assert_int_eq(bert.prompt_tokens, 512); /* as long as its positions */
	ck_assert_int_eq(bert.output_tokens, 0);
	ck_assert(!workload_takes(&bert, WORKLOAD_output_tokens));
	GIVE(bert, output_tokens, 0);
	ck_assert(workload_complete(&bert, "/workload", &error));
	GIVE(bert, output_tokens, 16);
	GIVE(bert, kv_format, FORMAT_FP8);
	expect_fault(&bert, "/workload/output_tokens", "not_applicable");
	ck_assert_ptr_nonnull(item("/workload/kv_format"));
	error_init(&error, &arena);
	GIVE(t5, examples, 10);
	GIVE(t5, sequence_length, 512);
	ck_assert(workload_complete(&t5, "/workload", &error));
	ck_assert_int_eq(t5.target_length, 128);
	ck_assert_double_eq_tol(t5.tokens, 10 * (512 + 128), 1e-9);
	ck_assert_int_eq(t5.stack, STACK_HUGGINGFACE);
	GIVE(decoder, target_length, 128);
	expect_fault(&decoder, "/workload/target_length", "not_applicable");
}
END_TEST

/* Tuned to embed, no token is scored; learning to fill gaps, all are by transformers and 15 % by
 * those who pick them out. */
START_TEST(an_encoder_scores_what_its_loss_looks_at)
{
	struct workload bert = blank(TASK_FINETUNE);

	bert.architecture = &model_find("google-bert/bert-base-uncased")->architecture;
	GIVE(bert, method, METHOD_FULL);
	ck_assert(workload_complete(&bert, "", &error));
	ck_assert_double_eq_tol(workload_scored_share(&bert), 0, 1e-12);
	bert.task = TASK_PRETRAIN;
	ck_assert_double_eq_tol(workload_scored_share(&bert), 1, 1e-12);
	bert.stack = STACK_MEGATRON;
	ck_assert_double_eq_tol(workload_scored_share(&bert), 0.15, 1e-12);
}
END_TEST

/* GPT-2 takes 1,024 tokens in all, T5 512 on each side, BERT 512. */
START_TEST(lengths_that_nobody_gave_fit_the_model)
{
	static const struct {
		const char *model, *fields;
		int64_t prompt, output;
	} cases[] = {
		{"openai-community/gpt2", "task=inference", 768, 256},
		{"openai-community/gpt2", "task=inference output_tokens=1000", 512, 1000},
		{"google-t5/t5-large", "task=inference", 512, 256},
		{"google-bert/bert-base-uncased", "task=inference", 512, 0},
		{"meta-llama/Llama-3.1-8B", "task=inference", 1024, 256},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload = market_workload(cases[i].model, cases[i].fields);

		ck_assert_int_eq(workload.prompt_tokens, cases[i].prompt);
		ck_assert_int_eq(workload.output_tokens, cases[i].output);
		error_init(&error, &arena);
		workload_warn(&workload, "/w", &error);
		ck_assert_msg(!error.first == (i != 1), "%s", cases[i].model);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("workload_defaults");
	TCase *tests = tcase_create("workload_defaults");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, defaults_are_those_of_the_stack_and_stay_marked);
	tcase_add_test(tests, what_the_caller_gave_is_kept);
	tcase_add_test(tests, the_amount_of_work_has_three_spellings);
	tcase_add_test(tests, the_context_is_the_mean_where_it_is_given);
	tcase_add_test(tests, a_rate_leaves_concurrency_to_the_planner);
	tcase_add_test(tests, the_model_decides_which_lengths_it_takes);
	tcase_add_test(tests, an_encoder_scores_what_its_loss_looks_at);
	tcase_add_test(tests, lengths_that_nobody_gave_fit_the_model);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
