/* Hugging Face config.json to architecture, the parts that families share: see hf_config.h. */
#include "core/hf_config_parts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const struct config_value *object, const char *name)
{
	const struct config_value *value = config_get(object, name);

	return value && value->type == CONFIG_STRING ? value->text : NULL;
}

static const char *architecture_name(const struct config_value *object)
{
	const struct config_value *first = config_item(config_get(object, "architectures"), 0);

	return first && first->type == CONFIG_STRING ? first->text : NULL;
}

/* Files that people paste instead of a model's config.json. */
static const char *other_kind(const struct config_value *root)
{
	if (config_member(root, "peft_type"))
		return "a PEFT adapter: paste the base model's config.json, and choose method lora";
	if (config_member(root, "_class_name"))
		return "a diffusers component: image and video models are chosen by id";
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
static void find_text(struct hf_reader *reader)
{
	static const struct {
		const char *outer, *inner, *path;
	} places[] = {
		{"text_config", NULL, "/text_config"},
		{"llm_config", NULL, "/llm_config"},
		{"language_config", NULL, "/language_config"},
		{"language_model_config", NULL, "/language_model_config"},
		{"thinker_config", "text_config", "/thinker_config/text_config"},
	};

	reader->text = reader->root;
	reader->text_path = "";
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
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (strcmp(outer, pairs[i][0]) == 0)
			return pairs[i][1];
	return outer;
}

static bool find_family(struct hf_reader *reader)
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
	reader->family = hf_family_find(type);
	if (!reader->family && outer)
		reader->family = hf_family_find(wrapped_type(outer));
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

/* A default that only a nested text part may leave out. */
static int nested(const struct hf_reader *reader, int fallback)
{
	return reader->text != reader->root && fallback ? fallback : HF_REQUIRED;
}

/* A key that is there but null means "as many as heads", a missing one the class default. */
static int read_kv_heads(struct hf_reader *reader)
{
	int heads = reader->base.heads, fallback = reader->family->defaults.kv_heads;

	const struct config_value *by_layer = hf_value(reader, "num_kv_heads");

	if (!fallback || config_member(reader->text, "num_key_value_heads"))
		fallback = heads;
	if (by_layer && by_layer->type == CONFIG_ARRAY)
		return heads;
	return hf_dim(reader,
		      "num_key_value_heads|num_kv_heads|n_head_kv|attn_config.kv_n_heads|"
		      "num_attention_groups",
		      fallback);
}

static void read_sizes(struct hf_reader *reader)
{
	const struct hf_defaults *defaults = &reader->family->defaults;
	struct architecture *out = reader->out;
	struct layer_kind *base = &reader->base;
	bool own = reader->flags & HF_OWN_LAYERS;

	out->hidden = hf_int(reader, "hidden_size|d_model|n_embd|n_embed|dim|model_dim",
			     nested(reader, defaults->hidden));
	reader->layers = hf_dim(
		reader, "num_hidden_layers|n_layer|n_layers|num_layers|num_transformer_layers",
		own ? 0 : nested(reader, defaults->layers));
	base->heads = hf_dim(
		reader, "num_attention_heads|n_head|n_heads|num_heads|encoder_attention_heads",
		own || base->attention == ATTENTION_NONE ? 0 : nested(reader, defaults->heads));
	if (reader->layers > 100000)
		hf_fail(reader, "num_hidden_layers", "out_of_range",
			"There are more than 100000 layers.");
	if (out->hidden > 1000000)
		hf_fail(reader, "hidden_size", "out_of_range", "This is more than 1000000.");
	base->kv_heads = read_kv_heads(reader);
	base->head_dim = hf_dim(reader, "head_dim|attention_head_dim|kv_channels|d_kv|head_size",
				defaults->head_dim);
	if (!base->head_dim && base->heads)
		base->head_dim = out->hidden / base->heads;
	base->v_head_dim = base->head_dim;
	out->vocab =
		hf_int(reader, "padded_vocab_size|vocab_size", nested(reader, defaults->vocab));
	out->max_context =
		hf_int(reader,
		       "max_position_embeddings|n_positions|n_ctx|max_seq_len|seq_length|"
		       "max_sequence_length|model_max_length|max_context_length",
		       defaults->context);
	reader->norm = out->hidden * (reader->flags & HF_LAYER_NORM ? 2 : 1);
	if (reader->flags & HF_NO_NORM_WEIGHTS)
		reader->norm = 0;
}

static void read_mlp(struct hf_reader *reader)
{
	int fallback = reader->family->defaults.ffn;

	if (fallback == HF_FFN_4)
		fallback = 4 * reader->out->hidden;
	else
		fallback = reader->flags & (HF_OWN_LAYERS | HF_MOE) ? 0 : nested(reader, fallback);
	if (!hf_value(reader, "intermediate_size") ||
	    hf_value(reader, "intermediate_size")->type != CONFIG_ARRAY)
		reader->ffn =
			hf_int(reader,
			       "intermediate_size|ffn_dim|n_inner|d_ff|ffn_hidden_size|hidden_dim|"
			       "ff_intermediate_size",
			       fallback);
	reader->base.gated = !(reader->flags & HF_PLAIN_MLP);
	reader->base.mlp_bias = reader->flags & HF_MLP_BIAS || hf_bool(reader, "mlp_bias", false);
	reader->base.ffn = reader->ffn;
}

static void read_attention(struct hf_reader *reader)
{
	struct layer_kind *base = &reader->base;
	unsigned flags = reader->flags;
	bool bias = hf_bool(reader, "attention_bias", false);
	int norms = flags & HF_ONE_NORM ? 1 : flags & HF_FOUR_NORMS ? 4 : 2;

	base->attention_bias = flags & HF_QKV_BIAS || bias;
	base->output_bias = flags & HF_OUTPUT_BIAS || (bias && !(flags & HF_BIAS_KEY_QKV));
	base->qk_norm = flags & HF_QK_NORM;
	base->extra_parameters = (uint64_t)norms * (unsigned)reader->norm;
	if (flags & HF_QK_NORM_WIDE)
		base->extra_parameters += (uint64_t)(unsigned)(base->heads + base->kv_heads) *
					  (unsigned)base->head_dim;
	if (flags & HF_LATENT) {
		base->attention = ATTENTION_LATENT;
		base->q_rank = hf_dim(reader, "q_lora_rank", 0);
		base->kv_rank = hf_dim(reader, "kv_lora_rank", HF_REQUIRED);
		base->rope_dim = hf_dim(reader, "qk_rope_head_dim", HF_REQUIRED);
		base->nope_dim = hf_dim(reader, "qk_nope_head_dim", HF_REQUIRED);
		base->v_head_dim = hf_dim(reader, "v_head_dim", HF_REQUIRED);
		/* The head_dim key of these families means other things. */
		base->head_dim = base->nope_dim + base->rope_dim;
		base->extra_parameters += (unsigned)base->q_rank + (unsigned)base->kv_rank;
	}
}

void hf_add_layer(struct hf_reader *reader, const struct layer_kind *kind)
{
	struct architecture *out = reader->out;
	struct layer_kind one;

	if (++reader->added > HF_LAYERS_MAX) {
		hf_fail(reader, "num_hidden_layers", "out_of_range",
			"There are more than 4096 layers.");
		return;
	}
	memcpy(&one, kind, sizeof(one)); /* with its padding: kinds are compared as bytes */
	for (int i = 0; i < out->kinds_count; i++) {
		one.count = out->kinds[i].count;
		if (memcmp(&one, &out->kinds[i], sizeof(one)) == 0) {
			out->kinds[i].count++;
			return;
		}
	}
	if (out->kinds_count == LAYER_KINDS_MAX) {
		hf_fail(reader, "num_hidden_layers", "too_many",
			"The layers differ in more ways than can be held.");
		return;
	}
	one.count = 1;
	memcpy(&out->kinds[out->kinds_count++], &one, sizeof(one));
}

static void read_layers(struct hf_reader *reader)
{
	for (int i = 0; i < reader->layers && !reader->failed; i++) {
		struct layer_kind kind;

		memcpy(&kind, &reader->base, sizeof(kind));
		if (reader->flags & HF_MOE)
			hf_experts(reader, i, &kind);
		if (reader->family->layer)
			reader->family->layer(reader, i, &kind);
		else if (hf_is_sliding(reader, i, false))
			hf_unknown_layer(reader);
		hf_add_layer(reader, &kind);
	}
}

/* "BertModel" and "MistralModel" hold no output head: they are published to embed. */
static bool is_embedding(const struct hf_reader *reader)
{
	const char *name = architecture_name(reader->root);
	size_t length = name ? strlen(name) : 0;

	if (reader->flags & HF_EMBEDDING)
		return true;
	return length > 5 && strcmp(name + length - 5, "Model") == 0 &&
	       strcmp(name, "ChatGLMModel") != 0 && !strstr(name, "LMHeadModel");
}

static void read_whole(struct hf_reader *reader)
{
	struct architecture *out = reader->out;
	const struct config_value *tied = config_get(reader->text, "tie_word_embeddings");

	if (!tied)
		tied = config_get(reader->root, "tie_word_embeddings");
	out->tied_embeddings = reader->flags & HF_TIED;
	if (tied && tied->type == CONFIG_BOOL)
		out->tied_embeddings = tied->boolean;
	else if (tied)
		hf_fail(reader, "tie_word_embeddings", "invalid_type",
			"This must be true or false.");
	out->modality = is_embedding(reader) ? MODALITY_EMBEDDING : MODALITY_TEXT;
	out->extra_parameters = (unsigned)reader->norm;
	if (reader->flags & HF_HEAD_BIAS || hf_bool(reader, "lm_head_bias", false))
		out->extra_parameters += (unsigned)out->vocab;
}

static bool check(struct hf_reader *reader)
{
	const char *reason;

	if (reader->failed)
		return false;
	if (!architecture_check(reader->out, &reason))
		return error_set(reader->error, ERROR_INVALID,
				 "The configuration does not describe a model: %s.", reason);
	return true;
}

bool hf_config_read(const struct config_value *root, struct architecture *out, struct error *error)
{
	struct architecture built;
	struct hf_reader reader;

	memset(&built, 0, sizeof(built));
	memset(&reader, 0, sizeof(reader));
	reader.root = root;
	reader.out = &built;
	reader.error = error;
	reader.base.attention = ATTENTION_GROUPED;
	if (!root || root->type != CONFIG_OBJECT)
		return error_set(error, ERROR_INVALID, "The configuration is not a JSON object.");
	find_text(&reader);
	if (!find_family(&reader))
		return false;
	if (reader.family->prepare)
		reader.family->prepare(&reader);
	read_sizes(&reader);
	if (reader.failed)
		return false;
	read_mlp(&reader);
	read_attention(&reader);
	read_whole(&reader);
	if (!(reader.flags & HF_OWN_LAYERS))
		read_layers(&reader);
	if (reader.family->finish && !reader.failed)
		reader.family->finish(&reader);
	hf_tower(&reader);
	built.native_format = hf_native_format(reader.root, reader.text);
	if (!check(&reader))
		return false;
	*out = built;
	return true;
}
