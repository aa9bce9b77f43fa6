/* Where in a pasted configuration the text model stands, and of which family it is: see
 * hf_config_parts.h. */
#include "core/hf_config_parts.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const struct config_value *object, const char *name)
{
	const struct config_value *value = config_get(object, name);

	return value && value->type == CONFIG_STRING ? value->text : NULL;
}

/* Files that people paste instead of a model's config.json. */
static const char *other_kind(const struct config_value *root)
{
	if (config_member(root, "peft_type"))
		return "a PEFT adapter: paste the base model's config.json, and choose method lora";
	if (config_member(root, "_class_name"))
		return "a diffusers component: paste it as it is, or a model_index.json with its "
		       "parts";
	if (config_member(root, "n_layers") && config_member(root, "dim") &&
	    !config_member(root, "model_type"))
		return "a native params.json: paste the config.json of the Hugging Face repository";
	if (config_member(root, "general.architecture"))
		return "GGUF metadata: paste the config.json of the original repository";
	if (config_member(root, "crawl_config") || config_member(root, "producer"))
		return "a quantisation file: paste the config.json beside it";
	return NULL;
}

/* The text model inside a wrapper, or the root itself. */
void hf_find_text(struct hf_reader *reader)
{
	static const struct {
		const char *outer, *inner, *path;
	} places[] = {
		{"text_config", NULL, "/text_config"},
		{"llm_config", NULL, "/llm_config"},
		{"language_config", NULL, "/language_config"},
		{"language_model_config", NULL, "/language_model_config"},
		{"thinker_config", "text_config", "/thinker_config/text_config"},
		{"semantic_config", NULL, "/semantic_config"},
		{"decoder_config", NULL, "/decoder_config"},
	};
	const char *type = text_of(reader->root, "model_type");
	bool is_spoken =
		type && (strncmp(type, "musicgen", 8) == 0 || strncmp(type, "parler_tts", 10) == 0);

	reader->text = reader->root;
	reader->text_path = "";
	if (is_spoken && config_get(reader->root, "decoder")) {
		reader->text = config_get(reader->root, "decoder");
		reader->text_path = "/decoder";
		return;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct config_value *value = config_get(reader->root, places[i].outer);

		if (places[i].inner)
			value = config_get(value, places[i].inner);
		if (value && value->type == CONFIG_OBJECT) {
			reader->text = value;
			reader->text_path = places[i].path;
			return;
		}
	}
}

/* Families of wrappers whose text part does not name its own. */
static const char *wrapped_type(const char *outer)
{
	static const char *const pairs[][2] = {
		{"llava", "llama"},
		{"llava_next", "llama"},
		{"vipllava", "llama"},
		{"mistral3", "mistral"},
		{"gemma3", "gemma3_text"},
		{"gemma3n", "gemma3n_text"},
		{"gemma4", "gemma4_text"},
		{"paligemma", "gemma"},
		{"mllama", "mllama_text_model"},
		{"llama4", "llama4_text"},
		{"idefics2", "mistral"},
		{"idefics3", "llama"},
		{"smolvlm", "llama"},
		{"aya_vision", "cohere2"},
		{"cohere2_vision", "cohere2"},
		{"llava_next_video", "llama"},
		{"video_llava", "llama"},
		{"perception_lm", "llama"},
		{"deepseek_vl", "llama"},
		{"janus", "llama"},
		{"voxtral", "llama"},
		{"musicgen", "musicgen_decoder"},
		{"parler_tts", "parler_tts_decoder"},
		{"llava_onevision", "qwen2"},
		{"internvl", "qwen2"},
		{"got_ocr2", "qwen2"},
		{"ovis2", "qwen2"},
		{"qwen2_audio", "qwen2"},
		{"lfm2_vl", "lfm2"},
		{"kimi_vl", "deepseek_v3"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (strcmp(outer, pairs[i][0]) == 0)
			return pairs[i][1];
	return outer;
}

bool hf_find_family(struct hf_reader *reader)
{
	const char *outer = text_of(reader->root, "model_type");
	const char *type = text_of(reader->text, "model_type");
	const char *hint = other_kind(reader->root);

	if (!type && outer)
		type = wrapped_type(outer);
	if (!type)
		return error_set(reader->error, ERROR_UNSUPPORTED,
				 "The configuration names no model_type%s%s.",
				 hint ? "; it looks like " : "", hint ? hint : "");
	reader->family = hf_family_of_type(type);
	if (!reader->family && outer)
		reader->family = hf_family_of_type(wrapped_type(outer));
	if (!reader->family)
		return error_set(
			reader->error, ERROR_UNSUPPORTED,
			"The model family \"%.60s\" is not known: its layers cannot be sized from "
			"this file. Give its parameters and sizes as numbers instead.",
			type);
	reader->flags = reader->family->flags;
	snprintf(reader->out->family, sizeof(reader->out->family), "%s", type);
	return true;
}
