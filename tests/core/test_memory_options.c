/* What each option of a workload does to the memory of one GPU, by hand arithmetic. */
#include "core/memory.h"

#include "core/units.h"
#include "tests/core/market.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>

/* Llama-3.1-8B: 32 layers of 218112000 parameters, embedding and head of 525336576 each; a layer's
 * linear weights are 218103808. */
#define MODEL "meta-llama/Llama-3.1-8B"
#define PARAMETERS 8030261248.0
#define TABLE 525336576.0
#define LINEAR (32 * 218103808.0)

#define ck_near(value, expected, share)                                                            \
	ck_assert_double_eq_tol((double)(value), (double)(expected),                               \
				fabs((double)(expected)) * (share) + 1)

static struct memory_estimate estimate_of(const char *model, const char *fields,
					  const struct layout *layout)
{
	struct workload workload = market_workload(model, fields);
	struct layout asked = *layout;
	struct memory_basis basis;
	struct memory_estimate memory;

	if (workload_has(&workload, WORKLOAD_offload))
		asked.offload = (enum offload)workload.offload;
	memory_prepare(&workload, &basis);
	memory_estimate(&basis, &asked, NULL, &memory);
	return memory;
}

static struct memory_estimate estimate(const char *fields, const struct layout *layout)
{
	return estimate_of(MODEL, fields, layout);
}

/* Bytes kept of every parameter: weights, master weights, gradients, optimizer. */
START_TEST(every_optimizer_and_precision_keeps_its_bytes)
{
	static const struct {
		const char *fields;
		double weights, master, gradients, optimizer;
	} kept[] = {
		{"stack=torchtitan", 4, 0, 4, 8},
		{"stack=torchtitan precision=fp8", 4, 0, 4, 8},
		{"stack=torchtitan optimizer=adamw_bf16", 4, 0, 4, 4},
		{"stack=huggingface precision=fp8", 4, 0, 4, 8},
		{"stack=megatron precision=fp8", 1, 4, 2, 8},
		{"stack=megatron", 2, 4, 4, 8},
		{"stack=megatron gradient_precision=half", 2, 4, 2, 8},
		{"stack=deepspeed gradient_precision=fp32", 2, 4, 6, 8},
		{"stack=deepspeed gradient_precision=half", 2, 4, 2, 8},
		{"precision=fp32", 4, 0, 4, 8},
		{"precision=bf16", 2, 0, 2, 4},
		{"precision=bf16 optimizer=adamw_fp32", 2, 0, 2, 8},
		{"precision=bf16 gradient_precision=fp32", 2, 0, 4, 4},
		{"precision=bf16 optimizer=adamw_8bit", 2, 0, 2, 2.03},
		{"precision=bf16 optimizer=adamw_4bit", 2, 0, 2, 1.06},
		{"precision=bf16 optimizer=paged_adamw", 2, 0, 2, 0},
		{"precision=bf16 optimizer=paged_adamw_8bit", 2, 0, 2, 0},
		{"precision=bf16 optimizer=sgd", 2, 0, 2, 0},
		{"precision=bf16 optimizer=sgd_momentum", 2, 0, 2, 2},
		{"precision=fp32 optimizer=lion", 4, 0, 4, 4},
		{"precision=fp32 optimizer=muon", 4, 0, 4, 4},
		{"precision=bf16 optimizer=adafactor", 2, 0, 2, 0.004},
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		char fields[160];
		struct memory_estimate memory;

		snprintf(fields, sizeof(fields), "task=finetune method=full %s", kept[i].fields);
		memory = estimate(fields, &layout_single);
		ck_near(memory.weights_bytes, kept[i].weights * PARAMETERS, 1e-9);
		ck_near(memory.master_weights_bytes, kept[i].master * PARAMETERS, 1e-9);
		ck_near(memory.gradients_bytes, kept[i].gradients * PARAMETERS, 1e-9);
		ck_near(memory.optimizer_bytes, kept[i].optimizer * PARAMETERS, 1e-9);
	}
}
END_TEST

/* GaLore at rank 128: embedding, head and norms whole; of a matrix m x n, of which m is the
 * smaller, two states of 128 n and a projection of 128 m. The layers' sides: q, o 4096 + 4096, k, v
 * 4096 + 1024, and three of 4096 + 14336: 81920 in all. */
START_TEST(galore_projects_the_states_of_linear_layers)
{
	struct memory_estimate memory = estimate(
		"task=finetune method=full precision=fp32 optimizer=galore_adamw", &layout_single);
	double rest = PARAMETERS - LINEAR, longer = 128.0 * 32 * (4096 * 4 + 3 * 14336),
	       shorter = 128.0 * 32 * (4096 * 2 + 2 * 1024 + 3 * 4096);

	ck_near(memory.optimizer_bytes, 8 * rest + 4 * (2 * longer + shorter), 0.03);
}
END_TEST

/* One layer's gradients or one table's are alive; torchtune's 8B recipe with paged 8-bit states at
 * micro-batch 2 of 2,048 tokens takes 18.9 GiB on a 24 GB card (its README). */
START_TEST(an_optimizer_in_backward_keeps_one_layers_gradients)
{
	struct layout layout = layout_single;
	struct memory_estimate memory;

	layout.micro_batch = 2;
	layout.accumulation = 1;
	memory = estimate("task=finetune method=full stack=torchtitan precision=bf16 "
			  "optimizer=paged_adamw_8bit optimizer_in_backward=true "
			  "sequence_length=2048",
			  &layout);
	ck_near(memory.gradients_bytes, 2 * TABLE, 1e-9);
	ck_near(memory.reserved_bytes, 18.9 * GIB, 0.1);
}
END_TEST

/* torch.optim.AdamW takes all square roots at once: a state's worth, and nothing else then. */
START_TEST(temporaries_of_the_step_have_a_term_of_their_own)
{
	struct memory_estimate memory = estimate(
		"task=finetune method=full precision=bf16 sequence_length=128", &layout_single);

	ck_near(memory.optimizer_step_bytes, 2 * PARAMETERS, 1e-9);
	ck_near(memory.activations_bytes + memory.logits_bytes, 0, 0);
	memory = estimate("task=finetune method=full precision=bf16 sequence_length=128 "
			  "stack=torchtitan",
			  &layout_single);
	ck_near(memory.optimizer_step_bytes, 0, 0);
	ck_assert_double_gt(memory.activations_bytes + memory.logits_bytes, 0);
}
END_TEST

/* 2,048 x 128,256 logits: Hugging Face keeps 14 B of each alive, a fused loss 4 (Liger), a
 * chunked 0.5. */
START_TEST(the_loss_decides_what_logits_cost)
{
	static const struct {
		const char *loss;
		double bytes;
	} losses[] = {{"plain", 14}, {"fused", 4}, {"chunked", 0.5}};
	double tokens = 8 * 2048.0 * 128256;

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct layout layout = layout_single;
		struct memory_estimate memory, without;
		char fields[160];

		layout.micro_batch = 8;
		snprintf(fields, sizeof(fields),
			 "task=finetune method=lora precision=bf16 sequence_length=2048 "
			 "cross_entropy=%s",
			 losses[i].loss);
		memory = estimate(fields, &layout);
		without = estimate("task=finetune method=lora precision=bf16 sequence_length=2048 "
				   "cross_entropy=chunked",
				   &layout);
		if (losses[i].bytes > 1)
			ck_near(memory.logits_bytes, losses[i].bytes * tokens, 1e-9);
		ck_assert_double_ge(memory.allocated_bytes, without.allocated_bytes);
		/* The shifted copy's block stays in the pool. */
		if (i == 0)
			ck_near(memory.pool_left_bytes, 5 * tokens, 1e-9);
		else
			ck_near(memory.pool_left_bytes, 0, 0);
	}
}
END_TEST

/* Of 1F1B's first stage p micro-batches; interleaved 1 + (p - 1) / (p v) times that (Megatron-LM's
 * theoretical_memory_usage.py). */
START_TEST(an_interleaved_pipeline_warms_up_with_more)
{
	struct layout layout = layout_single;
	struct memory_estimate once, interleaved;

	layout.pipeline_parallel = layout.gpus_per_node = 4;
	layout.recompute = RECOMPUTE_NONE;
	once = estimate("task=pretrain stack=megatron sequence_length=8192 pipeline_chunks=1",
			&layout);
	interleaved = estimate("task=pretrain stack=megatron sequence_length=8192 "
			       "pipeline_chunks=8",
			       &layout);
	/* The backward pass adds a fourth of a layer of 8 to both. */
	ck_near(interleaved.activations_bytes / once.activations_bytes, 1 + 3.0 / 32, 0.01);
}
END_TEST

/* 64 layers' worth of residual stream are not split by tensor parallelism without it. */
START_TEST(sequence_parallelism_splits_what_tensor_parallelism_leaves)
{
	struct layout layout = layout_single;
	struct memory_estimate without, with;

	layout.tensor_parallel = layout.gpus_per_node = 4;
	without = estimate("task=pretrain stack=megatron sequence_length=8192", &layout);
	layout.sequence_parallel = true;
	with = estimate("task=pretrain stack=megatron sequence_length=8192", &layout);
	/* 2 B x 4,096 x 8,192 tokens of every layer's input, three quarters of them less */
	ck_assert_double_ge(without.activations_bytes - with.activations_bytes,
			    0.75 * 2 * 4096 * 8192 * 32);
}
END_TEST

/* Hybrid sharding divides by the GPUs of a node, full sharding by all. */
START_TEST(hybrid_shards_stop_at_the_node)
{
	struct layout layout = layout_single;

	layout.gpus_per_node = 8;
	layout.nodes = 4;
	layout.data_parallel = 32;
	layout.sharding = SHARDING_ZERO3;
	ck_near(estimate("task=pretrain", &layout).optimizer_bytes, 8 * PARAMETERS / 32, 1e-9);
	layout.sharding = SHARDING_HYBRID;
	ck_near(estimate("task=pretrain", &layout).optimizer_bytes, 8 * PARAMETERS / 8, 1e-9);
}
END_TEST

/*
 * Full fine-tuning of 70B over ZeRO-3 or FSDP, layers recomputed. By hand, of 70.55e9 parameters
 * over 8: 16 B are 131.4 GiB, in bf16 with 8 B 65.7, and of 69.0e9 with 4 B (paged states) 32.1.
 * Beside that two gathered layers of 0.856e9, their gradients and the tables: 7 to 12 GiB.
 * Published: pure bf16 with paged states takes about 51 GB on 8 A100 (torchtune issue 987); FSDP in
 * mixed precision runs out of 80 GB on 16 at 2 x 4,096 tokens (FastChat issue 2229), and 32 x 80 GB
 * is the least for Megatron (Megatron-LLM issue 52).
 */
START_TEST(seventy_billion_over_eight_gpus_is_as_published)
{
	static const struct {
		const char *model, *fields;
		int gpus;
		int64_t micro_batch;
		double least_gib, most_gib;
	} runs[] = {
		{"meta-llama/Llama-2-70b-hf",
		 "stack=torchtitan precision=bf16 optimizer=paged_adamw sequence_length=2048", 8, 2,
		 44, 53},
		{"meta-llama/Llama-2-70b-hf", "sequence_length=4096", 16, 2, 81, 140},
		{"meta-llama/Llama-2-70b-hf", "sequence_length=2048", 32, 1, 40, 80},
		{"meta-llama/Llama-3.1-70B", "sequence_length=2048", 8, 1, 131.4 + 7, 131.4 + 50},
		{"meta-llama/Llama-3.1-70B", "sequence_length=2048 precision=bf16", 8, 1, 65.7 + 7,
		 139},
		{"meta-llama/Llama-3.1-70B",
		 "sequence_length=2048 stack=deepspeed offload=optimizer", 8, 1, 16.4 + 7, 79},
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct layout layout = layout_single;
		char fields[200];
		double device;

		snprintf(fields, sizeof(fields), "task=finetune method=full %s", runs[i].fields);
		layout.gpus_per_node = 8;
		layout.nodes = runs[i].gpus / 8;
		layout.data_parallel = runs[i].gpus;
		layout.sharding = SHARDING_ZERO3;
		layout.micro_batch = runs[i].micro_batch;
		device = estimate_of(runs[i].model, fields, &layout).device_bytes / GIB;
		ck_assert_msg(device > runs[i].least_gib && device < runs[i].most_gib,
			      "%s on %d: %.1f GiB", runs[i].fields, runs[i].gpus, device);
	}
}
END_TEST

/* What is gathered for the passes is gone in the step: the larger counts, not their sum. */
START_TEST(gathered_layers_are_not_there_in_the_step)
{
	struct layout layout = layout_single;
	struct memory_estimate memory;

	layout.gpus_per_node = layout.data_parallel = 8;
	layout.sharding = SHARDING_ZERO3;
	memory = estimate_of("meta-llama/Llama-3.1-70B",
			     "task=finetune method=full sequence_length=2048", &layout);
	ck_near(memory.optimizer_step_bytes, 4 * 70553706496.0 / 8, 1e-9);
	ck_near(memory.communication_bytes, 0, 0);
}
END_TEST

START_TEST(adapters_of_every_kind_have_their_parameters)
{
	static const struct {
		const char *fields;
		double parameters;
	} adapters[] = {
		/* rank x (in + out) */
		{"method=lora lora_rank=8 lora_targets=attention_qv", 8.0 * 32 * (8192 + 5120)},
		{"method=lora lora_rank=8 lora_targets=attention",
		 8.0 * 32 * (2 * 8192 + 2 * 5120)},
		{"method=lora lora_rank=8 lora_targets=mlp", 8.0 * 32 * 3 * 18432},
		{"method=lora lora_rank=8 lora_targets=all_linear",
		 8.0 * 32 * (2 * 8192 + 2 * 5120 + 3 * 18432)},
		/* two bottlenecks a layer, with biases */
		{"method=adapter adapter_size=64", 32 * 2 * (2.0 * 4096 * 64 + 4096 + 64)},
		/* keys and values of 8 heads of 128 */
		{"method=prefix prefix_tokens=30", 30.0 * 32 * 2 * 1024},
		{"method=prompt prefix_tokens=30", 30.0 * 4096},
		{"method=lora lora_rank=8 lora_targets=mlp train_embeddings=true",
		 8.0 * 32 * 3 * 18432 + 2 * TABLE},
	};

	for (size_t i = 0; i < sizeof(adapters) / sizeof(adapters[0]); i++) {
		char fields[200];

		snprintf(fields, sizeof(fields), "task=finetune precision=bf16 %s",
			 adapters[i].fields);
		ck_near(estimate(fields, &layout_single).adapters_bytes, 2 * adapters[i].parameters,
			1e-9);
	}
}
END_TEST

/* PEFT's comparison on Llama-3.2-3B: 2.2 GB more than LoRA for 3,072 tokens on q and v. */
START_TEST(dora_and_prompts_cost_activations)
{
	struct layout layout = layout_single;
	struct memory_estimate lora, other;

	layout.recompute = RECOMPUTE_NONE;
	layout.micro_batch = 4;
	lora = estimate("task=finetune method=lora precision=bf16 sequence_length=1024", &layout);
	other = estimate("task=finetune method=lora precision=bf16 sequence_length=1024 dora=true",
			 &layout);
	/* 6 B of q's and v's 5,120 outputs a token and layer */
	ck_near(other.allocated_bytes - lora.allocated_bytes, 6.0 * 5120 * 32 * 4096, 0.1);
	lora = estimate("task=finetune method=prompt precision=bf16 sequence_length=1024 "
			"prefix_tokens=1",
			&layout);
	other = estimate("task=finetune method=prompt precision=bf16 sequence_length=1024 "
			 "prefix_tokens=1025",
			 &layout);
	ck_near(other.activations_bytes / lora.activations_bytes, 2, 0.01);
}
END_TEST

/* Two bottlenecks a layer keep 2 B of their input, and 4 B of their width. */
START_TEST(bottlenecks_keep_their_inputs)
{
	struct layout layout = layout_single;
	struct memory_estimate narrow, wide;

	layout.recompute = RECOMPUTE_NONE;
	narrow = estimate("task=finetune method=adapter precision=bf16 sequence_length=1024 "
			  "adapter_size=64 cross_entropy=chunked",
			  &layout);
	wide = estimate("task=finetune method=adapter precision=bf16 sequence_length=1024 "
			"adapter_size=1088 cross_entropy=chunked",
			&layout);
	ck_near(wide.activations_bytes - narrow.activations_bytes, 2 * 4 * 1024.0 * 1024 * 32,
		1e-6);
}
END_TEST

START_TEST(a_cache_costs_what_its_format_takes)
{
	static const struct {
		const char *fields;
		enum format format;
		double bits;
	} caches[] = {
		{"engine=vllm", FORMAT_BF16, 16},	   {"engine=vllm", FORMAT_FP8, 8},
		{"engine=tensorrt_llm", FORMAT_INT4, 4.5}, {"engine=llama_cpp", FORMAT_INT8, 8.5},
		{"engine=llama_cpp", FORMAT_Q8_0, 8.5},	   {"engine=llama_cpp", FORMAT_Q4_0, 4.5},
	};

	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		struct layout layout = layout_single;
		char fields[100];

		layout.kv_format = caches[i].format;
		snprintf(fields, sizeof(fields), "task=inference prompt_tokens=1024 %s",
			 caches[i].fields);
		/* keys and values of 8 heads of 128 in 32 layers */
		ck_near(estimate(fields, &layout).kv_bytes_per_token, 65536 * caches[i].bits / 8,
			1e-9);
	}
}
END_TEST

/* Without pages a sequence reserves all that it may reach. */
START_TEST(a_cache_without_pages_is_reserved_whole)
{
	const char *fields = "task=inference engine=tensorrt_llm prompt_tokens=7000 "
			     "output_tokens=1192 mean_context=2048 paged_kv=";
	char text[200];

	snprintf(text, sizeof(text), "%strue", fields);
	ck_near(estimate(text, &layout_single).kv_cache_bytes, 131072.0 * 2048, 1e-9);
	snprintf(text, sizeof(text), "%sfalse", fields);
	ck_near(estimate(text, &layout_single).kv_cache_bytes, 131072.0 * 8192, 1e-9);
}
END_TEST

START_TEST(engine_options_cost_what_they_reserve)
{
	struct memory_estimate plain =
		estimate("task=inference prompt_tokens=100000 output_tokens=1000", &layout_single);
	struct memory_estimate whole = estimate(
		"task=inference prompt_tokens=100000 output_tokens=1000 chunked_prefill=false",
		&layout_single);
	struct memory_estimate eager =
		estimate("task=inference prompt_tokens=100000 output_tokens=1000 cuda_graphs=false",
			 &layout_single);
	struct memory_estimate adapted =
		estimate("task=inference prompt_tokens=100000 output_tokens=1000 lora_adapters=3 "
			 "lora_rank=64",
			 &layout_single);

	/* gate, up and product of 14,336 and four of 4,096 a token, in 16 bit */
	ck_near(whole.activations_bytes, 101000.0 * 2 * (3 * 14336 + 4 * 4096), 1e-9);
	ck_assert_double_lt(plain.activations_bytes, whole.activations_bytes / 2);
	ck_assert_double_gt(plain.framework_bytes, eager.framework_bytes);
	ck_near(adapted.adapters_bytes, 3 * 2 * 64.0 * 32 * (2 * 8192 + 2 * 5120 + 3 * 18432),
		1e-9);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_options");
	TCase *tests = tcase_create("memory_options");

	tcase_add_test(tests, every_optimizer_and_precision_keeps_its_bytes);
	tcase_add_test(tests, galore_projects_the_states_of_linear_layers);
	tcase_add_test(tests, an_optimizer_in_backward_keeps_one_layers_gradients);
	tcase_add_test(tests, temporaries_of_the_step_have_a_term_of_their_own);
	tcase_add_test(tests, the_loss_decides_what_logits_cost);
	tcase_add_test(tests, an_interleaved_pipeline_warms_up_with_more);
	tcase_add_test(tests, sequence_parallelism_splits_what_tensor_parallelism_leaves);
	tcase_add_test(tests, hybrid_shards_stop_at_the_node);
	tcase_add_test(tests, seventy_billion_over_eight_gpus_is_as_published);
	tcase_add_test(tests, gathered_layers_are_not_there_in_the_step);
	tcase_add_test(tests, adapters_of_every_kind_have_their_parameters);
	tcase_add_test(tests, dora_and_prompts_cost_activations);
	tcase_add_test(tests, bottlenecks_keep_their_inputs);
	tcase_add_test(tests, a_cache_costs_what_its_format_takes);
	tcase_add_test(tests, a_cache_without_pages_is_reserved_whole);
	tcase_add_test(tests, engine_options_cost_what_they_reserve);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
