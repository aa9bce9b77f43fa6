/*
 * Fabric: the links between the GPUs of a node and between nodes.
 *
 * Rates are bytes per second per GPU in one direction at the wire; what collectives reach of it is
 * core/speed's business (for PCIE_HOST and UNKNOWN it is the card's own PCIe link). Kinds are kept
 * apart because they behave apart: a bridge joins pairs only, xGMI is per peer, GeForce cards have
 * no peer-to-peer and go through host memory.
 */
#ifndef CORE_FABRIC_H
#define CORE_FABRIC_H

#include "core/names.h"

#include <stdbool.h>

struct accelerator;

enum node_link {
	NODE_LINK_UNKNOWN,     /* treated as PCIe through the host, and said so */
	NODE_LINK_SINGLE,      /* one GPU: nothing to join */
	NODE_LINK_NVSWITCH,    /* all to all at full rate */
	NODE_LINK_NVLINK_MESH, /* direct links, unequal pairs (V100 cube mesh, 4-GPU boards) */
	NODE_LINK_NVLINK_PAIR, /* bridges: GPUs 2k and 2k+1 only; the rest is PCIe */
	NODE_LINK_XGMI,	       /* point to point; rate is per peer */
	NODE_LINK_PCIE_PEER,   /* peer-to-peer over PCIe */
	NODE_LINK_PCIE_HOST,   /* through host memory (GeForce) */
	NODE_LINK_TORUS,       /* direct links of other makes: TPU ICI, NeuronLink, Gaudi */
	NODE_LINKS
};

enum cluster_link {
	CLUSTER_LINK_NONE, /* nodes cannot be joined, or not known */
	CLUSTER_LINK_TCP,  /* plain Ethernet */
	CLUSTER_LINK_EFA,
	CLUSTER_LINK_TCPX, /* GPUDirect-TCPX(O) */
	CLUSTER_LINK_ROCE,
	CLUSTER_LINK_INFINIBAND,
	CLUSTER_LINK_NVL72, /* NVLink between nodes of one rack */
	CLUSTER_LINKS
};

struct fabric {
	enum node_link node_link;
	double node_bytes_per_second; /* per GPU, one direction; per peer for xGMI; 0 = not known */
	int domain_gpus;	      /* GPUs that reach each other at that rate (2 for bridges) */
	enum cluster_link cluster_link;
	double cluster_bytes_per_second; /* per node, one direction; 0 = not known */
};

extern const struct names node_link_names, cluster_link_names;

/* What a machine of `count` such cards has when no table says otherwise: from the card's form
 * factor and NVLink; never better than what is known. */
struct fabric fabric_of_accelerator(const struct accelerator *accelerator, double count);

/* RDMA-class: InfiniBand, RoCE, EFA, TCPX, NVL72. Plain Ethernet is not. */
bool fabric_has_rdma(const struct fabric *fabric);

/* NVLink, xGMI or a maker's own links between all GPUs of the node; not bridges, not PCIe. */
bool fabric_is_fast(const struct fabric *fabric);

#endif
