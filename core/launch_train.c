/*
 * Launch: the command of a training stack for a plan.
 *
 * Supervised fine-tuning has a command of its own (trl's), Megatron and torchtitan have theirs;
 * anything else is the caller's script under torchrun, with the layout that the plan counts on
 * written above it. Flags are those of the projects' documentation (TRL's and accelerate's command
 * lines, Megatron-LM's arguments, torchtitan's job configuration).
 */
#include "core/launch_parts.h"

#include <math.h>
#include <string.h>

static bool is_sharded(const struct layout *layout)
{
	return layout->sharding == SHARDING_ZERO2 || layout->sharding == SHARDING_ZERO3 ||
	       layout->sharding == SHARDING_HYBRID;
}

/* Steps that the whole work takes; 0 when no amount was given. */
static double steps_of(const struct workload *workload, const struct plan *plan)
{
	if (!(workload->tokens > 0) || !(plan->speed.tokens_per_step > 0))
		return 0;
	return ceil(workload->tokens / plan->speed.tokens_per_step);
}

static void layout_comment(struct text *run, const struct layout *layout)
{
	text_add(run,
		 "# The plan: tensor %d, pipeline %d, data %d, context %d, expert %d, sharding %s, "
		 "recompute %s, offload %s, micro-batch %lld x accumulation %lld.\n",
		 layout->tensor_parallel, layout->pipeline_parallel, layout->data_parallel,
		 layout->context_parallel, layout->expert_parallel,
		 names_text(&sharding_names, (int)layout->sharding),
		 names_text(&recompute_names, (int)layout->recompute),
		 names_text(&offload_names, (int)layout->offload), (long long)layout->micro_batch,
		 (long long)layout->accumulation);
}

static void torchrun(struct text *run, const struct layout *layout)
{
	if (layout->nodes > 1)
		text_add(run,
			 "torchrun --nnodes %d --nproc-per-node %d --node-rank \"$NODE_RANK\" "
			 "--master-addr \"$MASTER_ADDR\" --master-port 29500",
			 layout->nodes, layout->gpus_per_node);
	else
		text_add(run, "torchrun --standalone --nproc-per-node %d", layout->gpus_per_node);
}

/* ZeRO stage 1 and states in host memory are DeepSpeed's; FSDP shards from stage 2 on. */
static void accelerate_deepspeed(struct text *run, const struct layout *layout)
{
	bool offloads_all = layout->offload == OFFLOAD_PARAMETERS;
	int stage = layout->sharding == SHARDING_ZERO1			 ? 1
		    : layout->sharding == SHARDING_ZERO2		 ? 2
		    : layout->sharding == SHARDING_NONE && !offloads_all ? 2
									 : 3;

	text_add(run, " --use_deepspeed --zero_stage %d", stage);
	if (offloads_all || layout->offload == OFFLOAD_OPTIMIZER)
		text_add(run, " --offload_optimizer_device cpu");
	if (offloads_all)
		text_add(run, " --offload_param_device cpu");
}

/* What accelerate must be told besides the number of processes. */
static void accelerate_sharding(struct text *run, const struct workload *workload,
				const struct layout *layout)
{
	bool offloads =
		layout->offload == OFFLOAD_OPTIMIZER || layout->offload == OFFLOAD_PARAMETERS;

	if (offloads || layout->sharding == SHARDING_ZERO1 ||
	    (workload->stack == STACK_DEEPSPEED && layout->sharding != SHARDING_NONE))
		accelerate_deepspeed(run, layout);
	else if (is_sharded(layout))
		text_add(run,
			 " --use_fsdp --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP "
			 "--fsdp_sharding_strategy %s",
			 layout->sharding == SHARDING_ZERO2    ? "SHARD_GRAD_OP"
			 : layout->sharding == SHARDING_HYBRID ? "HYBRID_SHARD"
							       : "FULL_SHARD");
	else if (layout->gpus_per_node * layout->nodes > 1)
		text_add(run, " --multi_gpu");
}

/* In which type the weights are loaded: trl takes 32 bits unless told. */
static const char *trl_dtype(const struct workload *workload)
{
	if (workload->precision == PRECISION_AMP_FP16 && workload->method != METHOD_FULL)
		return "float16";
	if (workload->method == METHOD_FULL ? workload->precision == PRECISION_BF16
					    : workload->base_format != FORMAT_FP32)
		return "bfloat16";
	return "float32";
}

/* The Trainer's spelling; NULL where it has none. */
static const char *trainer_optimizer(int optimizer)
{
	static const char *const names[OPTIMIZERS] = {
		[OPTIMIZER_ADAMW] = "adamw_torch",
		[OPTIMIZER_ADAMW_8BIT] = "adamw_bnb_8bit",
		[OPTIMIZER_PAGED_ADAMW_8BIT] = "paged_adamw_8bit",
		[OPTIMIZER_PAGED_ADAMW] = "paged_adamw_32bit",
		[OPTIMIZER_ADAMW_4BIT] = "adamw_torch_4bit",
		[OPTIMIZER_ADAFACTOR] = "adafactor",
		[OPTIMIZER_SGD] = "sgd",
		[OPTIMIZER_LION] = "lion_32bit",
		[OPTIMIZER_GALORE_ADAMW] = "galore_adamw",
	};

	return names[optimizer];
}

static void adapter_flags(struct text *run, const struct workload *workload)
{
	static const char *const targets[LORA_TARGETS] = {
		[LORA_ATTENTION_QV] = "q_proj v_proj",
		[LORA_ATTENTION] = "q_proj k_proj v_proj o_proj",
		[LORA_MLP] = "gate_proj up_proj down_proj",
		[LORA_ALL_LINEAR] = "all-linear",
	};

	text_add(run, " \\\n  --use_peft --lora_r %lld --lora_alpha %lld --lora_target_modules %s",
		 (long long)workload->lora_rank, 2 * (long long)workload->lora_rank,
		 targets[workload->lora_targets]);
	if (workload->dora)
		text_add(run, " --use_dora");
	if (workload->train_embeddings)
		text_add(run, " --lora_modules_to_save embed_tokens lm_head");
	if (workload->method == METHOD_QLORA)
		text_add(run, " --load_in_4bit%s",
			 workload->base_format == FORMAT_NF4_DQ ? " --use_bnb_nested_quant" : "");
}

static void trl(struct text *run, const struct workload *workload, const struct plan *plan)
{
	const struct layout *layout = &plan->layout;
	const char *optimizer = trainer_optimizer(workload->optimizer);
	double steps = steps_of(workload, plan);

	text_add(run, "accelerate launch --num_processes %d --num_machines %d",
		 layout->gpus_per_node * layout->nodes, layout->nodes);
	if (layout->nodes > 1)
		text_add(run, " --machine_rank \"$NODE_RANK\" --main_process_ip \"$MASTER_ADDR\" "
			      "--main_process_port 29500");
	accelerate_sharding(run, workload, layout);
	text_add(run,
		 " \\\n  -m trl.scripts.sft --model_name_or_path \"$MODEL\" --dtype %s "
		 "--dataset_name \"$DATASET\" --output_dir output",
		 trl_dtype(workload));
	text_add(run,
		 " \\\n  --max_length %lld --per_device_train_batch_size %lld "
		 "--gradient_accumulation_steps %lld --gradient_checkpointing %s",
		 (long long)workload->sequence_length, (long long)layout->micro_batch,
		 (long long)layout->accumulation,
		 layout->recompute == RECOMPUTE_NONE ? "false" : "true");
	if (workload->precision == PRECISION_AMP_BF16 || workload->precision == PRECISION_BF16)
		text_add(run, " --bf16 true");
	else if (workload->precision == PRECISION_AMP_FP16)
		text_add(run, " --fp16 true");
	if (optimizer)
		text_add(run, " --optim %s", optimizer);
	if (workload->optimizer == OPTIMIZER_GALORE_ADAMW)
		text_add(run, " --optim_target_modules all-linear --optim_args rank=%lld",
			 (long long)workload->galore_rank);
	if (workload->packing)
		text_add(run, " --packing true");
	if (workload->cross_entropy != CROSS_ENTROPY_PLAIN)
		text_add(run, " --use_liger_kernel true");
	if (workload->method != METHOD_FULL)
		adapter_flags(run, workload);
	if (steps > 0)
		text_add(run, " --max_steps %.0f", steps);
	text_add(run, "\n");
}

static void megatron(struct text *run, const struct workload *workload, const struct plan *plan)
{
	const struct layout *layout = &plan->layout;
	double steps = steps_of(workload, plan);

	torchrun(run, layout);
	text_add(run,
		 " Megatron-LM/pretrain_gpt.py $MODEL_ARGS \\\n  --tensor-model-parallel-size %d "
		 "--pipeline-model-parallel-size %d --context-parallel-size %d "
		 "--expert-model-parallel-size %d%s",
		 layout->tensor_parallel, layout->pipeline_parallel, layout->context_parallel,
		 layout->expert_parallel, layout->sequence_parallel ? " --sequence-parallel" : "");
	text_add(run,
		 " \\\n  --seq-length %lld --micro-batch-size %lld --global-batch-size %lld --bf16",
		 (long long)workload->sequence_length, (long long)layout->micro_batch,
		 (long long)(layout->micro_batch * layout->accumulation * layout->data_parallel));
	if (layout->sharding != SHARDING_NONE)
		text_add(run, " --use-distributed-optimizer");
	if (layout->recompute == RECOMPUTE_FULL)
		text_add(run, " --recompute-granularity full --recompute-method uniform "
			      "--recompute-num-layers 1");
	else if (layout->recompute == RECOMPUTE_SELECTIVE)
		text_add(run, " --recompute-activations");
	if (workload->precision == PRECISION_FP8)
		text_add(run, " --fp8-format hybrid");
	if (workload->gradient_precision == GRADIENTS_HALF)
		text_add(run, " --grad-reduce-in-bf16");
	if (workload->pipeline_chunks > 1 && layout->pipeline_parallel > 1)
		text_add(run, " --num-virtual-stages-per-pipeline-rank %lld",
			 (long long)workload->pipeline_chunks);
	if (steps > 0)
		text_add(run, " --train-iters %.0f", steps);
	text_add(run, " --data-path \"$DATASET\"\n");
}

static void torchtitan(struct text *run, const struct workload *workload, const struct plan *plan)
{
	const struct layout *layout = &plan->layout;
	double steps = steps_of(workload, plan);
	/* Hybrid shards inside a machine and repeats over machines. */
	int repeated = !is_sharded(layout)		     ? layout->data_parallel
		       : layout->sharding == SHARDING_HYBRID ? layout->nodes
							     : 1;

	torchrun(run, layout);
	text_add(
		run,
		" -m torchtitan.train --job.config_file \"$CONFIG\" \\\n"
		"  --training.seq_len %lld --training.local_batch_size %lld "
		"--parallelism.tensor_parallel_degree %d --parallelism.pipeline_parallel_degree %d "
		"\\\n  --parallelism.data_parallel_shard_degree %d "
		"--parallelism.data_parallel_replicate_degree %d "
		"--activation_checkpoint.mode %s",
		(long long)workload->sequence_length, (long long)layout->micro_batch,
		layout->tensor_parallel, layout->pipeline_parallel,
		layout->data_parallel / repeated, repeated,
		names_text(&recompute_names, (int)layout->recompute));
	if (steps > 0)
		text_add(run, " --training.steps %.0f", steps);
	text_add(run, "\n");
}

void launch_train(struct text *run, const struct workload *workload, const struct plan *plan,
		  struct launch_run *out)
{
	bool is_adapted = workload->method == METHOD_LORA || workload->method == METHOD_QLORA;
	bool is_tuned =
		workload->task == TASK_FINETUNE && (is_adapted || workload->method == METHOD_FULL);

	/* Only the data-parallel layouts are what trl's command runs. */
	bool is_split = plan->layout.tensor_parallel * plan->layout.pipeline_parallel *
				plan->layout.context_parallel >
			1;

	out->needs_data = true;
	layout_comment(run, &plan->layout);
	if (workload->stack == STACK_MEGATRON) {
		out->setup = "git clone --depth 1 https://github.com/NVIDIA/Megatron-LM\n"
			     "pip install -U megatron-core\n";
		out->also = "MODEL_ARGS";
		out->also_is = "the arguments of the model: layers, widths, heads, tokenizer";
		megatron(run, workload, plan);
	} else if (workload->stack == STACK_TORCHTITAN) {
		out->setup = "pip install -U torchtitan\n";
		out->also = "CONFIG";
		out->also_is = "a torchtitan configuration of this model";
		out->needs_files = true;
		torchtitan(run, workload, plan);
	} else if (is_tuned && workload->stack != STACK_UNSLOTH && !is_split) {
		struct workload planned = *workload;

		/* What the support verdict promises of cards without bf16. */
		if (plan->support.code && strcmp(plan->support.code, "no_bf16") == 0)
			planned.precision = PRECISION_AMP_FP16;
		out->setup = "pip install -U trl peft accelerate bitsandbytes liger-kernel "
			     "deepspeed\n";
		trl(run, &planned, plan);
	} else {
		out->setup = workload->stack == STACK_UNSLOTH ? "pip install -U unsloth\n"
							      : "pip install -U transformers "
								"accelerate peft deepspeed\n";
		out->also = "SCRIPT";
		out->also_is = "your own training script, which reads MODEL and DATASET";
		out->needs_files = true;
		torchrun(run, &plan->layout);
		text_add(run, " \"$SCRIPT\"\n");
	}
}
