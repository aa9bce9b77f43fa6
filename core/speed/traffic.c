/*
 * Traffic of training: what tensor, expert and data parallelism and host offload move in one step.
 *
 * Tensor parallelism: two all-reduces (or as much in gathers and scatters) a layer and pass of
 * 2 * tokens * hidden bytes. Expert parallelism: every chosen copy of a token goes out and comes
 * back, so 2 * 2 * tokens * chosen * hidden bytes a layer and pass; to another node each token goes
 * once. Context parallelism: keys and values go round all its GPUs. Data parallelism: gradients
 * once a step, or where they are sharded every micro-batch; fully sharded weights are gathered for
 * every pass, in a hybrid within the node. Experts are reduced over the GPUs that hold the same.
 */
#include "core/speed/internal.h"

#include "core/extremes.h"
#include "core/fitted.h"

#include <math.h>

/* Vectorised Adam on a node's CPUs: 10 B parameters in 2.6 s (ZeRO-Offload paper, recalled). */
#define CPU_ADAM_PARAMETERS_PER_SECOND 4e9
/* What async tensor parallelism hides: facts/throughput-notes.md 5 (4-16 % of the step). */
FITTED(TENSOR_EXPOSED, 0.45, 0.3, 1.0);
/* Messages of one bucket: what a collective moves at a time; gathered weights go layer by layer. */
#define BUCKET_BYTES 400e6

static bool is_frozen(const struct workload *workload)
{
	return workload->task == TASK_FINETUNE && workload_base_is_frozen(workload);
}

/* Seconds to move `bytes` through `ways` GPUs, of which `inside` share a node, in buckets or in so
 * many parts if they are more. */
static double spread_seconds(enum collective collective, double bytes, double parts, int inside,
			     int ways, const struct link *node, const struct link *cluster)
{
	double buckets = larger(parts, ceil(bytes / BUCKET_BYTES)), seconds = 0;
	int outside = inside > 0 ? ways / inside : ways;

	if (ways <= 1 || bytes <= 0)
		return 0;
	if (inside > 1)
		seconds += buckets * speed_collective(collective, bytes / buckets, inside, node);
	/* Across nodes each GPU carries its part of the buffer through its own adapter. */
	if (outside > 1)
		seconds += buckets * speed_collective(collective,
						      bytes / buckets / (inside > 1 ? inside : 1),
						      outside, cluster);
	return seconds;
}

/* Weights of one replica's stage on one GPU, in 16 bit or the base's format. */
static double stage_bytes(const struct speed_basis *basis, const struct layout *layout,
			  bool experts)
{
	const struct workload *workload = basis->workload;
	double total = (double)basis->parameters.total, bytes = 2 * total;
	double share = (double)basis->parameters.experts / total;

	if (is_frozen(workload) && layout->weight_format != FORMAT_AUTO)
		bytes = speed_weight_bytes(basis, layout->weight_format);
	bytes /= (double)layout->tensor_parallel * layout->pipeline_parallel;
	return experts ? bytes * share / layout->expert_parallel : bytes * (1 - share);
}

/* GPUs that have the same weights, or shards of them: those of context parallelism as well. */
static int weight_copies(const struct layout *layout)
{
	return layout->data_parallel * layout->context_parallel;
}

static double data_seconds(const struct speed_basis *basis, const struct layout *layout,
			   const struct fabric *fabric, bool *assumed)
{
	bool hybrid = layout->sharding == SHARDING_HYBRID;
	bool zero3 = layout_shards_weights(layout);
	double micro_batches = (double)layout->accumulation, seconds = 0;
	int model = layout->tensor_parallel * layout->pipeline_parallel;
	int copies = weight_copies(layout), inside = layout->gpus_per_node / model;
	struct link node, cluster;

	if (copies <= 1)
		return 0;
	inside = inside < 1 ? 1 : inside > copies ? copies : inside;
	node = speed_node_link(basis->accelerator, fabric, inside);
	cluster = speed_cluster_link(fabric, layout->gpus_per_node);
	*assumed |= (inside > 1 && node.is_assumed) || (copies > inside && cluster.is_assumed);
	for (int experts = 0; experts <= 1; experts++) {
		double bytes = stage_bytes(basis, layout, experts);
		int ways = experts ? copies / layout->expert_parallel : copies;
		int near = experts ? inside / layout->expert_parallel : inside;

		double parts = zero3 ? basis->layers / layout->pipeline_parallel : 1;
		double gather, reduce;

		near = near < 1 ? 1 : near;
		gather = spread_seconds(COLLECTIVE_ALL_GATHER, bytes, parts, near,
					hybrid ? near : ways, &node, &cluster);
		if (zero3)
			seconds += 2 * micro_batches * gather;
		if (is_frozen(basis->workload))
			continue;
		reduce = spread_seconds(COLLECTIVE_ALL_REDUCE, hybrid ? bytes / near : bytes, 1,
					hybrid ? 1 : near, hybrid ? ways / near : ways, &node,
					&cluster);
		/* Scattering gradients takes as long as gathering weights. */
		if (zero3)
			seconds += micro_batches * gather + (hybrid ? reduce : 0);
		else if (layout->sharding == SHARDING_ZERO2)
			seconds += (micro_batches + 1) * gather;
		else
			seconds += reduce;
	}
	return seconds;
}

static double expert_seconds(const struct speed_basis *basis, const struct layout *layout,
			     const struct fabric *fabric, double tokens, double count,
			     bool *assumed)
{
	double bytes = 2 * 2 * tokens * basis->routed_elements / layout->pipeline_parallel /
		       layout->tensor_parallel;
	int ways = layout->expert_parallel, inside = layout->gpus_per_node;
	struct link node, cluster;
	double seconds, nodes;

	if (ways <= 1)
		return 0;
	inside = inside > ways ? ways : inside;
	node = speed_node_link(basis->accelerator, fabric, inside);
	cluster = speed_cluster_link(fabric, layout->gpus_per_node);
	*assumed |= node.is_assumed;
	nodes = (double)ways / inside;
	seconds = bytes * (1 - 1.0 / ways) / nodes / node.bytes_per_second;
	/* A token goes once to each other node that holds one of its experts, whatever their number
	 * (DeepEP): the mean of the nodes hit by so many draws. */
	if (nodes > 1)
		seconds += bytes / basis->experts_chosen * (nodes - 1) *
			   (1 - pow(1 - 1 / nodes, basis->experts_chosen)) /
			   cluster.bytes_per_second;
	/* Once forward, once backward, and once more where the layer is recomputed. */
	return seconds * (count > 3.5 ? 3 : 2);
}

/* Keys and values of a micro-batch go round the ways once forward; backward they do so again, their
 * gradients with them. */
static double context_seconds(const struct speed_basis *basis, const struct layout *layout,
			      const struct fabric *fabric, double tokens, bool *assumed)
{
	int ways = layout->context_parallel,
	    inside = layout->gpus_per_node / layout->tensor_parallel;
	double layers = basis->token_layers / layout->pipeline_parallel;
	double bytes = 2 * tokens *
		       architecture_kv_elements_per_token(basis->workload->architecture) /
		       layout->pipeline_parallel / layout->tensor_parallel;
	struct link link;

	if (ways <= 1)
		return 0;
	link = inside >= ways ? speed_node_link(basis->accelerator, fabric, ways)
			      : speed_cluster_link(fabric, layout->gpus_per_node);
	*assumed |= link.is_assumed;
	return 3 * (ways - 1) *
	       (layers * link.latency_seconds +
		(bytes + layers * link.half_bytes) / link.bytes_per_second);
}

/* What states in host memory cost a step: gradients down, weights up, Adam on the CPU, and with
 * parameters off the card too, the weights of every pass. */
static double host_seconds(const struct speed_basis *basis, const struct layout *layout,
			   const struct fabric *fabric, double passes, bool *assumed)
{
	double parameters = (double)basis->parameters.total;
	double gpus = (double)layout->gpus_per_node * layout->nodes, seconds = 0, link;

	if (layout->offload == OFFLOAD_NONE)
		return 0;
	link = speed_host_bytes_per_second(basis->accelerator, fabric, layout->gpus_per_node,
					   assumed);
	/* Adapters' states are a fraction of a per cent of this. */
	if (!is_frozen(basis->workload))
		seconds = parameters / layout->nodes / CPU_ADAM_PARAMETERS_PER_SECOND +
			  parameters / gpus * 4 / link;
	if (layout->offload == OFFLOAD_PARAMETERS) {
		double bytes =
			(stage_bytes(basis, layout, false) + stage_bytes(basis, layout, true)) /
			(layout_shards_weights(layout) ? weight_copies(layout) : 1);

		seconds += bytes * passes / link;
	}
	return seconds;
}

void speed_traffic(const struct speed_basis *basis, const struct layout *layout,
		   const struct fabric *fabric, double count, struct traffic *out, bool *assumed)
{
	const struct architecture *architecture = basis->workload->architecture;
	double tokens = (double)layout->micro_batch * workload_sequence_tokens(basis->workload) /
			layout->context_parallel;
	double layers = basis->token_layers / layout->pipeline_parallel;

	*out = (struct traffic){0};
	if (layout->tensor_parallel > 1) {
		struct link link =
			speed_node_link(basis->accelerator, fabric, layout->tensor_parallel);

		*assumed |= link.is_assumed;
		out->tensor =
			TENSOR_EXPOSED * layers * 2 * count *
			speed_collective(COLLECTIVE_ALL_REDUCE, 2 * tokens * architecture->hidden,
					 layout->tensor_parallel, &link);
	}
	out->experts = expert_seconds(basis, layout, fabric, tokens, count, assumed);
	out->context = context_seconds(basis, layout, fabric, tokens, assumed);
	out->data = data_seconds(basis, layout, fabric, assumed);
	out->host = host_seconds(basis, layout, fabric, 2 * (double)layout->accumulation, assumed);
}
