/* Settings as arguments: --ops-listen X, --ops-listen=X, --no-bundled, --lambda-key-file PATH. */
#include "server/config_parts.h"
#include "server/ingest/provider.h"

#include <stdio.h>
#include <string.h>

/* GPUPICK_OPS_LISTEN from "--ops-listen" or "--ops-listen=..."; NULL: too long to be one of ours.
 */
static const char *flag_variable(const char *argument, char out[CONFIG_NAME_TEXT])
{
	size_t length = strcspn(argument + 2, "=");
	char name[CONFIG_NAME_TEXT - sizeof(CONFIG_PREFIX)];

	if (length >= sizeof(name))
		return NULL;
	memcpy(name, argument + 2, length);
	name[length] = '\0';
	config_variable(out, name, "");
	return out;
}

static bool match_name(struct config_flag *flag, const char *name)
{
	char known[CONFIG_NAME_TEXT];

	snprintf(flag->name, sizeof(flag->name), "%s", name);
	for (int i = 0; i < CONFIG_SETTINGS; i++) {
		config_variable(known, config_items[i].name, "");
		flag->setting = (enum config_setting)i;
		if (strcmp(known, name) == 0)
			return !flag->is_file || config_items[i].kind == CONFIG_KIND_SECRET;
	}
	flag->setting = CONFIG_SETTINGS;
	for (size_t p = 0; p < providers_count; p++) {
		for (size_t s = 0; s < CONFIG_SUFFIXES; s++) {
			flag->suffix = config_suffixes[s];
			config_variable(known, providers[p]->id, flag->suffix);
			if (strcmp(known, name) == 0)
				return true;
		}
	}
	return false;
}

bool config_match_flag(struct config_flag *flag, const char *argument)
{
	char name[CONFIG_NAME_TEXT];
	size_t length;

	*flag = (struct config_flag){.setting = CONFIG_SETTINGS};
	if (strncmp(argument, "--", 2) != 0 || !flag_variable(argument, name))
		return false;
	if (match_name(flag, name))
		return true;
	length = strlen(name);
	if (length > 5 && strcmp(name + length - 5, "_FILE") == 0) {
		name[length - 5] = '\0';
		flag->is_file = true;
		return match_name(flag, name);
	}
	if (strncmp(argument, "--no-", 5) == 0 && !strchr(argument, '=')) {
		char positive[CONFIG_NAME_TEXT];

		snprintf(positive, sizeof(positive), "--%s", argument + 5);
		flag->is_negated = true;
		return flag_variable(positive, name) && match_name(flag, name) &&
		       flag->setting < CONFIG_SETTINGS &&
		       config_items[flag->setting].kind == CONFIG_KIND_FLAG;
	}
	return false;
}

static bool apply_flag(struct config *config, const struct config_flag *flag, const char *value,
		       struct error *error)
{
	if (flag->is_file && !config_read_secret(flag->name, value, config->arena, &value, error))
		return false;
	if (flag->setting == CONFIG_SETTINGS)
		return config_derive(config, flag->name, flag->suffix, value, CONFIG_FLAG, error);
	return config_set(config, flag->setting, value, CONFIG_FLAG, error);
}

bool config_load_flags(struct config *config, int *argc, char **argv, struct error *error)
{
	int kept = 0, i;

	for (i = 0; i < *argc && strcmp(argv[i], "--") != 0; i++) {
		const char *value = strchr(argv[i], '=');
		struct config_flag flag;

		if (!config_match_flag(&flag, argv[i])) {
			argv[kept++] = argv[i];
			continue;
		}
		if (value)
			value++;
		else if (flag.setting < CONFIG_SETTINGS &&
			 config_items[flag.setting].kind == CONFIG_KIND_FLAG)
			value = flag.is_negated ? "false" : "true";
		else if (i + 1 < *argc)
			value = argv[++i];
		else
			return error_set(error, ERROR_INVALID, "%s needs a value", argv[i]);
		if (!apply_flag(config, &flag, value, error))
			return false;
	}
	while (i < *argc)
		argv[kept++] = argv[i++];
	*argc = kept;
	argv[kept] = NULL;
	return true;
}
