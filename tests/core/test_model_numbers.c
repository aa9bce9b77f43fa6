/* Models from bare numbers: against published ones, told less and more of; and what is refused. */
#include "core/model_numbers.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

static struct arena arena;
static struct error error;

static void setup(void)
{
	arena_init(&arena, 1u << 20);
	error_init(&error, &arena);
}

static void teardown(void)
{
	arena_release(&arena);
}

#define N(member, value) [MODEL_NUMBER_##member] = (value)
#define LLAMA_8B                                                                                   \
	N(parameters, 8.03e9), N(layers, 32), N(hidden, 4096), N(heads, 32), N(kv_heads, 8),       \
		N(ffn, 14336), N(vocab, 128256)

/* Published totals, to the last parameter: names told, nothing left to guess. */
static const struct {
	const char *name;
	struct model_numbers numbers;
	double total, kv_elements;
} published[] = {
	{"Llama-3.1-8B", {.values = {LLAMA_8B}}, 8030261248.0, 65536},
	{"Llama-3.2-1B (tied)",
	 {.values = {N(parameters, 1.24e9), N(layers, 16), N(hidden, 2048), N(heads, 32),
		     N(kv_heads, 8), N(ffn, 8192), N(vocab, 128256)}},
	 1235814400.0,
	 16384},
	{"Mistral-Nemo (heads narrower than the model)",
	 {.values = {N(parameters, 12.2e9), N(layers, 40), N(hidden, 5120), N(heads, 32),
		     N(head_dim, 128), N(kv_heads, 8), N(ffn, 14336), N(vocab, 131072)}},
	 12247782400.0,
	 81920},
	{"Mixtral-8x7B",
	 {.values = {N(parameters, 46.7e9), N(active_parameters, 12.9e9), N(layers, 32),
		     N(hidden, 4096), N(heads, 32), N(kv_heads, 8), N(ffn, 14336), N(vocab, 32000),
		     N(experts, 8), N(experts_active, 2)}},
	 46702792704.0,
	 65536},
};

START_TEST(a_model_told_in_full_is_exact)
{
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		struct architecture architecture;
		struct parameter_count count;

		ck_assert_msg(model_numbers_build(&published[i].numbers, "", &architecture, &error),
			      "%s", published[i].name);
		architecture_count(&architecture, &count);
		ck_assert_msg(fabs((double)count.total - published[i].total) < 0.5,
			      "%s: %.0f parameters", published[i].name, (double)count.total);
		ck_assert_msg(fabs(architecture_kv_elements_per_token(&architecture) -
				   published[i].kv_elements) < 0.5,
			      "%s: cache", published[i].name);
		ck_assert_double_lt(architecture.uncertainty, 0.03);
	}
}
END_TEST

/* A size alone: the total is right, and so is the shape of the best known models of that size. */
START_TEST(a_size_alone_gives_the_usual_model)
{
	static const struct {
		double size;
		int hidden, layers;
	} usual[] = {{8.03e9, 4096, 32}, {70.55e9, 8192, 80}, {405.85e9, 16384, 126}};
	static const double sizes[] = {1e6,    1e7,    1.1e8, 3.5e8, 1e9,  3e9, 7e9,
				       1.3e10, 3.3e10, 1e11,  1e12,  1e13, 1e14};
	struct architecture architecture;
	struct parameter_count count;
	const char *reason;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct model_numbers numbers = {.values = {N(parameters, sizes[i])}};

		ck_assert_msg(model_numbers_build(&numbers, "", &architecture, &error), "%g",
			      sizes[i]);
		architecture_count(&architecture, &count);
		ck_assert_msg(fabs((double)count.total / sizes[i] - 1) < 0.01, "%g: %.0f", sizes[i],
			      (double)count.total);
		ck_assert_double_eq_tol(architecture.uncertainty, 0.15, 1e-12);
		ck_assert_msg(architecture_check(&architecture, &reason), "%g: %s", sizes[i],
			      reason);
	}
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		struct model_numbers numbers = {.values = {N(parameters, usual[i].size)}};

		ck_assert(model_numbers_build(&numbers, "", &architecture, &error));
		ck_assert_msg(architecture.hidden == usual[i].hidden &&
				      architecture_layers(&architecture) == usual[i].layers,
			      "%g: %d x %d", usual[i].size, architecture.hidden,
			      architecture_layers(&architecture));
	}
}
END_TEST

/* Every fact that is told narrows the range and leaves the list of what is assumed. */
START_TEST(the_range_shrinks_with_what_is_told)
{
	static const struct model_numbers whole = {.values = {LLAMA_8B}};
	struct model_numbers numbers = {.values = {N(parameters, 8.03e9)}};
	struct architecture architecture;
	double before = 1;
	unsigned assumed = ~0u;

	for (int i = MODEL_NUMBER_layers; i <= MODEL_NUMBER_vocab; i++) {
		numbers.values[i] = whole.values[i];
		ck_assert(model_numbers_build(&numbers, "", &architecture, &error));
		if (whole.values[i] > 0) {
			ck_assert_double_lt(architecture.uncertainty, before);
			ck_assert(architecture.assumed < assumed);
			ck_assert(!(architecture.assumed >> i & 1u));
		}
		before = architecture.uncertainty;
		assumed = architecture.assumed;
	}
	ck_assert_uint_eq(assumed, 1u << MODEL_NUMBER_head_dim);
}
END_TEST

/* Qwen3-235B-A22B and DeepSeek-V3 from their two sizes: 8 of many experts, within a fifth. */
START_TEST(active_parameters_make_experts)
{
	static const double pairs[][2] = {
		{235e9, 22e9}, {671e9, 37e9}, {30.5e9, 3.3e9}, {117e9, 5.1e9}, {46.7e9, 12.9e9}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct model_numbers numbers = {
			.values = {N(parameters, pairs[i][0]), N(active_parameters, pairs[i][1])}};
		struct architecture architecture;
		struct parameter_count count;

		ck_assert_msg(model_numbers_build(&numbers, "", &architecture, &error), "%g: %s",
			      pairs[i][0], error.first ? error.first->detail : "");
		architecture_count(&architecture, &count);
		ck_assert_int_gt(architecture_experts(&architecture), 1);
		ck_assert_msg(fabs((double)count.total / pairs[i][0] - 1) < 0.02, "%g",
			      pairs[i][0]);
		ck_assert_msg(fabs((double)count.active / pairs[i][1] - 1) < 0.2, "%g: %.3g active",
			      pairs[i][0], (double)count.active);
	}
}
END_TEST

START_TEST(an_encoder_keeps_no_cache)
{
	struct model_numbers numbers = {.values = {N(parameters, 335e6)},
					.modality = MODALITY_EMBEDDING};
	struct architecture architecture;

	ck_assert(model_numbers_build(&numbers, "", &architecture, &error));
	/* BERT-large: 24 layers of 1024. */
	ck_assert_int_ge(architecture.hidden, 768);
	ck_assert_int_le(architecture.hidden, 2048);
	ck_assert_double_lt(architecture_kv_elements_per_token(&architecture), 0.5);
}
END_TEST

START_TEST(what_does_not_add_up_is_refused)
{
	static const struct {
		struct model_numbers numbers;
		const char *pointer, *code;
	} bad[] = {
		{{.values = {N(parameters, 9e5)}}, "/m/parameters", "out_of_range"},
		{{.values = {N(parameters, -1)}}, "/m/parameters", "out_of_range"},
		{{.values = {N(parameters, 1.1e14)}}, "/m/parameters", "out_of_range"},
		{{.values = {N(parameters, (double)NAN)}}, "/m/parameters", "out_of_range"},
		{{.values = {0}}, "/m/parameters", "out_of_range"},
		{{.values = {N(parameters, 7e9), N(hidden, -4096)}},
		 "/m/hidden_size",
		 "out_of_range"},
		{{.values = {N(parameters, 7e9), N(heads, 32), N(kv_heads, 12)}},
		 "/m/kv_heads",
		 "contradiction"},
		{{.values = {N(parameters, 7e9), N(active_parameters, 8e9)}},
		 "/m/active_parameters",
		 "contradiction"},
		{{.values = {N(parameters, 7e9), N(experts_active, 8)}},
		 "/m/experts_active",
		 "incomplete"},
		{{.values = {N(parameters, 7e9), N(experts, 8), N(experts_active, 9)}},
		 "/m/experts_active",
		 "contradiction"},
		/* Llama-2-7B's sizes are no 13B. */
		{{.values = {N(parameters, 13e9), N(layers, 32), N(hidden, 4096), N(heads, 32),
			     N(kv_heads, 32), N(ffn, 11008), N(vocab, 32000)}},
		 "/m/parameters",
		 "contradiction"},
		{{.values = {N(parameters, 1e9), N(layers, 80), N(hidden, 8192)}},
		 "/m/parameters",
		 "contradiction"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct architecture architecture;

		error_init(&error, &arena);
		ck_assert_msg(!model_numbers_build(&bad[i].numbers, "/m", &architecture, &error),
			      "case %zu", i);
		ck_assert_str_eq(error.first->pointer, bad[i].pointer);
		ck_assert_msg(strcmp(error.first->code, bad[i].code) == 0, "case %zu: %s", i,
			      error.first->code);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model_numbers");
	TCase *tests = tcase_create("model_numbers");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_model_told_in_full_is_exact);
	tcase_add_test(tests, a_size_alone_gives_the_usual_model);
	tcase_add_test(tests, the_range_shrinks_with_what_is_told);
	tcase_add_test(tests, active_parameters_make_experts);
	tcase_add_test(tests, an_encoder_keeps_no_cache);
	tcase_add_test(tests, what_does_not_add_up_is_refused);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
