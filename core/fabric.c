/* Fabric: see fabric.h. What a machine has when only its cards are known is the least that such
 * cards come with: a bridge that may be missing is not counted on. */
#include "core/fabric.h"

#include "core/accelerator.h"

#include <string.h>

static const char *const node_link_text[NODE_LINKS] = {
	[NODE_LINK_UNKNOWN] = "unknown",
	[NODE_LINK_SINGLE] = "single",
	[NODE_LINK_NVSWITCH] = "nvswitch",
	[NODE_LINK_NVLINK_MESH] = "nvlink_mesh",
	[NODE_LINK_NVLINK_PAIR] = "nvlink_pair",
	[NODE_LINK_XGMI] = "xgmi",
	[NODE_LINK_PCIE_PEER] = "pcie_peer",
	[NODE_LINK_PCIE_HOST] = "pcie_host",
	[NODE_LINK_TORUS] = "torus",
};
const struct names node_link_names = {node_link_text, NODE_LINKS};

static const char *const cluster_link_text[CLUSTER_LINKS] = {
	[CLUSTER_LINK_NONE] = "none",
	[CLUSTER_LINK_TCP] = "tcp",
	[CLUSTER_LINK_EFA] = "efa",
	[CLUSTER_LINK_TCPX] = "tcpx",
	[CLUSTER_LINK_ROCE] = "roce",
	[CLUSTER_LINK_NVL72] = "nvl72",
	[CLUSTER_LINK_INFINIBAND] = "infiniband",
};
const struct names cluster_link_names = {cluster_link_text, CLUSTER_LINKS};

/* Peers on an 8-GPU board whose links are point to point: each gets a seventh of the card's links.
 */
#define BOARD_PEERS 7

/* One direction at the wire, after line coding. */
static double pcie_bytes_per_second(const struct accelerator *accelerator)
{
	static const double lane_gb_s[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
	int generation = accelerator->pcie_generation;

	if (generation < 1 || generation > 6)
		return 0;
	return lane_gb_s[generation] * accelerator->pcie_lanes * 1e9;
}

static enum node_link nvidia_link(const struct accelerator *accelerator)
{
	if (strcmp(accelerator->form_factor, "SXM") == 0) {
		/* P100 and V100 boards join some pairs only; the 16-GPU board of the SXM3 card has
		 * a switch. */
		if (accelerator->compute_capability < 80 && !strstr(accelerator->name, "SXM3"))
			return NODE_LINK_NVLINK_MESH;
		return NODE_LINK_NVSWITCH;
	}
	if (strcmp(accelerator->form_factor, "superchip") ==
	    0) /* GB200 trays; a GH200 stands alone */
		return accelerator->compute_capability >= 100 ? NODE_LINK_NVSWITCH
							      : NODE_LINK_UNKNOWN;
	if (strcmp(accelerator->form_factor, "consumer") == 0 ||
	    strcmp(accelerator->form_factor, "MIG") == 0)
		return NODE_LINK_PCIE_HOST;
	return NODE_LINK_PCIE_PEER;
}

static enum node_link link_of(const struct accelerator *accelerator)
{
	bool on_board = strcmp(accelerator->form_factor, "OAM") == 0 ||
			strcmp(accelerator->form_factor, "APU") == 0;

	switch (accelerator->vendor) {
	case VENDOR_NVIDIA:
		return nvidia_link(accelerator);
	case VENDOR_AMD:
		if (on_board)
			return NODE_LINK_XGMI;
		break;
	case VENDOR_INTEL:
		if (on_board && accelerator->nvlink_gb_s > 0)
			return NODE_LINK_TORUS;
		break;
	case VENDOR_GOOGLE:
	case VENDOR_AWS:
		return accelerator->nvlink_gb_s > 0 ? NODE_LINK_TORUS : NODE_LINK_UNKNOWN;
	case VENDOR_OTHER:
		break;
	}
	return strcmp(accelerator->form_factor, "consumer") == 0 ? NODE_LINK_PCIE_HOST
								 : NODE_LINK_PCIE_PEER;
}

/* Part of a card's own links that stays inside the machine: Gaudi keeps three ports for the
 * network. */
static double inside_share(const struct accelerator *accelerator)
{
	if (accelerator->vendor != VENDOR_INTEL)
		return 1;
	return strcmp(accelerator->architecture, "Gaudi1") == 0 ? 7.0 / 10 : 21.0 / 24;
}

struct fabric fabric_of_accelerator(const struct accelerator *accelerator, double count)
{
	struct fabric fabric = {.node_link = NODE_LINK_SINGLE, .domain_gpus = 1};
	double own = accelerator->nvlink_gb_s / 2 * 1e9; /* one direction */

	if (!(count > 1))
		return fabric;
	fabric.node_link = link_of(accelerator);
	fabric.domain_gpus = count < 1024 ? (int)count : 1024;
	switch (fabric.node_link) {
	case NODE_LINK_NVSWITCH:
	case NODE_LINK_NVLINK_MESH:
		fabric.node_bytes_per_second = own;
		break;
	case NODE_LINK_XGMI:
		fabric.node_bytes_per_second = own / BOARD_PEERS;
		break;
	case NODE_LINK_TORUS:
		fabric.node_bytes_per_second = own * inside_share(accelerator);
		break;
	case NODE_LINK_PCIE_PEER:
	case NODE_LINK_PCIE_HOST:
	case NODE_LINK_UNKNOWN:
		fabric.node_bytes_per_second = pcie_bytes_per_second(accelerator);
		break;
	case NODE_LINK_SINGLE:
	case NODE_LINK_NVLINK_PAIR:
	case NODE_LINKS:
		break;
	}
	return fabric;
}

bool fabric_has_rdma(const struct fabric *fabric)
{
	return fabric->cluster_link >= CLUSTER_LINK_EFA && fabric->cluster_link < CLUSTER_LINKS;
}

bool fabric_is_fast(const struct fabric *fabric)
{
	return fabric->node_link == NODE_LINK_NVSWITCH ||
	       fabric->node_link == NODE_LINK_NVLINK_MESH || fabric->node_link == NODE_LINK_XGMI ||
	       fabric->node_link == NODE_LINK_TORUS;
}
