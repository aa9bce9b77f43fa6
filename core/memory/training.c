/*
 * Memory of training: weights, master weights, gradients and optimizer states under tensor,
 * pipeline and expert parallelism, ZeRO and FSDP shards with their gather buffers, and host
 * offload.
 *
 * The peak is the largest of four moments: the loss (everything saved, logits), the backward pass
 * of the first layer it meets (everything saved, that layer's working set), its end (all
 * gradients), and the optimizer step (its temporaries). Gradients that are freed between steps are
 * not there at the first two. `activations`, `logits` and `optimizer_step` are what the peak holds
 * beyond the terms that stay: of the moment that is the peak, and 0 otherwise.
 */
#include "core/memory/internal.h"

#include "core/extremes.h"
#include "core/fitted.h"
#include "core/units.h"

#include <math.h>

/* Parameters of one GPU before data-parallel sharding. */
struct shard {
	double dense, experts, head; /* head: output head within dense */
};

/* Gathered in full while in use: the layer at hand and the one that is prefetched (PyTorch FSDP
 * notes; facts/memory-notes.md 7). */
#define GATHERED_LAYERS 2
/* DeepSpeed's reduce bucket: 5e8 elements of 2 B (facts/memory-notes.md 5). */
#define DEEPSPEED_BUCKET_BYTES 1e9

/* A gradient that is reduced: the 16-bit one and its copy in the type of the shards (FSDP2's mixed
 * precision). */
static double reduced_bytes(const struct workload *workload)
{
	return workload->gradient_precision == GRADIENTS_FP32 ? 6 : 4;
}

/* What the first and the last pipeline stage hold; the same when there is one. */
static struct shard shard_of(const struct memory_basis *basis, const struct layout *layout,
			     bool is_last)
{
	double tensor = layout->tensor_parallel, stages = layout->pipeline_parallel;
	double layers = basis->layers, most = ceil(layers / stages) / layers;
	double embedding = (double)basis->parameters.embedding,
	       head = (double)basis->parameters.head;
	double outside = (double)basis->parameters.total - basis->block_parameters -
			 basis->expert_parameters - embedding - head;
	struct shard shard;

	/* A tied head is a copy of the embedding on the last stage. */
	if (stages > 1) {
		head = is_last ? (head > 0 ? head : embedding) : 0;
		embedding = is_last ? 0 : embedding;
	}
	shard.head = head / tensor;
	shard.dense = basis->block_parameters * most / tensor + (embedding + head) / tensor +
		      larger(0, outside);
	shard.experts = basis->expert_parameters * most / layout->expert_parallel /
			(layout->expert_tensor_parallel ? layout->expert_tensor_parallel : tensor);
	return shard;
}

/* GPUs that a sharded state is spread over. */
static double shard_ways(const struct layout *layout)
{
	double ways = (double)layout->data_parallel * layout->context_parallel;

	if (layout->sharding == SHARDING_HYBRID)
		ways = smaller(ways, larger(1, (double)layout->gpus_per_node /
						       (layout->tensor_parallel *
							layout->pipeline_parallel)));
	return ways;
}

/* Experts that lie spread over the data-parallel GPUs are sharded over fewer of them. */
static double expert_ways(const struct layout *layout)
{
	double split = layout->expert_tensor_parallel ? layout->expert_tensor_parallel
						      : layout->tensor_parallel;

	return larger(1, shard_ways(layout) * layout->tensor_parallel /
				 (layout->expert_parallel * split));
}

/* Trained parameters' static terms, sharded by the stage of ZeRO. */
static void add_static(const struct layout *layout, struct static_bytes bytes, struct shard shard,
		       struct memory_estimate *out, double *host)
{
	bool zero3 = layout_shards_weights(layout);
	bool zero2 = zero3 || layout->sharding == SHARDING_ZERO2;
	bool zero1 = zero2 || layout->sharding == SHARDING_ZERO1;
	double whole = shard.dense + shard.experts;
	double divided = shard.dense / shard_ways(layout) + shard.experts / expert_ways(layout);
	double states = zero1 ? divided : whole, gradients = zero2 ? divided : whole;
	double weights = zero3 ? divided : whole;

	*host += bytes.host * states;
	if (layout->offload == OFFLOAD_NONE) {
		out->master_weights_bytes += bytes.master * states;
		out->optimizer_bytes += bytes.optimizer * states;
		out->gradients_bytes += bytes.gradients * gradients;
	} else {
		/* ZeRO-Offload sends gradients to the host as they come. */
		*host += (bytes.master + bytes.optimizer) * states + bytes.gradients * gradients;
	}
	if (layout->offload == OFFLOAD_PARAMETERS)
		*host += bytes.weights * weights;
	else
		out->weights_bytes += bytes.weights * weights;
}

/* What is gathered while the passes run, in the compute type, and gradients on their way to their
 * shards. The optimizer's step needs none of it. */
static double gathered_bytes(const struct memory_basis *basis, const struct layout *layout,
			     struct shard shard, double bits, bool is_frozen)
{
	double bytes = 0, tensor = layout->tensor_parallel;
	double reduced = reduced_bytes(basis->workload);
	bool is_sharded = shard_ways(layout) > 1 && layout_shards_weights(layout);

	if (is_sharded && layout->pipeline_parallel > 1) {
		/* Gathered once a step: every micro-batch needs them again. */
		bytes += (shard.dense + shard.experts) * (2 + (is_frozen ? 0 : reduced - 2));
	} else if (is_sharded) {
		double layer = basis->largest_layer_parameters / tensor / layout->expert_parallel;
		double embedding = (double)basis->parameters.embedding / tensor;
		double head = (double)basis->parameters.head / tensor;
		/* FSDP's outermost unit holds both; ZeRO-3 fetches what it is about to use. */
		double root = basis->workload->stack == STACK_DEEPSPEED ? larger(embedding, head)
									: embedding + head;

		bytes += GATHERED_LAYERS * layer * bits / 8 + root * 2;
		if (!is_frozen)
			bytes += layer * reduced;
	}
	return bytes;
}

static double bucket_bytes(const struct workload *workload, const struct layout *layout)
{
	return workload->stack == STACK_DEEPSPEED && layout->data_parallel > 1
		       ? DEEPSPEED_BUCKET_BYTES
		       : 0;
}

/* The frozen base of an adapted method: its format, sharded only by ZeRO-3 and FSDP. */
static void add_base(const struct memory_basis *basis, const struct layout *layout,
		     struct shard shard, struct memory_estimate *out, double *host)
{
	double total = (double)basis->parameters.total;
	double bytes = basis->weight_bytes[layout->weight_format], mine;

	if (memory_is_upcast(basis->workload, layout->weight_format))
		bytes += 2 * (total - (double)basis->parameters.linear);
	mine = bytes * (shard.dense + shard.experts) / total;

	if (layout_shards_weights(layout))
		mine /= shard_ways(layout);
	if (layout->offload == OFFLOAD_PARAMETERS)
		*host += mine;
	else
		out->weights_bytes += mine;
}

/* GPTQ and AWQ without their kernels for inference: integers are unpacked to 32 bit before they
 * become 16-bit weights. */
#define UNPACKED_INTEGER_BYTES 8

static double head_parameters(const struct memory_basis *basis)
{
	return (double)(basis->parameters.head ? basis->parameters.head
					       : basis->parameters.embedding);
}

/* A quantised layer is unpacked to 16 bit where it is used; DoRA takes the norms of the whole
 * weight with the adapter added, in fp32. */
static double unpacked_bytes(const struct memory_basis *basis, const struct layout *layout)
{
	enum format format = layout->weight_format;
	double bytes = basis->workload->dora ? 4 : 0;

	if (format_facts(format)->linear_bits < 8)
		bytes += format_is_packed_integer(format) ? UNPACKED_INTEGER_BYTES : 2;
	return bytes * basis->largest_matrix / layout->tensor_parallel;
}

/* Growth over the logits' buffers, the largest that vary: ms-swift's length sweeps, 1.8B to 14B,
 * dynamically padded: 1.5-1.9 up to 2,048 tokens, less where samples do not reach the limit. */
FITTED(POOL_GROWTH, 1.27, 0.5, 2.0);
/* A longer limit cuts fewer samples: what they leave behind stops growing where most of a data
 * set's samples end (the same sweeps at limits of 4,096 and 8,192). */
FITTED(POOL_TOKENS, 2048, 1024, 8192);

/* The peak's moments for one stage; fills the terms that move. */
static void add_peak(const struct memory_basis *basis, const struct layout *layout,
		     const struct memory_flow *flow, struct shard shard, double gathered,
		     bool is_last, struct memory_estimate *out)
{
	const struct workload *workload = basis->workload;
	bool is_frozen = workload->task == TASK_FINETUNE && workload_base_is_frozen(workload);
	bool is_kept = is_frozen || workload->stack == STACK_MEGATRON ||
		       workload->stack == STACK_DEEPSPEED ||
		       (layout->accumulation > 1 && !workload->optimizer_in_backward);
	double saved = is_last ? flow->saved_last : flow->saved_first;
	double logits = is_last ? flow->logits : 0, early = is_kept ? 0 : -out->gradients_bytes;
	double unpacked = is_frozen ? unpacked_bytes(basis, layout) : 0;
	double at_loss, in_backward, in_step, passes, most, left;

	at_loss = early + saved + logits;
	/* An fp32 head works on a 16-bit copy, which the backward pass needs again. */
	if (is_last && memory_is_upcast(workload, layout->weight_format))
		at_loss += 2 * head_parameters(basis) / layout->tensor_parallel;
	if (layout_shards_weights(layout) && !is_frozen && is_last)
		at_loss += shard.head * reduced_bytes(workload);
	in_backward = early + saved + flow->working + unpacked;
	/* At the end of the backward pass all gradients are there and the last layer's set. */
	passes = larger(in_backward, flow->last_saved + flow->working + unpacked);
	in_step = out->optimizer_bytes / 2 * memory_step_states(workload);
	most = larger(larger(passes, at_loss) + gathered, in_step);
	left = logits * basis->logits_left;
	out->pool_left_bytes = larger(0, at_loss + left + gathered - most);
	if (!workload->packing)
		out->pool_growth_bytes =
			larger(0, POOL_GROWTH * smaller(1, POOL_TOKENS / basis->context) *
						  (logits + left) -
					  larger(0, most - at_loss - left - gathered));
	if (in_step >= most) {
		out->optimizer_step_bytes = in_step;
		return;
	}
	out->communication_bytes += gathered;
	if (at_loss > passes) {
		out->logits_bytes = smaller(logits, at_loss);
		out->activations_bytes = at_loss - out->logits_bytes;
	} else {
		out->activations_bytes = passes;
	}
}

/* Parameters whose gradients are alive at once when each layer is updated as its gradients come: a
 * layer, or the tables outside them. */
static double backward_unit(const struct memory_basis *basis, const struct layout *layout)
{
	double tensor = layout->tensor_parallel;
	double unit =
		larger(basis->largest_layer_parameters / tensor / layout->expert_parallel,
		       larger((double)basis->parameters.embedding, (double)basis->parameters.head) /
			       tensor);

	return layout_shards_weights(layout) ? unit / shard_ways(layout) : unit;
}

static double sum(const struct memory_estimate *estimate)
{
	return estimate->weights_bytes + estimate->master_weights_bytes +
	       estimate->gradients_bytes + estimate->optimizer_bytes +
	       estimate->optimizer_step_bytes + estimate->activations_bytes +
	       estimate->logits_bytes + estimate->adapters_bytes + estimate->communication_bytes;
}

static void stage_terms(const struct memory_basis *basis, const struct layout *layout,
			const struct memory_flow *flow, bool is_last, struct memory_estimate *out)
{
	const struct workload *workload = basis->workload;
	bool is_frozen = workload->task == TASK_FINETUNE && workload_base_is_frozen(workload);
	struct shard shard = shard_of(basis, layout, is_last);
	double host = 0, bits = 16;

	if (is_frozen) {
		double ways = (double)layout->tensor_parallel * layout->pipeline_parallel;
		struct memory_estimate adapters = {0};

		add_base(basis, layout, shard, out, &host);
		add_static(layout, memory_static_bytes(workload, layout, true),
			   (struct shard){basis->trainable_parameters / ways, 0, 0}, &adapters,
			   &host);
		out->adapters_bytes = adapters.weights_bytes;
		out->gradients_bytes = adapters.gradients_bytes;
		out->optimizer_bytes = adapters.optimizer_bytes;
		bits = format_facts(layout->weight_format)->linear_bits;
	} else {
		struct static_bytes bytes = memory_static_bytes(workload, layout, false);

		bytes.optimizer *= basis->state_share;
		add_static(layout, bytes, shard, out, &host);
		if (workload->optimizer_in_backward)
			out->gradients_bytes = bytes.gradients * backward_unit(basis, layout);
	}
	out->communication_bytes = bucket_bytes(workload, layout);
	add_peak(basis, layout, flow, shard, gathered_bytes(basis, layout, shard, bits, is_frozen),
		 is_last, out);
	out->host_bytes = host * layout->gpus_per_node;
}

void memory_training_terms(const struct memory_basis *basis, const struct layout *layout,
			   const struct accelerator *accelerator, struct memory_estimate *out)
{
	struct memory_flow flow;
	struct memory_estimate last = *out;

	(void)accelerator;
	memory_training_activations(basis, layout, &flow);
	stage_terms(basis, layout, &flow, true, &last);
	if (layout->pipeline_parallel > 1) {
		stage_terms(basis, layout, &flow, false, out);
		if (sum(out) + out->pool_left_bytes > sum(&last) + last.pool_left_bytes)
			return;
	}
	*out = last;
}
