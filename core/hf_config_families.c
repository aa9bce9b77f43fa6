/*
 * The families that are known, one row each: how a decoder layer differs from Llama's, what the
 * configuration class fills in, and the hooks for the rest.
 *
 * Sources: facts/hf-config-fields.md and the configuration and modelling classes it was read from
 * (transformers 5.0.0.dev0, mlx-lm, NeMo Automodel). tests/core/test_hf_config.c holds every family
 * to published parameter counts.
 */
#include "core/hf_config_parts.h"

#include <string.h>

#define ALL_BIAS (HF_QKV_BIAS | HF_OUTPUT_BIAS | HF_MLP_BIAS)
#define GPT (HF_LAYER_NORM | HF_PLAIN_MLP | ALL_BIAS)
#define BERT (GPT | HF_TIED | HF_EMBEDDING)
#define LLAMA_SIZES .hidden = 4096, .layers = 32, .heads = 32, .ffn = 11008, .vocab = 32000
#define MISTRAL_SIZES_OF(vocab_)                                                                   \
	.hidden = 4096, .layers = 32, .heads = 32, .ffn = 14336, .vocab = (vocab_)
#define MISTRAL_SIZES MISTRAL_SIZES_OF(32000)
#define PHI3_SIZES                                                                                 \
	.hidden = 3072, .layers = 32, .heads = 32, .ffn = 8192, .vocab = 32064, .context = 4096
#define GPT2_SIZES .hidden = 768, .layers = 12, .heads = 12, .vocab = 50257
#define OLMO_SIZES .hidden = 4096, .layers = 32, .heads = 32, .ffn = 11008, .vocab = 50304
#define BERT_SIZES .hidden = 768, .layers = 12, .heads = 12, .ffn = 3072
#define BART_SIZES .hidden = 1024, .layers = 12, .heads = 16, .ffn = 4096, .context = 1024
#define GLM_SIZES                                                                                  \
	.hidden = 4096, .layers = 40, .heads = 32, .kv_heads = 2, .head_dim = 128, .ffn = 13696,   \
	.vocab = 151552, .context = 131072
#define ERNIE_MOE_SIZES                                                                            \
	.hidden = 2560, .layers = 28, .heads = 20, .kv_heads = 4, .ffn = 12288, .vocab = 103424,   \
	.context = 131072, .experts = 64, .top_k = 6, .moe_ffn = 1536, .shared = 2,                \
	.first_dense = 1
#define DEEPSEEK_V3_SIZES                                                                          \
	.hidden = 7168, .layers = 61, .heads = 128, .ffn = 18432, .vocab = 129280,                 \
	.context = 4096, .experts = 256, .top_k = 8, .moe_ffn = 2048, .shared = 1,                 \
	.first_dense = 3, .q_rank = 1536, .kv_rank = 512, .rope = 64, .nope = 128, .value = 128
#define GEMMA3_SIZES                                                                               \
	.hidden = 2304, .layers = 26, .heads = 8, .kv_heads = 4, .head_dim = 256, .ffn = 9216,     \
	.vocab = 262208, .context = 131072

/* clang-format off */
static const struct hf_family families[] = {
	/* Dense decoders */
	{.types = "llama|baichuan|exaone|helium|aquila|solar", .defaults = {LLAMA_SIZES, .context = 2048}},
	{.types = "deepseek_llm|granite|ministral3_text|yi|xverse", .defaults = {LLAMA_SIZES, .context = 2048}},
	{.types = "mistral", .defaults = {MISTRAL_SIZES, .kv_heads = 8, .context = 131072}, .layer = hf_mistral_layer},
	{.types = "ministral|ministral3", .defaults = {MISTRAL_SIZES, .kv_heads = 8, .context = 131072}, .layer = hf_window_layer},
	{.types = "minicpm", .flags = HF_TIED | HF_MOE, .defaults = {.hidden = 4096, .layers = 32, .heads = 32, .ffn = 11008, .vocab = 32000, .context = 2048, .top_k = 2}},
	{.types = "smollm3", .flags = HF_TIED, .defaults = {.hidden = 2048, .layers = 36, .heads = 16, .kv_heads = 4, .ffn = 11008, .vocab = 128256, .context = 32768}, .layer = hf_window_layer},
	{.types = "seed_oss", .flags = HF_BIAS_KEY_QKV, .defaults = {.hidden = 4096, .layers = 64, .heads = 80, .kv_heads = 8, .head_dim = 128, .ffn = 27648, .vocab = 155136, .context = 524288}, .prepare = hf_seed_prepare},
	{.types = "internlm|internlm2|internlm3", .prepare = hf_internlm_prepare},
	{.types = "qwen", .flags = HF_QKV_BIAS, .defaults = {.hidden = 4096, .layers = 32, .heads = 32, .ffn = 22016, .vocab = 151936, .context = 8192}, .finish = hf_qwen1_finish},
	{.types = "qwen2|qwen2_vl|qwen2_5_vl|qwen2_vl_text|qwen2_5_vl_text|qwen2_5_omni_text|minicpmv", .flags = HF_QKV_BIAS, .defaults = {.hidden = 4096, .layers = 32, .heads = 32, .kv_heads = 32, .ffn = 22016, .vocab = 151936, .context = 32768}, .layer = hf_qwen2_layer},
	{.types = "molmo", .prepare = hf_internlm_prepare, .finish = hf_qwen1_finish},
	{.types = "mimo", .flags = HF_QKV_BIAS, .layer = hf_qwen2_layer},
	{.types = "qwen3|qwen3_vl_text|qwen3_vl", .flags = HF_QK_NORM, .defaults = {.hidden = 4096, .layers = 32, .heads = 32, .kv_heads = 32, .head_dim = 128, .ffn = 22016, .vocab = 151936, .context = 32768}, .layer = hf_qwen2_layer},
	{.types = "hunyuan_v1_dense", .flags = HF_QK_NORM},
	{.types = "gemma", .flags = HF_TIED, .defaults = {.hidden = 3072, .layers = 28, .heads = 16, .kv_heads = 16, .head_dim = 256, .ffn = 24576, .vocab = 256000, .context = 8192}},
	{.types = "gemma2", .flags = HF_TIED | HF_FOUR_NORMS, .defaults = {.hidden = 2304, .layers = 26, .heads = 8, .kv_heads = 4, .head_dim = 256, .ffn = 9216, .vocab = 256000, .context = 8192}, .layer = hf_gemma2_layer},
	{.types = "gemma3_text|gemma3", .flags = HF_TIED | HF_FOUR_NORMS | HF_QK_NORM, .defaults = {GEMMA3_SIZES}, .layer = hf_gemma3_layer},
	{.types = "gemma3n_text|gemma3n", .flags = HF_TIED | HF_FOUR_NORMS | HF_QK_NORM | HF_MOE, .defaults = {.hidden = 2048, .layers = 35, .heads = 8, .kv_heads = 2, .head_dim = 256, .ffn = 16384, .vocab = 262400, .context = 32768}, .layer = hf_gemma3n_layer, .finish = hf_gemma3n_finish},
	{.types = "gemma4_text|gemma4", .flags = HF_TIED | HF_FOUR_NORMS | HF_QK_NORM, .defaults = {.hidden = 2304, .layers = 30, .heads = 8, .kv_heads = 4, .head_dim = 256, .ffn = 9216, .vocab = 262144, .context = 131072}, .layer = hf_gemma4_layer, .finish = hf_gemma4_finish},
	{.types = "phi3|phi4|phi3_v", .defaults = {PHI3_SIZES}, .layer = hf_window_layer},
	{.types = "phi4mm", .flags = HF_TIED, .defaults = {PHI3_SIZES}, .layer = hf_window_layer},
	{.types = "phi3small", .flags = HF_TIED | HF_LAYER_NORM | ALL_BIAS},
	{.types = "phi|phi-msft|mixformer-sequential", .flags = GPT | HF_ONE_NORM | HF_HEAD_BIAS, .defaults = {.hidden = 2048, .layers = 24, .heads = 32, .ffn = HF_FFN_4, .vocab = 51200, .context = 2048}, .prepare = hf_phi_prepare},
	{.types = "gpt2", .flags = GPT | HF_TIED, .defaults = {GPT2_SIZES, .ffn = HF_FFN_4, .context = 1024}, .finish = hf_positions_finish},
	{.types = "gpt_bigcode", .flags = GPT | HF_TIED, .defaults = {GPT2_SIZES, .ffn = HF_FFN_4, .context = 1024}, .finish = hf_gpt_bigcode_finish},
	{.types = "gpt_neo", .flags = HF_LAYER_NORM | HF_PLAIN_MLP | HF_OUTPUT_BIAS | HF_MLP_BIAS | HF_TIED, .defaults = {.hidden = 2048, .layers = 24, .heads = 16, .ffn = HF_FFN_4, .vocab = 50257, .context = 2048}, .layer = hf_gpt_neo_layer, .finish = hf_positions_finish},
	{.types = "gpt_neox", .flags = GPT, .defaults = {.hidden = 6144, .layers = 44, .heads = 64, .ffn = HF_FFN_4, .vocab = 50432, .context = 2048}},
	{.types = "gptj|codegen", .flags = HF_LAYER_NORM | HF_PLAIN_MLP | HF_ONE_NORM | HF_MLP_BIAS | HF_HEAD_BIAS, .defaults = {.hidden = 4096, .layers = 28, .heads = 16, .ffn = HF_FFN_4, .vocab = 50400, .context = 2048}},
	{.types = "opt", .flags = GPT | HF_TIED, .defaults = {.hidden = 768, .layers = 12, .heads = 12, .ffn = HF_FFN_4, .vocab = 50272, .context = 2048}, .prepare = hf_opt_prepare, .finish = hf_opt_finish},
	{.types = "bloom", .flags = GPT | HF_TIED, .defaults = {.hidden = 64, .layers = 2, .heads = 8, .ffn = HF_FFN_4, .vocab = 250880}, .finish = hf_bloom_finish},
	{.types = "mpt", .flags = HF_PLAIN_MLP | HF_TIED, .defaults = {.hidden = 2048, .layers = 24, .heads = 16, .ffn = HF_FFN_4, .vocab = 50368, .context = 2048}, .prepare = hf_mpt_prepare, .finish = hf_mpt_finish},
	{.types = "falcon|RefinedWeb|RefinedWebModel", .flags = HF_LAYER_NORM | HF_PLAIN_MLP | HF_TIED, .defaults = {.hidden = 4544, .layers = 32, .heads = 71, .ffn = HF_FFN_4, .vocab = 65024, .context = 2048}, .prepare = hf_falcon_prepare, .finish = hf_falcon_finish},
	{.types = "stablelm|stablelm_epoch", .flags = HF_LAYER_NORM, .defaults = {.hidden = 2560, .layers = 32, .heads = 32, .kv_heads = 32, .ffn = 6912, .vocab = 50304, .context = 4096}, .prepare = hf_stablelm_prepare},
	{.types = "starcoder2", .flags = HF_LAYER_NORM | HF_PLAIN_MLP | HF_TIED, .defaults = {.hidden = 3072, .layers = 30, .heads = 24, .kv_heads = 2, .ffn = 12288, .vocab = 49152, .context = 4096}, .prepare = hf_use_bias_prepare, .layer = hf_window_layer},
	{.types = "cohere", .flags = HF_ONE_NORM | HF_TIED, .defaults = {.hidden = 8192, .layers = 40, .heads = 64, .ffn = 22528, .vocab = 256000, .context = 8192}, .prepare = hf_cohere_prepare},
	{.types = "cohere2", .flags = HF_ONE_NORM | HF_TIED, .defaults = {.hidden = 8192, .layers = 40, .heads = 64, .ffn = 22528, .vocab = 256000, .context = 8192}, .layer = hf_cohere2_layer},
	{.types = "olmo", .flags = HF_NO_NORM_WEIGHTS, .defaults = {OLMO_SIZES, .context = 2048}},
	{.types = "olmo2", .flags = HF_QK_NORM_WIDE, .defaults = {OLMO_SIZES, .context = 2048}},
	{.types = "olmo3", .flags = HF_QK_NORM_WIDE, .defaults = {OLMO_SIZES, .context = 2048}, .layer = hf_every_fourth_layer},
	{.types = "exaone4", .flags = HF_QK_NORM, .defaults = {.hidden = 4096, .layers = 32, .heads = 32, .kv_heads = 32, .ffn = 16384, .vocab = 102400, .context = 2048}, .layer = hf_every_fourth_layer},
	{.types = "ernie4_5", .flags = HF_TIED, .defaults = {.hidden = 1024, .layers = 18, .heads = 16, .kv_heads = 2, .head_dim = 128, .ffn = 3072, .vocab = 103424, .context = 131072}, .prepare = hf_use_bias_prepare},
	{.types = "chatglm", .prepare = hf_chatglm_prepare, .finish = hf_chatglm_finish},
	{.types = "glm", .flags = HF_BIAS_KEY_QKV, .defaults = {GLM_SIZES}},
	{.types = "glm4|glm4v_text|glm4v", .flags = HF_BIAS_KEY_QKV | HF_FOUR_NORMS, .defaults = {GLM_SIZES}},
	{.types = "nemotron", .flags = HF_LAYER_NORM | HF_PLAIN_MLP, .defaults = {.hidden = 6144, .layers = 32, .heads = 48, .ffn = 24576, .vocab = 256000, .context = 4096}},
	{.types = "nemotron-nas", .flags = HF_OWN_LAYERS, .finish = hf_nas_finish},
	{.types = "apertus", .flags = HF_PLAIN_MLP | HF_QK_NORM, .defaults = {.hidden = 4096, .layers = 32, .heads = 32, .ffn = 14336, .vocab = 131072, .context = 65536}, .layer = hf_apertus_layer},
	{.types = "arcee", .flags = HF_PLAIN_MLP, .defaults = {.hidden = 2560, .layers = 32, .heads = 32, .ffn = 18432, .vocab = 32000, .context = 4096}},
	{.types = "mllama_text_model|mllama", .defaults = {.hidden = 4096, .layers = 40, .heads = 32, .kv_heads = 8, .ffn = 14336, .vocab = 128256, .context = 131072}, .layer = hf_mllama_layer, .finish = hf_mllama_finish},
	{.types = "orion", .flags = HF_LAYER_NORM},
	{.types = "xglm", .flags = GPT | HF_TIED, .defaults = {.hidden = 1024, .layers = 24, .heads = 16, .ffn = 4096, .vocab = 256008, .context = 2048}},
	{.types = "biogpt", .flags = GPT | HF_TIED, .defaults = {.hidden = 1024, .layers = 24, .heads = 16, .ffn = 4096, .vocab = 42384, .context = 1024}, .finish = hf_opt_finish},
	{.types = "bitnet", .flags = HF_TIED, .defaults = {.hidden = 2560, .layers = 30, .heads = 20, .kv_heads = 5, .ffn = 6912, .vocab = 128256, .context = 2048}, .layer = hf_bitnet_layer},
	{.types = "openelm", .flags = HF_TIED | HF_OWN_LAYERS, .finish = hf_openelm_finish},

	/* Experts */
	{.types = "mixtral", .flags = HF_MOE, .defaults = {MISTRAL_SIZES, .kv_heads = 8, .context = 131072, .experts = 8, .top_k = 2}, .layer = hf_window_layer},
	{.types = "phimoe", .flags = HF_MOE | HF_LAYER_NORM, .defaults = {.hidden = 4096, .layers = 32, .heads = 32, .kv_heads = 8, .ffn = 6400, .vocab = 32064, .context = 131072, .experts = 16, .top_k = 2}, .layer = hf_window_layer},
	{.types = "qwen2_moe", .flags = HF_MOE | HF_QKV_BIAS | HF_SHARED_GATE, .defaults = {.hidden = 2048, .layers = 24, .heads = 16, .kv_heads = 16, .ffn = 5632, .vocab = 151936, .context = 32768, .experts = 60, .top_k = 4, .moe_ffn = 1408, .shared = 4}, .layer = hf_qwen2_layer},
	{.types = "qwen3_moe|qwen3_vl_moe_text|qwen3_vl_moe|qwen3_omni_moe_text", .flags = HF_MOE | HF_QK_NORM, .defaults = {.hidden = 2048, .layers = 24, .heads = 32, .kv_heads = 4, .head_dim = 128, .ffn = 6144, .vocab = 151936, .context = 32768, .experts = 128, .top_k = 8, .moe_ffn = 768}, .layer = hf_qwen2_layer},
	{.types = "olmoe", .flags = HF_MOE | HF_QK_NORM_WIDE, .defaults = {.hidden = 2048, .layers = 16, .heads = 16, .ffn = 2048, .vocab = 50304, .context = 4096, .experts = 64, .top_k = 8}},
	{.types = "granitemoe|granitemoeshared", .flags = HF_MOE, .defaults = {LLAMA_SIZES, .context = 2048, .experts = 8, .top_k = 2}},
	{.types = "dbrx", .flags = HF_MOE},
	{.types = "grok-1|grok_1", .flags = HF_MOE | HF_FOUR_NORMS},
	{.types = "arctic", .flags = HF_MOE, .layer = hf_arctic_layer},
	{.types = "gpt_oss", .flags = HF_MOE | HF_QKV_BIAS | HF_OUTPUT_BIAS | HF_ROUTER_BIAS, .defaults = {.hidden = 2880, .layers = 36, .heads = 64, .kv_heads = 8, .head_dim = 64, .ffn = 2880, .vocab = 201088, .context = 131072, .experts = 128, .top_k = 4}, .layer = hf_gpt_oss_layer},
	{.types = "llama4_text|llama4", .flags = HF_MOE, .defaults = {.hidden = 5120, .layers = 48, .heads = 40, .kv_heads = 8, .head_dim = 128, .ffn = 8192, .vocab = 202048, .context = 131072, .experts = 16, .top_k = 1}, .layer = hf_llama4_layer},
	{.types = "hunyuan_v1_moe|hunyuan", .flags = HF_MOE | HF_QK_NORM, .layer = hf_hunyuan_layer},
	{.types = "ernie4_5_moe", .flags = HF_MOE | HF_TIED | HF_ROUTER_BIAS, .defaults = {ERNIE_MOE_SIZES}, .prepare = hf_use_bias_prepare},
	{.types = "ernie4_5_moe_vl|ernie4_5_vl_moe_text|ernie4_5_vl_moe", .flags = HF_MOE | HF_TIED | HF_ROUTER_BIAS | HF_BY_MODALITY, .defaults = {ERNIE_MOE_SIZES}, .prepare = hf_use_bias_prepare, .finish = hf_ernie_vl_finish},
	{.types = "bailing_moe|bailing_moe_v2", .flags = HF_MOE, .prepare = hf_bailing_prepare},
	{.types = "minimax_m2", .flags = HF_MOE | HF_ROUTER_BIAS | HF_QK_NORM_WIDE, .layer = hf_minimax_m2_layer},
	{.types = "minimax_m3", .flags = HF_MOE | HF_ROUTER_BIAS | HF_QK_NORM, .layer = hf_minimax_m3_layer},
	{.types = "mimo_v2_flash", .flags = HF_MOE | HF_ROUTER_BIAS, .layer = hf_mimo_v2_layer},
	{.types = "step3p5|step3p7", .flags = HF_MOE | HF_TIED | HF_QK_NORM | HF_ROUTER_BIAS, .layer = hf_step_layer},
	{.types = "dots1", .flags = HF_MOE | HF_QK_NORM | HF_ROUTER_BIAS},
	{.types = "deepseek", .flags = HF_MOE},
	{.types = "glm4_moe|glm4v_moe_text|glm4v_moe", .flags = HF_MOE | HF_BIAS_KEY_QKV | HF_ROUTER_BIAS, .defaults = {.hidden = 4096, .layers = 46, .heads = 96, .kv_heads = 8, .head_dim = 128, .ffn = 10944, .vocab = 151552, .context = 131072, .experts = 128, .top_k = 8, .moe_ffn = 1408, .shared = 1, .first_dense = 1}, .prepare = hf_glm4_moe_prepare},

	/* Latent attention */
	{.types = "minicpm3", .flags = HF_LATENT | HF_TIED},
	{.types = "deepseek_v2", .flags = HF_LATENT | HF_MOE, .defaults = {.hidden = 4096, .layers = 32, .heads = 32, .ffn = 11008, .vocab = 32000, .context = 2048, .experts = 64, .moe_ffn = 1407, .shared = 2, .q_rank = 1536, .kv_rank = 512, .rope = 64, .nope = 128, .value = 128}, .prepare = hf_deepseek_prepare},
	{.types = "deepseek_v3|kimi_k2|kimi_k25|glm4_moe_lite", .flags = HF_LATENT | HF_MOE | HF_ROUTER_BIAS, .defaults = {DEEPSEEK_V3_SIZES}},
	{.types = "deepseek_v32|glm_moe_dsa", .flags = HF_LATENT | HF_MOE | HF_ROUTER_BIAS, .defaults = {DEEPSEEK_V3_SIZES}, .layer = hf_deepseek_v32_layer},
	{.types = "longcat_flash", .flags = HF_LATENT | HF_OWN_LAYERS, .finish = hf_longcat_finish},
	{.types = "deepseek_v4", .flags = HF_OWN_LAYERS, .finish = hf_deepseek_v4_finish},

	/* State layers */
	{.types = "mamba|falcon_mamba", .flags = HF_TIED | HF_MOE, .defaults = {.hidden = 768, .layers = 32, .vocab = 50280}, .prepare = hf_mamba_prepare, .layer = hf_mamba_layer},
	{.types = "mamba2", .flags = HF_MOE, .defaults = {.hidden = 4096, .layers = 64, .vocab = 32768}, .prepare = hf_mamba_prepare, .layer = hf_mamba2_layer},
	{.types = "jamba", .flags = HF_MOE, .defaults = {MISTRAL_SIZES_OF(65536), .kv_heads = 8, .context = 262144, .experts = 16, .top_k = 2}, .layer = hf_jamba_layer},
	{.types = "bamba", .flags = HF_MOE, .defaults = {MISTRAL_SIZES_OF(128000), .kv_heads = 8, .context = 262144}, .layer = hf_granite_hybrid_layer},
	{.types = "granitemoehybrid", .flags = HF_MOE, .defaults = {LLAMA_SIZES, .context = 2048, .experts = 8, .top_k = 2}, .layer = hf_granite_hybrid_layer},
	{.types = "falcon_h1", .defaults = {MISTRAL_SIZES_OF(128000), .kv_heads = 8, .context = 8192}, .layer = hf_falcon_h1_layer},
	{.types = "nemotron_h", .flags = HF_OWN_LAYERS | HF_PLAIN_MLP, .finish = hf_nemotron_h_finish},
	{.types = "qwen3_next", .flags = HF_MOE | HF_QK_NORM | HF_SHARED_GATE, .defaults = {.hidden = 2048, .layers = 48, .heads = 16, .kv_heads = 2, .head_dim = 256, .ffn = 5632, .vocab = 151936, .context = 32768, .experts = 512, .top_k = 10, .moe_ffn = 512, .shared = 1}, .layer = hf_qwen3_next_layer},
	{.types = "qwen3_5_moe_text|qwen3_5_moe", .flags = HF_MOE | HF_QK_NORM | HF_SHARED_GATE, .defaults = {.hidden = 2048, .layers = 40, .heads = 16, .kv_heads = 2, .head_dim = 256, .vocab = 248320, .context = 32768, .experts = 256, .top_k = 8, .moe_ffn = 512, .shared = 1}, .layer = hf_qwen3_next_layer},
	{.types = "qwen3_5_text|qwen3_5", .flags = HF_QK_NORM, .defaults = {.hidden = 4096, .layers = 32, .heads = 16, .kv_heads = 4, .head_dim = 256, .ffn = 12288, .vocab = 248320, .context = 32768}, .layer = hf_qwen3_next_layer},
	{.types = "kimi_linear|kimi_k3", .flags = HF_LATENT | HF_MOE, .layer = hf_kimi_linear_layer, .finish = hf_kimi_linear_finish},
	{.types = "minimax_text_01|minimax|minimax_m1", .flags = HF_MOE, .defaults = {MISTRAL_SIZES, .kv_heads = 8, .context = 131072, .experts = 8, .top_k = 2}, .layer = hf_minimax_text_layer},
	{.types = "lfm2", .flags = HF_TIED | HF_QK_NORM, .defaults = {.hidden = 2560, .layers = 32, .heads = 32, .kv_heads = 8, .ffn = 12288, .vocab = 65536, .context = 128000}, .layer = hf_lfm2_layer},
	{.types = "lfm2_moe", .flags = HF_TIED | HF_MOE | HF_QK_NORM, .defaults = {.hidden = 2048, .layers = 32, .heads = 32, .kv_heads = 8, .ffn = 7168, .vocab = 65536, .context = 128000, .experts = 32, .top_k = 4, .moe_ffn = 1792, .first_dense = 2}, .layer = hf_lfm2_layer},

	{.types = "rwkv", .flags = HF_MOE | HF_LAYER_NORM, .defaults = {.hidden = 4096, .layers = 32, .vocab = 50277, .context = 1024}, .prepare = hf_rwkv_prepare, .layer = hf_rwkv_layer, .finish = hf_rwkv_finish},
	{.types = "rwkv5", .flags = HF_MOE | HF_LAYER_NORM, .defaults = {.hidden = 768, .layers = 24, .vocab = 65536, .context = 4096}, .prepare = hf_rwkv_prepare, .layer = hf_rwkv_layer, .finish = hf_rwkv_finish},
	{.types = "recurrent_gemma", .flags = HF_TIED | HF_OUTPUT_BIAS | HF_MLP_BIAS, .defaults = {.hidden = 2560, .layers = 26, .heads = 10, .ffn = 7680, .vocab = 256000, .context = 8192}, .layer = hf_recurrent_gemma_layer, .finish = hf_recurrent_gemma_finish},
	{.types = "zamba2", .flags = HF_TIED | HF_OWN_LAYERS, .defaults = {.hidden = 2560, .layers = 54, .heads = 32, .ffn = HF_FFN_4, .vocab = 32000, .context = 4096}, .finish = hf_zamba2_finish},

	/* Encoders, and encoder with decoder */
	{.types = "roberta", .flags = BERT, .defaults = {BERT_SIZES, .vocab = 50265, .context = 512}, .finish = hf_bert_finish},
	{.types = "albert", .flags = BERT, .defaults = {.hidden = 4096, .layers = 12, .heads = 64, .ffn = 16384, .vocab = 30000, .context = 512}, .finish = hf_albert_finish},
	{.types = "electra", .flags = BERT, .defaults = {.hidden = 256, .layers = 12, .heads = 4, .ffn = 1024, .vocab = 30522, .context = 512}, .finish = hf_electra_finish},
	{.types = "deberta", .flags = BERT, .defaults = {BERT_SIZES, .vocab = 50265, .context = 512}, .finish = hf_deberta1_finish},
	{.types = "bert|xlm-roberta|camembert", .flags = BERT, .defaults = {BERT_SIZES, .vocab = 30522, .context = 512}, .finish = hf_bert_finish},
	{.types = "distilbert", .flags = BERT, .defaults = {.hidden = 768, .layers = 6, .heads = 12, .ffn = 3072, .vocab = 30522, .context = 512}, .finish = hf_distilbert_finish},
	{.types = "mpnet", .flags = BERT, .defaults = {BERT_SIZES, .vocab = 30527, .context = 512}, .finish = hf_mpnet_finish},
	{.types = "deberta-v2", .flags = BERT, .defaults = {.hidden = 1536, .layers = 24, .heads = 24, .ffn = 6144, .vocab = 128100, .context = 512}, .finish = hf_deberta_finish},
	{.types = "nomic_bert", .flags = HF_TIED | HF_EMBEDDING | HF_LAYER_NORM, .finish = hf_nomic_finish},
	{.types = "new", .flags = HF_TIED | HF_EMBEDDING | HF_LAYER_NORM | HF_QKV_BIAS | HF_OUTPUT_BIAS, .finish = hf_gte_finish},
	{.types = "modernbert", .flags = HF_TIED | HF_EMBEDDING, .defaults = {.hidden = 768, .layers = 22, .heads = 12, .ffn = 1152, .vocab = 50368, .context = 8192}, .layer = hf_modernbert_layer, .finish = hf_modernbert_finish},
	{.types = "vit", .flags = BERT | HF_PATCHES, .defaults = {BERT_SIZES}, .finish = hf_vit_finish},
	{.types = "dinov2", .flags = BERT | HF_PATCHES, .defaults = {.hidden = 768, .layers = 12, .heads = 12, .ffn = HF_FFN_4}, .finish = hf_vit_finish},
	{.types = "clip_vision_model|siglip_vision_model", .flags = BERT | HF_PATCHES, .defaults = {BERT_SIZES}, .finish = hf_vit_finish},
	{.types = "bart|plbart|mbart", .flags = GPT | HF_TIED | HF_OWN_LAYERS, .defaults = {BART_SIZES, .vocab = 50265}, .finish = hf_bart_finish},
	{.types = "pegasus", .flags = GPT | HF_TIED | HF_OWN_LAYERS, .defaults = {BART_SIZES, .vocab = 50265}, .finish = hf_bart_finish},
	{.types = "m2m_100|nllb", .flags = GPT | HF_TIED | HF_OWN_LAYERS, .defaults = {BART_SIZES, .vocab = 128112}, .finish = hf_bart_finish},
	{.types = "marian", .flags = GPT | HF_TIED | HF_OWN_LAYERS, .defaults = {BART_SIZES, .vocab = 58101}, .finish = hf_bart_finish},
	{.types = "whisper", .flags = GPT | HF_TIED | HF_OWN_LAYERS, .defaults = {.hidden = 384, .layers = 4, .heads = 6, .ffn = 1536, .vocab = 51865, .context = 448}, .finish = hf_whisper_finish},
	{.types = "musicgen_decoder|musicgen_melody_decoder", .flags = HF_LAYER_NORM | HF_PLAIN_MLP, .defaults = {.hidden = 1024, .layers = 24, .heads = 16, .ffn = 4096, .vocab = 2048, .context = 2048}, .finish = hf_codebooks_finish},
	{.types = "parler_tts_decoder", .flags = HF_LAYER_NORM | HF_PLAIN_MLP, .defaults = {.hidden = 1024, .layers = 24, .heads = 16, .ffn = 4096, .vocab = 2049, .context = 2048}, .finish = hf_codebooks_finish},
	{.types = "dia|dia_decoder", .defaults = {.hidden = 2048, .layers = 18, .heads = 16, .kv_heads = 4, .head_dim = 128, .ffn = 8192, .vocab = 1028, .context = 3072}, .finish = hf_dia_finish},
	{.types = "bark|semantic", .flags = HF_PLAIN_MLP | HF_OWN_LAYERS, .defaults = {.hidden = 768, .layers = 12, .heads = 12, .ffn = HF_FFN_4, .vocab = 10048, .context = 1024}, .finish = hf_bark_finish},
	{.types = "wav2vec2|hubert|wavlm|unispeech|data2vec-audio", .flags = GPT, .defaults = {.hidden = 768, .layers = 12, .heads = 12, .ffn = 3072, .vocab = 32}, .finish = hf_wav2vec2_finish},
	{.types = "mt5", .flags = HF_OWN_LAYERS, .defaults = {.hidden = 512, .layers = 8, .heads = 6, .head_dim = 64, .ffn = 1024, .vocab = 250112}, .prepare = hf_t5_prepare, .finish = hf_t5_finish},
	{.types = "umt5", .flags = HF_OWN_LAYERS, .defaults = {.hidden = 512, .layers = 8, .heads = 6, .head_dim = 64, .ffn = 1024, .vocab = 250112}, .prepare = hf_t5_prepare, .finish = hf_t5_finish},
	{.types = "t5", .flags = HF_TIED | HF_OWN_LAYERS, .defaults = {.hidden = 512, .layers = 6, .heads = 8, .head_dim = 64, .ffn = 2048, .vocab = 32128}, .prepare = hf_t5_prepare, .finish = hf_t5_finish},
};
/* clang-format on */

const struct hf_family *hf_family_of_type(const char *model_type)
{
	size_t length = strlen(model_type);

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const char *name = families[i].types;

		while (name) {
			if (strcspn(name, "|") == length && strncmp(name, model_type, length) == 0)
				return &families[i];
			name = strchr(name, '|');
			if (name)
				name++;
		}
	}
	return NULL;
}
