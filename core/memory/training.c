/*
 * Memory of training: weights, master weights, gradients and optimizer states under tensor,
 * pipeline and expert parallelism, ZeRO and FSDP shards with their gather buffers, and host
 * offload.
 *
 * The peak is the largest of four moments: the loss (everything saved, logits), the backward pass
 * of the first layer it meets (everything saved, that layer's working set), its end (all
 * gradients), and the optimizer step (its temporaries). Gradients that are freed between steps are
 * not there at the first two. `activations` is what the peak holds beyond the terms that stay.
 */
#include "core/memory/internal.h"

#include "core/units.h"

#include <math.h>

/* Parameters of one GPU before data-parallel sharding. */
struct shard {
	double dense, experts, head; /* head: output head within dense */
};

/* Gathered in full while in use: the layer at hand and the one that is prefetched (PyTorch FSDP
 * notes; facts/memory-notes.md 7). */
#define GATHERED_LAYERS 2
/* A reduced gradient: the 16-bit one and its fp32 copy (FSDP2's mixed precision). */
#define REDUCED_BYTES 6
/* DeepSpeed's reduce bucket: 5e8 elements of 2 B (facts/memory-notes.md 5). */
#define DEEPSPEED_BUCKET_BYTES 1e9

static bool is_fully_sharded(const struct layout *layout)
{
	return layout->sharding == SHARDING_ZERO3 || layout->sharding == SHARDING_HYBRID;
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
		      fmax(0, outside);
	shard.experts = basis->expert_parameters * most / layout->expert_parallel /
			(layout->expert_tensor_parallel ? layout->expert_tensor_parallel : tensor);
	return shard;
}

/* GPUs that a sharded state is spread over. */
static double shard_ways(const struct layout *layout)
{
	double ways = (double)layout->data_parallel * layout->context_parallel;

	if (layout->sharding == SHARDING_HYBRID)
		ways = fmin(ways,
			    fmax(1, (double)layout->gpus_per_node /
					    (layout->tensor_parallel * layout->pipeline_parallel)));
	return ways;
}

/* Experts that lie spread over the data-parallel GPUs are sharded over fewer of them. */
static double expert_ways(const struct layout *layout)
{
	double split = layout->expert_tensor_parallel ? layout->expert_tensor_parallel
						      : layout->tensor_parallel;

	return fmax(1, shard_ways(layout) * layout->tensor_parallel /
			       (layout->expert_parallel * split));
}

/* Trained parameters' static terms, sharded by the stage of ZeRO. */
static void add_static(const struct layout *layout, struct static_bytes bytes, struct shard shard,
		       struct memory_estimate *out, double *host)
{
	bool zero3 = is_fully_sharded(layout);
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

/* Buffers of collectives: gathered layers in the compute type, reduction buckets. */
static double communication_bytes(const struct memory_basis *basis, const struct layout *layout,
				  struct shard shard, double bits, bool is_frozen)
{
	double bytes = 0, tensor = layout->tensor_parallel;
	bool is_sharded = shard_ways(layout) > 1 && is_fully_sharded(layout);

	if (is_sharded && layout->pipeline_parallel > 1) {
		/* Gathered once a step: every micro-batch needs them again. */
		bytes += (shard.dense + shard.experts) * (2 + (is_frozen ? 0 : 4));
	} else if (is_sharded) {
		double layer = basis->largest_layer_parameters / tensor / layout->expert_parallel;
		double root =
			(double)(basis->parameters.embedding + basis->parameters.head) / tensor;

		bytes += GATHERED_LAYERS * layer * bits / 8 + root * 2;
		if (!is_frozen)
			bytes += layer * REDUCED_BYTES;
	}
	if (basis->workload->stack == STACK_DEEPSPEED && layout->data_parallel > 1)
		bytes += DEEPSPEED_BUCKET_BYTES;
	return bytes;
}

/* The frozen base of an adapted method: its format, sharded only by ZeRO-3 and FSDP. */
static void add_base(const struct memory_basis *basis, const struct layout *layout,
		     struct shard shard, struct memory_estimate *out, double *host)
{
	double total = (double)basis->parameters.total;
	double bytes =
		architecture_weight_bytes(basis->workload->architecture, layout->weight_format);
	double mine;

	if (memory_is_upcast(basis->workload, layout->weight_format))
		bytes += 2 * (total - (double)basis->parameters.linear);
	mine = bytes * (shard.dense + shard.experts) / total;

	if (is_fully_sharded(layout))
		mine /= shard_ways(layout);
	if (layout->offload == OFFLOAD_PARAMETERS)
		*host += mine;
	else
		out->weights_bytes += mine;
}

/* GPTQ and AWQ without their kernels for inference: integers are unpacked to 32 bit before they
 * become 16-bit weights. */
#define UNPACKED_INTEGER_BYTES 8

static bool is_packed(enum format format)
{
	return format == FORMAT_GPTQ || format == FORMAT_AWQ || format == FORMAT_INT4;
}

static double head_parameters(const struct memory_basis *basis)
{
	return (double)(basis->parameters.head ? basis->parameters.head
					       : basis->parameters.embedding);
}

/* The peak's moments for one stage; fills the terms that move. */
static void add_peak(const struct memory_basis *basis, const struct layout *layout,
		     const struct memory_flow *flow, struct shard shard, bool is_last,
		     struct memory_estimate *out)
{
	const struct workload *workload = basis->workload;
	bool is_frozen = workload->task == TASK_FINETUNE && workload_base_is_frozen(workload);
	bool is_kept = is_frozen || layout->accumulation > 1 || workload->stack == STACK_MEGATRON ||
		       workload->stack == STACK_DEEPSPEED;
	double saved = is_last ? flow->saved_last : flow->saved_first;
	double logits = is_last ? flow->logits : 0, early = is_kept ? 0 : -out->gradients_bytes;
	double unpacked = 0, at_loss, in_backward, at_end, in_step;

	/* A quantised layer is unpacked to 16 bit where it is used. */
	if (is_frozen && format_facts(layout->weight_format)->linear_bits < 8)
		unpacked = (is_packed(layout->weight_format) ? UNPACKED_INTEGER_BYTES : 2) *
			   basis->largest_matrix / layout->tensor_parallel;
	at_loss = early + saved + logits;
	/* An fp32 head works on a 16-bit copy, which the backward pass needs again. */
	if (is_last && memory_is_upcast(workload, layout->weight_format))
		at_loss += 2 * head_parameters(basis) / layout->tensor_parallel;
	if (is_fully_sharded(layout) && !is_frozen && is_last)
		at_loss += shard.head * REDUCED_BYTES;
	in_backward = early + saved + flow->working + unpacked;
	at_end = flow->working + unpacked;
	in_step = out->optimizer_bytes / 2 * memory_step_states(workload);
	out->activations_bytes = fmax(fmax(at_loss - logits, in_backward), fmax(at_end, in_step));
	out->logits_bytes = 0;
	if (at_loss > out->activations_bytes) {
		out->logits_bytes = fmin(logits, at_loss);
		out->activations_bytes = at_loss - out->logits_bytes;
	}
}

static double sum(const struct memory_estimate *estimate)
{
	return estimate->weights_bytes + estimate->master_weights_bytes +
	       estimate->gradients_bytes + estimate->optimizer_bytes + estimate->activations_bytes +
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
			   (struct shard){basis->adapter_parameters / ways, 0, 0}, &adapters,
			   &host);
		out->adapters_bytes = adapters.weights_bytes;
		out->gradients_bytes = adapters.gradients_bytes;
		out->optimizer_bytes = adapters.optimizer_bytes;
		bits = format_facts(layout->weight_format)->linear_bits;
	} else {
		add_static(layout, memory_static_bytes(workload, layout, false), shard, out, &host);
	}
	out->communication_bytes = communication_bytes(basis, layout, shard, bits, is_frozen);
	add_peak(basis, layout, flow, shard, is_last, out);
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
		if (sum(out) >= sum(&last))
			return;
	}
	*out = last;
}
