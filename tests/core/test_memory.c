/* Memory of training: figures with a source, and what must hold for any workload. */
#include "tests/core/memory_request.h"

#include "core/units.h"
#include "tests/suite.h"

static double sum(const struct memory_estimate *memory)
{
	double sum = 0;

#define X(term) sum += memory->term##_bytes;
	MEMORY_TERMS(X)
#undef X
	return sum;
}

/* The README's case: one 80 GB card with room, one 48 GB card at best tightly, no 24 GB card.
 * Unsloth's table gives Hugging Face with FlashAttention-2 6,916 tokens of context on 80 GB. An
 * H100 of 80 GB has 81,559 MiB, an L40S of 48 GB has 46,068 MiB (nvidia-smi). */
START_TEST(qlora_of_70b_fits_80_gb_with_room_and_not_24)
{
	struct request request =
		training("meta-llama/Llama-3.1-70B", METHOD_QLORA, STACK_HUGGINGFACE, 2048);

	request.layout.weight_format = FORMAT_NF4;
	estimate(&request);
	ck_assert_double_le(request.memory.high_bytes, 81559 * MIB);
	ck_assert_double_le(request.memory.device_bytes, 64 * GIB);
	ck_assert_double_ge(request.memory.low_bytes, 46068 * MIB);
	/* 68.45e9 linear weights x 4.5 bit + 2.1e9 x 4 B: PEFT holds the rest in fp32 */
	ck_assert_double_eq_tol(request.memory.weights_bytes / GIB, 43.7, 0.2);

	/* All in bf16, scales quantised too, layer inputs in host memory: 40 to 46 GiB. */
	request = training("meta-llama/Llama-3.1-70B", METHOD_QLORA, STACK_UNSLOTH, 2048);
	request.layout.weight_format = FORMAT_NF4_DQ;
	estimate(&request);
	ck_assert_double_ge(request.memory.device_bytes, 40 * GIB);
	ck_assert_double_le(request.memory.device_bytes, 46 * GIB);
	ck_assert_double_ge(request.memory.high_bytes, 46068 * MIB);
	ck_assert_double_ge(request.memory.low_bytes, 24 * GIB);
}
END_TEST

/* PEFT's kbit preparation doubles the residual stream's bytes and adds a 16-bit copy of the head:
 * ms-swift's Qwen-72B on bitsandbytes, 74.87 GiB reserved against 42 GiB of 4-bit weights. */
START_TEST(a_mixed_precision_4bit_base_costs_more_than_a_pure_one)
{
	struct request mixed = training("Qwen/Qwen-72B", METHOD_QLORA, STACK_HUGGINGFACE, 2048);
	struct request pure = mixed;
	double head = 152064.0 * 8192, boundary = 80.0 * 2048 * 8192;

	mixed.layout.weight_format = pure.layout.weight_format = FORMAT_NF4;
	mixed.workload.precision = PRECISION_AMP_BF16;
	pure.workload.precision = PRECISION_BF16;
	mixed.workload.given |= SAID(precision);
	pure.workload.given |= SAID(precision);
	estimate(&mixed);
	estimate(&pure);
	ck_assert_double_ge(mixed.memory.weights_bytes - pure.memory.weights_bytes, 2 * 2 * head);
	ck_assert_double_eq_tol(mixed.memory.activations_bytes - pure.memory.activations_bytes,
				2 * boundary + 2 * head, 0.05 * GIB);
}
END_TEST

/* 16 B a parameter: fp32 weights, gradients and two moments (ml-engineering). */
START_TEST(fp32_adam_keeps_sixteen_bytes_a_parameter)
{
	struct request request =
		training("meta-llama/Llama-3.1-8B", METHOD_FULL, STACK_HUGGINGFACE, 512);
	double parameters = 8030261248.0;

	request.workload.precision = PRECISION_FP32;
	request.workload.given |= SAID(precision);
	estimate(&request);
	ck_same(request.memory.weights_bytes, 4 * parameters);
	ck_same(request.memory.gradients_bytes, 4 * parameters);
	ck_same(request.memory.optimizer_bytes, 8 * parameters);
	ck_same(request.memory.master_weights_bytes, 0);
}
END_TEST

/* Megatron's distributed optimizer: 6 + 12 / d bytes a parameter (dist_optimizer.md), measured
 * 20.63-20.66 GB at 1.678e9 parameters a GPU and d = 2 (notes 1, +2.6 %). */
START_TEST(megatron_keeps_six_and_twelve_over_d)
{
	struct request request =
		training("meta-llama/Llama-3.1-8B", METHOD_FULL, STACK_MEGATRON, 4096);
	double each = 8030261248.0;

	request.layout.data_parallel = request.layout.gpus_per_node = 2;
	request.layout.sharding = SHARDING_ZERO1;
	estimate(&request);
	ck_same(request.memory.weights_bytes + request.memory.gradients_bytes, 6 * each);
	ck_same(request.memory.master_weights_bytes + request.memory.optimizer_bytes, 6 * each);
}
END_TEST

/* ms-swift: Qwen-7B in pure bf16 at 512 tokens reserves 73.4 GiB (57.5 GiB of states and the step's
 * square roots). */
START_TEST(pure_bf16_training_peaks_in_the_optimizer_step)
{
	struct request request = training("Qwen/Qwen-7B", METHOD_FULL, STACK_HUGGINGFACE, 512);

	request.workload.precision = PRECISION_BF16;
	request.workload.given |= SAID(precision);
	estimate(&request);
	ck_assert_double_eq_tol(request.memory.reserved_bytes / GIB, 73.4, 5);
}
END_TEST

/* LoRA rank r on q and v of Llama-2-7B: r x (4 x 4096) x 32 layers = 4,194,304 at r = 8 (litgpt's
 * count). */
START_TEST(adapter_parameters_follow_rank_and_targets)
{
	struct request request =
		training("meta-llama/Llama-2-7b-hf", METHOD_LORA, STACK_HUGGINGFACE, 512);

	request.workload.lora_rank = 8;
	request.workload.lora_targets = LORA_ATTENTION_QV;
	request.workload.given |= SAID(lora_rank) | SAID(lora_targets);
	estimate(&request);
	ck_same(request.basis.adapter_parameters, 4194304);
	request.workload.lora_targets = LORA_ALL_LINEAR;
	estimate(&request);
	/* 8 x (8 x 4096 + 3 x (4096 + 11008)) x 32 */
	ck_same(request.basis.adapter_parameters, 19988480);
}
END_TEST

/* Mamba has no q and v: in_proj 2560 to 10240 and out_proj 5120 to 2560 of 64 layers, rank 8. */
START_TEST(state_layers_have_adapters_of_their_own)
{
	struct request request =
		training("state-spaces/mamba-2.8b-hf", METHOD_LORA, STACK_HUGGINGFACE, 512);

	estimate(&request);
	ck_assert_double_eq_tol(request.basis.adapter_parameters,
				8.0 * (2560 + 10240 + 5120 + 2560) * 64, 0.05 * 8 * 20480 * 64);
}
END_TEST

START_TEST(terms_sum_to_what_is_allocated)
{
	static const enum method methods[] = {METHOD_FULL, METHOD_LORA, METHOD_QLORA};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		for (int stack = 0; stack < STACKS; stack++) {
			struct request request = training("meta-llama/Llama-3.1-8B", methods[i],
							  (enum stack)stack, 2048);

			request.layout.weight_format =
				methods[i] == METHOD_QLORA ? FORMAT_NF4 : FORMAT_BF16;
			estimate(&request);
			ck_assert_double_eq_tol(sum(&request.memory) -
							request.memory.framework_bytes,
						request.memory.allocated_bytes, 1);
			ck_assert_double_lt(request.memory.allocated_bytes,
					    request.memory.reserved_bytes);
			ck_assert_double_lt(request.memory.reserved_bytes,
					    request.memory.device_bytes);
			ck_assert_double_lt(request.memory.low_bytes, request.memory.device_bytes);
			ck_assert_double_gt(request.memory.high_bytes, request.memory.device_bytes);
		}
}
END_TEST

/* Longer sequences, larger micro-batches and less recompute never need less; sharding never more.
 */
START_TEST(memory_is_monotonic)
{
	double last = 0;

	for (int64_t length = 512; length <= 65536; length *= 2) {
		struct request request =
			training("meta-llama/Llama-3.1-8B", METHOD_LORA, STACK_HUGGINGFACE, length);

		estimate(&request);
		ck_assert_double_ge(request.memory.device_bytes, last);
		last = request.memory.device_bytes;
	}
	last = 0;
	for (int64_t micro = 1; micro <= 64; micro *= 2) {
		struct request request =
			training("mistralai/Mixtral-8x7B-v0.1", METHOD_FULL, STACK_MEGATRON, 4096);

		request.layout.micro_batch = micro;
		estimate(&request);
		ck_assert_double_ge(request.memory.device_bytes, last);
		last = request.memory.device_bytes;
	}
	last = HUGE_VAL;
	for (int sharding = SHARDING_NONE; sharding <= SHARDING_ZERO3; sharding++) {
		struct request request =
			training("meta-llama/Llama-3.1-8B", METHOD_FULL, STACK_HUGGINGFACE, 2048);

		request.layout.data_parallel = request.layout.gpus_per_node = 8;
		request.layout.sharding = (enum sharding)sharding;
		estimate(&request);
		ck_assert_double_le(request.memory.allocated_bytes, last);
		last = request.memory.allocated_bytes;
	}
}
END_TEST

START_TEST(recompute_saves_and_none_costs_most)
{
	double bytes[RECOMPUTES];

	for (int recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_FULL; recompute++) {
		struct request request =
			training("meta-llama/Llama-3.1-8B", METHOD_FULL, STACK_TORCHTITAN, 8192);

		request.layout.recompute = (enum recompute)recompute;
		estimate(&request);
		bytes[recompute] = request.memory.allocated_bytes;
	}
	ck_assert_double_lt(bytes[RECOMPUTE_SELECTIVE], bytes[RECOMPUTE_NONE]);
	ck_assert_double_le(bytes[RECOMPUTE_FULL], bytes[RECOMPUTE_SELECTIVE]);
}
END_TEST

/* Without fused attention the score matrix grows with the square of the length: Qwen-7B at 2,048
 * tokens without recompute, 57.67 GiB against 37.70 (notes 2.2). */
START_TEST(scores_cost_memory_only_without_fused_attention)
{
	struct request fused = training("Qwen/Qwen-7B", METHOD_LORA, STACK_HUGGINGFACE, 2048),
		       plain;

	fused.workload.precision = PRECISION_BF16;
	fused.workload.fused_attention = true;
	fused.workload.given |= SAID(precision) | SAID(fused_attention);
	fused.layout.recompute = RECOMPUTE_NONE;
	plain = fused;
	plain.workload.fused_attention = false;
	estimate(&fused);
	estimate(&plain);
	ck_assert_double_eq_tol((plain.memory.allocated_bytes - fused.memory.allocated_bytes) / GIB,
				20, 6);
}
END_TEST

START_TEST(paged_and_offloaded_states_leave_the_card)
{
	struct request paged =
		training("meta-llama/Llama-3.1-8B", METHOD_FULL, STACK_HUGGINGFACE, 2048);
	struct request offloaded =
		training("meta-llama/Llama-3.1-8B", METHOD_FULL, STACK_DEEPSPEED, 2048);

	paged.workload.optimizer = OPTIMIZER_PAGED_ADAMW;
	paged.workload.given |= SAID(optimizer);
	estimate(&paged);
	ck_same(paged.memory.optimizer_bytes, 0);
	ck_assert_double_gt(paged.memory.host_bytes, 50 * GIB);
	offloaded.layout.offload = OFFLOAD_OPTIMIZER;
	estimate(&offloaded);
	ck_same(offloaded.memory.optimizer_bytes + offloaded.memory.master_weights_bytes, 0);
	/* 12 B of master and moments, and the gradients */
	ck_assert_double_gt(offloaded.memory.host_bytes, 12 * 8.03e9);
}
END_TEST

/* Targets of one token leave the decoder's layers almost no traces: the encoder's remain. */
START_TEST(each_side_leaves_what_its_own_tokens_leave)
{
	struct request equal = training("google/flan-t5-xl", METHOD_FULL, STACK_HUGGINGFACE, 512);
	struct request shorter;

	equal.layout.recompute = RECOMPUTE_NONE;
	equal.layout.micro_batch = 64; /* beyond what the optimizer's step takes */
	equal.workload.given |= SAID(target_length);
	shorter = equal;
	equal.workload.target_length = 512;
	shorter.workload.target_length = 1;
	estimate(&equal);
	estimate(&shorter);
	ck_assert_double_lt(shorter.memory.activations_bytes,
			    0.55 * equal.memory.activations_bytes);
	ck_assert_double_gt(shorter.memory.activations_bytes,
			    0.35 * equal.memory.activations_bytes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tests = tcase_create("memory");

	tcase_add_test(tests, qlora_of_70b_fits_80_gb_with_room_and_not_24);
	tcase_add_test(tests, a_mixed_precision_4bit_base_costs_more_than_a_pure_one);
	tcase_add_test(tests, fp32_adam_keeps_sixteen_bytes_a_parameter);
	tcase_add_test(tests, megatron_keeps_six_and_twelve_over_d);
	tcase_add_test(tests, pure_bf16_training_peaks_in_the_optimizer_step);
	tcase_add_test(tests, adapter_parameters_follow_rank_and_targets);
	tcase_add_test(tests, state_layers_have_adapters_of_their_own);
	tcase_add_test(tests, terms_sum_to_what_is_allocated);
	tcase_add_test(tests, memory_is_monotonic);
	tcase_add_test(tests, recompute_saves_and_none_costs_most);
	tcase_add_test(tests, scores_cost_memory_only_without_fused_attention);
	tcase_add_test(tests, paged_and_offloaded_states_leave_the_card);
	tcase_add_test(tests, each_side_leaves_what_its_own_tokens_leave);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
