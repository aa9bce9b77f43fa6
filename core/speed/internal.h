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

struct link speed_node_link(const struct accelerator *accelerator, const struct fabric *fabric,
			    int ways);
struct link speed_cluster_link(const struct fabric *fabric, int gpus_per_node);
/* What one GPU moves to or from its host's memory while the others of the node do the same. */
double speed_host_bytes_per_second(const struct accelerator *accelerator,
				   const struct fabric *fabric, int gpus_per_node, bool *assumed);
double speed_collective(enum collective collective, double bytes, int ways,
			const struct link *link);

/* traffic.c: what one optimizer step moves, in seconds of the links. */
struct traffic {
	double tensor;	/* of one micro-batch on one stage; in the way of compute */
	double experts; /* the same, of expert parallelism */
	double context; /* the same, of context parallelism */
	double data;	/* of the whole step; hides behind compute */
	double host;	/* of the whole step: offload; hidden by nothing */
};

void speed_traffic(const struct speed_basis *basis, const struct layout *layout,
		   const struct fabric *fabric, double count, struct traffic *out, bool *assumed);

/* All weights in a format: counted once for the format that the basis is for. */
static inline double speed_weight_bytes(const struct speed_basis *basis, enum format format)
{
	return format == basis->weight_format
		       ? basis->weight_bytes
		       : architecture_weight_bytes(basis->workload->architecture, format);
}

/* engine.c: what the software adds to a step and reaches of a card. */
struct engine_speed {
	double layer_seconds,
		launch_seconds; /* a layer: on the card; of the host, if not captured */
	double step_seconds, sequence_seconds; /* a step; a step and sequence */
	double prefill, decode;		       /* share of what matrices reach */
	double piece_tokens;		       /* of a prompt, passed at a time */
	bool mixes;			       /* prompts ride along in decode steps, in chunks */
	bool has_matrix_kernels; /* for one token as for many, instead of kernels of their own */
};

const struct engine_speed *engine_speed(const struct speed_basis *basis);
/* What decoding reaches of the bandwidth. */
double engine_read_share(const struct speed_basis *basis);
double engine_gap_seconds(const struct speed_basis *basis, enum format format, bool is_captured);
bool engine_mixes(const struct speed_basis *basis); /* as it is set */
double engine_launch_seconds(const struct speed_basis *basis, enum format format);
/* Dense peak of the fastest arithmetic that runs: what utilisation is of. */
double engine_highest_flops(const struct speed_basis *basis, enum format format);
/* The most that prompts reach, in any format. */
double engine_prefill_flops(const struct speed_basis *basis);
double engine_prefill_seconds(const struct speed_basis *basis, enum format format, double tokens);
/* Time of the matrices of a prompt that is alone on the card, in times of that under a load. */
double engine_alone_factor(const struct speed_basis *basis, enum format format);
double engine_decode_seconds(const struct speed_basis *basis, enum format format, double tokens);
double engine_unpack_seconds(const struct speed_basis *basis, enum format format, double weights);
double engine_touched_share(const struct speed_basis *basis, double tokens);

/* common.c */
void speed_phase_close(struct speed_phase *phase);

/* train.c, serve.c */
double speed_least_training(const struct speed_basis *basis);
double speed_least_serving(const struct speed_basis *basis, double cache_bits);
void speed_training(const struct speed_basis *basis, const struct layout *layout,
		    const struct fabric *fabric, struct speed_estimate *out);
void speed_serving(const struct speed_basis *basis, const struct layout *layout,
		   const struct fabric *fabric, struct speed_copy *copy,
		   struct speed_estimate *out);

#endif
