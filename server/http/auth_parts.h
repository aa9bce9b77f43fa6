/* What auth.c (requests) and auth_settings.c (the start) share. Nobody else includes this. */
#ifndef SERVER_HTTP_AUTH_PARTS_H
#define SERVER_HTTP_AUTH_PARTS_H

#include "server/http/auth.h"

#include <stdint.h>

#define VARY_TEXT 300

/* What came of a request. */
enum outcome {
	OUTCOME_KEY,
	OUTCOME_IDENTITY,
	OUTCOME_ANONYMOUS,
	OUTCOME_MISSING,
	OUTCOME_INVALID,
	OUTCOME_EXPIRED,
	OUTCOME_UNTRUSTED,
	OUTCOME_FORBIDDEN,
	OUTCOME_UNREAD,
	OUTCOMES
};
struct auth {
	bool by_keys, by_header, guards_metrics;
	const char *identity_field, *scopes_field; /* "" = none */
	unsigned identity_scopes, anonymous_scopes;
	bool is_anonymous_auto;
	bool shows_own_here; /* a company's own prices, to who asks on this machine */
	struct keyring *keyring;
	char vary[VARY_TEXT];
	_Atomic uint64_t counts[OUTCOMES];
};

#endif
