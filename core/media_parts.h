/* What the files of core/media*.c share. Everybody else uses media.h. */
#ifndef CORE_MEDIA_PARTS_H
#define CORE_MEDIA_PARTS_H

#include "core/architecture.h"
#include "core/media.h"

/* Weights of one block by what passes them: each latent token, each text token, each feature of a
 * picture, or the item's time once. */
struct media_weights {
	uint64_t latent, text, image, vector;
	uint64_t idle; /* experts that a token does not choose */
	uint64_t all;  /* with biases and norms */
};
void media_block_weights(const struct media_block *block, struct media_weights *out);

/* Width of queries, of keys. */
int media_block_inner(const struct media_block *block);
int media_block_kv(const struct media_block *block);

/* What architecture_count() answers for a pipeline: encoders and VAE are towers, a format takes
 * hold of the denoisers. */
void media_count_parameters(const struct media *media, struct parameter_count *out);

/* media_unet.c: fields of the denoiser, as media_count() does for blocks. */
void media_unet_count(const struct media_denoiser *denoiser, struct media_count *out);
void media_unet_work(const struct media_denoiser *denoiser, const struct media_grid *grid,
		     struct media_work *out);

#endif
