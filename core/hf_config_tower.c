/*
 * Vision towers of multimodal models, with their projector: see hf_config_parts.h.
 *
 * Every published tower is a plain transformer over patches: attention of four square matrices, an
 * MLP of two or (gated) three, and a small network into the text model's width. Biases and norms
 * are counted as the class has them; registry rows carry the published count instead.
 */
#include "core/hf_config_parts.h"

#include <string.h>

/* An integer of the vision part by the first alternative that is there. */
static int vision_int(const struct config_value *vision, const char *const *names, int fallback)
{
	for (size_t i = 0; names[i]; i++) {
		const struct config_value *value = config_get(vision, names[i]);

		if (value && value->type == CONFIG_ARRAY)
			value = config_item(value, 0);
		if (value && value->type == CONFIG_NUMBER && value->number >= 0 &&
		    value->number <= 1e6)
			return (int)value->number;
	}
	return fallback;
}

#define VISION_INT(vision, fallback, ...)                                                          \
	vision_int(vision, (const char *const[]){__VA_ARGS__, NULL}, fallback)

static const struct config_value *vision_part(const struct config_value *root)
{
	const struct config_value *vision = config_get(root, "vision_config");

	if (!vision)
		vision = config_get(config_get(root, "thinker_config"), "vision_config");
	return vision && vision->type == CONFIG_OBJECT ? vision : NULL;
}

/* What towers have beyond attention and MLP, and where. */
struct style {
	const char *names; /* of the tower's own type or its wrapper's, separated by '|' */
	bool gated;	   /* three matrices in the MLP */
	bool plain_norms;  /* without bias */
	bool biases;	   /* of attention and MLP */
	bool patch_bias, class_token, first_norm, last_norm;
	bool scales;  /* two a layer */
	bool learned; /* positions; else rotary */
};

/* The first that fits; SigLIP and Qwen3-VL are like the last. */
static const struct style styles[] = {
	{"qwen2_5_vl|qwen2_5_omni|glm4v|gemma4_vision", true, true, true, false, false, false, true,
	 false, true},
	{"qwen2_vl", false, false, true, false, false, false, true, false, true},
	{"pixtral|mistral3", true, true, false, false, false, true, false, false, false},
	{"intern_vit|internvl", false, false, true, true, true, false, false, true, true},
	{"siglip|gemma3|paligemma|idefics", false, false, true, true, false, false, true, false,
	 true},
	{"clip_vision|llava|vipllava", false, false, true, false, true, true, true, false, true},
	{"", false, false, true, true, false, false, true, false, true},
};

static bool holds(const char *text, const char *names)
{
	while (*names) {
		size_t length = strcspn(names, "|");

		for (const char *at = text; *at; at++)
			if (strncmp(at, names, length) == 0)
				return true;
		names += length + (names[length] == '|');
	}
	return false;
}

static const struct style *style_of(const struct config_value *vision, const char *type)
{
	const struct config_value *own = config_get(vision, "model_type");
	size_t last = sizeof(styles) / sizeof(styles[0]) - 1;

	for (size_t i = 0; own && own->type == CONFIG_STRING && i < last; i++)
		if (holds(own->text, styles[i].names))
			return &styles[i];
	for (size_t i = 0; i < last; i++)
		if (holds(type, styles[i].names))
			return &styles[i];
	return &styles[last];
}

struct tower {
	uint64_t width, layers, ffn, patch, positions, merge, frames, stacks;
};

static struct tower read_tower(const struct config_value *root, const struct config_value *vision)
{
	const struct config_value *stacks = config_get(vision, "deepstack_visual_indexes");
	const struct config_value *ratio = config_get(root, "downsample_ratio");
	struct tower tower = {
		.width = (unsigned)VISION_INT(vision, 0, "embed_dim", "vt_hidden_size",
					      "hidden_size", "width"),
		.layers = (unsigned)VISION_INT(vision, 0, "num_hidden_layers", "depth",
					       "vt_num_hidden_layers", "layers"),
		.patch = (unsigned)VISION_INT(vision, 14, "patch_size", "vt_patch_size"),
		.merge = (unsigned)VISION_INT(vision, VISION_INT(root, 1, "spatial_merge_size"),
					      "spatial_merge_size"),
		.frames = (unsigned)VISION_INT(vision, 1, "temporal_patch_size"),
		.stacks = stacks && stacks->type == CONFIG_ARRAY ? stacks->count : 0,
	};
	const struct config_value *type = config_get(vision, "model_type");
	bool is_clip = type && type->type == CONFIG_STRING && holds(type->text, "siglip|clip");
	/* What their classes take where the file says nothing. */
	uint64_t image = (unsigned)VISION_INT(vision, is_clip ? 224 : 0, "image_size");
	uint64_t side = tower.patch ? image / tower.patch : 0;

	/* InternVL: half of each side. */
	if (ratio && ratio->type == CONFIG_NUMBER && ratio->number > 0.1 && ratio->number < 1)
		tower.merge = (uint64_t)(1 / ratio->number + 0.5);
	tower.ffn = (unsigned)VISION_INT(vision, (int)(tower.width * 4), "intermediate_size",
					 "vt_intermediate_size");
	tower.positions = (unsigned)VISION_INT(vision, (int)(side * side % 1000000),
					       "num_position_embeddings");
	return tower;
}

/*
 * Llama-3.2's tower: tables of positions for every arrangement of its tiles, no biases on
 * attention, two gates in each of the last layers; the projector reads the output beside some
 * layers' own.
 */
static void count_mllama(struct hf_reader *reader, const struct config_value *vision)
{
	struct architecture *out = reader->out;
	uint64_t width = (unsigned)VISION_INT(vision, 1280, "hidden_size");
	uint64_t layers = (unsigned)VISION_INT(vision, 32, "num_hidden_layers");
	uint64_t last = (unsigned)VISION_INT(vision, 8, "num_global_layers");
	uint64_t ffn = (unsigned)VISION_INT(vision, 5120, "intermediate_size");
	uint64_t patch = (unsigned)VISION_INT(vision, 14, "patch_size");
	uint64_t tiles = (unsigned)VISION_INT(vision, 4, "max_num_tiles");
	uint64_t output = (unsigned)VISION_INT(vision, 7680, "vision_output_dim");
	uint64_t side = patch ? (unsigned)VISION_INT(vision, 448, "image_size") / patch : 0;
	const struct config_value *ratios = config_get(vision, "supported_aspect_ratios");
	uint64_t positions = side * side + 1;
	/* One arrangement for every way to lay out up to four tiles, and none. */
	uint64_t shapes = ratios && ratios->type == CONFIG_ARRAY ? ratios->count + 1 : 9;
	uint64_t block = 4 * width * width + 2 * width * ffn + ffn + width + 4 * width;

	if (width > 100000 || layers + last > 1000 || ffn > 1000000 || side > 4096 ||
	    patch > 1024 || tiles > 64 || shapes > 4096)
		return;
	out->tower_layers = (int)(layers + last);
	out->tower_hidden = (int)width;
	out->tower_patch = (int)patch;
	out->tower_parameters += 3 * patch * patch * width + width + positions * width +
				 shapes * tiles * positions * width + 2 * shapes * tiles * width +
				 3 + 4 * width + (layers + last) * block + 2 * last +
				 output * (unsigned)out->hidden + (unsigned)out->hidden;
	out->image_tokens = (int)(tiles * positions);
}

/* Llama-4's: biases everywhere, and two matrices behind a shuffle of pixels, then the projector. */
static void count_llama4(struct hf_reader *reader, const struct config_value *vision)
{
	struct architecture *out = reader->out;
	uint64_t width = (unsigned)VISION_INT(vision, 768, "hidden_size");
	uint64_t layers = (unsigned)VISION_INT(vision, 34, "num_hidden_layers");
	uint64_t ffn = (unsigned)VISION_INT(vision, 5632, "intermediate_size");
	uint64_t patch = (unsigned)VISION_INT(vision, 14, "patch_size");
	uint64_t input = (unsigned)VISION_INT(vision, 4096, "projector_input_dim");
	uint64_t output = (unsigned)VISION_INT(vision, 4096, "projector_output_dim");
	uint64_t seen = (unsigned)VISION_INT(vision, 7680, "vision_output_dim");
	uint64_t side = patch ? (unsigned)VISION_INT(vision, 448, "image_size") / patch : 0;
	const struct config_value *ratio = config_get(vision, "pixel_shuffle_ratio");
	double kept = ratio && ratio->type == CONFIG_NUMBER ? ratio->number : 0.5;
	uint64_t block = 4 * width * width + 4 * width + 2 * width * ffn + ffn + width + 4 * width;

	if (width > 100000 || layers > 1000 || ffn > 1000000 || side > 4096 || patch > 1024 ||
	    input > 100000 || output > 100000 || seen > 100000 || !(kept >= 0.01 && kept <= 1))
		return;
	out->tower_layers = (int)layers;
	out->tower_hidden = (int)width;
	out->tower_patch = (int)patch;
	out->tower_parameters += 3 * patch * patch * width + width + (side * side + 1) * width +
				 4 * width + layers * block +
				 (uint64_t)((double)width / (kept * kept)) * input +
				 input * output + seen * (unsigned)out->hidden;
	out->image_tokens = (int)((double)(side * side) * kept * kept);
}

/* What joins the tower to the text: two matrices, unless the wrapper has something of its own. */
static uint64_t projector_of(const struct tower *tower, const char *type, uint64_t hidden)
{
	uint64_t width = tower->width, merged = width * tower->merge * tower->merge;
	uint64_t inner = tower->merge > 1 ? merged : hidden;

	if (holds(type, "gemma3")) /* one matrix behind a norm */
		return width * hidden + width;
	if (holds(type, "paligemma"))
		return width * hidden + hidden;
	if (holds(type, "mistral3")) /* merges patches first, and has no biases */
		return width + merged * width + width * hidden + hidden * hidden;
	if (holds(type, "internvl"))
		return 2 * merged + merged * hidden + hidden + hidden * hidden + hidden;
	return merged * inner + inner + inner * hidden + hidden;
}

static void count_tower(struct hf_reader *reader, const struct config_value *vision,
			const char *type)
{
	struct architecture *out = reader->out;
	const struct style *style = style_of(vision, type);
	struct tower tower = read_tower(reader->root, vision);
	uint64_t width = tower.width, merged = width * tower.merge * tower.merge;
	uint64_t norm = width * (style->plain_norms ? 1 : 2);
	uint64_t block = 4 * width * width + 2 * norm + width * tower.ffn * (style->gated ? 3 : 2) +
			 (style->scales ? 2 * width : 0);

	if (style->biases)
		block += 5 * width + tower.ffn * (style->gated ? 2 : 1);
	if (!width || !tower.layers || width > 100000 || tower.layers > 1000 ||
	    tower.ffn > 1000000 || tower.merge > 64 || tower.patch > 1024 || tower.frames > 64 ||
	    tower.stacks > 64)
		return;
	out->tower_layers = (int)tower.layers;
	out->tower_hidden = (int)width;
	out->tower_patch = (int)tower.patch;
	out->tower_parameters +=
		tower.layers * block + 3 * tower.patch * tower.patch * tower.frames * width +
		(style->patch_bias ? width : 0) + (style->learned ? tower.positions * width : 0) +
		(style->class_token ? 2 * width : 0) +
		norm * ((style->first_norm ? 1u : 0u) + (style->last_norm ? 1u : 0u)) +
		(1 + tower.stacks) * projector_of(&tower, type, (unsigned)out->hidden) +
		tower.stacks * 2 * merged;
	if (tower.positions && tower.merge)
		out->image_tokens = (int)(tower.positions / (tower.merge * tower.merge));
	out->image_tokens = VISION_INT(reader->root, out->image_tokens, "mm_tokens_per_image",
				       "vision_soft_tokens_per_image", "image_seq_length");
}

/* Phi-3-vision only names its tower: CLIP-ViT-L/14 at 336 (303507456), with two norms and two
 * matrices over four patches at a time. */
#define CLIP_L_336 UINT64_C(303507456)
#define CLIP_L_WIDTH UINT64_C(1024)

static void count_named(struct hf_reader *reader, const struct config_value *processor)
{
	uint64_t hidden = (unsigned)reader->out->hidden, four = 4 * CLIP_L_WIDTH;

	if (!config_is_text(config_get(processor, "model_name"),
			    "openai/clip-vit-large-patch14-336"))
		return;
	reader->out->tower_layers = 24;
	reader->out->tower_hidden = (int)CLIP_L_WIDTH;
	reader->out->tower_patch = 14;
	reader->out->tower_parameters +=
		CLIP_L_336 + 2 * four + four * hidden + hidden + hidden * hidden + hidden;
}

/* Whisper's encoder as a part of others (Qwen2-Audio, Voxtral), and what joins it to the text. */
static void count_audio(struct hf_reader *reader, const struct config_value *audio,
			const struct config_value *type)
{
	struct architecture *out = reader->out;
	uint64_t width = (unsigned)VISION_INT(audio, 0, "d_model", "hidden_size");
	uint64_t layers = (unsigned)VISION_INT(audio, 0, "encoder_layers", "num_hidden_layers");
	uint64_t ffn = (unsigned)VISION_INT(audio, 0, "encoder_ffn_dim", "intermediate_size");
	uint64_t mels = (unsigned)VISION_INT(audio, 128, "num_mel_bins");
	uint64_t positions = (unsigned)VISION_INT(audio, 1500, "max_source_positions");
	uint64_t hidden = (unsigned)out->hidden;
	uint64_t block = 4 * width * width + 3 * width + 2 * width * ffn + ffn + width + 4 * width;

	if (!width || !layers || !ffn || width > 100000 || layers > 1000 || mels > 10000)
		return;
	out->tower_parameters += layers * block + 3 * width * (mels + width) + 2 * width +
				 positions * width + 2 * width;
	/* Voxtral joins four frames and goes through two matrices, the others through one. */
	out->tower_parameters +=
		config_is_text(type, "voxtral") ? (ffn + hidden) * hidden : width * hidden + hidden;
}

/* The family's rule, with the sizes that the file has: of tiles, of patches, of what they become.
 */
static void set_picture(struct hf_reader *reader, const struct config_value *vision,
			const struct config_value *type)
{
	const struct config_value *own = config_get(vision, "model_type");
	const struct picture *known = NULL;
	struct picture *out = &reader->out->picture;
	int side =
		VISION_INT(reader->root, VISION_INT(vision, 0, "image_size"), "force_image_size");
	int merge = VISION_INT(vision, VISION_INT(reader->root, 0, "spatial_merge_size"),
			       "spatial_merge_size");
	int tiles = VISION_INT(reader->root, VISION_INT(vision, 0, "max_num_tiles"),
			       "max_dynamic_patch");

	/* LLaVA's wrapper carries Pixtral's tower too. */
	if (own && own->type == CONFIG_STRING && strcmp(own->text, "pixtral") == 0 &&
	    config_is_text(type, "llava"))
		known = picture_find("pixtral");
	if (!known && type && type->type == CONFIG_STRING)
		known = picture_find(type->text);
	if (!known)
		return;
	*out = *known;
	if (out->rule == PICTURE_NATIVE) {
		if (reader->out->tower_patch > 0)
			out->patch = reader->out->tower_patch;
		if (merge > 0)
			out->factor = out->patch * merge;
		return;
	}
	if (side > 0 && out->patch > 0 && side >= reader->out->tower_patch) {
		out->side = side;
		out->patch = reader->out->tower_patch;
		if (out->longest > 0)
			out->longest = 4 * side;
	}
	if (tiles > 0 && out->most_tiles > 0 && tiles <= 1000)
		out->most_tiles = tiles;
	if (reader->out->image_tokens > 0 && !out->is_crossed)
		out->tile_tokens = reader->out->image_tokens;
}

/* Voxtral joins four frames, Qwen2-Audio two. */
static void set_sound(struct hf_reader *reader, const struct config_value *audio,
		      const struct config_value *type)
{
	double rate = 50;
	int positions = VISION_INT(audio, 1500, "max_source_positions");

	if (!reader->out->tower_parameters || positions < 1)
		return;
	reader->out->modality = MODALITY_AUDIO;
	reader->out->tower_layers = VISION_INT(audio, 0, "encoder_layers", "num_hidden_layers");
	reader->out->tower_hidden = VISION_INT(audio, 0, "d_model", "hidden_size");
	reader->out->sound =
		(struct sound){.heard_positions = rate,
			       .heard_tokens = rate / (config_is_text(type, "voxtral") ? 4 : 2),
			       .window_seconds = positions / rate};
}

void hf_tower(struct hf_reader *reader)
{
	const struct config_value *vision = vision_part(reader->root);
	const struct config_value *audio = config_get(reader->root, "audio_config");
	const struct config_value *type = config_get(reader->root, "model_type");
	bool sees = vision || config_get(reader->root, "img_processor") ||
		    config_get(reader->root, "mm_vision_tower");

	if (sees && reader->out->modality == MODALITY_TEXT)
		reader->out->modality = MODALITY_VISION_TEXT;
	if (vision && config_is_text(type, "mllama"))
		count_mllama(reader, vision);
	else if (vision && config_is_text(type, "llama4"))
		count_llama4(reader, vision);
	else if (vision)
		count_tower(reader, vision, type && type->type == CONFIG_STRING ? type->text : "");
	else if (config_get(reader->root, "img_processor"))
		count_named(reader, config_get(reader->root, "img_processor"));
	if (sees)
		set_picture(reader, vision, type);
	/* What sees as well is told by what it sees. */
	if (audio && config_get(audio, "encoder_layers")) {
		count_audio(reader, audio, type);
		if (!sees)
			set_sound(reader, audio, type);
	}
}
