/* Support: one case for every rule, with its source in core/support.c. */
#include "core/support.h"

#include "core/model.h"
#include "tests/suite.h"

#define SAID(field) (WORKLOAD_BIT(WORKLOAD_##field))

static struct workload workload_of(enum task task, enum method method)
{
	const struct model *model = model_find("meta-llama/Llama-3.1-8B");
	struct workload workload = {
		.architecture = &model->architecture, .task = (int)task, .method = (int)method};
	struct error error = {0};

	workload.given = SAID(task);
	if (task == TASK_FINETUNE)
		workload.given |= SAID(method);
	ck_assert_msg(workload_complete(&workload, "", &error), "%s", error.detail);
	return workload;
}

static struct support_verdict verdict(const struct workload *workload, enum format format,
				      const char *card)
{
	const struct accelerator *accelerator = accelerator_find(card);
	struct support_verdict verdict;

	ck_assert_msg(accelerator != NULL, "%s", card);
	verdict = support_of(workload, format, accelerator);
	/* Every verdict but "runs" says why. */
	ck_assert(verdict.support == SUPPORT_RUNS
			  ? !verdict.code && !verdict.reason
			  : verdict.code && verdict.reason && verdict.reason[0]);
	return verdict;
}

#define EXPECT(workload, format, card, expected, expected_code)                                    \
	do {                                                                                       \
		struct support_verdict got = verdict(workload, format, card);                      \
		ck_assert_int_eq(got.support, expected);                                           \
		if (expected != SUPPORT_RUNS)                                                      \
			ck_assert_str_eq(got.code, expected_code);                                 \
	} while (0)

START_TEST(current_cards_run_everything_usual)
{
	struct workload full = workload_of(TASK_FINETUNE, METHOD_FULL);
	struct workload qlora = workload_of(TASK_FINETUNE, METHOD_QLORA);
	struct workload serve = workload_of(TASK_INFERENCE, METHOD_FULL);

	EXPECT(&full, FORMAT_AUTO, "H100 SXM5 80GB", SUPPORT_RUNS, "");
	EXPECT(&qlora, FORMAT_NF4, "RTX 4090 24GB", SUPPORT_RUNS, "");
	EXPECT(&serve, FORMAT_FP8, "L40S 48GB", SUPPORT_RUNS, "");
	EXPECT(&serve, FORMAT_BF16, "MI300X 192GB", SUPPORT_RUNS, "");
	EXPECT(&serve, FORMAT_NVFP4, "B200 SXM 180GB", SUPPORT_RUNS, "");
}
END_TEST

START_TEST(old_cards_have_no_bf16)
{
	struct workload lora = workload_of(TASK_FINETUNE, METHOD_LORA);
	struct workload serve = workload_of(TASK_INFERENCE, METHOD_FULL);

	EXPECT(&lora, FORMAT_AUTO, "T4 16GB", SUPPORT_SLOW, "no_bf16");
	lora.given |= SAID(precision);
	EXPECT(&lora, FORMAT_AUTO, "T4 16GB", SUPPORT_NO, "no_bf16");
	lora.stack = STACK_MEGATRON;
	lora.given = 0;
	EXPECT(&lora, FORMAT_AUTO, "V100 SXM2 32GB", SUPPORT_NO, "no_bf16");
	EXPECT(&serve, FORMAT_BF16, "T4 16GB", SUPPORT_NO, "no_bf16");
	EXPECT(&serve, FORMAT_FP16, "T4 16GB", SUPPORT_RUNS, "");
	EXPECT(&serve, FORMAT_FP16, "V100 SXM2 32GB", SUPPORT_SLOW, "no_flash_attention");
}
END_TEST

START_TEST(fp8_and_fp4_need_their_tensor_cores)
{
	struct workload serve = workload_of(TASK_INFERENCE, METHOD_FULL);
	struct workload full = workload_of(TASK_PRETRAIN, METHOD_FULL);

	EXPECT(&serve, FORMAT_FP8, "A100 SXM4 80GB", SUPPORT_SLOW, "no_fp8_kernels");
	EXPECT(&serve, FORMAT_FP8, "T4 16GB", SUPPORT_SLOW, "no_fp8_kernels");
	EXPECT(&serve, FORMAT_FP8, "V100 SXM2 16GB", SUPPORT_NO, "no_fp8_kernels");
	EXPECT(&serve, FORMAT_MXFP4, "T4 16GB", SUPPORT_NO, "no_fp4_kernels");
	EXPECT(&serve, FORMAT_MXFP4, "A100 SXM4 80GB", SUPPORT_SLOW, "no_fp4_kernels");
	EXPECT(&serve, FORMAT_MXFP4, "H100 SXM5 80GB", SUPPORT_RUNS, "");
	EXPECT(&serve, FORMAT_NVFP4, "H100 SXM5 80GB", SUPPORT_SLOW, "no_fp4_kernels");
	serve.engine = ENGINE_TENSORRT_LLM;
	EXPECT(&serve, FORMAT_FP8, "A100 SXM4 80GB", SUPPORT_NO, "no_fp8_kernels");
	EXPECT(&serve, FORMAT_MXFP4, "A100 SXM4 80GB", SUPPORT_NO, "no_fp4_kernels");
	EXPECT(&serve, FORMAT_FP16, "T4 16GB", SUPPORT_NO, "dropped_by_frameworks");
	EXPECT(&serve, FORMAT_NVFP4, "H100 SXM5 80GB", SUPPORT_NO, "no_fp4_kernels");
	full.precision = PRECISION_FP8;
	EXPECT(&full, FORMAT_AUTO, "A100 SXM4 80GB", SUPPORT_NO, "no_fp8_kernels");
	EXPECT(&full, FORMAT_AUTO, "H100 SXM5 80GB", SUPPORT_RUNS, "");
}
END_TEST

START_TEST(dropped_parts_do_not_run)
{
	struct workload serve = workload_of(TASK_INFERENCE, METHOD_FULL);

	EXPECT(&serve, FORMAT_FP16, "P40 24GB", SUPPORT_NO, "no_tensor_cores");
	serve.engine = ENGINE_LLAMA_CPP;
	EXPECT(&serve, FORMAT_Q4_K_M, "P40 24GB", SUPPORT_RUNS, "");
	serve.engine = ENGINE_SGLANG;
	EXPECT(&serve, FORMAT_FP16, "V100 SXM2 16GB", SUPPORT_NO, "dropped_by_frameworks");
}
END_TEST

START_TEST(formats_belong_to_engines)
{
	struct workload serve = workload_of(TASK_INFERENCE, METHOD_FULL);

	EXPECT(&serve, FORMAT_Q4_K_M, "H100 SXM5 80GB", SUPPORT_NO, "format_needs_llama_cpp");
	EXPECT(&serve, FORMAT_AWQ, "T4 16GB", SUPPORT_SLOW, "slow_4bit_kernels");
	EXPECT(&serve, FORMAT_AWQ, "V100 SXM2 16GB", SUPPORT_NO, "no_4bit_kernels");
	EXPECT(&serve, FORMAT_GPTQ, "V100 SXM2 16GB", SUPPORT_SLOW, "slow_4bit_kernels");
	EXPECT(&serve, FORMAT_INT8, "V100 SXM2 16GB", SUPPORT_NO, "no_int8_kernels");
	EXPECT(&serve, FORMAT_INT8, "T4 16GB", SUPPORT_RUNS, "");
	EXPECT(&serve, FORMAT_INT8, "B200 SXM 180GB", SUPPORT_SLOW, "no_int8_kernels");
}
END_TEST

START_TEST(other_vendors_have_their_own_limits)
{
	struct workload qlora = workload_of(TASK_FINETUNE, METHOD_QLORA);
	struct workload serve = workload_of(TASK_INFERENCE, METHOD_FULL);

	EXPECT(&qlora, FORMAT_NF4, "MI300X 192GB", SUPPORT_SLOW, "bitsandbytes_rocm");
	EXPECT(&qlora, FORMAT_NF4, "TPU v5e (per chip)", SUPPORT_NO, "bitsandbytes_needs_gpu");
	serve.engine = ENGINE_TENSORRT_LLM;
	EXPECT(&serve, FORMAT_BF16, "MI300X 192GB", SUPPORT_NO, "engine_needs_nvidia");
	EXPECT(&serve, FORMAT_BF16, "TPU v6e (per chip)", SUPPORT_NO, "engine_needs_nvidia");
	serve.engine = ENGINE_VLLM;
	EXPECT(&serve, FORMAT_BF16, "TPU v6e (per chip)", SUPPORT_UNKNOWN, "other_software_stack");
	EXPECT(&serve, FORMAT_FP8, "MI300X 192GB", SUPPORT_RUNS, "");
	EXPECT(&serve, FORMAT_AWQ, "MI300X 192GB", SUPPORT_NO, "no_integer_kernels");
	EXPECT(&serve, FORMAT_BF16, "Gaudi3 (HL-325) 128GB", SUPPORT_RUNS, "");
	serve.engine = ENGINE_LLAMA_CPP;
	EXPECT(&serve, FORMAT_Q4_K_M, "Gaudi3 (HL-325) 128GB", SUPPORT_NO, "engine_needs_gpu");
	EXPECT(&qlora, FORMAT_NF4, "Gaudi3 (HL-325) 128GB", SUPPORT_UNKNOWN, "bitsandbytes_intel");
	qlora.stack = STACK_UNSLOTH;
	EXPECT(&qlora, FORMAT_NF4, "Inferentia2 32GB", SUPPORT_NO, "stack_needs_gpu");
}
END_TEST

/* What a stack or an engine has no code for runs on no card. */
START_TEST(architectures_belong_to_stacks_and_engines)
{
	struct workload serve = workload_of(TASK_INFERENCE, METHOD_FULL);
	struct workload train = workload_of(TASK_PRETRAIN, METHOD_FULL);
	const char *card = "H100 SXM5 80GB";

	serve.architecture = train.architecture = &model_find("google/flan-t5-xl")->architecture;
	EXPECT(&serve, FORMAT_BF16, card, SUPPORT_NO, "engine_lacks_architecture");
	serve.engine = ENGINE_TRANSFORMERS;
	EXPECT(&serve, FORMAT_BF16, card, SUPPORT_RUNS, "");
	serve.engine = ENGINE_LLAMA_CPP;
	EXPECT(&serve, FORMAT_Q8_0, card, SUPPORT_RUNS, "");
	train.stack = STACK_TORCHTITAN;
	EXPECT(&train, FORMAT_AUTO, card, SUPPORT_NO, "stack_lacks_architecture");
	train.stack = STACK_MEGATRON;
	EXPECT(&train, FORMAT_AUTO, card, SUPPORT_RUNS, "");
	train.architecture = &model_find("google-bert/bert-base-uncased")->architecture;
	train.stack = STACK_TORCHTITAN;
	EXPECT(&train, FORMAT_AUTO, card, SUPPORT_NO, "stack_lacks_architecture");
}
END_TEST

/* No combination of card, engine and format crashes or leaves out its reason. */
START_TEST(every_combination_has_a_verdict)
{
	for (size_t i = 0; i < accelerators_count; i++)
		for (int format = FORMAT_AUTO; format < FORMATS; format++)
			for (int engine = 0; engine < ENGINES; engine++) {
				struct workload serve = workload_of(TASK_INFERENCE, METHOD_FULL);

				serve.engine = engine;
				verdict(&serve, (enum format)format, accelerators[i].name);
			}
}
END_TEST

START_TEST(pipelines_take_formats_of_their_own)
{
	struct workload serve = {.architecture =
					 &model_find("black-forest-labs/FLUX.1-dev")->architecture,
				 .task = TASK_INFERENCE,
				 .given = SAID(task)};
	struct error error = {0};
	static const enum format of_text[] = {FORMAT_AWQ, FORMAT_GPTQ_INT8, FORMAT_INT4_G32,
					      FORMAT_MXFP4_MOE};
	static const enum format of_pytorch[] = {FORMAT_NF4, FORMAT_TORCHAO_INT4, FORMAT_Q8_0};

	ck_assert(workload_complete(&serve, "", &error));
	for (size_t i = 0; i < sizeof(of_text) / sizeof(of_text[0]); i++)
		EXPECT(&serve, of_text[i], "H100 SXM5 80GB", SUPPORT_NO,
		       "format_of_language_models");
	for (size_t i = 0; i < sizeof(of_pytorch) / sizeof(of_pytorch[0]); i++) {
		serve.media_engine = MEDIA_ENGINE_PYTORCH;
		ck_assert_int_ne(verdict(&serve, of_pytorch[i], "H100 SXM5 80GB").support,
				 SUPPORT_NO);
		serve.media_engine = MEDIA_ENGINE_TENSORRT;
		EXPECT(&serve, of_pytorch[i], "H100 SXM5 80GB", SUPPORT_NO, "format_needs_pytorch");
	}
	EXPECT(&serve, FORMAT_FP8, "H100 SXM5 80GB", SUPPORT_RUNS, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("support");
	TCase *tcase = tcase_create("support");

	tcase_add_test(tcase, current_cards_run_everything_usual);
	tcase_add_test(tcase, old_cards_have_no_bf16);
	tcase_add_test(tcase, fp8_and_fp4_need_their_tensor_cores);
	tcase_add_test(tcase, dropped_parts_do_not_run);
	tcase_add_test(tcase, formats_belong_to_engines);
	tcase_add_test(tcase, other_vendors_have_their_own_limits);
	tcase_add_test(tcase, architectures_belong_to_stacks_and_engines);
	tcase_add_test(tcase, pipelines_take_formats_of_their_own);
	tcase_add_test(tcase, every_combination_has_a_verdict);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
