/*
 * Memory: what one GPU of a layout must hold, term by term.
 *
 * Formulas and constants with their sources: core/memory/ and core/README.md. A prediction has
 * three named figures: `allocated` (tensors), `reserved` (with the allocator's slack) and `device`
 * (what the driver shows in use: with context and communicator). `low` and `high` bound `device` as
 * far as measurements of that kind support it.
 *
 * memory_prepare() does what depends on the workload alone, once; memory_estimate() is cheap enough
 * to be asked for every layout (target: well under a microsecond).
 */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include "core/accelerator.h"
#include "core/layout.h"
#include "core/media.h"
#include "core/workload.h"

/* Names as in the API's `memory`. All per GPU, the fullest one of the layout. */
#define MEMORY_TERMS(X)                                                                            \
	X(weights)	 /* of a pipeline: the denoiser's */                                       \
	X(text_encoders) /* of a pipeline, at the moment of its peak; those of pictures too */     \
	X(vae)		 /* of a pipeline, likewise */                                             \
	X(master_weights)                                                                          \
	X(gradients)                                                                               \
	X(optimizer)                                                                               \
	X(optimizer_step) /* temporaries of its step, where that is the peak */                    \
	X(activations)                                                                             \
	X(logits)                                                                                  \
	X(kv_cache)                                                                                \
	X(adapters)                                                                                \
	X(communication)                                                                           \
	X(framework)

struct accuracy;

struct memory_estimate {
#define X(term) double term##_bytes;
	MEMORY_TERMS(X)
#undef X
	double allocated_bytes, reserved_bytes, device_bytes;
	double low_bytes, high_bytes; /* of device_bytes */
	double source_cache_bytes; /* of kv_cache: of sound that an encoder heard, written once */
	double pool_left_bytes;	   /* freed before the peak, of sizes nothing fits */
	/* Cached blocks that batches of varying length leave in the pool while nothing presses;
	 * given back before memory runs out, so not needed and not part of the figures above. */
	double pool_growth_bytes;
	double host_bytes;	   /* in the node's RAM, all GPUs of the node together (offload) */
	double kv_bytes_per_token; /* inference: one GPU's share for one more token */
	/* Of a pipeline: allocated in each phase; the highest is allocated_bytes. */
	double phase_bytes[MEDIA_PHASES];
};

/*
 * What one token leaves behind in one layer for the backward pass, in bytes, by what tensor
 * parallelism does to it.
 */
struct memory_activation {
	double whole;  /* as wide as the residual stream: split only by sequence parallelism */
	double split;  /* split by tensor parallelism (heads, MLP) */
	double scores; /* times the context length: the attention matrix where it is materialised */
};

/* What memory_prepare() computed; opaque to callers, who only give it room. */
/* Of a pipeline: work of one item, and weights. */
struct memory_media {
	struct media_count count;
	struct media_work encode, denoise, decode;
	double tokens; /* of the latents of one item */
	double pixels;
	double adapter_sides; /* in + out of all targets of an adapter */
};

struct memory_basis {
	const struct workload *workload;
	struct memory_media media;
	struct parameter_count parameters;
	double trainable_parameters; /* adapters; all for full training */
	double adapter_parameters;   /* LoRA, adapter or prefix weights */
	double embedding_parameters; /* embedding and head that are trained beside adapters */
	double state_share; /* parameters that optimizer states are kept of; 1 but for GaLore */
	double largest_layer_parameters;
	double layer_linear_parameters; /* linear weights of the largest layer: dequantisation
					   buffer */
	int layers;
	double largest_matrix;		/* weights of the largest linear layer */
	double block_parameters;	/* all layers together, without experts */
	double expert_parameters;	/* all experts of all layers */
	double replicated_parameters;	/* norms, routers: tensor parallelism does not split them */
	struct memory_activation saved; /* all layers together, nothing recomputed */
	struct memory_activation kinds[LAYER_KINDS_MAX]; /* a layer of each kind */
	double boundary_bytes;		 /* a token and layer, all recomputed: the layer's input */
	double selective;		 /* share of the saved that selective recompute keeps */
	double logits_bytes;		 /* a token: head output, loss and their gradients */
	double logits_left;		 /* what the pool keeps beside them, in parts of them */
	double context;			 /* tokens of a sequence that attention scores run over */
	double sequence_tokens;		 /* of one sequence, of an encoder-decoder on both sides */
	double weight_bytes[FORMATS];	 /* of all weights */
	const struct accuracy *accuracy; /* what measurements of this kind support */
};

void memory_prepare(const struct workload *workload, struct memory_basis *basis);

/*
 * `accelerator` gives context and driver constants; NULL takes NVIDIA's. The layout must be
 * complete (no AUTO values, all degrees at least 1).
 */
void memory_estimate(const struct memory_basis *basis, const struct layout *layout,
		     const struct accelerator *accelerator, struct memory_estimate *out);

/* One GPU's share of the cache of one more token, of a whole sequence at the context, and of that
 * what is of the source. */
struct memory_cache_share {
	double token, sequence, source;
};

/* Inference: of a copy of the model, what is the same under any load. */
struct memory_copy {
	bool is_known;
	struct memory_cache_share cache;
	double weights_bytes, adapters_bytes, software_bytes, rotary_bytes, tower_bytes;
	double profiled_bytes; /* activations, where the engine reserves them once */
	double step_width;     /* elements a token that the widest layer holds at once */
};

/* Inference by a model of tokens: the same, where `copy` is known from another load, or becomes so.
 */
void memory_estimate_load(const struct memory_basis *basis, const struct layout *layout,
			  const struct accelerator *accelerator, struct memory_copy *copy,
			  struct memory_estimate *out);

/* Parameters that an adapter method trains; 0 for full fine-tuning. */
double memory_adapter_parameters(const struct workload *workload);

/* vLLM's default VLLM_GRAPH_RESERVED_MEM (its Gaudi guide: 0.5 of 79.16 GiB left, of which graphs
 * took the 0.4 that was set there). */
#define MEMORY_GAUDI_GRAPH_SHARE 0.1

/*
 * Inference: bytes of KV cache that the engine's budget leaves on one GPU of that card (what the
 * driver shows, times gpu_memory_utilization, less everything else). Negative when the rest alone
 * is more.
 */
double memory_kv_capacity(const struct memory_basis *basis, const struct layout *layout,
			  const struct accelerator *accelerator);

#endif
