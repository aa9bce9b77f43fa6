/*
 * Layout: how one workload is spread over GPUs. Plain data: core/plan makes layouts, core/memory
 * and core/speed judge them.
 */
#ifndef CORE_LAYOUT_H
#define CORE_LAYOUT_H

#include "core/workload.h"

struct layout {
	int gpus_per_node, nodes;
	int tensor_parallel, pipeline_parallel, data_parallel, context_parallel, expert_parallel;
	int expert_tensor_parallel; /* ways each expert is split; 0 = as tensor_parallel */
	int guidance_parallel;	/* of a pipeline: GPUs that share its passes of guidance; 0 = 1 */
	bool sequence_parallel; /* Megatron's: activations between tensor-parallel regions are split
				 */
	enum sharding sharding;
	enum recompute recompute;
	enum offload offload;
	int64_t micro_batch;		      /* sequences a GPU and pass */
	int64_t accumulation;		      /* passes a step */
	enum format weight_format, kv_format; /* inference, and the base of adapted methods */
	int replicas;	  /* inference: copies of the model on all the GPUs of the layout */
	double sequences; /* inference: sequences resident in one replica */
	/* Inference by a transformers of before 4.45: it keeps the logits of the whole prompt and a
	 * table of rotations in every layer. */
	bool is_legacy_engine;
};

/* Everything whole on one GPU, in 16 bit, a sequence at a time: what other layouts are made of. */
extern const struct layout layout_single;

/* Are the weights themselves spread over data-parallel GPUs, and gathered for use? */
static inline bool layout_shards_weights(const struct layout *layout)
{
	return layout->sharding == SHARDING_ZERO3 || layout->sharding == SHARDING_HYBRID;
}

/* GPUs that hold one copy of the model. */
static inline int layout_gpus_per_replica(const struct layout *layout)
{
	int guidance = layout->guidance_parallel > 1 ? layout->guidance_parallel : 1;

	return layout->tensor_parallel * layout->pipeline_parallel * layout->context_parallel *
	       guidance;
}

#endif
