/*
 * Media: a generative pipeline of images, video or audio, as its components and what follows from
 * them: parameters, the grid of latents, and the work and memory of one pass through each.
 *
 * A pipeline makes an item in three phases: encode (the prompt, and pictures that it starts from,
 * pass the encoders), denoise (the latents pass the denoiser in every step), decode (the VAE turns
 * latents to pixels or samples). An architecture with `media` set is such a pipeline, and its
 * layers are not used; audio models that put out tokens are ordinary architectures.
 *
 * Plain data without pointers: a pasted configuration fills one, the registry has constants, and
 * whoever keeps a workload copies it whole.
 */
#ifndef CORE_MEDIA_H
#define CORE_MEDIA_H

#include "core/format.h"
#include "core/names.h"

#include <stdbool.h>
#include <stdint.h>

#define MEDIA_BLOCKS_MAX 8
#define MEDIA_LEVELS_MAX 6
#define MEDIA_ENCODERS_MAX 5

enum media_phase { MEDIA_ENCODE, MEDIA_DENOISE, MEDIA_DECODE, MEDIA_PHASES };
extern const struct names media_phase_names;

/* What a token of a denoiser's block attends to, text apart. */
enum media_attention {
	MEDIA_ATTENTION_FULL,	/* all tokens of the item */
	MEDIA_ATTENTION_FRAME,	/* those of its own frame */
	MEDIA_ATTENTION_TIME,	/* its own place in all frames */
	MEDIA_ATTENTION_LINEAR, /* a state instead of scores */
	MEDIA_ATTENTION_NONE,	/* convolutions only */
};

/* `count` equal blocks of a diffusion transformer. Inner width = heads * head_dim. */
struct media_block {
	int count;
	enum media_attention attention;
	int width, heads, head_dim;
	int kv_heads;		/* 0 = heads */
	int ffn;		/* 0 = none */
	bool gated;		/* three matrices in the MLP instead of two */
	bool has_response_norm; /* the MLP's inside is normed over all places, in fp32 */
	int experts, experts_active;
	int expert_ffn; /* gated; width of a routed expert */

	bool is_parallel;	/* attention and MLP side by side, one way out for both */
	bool is_joint;		/* text tokens stand in the same sequence */
	int text_width;		/* they pass matrices of their own, this wide; 0 = the same ones */
	int text_ffn;		/* width of the text's own MLP */
	bool is_kept;		/* recomputation leaves it alone */
	bool drops_text;	/* the last block: of the text only keys and values (and queries) */
	bool has_second;	/* one more self-attention over the latents alone */
	int cross_width;	/* cross-attention to text of this width; 0 = none */
	int cross_heads;	/* its KV heads; 0 = heads */
	int image_cross_width;	/* the same to an image's features, K and V alone */
	uint64_t token_weights; /* further matrices that every latent token passes */
	uint64_t vector_weights;   /* passed once an item: what modulates by the time */
	uint64_t extra_parameters; /* biases, norms, tables */
};

/* A U-Net over latents: level 0 is as large as the latents, each further one half as wide and
 * high. */
struct media_unet {
	int levels; /* 0 = the denoiser is a transformer */
	int channels[MEDIA_LEVELS_MAX];
	int depth[MEDIA_LEVELS_MAX]; /* blocks of each transformer; 0 = none at this level */
	int heads[MEDIA_LEVELS_MAX];
	int resnets;		   /* a level on the way down; one more on the way up */
	int middle_depth;	   /* blocks of the transformer at the bottom */
	int cross_width;	   /* of the text */
	int time_width;		   /* of the time embedding */
	bool linear_projection;	   /* the transformer's in and out are matrices, not convolutions */
	bool has_time;		   /* each resnet and transformer has one more over the frames */
	uint64_t extra_parameters; /* further embeddings (size, pooled text, classes) */
};

struct media_denoiser {
	char name[40]; /* its class: "FluxTransformer2DModel" */
	int copies;    /* experts of the noise range that take turns: Wan 2.2 has 2 */
	int in_channels, out_channels;
	int patch_time, patch; /* latents a token, each way */
	int text_tokens;       /* that it attends to, all encoders together */
	bool has_token_time;   /* what modulates by the time is kept for every token (Wan 2.2) */
	struct media_block blocks[MEDIA_BLOCKS_MAX];
	int blocks_count;
	struct media_unet unet;
	uint64_t token_weights;	   /* outside the blocks: matrices that latent tokens pass */
	uint64_t text_weights;	   /* that text tokens pass */
	uint64_t vector_weights;   /* passed once an item: embeddings of time, shared modulation */
	uint64_t extra_parameters; /* biases, norms, tables */
};

enum media_encoder_kind { MEDIA_ENCODER_TEXT, MEDIA_ENCODER_IMAGE };

struct media_encoder {
	char name[32];
	enum media_encoder_kind kind;
	int layers, hidden, heads, head_dim, ffn;
	int tokens;	     /* a prompt is padded to */
	uint64_t parameters; /* all */
	uint64_t kept; /* of these, what bitsandbytes leaves in fp32: the way out of T5's MLPs */
	uint64_t embedding; /* of these: tables, which no format but the 16-bit ones touches */
};

/* An autoencoder, mostly of convolutions. Level 0 is as large as the pixels (the samples). */
struct media_vae {
	char name[40];
	int levels;
	int channels[MEDIA_LEVELS_MAX];
	int encoder_resnets, decoder_resnets; /* a level */
	int latent_channels, pixel_channels;
	int spatial;	  /* pixels a latent, each way; of audio samples a latent */
	int temporal;	  /* frames a latent beyond the first */
	bool is_causal;	  /* the first frame has a latent of its own */
	bool rounds_up;	  /* its pipelines (Wan's) make 81 frames where 80 are asked, not 77 */
	int kernel_time;  /* 3 where convolutions run over time too, else 1 */
	int time_levels;  /* of the levels, the first so many from the latents double the frames */
	int patch;	  /* pixels are folded by so many each way before level 0; 0 = 1 */
	int slice_frames; /* latent frames that it handles at once by itself; 0 = all */
	int tile;	  /* pixels of a tile's side where it tiles */
	int tile_frames;  /* pixel frames of a tile; 0 = all */
	bool has_attention; /* one head over all places at the bottom */
	bool narrows;	    /* what goes up to a finer level is halved in width first */
	bool unfolds;	    /* it comes out of channels, as wide as the finer level is */
	bool is_modulated;  /* norms of the decoder follow the latents: two maps more, and their sum
			     */
	bool is_upcast;	    /* must run in fp32 */
	uint64_t encoder_parameters, decoder_parameters;
};

struct media {
	struct media_denoiser denoiser;
	struct media_encoder encoders[MEDIA_ENCODERS_MAX];
	int encoders_count;
	struct media_vae vae;
	uint64_t
		other_parameters; /* vocoder, safety checker, adapters: loaded and seldom at work */

	/* As published: what a workload takes that does not say. */
	int width, height, frames;
	int references;			  /* pictures that an editor starts from */
	double fps, seconds, sample_rate; /* sample_rate: of audio; 0 = pictures */
	bool is_guided_in_turn; /* its pipeline runs the passes of guidance one after the other */
	/* Its documented example has the VAE work tile by tile, item by item. */
	bool is_tiled, is_sliced;
	int steps, guidance_passes; /* passes a step: 2 with classifier-free guidance */
};

/* Parameters by component. Of `linear` a quantised format takes hold. */
struct media_count {
	uint64_t denoiser;	  /* one copy */
	uint64_t denoiser_linear; /* of one copy: in matrices of blocks */
	uint64_t denoiser_active; /* that a latent token passes */
	uint64_t largest_block;	  /* what sequential offload holds */
	uint64_t text_encoders, image_encoders, vae, other;
	uint64_t largest_encoder;
	uint64_t total; /* with all copies */
};
void media_count(const struct media *media, struct media_count *out);

/* The grid that one item is denoised on. */
struct media_grid {
	double latent_width, latent_height, latent_frames;
	double pixels;	     /* width x height x frames, or samples */
	double tokens;	     /* of latents; of a U-Net the places of level 0 */
	double frame_tokens; /* of these in one latent frame */
	double text_tokens;
};

struct media_size {
	double width, height, frames; /* pixels, frames */
	double samples;		      /* of audio, instead of these */
	double references;	      /* pictures that it starts from, as large, among the tokens */
};
void media_grid(const struct media *media, const struct media_size *size, struct media_grid *out);

/*
 * One pass of one item through a component. Elements are numbers of the compute type.
 */
struct media_work {
	double matrix_flops, convolution_flops, attention_flops; /* forward */
	double text_flops;	  /* of matrix_flops: the text's, of which a cache could relieve */
	double traffic_elements;  /* read and written beside the weights */
	double rotated_elements;  /* queries and keys, which more kernels normalise and rotate */
	double scores;		  /* of attention: queries x keys x heads */
	double kernels;		  /* launches, about */
	double kept_elements;	  /* of the VAE: what it keeps from slice to slice of frames */
	double peak_elements;	  /* most alive at once, beside the weights */
	double score_elements;	  /* the largest attention matrix, where attention is not fused */
	double head_elements;	  /* the same, of one head at a time */
	double saved_elements;	  /* training: what is left for the backward pass, all blocks */
	double boundary_elements; /* training: inputs of all blocks alone */
	double block_elements;	  /* training: of saved_elements the largest block's */
};
void media_denoiser_work(const struct media *media, const struct media_grid *grid,
			 struct media_work *out);
/* All text and image encoders; the largest peak. */
void media_encoder_work(const struct media *media, const struct media_grid *grid,
			struct media_work *out);
/* The decoder, or the encoder, of a grid whole or of one tile of it. */
void media_vae_work(const struct media *media, const struct media_grid *grid, bool is_encoder,
		    bool is_tiled, struct media_work *out);

/* Of so many weights in matrices, and so many beside them. */
double media_bytes(double linear, double rest, enum format format);
/* Bytes of the denoiser's weights, one copy, in a format. */
double media_denoiser_bytes(const struct media *media, enum format format);
/* Of all encoders. */
double media_encoder_bytes(const struct media *media, enum format format);

/* Whether every figure is in range; else `reason` says what is not. */
bool media_check(const struct media *media, const char **reason);
bool media_denoiser_check(const struct media_denoiser *denoiser, const char **reason);

#endif
