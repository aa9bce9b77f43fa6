/* Parameters, caches and operations of architectures, against published figures. */
#include "core/architecture.h"
#include "core/model.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

/* Equal as whole numbers. */
#define ASSERT_WHOLE(a, b) ck_assert_double_eq_tol(a, b, 0.5)

static const struct architecture *known(const char *id)
{
	const struct model *model = model_find(id);

	ck_assert_msg(model != NULL, "%s is not in the registry", id);
	return &model->architecture;
}

/* Totals: the Hub's safetensors counts (facts/models.csv). KV bytes in bf16: memory-notes 6.2. */
static const struct {
	const char *id;
	uint64_t total, active;
	double kv_bytes;
} references[] = {
	{"meta-llama/Llama-3.1-70B", 70553706496, 70553706496, 327680},
	{"meta-llama/Llama-3.1-8B", 8030261248, 8030261248, 131072},
	{"deepseek-ai/DeepSeek-V3", 671026419200, 37552297472, 70272},
	{"openai/gpt-oss-120b", 116829156672, 5711982912, 73728},
	{"Qwen/Qwen3-8B", 8190735360, 8190735360, 147456},
	{"Qwen/Qwen3-30B-A3B", 30532122624, 3353032704, 98304},
	{"mistralai/Mixtral-8x7B-v0.1", 46702792704, 12879925248, 131072},
	{"openai-community/gpt2", 124439808, 124439808, 36864},
	{"google-t5/t5-small", 60506624, 60506624, 12288},
	{"google-bert/bert-base-uncased", 109482240, 109482240, 0},
};

START_TEST(published_models_come_out_exactly)
{
	for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
		const struct architecture *architecture = known(references[i].id);
		struct parameter_count count;

		architecture_count(architecture, &count);
		ck_assert_msg(count.total == references[i].total, "%s: %lu", references[i].id,
			      (unsigned long)count.total);
		ck_assert_msg(count.active == references[i].active, "%s: %lu", references[i].id,
			      (unsigned long)count.active);
		ASSERT_WHOLE(2 * architecture_kv_elements_per_token(architecture),
			     references[i].kv_bytes);
	}
}
END_TEST

/* Llama-3.1-70B by hand: 80 layers of 8192, 64 heads of 128, 8 KV heads, gated MLP of 28672. */
START_TEST(components_are_those_of_the_layers)
{
	struct parameter_count count;

	architecture_count(known("meta-llama/Llama-3.1-70B"), &count);
	ck_assert_uint_eq(count.embedding, 128256ull * 8192);
	ck_assert_uint_eq(count.head, 128256ull * 8192);
	ck_assert_uint_eq(count.attention, 80ull * 8192 * (64 * 128 + 2 * 8 * 128 + 64 * 128));
	ck_assert_uint_eq(count.mlp, 80ull * 3 * 8192 * 28672);
	ck_assert_uint_eq(count.norms_and_other, 161ull * 8192);
	ck_assert_uint_eq(count.experts + count.router + count.mixer + count.tower, 0);
	ck_assert_uint_eq(count.linear, count.attention + count.mlp);
	ck_assert_uint_eq(count.total, count.embedding + count.head + count.attention + count.mlp +
					       count.norms_and_other);
}
END_TEST

START_TEST(a_tied_table_counts_once)
{
	struct architecture tied = *known("meta-llama/Llama-3.1-8B");
	struct parameter_count before, after;

	architecture_count(&tied, &before);
	tied.tied_embeddings = true;
	architecture_count(&tied, &after);
	ck_assert_uint_eq(after.head, 0);
	ck_assert_uint_eq(before.total - after.total, 128256ull * 4096);
}
END_TEST

START_TEST(windows_and_states_bound_the_cache)
{
	const struct architecture *gpt = known("openai/gpt-oss-120b");
	const struct architecture *mamba = known("state-spaces/mamba-2.8b-hf");
	const struct architecture *v4 = known("deepseek-ai/DeepSeek-V4-Pro");
	/* 18 full layers and 18 of 128 tokens, each 8 heads of 64 for K and V. */
	double full = 18.0 * 2 * 8 * 64;

	ASSERT_WHOLE(architecture_kv_elements(gpt, 100), 2 * full * 100);
	ASSERT_WHOLE(architecture_kv_elements(gpt, 8192), full * 8192 + full * 128);
	ASSERT_WHOLE(architecture_kv_elements(mamba, 10), architecture_kv_elements(mamba, 1e6));
	/* 64 layers x 5120 channels x (16 states + 3 taps): facts/models.csv, state_elems_per_seq.
	 */
	ASSERT_WHOLE(architecture_kv_elements(mamba, 10), 6225920);
	/* 30 layers keep a latent of 512 for every 4 tokens, 31 for every 128, all the last 128
	 * tokens. */
	ASSERT_WHOLE(architecture_kv_elements(v4, 65536),
		     512.0 * (61 * 128 + 30 * 16384 + 31 * 512));
}
END_TEST

START_TEST(cross_attention_keeps_what_the_encoder_gave)
{
	const struct architecture *t5 = known("google-t5/t5-small");

	/* Six decoder layers, 8 heads of 64, K and V. */
	ASSERT_WHOLE(architecture_cross_elements_per_source_token(t5), 6 * 2 * 8 * 64);
	ASSERT_WHOLE(architecture_kv_elements_per_token(t5), 6 * 2 * 8 * 64);
	ck_assert_int_eq(architecture_layers(t5), 12);
}
END_TEST

START_TEST(a_layer_has_a_mixer_an_mlp_or_both)
{
	const struct architecture *nano = known("nvidia/Nemotron-3-Nano-30B-A3B");

	ck_assert_int_eq(architecture_layers(nano), 52);
	ck_assert_int_eq(architecture_blocks(nano), 52);
	ck_assert_int_eq(architecture_blocks(known("google-t5/t5-small")), 2 * 12);
}
END_TEST

START_TEST(indexer_keys_are_counted_apart)
{
	const struct architecture *deepseek = known("deepseek-ai/DeepSeek-V3.2");

	ASSERT_WHOLE(architecture_index_elements_per_token(deepseek), 61 * 128);
	ASSERT_WHOLE(architecture_kv_elements_per_token(deepseek), 61 * 576);
}
END_TEST

/* Megatron-LM (arXiv 2104.04473, appendix): a forward pass of a GPT takes 24*l*h^2 + 4*l*h*s for
 * each token, and 2*h*V for the logits. */
START_TEST(forward_flops_follow_the_published_formula)
{
	struct architecture gpt;
	double hidden = 12288, layers = 96, vocab = 51200, context = 2048;
	double expected =
		24 * layers * hidden * hidden + 4 * layers * hidden * context + 2 * hidden * vocab;

	memset(&gpt, 0, sizeof(gpt));
	gpt.hidden = 12288;
	gpt.vocab = 51200;
	gpt.kinds_count = 1;
	gpt.kinds[0].count = 96;
	gpt.kinds[0].attention = ATTENTION_GROUPED;
	gpt.kinds[0].heads = gpt.kinds[0].kv_heads = 96;
	gpt.kinds[0].head_dim = 128;
	gpt.kinds[0].ffn = 4 * 12288;
	ck_assert_double_eq_tol(architecture_forward_flops(&gpt, context), expected,
				expected * 1e-12);
	gpt.kinds[0].window = 1024;
	ck_assert_double_eq_tol(architecture_forward_flops(&gpt, context),
				expected - 4 * layers * hidden * 1024, expected * 1e-12);
}
END_TEST

START_TEST(experts_that_rest_cost_no_flops)
{
	const struct architecture *moe = known("Qwen/Qwen3-30B-A3B");
	struct parameter_count count;
	double weights;

	architecture_count(moe, &count);
	/* Every active weight but the input table and the norms is multiplied once. */
	weights = (double)(count.active - count.embedding - count.norms_and_other) - 48 * 2 * 128;
	ck_assert_double_eq_tol(architecture_forward_flops(moe, 0), 2 * weights,
				2 * weights * 1e-12);
	ck_assert_int_eq(architecture_experts(moe), 128);
	ck_assert_int_eq(architecture_experts(known("Qwen/Qwen3-8B")), 0);
}
END_TEST

START_TEST(divisors_are_common_to_all_layers)
{
	const struct architecture *gemma = known("google/gemma-4-26B-A4B");
	const struct architecture *deepseek = known("deepseek-ai/DeepSeek-V3");
	const struct architecture *mamba = known("state-spaces/mamba-2.8b-hf");

	ck_assert_int_eq(architecture_heads_divisor(gemma), 16);
	ck_assert_int_eq(architecture_kv_heads_divisor(gemma), 2); /* 8 sliding, 2 global */
	ck_assert_int_eq(architecture_heads_divisor(deepseek), 128);
	ck_assert_int_eq(architecture_kv_heads_divisor(deepseek), 0);
	ck_assert_int_eq(architecture_heads_divisor(mamba), 0);
}
END_TEST

START_TEST(the_check_names_what_is_wrong)
{
	struct architecture broken = *known("meta-llama/Llama-3.1-8B");
	const char *reason;

	ck_assert(architecture_check(&broken, &reason));
	ck_assert_ptr_null(reason);
	broken.kinds[0].kv_heads = 64;
	ck_assert(!architecture_check(&broken, &reason));
	ck_assert_ptr_nonnull(strstr(reason, "KV heads"));
	broken = *known("meta-llama/Llama-3.1-8B");
	broken.kinds[0].experts = 4;
	broken.kinds[0].experts_active = 5;
	ck_assert(!architecture_check(&broken, &reason));
	ck_assert_ptr_nonnull(strstr(reason, "experts"));
	broken = *known("meta-llama/Llama-3.1-8B");
	broken.hidden = 1000000;
	broken.kinds[0].ffn = 100000000;
	broken.kinds[0].count = 1000;
	ck_assert(!architecture_check(&broken, &reason));
	ck_assert_ptr_nonnull(strstr(reason, "1e15"));
}
END_TEST

/* An encoder sees the whole sequence where a decoder sees half of it on average; the two sides of
 * an encoder-decoder take their own tokens, and its cross-attention the source's keys. */
START_TEST(a_sequence_costs_what_each_side_sees)
{
	const struct architecture *bert = known("google-bert/bert-large-uncased");
	const struct architecture *llama = known("meta-llama/Llama-3.1-8B");
	const struct architecture *t5 = known("google-t5/t5-small");
	struct sequence_flops flops = architecture_sequence_flops(bert, 512, 0);
	double layer = 12.0 * 1024 * 1024, one = 512 * 512 + 2 * 512 * 2048;

	ASSERT_WHOLE(flops.matrices, 512 * 2 * 24 * layer);
	ASSERT_WHOLE(flops.attention, 24 * 4.0 * 1024 * 512 * 512);
	flops = architecture_sequence_flops(llama, 1000, 0);
	ASSERT_WHOLE(flops.attention, 32 * 4.0 * 4096 * 1000 * 500);
	ASSERT_WHOLE(flops.matrices + 1000 * architecture_head_flops(llama),
		     1000 * architecture_forward_flops(llama, 0));
	/* T5-small: 6 + 6 layers, attention of 4 x 512^2, an MLP of 2 x 512 x 2048. */
	flops = architecture_sequence_flops(t5, 100, 10);
	ASSERT_WHOLE(flops.matrices, 2 * 6 *
					     (100 * (one + 3 * 512 * 512) +
					      10 * (one + 5 * 512 * 512) + 100 * 2 * 512 * 512));
	ASSERT_WHOLE(flops.attention, 6 * 4.0 * 512 * (100 * 100 + 10 * 5 + 10 * 100));
	/* One token of the decoder: none of the encoder's work, no keys of the source. */
	ASSERT_WHOLE(architecture_forward_flops(t5, 0) - architecture_head_flops(t5),
		     2 * 6 * (one + 5 * 512 * 512));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("architecture");
	TCase *tests = tcase_create("architecture");

	tcase_add_test(tests, published_models_come_out_exactly);
	tcase_add_test(tests, components_are_those_of_the_layers);
	tcase_add_test(tests, a_tied_table_counts_once);
	tcase_add_test(tests, windows_and_states_bound_the_cache);
	tcase_add_test(tests, cross_attention_keeps_what_the_encoder_gave);
	tcase_add_test(tests, a_layer_has_a_mixer_an_mlp_or_both);
	tcase_add_test(tests, indexer_keys_are_counted_apart);
	tcase_add_test(tests, forward_flops_follow_the_published_formula);
	tcase_add_test(tests, experts_that_rest_cost_no_flops);
	tcase_add_test(tests, divisors_are_common_to_all_layers);
	tcase_add_test(tests, the_check_names_what_is_wrong);
	tcase_add_test(tests, a_sequence_costs_what_each_side_sees);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
