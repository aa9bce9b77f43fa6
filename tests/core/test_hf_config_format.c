/* Pasted configurations: what their quantisation and types say of the format of the weights. */
#include "tests/core/pasted.h"

#include "tests/suite.h"

#include <stdio.h>

#define LLAMA                                                                                      \
	"\"model_type\":\"llama\",\"hidden_size\":4096,\"num_hidden_layers\":32,"                  \
	"\"num_attention_heads\":32,\"intermediate_size\":11008,\"vocab_size\":32000"

/* The keys of facts/hf-config-fields.md 7, each with the format it means. */
START_TEST(quantisation_says_the_format)
{
	static const struct {
		const char *quantisation;
		enum format format;
	} cases[] = {
		{"{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":128}", FORMAT_GPTQ},
		{"{\"quant_method\":\"gptq\",\"bits\":8}", FORMAT_GPTQ_INT8},
		{"{\"quant_method\":\"awq\",\"bits\":4}", FORMAT_AWQ},
		{"{\"load_in_4bit\":true,\"bnb_4bit_quant_type\":\"nf4\"}", FORMAT_NF4},
		{"{\"load_in_4bit\":true,\"bnb_4bit_quant_type\":\"nf4\","
		 "\"bnb_4bit_use_double_quant\":true}",
		 FORMAT_NF4_DQ},
		{"{\"quant_method\":\"bitsandbytes\",\"load_in_8bit\":true}", FORMAT_INT8},
		{"{\"quant_method\":\"fp8\",\"weight_block_size\":[128,128]}", FORMAT_FP8},
		{"{\"quant_method\":\"fbgemm_fp8\"}", FORMAT_FP8},
		{"{\"quant_method\":\"mxfp4\"}", FORMAT_MXFP4},
		{"{\"quant_method\":\"fp8\",\"quant_algo\":\"NVFP4\"}", FORMAT_NVFP4},
		{"{\"quant_algo\":\"FP8\"}", FORMAT_FP8},
		{"{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"group_0\":{"
		 "\"weights\":"
		 "{\"num_bits\":8,\"type\":\"float\"}}}}",
		 FORMAT_FP8},
		{"{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"group_0\":{"
		 "\"weights\":"
		 "{\"num_bits\":4,\"type\":\"int\",\"group_size\":32}}}}",
		 FORMAT_INT4_G32},
		{"{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32}", FORMAT_GPTQ_G32},
		{"{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":-1}", FORMAT_GPTQ_CHANNEL},
		{"{\"quant_method\":\"gptq\",\"bits\":3}", FORMAT_AUTO},
		{"{\"quant_method\":\"awq\",\"w_bit\":4,\"q_group_size\":64}", FORMAT_AWQ_G64},
		{"{\"quant_method\":\"auto-round\",\"bits\":4,\"group_size\":128}", FORMAT_GPTQ},
		{"{\"quant_method\":\"torchao\",\"quant_type\":\"int4_weight_only\"}",
		 FORMAT_TORCHAO_INT4},
		{"{\"quant_method\":\"torchao\",\"quant_type\":{\"default\":{\"_type\":"
		 "\"Float8DynamicActivationFloat8WeightConfig\"}}}",
		 FORMAT_TORCHAO_FP8},
		{"{\"quant_method\":\"hqq\",\"quant_config\":{\"weight_quant_params\":"
		 "{\"nbits\":4,\"group_size\":64}}}",
		 FORMAT_INT4_G64},
		{"{\"quant_method\":\"quanto\",\"weights\":\"int8\"}", FORMAT_INT8},
		{"{\"quant_method\":\"eetq\",\"weights\":\"int8\"}", FORMAT_INT8},
		{"{\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\"}", FORMAT_NVFP4},
		{"{\"quant_method\":\"aqlm\",\"nbits_per_codebook\":16}", FORMAT_AUTO},
		{"{\"quant_method\":\"hqq\"}", FORMAT_AUTO},
		{"{\"quant_method\":\"awq\",\"bits\":8}", FORMAT_AUTO},
		{"\"fp8\"", FORMAT_AUTO},
	};
	struct architecture architecture;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[600];

		snprintf(text, sizeof(text),
			 "{" LLAMA ",\"dtype\":\"bfloat16\",\"quantization_config\":%s}",
			 cases[i].quantisation);
		ck_assert(read_text(text, &architecture));
		ck_assert_msg(architecture.native_format == cases[i].format, "%s",
			      cases[i].quantisation);
		ck_assert(architecture.native_format_unknown == (cases[i].format == FORMAT_AUTO));
	}
}
END_TEST

START_TEST(a_calibrated_cache_says_its_format)
{
	static const struct {
		const char *scheme;
		enum format format;
	} cases[] = {
		{"\"kv_cache_scheme\":{\"num_bits\":8,\"type\":\"float\"}", FORMAT_FP8},
		{"\"kv_cache_scheme\":\"FP8\"", FORMAT_FP8},
		{"\"kv_cache_quant_algo\":\"FP8\"", FORMAT_FP8},
		{"\"kv_cache_scheme\":null", FORMAT_AUTO},
	};
	struct architecture architecture;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[400];

		snprintf(text, sizeof(text),
			 "{" LLAMA ",\"quantization_config\":{\"quant_method\":\"fp8\",%s}}",
			 cases[i].scheme);
		ck_assert(read_text(text, &architecture));
		ck_assert_msg(architecture.native_kv_format == cases[i].format, "%s",
			      cases[i].scheme);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hf_config_format");
	TCase *tests = tcase_create("hf_config_format");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, quantisation_says_the_format);
	tcase_add_test(tests, a_calibrated_cache_says_its_format);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
