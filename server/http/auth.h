/*
 * Auth: who calls, and what they may. Off, by API keys (keyring.h), by the identity that a trusted
 * proxy has verified and names in a header, or by both. What a request carries is noted while its
 * fields are read; it is judged once its route is known. With auth off nothing is noted.
 *
 * Nobody is told whether a key's id exists. A key never reaches a log; its id does.
 */
#ifndef SERVER_HTTP_AUTH_H
#define SERVER_HTTP_AUTH_H

#include "server/config.h"
#include "server/json/writer.h"
#include "server/key.h"

#include <stdbool.h>
#include <stddef.h>

struct auth;
struct keyring;
struct exchange;
struct reply;

/* Settings: "off", or "keys" and "header" with commas between; a field name, or "". */
bool auth_check_modes(const char *text, struct error *error);
bool auth_check_header(const char *text, struct error *error);

/* Do the settings ask for API keys? */
bool auth_wants_keys(const struct config *config);

/* `keyring` may be NULL when no keys are wanted. NULL and an error: settings that contradict. */
struct auth *auth_new(const struct config *config, struct keyring *keyring, struct error *error);
void auth_free(struct auth *auth);

/* Once the API's address is known, before anybody asks: where only this machine can ask and auth is
 * off, who asks here sees a company's own prices too; elsewhere a warning says that anybody may
 * ask.
 */
void auth_listens_at(struct auth *auth, const char *address);

/* What one request carries; texts are the library's, as long as the request. */
enum credential {
	CREDENTIAL_AUTHORIZATION,
	CREDENTIAL_API_KEY,
	CREDENTIAL_IDENTITY,
	CREDENTIAL_SCOPES,
	CREDENTIALS
};
struct credentials {
	const char *text[CREDENTIALS];
	unsigned char lines[CREDENTIALS];
};
bool auth_is_on(const struct auth *auth);
void auth_take(const struct auth *auth, struct credentials *credentials, const char *name,
	       size_t name_length, const char *value);

/* False until keys have been looked for: requests that bring one belong to another replica. */
bool auth_is_ready(const struct auth *auth);

/* May this exchange have its route? Fills request->scopes and ->caller; else the error. */
bool auth_admit(struct exchange *exchange);

/* WWW-Authenticate of a 401 or 403. */
void auth_challenge(const struct exchange *exchange, struct reply *reply);

/* Fields that decide who a caller is, for Vary: "Authorization, X-Api-Key"; "" when auth is off. */
const char *auth_varies(const struct auth *auth);

/* For the metrics: Prometheus text. */
void auth_render(struct auth *auth, struct writer *writer);

#endif
