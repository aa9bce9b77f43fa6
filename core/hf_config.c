/* Hugging Face config.json to architecture, the parts that families share: see hf_config.h. */
#include "core/hf_config_parts.h"

#include <string.h>

static const char *architecture_name(const struct config_value *object)
{
	const struct config_value *first = config_item(config_get(object, "architectures"), 0);

	return first && first->type == CONFIG_STRING ? first->text : NULL;
}

static int or_required(int fallback)
{
	return fallback ? fallback : HF_REQUIRED;
}

/* A size that is there must be one. */
static void refuse_zero(struct hf_reader *reader, const char *names)
{
	const char *key = hf_key(reader, names);

	if (key && !reader->failed && !hf_int(reader, names, 0))
		hf_fail(reader, key, "out_of_range", "This must be more than zero.");
}

#define HIDDEN_KEYS "hidden_size|d_model|n_embd|n_embed|dim|model_dim"
#define LAYERS_KEYS                                                                                \
	"num_hidden_layers|n_layer|n_layers|num_layers|num_transformer_layers|encoder_layers"
#define HEADS_KEYS                                                                                 \
	"num_attention_heads|n_head|n_heads|num_heads|encoder_attention_heads|attention_heads"
#define VOCAB_KEYS "padded_vocab_size|vocab_size"
#define KV_HEADS_KEYS                                                                              \
	"num_key_value_heads|num_kv_heads|n_head_kv|attn_config.kv_n_heads|num_attention_groups"

/* A key that is there but null means "as many as heads", a missing one the class default. */
static int read_kv_heads(struct hf_reader *reader)
{
	int heads = reader->base.heads, fallback = reader->family->defaults.kv_heads;

	const struct config_value *by_layer = hf_value(reader, "num_kv_heads");

	if (!fallback || config_member(reader->text, "num_key_value_heads"))
		fallback = heads;
	if (by_layer && by_layer->type == CONFIG_ARRAY)
		return heads;
	refuse_zero(reader, KV_HEADS_KEYS);
	return hf_dim(reader, KV_HEADS_KEYS, fallback);
}

static void read_sizes(struct hf_reader *reader)
{
	const struct hf_defaults *defaults = &reader->family->defaults;
	struct architecture *out = reader->out;
	struct layer_kind *base = &reader->base;
	bool own = reader->flags & HF_OWN_LAYERS;

	out->hidden = hf_int(reader, HIDDEN_KEYS, or_required(defaults->hidden));
	reader->layers =
		hf_dim(reader, LAYERS_KEYS, own ? defaults->layers : or_required(defaults->layers));
	base->heads =
		hf_dim(reader, HEADS_KEYS,
		       own || base->attention == ATTENTION_NONE ? defaults->heads
								: or_required(defaults->heads));
	refuse_zero(reader, HIDDEN_KEYS);
	if (!own)
		refuse_zero(reader, LAYERS_KEYS);
	if (base->attention != ATTENTION_NONE) {
		refuse_zero(reader, HEADS_KEYS);
		refuse_zero(reader, "head_dim");
	}
	if (reader->layers > 100000)
		hf_fail(reader, "num_hidden_layers", "out_of_range",
			"There are more than 100000 layers.");
	if (out->hidden > 1000000)
		hf_fail(reader, "hidden_size", "out_of_range", "This is more than 1000000.");
	base->kv_heads = read_kv_heads(reader);
	base->head_dim = hf_dim(reader, "head_dim|attention_head_dim|kv_channels|d_kv|head_size",
				defaults->head_dim);
	if (!base->head_dim && base->heads && out->hidden % base->heads &&
	    !config_member(reader->text, "kv_lora_rank"))
		hf_fail(reader, "num_attention_heads", "out_of_range",
			"Without head_dim this must divide the hidden size.");
	if (!base->head_dim && base->heads)
		base->head_dim = out->hidden / base->heads;
	base->v_head_dim = base->head_dim;
	if (!(reader->flags & HF_PATCHES)) {
		out->vocab = hf_int(reader, VOCAB_KEYS, or_required(defaults->vocab));
		refuse_zero(reader, VOCAB_KEYS);
	}
	out->max_context =
		hf_int(reader,
		       "max_position_embeddings|n_positions|n_ctx|max_seq_len|seq_length|"
		       "max_sequence_length|model_max_length|max_context_length|context_length|"
		       "max_target_positions",
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
		fallback =
			reader->flags & (HF_OWN_LAYERS | HF_MOE) ? fallback : or_required(fallback);
	if (!hf_value(reader, "intermediate_size") ||
	    hf_value(reader, "intermediate_size")->type != CONFIG_ARRAY)
		reader->ffn =
			hf_int(reader,
			       "intermediate_size|ffn_dim|n_inner|d_ff|ffn_hidden_size|hidden_dim|"
			       "ff_intermediate_size|encoder_ffn_dim",
			       fallback);
	if (!(reader->flags & (HF_OWN_LAYERS | HF_MOE)) && !reader->failed && !reader->ffn)
		hf_fail(reader, "intermediate_size", "out_of_range",
			"This must be more than zero.");
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
		const struct hf_defaults *defaults = &reader->family->defaults;
		/* Null means no compression of the query, a missing key the class default. */
		bool has_q_rank = config_member(reader->text, "q_lora_rank") != NULL;

		base->q_rank = hf_dim(reader, "q_lora_rank", has_q_rank ? 0 : defaults->q_rank);
		base->kv_rank = hf_dim(reader, "kv_lora_rank", or_required(defaults->kv_rank));
		base->rope_dim = hf_dim(reader, "qk_rope_head_dim", or_required(defaults->rope));
		base->nope_dim = hf_dim(reader, "qk_nope_head_dim", or_required(defaults->nope));
		base->v_head_dim = hf_dim(reader, "v_head_dim", or_required(defaults->value));
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

/* "Qwen3ForSequenceClassification": rerankers, reward models and classifiers. */
static bool is_classifier(const struct hf_reader *reader)
{
	const char *name = architecture_name(reader->root);

	return name && (strstr(name, "ForSequenceClassification") ||
			strstr(name, "ForTokenClassification"));
}

/* "BertModel" and "MistralModel" hold no output head: they are published to embed. */
static bool is_embedding(const struct hf_reader *reader)
{
	const char *name = architecture_name(reader->root);
	size_t length = name ? strlen(name) : 0;

	if (reader->flags & HF_EMBEDDING || is_classifier(reader))
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

/* A score for each label, two unless the file names them; encoders' have a bias. */
static void add_classifier(struct hf_reader *reader)
{
	const struct config_value *labels = config_get(reader->root, "id2label");
	uint64_t count = labels && labels->type == CONFIG_OBJECT
				 ? labels->count
				 : (unsigned)hf_dim(reader, "num_labels", 2);

	if (is_classifier(reader) && count <= 100000)
		reader->out->extra_parameters += count * (unsigned)reader->out->hidden +
						 (reader->flags & HF_EMBEDDING ? count : 0);
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
	hf_find_text(&reader);
	if (!hf_find_family(&reader))
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
	add_classifier(&reader);
	hf_tower(&reader);
	built.native_format = hf_native_format(reader.root, reader.text);
	built.native_format_unknown =
		built.native_format == FORMAT_AUTO && hf_is_quantised(reader.root, reader.text);
	built.native_kv_format = hf_native_kv_format(reader.root, reader.text);
	if (!check(&reader))
		return false;
	*out = built;
	return true;
}
