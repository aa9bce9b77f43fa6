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

/* Whether the tower's own type, or its wrapper's, holds one of the names. */
static bool is_one_of(const struct config_value *vision, const char *type, const char *const *names)
{
	const struct config_value *own = config_get(vision, "model_type");

	for (size_t i = 0; names[i]; i++)
		if (strstr(type, names[i]) ||
		    (own && own->type == CONFIG_STRING && strstr(own->text, names[i])))
			return true;
	return false;
}

#define IS_ONE_OF(...) is_one_of(vision, type, (const char *const[]){__VA_ARGS__, NULL})

struct tower {
	uint64_t width, layers, ffn, patch, positions, merge, frames, stacks;
	bool gated, plain_norms; /* three matrices in the MLP; norms without bias */
};

static struct tower read_tower(const struct config_value *vision, const char *type)
{
	const struct config_value *stacks = config_get(vision, "deepstack_visual_indexes");
	struct tower tower = {
		.width = (unsigned)VISION_INT(vision, 0, "embed_dim", "vt_hidden_size",
					      "hidden_size", "width"),
		.layers = (unsigned)VISION_INT(vision, 0, "num_hidden_layers", "depth",
					       "vt_num_hidden_layers", "layers"),
		.patch = (unsigned)VISION_INT(vision, 14, "patch_size", "vt_patch_size"),
		.merge = (unsigned)VISION_INT(vision, 1, "spatial_merge_size"),
		.frames = (unsigned)VISION_INT(vision, 1, "temporal_patch_size"),
		.stacks = stacks && stacks->type == CONFIG_ARRAY ? stacks->count : 0,
		.gated = IS_ONE_OF("qwen2_5_vl", "pixtral", "glm4v", "gemma4_vision"),
		.plain_norms = IS_ONE_OF("qwen2_5_vl", "pixtral", "glm4v", "gemma4_vision"),
	};
	uint64_t image = (unsigned)VISION_INT(vision, 0, "image_size");
	uint64_t side = tower.patch ? image / tower.patch : 0;

	tower.ffn = (unsigned)VISION_INT(vision, (int)(tower.width * 4), "intermediate_size",
					 "vt_intermediate_size");
	tower.positions = (unsigned)VISION_INT(vision, (int)(side * side % 1000000),
					       "num_position_embeddings");
	/* The last layers of Llama-3.2's tower look at all tiles and come on top of the count. */
	tower.layers += (unsigned)VISION_INT(vision, 0, "num_global_layers");
	return tower;
}

static void count_tower(struct hf_reader *reader, const struct config_value *vision,
			const char *type)
{
	struct architecture *out = reader->out;
	struct tower tower = read_tower(vision, type);
	uint64_t width = tower.width, hidden = (unsigned)out->hidden;
	uint64_t merged = width * tower.merge * tower.merge;
	uint64_t norm = width * (tower.plain_norms ? 1 : 2);
	uint64_t block = 4 * width * width + 4 * width + 2 * norm +
			 width * tower.ffn * (tower.gated ? 3 : 2) +
			 tower.ffn * (tower.gated ? 2 : 1) + width;
	uint64_t inner = tower.merge > 1 ? merged : hidden;
	uint64_t projector = merged * inner + inner + inner * hidden + hidden;

	if (!width || !tower.layers || width > 100000 || tower.layers > 1000 ||
	    tower.ffn > 1000000 || tower.merge > 64 || tower.patch > 1024 || tower.frames > 64 ||
	    tower.stacks > 64)
		return;
	out->tower_layers = (int)tower.layers;
	out->tower_hidden = (int)width;
	out->tower_patch = (int)tower.patch;
	out->tower_parameters = tower.layers * block +
				3 * tower.patch * tower.patch * tower.frames * width +
				(tower.plain_norms ? 0 : width) + tower.positions * width +
				(1 + tower.stacks) * projector + norm + tower.stacks * 2 * merged;
	if (tower.positions && tower.merge)
		out->image_tokens = (int)(tower.positions / (tower.merge * tower.merge));
	out->image_tokens = VISION_INT(reader->root, out->image_tokens, "mm_tokens_per_image",
				       "vision_soft_tokens_per_image", "image_seq_length");
}

void hf_tower(struct hf_reader *reader)
{
	const struct config_value *vision = vision_part(reader->root);
	const struct config_value *type = config_get(reader->root, "model_type");
	bool sees = vision || config_get(reader->root, "img_processor") ||
		    config_get(reader->root, "mm_vision_tower");

	if (sees && reader->out->modality == MODALITY_TEXT)
		reader->out->modality = MODALITY_VISION_TEXT;
	if (vision)
		count_tower(reader, vision, type && type->type == CONFIG_STRING ? type->text : "");
}
