/* The settings of auth, and what contradicts: see auth.h. */
#include "server/http/auth_parts.h"
#include "server/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOKEN_BYTES "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

enum mode { MODE_OFF, MODE_KEYS, MODE_HEADER };
static const char *const mode_text[] = {"off", "keys", "header"};
static const struct names mode_names = {mode_text, 3};

static bool parse_modes(const char *text, unsigned *out, struct error *error)
{
	unsigned modes = 0;

	while (*(text += strspn(text, ", \t"))) {
		size_t length = strcspn(text, ", \t");
		char name[16];
		int mode;

		snprintf(name, sizeof(name), "%.*s", length < 15 ? (int)length : 15, text);
		mode = names_find(&mode_names, name);
		if (mode < 0)
			return error_set(error, ERROR_INVALID, "'%s' is none of off, keys, header",
					 name);
		modes |= 1u << mode;
		text += length;
	}
	if (!modes || (modes & 1u << MODE_OFF && modes != 1u << MODE_OFF))
		return error_set(error, ERROR_INVALID, "it is off, or keys, header, or both");
	*out = modes;
	return true;
}

bool auth_check_modes(const char *text, struct error *error)
{
	unsigned modes;

	return parse_modes(text, &modes, error);
}

bool auth_check_header(const char *text, struct error *error)
{
	static const char *const taken[] = {"Authorization",	 "X-Api-Key",	  "Host",
					    "Forwarded",	 "Cookie",	  "Connection",
					    "Transfer-Encoding", "Content-Length"};

	if (text[strspn(text, TOKEN_BYTES)] || strlen(text) > 64)
		return error_set(error, ERROR_INVALID, "'%.80s' is no name of a header field",
				 text);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		if (strcasecmp(text, taken[i]) == 0)
			return error_set(error, ERROR_INVALID, "'%s' means something else", text);
	return true;
}

static unsigned modes_of(const struct config *config)
{
	struct error error;
	unsigned modes = 1u << MODE_OFF;

	error_init(&error, NULL);
	parse_modes(config->auth, &modes, &error); /* config has checked it */
	return modes;
}

bool auth_wants_keys(const struct config *config)
{
	return modes_of(config) >> MODE_KEYS & 1;
}

static bool check_whole(const struct auth *auth, const struct config *config, struct error *error)
{
	if (auth->by_header && !*config->trusted_proxies)
		return error_set(error, ERROR_INVALID,
				 "GPUPICK_AUTH=header needs GPUPICK_TRUSTED_PROXIES: else nobody "
				 "would be believed");
	if (auth->by_header && !*auth->identity_field)
		return error_set(error, ERROR_INVALID,
				 "GPUPICK_AUTH=header needs GPUPICK_AUTH_HEADER");
	if (auth->by_keys && !*config->database_url && !*config->api_keys)
		return error_set(
			error, ERROR_INVALID,
			"GPUPICK_AUTH=keys needs GPUPICK_DATABASE_URL or GPUPICK_API_KEYS");
	if (auth->guards_metrics && !auth_is_on(auth))
		return error_set(error, ERROR_INVALID, "GPUPICK_OPS_AUTH needs GPUPICK_AUTH");
	return true;
}

static void list_varying(struct auth *auth)
{
	snprintf(auth->vary, sizeof(auth->vary), "%s%s%s%s%s",
		 auth->by_keys ? "Authorization, X-Api-Key" : "",
		 auth->by_keys && auth->by_header ? ", " : "",
		 auth->by_header ? auth->identity_field : "",
		 auth->by_header && *auth->scopes_field ? ", " : "",
		 auth->by_header ? auth->scopes_field : "");
}

struct auth *auth_new(const struct config *config, struct keyring *keyring, struct error *error)
{
	struct auth *auth = calloc(1, sizeof(*auth));
	unsigned modes = modes_of(config);
	bool is_good;

	if (!auth) {
		error_set(error, ERROR_INTERNAL, "out of memory");
		return NULL;
	}
	auth->by_keys = modes >> MODE_KEYS & 1;
	auth->by_header = modes >> MODE_HEADER & 1;
	auth->guards_metrics = config->ops_auth;
	auth->identity_field = config->auth_header;
	auth->scopes_field = config->auth_scopes_header;
	auth->keyring = keyring;
	auth->is_anonymous_auto = strcmp(config->anonymous_scopes, "auto") == 0;
	if (auth->is_anonymous_auto)
		auth->anonymous_scopes = auth_is_on(auth) ? 0 : SCOPE_READ;
	list_varying(auth);
	is_good = (auth->is_anonymous_auto ||
		   scopes_parse(config->anonymous_scopes, &auth->anonymous_scopes, error)) &&
		  scopes_parse(config->identity_scopes, &auth->identity_scopes, error) &&
		  check_whole(auth, config, error);
	if (is_good)
		return auth;
	auth_free(auth);
	return NULL;
}

void auth_free(struct auth *auth)
{
	free(auth);
}

static bool is_local(const char *address)
{
	return strncmp(address, "unix:", 5) == 0 || strncmp(address, "127.", 4) == 0 ||
	       strncmp(address, "[::1]:", 6) == 0 || strncmp(address, "localhost:", 10) == 0;
}

void auth_listens_at(struct auth *auth, const char *address)
{
	if (auth_is_on(auth))
		return;
	if (is_local(address)) {
		auth->shows_own_here = auth->is_anonymous_auto;
		return;
	}
	log_event(LOG_WARNING,
		  auth->anonymous_scopes & SCOPE_PRIVATE_PRICES
			  ? "anybody who reaches this address may ask, for your own prices too"
			  : "anybody who reaches this address may ask; your own prices are hidden",
		  "address", address, "setting", "GPUPICK_AUTH", NULL);
}
