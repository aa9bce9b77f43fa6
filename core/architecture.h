/*
 * Architecture: a model as its layers, and what follows from them: parameters by component, FLOPs
 * and KV-cache elements a token. Everything is computed from the layers, never from the model's
 * name.
 *
 * A model is a list of layer kinds with counts (order inside the list does not matter for sizes),
 * so that alternating, hybrid, per-layer and mixture-of-experts models need no special case.
 *
 * Parameter formulas (weights, then biases where the flags say so):
 *   GQA/MHA  q: hidden*heads*head_dim (twice that with a query gate), k: hidden*kv_heads*head_dim,
 *            v: hidden*kv_heads*v_head_dim, o: heads*v_head_dim*hidden
 *   MLA      q: hidden*q_rank + q_rank*heads*(nope+rope) (or hidden*heads*(nope+rope) without
 * q_rank), kv: hidden*(kv_rank+rope) + kv_rank*heads*(nope+v_head_dim), o: heads*v_head_dim*hidden
 *   MLP      gated 3*hidden*ffn, plain 2*hidden*ffn; experts the same with moe_hidden and moe_ffn;
 *            router hidden*experts
 * KV elements a token and layer: GQA kv_heads*(head_dim+v_head_dim); MLA kv_rank+rope; state layers
 * hold a constant `state_elements` a sequence instead; a window caps the tokens that are kept.
 */
#ifndef CORE_ARCHITECTURE_H
#define CORE_ARCHITECTURE_H

#include "core/format.h"
#include "core/names.h"
#include "core/picture.h"
#include "core/sound.h"

#include <stdbool.h>
#include <stdint.h>

#define LAYER_KINDS_MAX 40

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
	ATTENTION_NONE,	   /* no mixer, or a state layer: see state_elements */
	ATTENTION_GROUPED, /* MHA, GQA and MQA by kv_heads */
	ATTENTION_LATENT,  /* MLA */
};

/* `count` equal layers. */
struct layer_kind {
	int count;
	enum attention attention;
	int heads, kv_heads, head_dim, v_head_dim;
	int q_rank, kv_rank, rope_dim, nope_dim; /* MLA */
	int window;				 /* sliding-window tokens; 0 = full */
	int compress_ratio;  /* beyond the window one latent for so many tokens, K and V as one; 0 =
				no */
	bool attention_bias; /* biases on q, k, v */
	bool output_bias;    /* bias on o */
	bool qk_norm;	     /* a norm of head_dim on q and on k */
	bool query_gate;     /* q projects a gate as well: twice as wide */
	bool shares_kv;	     /* reuses another layer's KV: stores none */
	unsigned char kv_omitted; /* of k and v, how many have no weights of their own: 0, 1 or 2 */
	bool is_encoder;	  /* bidirectional; holds no KV cache between steps */
	bool has_cross_attention; /* a second attention block of the same shape, over the encoder */
	bool is_cross_only; /* attends to the tower's tokens instead of the text: constant KV */
	bool projections_elsewhere; /* weights of q, k, v and o are in extra_linear */
	int attention_input;	    /* width that q, k and v read; 0 = hidden */
	bool reuses_weights; /* attention and MLP are those of another layer: work, no parameters */

	int ffn;    /* dense MLP width; 0 = none. Beside experts: a dense MLP in parallel */
	bool gated; /* three matrices instead of two */
	bool mlp_bias;
	int experts, experts_active, moe_ffn; /* 0 experts = dense */
	int moe_hidden;			      /* width that the experts see; 0 = hidden */
	int shared_ffn;			      /* total width of the shared experts; 0 = none */
	bool expert_bias;
	int index_dim; /* sparse-attention indexer: key elements a token beside the KV */
	uint64_t mixer_parameters; /* state mixers (Mamba, GDN, ...): parameters of one layer */
	double state_elements;	   /* constant per sequence and layer */
	uint64_t extra_linear; /* weights of further linear layers: indexers, gates, projections */
	uint64_t
		extra_parameters; /* norms and what else one layer holds, beyond all of the above */
};

struct media;

struct architecture {
	char family[40];
	enum modality modality;
	int hidden, vocab, max_context; /* max_context 0 = no limit of its own */
	int embedding_dim;		/* width of the embedding table; 0 = hidden */
	bool tied_embeddings;
	uint64_t lookup_parameters; /* tables that are only read by row: positions, per-layer
				       embeddings */
	uint64_t extra_parameters;  /* outside the layers: final norm, poolers, projections */
	uint64_t tower_parameters;  /* vision or audio tower with its projector */
	int tower_layers, tower_hidden, tower_patch, image_tokens;
	enum format native_format;  /* what the published weights are in; FORMAT_AUTO = not said */
	bool native_format_unknown; /* quantised, it is said, in a way that no format here is */
	enum format native_kv_format; /* what they are calibrated to keep the cache in; the same */
	struct picture picture;	      /* its rule for pictures; NONE = as its family does */
	struct sound sound;
	struct layer_kind kinds[LAYER_KINDS_MAX];
	int kinds_count;
	const struct media *media; /* a pipeline: media.h; it has no layers then. NULL = none */
	double uncertainty; /* 0 for a known architecture; relative spread when built from bare
			       numbers */
	unsigned assumed;   /* bits of enum model_number: what habit filled in, not the caller */
};

/* Parameters by component; `total` is the sum of the components, without `active` and `linear`. */
struct parameter_count {
	uint64_t total, active;	  /* active: with experts_active instead of experts */
	uint64_t embedding, head; /* head is 0 when tied; embedding includes the look-up tables */
	uint64_t attention, mlp, experts, router, mixer, norms_and_other, tower;
	uint64_t linear; /* weights in linear layers of the blocks: what quantisation touches */
};

extern const struct names modality_names;

void architecture_count(const struct architecture *architecture, struct parameter_count *out);

/* The rule by which a model makes tokens of pictures; false where it sees none or none is known. */
bool architecture_picture(const struct architecture *architecture, struct picture *out);

/* Layers of all kinds. */
int architecture_layers(const struct architecture *architecture);

/* Of a layer's two blocks, mixer and MLP, those that it has (Nemotron-H, Mamba: one), and of all
 * layers. */
int layer_blocks(const struct layer_kind *kind);
int architecture_blocks(const struct architecture *architecture);

/* Width of the values: v_head_dim, or head_dim where it is 0. */
int layer_value_dim(const struct layer_kind *kind);

/* Cache elements that one layer keeps for each token it remembers; 0 when it keeps none. */
double layer_kv_elements(const struct layer_kind *kind);

/* Positions of `context` that a layer keeps and attends to: what its window covers, and beyond it
 * what compression leaves. */
double layer_positions(const struct layer_kind *kind, double context);

/* K and V elements of one token across all layers while no window is full yet, as published tables
 * count them. Not in it: indexer keys (architecture_index_elements_per_token()) and what
 * compression saves: for the cache of a sequence ask architecture_kv_elements(). */
double architecture_kv_elements_per_token(const struct architecture *architecture);

/* Keys of sparse-attention indexers a token: engines keep them in 8 bits beside the KV cache. */
double architecture_index_elements_per_token(const struct architecture *architecture);

/* Cache elements of one sequence at `context` tokens: windows capped, state layers and the constant
 * part of cross-attention layers included, indexer keys not. */
double architecture_kv_elements(const struct architecture *architecture, double context);

/* Constant state of one sequence, part of architecture_kv_elements(): engines often keep it in
 * fp32. */
double architecture_state_elements(const struct architecture *architecture);

/* KV elements a token of the source that decoder layers keep for their cross-attention. */
double architecture_cross_elements_per_source_token(const struct architecture *architecture);

/* Whether decoder layers attend to an encoder's output: then a sequence has tokens on two sides, a
 * source and a target. */
bool architecture_has_source(const struct architecture *architecture);

/* Forward FLOPs of one token that sees `context` tokens (2 per active weight of a matrix, attention
 * scores within each window, state updates). Of an encoder-decoder a token of the decoder, without
 * what it looks up in the source. */
double architecture_forward_flops(const struct architecture *architecture, double context);

/* FLOPs of the output head for one token, whether the model as published has one or not. */
double architecture_head_flops(const struct architecture *architecture);

/*
 * Forward FLOPs of a whole sequence passed at once, without the head. Encoder layers see all of it,
 * causal ones half of it on average. `target` is the decoder's side of an encoder-decoder, whose
 * keys and values of cross-attention are made of the source; others take all tokens as `source`.
 */
struct sequence_flops {
	double matrices, attention;
};
struct sequence_flops architecture_sequence_flops(const struct architecture *architecture,
						  double source, double target);

/* Greatest common divisor of the heads over all attention layers, and of the KV heads: what tensor
 * parallelism may divide by. 0 when there is no attention (and no KV heads: MLA keeps one latent).
 */
int architecture_heads_divisor(const struct architecture *architecture);
int architecture_kv_heads_divisor(const struct architecture *architecture);

/* Most experts of any layer kind; 0 for a dense model. */
int architecture_experts(const struct architecture *architecture);

/* Bytes of all weights in a format: linear layers at linear_bits, the tables and the rest as the
 * format says, norms and towers in 16 bit (fp32 stays fp32). MXFP4 touches only experts where there
 * are any. */
double architecture_weight_bytes(const struct architecture *architecture, enum format format);

/* Whether every figure is in range and the totals cannot overflow; else `reason` says what is not.
 */
bool architecture_check(const struct architecture *architecture, const char **reason);

#endif
