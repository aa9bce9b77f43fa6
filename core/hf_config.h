/*
 * HF config: a Hugging Face config.json to an architecture, by the rules of its family.
 *
 * Only families whose layers are known are read: hf_config_families.c lists them. A
 * family that is not known is refused with ERROR_UNSUPPORTED, naming what it is; so is a file of
 * another kind (adapter, diffusion, GGUF) with a hint. Nothing is guessed: a size that is missing
 * is what the family's own configuration class takes it for, and an error with its pointer where
 * that has no default.
 */
#ifndef CORE_HF_CONFIG_H
#define CORE_HF_CONFIG_H

#include "core/architecture.h"
#include "core/config_view.h"
#include "core/error.h"

/* Pointers in `error` are relative to the root. False, with `error` set, when it cannot be read;
 * *out is then untouched. */
bool hf_config_read(const struct config_value *root, struct architecture *out, struct error *error);

#endif
