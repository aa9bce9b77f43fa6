/*
 * Memory, the common part: what follows from the workload alone, bytes a parameter, and the three
 * named figures (allocated, reserved, device) with their range.
 */
#include "core/memory/internal.h"

#include "core/accuracy.h"
#include "core/units.h"

#include <math.h>
#include <string.h>

/* Linear weights of the token mixer of one layer. */
static double mixer_linear_parameters(const struct layer_kind *kind, double hidden)
{
	double heads = kind->heads, value = layer_value_dim(kind), once = 0;

	if (kind->attention == ATTENTION_LATENT) {
		double key = kind->nope_dim + kind->rope_dim;

		once = kind->q_rank ? hidden * kind->q_rank + kind->q_rank * heads * key
				    : hidden * heads * key;
		once += hidden * (kind->kv_rank + kind->rope_dim) +
			kind->kv_rank * heads * (kind->nope_dim + value) + heads * value * hidden;
	} else if (kind->attention == ATTENTION_GROUPED) {
		once = hidden * heads * kind->head_dim * (kind->query_gate ? 2 : 1) +
		       hidden * (double)kind->kv_heads * (kind->head_dim + value) +
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
	double widest = fmax(kind->heads * (double)kind->head_dim, kind->ffn);

	if (kind->attention == ATTENTION_LATENT)
		widest = fmax(widest, kind->heads * (double)layer_value_dim(kind));
	/* Experts are stored side by side, but each is a matrix of its own. */
	return hidden * fmax(widest, fmax(kind->moe_ffn, kind->shared_ffn));
}

double memory_layer_linear_parameters(const struct layer_kind *kind, int hidden)
{
	double mlp = (kind->gated ? 3.0 : 2.0) * hidden * ((double)kind->ffn + kind->shared_ffn);

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
		return 2 * bytes_a_state;
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

	switch ((enum precision)workload->precision) {
	case PRECISION_AMP_BF16:
	case PRECISION_AMP_FP16:
		/* FSDP2 casts gathered layers only; Megatron and DeepSpeed keep 16-bit weights and
		 * gradients beside the fp32 master; autocast caches a 16-bit copy of every weight.
		 */
		if (workload->stack == STACK_TORCHTITAN)
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
	struct static_bytes bytes = full_bytes(workload, layout);

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
	bool is_bitsandbytes =
		format == FORMAT_NF4 || format == FORMAT_NF4_DQ || format == FORMAT_FP4;

	return workload->task == TASK_FINETUNE && workload_base_is_frozen(workload) &&
	       workload->stack == STACK_HUGGINGFACE && workload->precision != PRECISION_BF16 &&
	       is_bitsandbytes;
}

double memory_step_states(const struct workload *workload)
{
	bool is_adam = workload->optimizer == OPTIMIZER_ADAMW;

	/* torch.optim.AdamW takes the square roots of all second moments at once unless it is
	 * fused: 7B in bf16 at 512 tokens reserves 73.4 GiB over 57.5 GiB of states (ms-swift's
	 * table). */
	return is_adam && workload->stack == STACK_HUGGINGFACE ? 1 : 0;
}

void memory_prepare(const struct workload *workload, struct memory_basis *basis)
{
	const struct architecture *architecture = workload->architecture;

	*basis = (struct memory_basis){.workload = workload};
	architecture_count(architecture, &basis->parameters);
	basis->layers = architecture_layers(architecture);
	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double parameters = memory_layer_parameters(kind, architecture->hidden);
		double linear = memory_layer_linear_parameters(kind, architecture->hidden);

		basis->expert_parameters +=
			kind->count * memory_expert_parameters(kind, architecture->hidden);
		basis->block_parameters += kind->count * parameters;
		basis->largest_layer_parameters = fmax(basis->largest_layer_parameters, parameters);
		basis->layer_linear_parameters = fmax(basis->layer_linear_parameters, linear);
		basis->largest_matrix = fmax(basis->largest_matrix,
					     memory_largest_matrix(kind, architecture->hidden));
	}
	basis->block_parameters -= basis->expert_parameters;
	basis->trainable_parameters = (double)basis->parameters.total;
	if (workload->task == TASK_FINETUNE && workload_base_is_frozen(workload)) {
		basis->adapter_parameters = memory_adapter_parameters(workload);
		basis->trainable_parameters = basis->adapter_parameters;
	}
	if (workload->task != TASK_INFERENCE)
		memory_prepare_activations(workload, basis);
}

/*
 * CUDA context with the kernels of a full framework (facts/memory-notes.md 5: 0.47 GiB lazily
 * loaded to 0.92; cuBLAS workspaces on top), and a communicator where GPUs talk (NCCL 342-392 MB).
 */
#define CONTEXT_BYTES (0.55 * GIB)
#define TRAINING_CONTEXT_BYTES                                                                     \
	(1.2 * GIB) /* with what the driver keeps to itself: 39.4 of 40.0 GiB */
#define COMMUNICATOR_BYTES                                                                         \
	(0.45 * GIB) /* of one kind of group: tensor, pipeline, data, context                      \
		      */

/* Reserved over allocated: facts/memory-notes.md 5 gives 1.02-1.20. */
#define TRAINING_SLACK 1.06
#define GATHERED_SLACK                                                                             \
	1.15 /* layers come and go: fsdp_qlora's reserved over allocated, 1.24 at most */
#define DEEPSPEED_SLACK 1.14 /* flat buffers of many sizes: BLOOM's and Qwen's tables */
#define SERVING_SLACK 1.01

/* Growth over the logits' buffers, the largest that vary: ms-swift's length sweeps, 1.8B to 14B,
 * dynamically padded: 1.5-1.9 up to 2,048 tokens, less where samples do not reach the limit. */
#define POOL_GROWTH 1.35

/* A cache that grows by concatenation leaves its smaller predecessors in the pool
 * (facts/memory-notes.md 6.1: Qwen-7B 1.04 MB a token against 0.52). */
#define GROWN_CACHE_SLACK 0.9

static double slack(const struct workload *workload, const struct layout *layout)
{
	bool is_gathered =
		layout->sharding == SHARDING_ZERO3 || layout->sharding == SHARDING_HYBRID;

	if (workload->task == TASK_INFERENCE)
		return SERVING_SLACK;
	if (workload->stack == STACK_DEEPSPEED)
		return DEEPSPEED_SLACK;
	return is_gathered && workload->stack != STACK_TORCHTITAN ? GATHERED_SLACK : TRAINING_SLACK;
}

static int communicators(const struct layout *layout)
{
	return (layout->tensor_parallel > 1) + (layout->pipeline_parallel > 1) +
	       (layout->context_parallel > 1) + (layout->data_parallel > 1);
}

void memory_estimate(const struct memory_basis *basis, const struct layout *layout,
		     const struct accelerator *accelerator, struct memory_estimate *out)
{
	bool serving = basis->workload->task == TASK_INFERENCE;
	double spread = basis->workload->architecture->uncertainty;
	const struct accuracy *accuracy = accuracy_of_memory(basis->workload);

	*out = (struct memory_estimate){0};
	if (serving)
		memory_serve_terms(basis, layout, accelerator, out);
	else
		memory_training_terms(basis, layout, accelerator, out);
	out->framework_bytes += serving ? CONTEXT_BYTES : TRAINING_CONTEXT_BYTES;
	out->framework_bytes += COMMUNICATOR_BYTES * communicators(layout);
	out->allocated_bytes = out->weights_bytes + out->master_weights_bytes +
			       out->gradients_bytes + out->optimizer_bytes +
			       out->activations_bytes + out->logits_bytes + out->kv_cache_bytes +
			       out->adapters_bytes + out->communication_bytes;
	out->reserved_bytes = out->allocated_bytes * slack(basis->workload, layout);
	if (serving && basis->workload->engine == ENGINE_TRANSFORMERS)
		out->reserved_bytes += out->kv_cache_bytes * GROWN_CACHE_SLACK;
	out->device_bytes = out->reserved_bytes + out->framework_bytes;
	if (!serving && !basis->workload->packing)
		out->pool_growth_bytes = POOL_GROWTH * out->logits_bytes;
	if (accelerator)
		out->pool_growth_bytes =
			fmax(0, fmin(out->pool_growth_bytes,
				     accelerator_memory_bytes(accelerator) - out->device_bytes));
	out->low_bytes = out->device_bytes * fmin(1, accuracy->low - spread);
	out->high_bytes = out->device_bytes * fmax(1, accuracy->high + spread);
}
