#include "core/workload.h"

#include "core/model.h"
#include "tests/core/market.h"
#include "tests/suite.h"

#include <string.h>

static struct arena arena;
static struct error error;

static void begin(void)
{
	arena_init(&arena, 1 << 20);
	error_init(&error, &arena);
}

static void end(void)
{
	arena_release(&arena);
}

static struct workload blank(enum task task)
{
	return (struct workload){
		.architecture = &model_find("meta-llama/Llama-3.1-8B")->architecture,
		.task = (int)task,
		.given = UINT64_C(1) << WORKLOAD_task,
	};
}

#define GIVE(workload, field, value)                                                               \
	((workload).field = (value), (workload).given |= UINT64_C(1) << WORKLOAD_##field)

/* The item at that pointer, or NULL. */
static const struct error_item *item(const char *pointer)
{
	for (const struct error_item *at = error.first; at; at = at->next)
		if (strcmp(at->pointer, pointer) == 0)
			return at;
	return NULL;
}

static void expect_fault(struct workload *workload, const char *pointer, const char *code)
{
	ck_assert(!workload_complete(workload, "/workload", &error));
	ck_assert_msg(item(pointer), "nothing at %s", pointer);
	ck_assert_str_eq(item(pointer)->code, code);
}

START_TEST(every_field_is_described_once_and_its_range_is_sane)
{
	for (int i = 0; i < WORKLOAD_FIELD_COUNT; i++) {
		const struct workload_field *field = &workload_fields[i];

		ck_assert_ptr_nonnull(field->name);
		ck_assert(field->tasks && !(field->tasks & ~EVERY_TASK));
		ck_assert(field->kind != FIELD_ENUM || field->names);
		ck_assert(field->kind == FIELD_ENUM || field->kind == FIELD_FLAG ||
			  field->least < field->most);
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(field->name, workload_fields[j].name);
	}
}
END_TEST

START_TEST(task_is_required)
{
	struct workload workload = blank(TASK_PRETRAIN);

	workload.given = 0;
	expect_fault(&workload, "/workload/task", "required");
}
END_TEST

START_TEST(fine_tuning_needs_a_method_and_the_others_none)
{
	struct workload workload = blank(TASK_FINETUNE);

	expect_fault(&workload, "/workload/method", "required");
	error_init(&error, &arena);
	workload = blank(TASK_PRETRAIN);
	ck_assert(workload_complete(&workload, "", &error));
	ck_assert_int_eq(workload.method, METHOD_FULL);
	workload = blank(TASK_INFERENCE);
	ck_assert(workload_complete(&workload, "", &error));
}
END_TEST

START_TEST(every_bad_field_is_named_at_once)
{
	struct workload workload = blank(TASK_FINETUNE);

	GIVE(workload, method, METHOD_LORA);
	GIVE(workload, sequence_length, 0);
	GIVE(workload, epochs, -1.0);
	GIVE(workload, optimizer, OPTIMIZERS);
	GIVE(workload, concurrency, 4);
	GIVE(workload, adapter_size, 64);
	ck_assert(!workload_complete(&workload, "/workload", &error));
	ck_assert_str_eq(item("/workload/sequence_length")->code, "out_of_range");
	ck_assert_str_eq(item("/workload/epochs")->code, "out_of_range");
	ck_assert_str_eq(item("/workload/optimizer")->code, "invalid_value");
	ck_assert_str_eq(item("/workload/concurrency")->code, "not_applicable");
	ck_assert_str_eq(item("/workload/adapter_size")->code, "not_applicable");
	ck_assert_int_eq(error.code, ERROR_INVALID);
}
END_TEST

START_TEST(not_a_number_is_out_of_range)
{
	struct workload workload = blank(TASK_PRETRAIN);

	GIVE(workload, total_tokens, (double)__builtin_nan(""));
	expect_fault(&workload, "/workload/total_tokens", "out_of_range");
}
END_TEST

START_TEST(contradictions_are_refused)
{
	struct workload workload = blank(TASK_PRETRAIN);

	GIVE(workload, total_tokens, 1e9);
	GIVE(workload, tokens_per_epoch, 1e9);
	expect_fault(&workload, "/workload/tokens_per_epoch", "contradiction");

	error_init(&error, &arena);
	workload = blank(TASK_INFERENCE);
	GIVE(workload, concurrency, 8);
	GIVE(workload, requests_per_second, 1.0);
	expect_fault(&workload, "/workload/requests_per_second", "contradiction");

	error_init(&error, &arena);
	workload = blank(TASK_PRETRAIN);
	GIVE(workload, epochs, 3.0);
	expect_fault(&workload, "/workload/epochs", "incomplete");

	error_init(&error, &arena);
	workload = blank(TASK_PRETRAIN);
	GIVE(workload, global_batch, 10);
	GIVE(workload, micro_batch, 4);
	expect_fault(&workload, "/workload/global_batch", "contradiction");

	error_init(&error, &arena);
	workload = blank(TASK_INFERENCE);
	GIVE(workload, prompt_tokens, 100);
	GIVE(workload, output_tokens, 100);
	GIVE(workload, mean_context, 300);
	expect_fault(&workload, "/workload/mean_context", "contradiction");
}
END_TEST

START_TEST(a_method_takes_only_bases_that_it_can_train_over)
{
	struct workload workload = blank(TASK_FINETUNE);

	GIVE(workload, method, METHOD_QLORA);
	GIVE(workload, base_format, FORMAT_BF16);
	expect_fault(&workload, "/workload/base_format", "contradiction");
	ck_assert_str_eq(error.first->suggestion, "nf4");

	error_init(&error, &arena);
	workload = blank(TASK_FINETUNE);
	GIVE(workload, method, METHOD_LORA);
	GIVE(workload, base_format, FORMAT_NF4);
	expect_fault(&workload, "/workload/base_format", "contradiction");

	error_init(&error, &arena);
	workload = blank(TASK_FINETUNE);
	GIVE(workload, method, METHOD_FULL);
	GIVE(workload, base_format, FORMAT_BF16);
	expect_fault(&workload, "/workload/base_format", "not_applicable");

	error_init(&error, &arena);
	workload = blank(TASK_INFERENCE);
	GIVE(workload, kv_format, FORMAT_AWQ);
	expect_fault(&workload, "/workload/kv_format", "invalid_value");

	/* llama.cpp's file types choose its engine, and contradict another. */
	error_init(&error, &arena);
	workload = blank(TASK_INFERENCE);
	GIVE(workload, weight_format, FORMAT_Q4_K_M);
	ck_assert(workload_complete(&workload, "/workload", &error));
	ck_assert_int_eq(workload.engine, ENGINE_LLAMA_CPP);
	workload = blank(TASK_INFERENCE);
	GIVE(workload, weight_format, FORMAT_Q4_K_M);
	GIVE(workload, engine, ENGINE_VLLM);
	expect_fault(&workload, "/workload/weight_format", "contradiction");
}
END_TEST

START_TEST(what_is_not_supported_yet_says_so)
{
	struct workload workload = blank(TASK_INFERENCE);
	struct architecture image = *workload.architecture;

	image.modality = MODALITY_IMAGE;
	workload.architecture = &image;
	expect_fault(&workload, "/workload/model", "unsupported");
	ck_assert_int_eq(error.code, ERROR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(error.first->detail, "image"));
}
END_TEST

START_TEST(a_known_audio_model_is_not_supported_yet)
{
	static const char *const ids[] = {"openai/whisper-large-v3", "suno/bark",
					  "canopylabs/orpheus-3b-0.1-ft"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const struct model *model = model_find(ids[i]);
		struct workload workload = blank(TASK_INFERENCE);

		ck_assert_msg(model != NULL, "%s", ids[i]);
		workload.architecture = &model->architecture;
		expect_fault(&workload, "/workload/model", "unsupported");
		ck_assert_int_eq(error.code, ERROR_UNSUPPORTED);
		ck_assert_ptr_nonnull(strstr(error.first->detail, "audio"));
	}
}
END_TEST

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

START_TEST(what_is_odd_is_warned_of_and_not_refused)
{
	static const struct {
		const char *fields, *code, *pointer;
	} cases[] = {
		{"task=finetune method=lora sequence_length=200000", "beyond_context",
		 "/w/sequence_length"},
		{"task=inference prompt_tokens=131000 output_tokens=100", "beyond_context",
		 "/w/prompt_tokens"},
		{"task=inference prompt_tokens=130000 output_tokens=100", NULL, NULL},
		{"task=finetune method=lora sessions=3", "no_effect", "/w/sessions"},
		{"task=finetune method=lora sessions=3 total_tokens=9", NULL, NULL},
		{"task=inference mode=batch hours_per_day=3", "no_effect", "/w/hours_per_day"},
		{"task=inference hours_per_day=3", NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload =
			market_workload("meta-llama/Llama-3.1-8B", cases[i].fields);

		error_init(&error, &arena);
		workload_warn(&workload, "/w", &error);
		ck_assert_msg(!error.first == !cases[i].code, "%s", cases[i].fields);
		if (!cases[i].code)
			continue;
		ck_assert_str_eq(error.first->code, cases[i].code);
		ck_assert_str_eq(error.first->pointer, cases[i].pointer);
		ck_assert_ptr_null(error.first->next);
	}
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

START_TEST(quantisation_that_is_not_known_is_warned_of)
{
	static const struct {
		const char *fields;
		bool warns;
	} cases[] = {
		{"task=inference", true},
		{"task=inference weight_format=awq", false},
		{"task=finetune method=lora", false},
	};
	struct architecture architecture = model_find("meta-llama/Llama-3.1-8B")->architecture;

	architecture.native_format_unknown = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload workload =
			market_workload("meta-llama/Llama-3.1-8B", cases[i].fields);

		workload.architecture = &architecture;
		error_init(&error, &arena);
		workload_warn(&workload, "/w", &error);
		ck_assert_msg((error.first != NULL) == cases[i].warns, "%s", cases[i].fields);
		if (cases[i].warns)
			ck_assert_str_eq(error.first->code, "format_unknown");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("workload");
	TCase *tests = tcase_create("workload");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, every_field_is_described_once_and_its_range_is_sane);
	tcase_add_test(tests, task_is_required);
	tcase_add_test(tests, fine_tuning_needs_a_method_and_the_others_none);
	tcase_add_test(tests, every_bad_field_is_named_at_once);
	tcase_add_test(tests, not_a_number_is_out_of_range);
	tcase_add_test(tests, contradictions_are_refused);
	tcase_add_test(tests, a_method_takes_only_bases_that_it_can_train_over);
	tcase_add_test(tests, what_is_not_supported_yet_says_so);
	tcase_add_test(tests, a_known_audio_model_is_not_supported_yet);
	tcase_add_test(tests, defaults_are_those_of_the_stack_and_stay_marked);
	tcase_add_test(tests, what_the_caller_gave_is_kept);
	tcase_add_test(tests, the_amount_of_work_has_three_spellings);
	tcase_add_test(tests, the_context_is_the_mean_where_it_is_given);
	tcase_add_test(tests, a_rate_leaves_concurrency_to_the_planner);
	tcase_add_test(tests, the_model_decides_which_lengths_it_takes);
	tcase_add_test(tests, an_encoder_scores_what_its_loss_looks_at);
	tcase_add_test(tests, what_is_odd_is_warned_of_and_not_refused);
	tcase_add_test(tests, quantisation_that_is_not_known_is_warned_of);
	tcase_add_test(tests, lengths_that_nobody_gave_fit_the_model);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
