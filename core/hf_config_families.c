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
#define MISTRAL_SIZES .hidden = 4096, .layers = 32, .heads = 32, .ffn = 14336, .vocab = 32000
#define GEMMA3_SIZES                                                                               \
	.hidden = 2304, .layers = 26, .heads = 8, .kv_heads = 4, .head_dim = 256, .ffn = 9216,     \
	.vocab = 262208, .context = 131072

/* clang-format off */
static const struct hf_family families[] = {
	/* Dense decoders */
	{.types = "llama|baichuan|exaone|helium|aquila|solar", .defaults = {LLAMA_SIZES, .context = 2048}},
	{.types = "deepseek_llm|granite|ministral3_text|yi|xverse"},
	{.types = "mistral", .defaults = {MISTRAL_SIZES, .kv_heads = 8, .context = 131072}, .layer = hf_mistral_layer},
	{.types = "ministral|ministral3", .defaults = {.kv_heads = 8}, .layer = hf_window_layer},
	{.types = "minicpm", .flags = HF_TIED | HF_MOE},
	{.types = "smollm3", .flags = HF_TIED, .layer = hf_window_layer},
	{.types = "seed_oss", .flags = HF_BIAS_KEY_QKV, .prepare = hf_seed_prepare},
	{.types = "internlm|internlm2|internlm3", .prepare = hf_internlm_prepare},
	{.types = "qwen", .flags = HF_QKV_BIAS, .finish = hf_qwen1_finish},
	{.types = "qwen2|qwen2_vl|qwen2_5_vl|qwen2_vl_text|qwen2_5_vl_text|qwen2_5_omni_text|minicpmv", .flags = HF_QKV_BIAS, .defaults = {.hidden = 4096, .layers = 32, .heads = 32, .kv_heads = 32, .ffn = 22016, .vocab = 151936, .context = 32768}, .layer = hf_qwen2_layer},
	{.types = "molmo", .prepare = hf_internlm_prepare, .finish = hf_qwen1_finish},
	{.types = "mimo", .flags = HF_QKV_BIAS, .layer = hf_qwen2_layer},
	{.types = "qwen3|qwen3_vl_text|qwen3_vl", .flags = HF_QK_NORM, .defaults = {.kv_heads = 32, .head_dim = 128}, .layer = hf_qwen2_layer},
	{.types = "hunyuan_v1_dense", .flags = HF_QK_NORM},
	{.types = "gemma", .flags = HF_TIED, .defaults = {.hidden = 3072, .layers = 28, .heads = 16, .kv_heads = 16, .head_dim = 256, .ffn = 24576, .vocab = 256000, .context = 8192}},
	{.types = "gemma2", .flags = HF_TIED | HF_FOUR_NORMS, .defaults = {.hidden = 2304, .layers = 26, .heads = 8, .kv_heads = 4, .head_dim = 256, .ffn = 9216, .vocab = 256000, .context = 8192}, .layer = hf_gemma2_layer},
	{.types = "gemma3_text|gemma3", .flags = HF_TIED | HF_FOUR_NORMS | HF_QK_NORM, .defaults = {GEMMA3_SIZES}, .layer = hf_gemma3_layer},
	{.types = "gemma3n_text|gemma3n", .flags = HF_TIED | HF_FOUR_NORMS | HF_QK_NORM | HF_MOE, .defaults = {.hidden = 2048, .layers = 35, .heads = 8, .kv_heads = 2, .head_dim = 256, .vocab = 262400, .context = 32768}, .layer = hf_gemma3n_layer, .finish = hf_gemma3n_finish},
	{.types = "gemma4_text|gemma4", .flags = HF_TIED | HF_FOUR_NORMS | HF_QK_NORM, .defaults = {.kv_heads = 4, .head_dim = 256}, .layer = hf_gemma4_layer, .finish = hf_gemma4_finish},
	{.types = "phi3|phi4|phi3_v", .layer = hf_window_layer},
	{.types = "phi4mm", .flags = HF_TIED, .layer = hf_window_layer},
	{.types = "phi3small", .flags = HF_TIED | HF_LAYER_NORM | ALL_BIAS},
	{.types = "phi|phi-msft|mixformer-sequential", .flags = GPT | HF_ONE_NORM | HF_HEAD_BIAS, .defaults = {.ffn = HF_FFN_4}, .prepare = hf_phi_prepare},
	{.types = "gpt2", .flags = GPT | HF_TIED, .defaults = {.ffn = HF_FFN_4, .context = 1024}, .finish = hf_positions_finish},
	{.types = "gpt_bigcode", .flags = GPT | HF_TIED, .defaults = {.ffn = HF_FFN_4, .context = 1024}, .finish = hf_gpt_bigcode_finish},
	{.types = "gpt_neo", .flags = HF_LAYER_NORM | HF_PLAIN_MLP | HF_OUTPUT_BIAS | HF_MLP_BIAS | HF_TIED, .defaults = {.ffn = HF_FFN_4, .context = 2048}, .layer = hf_gpt_neo_layer, .finish = hf_positions_finish},
	{.types = "gpt_neox", .flags = GPT, .defaults = {.ffn = HF_FFN_4}},
	{.types = "gptj|codegen", .flags = HF_LAYER_NORM | HF_PLAIN_MLP | HF_ONE_NORM | HF_MLP_BIAS | HF_HEAD_BIAS, .defaults = {.ffn = HF_FFN_4}},
	{.types = "opt", .flags = GPT | HF_TIED, .defaults = {.ffn = HF_FFN_4, .context = 2048}, .prepare = hf_opt_prepare, .finish = hf_opt_finish},
	{.types = "bloom", .flags = GPT | HF_TIED, .defaults = {.ffn = HF_FFN_4}, .finish = hf_bloom_finish},
	{.types = "mpt", .flags = HF_PLAIN_MLP | HF_TIED, .defaults = {.ffn = HF_FFN_4, .context = 2048}, .prepare = hf_mpt_prepare, .finish = hf_mpt_finish},
	{.types = "falcon|RefinedWeb|RefinedWebModel", .flags = HF_LAYER_NORM | HF_PLAIN_MLP | HF_TIED, .defaults = {.ffn = HF_FFN_4, .context = 2048}, .prepare = hf_falcon_prepare, .finish = hf_falcon_finish},
	{.types = "stablelm|stablelm_epoch", .flags = HF_LAYER_NORM, .prepare = hf_stablelm_prepare},
	{.types = "starcoder2", .flags = HF_LAYER_NORM | HF_PLAIN_MLP | HF_TIED, .defaults = {.kv_heads = 2}, .prepare = hf_use_bias_prepare, .layer = hf_window_layer},
	{.types = "cohere", .flags = HF_ONE_NORM | HF_TIED, .prepare = hf_cohere_prepare},
	{.types = "cohere2", .flags = HF_ONE_NORM | HF_TIED, .defaults = {.hidden = 8192, .layers = 40, .heads = 64, .ffn = 22528, .vocab = 256000, .context = 8192}, .layer = hf_cohere2_layer},
	{.types = "olmo", .flags = HF_NO_NORM_WEIGHTS},
	{.types = "olmo2", .flags = HF_QK_NORM_WIDE},
	{.types = "olmo3", .flags = HF_QK_NORM_WIDE, .layer = hf_every_fourth_layer},
	{.types = "exaone4", .flags = HF_QK_NORM, .layer = hf_every_fourth_layer},
	{.types = "ernie4_5", .flags = HF_TIED, .prepare = hf_use_bias_prepare},
	{.types = "chatglm", .prepare = hf_chatglm_prepare, .finish = hf_chatglm_finish},
	{.types = "glm", .flags = HF_BIAS_KEY_QKV},
	{.types = "glm4|glm4v_text|glm4v", .flags = HF_BIAS_KEY_QKV | HF_FOUR_NORMS},
	{.types = "nemotron", .flags = HF_LAYER_NORM | HF_PLAIN_MLP},
	{.types = "nemotron-nas", .flags = HF_OWN_LAYERS, .finish = hf_nas_finish},
	{.types = "apertus", .flags = HF_PLAIN_MLP | HF_QK_NORM, .layer = hf_apertus_layer},
	{.types = "arcee", .flags = HF_PLAIN_MLP},
	{.types = "mllama_text_model|mllama", .layer = hf_mllama_layer, .finish = hf_mllama_finish},
	{.types = "openelm", .flags = HF_TIED | HF_OWN_LAYERS, .finish = hf_openelm_finish},

	/* Experts */
	{.types = "mixtral", .flags = HF_MOE, .defaults = {.kv_heads = 8}, .layer = hf_window_layer},
	{.types = "phimoe", .flags = HF_MOE | HF_LAYER_NORM, .layer = hf_window_layer},
	{.types = "qwen2_moe", .flags = HF_MOE | HF_QKV_BIAS | HF_SHARED_GATE, .layer = hf_qwen2_layer},
	{.types = "qwen3_moe|qwen3_vl_moe_text|qwen3_vl_moe|qwen3_omni_moe_text", .flags = HF_MOE | HF_QK_NORM, .defaults = {.kv_heads = 4, .head_dim = 128}, .layer = hf_qwen2_layer},
	{.types = "olmoe", .flags = HF_MOE | HF_QK_NORM_WIDE},
	{.types = "granitemoe", .flags = HF_MOE},
	{.types = "dbrx", .flags = HF_MOE},
	{.types = "grok-1|grok_1", .flags = HF_MOE | HF_FOUR_NORMS},
	{.types = "arctic", .flags = HF_MOE, .layer = hf_arctic_layer},
	{.types = "gpt_oss", .flags = HF_MOE | HF_QKV_BIAS | HF_OUTPUT_BIAS | HF_ROUTER_BIAS, .defaults = {.head_dim = 64}, .layer = hf_gpt_oss_layer},
	{.types = "llama4_text|llama4", .flags = HF_MOE, .layer = hf_llama4_layer},
	{.types = "hunyuan_v1_moe|hunyuan", .flags = HF_MOE | HF_QK_NORM, .layer = hf_hunyuan_layer},
	{.types = "ernie4_5_moe", .flags = HF_MOE | HF_TIED | HF_ROUTER_BIAS, .prepare = hf_use_bias_prepare},
	{.types = "minimax_m2", .flags = HF_MOE | HF_ROUTER_BIAS | HF_QK_NORM_WIDE, .layer = hf_minimax_m2_layer},
	{.types = "minimax_m3", .flags = HF_MOE | HF_ROUTER_BIAS | HF_QK_NORM, .layer = hf_minimax_m3_layer},
	{.types = "mimo_v2_flash", .flags = HF_MOE | HF_ROUTER_BIAS, .layer = hf_mimo_v2_layer},
	{.types = "step3p5|step3p7", .flags = HF_MOE | HF_TIED | HF_QK_NORM | HF_ROUTER_BIAS, .layer = hf_step_layer},
	{.types = "dots1", .flags = HF_MOE | HF_QK_NORM | HF_ROUTER_BIAS},
	{.types = "deepseek", .flags = HF_MOE},
	{.types = "glm4_moe|glm4v_moe_text|glm4v_moe", .flags = HF_MOE | HF_BIAS_KEY_QKV | HF_ROUTER_BIAS, .prepare = hf_glm4_moe_prepare},

	/* Latent attention */
	{.types = "minicpm3", .flags = HF_LATENT | HF_TIED},
	{.types = "deepseek_v2", .flags = HF_LATENT | HF_MOE, .prepare = hf_deepseek_prepare},
	{.types = "deepseek_v3|kimi_k2|kimi_k25|glm4_moe_lite", .flags = HF_LATENT | HF_MOE | HF_ROUTER_BIAS},
	{.types = "deepseek_v32|glm_moe_dsa", .flags = HF_LATENT | HF_MOE | HF_ROUTER_BIAS, .layer = hf_deepseek_v32_layer},
	{.types = "longcat_flash", .flags = HF_LATENT | HF_OWN_LAYERS, .finish = hf_longcat_finish},
	{.types = "deepseek_v4", .flags = HF_OWN_LAYERS, .finish = hf_deepseek_v4_finish},

	/* State layers */
	{.types = "mamba|falcon_mamba", .flags = HF_TIED | HF_MOE, .prepare = hf_mamba_prepare, .layer = hf_mamba_layer},
	{.types = "mamba2", .flags = HF_MOE, .prepare = hf_mamba_prepare, .layer = hf_mamba2_layer},
	{.types = "jamba", .flags = HF_MOE, .layer = hf_jamba_layer},
	{.types = "bamba|granitemoehybrid", .flags = HF_MOE, .layer = hf_granite_hybrid_layer},
	{.types = "falcon_h1", .layer = hf_falcon_h1_layer},
	{.types = "nemotron_h", .flags = HF_OWN_LAYERS | HF_PLAIN_MLP, .finish = hf_nemotron_h_finish},
	{.types = "qwen3_next|qwen3_5_moe_text|qwen3_5_moe", .flags = HF_MOE | HF_QK_NORM | HF_SHARED_GATE, .defaults = {.kv_heads = 2, .head_dim = 256}, .layer = hf_qwen3_next_layer},
	{.types = "qwen3_5_text|qwen3_5", .flags = HF_QK_NORM, .defaults = {.kv_heads = 4, .head_dim = 256}, .layer = hf_qwen3_next_layer},
	{.types = "kimi_linear|kimi_k3", .flags = HF_LATENT | HF_MOE, .layer = hf_kimi_linear_layer, .finish = hf_kimi_linear_finish},
	{.types = "minimax_text_01|minimax|minimax_m1", .flags = HF_MOE, .layer = hf_minimax_text_layer},
	{.types = "lfm2", .flags = HF_TIED | HF_QK_NORM, .layer = hf_lfm2_layer},
	{.types = "lfm2_moe", .flags = HF_TIED | HF_MOE | HF_QK_NORM, .layer = hf_lfm2_layer},

	/* Encoders, and encoder with decoder */
	{.types = "bert|roberta|xlm-roberta|camembert", .flags = BERT, .finish = hf_bert_finish},
	{.types = "distilbert", .flags = BERT, .finish = hf_distilbert_finish},
	{.types = "mpnet", .flags = BERT, .finish = hf_mpnet_finish},
	{.types = "deberta-v2", .flags = BERT, .finish = hf_deberta_finish},
	{.types = "nomic_bert", .flags = HF_TIED | HF_EMBEDDING | HF_LAYER_NORM, .finish = hf_nomic_finish},
	{.types = "new", .flags = HF_TIED | HF_EMBEDDING | HF_LAYER_NORM | HF_QKV_BIAS | HF_OUTPUT_BIAS, .finish = hf_gte_finish},
	{.types = "modernbert", .flags = HF_TIED | HF_EMBEDDING, .layer = hf_modernbert_layer, .finish = hf_modernbert_finish},
	{.types = "t5|mt5|umt5", .flags = HF_TIED | HF_OWN_LAYERS, .prepare = hf_t5_prepare, .finish = hf_t5_finish},
};
/* clang-format on */

const struct hf_family *hf_family_find(const char *model_type)
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
