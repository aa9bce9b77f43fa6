/* The configuration's values: what each setting takes, and what is wrong with one. */
#include "core/names.h"
#include "server/config_parts.h"
#include "server/http/address.h"
#include "server/http/auth.h"
#include "server/http/cors.h"
#include "server/http/forwarded.h"
#include "server/ingest/files.h"
#include "server/ingest/provider.h"
#include "server/key.h"
#include "server/store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECONDS_MOST 1e7

/* Whole numbers that mean something only within bounds. */
static const struct {
	enum config_setting setting;
	int64_t least, most;
} count_bounds[] = {
	{CONFIG_threads, 0, 1024},
	{CONFIG_connections, 1, 1000000},
	{CONFIG_compress_bytes, 0, 1000000000},
	{CONFIG_long_polls, 0, 1000000},
	{CONFIG_long_polls_a_caller, 0, 1000000},
	{CONFIG_fetch_attempts, 1, 20},
	{CONFIG_limit_requests, 0, 1000000000},
};

/* Durations for which zero would mean "never works". */
static const enum config_setting positive_seconds[] = {
	CONFIG_idle_timeout_seconds, CONFIG_head_timeout_seconds, CONFIG_body_timeout_seconds,
	CONFIG_send_timeout_seconds, CONFIG_clock_seconds,	  CONFIG_fetch_timeout_seconds,
	CONFIG_limit_seconds,
};

static const struct {
	enum config_setting setting;
	struct names names;
} choices[] = {
	{CONFIG_log_level, {(const char *const[]){"debug", "info", "warning", "error"}, 4}},
	{CONFIG_forwarded, {(const char *const[]){"auto", "x", "rfc7239"}, 3}},
	{CONFIG_server_timing, {(const char *const[]){"off", "asked", "all"}, 3}},
	{CONFIG_access_log, {(const char *const[]){"all", "errors", "off"}, 3}},
};

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

bool config_check_url(const char *name, const char *text, struct error *error)
{
	return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0 ||
	       error_set(error, ERROR_INVALID, "%s: '%s' is not an http or https URL", name, text);
}

static bool check_networks(const char *text, struct error *error)
{
	struct trust trust;

	return trust_parse(&trust, text, error);
}

static bool check_database(const char *text, struct error *error)
{
	return !*text || store_check_url(text, error);
}

static bool check_scopes(const char *text, struct error *error)
{
	unsigned scopes;

	return scopes_parse(text, &scopes, error);
}

static bool check_anonymous(const char *text, struct error *error)
{
	return strcmp(text, "auto") == 0 || check_scopes(text, error);
}

/* What the value of a text must be, by those who use it. */
static const struct {
	enum config_setting setting;
	bool (*rule)(const char *text, struct error *error);
} text_rules[] = {
	{CONFIG_database_url, check_database},
	{CONFIG_trusted_proxies, check_networks},
	{CONFIG_cors_origins, cors_check},
	{CONFIG_price_files, files_check},
	{CONFIG_auth, auth_check_modes},
	{CONFIG_auth_header, auth_check_header},
	{CONFIG_auth_scopes_header, auth_check_header},
	{CONFIG_identity_scopes, check_scopes},
	{CONFIG_anonymous_scopes, check_anonymous},
};

/* What `rule` says is wrong, with the setting's name before it. */
bool config_check(bool (*rule)(const char *text, struct error *error), const char *text,
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
	for (size_t i = 0; i < sizeof(text_rules) / sizeof(*text_rules); i++)
		if (text_rules[i].setting == setting &&
		    !config_check(text_rules[i].rule, text, name, error))
			return false;
	if (setting == CONFIG_base_path && *text && !forwarded_is_prefix(text, strlen(text)))
		return error_set(error, ERROR_INVALID,
				 "%s: '%.80s' is not a path such as /gpupick, without an end slash",
				 name, text);
	if (setting == CONFIG_ecb_url && *text && !config_check_url(name, text, error))
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
