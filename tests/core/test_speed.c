/* Speed: published figures within the band that they support, and what must hold for any workload.
 */
#include "core/speed.h"

#include "core/model.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

#define SAID(field) (1ull << WORKLOAD_##field)

struct request {
	struct workload workload;
	struct layout layout;
	struct fabric fabric;
	const struct accelerator *card;
	struct speed_estimate speed;
};

static struct request request_of(const char *model, enum task task, const char *card, int gpus)
{
	const struct model *found = model_find(model);
	struct request request = {.layout = {.gpus_per_node = gpus,
					     .nodes = 1,
					     .tensor_parallel = 1,
					     .pipeline_parallel = 1,
					     .data_parallel = gpus,
					     .context_parallel = 1,
					     .expert_parallel = 1,
					     .sharding = SHARDING_ZERO3,
					     .recompute = RECOMPUTE_FULL,
					     .offload = OFFLOAD_NONE,
					     .micro_batch = 1,
					     .accumulation = 1,
					     .weight_format = FORMAT_BF16,
					     .kv_format = FORMAT_BF16,
					     .replicas = 1,
					     .sequences = 1}};

	request.card = accelerator_find(card);
	ck_assert_ptr_nonnull(found);
	ck_assert_ptr_nonnull(request.card);
	request.workload.architecture = &found->architecture;
	request.workload.task = (int)task;
	request.workload.given = SAID(task);
	return request;
}

static void estimate(struct request *request)
{
	struct speed_basis basis;
	struct error error = {0};

	ck_assert_msg(workload_complete(&request->workload, "", &error), "%s", error.detail);
	request->fabric = fabric_of_accelerator(request->card, request->layout.gpus_per_node);
	ck_assert(speed_prepare(&request->workload, request->card, request->layout.weight_format,
				&basis));
	speed_estimate(&basis, &request->layout, &request->fabric, &request->speed);
}

static void ck_within(double value, double expected, double share)
{
	ck_assert_msg(fabs(value / expected - 1) <= share, "%g is not within %g of %g", value,
		      share, expected);
}

/* llm-foundry, MPT-7b-like: A100 SXM 80GB reaches an MFU of 0.39-0.61 over dense models of 5B and
 * more (facts/throughput-notes.md 2). */
START_TEST(training_on_a100_reaches_the_published_mfu)
{
	struct request request =
		request_of("meta-llama/Llama-2-7b-hf", TASK_PRETRAIN, "A100 SXM4 80GB", 8);

	request.workload.sequence_length = 2048;
	request.workload.given |= SAID(sequence_length);
	request.layout.micro_batch = 8;
	request.layout.recompute = RECOMPUTE_NONE;
	estimate(&request);
	ck_assert_double_ge(request.speed.mfu, 0.39);
	ck_assert_double_le(request.speed.mfu, 0.66);
	ck_assert_int_eq(request.speed.bottleneck, BOTTLENECK_COMPUTE);
}
END_TEST

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

/* Megatron-Bridge 26.06: LoRA over full fine-tuning of 70B, 1.61x (notes 1); theory 1.5. */
START_TEST(a_frozen_base_saves_its_weight_gradients)
{
	struct request full = request_of("meta-llama/Meta-Llama-3-70B", TASK_FINETUNE,
					 "H100 SXM5 80GB", 8),
		       lora;

	full.workload.stack = STACK_MEGATRON;
	full.workload.sequence_length = 4096;
	full.workload.given |= SAID(stack) | SAID(sequence_length);
	full.layout.tensor_parallel = 8;
	full.layout.data_parallel = 1;
	full.layout.sharding = SHARDING_ZERO1;
	full.layout.accumulation = 8;
	full.layout.recompute = RECOMPUTE_NONE;
	lora = full;
	lora.workload.method = METHOD_LORA;
	full.workload.method = METHOD_FULL;
	full.workload.given |= SAID(method);
	lora.workload.given |= SAID(method);
	estimate(&full);
	estimate(&lora);
	ck_within(lora.speed.tokens_per_second / full.speed.tokens_per_second, 1.5, 0.12);
}
END_TEST

START_TEST(quantised_bases_train_slower_on_short_passes)
{
	struct request lora = request_of("meta-llama/Llama-2-7b-hf", TASK_FINETUNE,
					 "A100 SXM4 80GB", 1),
		       qlora;

	lora.workload.method = METHOD_LORA;
	lora.workload.sequence_length = 512;
	lora.workload.given |= SAID(method) | SAID(sequence_length);
	qlora = lora;
	qlora.workload.method = METHOD_QLORA;
	qlora.layout.weight_format = FORMAT_NF4;
	estimate(&lora);
	estimate(&qlora);
	ck_assert_double_lt(qlora.speed.tokens_per_second, lora.speed.tokens_per_second);
}
END_TEST

/* Plain Ethernet is a cliff: InfiniBand 26-28x for 7B at 2-8 nodes of H100 (notes 5, corrected
 * page). */
START_TEST(plain_ethernet_is_a_cliff)
{
	struct request request =
		request_of("meta-llama/Llama-2-7b-hf", TASK_FINETUNE, "H100 SXM5 80GB", 8);
	struct speed_basis basis;
	struct speed_estimate fast, slow;

	request.workload.method = METHOD_FULL;
	request.workload.sequence_length = 2048;
	request.workload.given |= SAID(method) | SAID(sequence_length);
	request.layout.nodes = 4;
	request.layout.data_parallel = 32;
	estimate(&request);
	ck_assert(speed_prepare(&request.workload, request.card, FORMAT_BF16, &basis));
	request.fabric.cluster_link = CLUSTER_LINK_INFINIBAND;
	request.fabric.cluster_bytes_per_second = 400e9;
	speed_estimate(&basis, &request.layout, &request.fabric, &fast);
	request.fabric.cluster_link = CLUSTER_LINK_TCP;
	request.fabric.cluster_bytes_per_second = 1.25e9;
	speed_estimate(&basis, &request.layout, &request.fabric, &slow);
	ck_assert_double_gt(fast.tokens_per_second / slow.tokens_per_second, 10);
	ck_assert_int_eq(slow.bottleneck, BOTTLENECK_COMMUNICATION);
}
END_TEST

/* MI300X: two GPUs share one xGMI link, eight share seven: measured 47.7 and 312.9 GB/s. */
START_TEST(xgmi_is_point_to_point)
{
	struct request request =
		request_of("meta-llama/Llama-3.1-70B", TASK_INFERENCE, "MI300X 192GB", 8);
	double two, eight;

	request.workload.prompt_tokens = 8192;
	request.workload.output_tokens = 16;
	request.workload.given |= SAID(prompt_tokens) | SAID(output_tokens);
	request.layout.tensor_parallel = 2;
	estimate(&request);
	two = request.speed.prefill.communication_seconds;
	request.layout.tensor_parallel = 8;
	estimate(&request);
	eight = request.speed.prefill.communication_seconds;
	/* 7/8 of the buffer over seven links against 1/2 over one. */
	ck_assert_double_lt(eight, two / 2);
}
END_TEST

/* Llama-3.1-8B under ALST (ZeRO-3, optimizer in host memory), micro-batches of 8,192 tokens, 8
 * GPUs: 18,470 tokens/s on H200 and only 21,880 on B200, for both wait for the CPU's Adam
 * (stas00/ml-engineering insights/when-to-upgrade-gpus). */
START_TEST(states_in_host_memory_hold_every_card_back)
{
	static const char *const cards[] = {"H200 SXM 141GB", "B200 SXM 180GB"};
	static const double measured[] = {18470, 21880};

	for (int i = 0; i < 2; i++) {
		struct request request =
			request_of("meta-llama/Llama-3.1-8B", TASK_FINETUNE, cards[i], 8);
		double without;

		request.workload.method = METHOD_FULL;
		request.workload.stack = STACK_DEEPSPEED;
		request.workload.sequence_length = 8192;
		request.workload.given |= SAID(method) | SAID(stack) | SAID(sequence_length);
		estimate(&request);
		without = request.speed.tokens_per_second;
		request.layout.offload = OFFLOAD_OPTIMIZER;
		estimate(&request);
		ck_within(request.speed.tokens_per_second, measured[i], 0.15);
		ck_assert_double_gt(without, 2 * request.speed.tokens_per_second);
	}
}
END_TEST

/* Megatron-Bridge, Qwen3-30B-A3B at micro-batch 1 on 8 B200: 4.7 ms a layer in 25.09, whatever the
 * card could compute. */
START_TEST(small_steps_of_experts_are_bound_by_launches)
{
	struct request request =
		request_of("Qwen/Qwen3-30B-A3B", TASK_PRETRAIN, "B200 SXM 180GB", 8);

	request.workload.stack = STACK_MEGATRON;
	request.workload.sequence_length = 1024;
	request.workload.given |= SAID(stack) | SAID(sequence_length);
	request.layout.sharding = SHARDING_ZERO1;
	request.layout.recompute = RECOMPUTE_SELECTIVE;
	request.layout.expert_parallel = 8;
	request.layout.expert_tensor_parallel = 1;
	request.layout.accumulation = 64;
	estimate(&request);
	ck_assert_double_ge(request.speed.step.seconds, 64 * 48 * 4.7e-3);
	ck_assert_double_gt(request.speed.step.overhead_seconds, 0);
}
END_TEST

/* What an adapter moves beside its matrix grows with its targets, not with its rank. */
START_TEST(more_targets_are_slower)
{
	double last = (double)INFINITY;

	for (int targets = LORA_ATTENTION_QV; targets <= LORA_ALL_LINEAR; targets++) {
		struct request request =
			request_of("meta-llama/Llama-3.1-8B", TASK_FINETUNE, "H100 SXM5 80GB", 1);
		double one;

		request.workload.method = METHOD_LORA;
		request.workload.stack = STACK_HUGGINGFACE;
		request.workload.lora_targets = targets;
		request.workload.lora_rank = 8;
		request.workload.sequence_length = 8192;
		request.workload.given |= SAID(method) | SAID(stack) | SAID(lora_targets) |
					  SAID(lora_rank) | SAID(sequence_length);
		request.layout.sharding = SHARDING_NONE;
		estimate(&request);
		one = request.speed.tokens_per_second;
		ck_assert_double_lt(one, last);
		last = one;
		request.workload.lora_rank = 64;
		estimate(&request);
		ck_within(request.speed.tokens_per_second, one, 0.01);
	}
}
END_TEST

START_TEST(speed_is_monotonic)
{
	double last = 0;

	/* More sequences: more tokens a second, and each one slower. */
	for (double sequences = 1; sequences <= 256; sequences *= 2) {
		struct request request =
			request_of("meta-llama/Llama-3.1-8B", TASK_INFERENCE, "H100 SXM5 80GB", 1);

		request.layout.sequences = sequences;
		estimate(&request);
		ck_assert_double_gt(request.speed.tokens_per_second, last);
		last = request.speed.tokens_per_second;
	}
	/* A card with more of everything is faster. */
	last = 0;
	for (int i = 0; i < 3; i++) {
		static const char *const cards[] = {"A100 SXM4 80GB", "H100 SXM5 80GB",
						    "B200 SXM 180GB"};
		struct request request =
			request_of("meta-llama/Llama-3.1-8B", TASK_PRETRAIN, cards[i], 8);

		estimate(&request);
		ck_assert_double_gt(request.speed.tokens_per_second, last);
		last = request.speed.tokens_per_second;
	}
}
END_TEST

START_TEST(slow_loaders_bind)
{
	struct request request =
		request_of("meta-llama/Llama-3.1-8B", TASK_PRETRAIN, "H100 SXM5 80GB", 8);

	request.workload.sequence_length = 4096;
	request.workload.samples_per_second = 0.01;
	request.workload.given |= SAID(samples_per_second) | SAID(sequence_length);
	estimate(&request);
	ck_assert_int_eq(request.speed.bottleneck, BOTTLENECK_DATA_LOADING);
	ck_within(request.speed.tokens_per_second, 0.01 * 4096, 1e-9);
}
END_TEST

START_TEST(links_that_nobody_knows_are_assumed_and_said_so)
{
	struct request request =
		request_of("meta-llama/Llama-3.1-8B", TASK_INFERENCE, "H100 SXM5 80GB", 2);
	struct speed_basis basis;

	request.layout.tensor_parallel = 2;
	estimate(&request);
	ck_assert(!request.speed.link_is_assumed);
	ck_assert(speed_prepare(&request.workload, request.card, FORMAT_BF16, &basis));
	request.fabric.node_link = NODE_LINK_UNKNOWN;
	request.fabric.node_bytes_per_second = 0;
	speed_estimate(&basis, &request.layout, &request.fabric, &request.speed);
	ck_assert(request.speed.link_is_assumed);
}
END_TEST

/* A card without figures gives no answer instead of a wrong one. */
START_TEST(cards_without_figures_are_refused)
{
	struct request request =
		request_of("meta-llama/Llama-3.1-8B", TASK_INFERENCE, "H100 SXM5 80GB", 1);
	struct accelerator unknown = *request.card;
	struct speed_basis basis;

	unknown.bandwidth_gb_s = 0;
	ck_assert(!speed_prepare(&request.workload, &unknown, FORMAT_BF16, &basis));
	unknown = *request.card;
	unknown.bf16_tflops = unknown.fp16_tflops = unknown.fp32_tflops = unknown.fp8_tflops = 0;
	ck_assert(!speed_prepare(&request.workload, &unknown, FORMAT_BF16, &basis));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("speed");
	TCase *tcase = tcase_create("speed");

	tcase_add_test(tcase, training_on_a100_reaches_the_published_mfu);
	tcase_add_test(tcase, single_stream_decode_follows_bandwidth);
	tcase_add_test(tcase, prefill_is_compute);
	tcase_add_test(tcase, eager_engines_are_bound_by_overhead);
	tcase_add_test(tcase, a_frozen_base_saves_its_weight_gradients);
	tcase_add_test(tcase, quantised_bases_train_slower_on_short_passes);
	tcase_add_test(tcase, plain_ethernet_is_a_cliff);
	tcase_add_test(tcase, xgmi_is_point_to_point);
	tcase_add_test(tcase, states_in_host_memory_hold_every_card_back);
	tcase_add_test(tcase, small_steps_of_experts_are_bound_by_launches);
	tcase_add_test(tcase, more_targets_are_slower);
	tcase_add_test(tcase, speed_is_monotonic);
	tcase_add_test(tcase, slow_loaders_bind);
	tcase_add_test(tcase, links_that_nobody_knows_are_assumed_and_said_so);
	tcase_add_test(tcase, cards_without_figures_are_refused);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
