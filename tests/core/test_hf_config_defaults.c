/* Pasted configurations that say little: what a family's class fills in, against published totals.
 */
#include "tests/core/pasted.h"

#include "tests/suite.h"

#include <stdio.h>

/*
 * A model_type alone is a model: its class's defaults, which for most are those of a published one.
 * Totals are those that the Hub or the paper gives for the model named.
 */
static const struct {
	const char *type, *keys;
	uint64_t total;
	const char *model;
} sparse[] = {
	{"llama", "", 6738415616, "Llama-7B"},
	{"mistral", "", 7241732096, "Mistral-7B"},
	{"gemma", "", 8537680896, "Gemma-7B"},
	{"gemma2", "", 2614341888, "Gemma-2-2B"},
	{"gpt2", "", 124439808, "GPT-2"},
	{"opt", "", 125239296, "OPT-125M"},
	{"gptj", "", 6050882784, "GPT-J-6B"},
	{"falcon", "", 6921720704, "Falcon-7B"},
	{"phi", "", 1418270720, "phi-1"},
	{"phi3", "", 3821079552, "Phi-3-mini"},
	{"stablelm", "", 2795443200, "StableLM-3B-4E1T"},
	{"starcoder2", "", 3030371328, "StarCoder2-3B"},
	{"smollm3", "", 3075098624, "SmolLM3-3B"},
	{"ernie4_5", "", 360748032, "ERNIE-4.5-0.3B"},
	{"ernie4_5_moe", "", 21825437888, "ERNIE-4.5-21B-A3B"},
	{"mixtral", "", 46702792704, "Mixtral-8x7B"},
	{"gpt_oss", "", 116829156672, "gpt-oss-120b"},
	{"deepseek_v3", "", 671026419200, "DeepSeek-V3"},
	{"llama4_text", "", 107769861120, "Llama-4-Scout, its text"},
	{"glm4_moe", "\"attention_bias\":true", 106852251264, "GLM-4.5-Air"},
	{"qwen3_next", "", 79674391296, "Qwen3-Next-80B-A3B"},
	{"cohere", "", 34980831232, "Command-R"},
	{"bert", "", 109482240, "BERT-base"},
	{"distilbert", "", 66362880, "DistilBERT"},
	{"modernbert", "", 149014272, "ModernBERT-base"},
	{"albert", "", 222595584, "ALBERT-xxlarge"},
	{"albert", "\"hidden_size\":768,\"num_attention_heads\":12,\"intermediate_size\":3072",
	 11683584, "ALBERT-base"},
	{"deberta",
	 "\"relative_attention\":true,\"pos_att_type\":[\"c2p\",\"p2c\"],"
	 "\"position_biased_input\":false,\"max_relative_positions\":-1",
	 138601728, "DeBERTa-base"},
	{"xglm", "", 564463616, "XGLM-564M"},
	{"biogpt", "", 346763264, "BioGPT"},
	{"bitnet", "", 2412820480, "BitNet-b1.58-2B-4T"},
	{"qwen2_audio",
	 "\"text_config\":{\"model_type\":\"qwen2\",\"intermediate_size\":11008,\"vocab_size\":"
	 "156032},"
	 "\"audio_config\":{\"d_model\":1280,\"encoder_layers\":32,\"encoder_ffn_dim\":5120,"
	 "\"num_mel_bins\":128}",
	 8397094912, "Qwen2-Audio-7B"},
	{"llava",
	 "\"text_config\":{\"vocab_size\":32064},\"vision_config\":{\"model_type\":\"clip_vision_"
	 "model\","
	 "\"hidden_size\":1024,\"intermediate_size\":4096,\"num_hidden_layers\":24,\"image_size\":"
	 "336,"
	 "\"patch_size\":14}",
	 7063427072, "LLaVA-1.5-7B"},
	{"qwen2_vl",
	 "\"hidden_size\":3584,\"num_hidden_layers\":28,\"num_attention_heads\":28,"
	 "\"num_key_value_heads\":4,\"intermediate_size\":18944,\"vocab_size\":152064,"
	 "\"vision_config\":{\"depth\":32,\"embed_dim\":1280,\"hidden_size\":3584,\"patch_size\":"
	 "14,"
	 "\"spatial_merge_size\":2,\"temporal_patch_size\":2}",
	 8291375616, "Qwen2-VL-7B"},
	{"gemma3",
	 "\"text_config\":{\"model_type\":\"gemma3_text\",\"hidden_size\":2560,"
	 "\"intermediate_size\":10240,\"num_hidden_layers\":34},\"vision_config\":{\"model_type\":"
	 "\"siglip_vision_model\",\"hidden_size\":1152,\"intermediate_size\":4304,"
	 "\"num_hidden_layers\":27,\"patch_size\":14,\"image_size\":896}",
	 4300079472, "Gemma-3-4B"},
	{"paligemma",
	 "\"text_config\":{\"model_type\":\"gemma\",\"hidden_size\":2048,\"intermediate_size\":"
	 "16384,\"num_attention_heads\":8,\"num_hidden_layers\":18,\"num_key_value_heads\":1,"
	 "\"vocab_size\":257216},\"vision_config\":{\"model_type\":\"siglip_vision_model\","
	 "\"hidden_size\":1152,\"intermediate_size\":4304,\"num_attention_heads\":16,"
	 "\"num_hidden_layers\":27,\"patch_size\":14,\"projection_dim\":2048}",
	 2923466480, "PaliGemma-3B-224"},
	{"mistral3",
	 "\"spatial_merge_size\":2,\"text_config\":{\"model_type\":\"mistral\",\"hidden_size\":"
	 "5120,"
	 "\"intermediate_size\":32768,\"num_hidden_layers\":40,\"head_dim\":128,\"vocab_size\":"
	 "131072},"
	 "\"vision_config\":{\"model_type\":\"pixtral\",\"hidden_size\":1024,\"intermediate_size\":"
	 "4096,"
	 "\"num_hidden_layers\":24,\"patch_size\":14,\"image_size\":1540}",
	 24011361280, "Mistral-Small-3.1-24B"},
	{"phi3_v",
	 "\"img_processor\":{\"image_dim_out\":1024,\"model_name\":"
	 "\"openai/clip-vit-large-patch14-336\"}",
	 4146621440, "Phi-3.5-vision"},
	{"internvl_chat",
	 "\"downsample_ratio\":0.5,\"llm_config\":{\"model_type\":\"internlm2\",\"hidden_size\":"
	 "4096,"
	 "\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8,"
	 "\"intermediate_size\":14336,\"vocab_size\":92553},\"vision_config\":{\"model_type\":"
	 "\"intern_vit_6b\",\"hidden_size\":1024,\"num_hidden_layers\":24,\"intermediate_size\":"
	 "4096,"
	 "\"image_size\":448,\"patch_size\":14}",
	 8075365376, "InternVL2-8B"},
	{"t5", "", 60506624, "T5-small"},
	{"mt5", "", 300176768, "mT5-small"},
	{"vit", "", 85798656, "ViT-base"},
	{"dinov2", "\"image_size\":518", 86580480, "DINOv2-base"},
	{"clip_vision_model",
	 "\"hidden_size\":1024,\"num_hidden_layers\":24,\"num_attention_heads\":16,"
	 "\"intermediate_size\":4096,\"patch_size\":14",
	 303179776, "CLIP-ViT-L/14, its vision"},
	{"bart", "", 406291456, "BART-large"},
	{"mbart", "\"vocab_size\":250027", 610851840, "mBART-large"},
	{"pegasus", "\"vocab_size\":96103,\"encoder_layers\":16,\"decoder_layers\":16", 570797056,
	 "Pegasus-large"},
	{"m2m_100", "", 483905536, "M2M100-418M"},
	{"marian",
	 "\"d_model\":512,\"encoder_layers\":6,\"decoder_layers\":6,\"encoder_ffn_dim\":2048,"
	 "\"decoder_ffn_dim\":2048,\"encoder_attention_heads\":8,\"decoder_attention_heads\":8,"
	 "\"max_position_embeddings\":512",
	 74410496, "opus-mt-en-de"},
	{"whisper", "", 37760640, "Whisper-tiny"},
	{"musicgen",
	 "\"text_encoder\":{\"model_type\":\"t5\",\"d_model\":768,\"d_ff\":3072,\"num_heads\":12,"
	 "\"num_layers\":12},\"audio_encoder\":{\"model_type\":\"encodec\",\"num_filters\":64,"
	 "\"upsampling_ratios\":[8,5,4,4],\"codebook_size\":2048,\"codebook_dim\":128,"
	 "\"sampling_rate\":32000,\"target_bandwidths\":[2.2],\"use_conv_shortcut\":false},"
	 "\"decoder\":{\"model_type\":\"musicgen_decoder\"}",
	 588990022, "MusicGen-small"},
	{"bark",
	 "\"semantic_config\":{\"input_vocab_size\":129600,\"hidden_size\":1024,\"num_heads\":16,"
	 "\"num_layers\":24,\"bias\":false},\"coarse_acoustics_config\":{\"input_vocab_size\":"
	 "12096,"
	 "\"output_vocab_size\":12096,\"num_layers\":24},\"fine_acoustics_config\":{"
	 "\"input_vocab_size\":1056,\"output_vocab_size\":1056,\"num_layers\":24,"
	 "\"n_codes_given\":1},\"codec_config\":{\"model_type\":\"encodec\"}",
	 1116581634, "Bark"},
	{"dia", "\"encoder_config\":{},\"decoder_config\":{}", 1611160576, "Dia-1.6B"},
	{"wav2vec2", "", 94371712, "Wav2Vec2-base"},
	{"wav2vec2",
	 "\"hidden_size\":1024,\"num_hidden_layers\":24,\"num_attention_heads\":16,"
	 "\"intermediate_size\":4096,\"feat_extract_norm\":\"layer\",\"conv_bias\":true",
	 315438720, "Wav2Vec2-large-lv60"},
	{"rwkv", "\"hidden_size\":768,\"num_hidden_layers\":12", 169342464, "RWKV-4-169M"},
	{"recurrent_gemma", "\"intermediate_size\":15360,\"num_key_value_heads\":1", 2682862080,
	 "RecurrentGemma-2B"},
	{"zamba2",
	 "\"hidden_size\":2048,\"num_hidden_layers\":38,\"intermediate_size\":8192,"
	 "\"mamba_d_state\":128,\"n_mamba_heads\":64,\"use_shared_attention_adapter\":true,"
	 "\"layers_block_type\":[\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"hybrid\","
	 "\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"hybrid\",\"mamba\",\"mamba\","
	 "\"mamba\",\"mamba\",\"mamba\",\"hybrid\",\"mamba\",\"mamba\",\"mamba\",\"mamba\","
	 "\"mamba\",\"hybrid\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"hybrid\","
	 "\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"mamba\",\"hybrid\",\"mamba\",\"mamba\"]",
	 1215064704, "Zamba2-1.2B"},
	{"mllama", "\"text_config\":{\"model_type\":\"mllama_text_model\"},\"vision_config\":{}",
	 10642941475, "Llama-3.2-11B-Vision"},
	{"llama4",
	 "\"text_config\":{\"model_type\":\"llama4_text\"},\"vision_config\":{\"hidden_size\":1408,"
	 "\"image_size\":336,\"vision_output_dim\":4096}",
	 108641793536, "Llama-4-Scout"},
};

START_TEST(a_model_type_alone_takes_its_class_defaults)
{
	for (size_t i = 0; i < sizeof(sparse) / sizeof(sparse[0]); i++) {
		struct architecture architecture;
		char text[1200];

		snprintf(text, sizeof(text), "{\"model_type\":\"%s\"%s%s}", sparse[i].type,
			 sparse[i].keys[0] ? "," : "", sparse[i].keys);
		error_init(&error, &arena);
		ck_assert_msg(read_text(text, &architecture), "%s: %s", sparse[i].model,
			      error.first ? error.first->pointer : error.detail);
		ck_assert_msg(total_of(&architecture) == sparse[i].total, "%s: %lu",
			      sparse[i].model, (unsigned long)total_of(&architecture));
	}
}
END_TEST

/* Classifiers and rerankers put out a score for each label, and no tokens. */
START_TEST(classifiers_have_a_score_for_each_label)
{
	static const char reranker[] =
		"{\"model_type\":\"xlm-roberta\",\"architectures\":["
		"\"XLMRobertaForSequenceClassification\"],\"hidden_size\":1024,\"num_hidden_"
		"layers\":24,"
		"\"num_attention_heads\":16,\"intermediate_size\":4096,\"vocab_size\":250002,"
		"\"max_position_embeddings\":8194,\"type_vocab_size\":1,\"id2label\":{\"0\":"
		"\"LABEL_0\"}}";
	static const char decoder[] = "{\"model_type\":\"llama\",\"architectures\":["
				      "\"LlamaForSequenceClassification\"]}";
	struct architecture architecture;

	ck_assert(read_text(reranker, &architecture));
	ck_assert_uint_eq(total_of(&architecture), 567755777); /* bge-reranker-v2-m3 */
	ck_assert_int_eq(architecture.modality, MODALITY_EMBEDDING);
	ck_assert(read_text(decoder, &architecture));
	ck_assert_int_eq(architecture.modality, MODALITY_EMBEDDING);
	/* Llama-7B without its head, and two scores. */
	ck_assert_uint_eq(total_of(&architecture), 6738415616 - 32000 * 4096 + 2 * 4096);
}
END_TEST

/* A layer that is passed again costs its work again, but no weights. */
START_TEST(shared_layers_work_without_weights_of_their_own)
{
	static const char base[] = "{\"model_type\":\"albert\",\"hidden_size\":768,"
				   "\"num_attention_heads\":12,\"intermediate_size\":3072,"
				   "\"num_hidden_layers\":%d}";
	struct architecture one, twelve;
	char text[200];

	snprintf(text, sizeof(text), base, 1);
	ck_assert(read_text(text, &one));
	snprintf(text, sizeof(text), base, 12);
	ck_assert(read_text(text, &twelve));
	ck_assert_uint_eq(total_of(&one), total_of(&twelve));
	ck_assert_double_eq_tol(architecture_sequence_flops(&twelve, 128, 0).matrices,
				12 * architecture_sequence_flops(&one, 128, 0).matrices, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hf_config_defaults");
	TCase *tests = tcase_create("hf_config_defaults");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_model_type_alone_takes_its_class_defaults);
	tcase_add_test(tests, classifiers_have_a_score_for_each_label);
	tcase_add_test(tests, shared_layers_work_without_weights_of_their_own);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
