/*
 * Links: what collectives reach over each kind of link.
 *
 * Large messages reach a fraction of the wire (facts/hardware-notes.md 3: NVLink 0.78-0.82, EFA and
 * InfiniBand 0.74-0.9, PCIe 0.88 of the raw rate for one copy), small ones less: the rate at n
 * bytes is rate * n / (n + half), which is the same as a latency of half / rate a message.
 */
#include "core/speed/internal.h"

#include "core/fitted.h"

#include <math.h>

#define NVSWITCH_EFFICIENCY 0.80
/* Unequal pairs: the ring runs at its slowest link. */
FITTED(MESH_EFFICIENCY, 0.65, 0.4, 0.85);
FITTED(XGMI_EFFICIENCY, 0.75, 0.5, 0.9);
FITTED(PCIE_PEER_EFFICIENCY, 0.55, 0.4, 0.88);
/* More than the GPUs of one switch or processor reach each other through the link between the two.
 */
#define PCIE_NEAR_GPUS 4
FITTED(PCIE_FAR, 0.5, 0.2, 0.8);
/* A small all-reduce over PCIe takes 30 to 80 us among eight cards, through the host as well (vLLM,
 * one stream of Llama-3-70B and Mixtral-8x7B on RTX 4090 and A6000; MLC on A10G and RTX 4090): a
 * step of its tree, and the bytes whose time the copies' start takes. */
#define PCIE_PEER_LATENCY_SECONDS 6e-6
#define PCIE_PEER_HALF_BYTES 0.2e6
#define PCIE_HOST_LATENCY_SECONDS 10e-6
#define PCIE_HOST_HALF_BYTES 0.3e6
/* GPU -> host -> GPU, shared by all GPUs of the node. */
FITTED(PCIE_HOST_EFFICIENCY, 0.40, 0.25, 0.6);
/* Copies between a GPU and its host: 55.4 of 63 GB/s (facts/hardware-notes.md 2). */
#define HOST_COPY_EFFICIENCY 0.88
/* Eight channels of DDR4-3200 sustain about this much for all GPUs of a node together; what goes
 * from GPU to GPU through host memory is written and read. */
#define HOST_MEMORY_BYTES_PER_SECOND 160e9
#define PCIE_HOST_NODE_BYTES_PER_SECOND (HOST_MEMORY_BYTES_PER_SECOND / 2)
#define TORUS_EFFICIENCY 0.6
#define RDMA_EFFICIENCY 0.75
#define EFA_EFFICIENCY 0.70
#define TCPX_EFFICIENCY 0.60
#define TCP_EFFICIENCY                                                                             \
	0.30 /* facts/throughput-notes.md 5: 10 GbE saturates below its line rate                  \
	      */

/* Unknown links take the slowest of their kind: Gen3 x8 through the host, 10 Gbit/s Ethernet. */
#define SLOWEST_PCIE_BYTES_PER_SECOND 7.9e9
#define SLOWEST_TCP_BYTES_PER_SECOND 1.25e9

/* A PCIe lane carries 0.985 GB/s in generation 3, doubled by each later one. */
static double pcie_rate(const struct accelerator *accelerator)
{
	double rate = 0.985e9 * accelerator->pcie_lanes;

	for (int generation = 3; generation < accelerator->pcie_generation; generation++)
		rate *= 2;
	return rate;
}

static double pcie_bytes_per_second(const struct accelerator *accelerator,
				    const struct fabric *fabric, bool *assumed)
{
	bool is_pcie = fabric->node_link == NODE_LINK_PCIE_PEER ||
		       fabric->node_link == NODE_LINK_PCIE_HOST;

	if (is_pcie && fabric->node_bytes_per_second > 0)
		return fabric->node_bytes_per_second;
	if (accelerator->pcie_generation > 0 && accelerator->pcie_lanes > 0)
		return pcie_rate(accelerator);
	*assumed = true;
	return SLOWEST_PCIE_BYTES_PER_SECOND;
}

double speed_host_bytes_per_second(const struct accelerator *accelerator,
				   const struct fabric *fabric, int gpus_per_node, bool *assumed)
{
	double rate = pcie_bytes_per_second(accelerator, fabric, assumed);

	return fmin(rate * HOST_COPY_EFFICIENCY, HOST_MEMORY_BYTES_PER_SECOND / gpus_per_node);
}

struct link speed_node_link(const struct accelerator *accelerator, const struct fabric *fabric,
			    int ways)
{
	struct link link = {.latency_seconds = 1.5e-6, .half_bytes = 1e6};
	double rate = fabric->node_bytes_per_second;
	enum node_link kind = fabric->node_link;
	double far = ways > PCIE_NEAR_GPUS ? PCIE_FAR : 1;

	/* Past the bridge everything goes over PCIe. */
	if (kind == NODE_LINK_NVLINK_PAIR &&
	    ways > (fabric->domain_gpus > 0 ? fabric->domain_gpus : 2))
		kind = NODE_LINK_PCIE_PEER;
	if (rate <= 0 &&
	    (kind == NODE_LINK_NVSWITCH || kind == NODE_LINK_NVLINK_MESH ||
	     kind == NODE_LINK_NVLINK_PAIR || kind == NODE_LINK_XGMI || kind == NODE_LINK_TORUS)) {
		rate = accelerator->nvlink_gb_s * 1e9 / 2;
		if (kind == NODE_LINK_XGMI)
			rate /= 7;
		link.is_assumed = rate <= 0;
	}
	switch (kind) {
	case NODE_LINK_NVSWITCH:
		link.bytes_per_second = rate * NVSWITCH_EFFICIENCY;
		return link;
	case NODE_LINK_NVLINK_PAIR:
		link.bytes_per_second = rate * NVSWITCH_EFFICIENCY;
		return link;
	case NODE_LINK_NVLINK_MESH:
		link.bytes_per_second = rate * MESH_EFFICIENCY;
		return link;
	case NODE_LINK_XGMI:
		/* Point to point: a group of n uses n - 1 links of each GPU. */
		link.bytes_per_second = rate * XGMI_EFFICIENCY * (ways > 1 ? ways - 1 : 1);
		return link;
	case NODE_LINK_TORUS:
		link.bytes_per_second = rate * TORUS_EFFICIENCY;
		return link;
	case NODE_LINK_PCIE_PEER:
		link.latency_seconds = PCIE_PEER_LATENCY_SECONDS;
		link.half_bytes = PCIE_PEER_HALF_BYTES;
		link.bytes_per_second =
			pcie_bytes_per_second(accelerator, fabric, &link.is_assumed) *
			PCIE_PEER_EFFICIENCY * far;
		return link;
	case NODE_LINK_UNKNOWN:
		link.is_assumed = true;
		break;
	case NODE_LINK_SINGLE:
	case NODE_LINK_PCIE_HOST:
	case NODE_LINKS:
	default:
		break;
	}
	link.latency_seconds = PCIE_HOST_LATENCY_SECONDS;
	link.half_bytes = PCIE_HOST_HALF_BYTES;
	link.bytes_per_second = pcie_bytes_per_second(accelerator, fabric, &link.is_assumed) *
				PCIE_HOST_EFFICIENCY * far;
	if (link.bytes_per_second * ways > PCIE_HOST_NODE_BYTES_PER_SECOND)
		link.bytes_per_second = PCIE_HOST_NODE_BYTES_PER_SECOND / ways;
	return link;
}

struct link speed_cluster_link(const struct fabric *fabric, int gpus_per_node)
{
	struct link link = {.latency_seconds = 15e-6, .half_bytes = 8e6};
	double rate = fabric->cluster_bytes_per_second, efficiency = RDMA_EFFICIENCY;

	switch (fabric->cluster_link) {
	case CLUSTER_LINK_INFINIBAND:
	case CLUSTER_LINK_ROCE:
		break;
	case CLUSTER_LINK_NVL72:
		efficiency = NVSWITCH_EFFICIENCY;
		link.half_bytes = 1e6;
		break;
	case CLUSTER_LINK_EFA:
		efficiency = EFA_EFFICIENCY;
		break;
	case CLUSTER_LINK_TCPX:
		efficiency = TCPX_EFFICIENCY;
		break;
	case CLUSTER_LINK_NONE:
	case CLUSTER_LINK_TCP:
	case CLUSTER_LINKS:
	default:
		efficiency = TCP_EFFICIENCY;
		link.latency_seconds = 50e-6;
		break;
	}
	if (rate <= 0) {
		rate = SLOWEST_TCP_BYTES_PER_SECOND;
		link.is_assumed = true;
	}
	link.bytes_per_second = rate * efficiency / (gpus_per_node > 0 ? gpus_per_node : 1);
	return link;
}

/* Of a tree. */
static double steps_of(int ways)
{
	return ways & (ways - 1) ? log2(ways) : __builtin_ctz((unsigned)ways);
}

double speed_collective(enum collective collective, double bytes, int ways, const struct link *link)
{
	double share, steps, moved;

	if (ways <= 1 || bytes <= 0)
		return 0;
	share = (double)(ways - 1) / ways;
	switch (collective) {
	case COLLECTIVE_ALL_REDUCE:
		moved = 2 * share * bytes;
		steps = 2 * steps_of(ways);
		break;
	case COLLECTIVE_ALL_GATHER:
		/* Round a ring; only reductions have a tree. */
		moved = share * bytes;
		steps = ways - 1;
		break;
	case COLLECTIVE_ALL_TO_ALL:
		moved = share * bytes;
		steps = steps_of(ways);
		break;
	case COLLECTIVE_SEND:
	default:
		moved = bytes;
		steps = 1;
		break;
	}
	return steps * link->latency_seconds +
	       (moved + link->half_bytes * share) / link->bytes_per_second;
}
