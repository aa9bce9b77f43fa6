/* What the files of hf_config share; nobody else includes it. */
#ifndef CORE_HF_CONFIG_PARTS_H
#define CORE_HF_CONFIG_PARTS_H

#include "core/hf_config.h"

/* Parts of a decoder layer that whole families have in common. */
enum hf_flag {
	HF_TIED = 1 << 0,	      /* tie_word_embeddings defaults to true */
	HF_PLAIN_MLP = 1 << 1,	      /* two matrices instead of three */
	HF_QKV_BIAS = 1 << 2,	      /* always; else by attention_bias */
	HF_OUTPUT_BIAS = 1 << 3,      /* always; else by attention_bias */
	HF_MLP_BIAS = 1 << 4,	      /* always; else by mlp_bias */
	HF_BIAS_KEY_QKV = 1 << 5,     /* attention_bias covers q, k, v only, not o */
	HF_QK_NORM = 1 << 6,	      /* a norm of head_dim on q and on k */
	HF_QK_NORM_WIDE = 1 << 7,     /* norms as wide as q and k whole */
	HF_LAYER_NORM = 1 << 8,	      /* norms have a bias as well as a weight */
	HF_ONE_NORM = 1 << 9,	      /* attention and MLP in parallel behind one norm */
	HF_FOUR_NORMS = 1 << 10,      /* before and after both */
	HF_NO_NORM_WEIGHTS = 1 << 11, /* norms without parameters */
	HF_HEAD_BIAS = 1 << 12,	      /* the output head has a bias */
	HF_ROUTER_BIAS = 1 << 13,     /* one value an expert beside the router's weights */
	HF_SHARED_GATE = 1 << 14,     /* the shared experts have a gate of `hidden` weights */
	HF_MOE = 1 << 15,	      /* experts by the keys that hf_experts() knows */
	HF_LATENT = 1 << 16,	      /* multi-head latent attention */
	HF_EMBEDDING = 1 << 17,	      /* an encoder: no cache, no output head */
	HF_OWN_LAYERS = 1 << 18,      /* `finish` builds the layers itself */
	HF_BY_MODALITY = 1 << 19,     /* lists of expert sizes hold text's first, then images' */
	HF_PATCHES = 1 << 20,	      /* reads patches of images: no vocabulary */
};

/*
 * Values of a family's configuration class, which writers of a nested text_config leave out and
 * which a file of a model_type alone means; 0 = none. `head_dim` 0: hidden / heads, `kv_heads` 0:
 * heads, `ffn` HF_FFN_4: 4 * hidden.
 */
#define HF_FFN_4 (-4)
struct hf_defaults {
	int hidden, layers, heads, kv_heads, head_dim, ffn, vocab, context;
	int experts, top_k, moe_ffn;		/* moe_ffn 0 = as ffn */
	int shared;				/* number of shared experts as wide as the others */
	int first_dense;			/* layers before the first with experts */
	int q_rank, kv_rank, rope, nope, value; /* latent attention */
};

struct hf_reader;
typedef void hf_hook(struct hf_reader *reader);
typedef void hf_layer_hook(struct hf_reader *reader, int index, struct layer_kind *kind);

struct hf_family {
	const char *types; /* spellings of model_type, separated by '|' */
	unsigned flags;
	struct hf_defaults defaults;
	hf_hook *prepare;     /* before the common facts: may change flags */
	hf_layer_hook *layer; /* one layer, after the common facts */
	hf_hook *finish;      /* the whole */
};

struct hf_reader {
	const struct config_value *root, *text;
	const char *text_path; /* pointer of `text` in `root`: "" or "/text_config" */
	const struct hf_family *family;
	unsigned flags; /* the family's, as its keys changed them */
	struct architecture *out;
	struct error *error;
	bool failed;

	int layers;
	int added;		/* layers so far */
	int ffn;		/* width of a dense MLP */
	int norm;		/* parameters of one norm over `hidden` */
	struct layer_kind base; /* what every layer starts from */
	char key[80];		/* what hf_key() found last */
};

/*
 * Readers. `names` are alternatives separated by '|', the first that is not null wins; a dot
 * reaches into an object ("attn_config.kv_n_heads"). A value of the wrong type or out of range is
 * an error.
 */
#define HF_REQUIRED (-1)
int hf_int(struct hf_reader *reader, const char *names, int fallback); /* or HF_REQUIRED */
/* The same for counts and widths of parts: at most 200000, so that no product of three can wrap. */
int hf_dim(struct hf_reader *reader, const char *names, int fallback);
bool hf_bool(struct hf_reader *reader, const char *names, bool fallback);
double hf_number(struct hf_reader *reader, const char *names, double fallback);
const struct config_value *hf_value(const struct hf_reader *reader, const char *names);
bool hf_has(const struct hf_reader *reader, const char *names); /* there and not null */
/* The name under which it is there; NULL when it is not. */
const char *hf_key(struct hf_reader *reader, const char *names);

/* The value, or of a list its item at `index`. */
int hf_layer_int(struct hf_reader *reader, const char *names, int index, int fallback);
const char *hf_layer_text(const struct hf_reader *reader, const char *names, int index);

/* Whether a list of numbers holds `value`. */
bool hf_list_holds(const struct hf_reader *reader, const char *names, int value);

/* Records an error at a key of the text part. */
void hf_fail(struct hf_reader *reader, const char *key, const char *code, const char *detail);

/* Adds one layer, merged with an equal kind; fails past HF_LAYERS_MAX and LAYER_KINDS_MAX. */
#define HF_LAYERS_MAX 4096
void hf_add_layer(struct hf_reader *reader, const struct layer_kind *kind);

const struct hf_family *hf_family_of_type(const char *model_type);

/* The text model inside a wrapper, or the root itself; its family, or an error that says what the
 * file is instead. */
void hf_find_text(struct hf_reader *reader);
bool hf_find_family(struct hf_reader *reader);

/* Experts of layer `index`, by whichever key says which layers have them; a dense MLP otherwise. */
void hf_experts(struct hf_reader *reader, int index, struct layer_kind *kind);
bool hf_is_moe_layer(struct hf_reader *reader, int index);

/* The layer slides over its window by layer_types, or is full. */
bool hf_is_sliding(struct hf_reader *reader, int index, bool fallback);

/* Records that layer `index` is of a type that its family does not have. */
void hf_unknown_layer(struct hf_reader *reader);

/* Vision and audio towers, and the format of the published weights. */
void hf_tower(struct hf_reader *reader);
enum format hf_native_format(const struct config_value *root, const struct config_value *text);
/* Whether the file says that the weights are quantised, in whichever way. */
bool hf_is_quantised(const struct config_value *root, const struct config_value *text);
enum format hf_native_kv_format(const struct config_value *root, const struct config_value *text);

/* Hooks of families: hf_config_dense.c */
hf_hook hf_qwen1_finish, hf_falcon_prepare, hf_falcon_finish, hf_stablelm_prepare, hf_phi_prepare;
hf_hook hf_cohere_prepare, hf_use_bias_prepare, hf_chatglm_prepare, hf_seed_prepare;
hf_hook hf_positions_finish, hf_opt_prepare, hf_opt_finish, hf_bloom_finish, hf_mpt_prepare,
	hf_mpt_finish, hf_internlm_prepare, hf_nas_finish, hf_mllama_finish, hf_gpt_bigcode_finish,
	hf_chatglm_finish, hf_openelm_finish;
hf_layer_hook hf_bitnet_layer, hf_window_layer, hf_mistral_layer, hf_qwen2_layer, hf_gpt_neo_layer,
	hf_apertus_layer, hf_gemma2_layer, hf_gemma3_layer, hf_every_fourth_layer, hf_cohere2_layer,
	hf_mllama_layer;

/* hf_config_moe.c */
hf_layer_hook hf_gpt_oss_layer, hf_llama4_layer, hf_arctic_layer, hf_mimo_v2_layer, hf_step_layer,
	hf_minimax_m3_layer, hf_deepseek_v32_layer, hf_minimax_m2_layer, hf_hunyuan_layer;
hf_hook hf_glm4_moe_prepare, hf_deepseek_prepare, hf_longcat_finish, hf_deepseek_v4_finish,
	hf_ernie_vl_finish, hf_bailing_prepare;

/* hf_config_hybrid.c */
hf_layer_hook hf_qwen3_next_layer, hf_kimi_linear_layer, hf_lfm2_layer, hf_jamba_layer,
	hf_granite_hybrid_layer, hf_falcon_h1_layer, hf_mamba_layer, hf_mamba2_layer,
	hf_minimax_text_layer;
hf_hook hf_nemotron_h_finish, hf_lfm2_prepare, hf_mamba_prepare, hf_kimi_linear_finish;

/* hf_config_gemma.c */
hf_layer_hook hf_gemma3n_layer, hf_gemma4_layer;
hf_hook hf_gemma3n_finish, hf_gemma4_finish;

/* hf_config_recurrent.c */
hf_hook hf_rwkv_prepare, hf_rwkv_finish, hf_recurrent_gemma_finish, hf_zamba2_finish;
hf_layer_hook hf_rwkv_layer, hf_recurrent_gemma_layer;

/* hf_config_translate.c */
hf_hook hf_bart_finish, hf_whisper_finish;

/* hf_config_sound.c */
hf_hook hf_codebooks_finish, hf_dia_finish, hf_bark_finish, hf_wav2vec2_finish;

/* hf_config_encoder.c */
hf_hook hf_albert_finish, hf_electra_finish, hf_deberta1_finish, hf_vit_finish;
hf_hook hf_bert_finish, hf_distilbert_finish, hf_mpnet_finish, hf_deberta_finish, hf_nomic_finish,
	hf_gte_finish, hf_t5_prepare, hf_t5_finish, hf_modernbert_finish;
hf_layer_hook hf_modernbert_layer;

#endif
