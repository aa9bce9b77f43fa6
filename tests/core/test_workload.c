/* Workloads: what is refused, what is warned of, and that all of it is named. */
#include "tests/core/blank_workload.h"

#include "tests/core/market.h"
#include "tests/suite.h"

START_TEST(every_field_is_described_once_and_its_range_is_sane)
{
	for (int i = 0; i < WORKLOAD_FIELD_COUNT; i++) {
		const struct workload_field *field = &workload_fields[i];

		ck_assert_ptr_nonnull(field->name);
		ck_assert((field->tasks | field->media_tasks) &&
			  !((field->tasks | field->media_tasks) & ~EVERY_TASK));
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

START_TEST(fields_of_pipelines_and_of_models_of_tokens_exclude_each_other)
{
	struct workload workload = blank(TASK_INFERENCE);

	GIVE(workload, steps, 20);
	GIVE(workload, media_offload, MEDIA_OFFLOAD_MODEL);
	expect_fault(&workload, "/workload/steps", "not_applicable");
	ck_assert_str_eq(item("/workload/media_offload")->code, "not_applicable");
	error_init(&error, &arena);
	workload = blank(TASK_INFERENCE);
	workload.architecture = &model_find("black-forest-labs/FLUX.1-dev")->architecture;
	GIVE(workload, prompt_tokens, 20);
	GIVE(workload, steps, 20);
	expect_fault(&workload, "/workload/prompt_tokens", "not_applicable");
	ck_assert_uint_eq(error.count, 1);
	error_init(&error, &arena);
	workload = blank(TASK_FINETUNE);
	workload.architecture = &model_find("black-forest-labs/FLUX.1-dev")->architecture;
	GIVE(workload, method, METHOD_PREFIX);
	GIVE(workload, steps, 1000);
	GIVE(workload, epochs, 3);
	expect_fault(&workload, "/workload/method", "not_applicable");
	ck_assert_ptr_nonnull(strstr(item("/workload/steps")->detail, "examples and epochs"));
	ck_assert_ptr_null(strstr(item("/workload/epochs")->detail, "tokens"));
	error_init(&error, &arena);
	workload = blank(TASK_FINETUNE);
	GIVE(workload, method, METHOD_TEXTUAL_INVERSION);
	expect_fault(&workload, "/workload/method", "not_applicable");
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
	tcase_add_test(tests, fields_of_pipelines_and_of_models_of_tokens_exclude_each_other);
	tcase_add_test(tests, what_is_odd_is_warned_of_and_not_refused);
	tcase_add_test(tests, quantisation_that_is_not_known_is_warned_of);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
