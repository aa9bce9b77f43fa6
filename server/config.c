/*
 * Configuration: see config.h; values are checked in config_value.c. The table becomes an array of
 * descriptors; reading, checking, help and printing are loops over it.
 */
#include "server/config.h"

#include "server/config_parts.h"
#include "server/ingest/discount.h"
#include "server/ingest/provider.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET_MAX_BYTES 65536

const struct config_item config_items[CONFIG_SETTINGS] = {
#define X(kind, member, fallback, help)                                                            \
	[CONFIG_##member] = {#member, fallback, help, offsetof(struct config, member),             \
			     CONFIG_KIND_##kind},
	CONFIG_TABLE(X)
#undef X
};

const char *const config_suffixes[CONFIG_SUFFIXES] = {"URL", "KEY", "DISCOUNT"};

/* GPUPICK_OPS_LISTEN from "ops_listen"; dashes of provider ids become underscores. */
void config_variable(char out[CONFIG_NAME_TEXT], const char *name, const char *suffix)
{
	snprintf(out, CONFIG_NAME_TEXT, CONFIG_PREFIX "%s%s%s", name, *suffix ? "_" : "", suffix);
	for (char *at = out; *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
}

bool config_read_secret(const char *name, const char *path, struct arena *arena, const char **out,
			struct error *error)
{
	char *bytes = arena_alloc(arena, SECRET_MAX_BYTES + 1);
	FILE *file = fopen(path, "re");
	size_t length;

	if (!file)
		return error_set(error, ERROR_INVALID, "%s_FILE: cannot open '%s': %s", name, path,
				 strerror(errno));
	length = bytes ? fread(bytes, 1, SECRET_MAX_BYTES + 1, file) : 0;
	fclose(file);
	while (length > 0 && (bytes[length - 1] == '\n' || bytes[length - 1] == '\r'))
		length--;
	if (length == 0 || length > SECRET_MAX_BYTES || memchr(bytes, '\0', length))
		return error_set(error, ERROR_INVALID, "%s_FILE: '%s' does not hold one secret",
				 name, path);
	bytes[length] = '\0';
	*out = bytes;
	return true;
}

/* An empty variable counts as not set, as compose files write it. */
static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* The value of NAME, or of the file that NAME_FILE names; NULL when neither is set. */
static bool environment_secret(const char *name, struct arena *arena, const char **out,
			       struct error *error)
{
	char file_name[CONFIG_NAME_TEXT + 8];
	const char *path;

	*out = environment(name);
	snprintf(file_name, sizeof(file_name), "%s_FILE", name);
	path = environment(file_name);
	if (!path)
		return true;
	if (*out)
		return error_set(error, ERROR_INVALID, "%s and %s are both set: keep one", name,
				 file_name);
	return config_read_secret(name, path, arena, out, error);
}

static bool load_environment(struct config *config, struct error *error)
{
	for (int i = 0; i < CONFIG_SETTINGS; i++) {
		char name[CONFIG_NAME_TEXT];
		const char *value;

		if (!config_set(config, (enum config_setting)i, config_items[i].fallback,
				CONFIG_DEFAULT, error))
			return false;
		config_variable(name, config_items[i].name, "");
		value = environment(name);
		if (config_items[i].kind == CONFIG_KIND_SECRET &&
		    !environment_secret(name, config->arena, &value, error))
			return false;
		if (value &&
		    !config_set(config, (enum config_setting)i, value, CONFIG_ENVIRONMENT, error))
			return false;
	}
	return true;
}

/* --- config_items of single providers --- */

bool config_derive(struct config *config, const char *name, const char *suffix, const char *value,
		   enum config_source source, struct error *error)
{
	struct config_derived *derived = arena_alloc(config->arena, sizeof(*derived));
	char *copy = arena_strdup(config->arena, value), *own_name;

	own_name = arena_strdup(config->arena, name);
	if (!derived || !copy || !own_name)
		return error_set(error, ERROR_INTERNAL, "%s: out of memory", name);
	if (strcmp(suffix, "URL") == 0 && !config_check_url(name, value, error))
		return false;
	if (strcmp(suffix, "DISCOUNT") == 0 && !config_check(discount_check, value, name, error))
		return false;
	*derived = (struct config_derived){.next = config->derived,
					   .name = own_name,
					   .value = copy,
					   .is_secret = strcmp(suffix, "KEY") == 0,
					   .source = source};
	config->derived = derived;
	return true;
}

static bool load_derived(struct config *config, struct error *error)
{
	for (size_t p = 0; p < providers_count; p++) {
		for (size_t s = 0; s < CONFIG_SUFFIXES; s++) {
			char name[CONFIG_NAME_TEXT];
			const char *value;

			/* Several feeds of a provider share its settings. */
			if (config_provider(config, providers[p]->id, config_suffixes[s]))
				continue;
			config_variable(name, providers[p]->id, config_suffixes[s]);
			if (!environment_secret(name, config->arena, &value, error))
				return false;
			if (value && !config_derive(config, name, config_suffixes[s], value,
						    CONFIG_ENVIRONMENT, error))
				return false;
		}
	}
	return true;
}

const char *config_provider(const struct config *config, const char *provider, const char *suffix)
{
	char name[CONFIG_NAME_TEXT];

	config_variable(name, provider, suffix);
	for (const struct config_derived *at = config->derived; at; at = at->next) {
		if (strcmp(at->name, name) == 0)
			return at->value; /* the last one set comes first */
	}
	return NULL;
}

/* --- the whole --- */

static void default_data(struct config *config)
{
	const char *home;

	if (*config->data)
		return;
	if (geteuid() == 0)
		config->data = "/var/lib/gpupick";
	else if ((home = environment("XDG_DATA_HOME")))
		config->data = arena_printf(config->arena, "%s/gpupick", home);
	else if ((home = environment("HOME")))
		config->data = arena_printf(config->arena, "%s/.local/share/gpupick", home);
	if (!config->data)
		config->data = "";
}

bool config_load(struct config *config, struct arena *arena, int *argc, char **argv,
		 struct error *error)
{
	*config = (struct config){.arena = arena};
	if (!load_environment(config, error) || !load_derived(config, error) ||
	    !config_load_flags(config, argc, argv, error))
		return false;
	default_data(config);
	return true;
}
