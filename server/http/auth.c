/* Auth: see auth.h. */
#include "server/http/auth.h"

#include "server/clock.h"
#include "server/http/answer.h"
#include "server/http/auth_parts.h"
#include "server/http/trust.h"
#include "server/keyring.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define REALM "Bearer realm=\"gpupick\""
#define BEARER "Bearer "
#define IDENTITY_BYTES_MAX 128

static const char *const outcome_text[OUTCOMES] = {
	[OUTCOME_KEY] = "key",
	[OUTCOME_IDENTITY] = "identity",
	[OUTCOME_ANONYMOUS] = "anonymous",
	[OUTCOME_MISSING] = "missing",
	[OUTCOME_INVALID] = "invalid",
	[OUTCOME_EXPIRED] = "expired",
	[OUTCOME_UNTRUSTED] = "untrusted",
	[OUTCOME_FORBIDDEN] = "forbidden",
	[OUTCOME_UNREAD] = "unread",
};

/* --- what a request carries --- */

bool auth_is_on(const struct auth *auth)
{
	return auth->by_keys || auth->by_header;
}

static bool is_field(const char *name, size_t length, const char *wanted)
{
	return strlen(wanted) == length && length > 0 && strncasecmp(name, wanted, length) == 0;
}

bool auth_is_ready(const struct auth *auth)
{
	return !auth->keyring || keyring_has_looked(auth->keyring);
}

void auth_take(const struct auth *auth, struct credentials *credentials, const char *name,
	       size_t name_length, const char *value)
{
	const char *wanted[CREDENTIALS] = {"Authorization", "X-Api-Key", auth->identity_field,
					   auth->scopes_field};

	for (int i = 0; i < CREDENTIALS; i++) {
		if (!is_field(name, name_length, wanted[i]))
			continue;
		credentials->text[i] = value;
		if (credentials->lines[i] < UINT8_MAX)
			credentials->lines[i]++;
	}
}

/* --- judging it --- */

static void count(struct auth *auth, enum outcome outcome)
{
	atomic_fetch_add_explicit(&auth->counts[outcome], 1, memory_order_relaxed);
}

static bool refuse(struct auth *auth, struct exchange *exchange, enum outcome outcome,
		   const char *detail)
{
	count(auth, outcome);
	exchange->has_bad_credential = outcome != OUTCOME_MISSING && outcome != OUTCOME_UNREAD;
	return error_set(&exchange->error,
			 outcome == OUTCOME_UNREAD ? ERROR_UNAVAILABLE : ERROR_UNAUTHORIZED, "%s",
			 detail);
}

/* Who it is, and what they may; whether that is enough is for auth_admit(). */
static bool let_in(struct exchange *exchange, enum outcome outcome, const char *name,
		   unsigned scopes)
{
	struct request *request = &exchange->request;

	request->caller = arena_printf(&request->arena, "%s:%s", outcome_text[outcome], name);
	if (!request->caller) {
		request->caller = "";
		return error_set(&exchange->error, ERROR_INTERNAL, "out of memory");
	}
	request->scopes = scopes;
	return true;
}

static bool admit_key(struct auth *auth, struct exchange *exchange, const char *text)
{
	char detail[96], when[CLOCK_TEXT];
	struct key key;

	switch (keyring_check(auth->keyring, text, exchange->request.now_us, &key)) {
	case KEYRING_GOOD:
		return let_in(exchange, OUTCOME_KEY, key.id, key.scopes);
	case KEYRING_EXPIRED:
		clock_format(key.expires_us, when);
		snprintf(detail, sizeof(detail), "the API key expired at %s", when);
		return refuse(auth, exchange, OUTCOME_EXPIRED, detail);
	case KEYRING_REVOKED:
		return refuse(auth, exchange, OUTCOME_EXPIRED, "the API key was revoked");
	case KEYRING_UNREAD:
		return refuse(auth, exchange, OUTCOME_UNREAD, "the API keys are not read yet");
	case KEYRING_UNKNOWN:
		break;
	}
	return refuse(auth, exchange, OUTCOME_INVALID, "the API key is not known");
}

static bool is_name(const char *text)
{
	size_t length = strlen(text);

	for (const char *at = text; *at; at++)
		if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
			return false;
	return length > 0 && length <= IDENTITY_BYTES_MAX;
}

/* Names of scopes that are not known here are other services' business. */
static unsigned known_scopes(const char *list)
{
	unsigned scopes = 0;

	while (*(list += strspn(list, ", \t"))) {
		size_t length = strcspn(list, ", \t");

		for (int i = 0; i < SCOPES; i++)
			if (strlen(names_text(&scope_names, i)) == length &&
			    memcmp(names_text(&scope_names, i), list, length) == 0)
				scopes |= 1u << i;
		list += length;
	}
	return scopes;
}

static bool admit_identity(struct auth *auth, struct exchange *exchange)
{
	const struct credentials *credentials = &exchange->credentials;
	const char *name = credentials->text[CREDENTIAL_IDENTITY];
	const char *scopes = credentials->text[CREDENTIAL_SCOPES];

	if (credentials->lines[CREDENTIAL_IDENTITY] > 1 ||
	    credentials->lines[CREDENTIAL_SCOPES] > 1)
		return refuse(auth, exchange, OUTCOME_INVALID,
			      "the caller is named twice: the proxy must replace what it receives");
	if (!is_name(name))
		return refuse(auth, exchange, OUTCOME_INVALID,
			      "the caller's name is not 1 to 128 printable characters of ASCII");
	return let_in(exchange, OUTCOME_IDENTITY, name,
		      auth->identity_scopes | (scopes ? known_scopes(scopes) : 0));
}

/* The key of the request, or NULL; *is_other: there is another kind of Authorization. */
static const char *key_of(const struct credentials *credentials, bool *is_other)
{
	const char *field = credentials->text[CREDENTIAL_AUTHORIZATION];
	const char *bearer = NULL;

	if (field && strncasecmp(field, BEARER, sizeof(BEARER) - 1) == 0)
		bearer = field + sizeof(BEARER) - 1 + strspn(field + sizeof(BEARER) - 1, " ");
	*is_other = field && (!bearer || strncmp(bearer, KEY_PREFIX, sizeof(KEY_PREFIX) - 1) != 0);
	if (credentials->text[CREDENTIAL_API_KEY])
		return credentials->text[CREDENTIAL_API_KEY];
	return *is_other ? NULL : bearer;
}

/* Who calls, and how that is known. */
static bool identify(struct auth *auth, struct exchange *exchange, enum outcome *how)
{
	const struct credentials *credentials = &exchange->credentials;
	bool is_trusted = exchange->connection->is_trusted, is_other = false;
	const char *key = auth->by_keys ? key_of(credentials, &is_other) : NULL;
	bool is_named = auth->by_header && credentials->text[CREDENTIAL_IDENTITY];

	if (key && (credentials->lines[CREDENTIAL_AUTHORIZATION] - (is_other ? 1 : 0) +
			    credentials->lines[CREDENTIAL_API_KEY] >
		    1))
		return refuse(auth, exchange, OUTCOME_INVALID, "more than one API key is given");
	*how = key ? OUTCOME_KEY : is_named && is_trusted ? OUTCOME_IDENTITY : OUTCOME_ANONYMOUS;
	if (key)
		return admit_key(auth, exchange, key);
	if (is_named && is_trusted)
		return admit_identity(auth, exchange);
	if (is_other)
		return refuse(auth, exchange, OUTCOME_INVALID,
			      "Authorization holds no API key of this service");
	if (is_named && !auth->anonymous_scopes)
		return refuse(auth, exchange, OUTCOME_UNTRUSTED,
			      "the caller's name is believed from trusted proxies only");
	exchange->request.scopes = auth->anonymous_scopes;
	return true;
}

/* A name of this machine: a page whose own name leads here asks by that (rebinding). */
static bool is_host_here(const char *host)
{
	size_t length = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");

	return length == 0 || (length == 5 && strncmp(host, "[::1]", 5) == 0) ||
	       (length == 9 && strncasecmp(host, "localhost", 9) == 0) ||
	       (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == length);
}

/* With auth off. A gateway on this machine asks for others. */
static unsigned open_scopes(const struct auth *auth, const struct exchange *exchange)
{
	const char *host = request_header(&exchange->request, "Host");
	bool is_here = exchange->connection->peer.is_unix || !host || is_host_here(host);

	if (auth->shows_own_here && is_here && !exchange->is_forwarded)
		return auth->anonymous_scopes | SCOPE_PRIVATE_PRICES;
	return auth->anonymous_scopes;
}

static unsigned scope_needed(const struct auth *auth, const struct route *route)
{
	switch (route->access) {
	case ACCESS_READ:
		return SCOPE_READ;
	case ACCESS_METRICS:
		return auth->guards_metrics ? SCOPE_ADMIN : 0;
	case ACCESS_OPEN:
		break;
	}
	return 0;
}

bool auth_admit(struct exchange *exchange)
{
	struct request *request = &exchange->request;
	struct auth *auth = request->server->auth;
	unsigned needed = scope_needed(auth, request->route);
	enum outcome how = OUTCOME_ANONYMOUS;

	if (!needed)
		return true;
	if (!auth_is_on(auth))
		request->scopes = open_scopes(auth, exchange);
	else if (!identify(auth, exchange, &how))
		return false;
	if (request->scopes & needed) {
		/* Off, every worker would write to one place. A held one counts once. */
		if (auth_is_on(auth) && !exchange->held_since_us)
			count(auth, how);
		return true;
	}
	if (!*request->caller && auth_is_on(auth))
		return refuse(auth, exchange, OUTCOME_MISSING,
			      auth->by_keys ? "an API key is needed, in Authorization: Bearer or "
					      "X-Api-Key"
					    : "a proxy must name the caller");
	count(auth, OUTCOME_FORBIDDEN);
	request->missing_scope = names_text(&scope_names, __builtin_ctz(needed));
	return error_set(&exchange->error, ERROR_FORBIDDEN,
			 "the caller lacks the scope '%s', which this needs",
			 request->missing_scope);
}

void auth_challenge(const struct exchange *exchange, struct reply *reply)
{
	const char *scope = exchange->request.missing_scope;
	struct arena *arena = (struct arena *)(uintptr_t)&exchange->request.arena;
	const char *challenge = REALM;

	if (exchange->error.code == ERROR_FORBIDDEN && scope)
		challenge = arena_printf(
			arena, REALM ", error=\"insufficient_scope\", scope=\"%s\"", scope);
	else if (exchange->has_bad_credential)
		challenge = REALM ", error=\"invalid_token\"";
	reply_header(reply, "WWW-Authenticate", challenge ? challenge : REALM);
}

const char *auth_varies(const struct auth *auth)
{
	return auth->vary;
}

void auth_render(struct auth *auth, struct writer *writer)
{
	if (!auth_is_on(auth))
		return;
	writer_format(writer, "# HELP gpupick_http_auth_total Requests by who called, or why they "
			      "were not let in.\n# TYPE gpupick_http_auth_total counter\n");
	for (int i = 0; i < OUTCOMES; i++)
		writer_format(writer, "gpupick_http_auth_total{outcome=\"%s\"} %llu\n",
			      outcome_text[i], (unsigned long long)atomic_load(&auth->counts[i]));
	if (auth->keyring)
		keyring_render(auth->keyring, writer);
}
