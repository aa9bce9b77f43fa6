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

struct speed_estimate {
	/* Training: one optimizer step over the global batch. */
	struct speed_phase step;
	double tokens_per_step;
	double tokens_per_second; /* training: all GPUs; inference: output tokens of all replicas */
	double mfu; /* model FLOPs over the dense peak of the compute type used, 0..1 */

	/* Inference at the layout's resident sequences. */
	struct speed_phase prefill,
		decode; /* of one prompt; of one token of all resident sequences */
	double ttft_seconds, tpot_seconds;
	double input_tokens_per_second; /* saturated, all replicas */
	double requests_per_second;	/* saturated, all replicas */

	enum bottleneck bottleneck; /* of the phase that takes the most time */
	double low_factor,
		high_factor; /* multiply a time by these for the range that measurements support */
	bool link_is_assumed;
};

struct speed_basis {
	const struct workload *workload;
	const struct accelerator *accelerator;
	struct parameter_count parameters;
	double linear_flops;	/* of one token's forward pass in the matrices alone */
	double attention_flops; /* reachable a second in attention, which stays in 16 bit */
	double adapter_sides;	/* in + out of all targets of LoRA */
	double routed_elements; /* hidden x experts chosen, over all expert layers */
	double traffic_bytes;	/* what one token's forward pass moves outside the matrices */
	double compute_flops;	/* reachable, per second, of the compute type that the workload uses
				 */
	double peak_flops;	/* the same at the datasheet's dense peak */
	double memory_bytes_per_second; /* reachable */
};

extern const struct names bottleneck_names;

/* False when the card's figures do not suffice (no bandwidth or no peak known). */
bool speed_prepare(const struct workload *workload, const struct accelerator *accelerator,
		   enum format weight_format, struct speed_basis *basis);

void speed_estimate(const struct speed_basis *basis, const struct layout *layout,
		    const struct fabric *fabric, struct speed_estimate *out);

#endif
