/*
 * Config view: reads a pasted config.json, tolerantly, into the tree that core/hf_config reads.
 *
 * Real files are not strict JSON: bare Infinity, -Infinity and NaN (Python's json module writes
 * them), a byte-order mark, blank lines in front. They are accepted; NaN and the infinities become
 * null and +-1e308, as other exporters write them. Comments, trailing commas and single quotes are
 * refused, and the error says so.
 */
#ifndef SERVER_JSON_CONFIG_VIEW_H
#define SERVER_JSON_CONFIG_VIEW_H

#include "core/arena.h"
#include "core/config_view.h"
#include "core/error.h"

#include <jansson.h>

#define CONFIG_DEPTH_MAX 64

/* Of a text. NULL with `error` set (MALFORMED for what is not JSON, TOO_LARGE past the arena). */
struct config_value *config_view_parse(const char *text, size_t length, struct arena *arena,
				       struct error *error);

/* Of a document that is already parsed: copies everything, `json` may die. */
struct config_value *config_view_from_json(const json_t *json, struct arena *arena,
					   struct error *error);

#endif
