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
	double beam_seconds;		       /* a step and beam, where there are several */
	double prefill, decode;		       /* share of what matrices reach */
	double piece_tokens;		       /* of a prompt, passed at a time */
	bool mixes;			       /* prompts ride along in decode steps, in chunks */
	bool has_matrix_kernels; /* for one token as for many, instead of kernels of their own */
};

const struct engine_speed *engine_speed(const struct speed_basis *basis);
void engine_rates(const struct speed_basis *basis, enum format format, struct engine_rates *out);
bool engine_mixes(const struct speed_basis *basis); /* as it is set */
/* The most that prompts reach, in any format. */
double engine_prefill_flops(const struct speed_basis *basis);
/* Matrices of so many tokens of prompts, on one GPU. */
double engine_prefill_seconds(const struct speed_basis *basis, const struct engine_rates *rates,
			      double tokens);
/* Time of the matrices of a prompt that is alone on the card, in times of that under a load. */
double engine_alone_factor(const struct speed_basis *basis, enum format format);
/* Matrices of a step of so many tokens, which touch that share of the experts. */
double engine_decode_seconds(const struct speed_basis *basis, const struct engine_rates *rates,
			     double tokens, double touched);
/* What a tower takes before one prompt, on one GPU. */
double engine_tower_seconds(const struct speed_basis *basis);
double engine_touched_share(const struct speed_basis *basis, double tokens);

/* common.c */
void speed_phase_close(struct speed_phase *phase);

/* Moved to unpack one 4-bit weight for a pass. */
double speed_unpack_bytes(enum format format);

/* media.c, media_train.c: a pipeline. How a component of it runs. */
struct media_run {
	double items, ways;  /* at once, over so many GPUs */
	double weight_bytes; /* read a launch */
	double convolution;  /* of what convolutions reach elsewhere */
	bool is_low, is_single, has_convolutions, is_denoiser;
	double kernels;	 /* beside those of the work */
	double launches; /* that the work is split into, one after the other */
	double unpacked_bytes, exchange_seconds;
};
void speed_media_run(const struct speed_basis *basis, const struct layout *layout,
		     const struct media_work *work, const struct media_run *run,
		     struct speed_phase *out);
/* One pass of a batch on one GPU: of the denoiser, either half of the autoencoder, all encoders. */
void speed_media_denoiser_run(const struct speed_basis *basis, enum format format,
			      struct media_run *run);
void speed_media_vae_run(const struct speed_basis *basis, struct media_run *run);
void speed_media_encoder_run(const struct speed_basis *basis, struct media_run *run);
double speed_media_least(const struct speed_basis *basis);
void speed_media_training(const struct speed_basis *basis, const struct layout *layout,
			  const struct fabric *fabric, struct speed_estimate *out);
void speed_media_prepare(struct speed_basis *basis);
void speed_media_serving(const struct speed_basis *basis, const struct layout *layout,
			 const struct fabric *fabric, struct speed_estimate *out);

/* serve_copy.c: of all weights, those that a pass reads which touches that share of the experts. */
double speed_touched_weights(const struct speed_basis *basis, double touched);
/* Two all-reduces a layer. */
double speed_reduce_seconds(const struct speed_basis *basis, const struct speed_copy *copy,
			    double layers, double tokens);
/* The card's time, or the host's if it cannot launch as fast, which then is busy all the while. */
void speed_serve_phase(struct speed_phase *phase, double busy, double gaps, double launches,
		       double step);
void speed_serve_copy(const struct speed_basis *basis, const struct layout *layout,
		      const struct fabric *fabric, struct speed_copy *out);

/* train.c, serve.c */
double speed_side_scale(double peak_flops); /* for the basis */
double speed_least_training(const struct speed_basis *basis);
double speed_least_serving(const struct speed_basis *basis, double cache_bits);
void speed_training(const struct speed_basis *basis, const struct layout *layout,
		    const struct fabric *fabric, struct speed_estimate *out);
void speed_serving(const struct speed_basis *basis, const struct layout *layout,
		   const struct fabric *fabric, struct speed_copy *copy,
		   struct speed_estimate *out);

#endif
