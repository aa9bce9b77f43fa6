/* Number formats: names, facts, and sizes of published files. */
#include "core/format.h"
#include "core/model.h"
#include "tests/suite.h"

#include <math.h>

/* llama.cpp tools/quantize/README.md (commit 311c2c9f), Llama-3.1-8B: bits a weight of the whole
 * file. */
static const struct {
	const char *name;
	double bits;
} files[] = {
	{"iq1_s", 2.0042},  {"iq1_m", 2.1460},	{"iq2_xxs", 2.3824}, {"iq2_xs", 2.5882},
	{"iq2_s", 2.7403},  {"iq2_m", 2.9294},	{"iq3_xxs", 3.2548}, {"iq3_xs", 3.4977},
	{"iq3_s", 3.6606},  {"iq3_m", 3.7628},	{"iq4_xs", 4.4597},  {"iq4_nl", 4.6818},
	{"q2_k_s", 2.9697}, {"q2_k", 3.1593},	{"q3_k_s", 3.6429},  {"q3_k_l", 4.2979},
	{"q4_k_s", 4.6672}, {"q4_k_m", 4.8944}, {"q5_k_s", 5.5704},  {"q5_k_m", 5.7036},
	{"q6_k", 6.5633},   {"q8_0", 8.5008},	{"fp16", 16.0005},
};

START_TEST(names_are_found_as_users_write_them)
{
	ck_assert_int_eq(names_find(&format_names, "auto"), FORMAT_AUTO);
	ck_assert_int_eq(names_find(&format_names, "bf16"), FORMAT_BF16);
	ck_assert_int_eq(names_find(&format_names, "q4_k_m"), FORMAT_Q4_K_M);
	ck_assert_int_eq(names_find(&format_names, "nvfp4"), FORMAT_NVFP4);
	ck_assert_int_eq(names_find(&format_names, "q4_k_x"), -1);
	ck_assert_str_eq(names_nearest(&format_names, "q4_k_n"), "q4_k_m");
}
END_TEST

START_TEST(every_format_has_facts)
{
	for (int i = FORMAT_AUTO + 1; i < FORMATS; i++) {
		const struct format_facts *facts = format_facts((enum format)i);

		ck_assert_str_eq(facts->name, names_text(&format_names, i));
		ck_assert_msg(facts->linear_bits > 1.5 && facts->linear_bits <= 32, "%s",
			      facts->name);
		ck_assert_msg(facts->other_bits >= 2.6 && facts->other_bits <= 32, "%s",
			      facts->name);
		/* Only torchao packs the head and leaves the embedding. */
		ck_assert_msg(facts->head_bits >= facts->other_bits ||
				      format_is_torchao((enum format)i),
			      "%s", facts->name);
	}
}
END_TEST

START_TEST(only_llama_cpp_types_are_gguf)
{
	ck_assert(format_is_gguf(FORMAT_Q8_0));
	ck_assert(format_is_gguf(FORMAT_IQ1_S));
	ck_assert(!format_is_gguf(FORMAT_NVFP4));
	ck_assert(!format_is_gguf(FORMAT_AUTO));
}
END_TEST

/* Bits that a GPTQ or AWQ group takes: 4 a weight, a scale of 16 and a zero of 4 bits a group. */
START_TEST(smaller_groups_cost_more)
{
	static const struct {
		enum format format;
		double group;
	} groups[] = {{FORMAT_GPTQ_G32, 32},	  {FORMAT_GPTQ_G64, 64}, {FORMAT_GPTQ, 128},
		      {FORMAT_AWQ_G32, 32},	  {FORMAT_AWQ_G64, 64},	 {FORMAT_AWQ, 128},
		      {FORMAT_GPTQ_CHANNEL, 4096}};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		ck_assert_double_eq_tol(format_facts(groups[i].format)->linear_bits,
					4 + 20 / groups[i].group, 0.005);
		ck_assert(format_is_packed_integer(groups[i].format));
	}
	ck_assert(!format_is_packed_integer(FORMAT_GPTQ_INT8));
	ck_assert(!format_is_packed_integer(FORMAT_NF4));
}
END_TEST

/* torchao's README: sizes of Llama-3-8B without its embedding of 525336576 weights. */
START_TEST(torchao_sizes_come_out_as_published)
{
	static const struct {
		const char *name;
		double gb;
	} sizes[] = {{"torchao_int8", 7.52},
		     {"torchao_fp6", 5.63},
		     {"torchao_int4", 4.22},
		     {"torchao_int4_sparse", 3.05},
		     {"torchao_fp8", 7.51}};
	const struct architecture *llama = &model_find("meta-llama/Llama-3.1-8B")->architecture;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int format = names_find(&format_names, sizes[i].name);

		ck_assert_double_eq_tol(architecture_weight_bytes(llama, (enum format)format) -
						2 * 525336576.0,
					sizes[i].gb * 1e9, 0.01e9);
		ck_assert(format_is_torchao((enum format)format));
	}
	ck_assert(!format_is_torchao(FORMAT_MXFP4));
	ck_assert(!format_is_torchao(FORMAT_GPTQ_CHANNEL));
}
END_TEST

START_TEST(whole_files_come_out_as_published)
{
	const struct architecture *llama = &model_find("meta-llama/Llama-3.1-8B")->architecture;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int format = names_find(&format_names, files[i].name);
		double bits =
			architecture_weight_bytes(llama, (enum format)format) * 8 / 8030261248.0;

		ck_assert_msg(fabs(bits / files[i].bits - 1) < 0.002,
			      "%s: %.4f bits, published %.4f", files[i].name, bits, files[i].bits);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("format");
	TCase *tests = tcase_create("format");

	tcase_add_test(tests, names_are_found_as_users_write_them);
	tcase_add_test(tests, every_format_has_facts);
	tcase_add_test(tests, only_llama_cpp_types_are_gguf);
	tcase_add_test(tests, smaller_groups_cost_more);
	tcase_add_test(tests, torchao_sizes_come_out_as_published);
	tcase_add_test(tests, whole_files_come_out_as_published);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
