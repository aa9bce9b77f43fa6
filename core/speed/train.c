/*
 * Speed of training: one optimizer step.
 *
 * Matrices: F forward, 2F backward (1F for a frozen base: no weight gradients), F more where all is
 * recomputed, at the rate that the arithmetic reaches in matrices of their size. Attention: 1
 * forward and 2.5 backward, in 16 bit, at a rate of its own. What moves between them (norms,
 * activations, routing, the loss) is memory traffic and adds to both. Kernel launches run beside
 * the GPU and count only where they take longer. All GPUs wait for the slowest. Traffic of data
 * parallelism hides behind the passes as far as they last; the pipeline adds (p - 1) / m of the
 * ideal time, divided by the chunks of an interleaved schedule, which needs as many micro-batches
 * as stages.
 */
#include "core/speed/internal.h"

#include "core/extremes.h"
#include "core/fitted.h"

#include <math.h>

/* A stack's own share of what matrices reach, and its habits. */
struct stack_speed {
	double attention;      /* of the ceiling of attention: kernels of the day or older ones */
	double matrix;	       /* of the ceiling, all layers of a step */
	double traffic;	       /* unfused kernels move more */
	double launch_seconds; /* host time a layer, forward and backward */
	double chunks;	       /* of an interleaved pipeline */
};

FITTED_TABLE struct stack_speed stack_speeds[STACKS] = {
	[STACK_HUGGINGFACE] = {0.66, 0.78, 1.5, 3.7e-3, 1},
	[STACK_TORCHTITAN] = {0.50, 0.85, 1.1, 0.6e-3, 1},
	[STACK_MEGATRON] = {0.90, 0.89, 0.95, 0.5e-3, 5},
	[STACK_DEEPSPEED] = {0.66, 0.78, 1.5, 3.7e-3, 1},
	[STACK_UNSLOTH] = {0.75, 0.83, 1.0, 1.5e-3, 1},
};
/* FlashAttention-2 reaches 0.37 of a Hopper's peak, its successors 0.55 to 0.65 (notes 7), over a
 * ceiling of 0.5. */
FITTED_COLUMN(stack_speeds, attention, 0.45, 0.9);
FITTED_CELL(stack_speeds[STACK_MEGATRON].attention, 0.7, 1.2);
FITTED_COLUMN(stack_speeds, matrix, 0.6, 1.0);
FITTED_COLUMN(stack_speeds, traffic, 0.8, 2.0);
/* Compiled or with fused kernels; eager: some 200 kernels a layer and micro-batch at 10 to 40 us.
 */
FITTED_COLUMN(stack_speeds, launch_seconds, 0.2e-3, 2e-3);
FITTED_CELL(stack_speeds[STACK_HUGGINGFACE].launch_seconds, 2e-3, 8e-3);
FITTED_CELL(stack_speeds[STACK_DEEPSPEED].launch_seconds, 2e-3, 8e-3);
FITTED_CELL(stack_speeds[STACK_MEGATRON].chunks, 2, 8);

/* Between steps: next batch, zeroed gradients, norms, logs. */
FITTED(STEP_OVERHEAD_SECONDS, 15e-3, 1e-3, 50e-3);
/* Share of a pass that gradient and gather traffic can hide behind; DeepSpeed gathers a module's
 * weights when the host comes to it (Qwen-72B with LoRA over ZeRO-3: 256 to 2,048 tokens take 1.7 s
 * more than on one GPU). */
FITTED(OVERLAP, 0.6, 0.3, 1.0);
FITTED(GATHER_OVERLAP, 0.2, 0.1, 0.6);
/* Hidden traffic still takes cores and bandwidth from the passes: of its time. */
FITTED(INTERFERENCE, 0.15, 0.03, 0.3);
/* DeepSpeed's hooks on every trained parameter: host time a layer and micro-batch. */
FITTED(HOOK_SECONDS, 6.7e-3, 2e-3, 15e-3);
/* Standard deviation of the speed of equal GPUs: a step lasts as long as the slowest of n takes,
 * sqrt(2 ln n) deviations out. */
FITTED(SPREAD, 0.009, 0.002, 0.02);
/* Small matrices fill the card badly, the more so the faster it is: the hidden size, and the
 * elements of an output (tokens x width on one GPU), that reach half of the rate on a card of 312
 * TFLOP/s. */
FITTED(HALF_HIDDEN, 125, 50, 800);
FITTED(HALF_OUTPUT, 512e3, 64e3, 2e6);
#define HALF_FLOPS 312e12
/* The same of an expert, whose weights are read for its few tokens alone: tokens x the geometric
 * mean of its widths; half of it grows as fast as the card. */
FITTED(HALF_EXPERT_OUTPUT, 375e3, 64e3, 2e6);
/* Scores of attention that is not fused: written, read and written by the softmax, dropped out,
 * read again. */
FITTED(SCORE_BYTES, 11, 4, 16);
/* Loss over the vocabulary: bytes a token and entry, moved forward and backward. */
FITTED(LOSS_BYTES, 40, 20, 60);
FITTED(FUSED_LOSS_BYTES, 12, 4, 20);
/* Unpacking one 4-bit weight: read half a byte, write and read two, at a little more than half of
 * the bandwidth (litgpt's nf4 over bf16 on an A100: 6 to 7.5 ps a weight and pass); integer formats
 * without a kernel for training take several passes (Qwen's GPTQ rows: 12 ps). */
FITTED(DEQUANTISE_BYTES, 10, 4.5, 16);
FITTED(DEQUANTISE_INTEGER_BYTES, 20, 8, 40);
/* A quantised layer launches an unpacking kernel for each of its own (Qwen's Q-LoRA over LoRA at
 * 256 tokens, where both are bound by launches: 1.4 s against 1.0). */
FITTED(PACKED_LAUNCH, 1.45, 1.1, 2.5);
/* An expert's weights a micro-batch: read in three passes, gradients of 32 bit added to. */
FITTED(EXPERT_BYTES, 14, 8, 24);
/* Routing, permuting and grouped matrices: host time a layer with experts, forward and backward
 * (Megatron-Bridge at micro-batch 1: 4.7 to 6 ms on Blackwell whatever the experts' size). */
FITTED(EXPERT_LAUNCH_SECONDS, 5.3e-3, 1e-3, 10e-3);
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

double speed_unpack_bytes(enum format format)
{
	return format_is_packed_integer(format) || format_is_gguf(format) ? DEQUANTISE_INTEGER_BYTES
									  : DEQUANTISE_BYTES;
}

/* Bytes that one micro-batch moves on one GPU. */
static double micro_bytes(const struct speed_basis *basis, const struct layout *layout,
			  const struct passes *passes, double tokens)
{
	const struct workload *workload = basis->workload;
	double model = (double)layout->tensor_parallel * layout->pipeline_parallel;
	double loss =
		workload->architecture->vocab *
		(workload->cross_entropy != CROSS_ENTROPY_PLAIN || workload->stack == STACK_MEGATRON
			 ? FUSED_LOSS_BYTES
			 : LOSS_BYTES);
	double bytes =
		tokens / layout->context_parallel *
		(basis->traffic_bytes * passes->traffic * stack_speeds[workload->stack].traffic +
		 loss * basis->scored_share) /
		model;
	enum format format = base_format(layout);

	if (!workload->fused_attention)
		bytes += tokens / layout->context_parallel / model * passes->traffic *
			 basis->score_elements * SCORE_BYTES;
	if (is_frozen(workload) && workload->stack != STACK_UNSLOTH &&
	    workload->stack != STACK_MEGATRON)
		bytes += tokens / layout->context_parallel / model * passes->traffic *
			 ADAPTER_BYTES * basis->adapter_sides;
	/* A dense matrix is read once for thousands of tokens, an expert's for a few. */
	bytes += (double)basis->parameters.experts * EXPERT_BYTES /
		 (layout->pipeline_parallel * layout->expert_parallel *
		  (layout->expert_tensor_parallel ? layout->expert_tensor_parallel
						  : layout->tensor_parallel));
	if (is_frozen(workload) && is_packed(layout))
		bytes += (double)basis->parameters.linear / model * passes->matrix *
			 speed_unpack_bytes(format);
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

double speed_side_scale(double peak_flops)
{
	return cbrt(peak_flops / HALF_FLOPS);
}

/* Share of their rate that matrices as narrow as the model reach. */
static double width_fill(const struct speed_basis *basis)
{
	double hidden = basis->workload->architecture->hidden;

	return hidden / (hidden + HALF_HIDDEN * basis->side_scale);
}

/* The same for matrices of so many tokens. */
static double matrix_fill(const struct speed_basis *basis, const struct layout *layout, double rows)
{
	double output = rows * basis->workload->architecture->hidden / layout->tensor_parallel;
	double faster = basis->side_scale;

	return output / (output + HALF_OUTPUT * faster * faster);
}

/* The same of experts, in each of which the tokens of all GPUs meet that share them. */
static double expert_fill(const struct speed_basis *basis, const struct layout *layout, double rows)
{
	double split = layout->expert_tensor_parallel ? layout->expert_tensor_parallel
						      : layout->tensor_parallel;
	double met = rows * split / layout->tensor_parallel * layout->expert_parallel *
		     basis->experts_chosen / basis->experts;
	double output =
		met * sqrt(basis->expert_width * basis->workload->architecture->hidden) / split;

	return output / (output + HALF_EXPERT_OUTPUT * basis->peak_flops / HALF_FLOPS);
}

static double compute_seconds(const struct speed_basis *basis, const struct layout *layout,
			      const struct passes *passes, double tokens)
{
	const struct stack_speed *stack = &stack_speeds[basis->workload->stack];
	double rows = tokens / layout->context_parallel;
	double flops =
		(basis->linear_flops - basis->expert_flops) / matrix_fill(basis, layout, rows);

	if (basis->experts > 0)
		flops += basis->expert_flops / expert_fill(basis, layout, rows);
	return tokens / layout_gpus_per_replica(layout) *
	       (flops * passes->matrix /
			(basis->compute_flops * stack->matrix * width_fill(basis)) +
		basis->pass_attention * passes->attention /
			(basis->attention_flops * stack->attention));
}

/* Host time of one micro-batch on one stage. */
static double launch_seconds(const struct speed_basis *basis, const struct layout *layout,
			     const struct passes *passes)
{
	const struct workload *workload = basis->workload;
	double layers =
		architecture_blocks(workload->architecture) / 2.0 / layout->pipeline_parallel;
	double layer = stack_speeds[workload->stack].launch_seconds;

	if (basis->experts > 0)
		return layers * larger(EXPERT_LAUNCH_SECONDS, layer);
	layer *= passes->traffic / 3;
	if (is_frozen(workload) && is_packed(layout))
		layer *= PACKED_LAUNCH;
	if (!is_frozen(workload) && workload->stack == STACK_DEEPSPEED)
		layer += HOOK_SECONDS;
	return layers * layer;
}

/* Passes that the GPUs of a pipeline wait in a step. */
static double idle_passes(const struct speed_basis *basis, const struct layout *layout)
{
	const struct workload *workload = basis->workload;
	double chunks = workload_has(workload, WORKLOAD_pipeline_chunks)
				? (double)workload->pipeline_chunks
				: stack_speeds[workload->stack].chunks;
	double layers = larger(1, basis->layers / layout->pipeline_parallel);
	bool interleaves = layout->accumulation >= layout->pipeline_parallel;

	return (layout->pipeline_parallel - 1) / (interleaves ? smaller(chunks, layers) : 1);
}

/* What traffic of data parallelism adds to a step: what no pass hides, or its interference. Other
 * traffic (`model` seconds of a pass) hides none. Gradients that are reduced once a step come with
 * the last pass; what is gathered, with each. */
static double exposed_seconds(const struct workload *workload, const struct layout *layout,
			      double data, double pass, double model)
{
	bool is_gathered = layout_shards_weights(layout);
	bool is_each = is_gathered || layout->sharding == SHARDING_ZERO2;
	double overlap =
		workload->stack == STACK_DEEPSPEED && is_gathered ? GATHER_OVERLAP : OVERLAP;

	return larger(INTERFERENCE * data,
		      data - smaller(overlap * pass, pass - model) *
				      (is_each ? (double)layout->accumulation : 1));
}

/* A step takes no less than its samples take to load. */
static void wait_for_data(const struct workload *workload, struct speed_estimate *out)
{
	double loading = out->tokens_per_step / workload_sequence_tokens(workload) /
			 workload->samples_per_second;

	if (loading > out->step.seconds) {
		out->step.seconds = loading;
		out->step.bottleneck = BOTTLENECK_DATA_LOADING;
	}
}

void speed_training(const struct speed_basis *basis, const struct layout *layout,
		    const struct fabric *fabric, struct speed_estimate *out)
{
	const struct workload *workload = basis->workload;
	double tokens = (double)layout->micro_batch * workload_sequence_tokens(workload);
	double micro_batches = (double)layout->accumulation;
	double gpus = (double)layout->gpus_per_node * layout->nodes;
	struct passes passes = passes_of(workload, layout);
	struct speed_phase *step = &out->step;
	double compute, memory, launch, model, pass, update;
	struct traffic traffic;

	compute = compute_seconds(basis, layout, &passes, tokens);
	memory = micro_bytes(basis, layout, &passes, tokens) / basis->memory_bytes_per_second;
	launch = launch_seconds(basis, layout, &passes);
	speed_traffic(basis, layout, fabric, passes.matrix, &traffic, &out->link_is_assumed);
	model = traffic.tensor + traffic.experts + traffic.context;
	pass = larger(compute + memory + model, launch) * (1 + SPREAD * sqrt(2 * log(gpus)));
	update = optimizer_bytes(basis, layout) / basis->memory_bytes_per_second;

	step->compute_seconds = compute * micro_batches;
	step->memory_seconds = memory * micro_batches + update;
	step->overhead_seconds = STEP_OVERHEAD_SECONDS;
	/* Then faster cards and links would only wait longer for the host. */
	if (launch > compute + memory + model)
		step->overhead_seconds += launch * micro_batches;
	step->communication_seconds = model * micro_batches + traffic.data + traffic.host;
	step->seconds = pass * (micro_batches + idle_passes(basis, layout)) + update +
			traffic.host + STEP_OVERHEAD_SECONDS +
			exposed_seconds(workload, layout, traffic.data, pass, model);
	out->tokens_per_step = tokens * micro_batches * layout->data_parallel;
	speed_phase_close(step);
	if (workload->samples_per_second > 0)
		wait_for_data(workload, out);
	out->tokens_per_second = out->tokens_per_step / step->seconds;
	/* A frozen base has no weight gradients: two passes are all that its result needs. */
	out->mfu = out->tokens_per_second * (is_frozen(workload) ? 2 : 3) *
		   (basis->linear_flops + basis->pass_attention) / gpus / basis->highest_flops;
	out->bottleneck = step->bottleneck;
}

/* A full card that waits for nothing, with nothing recomputed. */
double speed_least_training(const struct speed_basis *basis)
{
	const struct stack_speed *stack = &stack_speeds[basis->workload->stack];
	const struct layout layout = {.recompute = RECOMPUTE_NONE};
	struct passes passes = passes_of(basis->workload, &layout);

	return basis->linear_flops * passes.matrix /
		       (basis->compute_flops * stack->matrix * width_fill(basis)) +
	       basis->pass_attention * passes.attention /
		       (basis->attention_flops * stack->attention) +
	       basis->traffic_bytes * passes.traffic * stack->traffic /
		       basis->memory_bytes_per_second;
}
