/* Speed of training over many GPUs: published scaling points, and what must hold of links and
 * layouts. */
#include "tests/core/speed_request.h"
#include "tests/suite.h"

#define NDR_NODE_BYTES_PER_SECOND 400e9
#define HDR_NODE_BYTES_PER_SECOND 200e9
#define TCP_NODE_BYTES_PER_SECOND 12.5e9

/* Full training with the layout's data parallelism over all GPUs of so many nodes of eight. */
static struct request training_of(const char *model, const char *card, enum stack stack, int nodes)
{
	struct request request = request_of(model, TASK_PRETRAIN, card, 8);

	request.workload.stack = (int)stack;
	request.workload.sequence_length = 2048;
	request.workload.given |= SAID(stack) | SAID(sequence_length);
	request.layout.nodes = nodes;
	request.layout.data_parallel = 8 * nodes;
	request.layout.micro_batch = 4;
	return request;
}

static double tokens_over(struct request *request, enum cluster_link link, double node_bytes)
{
	struct speed_basis basis;
	struct error error = {0};

	ck_assert_msg(workload_complete(&request->workload, "", &error), "%s", error.detail);
	request->fabric = fabric_of_accelerator(request->card, request->layout.gpus_per_node);
	request->fabric.cluster_link = link;
	request->fabric.cluster_bytes_per_second = node_bytes;
	ck_assert(speed_prepare(&request->workload, request->card, request->layout.weight_format,
				&basis));
	speed_estimate(&basis, &request->layout, &request->fabric, &request->speed);
	return request->speed.tokens_per_second;
}

/* What is left of a GPU's speed on the larger number of nodes (facts/throughput-notes.md 5). */
START_TEST(weak_scaling_is_as_published)
{
	static const struct {
		const char *model, *card;
		enum stack stack;
		double node_bytes;
		int from, to, micro_batch;
		double share;
	} points[] = {
		/* llm-foundry, FSDP over InfiniBand: -9 % for 7B, -3 % for 13B, -5 % for 70B. */
		{"meta-llama/Llama-2-7b-hf", "H100 SXM5 80GB", STACK_TORCHTITAN,
		 NDR_NODE_BYTES_PER_SECOND, 16, 64, 8, 0.91},
		{"meta-llama/Llama-2-13b-hf", "H100 SXM5 80GB", STACK_TORCHTITAN,
		 NDR_NODE_BYTES_PER_SECOND, 16, 64, 16, 0.97},
		{"meta-llama/Llama-2-70b-hf", "H100 SXM5 80GB", STACK_TORCHTITAN,
		 NDR_NODE_BYTES_PER_SECOND, 16, 64, 8, 0.95},
		/* NeMo, 5B with Megatron over HDR: 90 % on 32 nodes. */
		{"meta-llama/Llama-2-7b-hf", "A100 SXM4 80GB", STACK_MEGATRON,
		 HDR_NODE_BYTES_PER_SECOND, 1, 32, 4, 0.90},
	};

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		double each[2];

		for (int j = 0; j < 2; j++) {
			int nodes = j ? points[i].to : points[i].from;
			struct request request = training_of(points[i].model, points[i].card,
							     points[i].stack, nodes);

			request.layout.micro_batch = points[i].micro_batch;
			if (points[i].stack == STACK_MEGATRON) {
				request.layout.sharding = SHARDING_ZERO1;
				request.layout.recompute = RECOMPUTE_SELECTIVE;
			}
			each[j] = tokens_over(&request, CLUSTER_LINK_INFINIBAND,
					      points[i].node_bytes) /
				  nodes;
		}
		ck_assert_double_lt(each[1], each[0]);
		ck_within(each[1] / each[0], points[i].share, 0.10);
	}
}
END_TEST

/* More nodes are more tokens a second over RDMA and never more a GPU; a slower link never helps. */
START_TEST(nodes_and_links_are_ordered)
{
	static const struct {
		enum cluster_link link;
		double node_bytes;
	} links[] = {
		{CLUSTER_LINK_INFINIBAND, NDR_NODE_BYTES_PER_SECOND},
		{CLUSTER_LINK_EFA, NDR_NODE_BYTES_PER_SECOND},
		{CLUSTER_LINK_TCPX, HDR_NODE_BYTES_PER_SECOND},
		{CLUSTER_LINK_TCP, TCP_NODE_BYTES_PER_SECOND},
	};
	static const enum sharding shardings[] = {SHARDING_NONE, SHARDING_ZERO2, SHARDING_ZERO3,
						  SHARDING_HYBRID};

	for (size_t s = 0; s < sizeof(shardings) / sizeof(shardings[0]); s++)
		for (int nodes = 2; nodes <= 64; nodes *= 2) {
			double last = (double)INFINITY;

			for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
				struct request request = training_of("meta-llama/Llama-3.1-8B",
								     "H100 SXM5 80GB",
								     STACK_TORCHTITAN, nodes),
					       half = training_of("meta-llama/Llama-3.1-8B",
								  "H100 SXM5 80GB",
								  STACK_TORCHTITAN, nodes / 2);
				double all, few;

				request.layout.sharding = half.layout.sharding = shardings[s];
				all = tokens_over(&request, links[i].link, links[i].node_bytes);
				few = tokens_over(&half, links[i].link, links[i].node_bytes);
				ck_assert_double_le(all, last);
				last = all;
				if (links[i].link != CLUSTER_LINK_TCP)
					ck_assert_double_gt(all, few);
				/* The optimizer's share of a GPU shrinks: a little more is right.
				 */
				ck_assert_double_le(all, 2.02 * few);
			}
		}
}
END_TEST

/* Within one node: what joins its GPUs, from the best to the worst. */
START_TEST(node_links_are_ordered)
{
	static const enum node_link links[] = {NODE_LINK_NVSWITCH, NODE_LINK_NVLINK_MESH,
					       NODE_LINK_NVLINK_PAIR, NODE_LINK_PCIE_HOST};
	double last = (double)INFINITY;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		struct request request = training_of("meta-llama/Llama-3.1-8B", "A100 SXM4 80GB",
						     STACK_TORCHTITAN, 1);
		struct speed_basis basis;

		request.layout.micro_batch = 1;
		estimate(&request);
		ck_assert(speed_prepare(&request.workload, request.card, FORMAT_BF16, &basis));
		request.fabric.node_link = links[i];
		request.fabric.domain_gpus = links[i] == NODE_LINK_NVLINK_PAIR ? 2 : 8;
		request.fabric.node_bytes_per_second = 0;
		speed_estimate(&basis, &request.layout, &request.fabric, &request.speed);
		ck_assert_double_lt(request.speed.tokens_per_second, last);
		last = request.speed.tokens_per_second;
	}
}
END_TEST

/* Sharding within the node spares the slow link between nodes all but the gradients. */
START_TEST(hybrid_sharding_gathers_within_the_node)
{
	struct request full = training_of("meta-llama/Llama-3.1-8B", "A100 SXM4 80GB",
					  STACK_TORCHTITAN, 4),
		       hybrid = full;
	double one;

	hybrid.layout.sharding = SHARDING_HYBRID;
	ck_assert_double_gt(tokens_over(&hybrid, CLUSTER_LINK_TCP, TCP_NODE_BYTES_PER_SECOND),
			    1.5 * tokens_over(&full, CLUSTER_LINK_TCP, TCP_NODE_BYTES_PER_SECOND));
	full.layout.nodes = hybrid.layout.nodes = 1;
	full.layout.data_parallel = hybrid.layout.data_parallel = 8;
	one = tokens_over(&full, CLUSTER_LINK_NONE, 0);
	ck_within(tokens_over(&hybrid, CLUSTER_LINK_NONE, 0), one, 1e-9);
}
END_TEST

/* Gradients reduced once a step come with its last pass, so more passes do not hide more of them;
 * what is gathered for every pass costs every pass. */
START_TEST(only_what_comes_with_a_pass_hides_behind_it)
{
	static const enum sharding shardings[] = {SHARDING_NONE, SHARDING_ZERO3};
	static const double growth[] = {1, 8};

	for (int i = 0; i < 2; i++) {
		double added[2];

		for (int many = 0; many < 2; many++) {
			struct request request = training_of("meta-llama/Llama-3.1-8B",
							     "A100 SXM4 80GB", STACK_TORCHTITAN, 2);
			double fast;

			request.layout.sharding = shardings[i];
			request.layout.accumulation = many ? 8 : 1;
			tokens_over(&request, CLUSTER_LINK_INFINIBAND, 1e15);
			fast = request.speed.step.seconds;
			tokens_over(&request, CLUSTER_LINK_TCP, TCP_NODE_BYTES_PER_SECOND);
			added[many] = request.speed.step.seconds - fast;
		}
		ck_within(added[1] / added[0], growth[i], 0.05);
	}
}
END_TEST

/* One micro-batch goes through the stages one after the other: no schedule can overlap it. */
START_TEST(a_pipeline_needs_micro_batches)
{
	struct request few = training_of("meta-llama/Llama-3.1-8B", "H100 SXM5 80GB",
					 STACK_MEGATRON, 1),
		       many;

	few.layout.sharding = SHARDING_ZERO1;
	few.layout.pipeline_parallel = 8;
	few.layout.data_parallel = 1;
	few.layout.micro_batch = 8;
	many = few;
	many.layout.accumulation = 64;
	ck_within(tokens_over(&many, CLUSTER_LINK_NONE, 0) /
			  tokens_over(&few, CLUSTER_LINK_NONE, 0),
		  8, 0.25);
	/* (p - 1) / m of the time is lost without interleaving, a v-th of it with v chunks. */
	many.layout.accumulation = 8;
	many.workload.pipeline_chunks = 1;
	many.workload.given |= SAID(pipeline_chunks);
	tokens_over(&many, CLUSTER_LINK_NONE, 0);
	few = many;
	few.workload.pipeline_chunks = 4;
	tokens_over(&few, CLUSTER_LINK_NONE, 0);
	ck_within(many.speed.step.seconds / few.speed.step.seconds, (8 + 7) / (8 + 7 / 4.0), 0.05);
}
END_TEST

/* An expert computes the faster the more tokens meet in it, and its tokens come the slower the more
 * nodes share the experts. */
START_TEST(experts_want_tokens_and_near_neighbours)
{
	double last = 0;

	for (int ways = 1; ways <= 8; ways *= 2) {
		struct request request =
			training_of("Qwen/Qwen3-30B-A3B", "B200 SXM 180GB", STACK_MEGATRON, 4);

		request.layout.sharding = SHARDING_ZERO1;
		request.layout.expert_parallel = ways;
		tokens_over(&request, CLUSTER_LINK_INFINIBAND, NDR_NODE_BYTES_PER_SECOND);
		ck_assert(request.speed.step.compute_seconds < last || last <= 0);
		last = request.speed.step.compute_seconds;
	}
	for (int ways = 8; ways <= 32; ways *= 2) {
		struct request request =
			training_of("Qwen/Qwen3-30B-A3B", "B200 SXM 180GB", STACK_MEGATRON, 4);

		request.layout.sharding = SHARDING_ZERO1;
		request.layout.expert_parallel = ways;
		tokens_over(&request, CLUSTER_LINK_INFINIBAND, NDR_NODE_BYTES_PER_SECOND);
		ck_assert(ways == 8 || request.speed.step.communication_seconds > last);
		last = request.speed.step.communication_seconds;
	}
}
END_TEST

/* Twice the GPUs a sequence take more than half the time, and not much more on long ones. */
START_TEST(context_parallelism_has_a_price)
{
	struct request one = training_of("meta-llama/Llama-3.1-8B", "H100 SXM5 80GB",
					 STACK_MEGATRON, 1),
		       two;
	double gain;

	one.workload.sequence_length = 131072;
	one.layout.sharding = SHARDING_ZERO1;
	one.layout.micro_batch = 1;
	one.layout.tensor_parallel = 4;
	one.layout.data_parallel = 1;
	two = one;
	two.layout.context_parallel = 2;
	gain = tokens_over(&two, CLUSTER_LINK_NONE, 0) / tokens_over(&one, CLUSTER_LINK_NONE, 0);
	ck_assert_double_lt(gain, 2);
	ck_assert_double_gt(gain, 1.7);
	ck_assert_double_gt(two.speed.step.communication_seconds,
			    one.speed.step.communication_seconds / 2);
}
END_TEST

/* FlashAttention, table 2: GPT-2 trained 1.7 to 3.5 times as fast as without, at 1,024 tokens. */
START_TEST(scores_in_memory_cost_time)
{
	struct request fused = training_of("openai-community/gpt2-medium", "A100 SXM4 40GB",
					   STACK_MEGATRON, 1),
		       plain;
	double gain;

	fused.workload.sequence_length = 1024;
	fused.layout.recompute = RECOMPUTE_NONE;
	plain = fused;
	plain.workload.fused_attention = false;
	plain.workload.given |= SAID(fused_attention);
	gain = tokens_over(&fused, CLUSTER_LINK_NONE, 0) /
	       tokens_over(&plain, CLUSTER_LINK_NONE, 0);
	ck_assert_double_gt(gain, 1.3);
	ck_assert_double_lt(gain, 3.5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("speed_scaling");
	TCase *tcase = tcase_create("speed_scaling");

	tcase_add_test(tcase, weak_scaling_is_as_published);
	tcase_add_test(tcase, nodes_and_links_are_ordered);
	tcase_add_test(tcase, node_links_are_ordered);
	tcase_add_test(tcase, hybrid_sharding_gathers_within_the_node);
	tcase_add_test(tcase, only_what_comes_with_a_pass_hides_behind_it);
	tcase_add_test(tcase, a_pipeline_needs_micro_batches);
	tcase_add_test(tcase, experts_want_tokens_and_near_neighbours);
	tcase_add_test(tcase, context_parallelism_has_a_price);
	tcase_add_test(tcase, scores_in_memory_cost_time);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
