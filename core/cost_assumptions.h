/*
 * Cost assumptions: what no provider publishes and the total cost still rests on. Each has a name,
 * a range and a value that is taken when nobody gives one; the answer names all of them, and a
 * request may set each. COST_ASSUMPTIONS is the one table that the decoder, the answer and the
 * OpenAPI check read.
 *
 * A value of NAN means: as the offer's provider publishes it, else the dearest quartile of its
 * class. A number that is given takes the place of that quartile; what a provider publishes stays.
 * Spot interruptions are the exception: nobody publishes a rate, so a given one holds for all.
 */
#ifndef CORE_COST_ASSUMPTIONS_H
#define CORE_COST_ASSUMPTIONS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define ASSUMED_AS_PUBLISHED ((double)NAN)

/*
 * name, value, least, most
 *
 * download: mirrors and object stores sustain 2 Gbit/s a node. image: the images of vLLM and of
 * NVIDIA's PyTorch weigh about 10 GB compressed. storage: network volumes and shared file systems
 * sustain about 1 GB/s a node. stall: stopping the step and flushing, whatever the size. kept: the
 * last checkpoint and the one being written. exported: copies that leave the provider besides the
 * result. failures: of hardware, of any price kind, in training on several machines: 419 in 54 days
 * on 16,384 H100 (Llama 3, arXiv 2407.21783).
 */
#define COST_ASSUMPTIONS(X)                                                                        \
	X(download_gb_per_second, 0.25, 1e-4, 1e3)                                                 \
	X(image_gb, 10, 0, 1e4)                                                                    \
	X(storage_read_gb_per_second, 1, 1e-4, 1e5)                                                \
	X(storage_write_gb_per_second, 1, 1e-4, 1e5)                                               \
	X(checkpoint_stall_seconds, 2, 0, 1e5)                                                     \
	X(checkpoints_kept, 2, 0, 1e6)                                                             \
	X(checkpoints_exported, 0, 0, 1e6)                                                         \
	X(failures_per_gpu_hour, 2e-5, 0, 1)                                                       \
	X(spot_interruptions_per_hour, ASSUMED_AS_PUBLISHED, 1e-9, 3600)                           \
	X(setup_seconds, ASSUMED_AS_PUBLISHED, 0, 1e6)                                             \
	X(billing_granularity_seconds, ASSUMED_AS_PUBLISHED, 0, 1e7)                               \
	X(minimum_charge_seconds, ASSUMED_AS_PUBLISHED, 0, 1e7)                                    \
	X(volume_usd_per_gb_month, ASSUMED_AS_PUBLISHED, 0, 1e3)                                   \
	X(egress_usd_per_gb, ASSUMED_AS_PUBLISHED, 0, 1e3)

enum cost_assumption_id {
#define X(field, value, least, most) ASSUMPTION_##field,
	COST_ASSUMPTIONS(X)
#undef X
		ASSUMPTIONS
};

struct cost_assumptions {
#define X(field, value, least, most) double field;
	COST_ASSUMPTIONS(X)
#undef X
	unsigned given; /* bit ASSUMPTION_<field>: the caller said so */
};

struct cost_assumption_field {
	const char *name;
	size_t offset;
	double least, most;
};

extern const struct cost_assumption_field cost_assumption_fields[ASSUMPTIONS];
extern const struct cost_assumptions cost_assumptions_default;

static inline double cost_assumption(const struct cost_assumptions *assumptions,
				     enum cost_assumption_id id)
{
	return *(const double *)(const void *)((const char *)assumptions +
					       cost_assumption_fields[id].offset);
}

/* False when the value is outside its range. */
bool cost_assumption_set(struct cost_assumptions *assumptions, enum cost_assumption_id id,
			 double value);

#endif
