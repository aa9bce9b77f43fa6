/* What the files of core/speed share. */
#ifndef CORE_SPEED_INTERNAL_H
#define CORE_SPEED_INTERNAL_H

#include "core/speed.h"

/* links.c: seconds of one collective over `ways` GPUs of the layout, `bytes` being the full buffer.
 */
enum collective {
	COLLECTIVE_ALL_REDUCE,
	COLLECTIVE_ALL_GATHER,
	COLLECTIVE_ALL_TO_ALL,
	COLLECTIVE_SEND
};

struct link {
	double bytes_per_second; /* per GPU, one direction, reachable for large messages */
	double latency_seconds;	 /* per step of a ring */
	double half_bytes;	 /* message that reaches half of the rate */
	bool is_assumed;
};

struct link speed_node_link(const struct accelerator *accelerator, const struct fabric *fabric,
			    int ways);
struct link speed_cluster_link(const struct fabric *fabric, int gpus_per_node);
double speed_collective(enum collective collective, double bytes, int ways,
			const struct link *link);

/* traffic.c: what one optimizer step moves, in seconds of the links. */
struct traffic {
	double tensor;	/* of one micro-batch on one stage; in the way of compute */
	double experts; /* the same, of expert parallelism */
	double data;	/* of the whole step; hides behind compute */
	double host;	/* of the whole step: offload; hidden by nothing */
};

void speed_traffic(const struct speed_basis *basis, const struct layout *layout,
		   const struct fabric *fabric, double count, struct traffic *out, bool *assumed);

/* common.c */
void speed_phase_close(struct speed_phase *phase);

/* train.c, serve.c */
void speed_training(const struct speed_basis *basis, const struct layout *layout,
		    const struct fabric *fabric, struct speed_estimate *out);
void speed_serving(const struct speed_basis *basis, const struct layout *layout,
		   const struct fabric *fabric, struct speed_estimate *out);

#endif
