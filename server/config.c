/*
 * Configuration: see config.h. The table becomes an array of descriptors; reading, checking, help
 * and printing are loops over it.
 */
#include "server/config.h"

#include "core/names.h"
#include "server/config_parts.h"
#include "server/http/address.h"
#include "server/http/cors.h"
#include "server/http/forwarded.h"
#include "server/ingest/discount.h"
#include "server/ingest/files.h"
#include "server/ingest/provider.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET_MAX_BYTES 65536
#define SECONDS_MOST 1e7

const struct config_item config_items[CONFIG_SETTINGS] = {
#define X(kind, member, fallback, help)                                                            \
	[CONFIG_##member] = {#member, fallback, help, offsetof(struct config, member),             \
			     CONFIG_KIND_##kind},
	CONFIG_TABLE(X)
#undef X
};

/* Whole numbers that mean something only within bounds. */
static const struct {
	enum config_setting setting;
	int64_t least, most;
} count_bounds[] = {
	{CONFIG_threads, 0, 1024},
	{CONFIG_connections, 1, 1000000},
	{CONFIG_fetch_attempts, 1, 20},
};

/* Durations for which zero would mean "never works". */
static const enum config_setting positive_seconds[] = {
	CONFIG_idle_timeout_seconds, CONFIG_head_timeout_seconds, CONFIG_body_timeout_seconds,
	CONFIG_send_timeout_seconds, CONFIG_clock_seconds,	  CONFIG_fetch_timeout_seconds,
};

static const struct {
	enum config_setting setting;
	struct names names;
} choices[] = {
	{CONFIG_log_level, {(const char *const[]){"debug", "info", "warning", "error"}, 4}},
	{CONFIG_forwarded, {(const char *const[]){"auto", "x", "rfc7239"}, 3}},
	{CONFIG_access_log, {(const char *const[]){"all", "errors", "off"}, 3}},
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

/* "runpod,lambda": a feed that does not exist would silently never run. */
static bool check_providers(const char *list, const char *name, struct error *error)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		bool is_known = length == 0;

		for (size_t i = 0; i < providers_count && !is_known; i++)
			is_known = provider_is_called(providers[i], list, length);
		if (!is_known)
			return error_set(error, ERROR_INVALID, "%s: there is no provider '%.*s'",
					 name, (int)(length < 64 ? length : 64), list);
		list += length + (list[length] != '\0');
	}
	return true;
}

static bool check_url(const char *name, const char *text, struct error *error)
{
	return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0 ||
	       error_set(error, ERROR_INVALID, "%s: '%s' is not an http or https URL", name, text);
}

static bool check_networks(const char *text, struct error *error)
{
	struct trust trust;

	return trust_parse(&trust, text, error);
}

/* What `rule` says is wrong, with the setting's name before it. */
static bool check(bool (*rule)(const char *text, struct error *error), const char *text,
		  const char *name, struct error *error)
{
	struct error inner;

	error_init(&inner, NULL);
	return rule(text, &inner) || error_set(error, ERROR_INVALID, "%s: %s", name, inner.detail);
}

static bool set_text(void *at, enum config_setting setting, const char *name, const char *text,
		     struct config *config, struct error *error)
{
	char *copy = arena_strdup(config->arena, text);

	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
		if (choices[i].setting == setting && names_find(&choices[i].names, text) < 0) {
			const char *nearest = names_nearest(&choices[i].names, text);

			return error_set(error, ERROR_INVALID, "%s: '%s' is not known%s%s%s (%s)",
					 name, text, nearest ? ", did you mean '" : "",
					 nearest ? nearest : "", nearest ? "'?" : "",
					 config_items[setting].help);
		}
	}
	if ((setting == CONFIG_listen || setting == CONFIG_ops_listen) && !address_is_valid(text))
		return error_set(error, ERROR_INVALID,
				 "%s: '%s' is not HOST:PORT, [V6]:PORT or unix:PATH", name, text);
	if (setting == CONFIG_providers && !check_providers(text, name, error))
		return false;
	if (setting == CONFIG_trusted_proxies && !check(check_networks, text, name, error))
		return false;
	if (setting == CONFIG_cors_origins && !check(cors_check, text, name, error))
		return false;
	if (setting == CONFIG_base_path && *text && !forwarded_is_prefix(text, strlen(text)))
		return error_set(error, ERROR_INVALID,
				 "%s: '%.80s' is not a path such as /gpupick, without an end slash",
				 name, text);
	if (setting == CONFIG_price_files && !check(files_check, text, name, error))
		return false;
	if (setting == CONFIG_ecb_url && *text && !check_url(name, text, error))
		return false;
	if (!copy)
		return error_set(error, ERROR_INTERNAL, "%s: out of memory", name);
	*(const char **)at = copy;
	return true;
}

static bool set_seconds(double *at, enum config_setting setting, const char *name, const char *text,
			struct error *error)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value) || value < 0 || value > SECONDS_MOST)
		return error_set(error, ERROR_INVALID, "%s: '%s' is not a number of seconds", name,
				 text);
	for (size_t i = 0; i < sizeof(positive_seconds) / sizeof(*positive_seconds); i++) {
		if (positive_seconds[i] == setting && value <= 0)
			return error_set(error, ERROR_INVALID, "%s: must be greater than 0", name);
	}
	*at = value;
	return true;
}

static bool set_count(int64_t *at, enum config_setting setting, const char *name, const char *text,
		      struct error *error)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		return error_set(error, ERROR_INVALID, "%s: '%s' is not a whole number", name,
				 text);
	for (size_t i = 0; i < sizeof(count_bounds) / sizeof(*count_bounds); i++) {
		if (count_bounds[i].setting == setting &&
		    (value < count_bounds[i].least || value > count_bounds[i].most))
			return error_set(error, ERROR_INVALID,
					 "%s: %lld is not between %" PRId64 " and %" PRId64, name,
					 value, count_bounds[i].least, count_bounds[i].most);
	}
	*at = value;
	return true;
}

static bool set_flag(bool *at, const char *name, const char *text, struct error *error)
{
	static const char *const yes[] = {"true", "1", "yes", "on"};
	static const char *const no[] = {"false", "0", "no", "off"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
			*at = strcasecmp(text, yes[i]) == 0;
			return true;
		}
	}
	return error_set(error, ERROR_INVALID, "%s: '%s' is neither true nor false", name, text);
}

bool config_set(struct config *config, enum config_setting setting, const char *text,
		enum config_source source, struct error *error)
{
	void *at = (char *)config + config_items[setting].offset;
	char name[CONFIG_NAME_TEXT];
	bool is_good = false;

	config_variable(name, config_items[setting].name, "");
	config->source[setting] = (unsigned char)source;
	switch (config_items[setting].kind) {
	case CONFIG_KIND_TEXT:
	case CONFIG_KIND_SECRET:
		is_good = set_text(at, setting, name, text, config, error);
		break;
	case CONFIG_KIND_SECONDS:
		is_good = set_seconds(at, setting, name, text, error);
		break;
	case CONFIG_KIND_COUNT:
		is_good = set_count(at, setting, name, text, error);
		break;
	case CONFIG_KIND_FLAG:
		is_good = set_flag(at, name, text, error);
		break;
	}
	return is_good;
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
	if (strcmp(suffix, "URL") == 0 && !check_url(name, value, error))
		return false;
	if (strcmp(suffix, "DISCOUNT") == 0 && !check(discount_check, value, name, error))
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
