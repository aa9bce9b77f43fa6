/* Options that exist alone and not together: each fault names both fields that were given. */
#include "core/workload.h"
#include "tests/core/market.h"
#include "tests/suite.h"

#include <string.h>

#define MODEL "meta-llama/Llama-3.1-8B"

static const struct {
	const char *fields, *a, *b; /* b: NULL when the other side is a default */
} wrong[] = {
	{"task=finetune method=full optimizer_in_backward=true stack=megatron",
	 "optimizer_in_backward", "stack"},
	{"task=finetune method=full optimizer_in_backward=true sharding=zero2",
	 "optimizer_in_backward", "sharding"},
	{"task=finetune method=full optimizer_in_backward=true offload=optimizer",
	 "optimizer_in_backward", "offload"},
	{"task=finetune method=lora optimizer=galore_adamw", "optimizer", "method"},
	{"task=pretrain optimizer=galore_adamw", "optimizer", NULL},
	{"task=finetune method=full optimizer=galore_adamw sharding=zero3", "optimizer",
	 "sharding"},
	{"task=finetune method=full optimizer=sgd galore_rank=64", "galore_rank", "optimizer"},
	{"task=pretrain stack=megatron optimizer=adafactor", "optimizer", "stack"},
	{"task=finetune method=full optimizer=paged_adamw offload=optimizer", "optimizer",
	 "offload"},
	{"task=finetune method=full precision=fp32 gradient_precision=half", "gradient_precision",
	 "precision"},
	{"task=finetune method=full gradient_precision=half", "gradient_precision", NULL},
	{"task=finetune method=full recompute=selective stack=deepspeed", "recompute", "stack"},
	{"task=finetune method=qlora sharding=zero3 stack=unsloth", "sharding", "stack"},
	{"task=pretrain offload=parameters stack=megatron", "offload", "stack"},
	{"task=finetune method=full pipeline_chunks=2 stack=huggingface", "pipeline_chunks",
	 "stack"},
	{"task=finetune method=full sequence_parallel=true stack=deepspeed", "sequence_parallel",
	 "stack"},
	{"task=finetune method=full tensor_parallel=2 stack=huggingface", "tensor_parallel",
	 "stack"},
	{"task=finetune method=full pipeline_parallel=2 stack=deepspeed", "pipeline_parallel",
	 "stack"},
	{"task=finetune method=full context_parallel=2 stack=unsloth", "context_parallel", "stack"},
	{"task=pretrain expert_parallel=2", "expert_parallel", NULL},	   /* of a dense model */
	{"task=inference tensor_parallel=3", "tensor_parallel", NULL},	   /* 32 and 8 heads */
	{"task=pretrain pipeline_parallel=33", "pipeline_parallel", NULL}, /* 32 layers */
	{"task=finetune method=qlora dora=true base_format=gptq", "dora", "base_format"},
	{"task=inference paged_kv=false engine=vllm", "paged_kv", "engine"},
	{"task=inference paged_kv=true engine=llama_cpp", "paged_kv", "engine"},
	{"task=inference chunked_prefill=true engine=transformers", "chunked_prefill", "engine"},
	{"task=inference lora_rank=32", "lora_rank", NULL},
	{"task=inference weight_format=torchao_int8 engine=tensorrt_llm", "weight_format",
	 "engine"},
	{"task=inference weight_format=nf4 engine=llama_cpp", "weight_format", "engine"},
	{"task=inference kv_format=int4 engine=vllm", "kv_format", "engine"},
	{"task=inference kv_format=q8_0 engine=sglang", "kv_format", "engine"},
	{"task=inference kv_format=fp8 engine=transformers", "kv_format", "engine"},
	{"task=inference kv_format=fp8 engine=llama_cpp", "kv_format", "engine"},
	{"task=inference weight_format=awq engine=llama_cpp", "weight_format", "engine"},
	{"task=inference gpu_memory_utilization=0.8 engine=llama_cpp", "gpu_memory_utilization",
	 "engine"},
	{"task=finetune method=full optimizer=galore_adamw galore_rank=4097", "galore_rank",
	 "optimizer"},
	{"task=finetune method=full stack=deepspeed offload=parameters sharding=zero2", "offload",
	 "sharding"},
	{"task=finetune method=full stack=deepspeed offload=optimizer sharding=none", "offload",
	 "sharding"},
	{"task=pretrain pipeline_chunks=2 pipeline_parallel=1", "pipeline_chunks",
	 "pipeline_parallel"},
	{"task=pretrain pipeline_chunks=9 pipeline_parallel=4", "pipeline_chunks",
	 "pipeline_parallel"}, /* 36 chunks of 32 layers */
	{"task=pretrain context_parallel=64 sequence_length=32", "context_parallel",
	 "sequence_length"},
};

/* Of a model whose layers are all states. */
static const struct {
	const char *fields, *a, *b;
} nothing_to_train[] = {
	{"task=finetune method=lora lora_targets=attention", "lora_targets", "method"},
	{"task=finetune method=qlora lora_targets=mlp", "lora_targets", "method"},
	{"task=finetune method=prefix", "method", NULL},
};

static const char *const right[] = {
	"task=inference engine=llama_cpp weight_format=mxfp4",
	"task=finetune method=full stack=deepspeed offload=parameters sharding=zero3",
	"task=pretrain pipeline_chunks=8 pipeline_parallel=4",
	"task=pretrain context_parallel=32 sequence_length=32",
	"task=finetune method=full optimizer_in_backward=true sharding=zero3",
	"task=finetune method=full optimizer=galore_adamw galore_rank=64",
	"task=pretrain stack=megatron optimizer=muon precision=bf16_master gradient_precision=half",
	"task=pretrain stack=megatron pipeline_chunks=4 sequence_parallel=false",
	"task=finetune method=full precision=bf16 gradient_precision=fp32 optimizer=adamw_fp32",
	"task=finetune method=qlora dora=true train_embeddings=true base_format=nf4",
	"task=finetune method=prompt prefix_tokens=50 base_format=int8",
	"task=finetune method=qlora base_format=gptq_g32 cross_entropy=chunked",
	"task=pretrain tensor_parallel=8 pipeline_parallel=4 context_parallel=2",
	"task=inference tensor_parallel=2 pipeline_parallel=2",
	"task=inference engine=llama_cpp kv_format=q4_0 cuda_graphs=false",
	"task=inference engine=tensorrt_llm paged_kv=false kv_format=int4",
	"task=inference lora_adapters=4 lora_rank=64 chunked_prefill=false",
};

static bool has_item(const struct error *error, const char *field)
{
	for (const struct error_item *at = error->first; at; at = at->next)
		if (strcmp(at->pointer + strlen("/workload/"), field) == 0 &&
		    strcmp(at->code, "contradiction") == 0)
			return true;
	return false;
}

START_TEST(adapters_of_layers_that_are_not_there_are_refused)
{
	for (size_t i = 0; i < sizeof(nothing_to_train) / sizeof(nothing_to_train[0]); i++) {
		struct workload workload =
			market_fields("state-spaces/mamba-2.8b-hf", nothing_to_train[i].fields);
		struct arena arena;
		struct error error;

		arena_init(&arena, 1 << 16);
		error_init(&error, &arena);
		ck_assert(!workload_complete(&workload, "/workload", &error));
		ck_assert(has_item(&error, nothing_to_train[i].a));
		ck_assert(!nothing_to_train[i].b || has_item(&error, nothing_to_train[i].b));
		arena_release(&arena);
	}
}
END_TEST

START_TEST(what_does_not_go_together_is_refused_by_both_names)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct workload workload = market_fields(MODEL, wrong[i].fields);
		struct arena arena;
		struct error error;

		arena_init(&arena, 1 << 16);
		error_init(&error, &arena);
		ck_assert_msg(!workload_complete(&workload, "/workload", &error), "%s",
			      wrong[i].fields);
		ck_assert_msg(has_item(&error, wrong[i].a), "%s", wrong[i].fields);
		ck_assert_msg(!wrong[i].b || has_item(&error, wrong[i].b), "%s", wrong[i].fields);
		ck_assert_uint_eq(error.count, wrong[i].b ? 2 : 1);
		arena_release(&arena);
	}
}
END_TEST

START_TEST(what_goes_together_is_taken)
{
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		market_workload(MODEL, right[i]);
}
END_TEST

/* The flag of 1.0: Hugging Face's fused loss is Liger's, which never makes all logits. */
START_TEST(the_older_flag_of_the_loss_is_still_taken)
{
	struct workload workload =
		market_workload(MODEL, "task=finetune method=lora fused_cross_entropy=true");

	ck_assert_int_eq(workload.cross_entropy, CROSS_ENTROPY_CHUNKED);
	workload = market_workload(MODEL, "task=pretrain fused_cross_entropy=false");
	ck_assert_int_eq(workload.cross_entropy, CROSS_ENTROPY_PLAIN);
	ck_assert_int_eq(market_workload(MODEL, "task=pretrain").cross_entropy,
			 CROSS_ENTROPY_FUSED);
}
END_TEST

/* A field that would change nothing is not shown as assumed. */
START_TEST(an_option_of_something_else_is_not_taken)
{
	struct workload workload = market_workload(MODEL, "task=finetune method=full");

	ck_assert(!workload_takes(&workload, WORKLOAD_galore_rank));
	ck_assert(!workload_takes(&workload, WORKLOAD_pipeline_chunks));
	workload = market_workload(MODEL, "task=inference");
	ck_assert(!workload_takes(&workload, WORKLOAD_lora_rank));
	workload = market_workload(MODEL, "task=inference lora_adapters=2");
	ck_assert(workload_takes(&workload, WORKLOAD_lora_rank));
	ck_assert_int_eq(workload.lora_rank, 16);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("workload_combine");
	TCase *tests = tcase_create("workload_combine");

	tcase_add_test(tests, what_does_not_go_together_is_refused_by_both_names);
	tcase_add_test(tests, adapters_of_layers_that_are_not_there_are_refused);
	tcase_add_test(tests, what_goes_together_is_taken);
	tcase_add_test(tests, the_older_flag_of_the_loss_is_still_taken);
	tcase_add_test(tests, an_option_of_something_else_is_not_taken);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
