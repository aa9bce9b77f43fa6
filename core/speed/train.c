/*
 * Speed of training: one optimizer step.
 *
 * Matrices: F forward, 2F backward (1F for a frozen base: no weight gradients), F more where all is
 * recomputed, at the rate that the arithmetic reaches. Attention: 1 forward and 2.5 backward, in 16
 * bit, at a rate of its own. What moves between them (norms, activations, routing, the loss) is
 * memory traffic and adds to both. Kernel launches run beside the GPU and count only where they
 * take longer. Traffic of data parallelism hides behind the passes as far as they last; the
 * pipeline adds (p - 1) / m of the ideal time, divided by the chunks of an interleaved schedule.
 */
#include "core/speed/internal.h"

#include <math.h>

/* A stack's own share of what matrices reach, and its habits. */
struct stack_speed {
	double attention;      /* of the ceiling of attention: kernels of the day or older ones */
	double matrix;	       /* of the ceiling, all layers of a step */
	double traffic;	       /* unfused kernels move more */
	double launch_seconds; /* host time a layer, forward and backward */
	double chunks;	       /* of an interleaved pipeline */
};

static const struct stack_speed stack_speeds[STACKS] = {
	[STACK_HUGGINGFACE] = {0.70, 0.75, 1.6, 4.5e-3, 1},
	[STACK_TORCHTITAN] = {0.70, 0.80, 1.0, 0.6e-3, 1},
	[STACK_MEGATRON] = {1.0, 0.83, 1.0, 0.4e-3, 5},
	[STACK_DEEPSPEED] = {0.70, 0.75, 1.6, 4.5e-3, 1},
	[STACK_UNSLOTH] = {0.75, 0.80, 1.0, 1.5e-3, 1},
};

#define STEP_OVERHEAD_SECONDS 5e-3
/* Share of a pass that gradient and gather traffic can hide behind. */
#define OVERLAP 0.8
/* Small matrices fill the card badly, the more so the faster it is: the hidden size that reaches
 * half of the rate, on a card of 312 TFLOP/s. */
#define HALF_HIDDEN 200.0
#define HALF_HIDDEN_FLOPS 312e12
/* Loss over the vocabulary: bytes a token and entry, moved forward and backward. */
#define LOSS_BYTES 40.0
#define FUSED_LOSS_BYTES 12.0
/* Unpacking one 4-bit weight: read half a byte, write and read two; integer formats without a
 * kernel for training take several passes (Qwen's GPTQ rows: 12 ps a weight on an A100). */
#define DEQUANTISE_BYTES 5.0
#define DEQUANTISE_INTEGER_BYTES 19.0
/* A quantised layer launches an unpacking kernel for each of its own (Qwen's Q-LoRA over LoRA at
 * 256 tokens, where both are bound by launches: 1.4 s against 1.0). */
#define PACKED_LAUNCH 1.4
/* An expert's weights a micro-batch: read in three passes, gradients of 32 bit added to. */
#define EXPERT_BYTES 14.0
/* Routing, permuting and grouped matrices: host time a layer with experts, forward and backward
 * (Megatron-Bridge at micro-batch 1: 4.7 to 6 ms on Blackwell whatever the experts' size). */
#define EXPERT_LAUNCH_SECONDS 4.7e-3
/* An adapter beside a matrix that is not fused with it: its input is read once more, its output
 * written, read again and added: bytes for every element of in and out of its target. */
#define ADAPTER_BYTES 4.0
/* Backward pass of fused attention over its forward pass: it recomputes the scores. */
#define ATTENTION_BACKWARD 2.5

struct passes {
	double matrix, attention, traffic;
};

static bool is_frozen(const struct workload *workload)
{
	return workload->task == TASK_FINETUNE && workload_base_is_frozen(workload);
}

static enum format base_format(const struct layout *layout)
{
	return layout->weight_format == FORMAT_AUTO ? FORMAT_BF16 : layout->weight_format;
}

static bool is_packed(const struct layout *layout)
{
	return format_facts(base_format(layout))->linear_bits < 8;
}

static struct passes passes_of(const struct workload *workload, const struct layout *layout)
{
	struct passes passes = {is_frozen(workload) ? 2 : 3, 1 + ATTENTION_BACKWARD, 3};

	if (layout->recompute == RECOMPUTE_FULL) {
		passes.matrix += 1;
		passes.attention += 1;
		passes.traffic += 1;
	} else if (layout->recompute == RECOMPUTE_SELECTIVE) {
		passes.traffic += 0.5;
		passes.matrix += workload->stack == STACK_TORCHTITAN ? 0.3 : 0;
	}
	return passes;
}

/* Bytes that one micro-batch moves on one GPU. */
static double micro_bytes(const struct speed_basis *basis, const struct layout *layout,
			  const struct passes *passes, double tokens)
{
	const struct workload *workload = basis->workload;
	double model = (double)layout->tensor_parallel * layout->pipeline_parallel;
	double loss = workload->architecture->vocab *
		      (workload->fused_cross_entropy || workload->stack == STACK_MEGATRON
			       ? FUSED_LOSS_BYTES
			       : LOSS_BYTES);
	double bytes =
		tokens / layout->context_parallel *
		(basis->traffic_bytes * passes->traffic * stack_speeds[workload->stack].traffic +
		 loss) /
		model;
	enum format format = base_format(layout);

	if (is_frozen(workload) && workload->stack != STACK_UNSLOTH &&
	    workload->stack != STACK_MEGATRON)
		bytes += tokens / layout->context_parallel / model * passes->traffic *
			 ADAPTER_BYTES * basis->adapter_sides;
	/* A dense matrix is read once for thousands of tokens, an expert's for a few. */
	bytes += (double)basis->parameters.experts * EXPERT_BYTES /
		 (layout->pipeline_parallel * layout->expert_parallel *
		  (layout->expert_tensor_parallel ? layout->expert_tensor_parallel
						  : layout->tensor_parallel));
	if (workload->architecture->modality == MODALITY_EMBEDDING)
		bytes -= tokens * loss / model;
	if (is_frozen(workload) && is_packed(layout)) {
		bool is_integer =
			format == FORMAT_GPTQ || format == FORMAT_AWQ || format == FORMAT_INT4;

		bytes += (double)basis->parameters.linear / model * passes->matrix *
			 (is_integer ? DEQUANTISE_INTEGER_BYTES : DEQUANTISE_BYTES);
	}
	return bytes;
}

/* Weights, gradients and states are read and written once a step. */
static double optimizer_bytes(const struct speed_basis *basis, const struct layout *layout)
{
	double mine = (double)basis->parameters.total /
		      (layout->tensor_parallel * layout->pipeline_parallel);

	if (is_frozen(basis->workload) || layout->offload != OFFLOAD_NONE)
		return 0;
	if (layout->sharding != SHARDING_NONE)
		mine /= layout->data_parallel;
	return mine * 34;
}

void speed_training(const struct speed_basis *basis, const struct layout *layout,
		    const struct fabric *fabric, struct speed_estimate *out)
{
	const struct workload *workload = basis->workload;
	const struct architecture *architecture = workload->architecture;
	const struct stack_speed *stack = &stack_speeds[workload->stack];
	double sequence = (double)workload->sequence_length,
	       tokens = (double)layout->micro_batch * sequence;
	double ways = (double)layout_gpus_per_replica(layout),
	       micro_batches = (double)layout->accumulation;
	double attention_flops =
		architecture_forward_flops(architecture, sequence / 2) - basis->linear_flops;
	double layers = (double)architecture_layers(architecture) / layout->pipeline_parallel;
	double shape =
		architecture->hidden /
		(architecture->hidden + HALF_HIDDEN * cbrt(basis->peak_flops / HALF_HIDDEN_FLOPS));
	struct passes passes = passes_of(workload, layout);
	struct speed_phase *step = &out->step;
	double compute, memory, launch, pass, bubble, update;
	struct traffic traffic;

	compute =
		tokens / ways *
		(basis->linear_flops * passes.matrix /
			 (basis->compute_flops * stack->matrix * shape) +
		 attention_flops * passes.attention / (basis->attention_flops * stack->attention));
	memory = micro_bytes(basis, layout, &passes, tokens) / basis->memory_bytes_per_second;
	launch = layers * stack->launch_seconds * passes.traffic / 3;
	if (basis->parameters.experts > 0)
		launch = layers * fmax(EXPERT_LAUNCH_SECONDS, stack->launch_seconds);
	if (is_frozen(workload) && is_packed(layout))
		launch *= PACKED_LAUNCH;
	speed_traffic(basis, layout, fabric, passes.matrix, &traffic, &out->link_is_assumed);
	pass = fmax(compute + memory + traffic.tensor + traffic.experts, launch);
	bubble = pass * (layout->pipeline_parallel - 1) / fmin(stack->chunks, fmax(1, layers));
	update = optimizer_bytes(basis, layout) / basis->memory_bytes_per_second;

	step->compute_seconds = compute * micro_batches;
	step->memory_seconds = memory * micro_batches + update;
	step->overhead_seconds =
		fmax(0, launch - (compute + memory)) * micro_batches + STEP_OVERHEAD_SECONDS;
	step->communication_seconds =
		(traffic.tensor + traffic.experts) * micro_batches + traffic.data + traffic.host;
	step->seconds = pass * micro_batches + bubble + update + traffic.host +
			STEP_OVERHEAD_SECONDS +
			fmax(0, traffic.data - OVERLAP * pass * micro_batches);
	out->tokens_per_step = tokens * micro_batches * layout->data_parallel;
	speed_phase_close(step);
	if (workload->samples_per_second > 0) {
		double loading = out->tokens_per_step / sequence / workload->samples_per_second;

		if (loading > step->seconds) {
			step->seconds = loading;
			step->bottleneck = BOTTLENECK_DATA_LOADING;
		}
	}
	out->tokens_per_second = out->tokens_per_step / step->seconds;
	/* A frozen base has no weight gradients: two passes are all that its result needs. */
	out->mfu = out->tokens_per_second * (is_frozen(workload) ? 2 : 3) *
		   (basis->linear_flops + attention_flops) /
		   (layout->gpus_per_node * layout->nodes) / basis->peak_flops;
	out->bottleneck = step->bottleneck;
}
