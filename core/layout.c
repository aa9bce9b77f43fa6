/* Layout: see layout.h. */
#include "core/layout.h"

const struct layout layout_single = {
	.gpus_per_node = 1,
	.nodes = 1,
	.tensor_parallel = 1,
	.pipeline_parallel = 1,
	.data_parallel = 1,
	.context_parallel = 1,
	.expert_parallel = 1,
	.sharding = SHARDING_NONE,
	.recompute = RECOMPUTE_FULL,
	.offload = OFFLOAD_NONE,
	.micro_batch = 1,
	.accumulation = 1,
	.weight_format = FORMAT_BF16,
	.kv_format = FORMAT_BF16,
	.replicas = 1,
	.sequences = 1,
};
