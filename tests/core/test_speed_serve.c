/* Speed of serving: published figures within the band that they support, and what must hold. */
#include "tests/core/speed_request.h"
#include "tests/suite.h"

/* gpt-fast: Llama-2-7B in bf16 on one A100, 104.9 tokens/s; int4 196.8 (README; notes 4). */
START_TEST(single_stream_decode_follows_bandwidth)
{
	struct request request =
		request_of("meta-llama/Llama-2-7b-hf", TASK_INFERENCE, "A100 SXM4 80GB", 1);

	request.workload.engine = ENGINE_TENSORRT_LLM;
	request.workload.prompt_tokens = 5;
	request.workload.output_tokens = 200;
	request.workload.given |= SAID(engine) | SAID(prompt_tokens) | SAID(output_tokens);
	estimate(&request);
	ck_within(1 / request.speed.decode.seconds, 104.9, 0.2);
	ck_assert_int_eq(request.speed.decode.bottleneck, BOTTLENECK_MEMORY_BANDWIDTH);
	request.layout.weight_format = FORMAT_INT4;
	estimate(&request);
	ck_within(1 / request.speed.decode.seconds, 196.8, 0.25);
}
END_TEST

/* TensorRT-LLM 0.5: GPT-J-6B prefills 2,048 tokens on an A100 in 129 ms (performance.md). */
START_TEST(prefill_is_compute)
{
	struct request request =
		request_of("EleutherAI/gpt-j-6b", TASK_INFERENCE, "A100 SXM4 80GB", 1);

	request.workload.engine = ENGINE_TENSORRT_LLM;
	request.workload.prompt_tokens = 2048;
	request.workload.output_tokens = 1;
	request.workload.given |= SAID(engine) | SAID(prompt_tokens) | SAID(output_tokens);
	estimate(&request);
	ck_within(request.speed.ttft_seconds, 0.129, 0.2);
	ck_assert_int_eq(request.speed.prefill.bottleneck, BOTTLENECK_COMPUTE);
}
END_TEST

/* AccelMark: 28,650 tokens of Llama-3.1-8B alone in vLLM. */
START_TEST(a_prompt_alone_reaches_the_ceiling)
{
	static const struct {
		const char *card;
		double seconds;
	} rows[] = {{"A100 SXM4 80GB", 1 / 0.3523}, {"H100 SXM5 80GB", 1 / 0.9287}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct request request =
			request_of("meta-llama/Llama-3.1-8B", TASK_INFERENCE, rows[i].card, 1);
		double alone;

		request.workload.engine = ENGINE_VLLM;
		request.workload.prompt_tokens = 28650;
		request.workload.output_tokens = 16;
		request.workload.given |= SAID(engine) | SAID(prompt_tokens) | SAID(output_tokens);
		estimate(&request);
		alone = request.speed.prefill.seconds;
		ck_within(alone, rows[i].seconds, 0.15);
		/* With others a prompt takes longer. */
		request.layout.sequences = 2;
		estimate(&request);
		ck_assert_double_gt(request.speed.prefill.seconds, alone);
	}
}
END_TEST

/* transformers' eager loop: 607 us a layer, so 0.6B decodes hardly faster than 4B (notes 4). */
START_TEST(eager_engines_are_bound_by_overhead)
{
	struct request small = request_of("Qwen/Qwen3-0.6B", TASK_INFERENCE, "H20 96GB", 1);

	small.workload.engine = ENGINE_TRANSFORMERS;
	small.workload.prompt_tokens = 1;
	small.workload.output_tokens = 2048;
	small.workload.given |= SAID(engine) | SAID(prompt_tokens) | SAID(output_tokens);
	estimate(&small);
	ck_within(1 / small.speed.decode.seconds, 58.57, 0.2);
	ck_assert_int_eq(small.speed.bottleneck, BOTTLENECK_OVERHEAD);
}
END_TEST

/* An embedder answers with its prefill: no output, and inputs a second instead. */
START_TEST(what_only_reads_answers_with_its_prefill)
{
	struct request bert = request_of("BAAI/bge-m3", TASK_INFERENCE, "L4 24GB", 1);
	struct request more;

	bert.workload.prompt_tokens = 512;
	bert.workload.given |= SAID(prompt_tokens);
	more = bert;
	more.layout.sequences = 64;
	estimate(&bert);
	estimate(&more);
	ck_assert_double_eq_tol(bert.speed.tpot_seconds, 0, 1e-12);
	ck_assert_double_eq_tol(bert.speed.decode.seconds, 0, 1e-12);
	ck_within(bert.speed.tokens_per_second, 512 * bert.speed.requests_per_second, 1e-9);
	ck_within(bert.speed.requests_per_second, 1 / bert.speed.prefill.seconds, 1e-9);
	ck_assert_double_gt(more.speed.requests_per_second, bert.speed.requests_per_second);
	/* 303 M weights of the layers at 2 FLOPs: 121 TFLOP/s are 390 inputs a second at most. */
	ck_assert_double_lt(more.speed.requests_per_second, 121e12 / (2 * 303e6 * 512));
}
END_TEST

/* The encoder runs once for a prompt: a longer source costs the first token, not the next ones. */
START_TEST(an_encoder_is_paid_for_once)
{
	struct request brief = request_of("google/flan-t5-xl", TASK_INFERENCE, "A100 SXM4 80GB", 1);
	struct request lengthy;

	brief.workload.output_tokens = 100;
	brief.workload.prompt_tokens = 64;
	brief.workload.given |= SAID(output_tokens) | SAID(prompt_tokens);
	lengthy = brief;
	lengthy.workload.prompt_tokens = 4096;
	estimate(&brief);
	estimate(&lengthy);
	ck_assert_double_gt(lengthy.speed.prefill.seconds, 2 * brief.speed.prefill.seconds);
	ck_within(lengthy.speed.decode.seconds, brief.speed.decode.seconds, 0.05);
}
END_TEST

/* One stream of a published run: engine, lengths and format, and the tokens a second it reached. */
static double one_stream(const char *model, const char *card, enum engine engine,
			 enum format format, int tensor, bool is_eager)
{
	struct request request = request_of(model, TASK_INFERENCE, card, tensor);

	request.workload.engine = (int)engine;
	request.workload.prompt_tokens = 8;
	request.workload.output_tokens = 256;
	request.workload.cuda_graphs = !is_eager;
	request.workload.given |=
		SAID(engine) | SAID(prompt_tokens) | SAID(output_tokens) | SAID(cuda_graphs);
	request.layout.weight_format = format;
	request.layout.tensor_parallel = tensor;
	estimate(&request);
	return 1 / request.speed.decode.seconds;
}

/* Card and engine decide one stream, each by a term of its own. */
START_TEST(single_streams_are_as_published)
{
	static const struct {
		const char *model, *card;
		enum engine engine;
		enum format format;
		int tensor;
		bool is_eager;
		double measured;
	} rows[] = {
		/* Qwen3 speed benchmark, H20: 148 TFLOP/s, so 64 rows of a matrix kernel take
		 * longer than reading the weights at 4 TB/s, and half of that in fp8. */
		{"Qwen/Qwen3-8B", "H20 96GB", ENGINE_SGLANG, FORMAT_BF16, 1, false, 81.7},
		{"Qwen/Qwen3-8B", "H20 96GB", ENGINE_SGLANG, FORMAT_FP8, 1, false, 150.2},
		/* mlc-ai/llm-perf-bench, vLLM of 2023: more cards did not help what the host
		   launches. */
		{"meta-llama/Llama-2-70b-hf", "A100 PCIe 80GB", ENGINE_VLLM, FORMAT_INT4, 8, true,
		 17.6},
		{"meta-llama/Llama-2-70b-hf", "A100 PCIe 80GB", ENGINE_VLLM, FORMAT_INT4, 2, true,
		 21.4},
		/* sgl-cookbook: latents and experts cost kernels, though bandwidth would allow 5
		 * times as much. */
		{"deepseek-ai/DeepSeek-R1", "B200 SXM 180GB", ENGINE_SGLANG, FORMAT_FP8, 8, false,
		 108},
		/* Vultr's inference cookbook, vLLM 0.16: 52 layers of mixer or MLP, not both. */
		{"nvidia/Nemotron-3-Nano-30B-A3B", "B200 SXM 180GB", ENGINE_VLLM, FORMAT_FP8, 2,
		 false, 343.6},
		/* AccelMark, vLLM: 16 kB over PCIe 160 times a token. */
		{"meta-llama/Meta-Llama-3-70B", "RTX 4090 24GB", ENGINE_VLLM, FORMAT_BF16, 8, false,
		 33.6},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_within(one_stream(rows[i].model, rows[i].card, rows[i].engine, rows[i].format,
				     rows[i].tensor, rows[i].is_eager),
			  rows[i].measured, 0.3);
}
END_TEST

/* GPU-Benchmarks-on-LLM-Inference, Llama-3-70B in fp16 over four cards of one chip: the A40 decodes
 * 3.98 tokens/s to the A6000's 4.74, a sixteenth less than its bandwidth of 696 to 768 GB/s says:
 * its correction bits travel with the data. */
START_TEST(correction_bits_take_bandwidth)
{
	double plain = one_stream("meta-llama/Meta-Llama-3-70B", "RTX A6000 48GB", ENGINE_LLAMA_CPP,
				  FORMAT_FP16, 1, false);
	double corrected = one_stream("meta-llama/Meta-Llama-3-70B", "A40 48GB", ENGINE_LLAMA_CPP,
				      FORMAT_FP16, 1, false);

	ck_within(corrected / plain, 3.98 / 4.74, 0.03);
}
END_TEST

static struct request server(enum engine engine, double sequences)
{
	struct request request =
		request_of("meta-llama/Llama-3.1-8B", TASK_INFERENCE, "H100 SXM5 80GB", 1);

	request.workload.engine = (int)engine;
	request.workload.prompt_tokens = 1000;
	request.workload.output_tokens = 100;
	request.workload.given |= SAID(engine) | SAID(prompt_tokens) | SAID(output_tokens);
	request.layout.sequences = sequences;
	return request;
}

/* Little's law, whichever way prompts and answers share the card; more sequences: more tokens a
 * second, and each one slower; and the parts of a phase are no less than the whole. */
START_TEST(a_server_keeps_its_sequences)
{
	for (int engine = 0; engine < ENGINES; engine++) {
		double tokens = 0, tpot = 0;

		for (double sequences = 2; sequences <= 256; sequences *= 2) {
			struct request request = server((enum engine)engine, sequences);
			const struct speed_phase *decode = &request.speed.decode;

			estimate(&request);
			ck_within(request.speed.requests_per_second * 100 *
					  request.speed.tpot_seconds,
				  sequences, 1e-9);
			ck_assert_double_gt(request.speed.tokens_per_second, tokens);
			ck_assert_double_gt(request.speed.tpot_seconds, tpot);
			ck_assert_double_ge(request.speed.ttft_seconds,
					    request.speed.prefill.seconds);
			ck_assert_double_le(decode->seconds,
					    decode->compute_seconds + decode->memory_seconds +
						    decode->communication_seconds +
						    decode->overhead_seconds + 1e-12);
			tokens = request.speed.tokens_per_second;
			tpot = request.speed.tpot_seconds;
		}
	}
}
END_TEST

/* Matrices and attention are kernels of their own: a full card takes the time of both. */
START_TEST(attention_adds_to_the_matrices)
{
	struct request request = server(ENGINE_TENSORRT_LLM, 512);
	struct request brief = request;
	const struct speed_phase *decode = &request.speed.decode;

	brief.workload.prompt_tokens = 1;
	estimate(&request);
	estimate(&brief);
	/* Between them 999 tokens of 8 heads x 2 x 128 elements, 2 bytes and 32 layers, read at no
	 * more than 3.35 TB/s. */
	ck_assert_double_gt(decode->seconds - brief.speed.decode.seconds,
			    512 * 999.0 * 8 * 2 * 128 * 2 * 32 / 3.35e12);
	ck_assert_double_gt(decode->seconds, decode->compute_seconds);
}
END_TEST

/* A step reads the experts that its tokens touch: eight of 128 for one, 3.3 of 30.5 B weights, and
 * nearly all of them for a hundred. */
START_TEST(more_tokens_touch_more_experts)
{
	struct request request =
		request_of("Qwen/Qwen3-30B-A3B", TASK_INFERENCE, "H200 SXM 141GB", 1);
	double one, many;

	request.workload.prompt_tokens = 1;
	request.workload.output_tokens = 1;
	request.workload.given |= SAID(prompt_tokens) | SAID(output_tokens);
	estimate(&request);
	one = request.speed.decode.memory_seconds;
	request.layout.sequences = 100;
	estimate(&request);
	many = request.speed.decode.memory_seconds;
	/* 1 - (1 - 8/128)^100 = 0.998. */
	ck_within(many / one, 30.5 / 3.3, 0.15);
}
END_TEST

/* Latents have no heads to share out: every one of eight cards reads all of the cache, while KV
 * heads are read by one card each. */
START_TEST(latents_are_read_by_every_card)
{
	static const struct {
		const char *model;
		double elements, cards; /* of a token's cache; that share it out */
	} rows[] = {{"deepseek-ai/DeepSeek-R1", 61 * 576, 1},
		    {"meta-llama/Llama-3.1-70B", 80 * 8 * 256, 8}};

	for (size_t i = 0; i < 2; i++) {
		struct request brief =
			request_of(rows[i].model, TASK_INFERENCE, "H200 SXM 141GB", 8);
		struct request lengthy;
		double read = 64 * 32000 * rows[i].elements * 2 / 4.8e12 / rows[i].cards, more;

		brief.workload.prompt_tokens = 1;
		brief.workload.output_tokens = 2;
		brief.workload.given |= SAID(prompt_tokens) | SAID(output_tokens);
		brief.layout.weight_format = FORMAT_FP8;
		brief.layout.tensor_parallel = 8;
		brief.layout.sequences = 64;
		lengthy = brief;
		lengthy.workload.prompt_tokens = 32001;
		estimate(&brief);
		estimate(&lengthy);
		more = lengthy.speed.decode.memory_seconds - brief.speed.decode.memory_seconds;
		ck_assert_double_gt(more, read);
		ck_assert_double_lt(more, 1.5 * read);
	}
}
END_TEST

/* Mean wait in M/M/c, exactly (Erlang C), over the time of one service. */
static double erlang_wait(int servers, double load)
{
	double offered = servers * load, blocked = 1;

	for (int i = 1; i <= servers; i++)
		blocked = offered * blocked / (i + offered * blocked);
	return blocked / (1 - load * (1 - blocked)) / (servers * (1 - load));
}

/* Sakasegawa's form against it: within an eighth, and where waits are short within a hundredth or
 * so of a service of two seconds. */
START_TEST(queues_grow_as_theory_has_it)
{
	static const int servers[] = {1, 2, 8, 32};
	static const double loads[] = {0.5, 0.8, 0.95};

	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
		for (size_t j = 0; j < sizeof(loads) / sizeof(loads[0]); j++) {
			struct layout layout = {.replicas = 3, .sequences = servers[i]};
			/* Three copies, whose requests last two seconds each. */
			struct speed_estimate speed = {.requests_per_second = 3 * servers[i] / 2.0};

			double exact = 2 * erlang_wait(servers[i], loads[j]);

			ck_assert_double_eq_tol(speed_wait_seconds(&speed, &layout, loads[j]),
						exact, 0.12 * exact + 0.025);
		}
}
END_TEST

/* TensorRT-LLM 0.14 behind Triton, Llama-3.1-70B on four H100, 467 tokens in and 256 out
 * (perf-overview): 16 requests a second at most; first token after 62 ms at 2 requests a second, 68
 * at 4, 92 at 8. */
START_TEST(first_tokens_wait_as_published)
{
	static const struct {
		double rate, measured;
	} rows[] = {{2, 0.062}, {4, 0.068}, {8, 0.092}};
	struct request request =
		request_of("meta-llama/Llama-3.1-70B", TASK_INFERENCE, "H100 SXM5 80GB", 4);
	const struct speed_estimate *speed = &request.speed;
	double most, last = 0;

	request.workload.engine = ENGINE_TENSORRT_LLM;
	request.workload.prompt_tokens = 467;
	request.workload.output_tokens = 256;
	request.workload.given |= SAID(engine) | SAID(prompt_tokens) | SAID(output_tokens);
	request.layout.tensor_parallel = 4;
	request.layout.sequences = 256;
	estimate(&request);
	most = speed->requests_per_second;
	ck_within(most, 16, 0.2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double wait = speed_wait_seconds(speed, &request.layout, rows[i].rate / most);

		ck_within(speed->ttft_seconds + wait, rows[i].measured, 0.4);
		ck_assert_double_gt(wait, last);
		last = wait;
	}
	ck_assert(isinf(speed_wait_seconds(speed, &request.layout, 1)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("speed_serve");
	TCase *tcase = tcase_create("speed_serve");

	tcase_add_test(tcase, single_stream_decode_follows_bandwidth);
	tcase_add_test(tcase, prefill_is_compute);
	tcase_add_test(tcase, a_prompt_alone_reaches_the_ceiling);
	tcase_add_test(tcase, eager_engines_are_bound_by_overhead);
	tcase_add_test(tcase, what_only_reads_answers_with_its_prefill);
	tcase_add_test(tcase, an_encoder_is_paid_for_once);
	tcase_add_test(tcase, single_streams_are_as_published);
	tcase_add_test(tcase, correction_bits_take_bandwidth);
	tcase_add_test(tcase, a_server_keeps_its_sequences);
	tcase_add_test(tcase, attention_adds_to_the_matrices);
	tcase_add_test(tcase, more_tokens_touch_more_experts);
	tcase_add_test(tcase, latents_are_read_by_every_card);
	tcase_add_test(tcase, queues_grow_as_theory_has_it);
	tcase_add_test(tcase, first_tokens_wait_as_published);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
