/*
 * Memory, the common part: what follows from the workload alone, bytes a parameter, and the three
 * named figures (allocated, reserved, device) with their range.
 */
#include "core/memory/internal.h"

#include "core/accuracy.h"
#include "core/extremes.h"
#include "core/fitted.h"
#include "core/units.h"

#include <math.h>
#include <string.h>

/* Linear weights of the token mixer of one layer. */
static double mixer_linear_parameters(const struct layer_kind *kind, double hidden)
{
	double heads = kind->heads, value = layer_value_dim(kind), once = 0;
	double input = kind->attention_input ? kind->attention_input : hidden;

	if (kind->attention == ATTENTION_LATENT) {
		double key = kind->nope_dim + kind->rope_dim;

		once = kind->q_rank ? hidden * kind->q_rank + kind->q_rank * heads * key
				    : hidden * heads * key;
		once += hidden * (kind->kv_rank + kind->rope_dim) +
			kind->kv_rank * heads * (kind->nope_dim + value) + heads * value * hidden;
	} else if (kind->attention == ATTENTION_GROUPED) {
		once = input * heads * kind->head_dim * (kind->query_gate ? 2 : 1) +
		       input * (double)kind->kv_heads * (kind->head_dim + value) +
		       heads * value * hidden;
		if (kind->has_cross_attention)
			once *= 2;
	}
	return once + (double)kind->mixer_parameters + (double)kind->extra_linear;
}

double memory_expert_parameters(const struct layer_kind *kind, int hidden)
{
	double width = kind->moe_hidden ? kind->moe_hidden : hidden;

	return (kind->gated ? 3.0 : 2.0) * width * kind->moe_ffn * kind->experts;
}

double memory_largest_matrix(const struct layer_kind *kind, int hidden)
{
	double widest = larger(kind->heads * (double)kind->head_dim, kind->ffn);

	if (kind->attention == ATTENTION_LATENT)
		widest = larger(widest, kind->heads * (double)layer_value_dim(kind));
	/* Experts are stored side by side, but each is a matrix of its own. */
	return hidden * larger(widest, larger(kind->moe_ffn, kind->shared_ffn));
}

double memory_layer_linear_parameters(const struct layer_kind *kind, int hidden)
{
	double mlp = (kind->gated ? 3.0 : 2.0) * hidden * ((double)kind->ffn + kind->shared_ffn);

	if (kind->reuses_weights)
		return (double)kind->mixer_parameters + (double)kind->extra_linear;
	return mixer_linear_parameters(kind, hidden) + mlp + memory_expert_parameters(kind, hidden);
}

double memory_layer_parameters(const struct layer_kind *kind, int hidden)
{
	return memory_layer_linear_parameters(kind, hidden) + (double)hidden * kind->experts +
	       (double)kind->extra_parameters;
}

/*
 * Optimizer states in bytes a parameter when kept in fp32: two moments for Adam, one for SGD with
 * momentum, Lion and Muon; quantised states with their block scales (facts/memory-notes.md 1: 8-bit
 * 2 B, 4-bit 1 B). Adafactor keeps a row and a column instead of a matrix: a thousandth of it.
 */
static double state_bytes(enum optimizer optimizer, double bytes_a_state)
{
	switch (optimizer) {
	case OPTIMIZER_ADAMW:
	case OPTIMIZER_PAGED_ADAMW:
	case OPTIMIZER_GALORE_ADAMW:
		return 2 * bytes_a_state;
	case OPTIMIZER_ADAMW_FP32:
		return 2 * 4;
	case OPTIMIZER_ADAMW_BF16:
		return 2 * 2;
	case OPTIMIZER_ADAMW_8BIT:
	case OPTIMIZER_PAGED_ADAMW_8BIT:
		return 2.03;
	case OPTIMIZER_ADAMW_4BIT:
		return 1.06;
	case OPTIMIZER_ADAFACTOR:
		return 0.004;
	case OPTIMIZER_SGD_MOMENTUM:
	case OPTIMIZER_LION:
	case OPTIMIZER_MUON:
		return bytes_a_state;
	case OPTIMIZER_SGD:
	case OPTIMIZERS:
	default:
		return 0;
	}
}

static bool is_paged(const struct workload *workload)
{
	return workload->optimizer == OPTIMIZER_PAGED_ADAMW ||
	       workload->optimizer == OPTIMIZER_PAGED_ADAMW_8BIT;
}

/* Weights, master weights and gradients of full training. */
static struct static_bytes full_bytes(const struct workload *workload, const struct layout *layout)
{
	bool is_fp16 = workload->precision == PRECISION_AMP_FP16;
	bool is_gathered = layout_shards_weights(layout);

	switch ((enum precision)workload->precision) {
	case PRECISION_AMP_BF16:
	case PRECISION_AMP_FP16:
		/* FSDP casts gathered layers only; Megatron and DeepSpeed keep 16-bit weights and
		 * gradients beside the fp32 master; autocast caches a 16-bit copy of every weight.
		 */
		if (workload->stack == STACK_TORCHTITAN ||
		    (workload->stack == STACK_HUGGINGFACE && is_gathered))
			return (struct static_bytes){4, 0, 4, 8, 0};
		if (is_fp16 &&
		    (workload->stack == STACK_MEGATRON || workload->stack == STACK_DEEPSPEED))
			return (struct static_bytes){2, 4, 2, 8, 0};
		return (struct static_bytes){2, 4, 4, 8, 0};
	case PRECISION_BF16_MASTER:
		/* DeepSpeed's bf16 optimizer accumulates in fp32 beside the bf16 gradients, but its
		 * ZeRO 2 and 3 keep the bf16 shard alone (ZeRO paper: 2 + 2 + 12). */
		if (workload->stack == STACK_DEEPSPEED)
			return (struct static_bytes){2, 4,
						     layout->sharding == SHARDING_NONE ||
								     layout->sharding ==
									     SHARDING_ZERO1
							     ? 6
							     : 2,
						     8, 0};
		return (struct static_bytes){2, 4, 4, 8, 0};
	case PRECISION_FP8:
		/* Where fp32 weights are kept they are cast while they are used. */
		if (workload->stack != STACK_MEGATRON && workload->stack != STACK_DEEPSPEED)
			return (struct static_bytes){4, 0, 4, 8, 0};
		/* fp8 weights, 16-bit gradients (MLPerf 405B: facts/memory-notes.md 1). */
		return (struct static_bytes){1, 4, 2, 8, 0};
	case PRECISION_BF16:
		return (struct static_bytes){2, 0, 2, 4, 0};
	case PRECISION_FP32:
	case PRECISIONS:
	default:
		return (struct static_bytes){4, 0, 4, 8, 0};
	}
}

struct static_bytes memory_static_bytes(const struct workload *workload,
					const struct layout *layout, bool adapters)
{
	bool is_fp32 = workload->precision == PRECISION_FP32;
	struct static_bytes bytes = full_bytes(workload, layout);

	/* DeepSpeed accumulates in fp32 beside its 16-bit gradients. */
	if (workload_has(workload, WORKLOAD_gradient_precision))
		bytes.gradients = workload->gradient_precision == GRADIENTS_HALF   ? 2
				  : workload->stack == STACK_DEEPSPEED && !is_fp32 ? 6
										   : 4;
	/* PEFT and torchtune train adapters in fp32 unless everything is bf16. */
	if (adapters)
		bytes = workload->precision == PRECISION_BF16
				? (struct static_bytes){2, 0, 2, 4, 0}
				: (struct static_bytes){4, 0, 4, 8, 0};
	bytes.optimizer = state_bytes((enum optimizer)workload->optimizer, bytes.optimizer / 2);
	/* Paged states lie in managed memory: the card holds them only while there is room. */
	if (is_paged(workload)) {
		bytes.host = bytes.optimizer;
		bytes.optimizer = 0;
	}
	return bytes;
}

/*
 * PEFT's prepare_model_for_kbit_training() turns what bitsandbytes leaves alone into fp32
 * (embeddings, head, norms), unless all is bf16. The residual stream follows the embeddings.
 */
bool memory_is_upcast(const struct workload *workload, enum format format)
{
	return workload->task == TASK_FINETUNE && workload_base_is_frozen(workload) &&
	       workload->stack == STACK_HUGGINGFACE && workload->precision != PRECISION_BF16 &&
	       format_is_bitsandbytes(format);
}

double memory_step_states(const struct workload *workload)
{
	bool is_adam = workload->optimizer == OPTIMIZER_ADAMW ||
		       workload->optimizer == OPTIMIZER_ADAMW_FP32 ||
		       workload->optimizer == OPTIMIZER_ADAMW_BF16;

	/* torch.optim.AdamW takes the square roots of all second moments at once unless it is
	 * fused: 7B in bf16 at 512 tokens reserves 73.4 GiB over 57.5 GiB of states (ms-swift's
	 * table). */
	return is_adam && workload->stack == STACK_HUGGINGFACE && !workload->optimizer_in_backward
		       ? 1
		       : 0;
}

void memory_prepare(const struct workload *workload, struct memory_basis *basis)
{
	const struct architecture *architecture = workload->architecture;

	*basis = (struct memory_basis){.workload = workload};
	architecture_count(architecture, &basis->parameters);
	basis->layers = architecture_layers(architecture);
	basis->accuracy = accuracy_of_memory(workload);
	for (int format = 0; format < FORMATS; format++)
		basis->weight_bytes[format] =
			architecture_weight_bytes(architecture, (enum format)format);
	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double parameters = memory_layer_parameters(kind, architecture->hidden);
		double linear = memory_layer_linear_parameters(kind, architecture->hidden);

		basis->expert_parameters +=
			kind->count * memory_expert_parameters(kind, architecture->hidden);
		basis->block_parameters += kind->count * parameters;
		basis->largest_layer_parameters =
			larger(basis->largest_layer_parameters, parameters);
		basis->layer_linear_parameters = larger(basis->layer_linear_parameters, linear);
		basis->largest_matrix = larger(basis->largest_matrix,
					       memory_largest_matrix(kind, architecture->hidden));
	}
	basis->block_parameters -= basis->expert_parameters;
	basis->trainable_parameters = (double)basis->parameters.total;
	basis->state_share = memory_state_share(workload, &basis->parameters);
	if (workload->task == TASK_FINETUNE && workload_base_is_frozen(workload)) {
		basis->adapter_parameters = memory_adapter_parameters(workload);
		if (workload->train_embeddings)
			basis->embedding_parameters =
				(double)(basis->parameters.embedding + basis->parameters.head);
		basis->trainable_parameters =
			basis->adapter_parameters + basis->embedding_parameters;
	}
	if (architecture->media)
		memory_media_prepare(basis);
	else if (workload->task != TASK_INFERENCE)
		memory_prepare_activations(workload, basis);
}

/*
 * CUDA context with the kernels of a full framework (facts/memory-notes.md 5: 0.47 GiB lazily
 * loaded to 0.92; cuBLAS workspaces on top), and a communicator where GPUs talk (NCCL 342-392 MB).
 */
FITTED(CONTEXT_BYTES, 0.55 * GIB, 0.4 * GIB, 0.95 * GIB);
/* With what the driver keeps to itself: 39.4 of 40.0 GiB. */
FITTED(TRAINING_CONTEXT_BYTES, 1.2 * GIB, 0.6 * GIB, 1.6 * GIB);
/* Of one kind of group: tensor, pipeline, data, context. */
FITTED(COMMUNICATOR_BYTES, 0.45 * GIB, 0.3 * GIB, 0.6 * GIB);

/* Reserved over allocated: facts/memory-notes.md 5 gives 1.02-1.20. */
FITTED(TRAINING_SLACK, 1.06, 1.02, 1.20);
/* FSDP gathers on a stream of its own, whose freed layers the pool keeps apart: copies of them
 * (fsdp_qlora's reserved over allocated: 1.24 where little but layers moves, 1.04 where much does).
 */
FITTED(GATHERED_COPIES, 1, 0.5, 2);
/* Flat buffers of many sizes: BLOOM's and Qwen's tables. */
FITTED(DEEPSPEED_SLACK, 1.14, 1.02, 1.25);
/* Weights stay where they were put: rounding each to blocks of 2 MiB wastes a few per cent at most.
 */
FITTED(SERVING_SLACK, 1.01, 1.002, 1.03);

/* A cache that grows by concatenation leaves its smaller predecessors in the pool
 * (facts/memory-notes.md 6.1: Qwen-7B 1.04 MB a token against 0.52). */
FITTED(GROWN_CACHE_SLACK, 0.9, 0.8, 1.0);

/* Phases with tensors of other sizes leave gaps; the pool grows by large blocks. */
FITTED(MEDIA_SLACK, 1.02, 1.01, 1.20);
/* The same in training, whose passes back free what the passes forward took in another order. */
FITTED(MEDIA_TRAINING_SLACK, 1.17, 1.02, 1.20);

static double slack(const struct workload *workload)
{
	if (workload->architecture->media)
		return workload->task == TASK_INFERENCE ? MEDIA_SLACK : MEDIA_TRAINING_SLACK;
	if (workload->task == TASK_INFERENCE)
		return SERVING_SLACK;
	return workload->stack == STACK_DEEPSPEED ? DEEPSPEED_SLACK : TRAINING_SLACK;
}

static double gathered_copies(const struct workload *workload, const struct memory_estimate *memory)
{
	bool is_apart = workload->task != TASK_INFERENCE &&
			(workload->stack == STACK_HUGGINGFACE || workload->stack == STACK_UNSLOTH);

	return is_apart ? GATHERED_COPIES * memory->communication_bytes : 0;
}

static int communicators(const struct layout *layout)
{
	return (layout->tensor_parallel > 1) + (layout->pipeline_parallel > 1) +
	       (layout->context_parallel > 1) + (layout->data_parallel > 1);
}

/* Sums up the terms. */
static void close_estimate(const struct memory_basis *basis, const struct layout *layout,
			   const struct accelerator *accelerator, struct memory_estimate *out)
{
	bool serving = basis->workload->task == TASK_INFERENCE;
	double spread = basis->workload->architecture->uncertainty;
	const struct accuracy *accuracy = basis->accuracy;

	out->framework_bytes += serving ? CONTEXT_BYTES : TRAINING_CONTEXT_BYTES;
	out->framework_bytes += COMMUNICATOR_BYTES * communicators(layout);
	out->allocated_bytes = out->weights_bytes + out->text_encoders_bytes + out->vae_bytes +
			       out->master_weights_bytes + out->gradients_bytes +
			       out->optimizer_bytes + out->optimizer_step_bytes +
			       out->activations_bytes + out->logits_bytes + out->kv_cache_bytes +
			       out->adapters_bytes + out->communication_bytes;
	out->reserved_bytes =
		(out->allocated_bytes + out->pool_left_bytes) * slack(basis->workload) +
		gathered_copies(basis->workload, out);
	if (serving && basis->workload->engine == ENGINE_TRANSFORMERS)
		out->reserved_bytes +=
			(out->kv_cache_bytes - out->source_cache_bytes) * GROWN_CACHE_SLACK;
	out->device_bytes = out->reserved_bytes + out->framework_bytes;
	if (accelerator && out->pool_growth_bytes > 0)
		out->pool_growth_bytes = larger(
			0, smaller(out->pool_growth_bytes,
				   accelerator_memory_bytes(accelerator) - out->device_bytes));
	out->low_bytes = out->device_bytes * smaller(1, accuracy->low - spread);
	out->high_bytes = out->device_bytes * larger(1, accuracy->high + spread);
}

void memory_estimate_load(const struct memory_basis *basis, const struct layout *layout,
			  const struct accelerator *accelerator, struct memory_copy *copy,
			  struct memory_estimate *out)
{
	*out = (struct memory_estimate){0};
	memory_serve_terms(basis, layout, accelerator, copy, out);
	close_estimate(basis, layout, accelerator, out);
}

void memory_estimate(const struct memory_basis *basis, const struct layout *layout,
		     const struct accelerator *accelerator, struct memory_estimate *out)
{
	bool serving = basis->workload->task == TASK_INFERENCE;
	struct memory_copy copy = {0};

	*out = (struct memory_estimate){0};
	if (basis->workload->architecture->media && serving)
		memory_media_terms(basis, layout, out);
	else if (basis->workload->architecture->media)
		memory_media_training_terms(basis, layout, out);
	else if (serving)
		memory_serve_terms(basis, layout, accelerator, &copy, out);
	else
		memory_training_terms(basis, layout, accelerator, out);
	close_estimate(basis, layout, accelerator, out);
}
