/*
 * What the files of core/memory share. Each kind of work has one file that fills the terms;
 * common.c prepares what they need and sums up.
 */
#ifndef CORE_MEMORY_INTERNAL_H
#define CORE_MEMORY_INTERNAL_H

#include "core/memory.h"

/* Bytes kept per trained parameter. */
struct static_bytes {
	double weights, master, gradients, optimizer;
	double host; /* kept in host memory by the optimizer's own choice (paged states) */
};

/* What training leaves behind and moves through, of one GPU. */
struct memory_flow {
	double saved_first, saved_last; /* of the first and the last pipeline stage */
	double working;			/* of the layer at hand in the backward pass */
	double last_saved;		/* of the last layer that the backward pass comes to */
	double logits;
};

/* common.c */
struct static_bytes memory_static_bytes(const struct workload *workload,
					const struct layout *layout, bool adapters);
/* Temporaries of the optimizer step, in states of a parameter: 1 when all square roots are taken at
 * once, 0 when the step is fused. */
double memory_step_states(const struct workload *workload);
/* Whether the parts that stay unquantised are held in fp32. */
bool memory_is_upcast(const struct workload *workload, enum format format);
double memory_expert_parameters(const struct layer_kind *kind, int hidden);
double memory_layer_parameters(const struct layer_kind *kind, int hidden);
double memory_largest_matrix(const struct layer_kind *kind, int hidden);
double memory_layer_linear_parameters(const struct layer_kind *kind, int hidden);

/* adapters.c */
/* Of what memory_static_bytes() says of the optimizer: below 1 where gradients are projected. */
double memory_state_share(const struct workload *workload, const struct parameter_count *count);

/* activations.c */
void memory_prepare_activations(const struct workload *workload, struct memory_basis *basis);
void memory_training_activations(const struct memory_basis *basis, const struct layout *layout,
				 struct memory_flow *out);

/* media.c: a pipeline's work, and every term but the totals; bytes of weights and of what lies
 * idle beside them */
void memory_media_prepare(struct memory_basis *basis);
void memory_media_terms(const struct memory_basis *basis, const struct layout *layout,
			struct memory_estimate *out);
/* In + out of all matrices of the denoiser that adapters join. */
double memory_media_sides(const struct media *media, enum lora_targets targets);
/* media_train.c: the same in training */
void memory_media_training_terms(const struct memory_basis *basis, const struct layout *layout,
				 struct memory_estimate *out);
/* media.c: what both need. Bytes of one copy of the denoiser, of the encoders. */
double memory_denoiser_bytes(const struct memory_basis *basis, enum format format);
double memory_encoder_bytes(const struct memory_basis *basis, enum format format);
double memory_vae_bytes(const struct memory_basis *basis, enum format format);
/* Activations of a pass through the denoiser without a way back, of so many items. */
double memory_denoise_bytes(const struct memory_basis *basis, enum format format, double items);
/* Of one run of the VAE. */
double memory_vae_activations(const struct memory_basis *basis, enum format format, double items,
			      const struct media_work *work);

/* training.c, serve.c: every term but the totals */
void memory_training_terms(const struct memory_basis *basis, const struct layout *layout,
			   const struct accelerator *accelerator, struct memory_estimate *out);
void memory_serve_terms(const struct memory_basis *basis, const struct layout *layout,
			const struct accelerator *accelerator, struct memory_copy *copy,
			struct memory_estimate *out);

/* serve_copy.c: all of a copy but what its engine reserves */
void memory_serve_copy(const struct memory_basis *basis, const struct layout *layout,
		       struct memory_copy *out);

#endif
