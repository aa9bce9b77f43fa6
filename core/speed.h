/*
 * Speed: how long a step, a prompt or a token takes, and what bounds it.
 *
 * Each phase is the slowest of compute, memory traffic and communication plus a fixed overhead per
 * layer and step; efficiencies are named constants with a source or the fit they came from
 * (core/speed/). A figure that depends on a link whose rate is not known uses the slowest link of
 * its kind and sets `link_is_assumed`.
 */
#ifndef CORE_SPEED_H
#define CORE_SPEED_H

#include "core/accelerator.h"
#include "core/fabric.h"
#include "core/layout.h"
#include "core/media.h"
#include "core/workload.h"

enum bottleneck {
	BOTTLENECK_COMPUTE,
	BOTTLENECK_MEMORY_BANDWIDTH,
	BOTTLENECK_COMMUNICATION,
	BOTTLENECK_OVERHEAD, /* kernel launches and host: small models, small batches */
	BOTTLENECK_DATA_LOADING,
	BOTTLENECKS
};

/* Time of one phase by resource, in seconds, on one GPU of the layout. */
struct speed_phase {
	double seconds;
	double compute_seconds, memory_seconds, communication_seconds, overhead_seconds;
	enum bottleneck bottleneck;
};

struct accuracy;

struct speed_estimate {
	/* Training: one optimizer step over the global batch. */
	struct speed_phase step;
	double tokens_per_step;
	double tokens_per_second; /* training: all GPUs; inference: output tokens of all replicas,
				     or input tokens where there is no output */
	double mfu; /* model FLOPs over the dense peak of the fastest compute type used, 0..1 */

	/* Inference at the layout's resident sequences. */
	struct speed_phase prefill,
		decode; /* of one prompt; of one token of all resident sequences */
	double ttft_seconds, tpot_seconds;
	double tower_seconds;		/* of the prefill: pictures or sound through the tower */
	double input_tokens_per_second; /* saturated, all replicas */
	double requests_per_second;	/* saturated, all replicas */

	/* A pipeline (media.h), inference: of one batch on one replica, all steps together. */
	struct speed_phase media[MEDIA_PHASES];
	double batch_seconds;	 /* from the prompts to the items; `step` is one step of it */
	double items_per_second; /* all replicas */

	enum bottleneck bottleneck; /* of the phase that takes the most time */
	double low_factor,
		high_factor; /* multiply a time by these for the range that measurements support */
	bool link_is_assumed;
};

/* Of a pipeline, what depends on the workload alone: work of one item. */
struct speed_media {
	struct media_work encode; /* of all encoders */
	struct media_work decode; /* of the decoder, tiles and all; in training, the encoder */
	struct media_work pass;	  /* of the denoiser */
	double items;		  /* a batch */
	double passes;		  /* a step */
	double denoiser_bytes, encoder_bytes, vae_bytes; /* of weights; denoiser: one copy */
	double exchanged_elements; /* of an item and pass, through one all-to-all of queries, all
				      attention that runs over the whole item */
	double exchanges;	   /* of those attentions */
	double blocks;
	double linear_parameters; /* of the denoiser, that formats take hold of */
};

struct speed_basis {
	const struct workload *workload;
	struct speed_media media; /* where the model is a pipeline */
	const struct accelerator *accelerator;
	struct parameter_count parameters;
	double linear_flops;	/* of one token's forward pass in the matrices alone: training, the
				   mean over a sequence; inference, of an output token */
	double attention_flops; /* reachable a second in attention, which stays in 16 bit */
	double adapter_sides;	/* in + out of all targets of LoRA */
	double routed_elements; /* hidden x experts chosen, over all expert layers */
	double expert_flops;	/* the part of linear_flops that is in routed experts */
	double experts_chosen;	/* by a token, the most of any layer */
	double score_elements;	/* training: heads x tokens that a token is scored against, over all
				   layers */
	double traffic_bytes;	/* what one such token's forward pass moves outside the matrices */
	double compute_flops;	/* reachable, per second, of the compute type that the workload uses
				 */
	double peak_flops;	/* the same at the datasheet's dense peak */
	double highest_flops;	/* the higher of that and attention's: what utilisation is of */
	bool is_low;		/* they are in 8 or 4 bit */
	double powered_flops;	/* the same as far as the card's power goes */
	double side_scale;	/* training: how much wider matrices must be to fill the card than
				   one that train.c knows */
	double half_flops;	/* as compute_flops, in 16 bit */
	double single_flops;	/* the same in fp32, or TF32 where there is that */
	double memory_bytes_per_second; /* reachable */
	enum format weight_format;
	double weight_bytes;	/* of all weights in that format */
	double pass_attention;	/* forward FLOPs of attention, a token: of a sequence or a prompt */
	double decode_flops;	/* inference: forward FLOPs of an output token half-way */
	double cache_elements;	/* inference: of one sequence half-way through its output */
	double layers, experts; /* all layers; most experts of any layer, 0 = dense */
	double token_layers;	/* training: pairs of blocks that a token passes, the mean */
	double scored_share;	/* training: share of the tokens that the loss looks at */
	/* Inference, the prompt: as linear_flops and traffic_bytes; layers; of all weights, those
	 * that only the prompt passes (an encoder). */
	double prompt_flops, prompt_traffic_bytes, prompt_layers, prompt_weights;
	double prompt_head_flops; /* of prompt_flops: the head, which a prompt passes once */
	double cross_elements;	  /* of cache_elements: keys and values of the source */
	double tower_flops, tower_attention; /* inference: what the tower does for one request */
	/* Of routed experts the widest, and the share of all tokens that one gets; 0 = dense. */
	double expert_width, expert_chance;
	/* Attention over latents, and what it takes of the FLOPs of heads: each scores whole
	 * latents. */
	bool has_latent;
	double latent_factor;
	double cache_split; /* KV heads, among which tensor parallelism can share out the cache */
	const struct accuracy *accuracy; /* what measurements of this kind support */
};

extern const struct names bottleneck_names;

/* False when the card's figures do not suffice (no bandwidth or no peak known). */
bool speed_prepare(const struct workload *workload, const struct accelerator *accelerator,
		   enum format weight_format, struct speed_basis *basis);

/* The same in two steps: what depends on the workload alone, then what does on the card and the
 * format, in which all weights take `weight_bytes`. */
void speed_prepare_work(const struct workload *workload, struct speed_basis *basis);
bool speed_prepare_card(struct speed_basis *basis, const struct accelerator *accelerator,
			enum format weight_format, double weight_bytes);

void speed_estimate(const struct speed_basis *basis, const struct layout *layout,
		    const struct fabric *fabric, struct speed_estimate *out);

/* GPU-seconds that no layout of the card in the basis can do with less for: training, a token;
 * inference, a request, whose cache is read in no less than `cache_bits` an element. */
double speed_least_seconds(const struct speed_basis *basis, double cache_bits);

/* What collectives reach. */
struct link {
	double bytes_per_second; /* per GPU, one direction, reachable for large messages */
	double latency_seconds;	 /* per step of a ring */
	double half_bytes;	 /* message that reaches half of the rate */
	bool is_assumed;
};

/* What an engine reaches of a card in one weight format. */
struct engine_rates {
	double prefill_flops, attention_flops; /* of a prompt */
	double tower_seconds;		       /* before one prompt, on one GPU */
	double decode_flops;
	double least_row_seconds; /* that the matrices of a step take, however few its tokens */
	double unpacked_a_second; /* weights; 0 = none need it */
	double cache_elements;	  /* of one sequence, in elements read at the full bandwidth */
	double read_share;	  /* of the bandwidth */
	double highest_flops;	  /* what utilisation is of */
	double piece_tokens;	  /* of a prompt, passed at a time */
	double step_seconds, sequence_seconds; /* a step; a step and sequence */
	double beam_seconds; /* a step and beam, where there are several; 0 otherwise */
	/* A layer: on the card, without and with a captured graph; of the host without one. */
	double gap_seconds, captured_gap_seconds, launch_seconds;
};

/* Inference: of a copy of the model, what is the same under any load. */
struct speed_copy {
	bool is_known;
	bool mixes; /* prompts ride along in decode steps */
	int tensor; /* GPUs that share every layer */
	struct link link;
	struct engine_rates rates;
	double prompt, output;		  /* tokens */
	double step_tokens;		  /* of prompts, passed at a time */
	double layers, prompt_layers;	  /* that an output token and a prompt pass */
	double request_flops;		  /* for utilisation */
	double all_seconds, prompt_share; /* reading all weights, all GPUs as one; of these, those
					     that only the prompt passes */
	double dense_share; /* of these, those that a step reads where none are experts' */
	double prompt_read_seconds;
	double prompt_matrices; /* seconds on one GPU */
	/* A prompt alone on the card, one of many, and with no part hidden behind another. */
	struct speed_phase alone, loaded, whole;
};

/* Inference: the same, where `copy` is known from another load, or becomes so. */
void speed_estimate_load(const struct speed_basis *basis, const struct layout *layout,
			 const struct fabric *fabric, struct speed_copy *copy,
			 struct speed_estimate *out);

/* Inference: what a search asks of a load: of one replica, as speed_estimate_load() finds it. */
struct speed_load {
	double ttft_seconds, tpot_seconds, requests_per_second;
};

struct speed_load speed_load_of(const struct speed_basis *basis, const struct layout *layout,
				const struct fabric *fabric, struct speed_copy *copy);

/* Inference: from the arrival of a request to its last token, all its windows of sound one after
 * the other. */
double speed_request_seconds(const struct workload *workload, const struct speed_estimate *speed);

/* Inference: of one replica, what so many do. */
void speed_replicate(struct speed_estimate *speed, int replicas);

/*
 * Inference: how long a request waits in the mean before its prompt is taken up, where requests
 * come at random and `utilisation` (0 to 1) is their rate over speed->requests_per_second, which is
 * what all replicas of the layout can do. Infinite from 1 on. `ttft_seconds` is without it, so that
 * a limit on the time to the first token at a rate is for
 * `speed->ttft_seconds + speed_wait_seconds(speed, layout, rate / speed->requests_per_second)`.
 */
double speed_wait_seconds(const struct speed_estimate *speed, const struct layout *layout,
			  double utilisation);

#endif
