/*
 * Architecture: a model as its layers, and what follows from them: parameters by component, FLOPs and
 * KV-cache elements a token. Everything is computed from the layers, never from the model's name.
 *
 * A model is a list of layer kinds with counts (order inside the list does not matter for sizes), so
 * that alternating, hybrid, per-layer and mixture-of-experts models need no special case.
 *
 * Parameter formulas (weights, then biases where the flags say so):
 *   GQA/MHA  q: hidden*heads*head_dim, k: hidden*kv_heads*head_dim, v: hidden*kv_heads*v_head_dim,
 *            o: heads*v_head_dim*hidden
 *   MLA      q: hidden*q_rank + q_rank*heads*(nope+rope) (or hidden*heads*(nope+rope) without q_rank),
 *            kv: hidden*(kv_rank+rope) + kv_rank*heads*(nope+v_head_dim), o: heads*v_head_dim*hidden
 *   MLP      gated 3*hidden*ffn, plain 2*hidden*ffn; experts the same with moe_ffn; router hidden*experts
 * KV elements a token and layer: GQA kv_heads*(head_dim+v_head_dim); MLA kv_rank+rope; state layers
 * hold a constant `state_elements` a sequence instead; a window caps the tokens that are kept.
 */
#ifndef CORE_ARCHITECTURE_H
#define CORE_ARCHITECTURE_H

#include "core/format.h"
#include "core/names.h"

#include <stdbool.h>
#include <stdint.h>

#define LAYER_KINDS_MAX 24

enum modality {
	MODALITY_TEXT,
	MODALITY_VISION_TEXT,
	MODALITY_EMBEDDING, /* encoders: no KV cache, no output head over a vocabulary */
	MODALITY_AUDIO,
	MODALITY_IMAGE,
	MODALITY_VIDEO,
	MODALITIES
};

enum attention {
	ATTENTION_NONE,	 /* no mixer, or a state layer: see state_elements */
	ATTENTION_GROUPED, /* MHA, GQA and MQA by kv_heads */
	ATTENTION_LATENT,  /* MLA */
};

/* `count` equal layers. */
struct layer_kind {
	int count;
	enum attention attention;
	int heads, kv_heads, head_dim, v_head_dim;
	int q_rank, kv_rank, rope_dim, nope_dim; /* MLA */
	int window;	    /* sliding-window tokens; 0 = full */
	bool attention_bias; /* biases on q, k, v */
	bool output_bias;    /* bias on o */
	bool qk_norm;	    /* a norm of head_dim on q and on k */
	bool shares_kv;	    /* reuses another layer's KV: stores none */
	bool is_encoder;    /* bidirectional; holds no KV cache between steps */
	bool has_cross_attention;

	int ffn;	 /* dense MLP width; 0 = none */
	bool gated;	 /* three matrices instead of two */
	bool mlp_bias;
	int experts, experts_active, moe_ffn; /* 0 experts = dense */
	int shared_ffn;			      /* total width of the shared experts; 0 = none */
	uint64_t mixer_parameters; /* state mixers (Mamba, GDN, ...): parameters of one layer */
	double state_elements;	   /* constant per sequence and layer */
	uint64_t extra_parameters; /* norms and what else one layer holds, beyond the formulas above */
};

struct architecture {
	char family[40];
	enum modality modality;
	int hidden, vocab, max_context;
	bool tied_embeddings;
	uint64_t extra_parameters; /* outside the layers: final norm, positions, poolers, projectors */
	uint64_t tower_parameters; /* vision or audio tower with its projector */
	int tower_layers, tower_hidden, tower_patch, image_tokens;
	enum format native_format; /* what the published weights are in */
	struct layer_kind kinds[LAYER_KINDS_MAX];
	int kinds_count;
	double uncertainty; /* 0 for a known architecture; relative spread when built from bare numbers */
};

/* Parameters by component; `total` is their sum. */
struct parameter_count {
	uint64_t total, active;	  /* active: with experts_active instead of experts */
	uint64_t embedding, head; /* head is 0 when tied */
	uint64_t attention, mlp, experts, router, mixer, norms_and_other, tower;
	uint64_t linear; /* weights in linear layers of the blocks: what quantisation touches */
};

extern const struct names modality_names;

void architecture_count(const struct architecture *architecture, struct parameter_count *out);

/* Layers of all kinds. */
int architecture_layers(const struct architecture *architecture);

/* Cache elements that one more token adds across all layers whose window is not full (full-attention
 * layers only, when `context` is beyond the windows). */
double architecture_kv_elements_per_token(const struct architecture *architecture);

/* Cache elements of one sequence at `context` tokens: windows capped, state layers included. */
double architecture_kv_elements(const struct architecture *architecture, double context);

/* Forward FLOPs of one token at `context` tokens (2 per active weight, plus attention scores). */
double architecture_forward_flops(const struct architecture *architecture, double context);

/* Greatest common divisor of the heads over all attention layers, and of the KV heads: what tensor
 * parallelism may divide by. */
int architecture_heads_divisor(const struct architecture *architecture);
int architecture_kv_heads_divisor(const struct architecture *architecture);

/* Most experts of any layer kind; 0 for a dense model. */
int architecture_experts(const struct architecture *architecture);

/*
 * A plausible dense decoder of that many parameters, for callers who know only a size. Answers carry
 * `uncertainty`. False for less than 1e6 or more than 1e14.
 */
bool architecture_from_parameters(double parameters, struct architecture *out);

#endif
