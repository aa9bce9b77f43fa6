/* Media config: see media_config.h. */
#include "core/media_config_parts.h"

#include "core/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const struct config_value *object, const char *name)
{
	const struct config_value *value = config_get(object, name);

	return value && value->type == CONFIG_STRING ? value->text : NULL;
}

bool media_config_is(const struct config_value *root)
{
	return root && root->type == CONFIG_OBJECT && text_of(root, "_class_name") &&
	       !text_of(root, "model_type");
}

/* What a file has told so far. */
struct pasted {
	struct media media;
	const char *family;
	enum modality modality;
};

/* What is to be read at one place of the file. */
static struct hf_reader reader_at(const struct config_value *part, const char *path,
				  struct error *error)
{
	struct hf_reader reader = {.root = part, .text = part, .text_path = path, .error = error};

	return reader;
}

/* Whether the sizes that the file tells are those of a denoiser of the registry. */
static bool has_sizes_of(struct hf_reader *reader, const struct media_denoiser *known)
{
	int heads = media_most(reader, "num_attention_heads", 0, MEDIA_HEADS_MOST);
	int head_dim = media_most(reader, "attention_head_dim", 0, MEDIA_HEADS_MOST);
	int width = hf_int(reader, "hidden_size|dim", heads * head_dim);
	int layers = hf_int(reader, "num_layers|n_layers", 0), all = 0;
	bool is_wide = !width, is_deep = !layers;

	for (int i = 0; i < known->blocks_count; i++) {
		all += known->blocks[i].count;
		is_wide |= known->blocks[i].width == width;
		is_deep |= known->blocks[i].count == layers;
	}
	return !reader->failed && is_wide && (is_deep || all == layers);
}

/* A class that only the registry knows, in the sizes that it is published in. */
static bool take_known(struct hf_reader *reader, const char *name, struct pasted *out)
{
	bool is_class = false;

	for (size_t i = 0; i < models_count; i++) {
		const struct architecture *known = &models[i].architecture;

		if (!known->media || strcmp(known->media->denoiser.name, name) != 0)
			continue;
		is_class = true;
		if (!has_sizes_of(reader, &known->media->denoiser))
			continue;
		out->media = *known->media;
		out->media.encoders_count = 0;
		memset(out->media.encoders, 0, sizeof(out->media.encoders));
		memset(&out->media.vae, 0, sizeof(out->media.vae));
		out->family = known->family;
		out->modality = known->modality;
		return true;
	}
	if (reader->failed)
		return false;
	return error_set(reader->error, ERROR_UNSUPPORTED,
			 "The denoiser's class \"%.60s\" is %s: choose a model by its id.", name,
			 is_class ? "known only in the sizes that it is published in"
				  : "not known: its layers cannot be sized from this file");
}

static bool read_denoiser(struct hf_reader *reader, struct pasted *out)
{
	const char *name = text_of(reader->text, "_class_name"), *reason;
	const struct media_class *kind = media_class_find(name ? name : "");
	struct media_denoiser *denoiser = &out->media.denoiser;

	if (!kind)
		return take_known(reader, name ? name : "", out);
	snprintf(denoiser->name, sizeof(denoiser->name), "%s", name);
	denoiser->copies = denoiser->patch_time = 1;
	denoiser->text_tokens = kind->text_tokens;
	kind->read(reader, denoiser);
	out->family = kind->family;
	out->modality = kind->modality;
	out->media.width = kind->width;
	out->media.height = kind->height;
	out->media.frames = kind->frames;
	out->media.fps = kind->fps;
	out->media.steps = kind->steps;
	out->media.guidance_passes = kind->passes;
	/* Distilled to follow its guidance in one pass. */
	if (hf_bool(reader, "guidance_embeds", false))
		out->media.guidance_passes = 1;
	if (reader->failed)
		return false;
	/* Before anything is counted: what is out of range may also take forever. */
	if (!media_denoiser_check(denoiser, &reason))
		return error_set(reader->error, ERROR_INVALID,
				 "The configuration does not describe a denoiser: %s.", reason);
	return true;
}

/* The registry's pipeline of that class whose denoiser is nearest in size. */
static const struct media *nearest(const struct media *media)
{
	const struct media *found = NULL;
	struct media_count asked, count;
	double best = (double)INFINITY;

	media_count(media, &asked);
	for (size_t i = 0; i < models_count; i++) {
		const struct media *known = models[i].architecture.media;
		double off;

		if (!known || strcmp(known->denoiser.name, media->denoiser.name) != 0)
			continue;
		media_count(known, &count);
		off = fabs(log((double)count.denoiser / (double)asked.denoiser));
		if (off < best) {
			best = off;
			found = known;
		}
	}
	return found;
}

/* How its pipeline is run, which no configuration tells. */
static void take_habits(struct media *out, const struct media *known)
{
	out->is_guided_in_turn = known->is_guided_in_turn;
	out->is_tiled = known->is_tiled;
	out->is_sliced = known->is_sliced;
}

static bool borrow_parts(struct media *out, struct error *error)
{
	const struct media *known = nearest(out);

	if (!known)
		return error_set(error, ERROR_UNSUPPORTED,
				 "No pipeline of class %s is known to take encoders and VAE from.",
				 out->denoiser.name);
	memcpy(out->encoders, known->encoders, sizeof(out->encoders));
	out->encoders_count = known->encoders_count;
	out->vae = known->vae;
	take_habits(out, known);
	return true;
}

/* A part of a model_index.json: an object, since ["library", "Class"] tells no sizes. */
static const struct config_value *part_of(const struct config_value *root, const char *name,
					  struct error *error)
{
	const struct config_value *part = config_get(root, name);
	char pointer[80];

	if (!part || part->type == CONFIG_OBJECT)
		return part;
	/* [null, null]: a part that this pipeline does without. */
	if (part->type == CONFIG_ARRAY && (!part->count || part->items[0]->type == CONFIG_NULL))
		return NULL;
	snprintf(pointer, sizeof(pointer), "/%s", name);
	error_add(
		error, pointer, "missing", NULL,
		"A model_index.json only names the class of this part: put the config.json of its "
		"folder in its place.");
	return NULL;
}

static bool read_vae(const struct config_value *root, struct media *out, struct error *error)
{
	const struct config_value *part = part_of(root, "vae", error);
	struct hf_reader reader = reader_at(part, "/vae", error);
	const char *name = part ? text_of(part, "_class_name") : NULL;

	if (!part)
		return error->first || error_add(error, "/vae", "missing", NULL,
						 "The pipeline needs the config.json of its VAE.");
	return media_config_vae(&reader, name ? name : "AutoencoderKL", &out->vae);
}

static bool read_encoders(const struct config_value *root, struct media *out, struct error *error)
{
	static const char *const names[] = {"text_encoder", "text_encoder_2", "text_encoder_3",
					    "text_encoder_4", "image_encoder"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct config_value *part = part_of(root, names[i], error);
		char path[40];
		struct hf_reader reader;

		if (!part)
			continue;
		snprintf(path, sizeof(path), "/%s", names[i]);
		reader = reader_at(part, path, error);
		if (!media_config_encoder(&reader, out->denoiser.text_tokens,
					  &out->encoders[out->encoders_count]))
			return false;
		out->encoders_count++;
	}
	return !error->first;
}

/* Networks that run beside the denoiser in every step, which nothing here sizes. */
static bool has_none_beside(const struct config_value *root, struct error *error)
{
	static const char *const names[] = {"controlnet", "adapter", "motion_adapter"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct config_value *part = config_get(root, names[i]);
		char pointer[40];

		if (!part || part->type == CONFIG_NULL ||
		    (part->type == CONFIG_ARRAY && part->count &&
		     part->items[0]->type == CONFIG_NULL))
			continue;
		snprintf(pointer, sizeof(pointer), "/%s", names[i]);
		return error_add(error, pointer, "unsupported", NULL,
				 "A network beside the denoiser is not counted: leave %s out for "
				 "the pipeline without it.",
				 names[i]);
	}
	return true;
}

/* The pipeline as a whole: its denoiser is called transformer or unet, or two of a kind. */
static bool read_pipeline(const struct config_value *root, struct pasted *out, struct error *error)
{
	const char *name = config_get(root, "transformer") ? "transformer" : "unet";
	const struct config_value *part = part_of(root, name, error);
	const struct media *known;
	char path[40];
	struct hf_reader reader;

	if (!has_none_beside(root, error))
		return false;
	snprintf(path, sizeof(path), "/%s", name);
	if (!part)
		return error->first ? false
				    : error_add(error, path, "missing", NULL,
						"The pipeline needs the config.json of its "
						"transformer or unet.");
	reader = reader_at(part, path, error);
	if (!read_denoiser(&reader, out))
		return false;
	if (part_of(root, "transformer_2", error))
		out->media.denoiser.copies = 2;
	if (!read_encoders(root, &out->media, error))
		return false;
	if (!read_vae(root, &out->media, error) || error->first)
		return false;
	known = nearest(&out->media);
	if (known)
		take_habits(&out->media, known);
	return true;
}

bool media_config_read(const struct config_value *root, struct media *media,
		       struct architecture *out, struct error *error)
{
	const char *name = text_of(root, "_class_name"), *reason;
	struct pasted built = {.family = ""};
	bool is_read;

	if (name && strstr(name, "Pipeline")) {
		is_read = read_pipeline(root, &built, error);
	} else {
		struct hf_reader reader = reader_at(root, "", error);

		is_read = read_denoiser(&reader, &built) && borrow_parts(&built.media, error);
	}
	if (!is_read)
		return false;
	if (!media_check(&built.media, &reason))
		return error_set(error, ERROR_INVALID,
				 "The configuration does not describe a pipeline: %s.", reason);
	*media = built.media;
	memset(out, 0, sizeof(*out));
	snprintf(out->family, sizeof(out->family), "%s", built.family);
	out->modality = built.modality;
	out->native_format = FORMAT_BF16;
	out->media = media;
	return true;
}
