/* GET /v1/models and /v1/models/{id}: the registry, with what follows from each architecture. */
#include "core/model.h"

#include "core/memory.h"
#include "server/api/api.h"
#include "server/api/query.h"
#include "server/api/render.h"

#include <string.h>

#define SUGGESTIONS 3

static void render_aliases(struct writer *writer, const char *aliases)
{
	writer_begin_array(writer);
	while (aliases && *aliases) {
		size_t length = strcspn(aliases, ";");

		if (length)
			writer_string_n(writer, aliases, length);
		aliases += length + (aliases[length] == ';');
	}
	writer_end_array(writer);
}

static void render_facts(struct writer *writer, const struct model *model)
{
	writer_key(writer, "model");
	render_model(writer, model->id, &model->architecture, model);
	writer_key(writer, "aliases");
	render_aliases(writer, model->aliases);
	render_text(writer, "license", model->license);
	writer_key(writer, "published_parameters");
	if (model->published_parameters)
		writer_unsigned(writer, model->published_parameters);
	else
		writer_null(writer);
	render_text(writer, "confidence", model->confidence);
	render_text(writer, "source", model->source);
	render_text(writer, "notes", model->notes);
}

static void render_components(struct writer *writer, const struct parameter_count *parameters)
{
	static const char *const names[] = {"embedding", "head",   "attention", "mlp",
					    "experts",	 "router", "mixer",	"norms_and_other",
					    "tower"};
	const uint64_t values[] = {parameters->embedding, parameters->head,
				   parameters->attention, parameters->mlp,
				   parameters->experts,	  parameters->router,
				   parameters->mixer,	  parameters->norms_and_other,
				   parameters->tower};
	size_t i;

	writer_begin_object(writer);
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		writer_key(writer, names[i]);
		writer_unsigned(writer, values[i]);
	}
	writer_end_object(writer);
}

/* Of a pipeline its parts, all copies of the denoiser together. */
static void render_parts(struct writer *writer, const struct media *media)
{
	struct media_count count;

	media_count(media, &count);
	writer_begin_object(writer);
	writer_key(writer, "denoiser");
	writer_unsigned(writer, count.denoiser * (unsigned)media->denoiser.copies);
	writer_key(writer, "text_encoders");
	writer_unsigned(writer, count.text_encoders);
	writer_key(writer, "image_encoders");
	writer_unsigned(writer, count.image_encoders);
	writer_key(writer, "vae");
	writer_unsigned(writer, count.vae);
	writer_end_object(writer);
}

static void render_weights(struct writer *writer, const struct architecture *architecture)
{
	int format;

	writer_begin_object(writer);
	for (format = FORMAT_AUTO + 1; format < FORMATS; format++) {
		/* Pipelines are kept in no format of language models. */
		if (architecture->media && format_is_packed_integer((enum format)format) &&
		    !format_is_torchao((enum format)format))
			continue;
		writer_key(writer, names_text(&format_names, format));
		writer_whole(writer, architecture_weight_bytes(architecture, (enum format)format));
	}
	writer_end_object(writer);
}

static bool is_called(const struct model *model, const char *part)
{
	return query_finds(part, model->id) || query_finds(part, model->aliases) ||
	       query_finds(part, model->architecture.family);
}

bool api_models(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {"q", "modality", NULL};
	const char *part;
	struct query_reader reader;
	struct writer writer;
	unsigned modalities;
	size_t i, found = 0;
	const char *nearest;

	query_begin(&reader, request, known, error);
	part = query_search(&reader);
	modalities = query_enum_bits(&reader, "modality", &modality_names);
	if (!query_end(&reader))
		return false;
	writer_init(&writer, ANSWER_BYTES_MAX);
	writer_begin_object(&writer);
	writer_key(&writer, "items");
	writer_begin_array(&writer);
	for (i = 0; i < models_count; i++) {
		const struct model *model = &models[i];

		if (!is_called(model, part))
			continue;
		found++;
		if (modalities && !(modalities >> model->architecture.modality & 1))
			continue;
		writer_begin_object(&writer);
		render_facts(&writer, model);
		writer_end_object(&writer);
	}
	writer_end_array(&writer);
	if (!found)
		query_nothing_found(&reader, part,
				    model_nearest(part, &nearest, 1) ? nearest : NULL);
	writer_key(&writer, "warnings");
	render_warnings(&writer, &reader.warnings);
	writer_end_object(&writer);
	return query_reply(&writer, reply, error);
}

static bool not_found(const char *id, struct arena *arena, struct error *error)
{
	const char *near[SUGGESTIONS], *list = "";
	size_t i, count = model_nearest(id, near, SUGGESTIONS);

	for (i = 0; i < count && list; i++)
		list = arena_printf(arena, "%s%s'%s'", list, i ? ", " : "", near[i]);
	if (!count || !list)
		return error_set(error, ERROR_NOT_FOUND, "no model '%.80s': see /v1/models", id);
	return error_set(error, ERROR_NOT_FOUND, "no model '%.80s'; the nearest are %s", id, list);
}

bool api_model(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	struct parameter_count parameters;
	struct query_reader reader;
	const struct model *model;
	struct writer writer;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	model = model_find(request->parameter[0]);
	if (!model)
		return not_found(request->parameter[0], &request->arena, error);
	architecture_count(&model->architecture, &parameters);
	writer_init(&writer, ANSWER_BYTES_MAX);
	writer_begin_object(&writer);
	render_facts(&writer, model);
	writer_key(&writer, "parameters_by_component");
	if (model->architecture.media)
		render_parts(&writer, model->architecture.media);
	else
		render_components(&writer, &parameters);
	writer_key(&writer, "weight_bytes_by_format");
	render_weights(&writer, &model->architecture);
	writer_key(&writer, "warnings");
	render_warnings(&writer, &reader.warnings);
	writer_end_object(&writer);
	return query_reply(&writer, reply, error);
}
