/*
 * What the files of the configuration share: config.c (the whole, environment),
 * config_value.c (what values mean), config_flag.c (arguments), config_text.c (help, printing).
 * Nobody else includes this.
 */
#ifndef SERVER_CONFIG_PARTS_H
#define SERVER_CONFIG_PARTS_H

#include "server/config.h"

#include <stddef.h>

#define CONFIG_PREFIX "GPUPICK_"
#define CONFIG_NAME_TEXT 160
#define CONFIG_SUFFIXES 3

enum config_kind {
	CONFIG_KIND_TEXT,
	CONFIG_KIND_SECRET,
	CONFIG_KIND_SECONDS,
	CONFIG_KIND_COUNT,
	CONFIG_KIND_FLAG
};

/* One row of the table. */
struct config_item {
	const char *name, *fallback, *help;
	size_t offset;
	enum config_kind kind;
};

extern const struct config_item config_items[CONFIG_SETTINGS];
extern const char *const config_suffixes[CONFIG_SUFFIXES]; /* of single providers */

struct config_derived {
	const struct config_derived *next;
	const char *name, *value; /* "GPUPICK_RUNPOD_URL" */
	bool is_secret;
	enum config_source source;
};

/* An argument that is a setting. */
struct config_flag {
	enum config_setting setting; /* CONFIG_SETTINGS: one of a provider */
	const char *suffix;	     /* of a provider's */
	char name[CONFIG_NAME_TEXT]; /* the variable, without _FILE */
	bool is_file, is_negated;
};

/* GPUPICK_OPS_LISTEN from "ops_listen" and "", GPUPICK_RUNPOD_KEY from "runpod" and "KEY". */
void config_variable(char out[CONFIG_NAME_TEXT], const char *name, const char *suffix);

bool config_set(struct config *config, enum config_setting setting, const char *text,
		enum config_source source, struct error *error);
bool config_derive(struct config *config, const char *name, const char *suffix, const char *value,
		   enum config_source source, struct error *error);
/* What `rule` says is wrong with `text`, with the setting's name before it. */
bool config_check(bool (*rule)(const char *text, struct error *error), const char *text,
		  const char *name, struct error *error);
bool config_check_url(const char *name, const char *text, struct error *error);
bool config_read_secret(const char *name, const char *path, struct arena *arena, const char **out,
			struct error *error);

bool config_match_flag(struct config_flag *flag, const char *argument);
bool config_load_flags(struct config *config, int *argc, char **argv, struct error *error);

#endif
