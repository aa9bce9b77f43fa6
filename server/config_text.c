/* The configuration as text: help, the list of settings, misspelled variables. */
#include "core/names.h"
#include "server/config_parts.h"
#include "server/ingest/provider.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Has any feed of the provider a use for one? */
static bool has_key(const char *id)
{
	for (size_t i = 0; i < providers_count; i++)
		if (strcmp(providers[i]->id, id) == 0 && providers[i]->key_variable)
			return true;
	return false;
}

void config_help(FILE *stream)
{
	fputs("Every setting is an environment variable and a flag of the same name:\n"
	      "GPUPICK_OPS_LISTEN=127.0.0.1:9091 or --ops-listen 127.0.0.1:9091. Flags win.\n"
	      "A secret may come from a file: "
	      "GPUPICK_DATABASE_URL_FILE=/run/secrets/database_url.\n\n",
	      stream);
	for (int i = 0; i < CONFIG_SETTINGS; i++) {
		char name[CONFIG_NAME_TEXT];

		config_variable(name, config_items[i].name, "");
		fprintf(stream, "%-32s %s%s%s%s\n", name, config_items[i].help,
			*config_items[i].fallback ? " (default " : "", config_items[i].fallback,
			*config_items[i].fallback ? ")" : "");
	}
	fputs("\nPer provider: another base URL (the only way to a private address), its key, and "
	      "by\n"
	      "GPUPICK_<PROVIDER>_DISCOUNT the per cent that are taken off its prices on demand, "
	      "or\n"
	      "KIND:PERCENT, ... (on_demand, spot, reserved).\n",
	      stream);
	for (size_t i = 0; i < providers_count; i++) {
		char url[CONFIG_NAME_TEXT], key[CONFIG_NAME_TEXT];

		if (provider_find(providers[i]->id) != providers[i])
			continue; /* a further feed of the same */
		config_variable(url, providers[i]->id, "URL");
		config_variable(key, providers[i]->id, "KEY");
		fprintf(stream, "%-32s %s\n", url,
			has_key(providers[i]->id) ? key : "(no key needed)");
	}
}

static void print_value(const struct config *config, int setting, FILE *stream)
{
	const void *at = (const char *)config + config_items[setting].offset;

	switch (config_items[setting].kind) {
	case CONFIG_KIND_TEXT:
		fputs(*(const char *const *)at, stream);
		break;
	case CONFIG_KIND_SECRET:
		fputs(**(const char *const *)at ? "***" : "", stream);
		break;
	case CONFIG_KIND_SECONDS:
		fprintf(stream, "%g", *(const double *)at);
		break;
	case CONFIG_KIND_COUNT:
		fprintf(stream, "%" PRId64, *(const int64_t *)at);
		break;
	case CONFIG_KIND_FLAG:
		fputs(*(const bool *)at ? "true" : "false", stream);
		break;
	}
}

void config_print(const struct config *config, FILE *stream)
{
	static const char *const sources[] = {"default", "environment", "flag"};

	for (int i = 0; i < CONFIG_SETTINGS; i++) {
		char name[CONFIG_NAME_TEXT];

		config_variable(name, config_items[i].name, "");
		fprintf(stream, "%s=", name);
		print_value(config, i, stream);
		fprintf(stream, "\t# %s\n", sources[config->source[i]]);
	}
	for (const struct config_derived *at = config->derived; at; at = at->next)
		fprintf(stream, "%s=%s\t# %s\n", at->name, at->is_secret ? "***" : at->value,
			sources[at->source]);
}

/* Is `variable` the key of a provider with a feed that takes one? */
static bool takes_key(const char *variable)
{
	char known[CONFIG_NAME_TEXT];

	for (size_t i = 0; i < providers_count; i++) {
		config_variable(known, providers[i]->id, "KEY");
		if (strcmp(known, variable) == 0)
			return has_key(providers[i]->id);
	}
	return false;
}

/* The ending of a provider's variable, also with _FILE behind it; NULL when it has none such. */
static const char *suffix_of(const char *variable)
{
	size_t length = strlen(variable);

	if (length > 5 && strcmp(variable + length - 5, "_FILE") == 0)
		length -= 5;
	for (size_t i = 0; i < CONFIG_SUFFIXES; i++) {
		size_t end = strlen(config_suffixes[i]);

		if (length > end + 1 && variable[length - end - 1] == '_' &&
		    strncmp(variable + length - end, config_suffixes[i], end) == 0)
			return config_suffixes[i];
	}
	return NULL;
}

/* The variable with that ending of the provider that is called most like it, or "". */
static void find_nearest(const char *variable, const char *suffix, char out[CONFIG_NAME_TEXT])
{
	const size_t prefix = strlen(CONFIG_PREFIX);
	unsigned best = (unsigned)(strlen(variable) - prefix - strlen(suffix)) / 3 + 1;

	*out = '\0';
	for (size_t i = 0; i < providers_count; i++) {
		char known[CONFIG_NAME_TEXT];
		unsigned distance;

		config_variable(known, providers[i]->id, suffix);
		distance = names_distance(known + prefix, variable + prefix, best);
		if (distance < best) {
			best = distance;
			memcpy(out, known, sizeof(known));
		}
	}
}

void config_unread(void (*report)(const char *name, const char *nearest, const char *why))
{
	char known[CONFIG_SETTINGS][CONFIG_NAME_TEXT], provider[CONFIG_NAME_TEXT];
	const char *texts[CONFIG_SETTINGS];
	struct names names = {texts, CONFIG_SETTINGS};

	/* Compared without the prefix, which would make all of them look alike. */
	for (int i = 0; i < CONFIG_SETTINGS; i++) {
		config_variable(known[i], config_items[i].name, "");
		texts[i] = known[i] + strlen(CONFIG_PREFIX);
	}
	for (char **at = environ; *at; at++) {
		char argument[CONFIG_NAME_TEXT + 8], name[CONFIG_NAME_TEXT];
		size_t length = strcspn(*at, "=");
		const char *nearest, *suffix;
		struct config_flag flag;

		if (strncmp(*at, CONFIG_PREFIX, strlen(CONFIG_PREFIX)) != 0 ||
		    length >= sizeof(name) || !(*at)[length] || !(*at)[length + 1])
			continue;
		memcpy(name, *at, length);
		name[length] = '\0';
		snprintf(argument, sizeof(argument), "--%s", name + strlen(CONFIG_PREFIX));
		suffix = suffix_of(name);
		if (config_match_flag(&flag, argument)) {
			if (flag.setting == CONFIG_SETTINGS && strcmp(flag.suffix, "KEY") == 0 &&
			    !takes_key(flag.name))
				report(name, "", "no feed of this provider takes a key");
			continue;
		}
		nearest = names_nearest(&names, name + strlen(CONFIG_PREFIX));
		if (nearest) {
			report(name, nearest - strlen(CONFIG_PREFIX), "there is no such setting");
		} else if (suffix) {
			find_nearest(name, suffix, provider);
			report(name, provider, "there is no provider of this name");
		}
	}
}
