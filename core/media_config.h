/*
 * Media config: pasted configurations of diffusers to a pipeline.
 *
 * Taken are a denoiser's config.json alone (then its encoders and VAE are those of the registry's
 * pipeline of that class that is nearest in size), and a model_index.json in which each part's
 * ["library", "Class"] is replaced by the config.json of that part. Only classes whose layers are
 * known are read (media_config_classes.c); a class that the registry alone knows is taken in the
 * sizes that it is published in, and any other refused with ERROR_UNSUPPORTED, naming it.
 */
#ifndef CORE_MEDIA_CONFIG_H
#define CORE_MEDIA_CONFIG_H

#include "core/architecture.h"
#include "core/config_view.h"
#include "core/error.h"
#include "core/media.h"

/* Whether the file is one of diffusers: then media_config_read() is to read it, not
 * hf_config_read(). */
bool media_config_is(const struct config_value *root);

/* Fills `media` and an architecture that points to it. Pointers in `error` are relative to the
 * root. False, with `error` set, when it cannot be read; both are then untouched. */
bool media_config_read(const struct config_value *root, struct media *media,
		       struct architecture *out, struct error *error);

#endif
