/*
 * Instance types: what a provider's machine is made of, beyond what its price feed says.
 *
 * A feed tells a price; this table tells how the GPUs of the machine are joined, what network it
 * has and whether several can form one cluster. Data: data/instances.inc.
 */
#ifndef CORE_INSTANCE_H
#define CORE_INSTANCE_H

#include "core/fabric.h"

#include <stddef.h>

struct accelerator;

struct instance {
	const char *provider, *type;
	const char *accelerator;		 /* canonical name */
	double count;				 /* may be a fraction */
	struct fabric fabric;			 /* links in the node and between nodes */
	double vcpus, memory_gib, local_nvme_gb; /* 0 = not known */
	bool has_cluster;			 /* several of them can be joined by the fabric */
	const char *source;
	const char *notes; /* or NULL */
};

extern const struct instance instances[];
extern const size_t instances_count;

/* NULL when the table does not know the type. */
const struct instance *instance_find(const char *provider, const char *type);

#endif
