/* Memory of serving: weights by format, and the cache by architecture, layout and budget. */
#include "tests/core/memory_request.h"

#include "core/units.h"
#include "tests/suite.h"

/* KV bytes a token: 32 layers x 8 heads x 128 x 2 x 2 B = 131,072 (facts/memory-notes.md 6.2). */
START_TEST(eight_billion_at_32_sequences_of_8k_hold_32_gib_of_cache)
{
	struct request request = serving("meta-llama/Llama-3.1-8B", 32, 7168, 1024);

	estimate(&request);
	ck_same(request.memory.kv_cache_bytes, 32 * GIB);
	ck_same(request.memory.kv_bytes_per_token, 131072);
	/* 8.03e9 x 2 B */
	ck_assert_double_eq_tol(request.memory.weights_bytes / GIB, 14.96, 0.02);
	request.layout.kv_format = FORMAT_FP8;
	estimate(&request);
	ck_same(request.memory.kv_cache_bytes, 16 * GIB);
}
END_TEST

/* 2 B x 80 layers x 8 heads over 4 GPUs x 128 x 2 = 81,920; measured 81,924 (notes 6.2). */
START_TEST(tensor_parallel_divides_the_cache_down_to_one_head)
{
	struct request request = serving("meta-llama/Llama-3.1-70B", 1, 4096, 1);

	request.layout.tensor_parallel = request.layout.gpus_per_node = 4;
	estimate(&request);
	ck_same(request.memory.kv_bytes_per_token, 81920);
	request.layout.tensor_parallel = request.layout.gpus_per_node = 16;
	estimate(&request);
	ck_same(request.memory.kv_bytes_per_token, 81920.0 / 2);
}
END_TEST

/* 61 layers x (512 + 64) x 2 B = 70,272, not divided by tensor parallelism (notes 6.2, Kimi-K2). */
START_TEST(a_latent_cache_is_whole_on_every_rank)
{
	struct request request = serving("moonshotai/Kimi-K2-Instruct", 1, 4096, 1);

	request.layout.tensor_parallel = request.layout.gpus_per_node = 8;
	estimate(&request);
	ck_same(request.memory.kv_bytes_per_token, 70272);
}
END_TEST

/* 61 layers x (576 x 2 B + 128 + 4 of the indexer's key and its scale). */
START_TEST(keys_of_an_indexer_lie_beside_the_cache)
{
	struct request request = serving("deepseek-ai/DeepSeek-V3.2", 1, 4096, 1024);

	estimate(&request);
	ck_same(request.memory.kv_bytes_per_token, 61 * (576 * 2 + 132));
	ck_same(request.memory.kv_cache_bytes, 5120.0 * 61 * (576 * 2 + 132));
}
END_TEST

/* llama.cpp's published file: 4.58 GiB (tools/quantize/README.md). */
START_TEST(gguf_weights_match_the_published_file)
{
	struct request request = serving("meta-llama/Llama-3.1-8B", 1, 128, 128);

	request.layout.weight_format = FORMAT_Q4_K_M;
	estimate(&request);
	ck_assert_double_eq_tol(request.memory.weights_bytes / GIB, 4.58, 0.05);
}
END_TEST

/* 2,049 tokens are 129 blocks of 16, and 2,064 are as well. */
START_TEST(cache_blocks_round_up)
{
	struct request even = serving("meta-llama/Llama-3.1-8B", 1, 1024, 1024);
	struct request odd = serving("meta-llama/Llama-3.1-8B", 1, 1024, 1025);
	struct request full = serving("meta-llama/Llama-3.1-8B", 1, 1024, 1040);

	estimate(&even);
	estimate(&odd);
	estimate(&full);
	ck_same(odd.memory.kv_cache_bytes - even.memory.kv_cache_bytes, 16 * 131072);
	ck_same(odd.memory.kv_cache_bytes, full.memory.kv_cache_bytes);
}
END_TEST

/* 61 layers over 4 stages: the fullest has 16. */
START_TEST(the_fullest_stage_holds_most_of_the_cache)
{
	struct request request = serving("moonshotai/Kimi-K2-Instruct", 1, 4096, 1024);

	request.layout.pipeline_parallel = 4;
	request.layout.gpus_per_node = 4;
	estimate(&request);
	ck_same(request.memory.kv_bytes_per_token, 16 * 576 * 2);
	ck_same(request.memory.kv_cache_bytes, 5120.0 * 16 * 576 * 2);
}
END_TEST

/* vLLM's budget: 0.9 of what the driver shows, less everything but the cache (notes 6.1). */
START_TEST(the_budget_leaves_the_rest_to_the_cache)
{
	const struct accelerator *card = accelerator_find("H100 SXM5 80GB");
	struct request request = serving("meta-llama/Llama-3.1-8B", 1, 1024, 1024);
	double capacity;

	ck_assert_ptr_nonnull(card);
	estimate(&request);
	capacity = memory_kv_capacity(&request.basis, &request.layout, card);
	ck_assert_double_gt(capacity, 45 * GIB);
	ck_assert_double_lt(capacity, 0.9 * 79.65 * GIB - 14.96 * GIB);
	request.workload.gpu_memory_utilization = 0.5;
	ck_assert_double_eq_tol(capacity -
					memory_kv_capacity(&request.basis, &request.layout, card),
				0.4 * accelerator_memory_bytes(card), 1);
}
END_TEST

/* BERT keeps nothing between requests, whatever its length; an embedder made of a decoder neither.
 */
START_TEST(what_only_reads_has_no_cache)
{
	static const char *const ids[] = {"BAAI/bge-m3", "intfloat/e5-mistral-7b-instruct"};

	for (size_t i = 0; i < 2; i++) {
		struct request request = serving(ids[i], 64, 512, 0);

		estimate(&request);
		ck_same(request.memory.kv_cache_bytes, 0);
		ck_same(request.memory.kv_bytes_per_token, 0);
		ck_same(request.memory.weights_bytes, 2.0 * (double)request.basis.parameters.total);
	}
}
END_TEST

/* T5-11B: 24 decoder layers of 128 heads of 128 keep their own tokens and once those of the source.
 */
START_TEST(a_decoder_keeps_the_keys_of_its_source_once)
{
	struct request request = serving("google-t5/t5-11b", 4, 500, 100);
	double element = 24.0 * 128 * 2 * 128 * 2;

	estimate(&request);
	ck_same(request.memory.kv_cache_bytes, 4 * (500 + 100) * element);
	ck_same(request.memory.kv_bytes_per_token, element);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_serve");
	TCase *tests = tcase_create("memory_serve");

	tcase_add_test(tests, eight_billion_at_32_sequences_of_8k_hold_32_gib_of_cache);
	tcase_add_test(tests, tensor_parallel_divides_the_cache_down_to_one_head);
	tcase_add_test(tests, a_latent_cache_is_whole_on_every_rank);
	tcase_add_test(tests, keys_of_an_indexer_lie_beside_the_cache);
	tcase_add_test(tests, gguf_weights_match_the_published_file);
	tcase_add_test(tests, cache_blocks_round_up);
	tcase_add_test(tests, the_fullest_stage_holds_most_of_the_cache);
	tcase_add_test(tests, the_budget_leaves_the_rest_to_the_cache);
	tcase_add_test(tests, what_only_reads_has_no_cache);
	tcase_add_test(tests, a_decoder_keeps_the_keys_of_its_source_once);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
