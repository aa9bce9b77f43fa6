/*
 * Configuration: environment variables GPUPICK_*, each with a flag of the same name
 * (GPUPICK_OPS_LISTEN, --ops-listen), from one table that also prints the help and checks values. A
 * secret may come from a file named by NAME_FILE. A bad value stops the start with one line naming
 * it.
 *
 * Per provider, derived from the providers table: GPUPICK_<PROVIDER>_URL overrides a feed's base
 * URL (and is the only way to a private address), GPUPICK_<PROVIDER>_KEY (or _KEY_FILE) is its
 * credential, GPUPICK_<PROVIDER>_DISCOUNT what the company pays less than the list (discount.h).
 */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* kind (TEXT, SECRET, SECONDS, COUNT, FLAG), member, default as text, help. The variable is
 * GPUPICK_ and the member in capitals. SECONDS are double, COUNT int64_t, FLAG bool. */
#define CONFIG_TABLE(X)                                                                            \
	X(TEXT, listen, "127.0.0.1:8080", "address of the API: HOST:PORT, [V6]:PORT or unix:PATH") \
	X(TEXT, ops_listen, "127.0.0.1:9090", "address of health and metrics")                     \
	X(SECRET, database_url, "", "PostgreSQL connection string or URL")                         \
	X(TEXT, data, "", "folder for the snapshot file and the local start's cluster")            \
	X(TEXT, log_level, "info", "debug, info, warning or error")                                \
	X(COUNT, threads, "0", "HTTP worker threads; 0 = one a core")                              \
	X(COUNT, connections, "4096", "most open client connections")                              \
	X(SECONDS, wait_seconds, "25", "longest that a request may wait for news (wait=)")         \
	X(COUNT, long_polls, "3072", "most requests that wait for news at once; 0 = no limit")     \
	X(COUNT, long_polls_a_caller, "256", "of one caller or address; 0 = no limit")             \
	X(SECONDS, idle_timeout_seconds, "620", "idle keep-alive; longer than any gateway's")      \
	X(SECONDS, head_timeout_seconds, "10", "a request's head must arrive within")              \
	X(SECONDS, body_timeout_seconds, "30", "a request's body must arrive within")              \
	X(SECONDS, send_timeout_seconds, "120", "an answer must be taken by its client within")    \
	X(TEXT, trusted_proxies, "",                                                               \
	  "networks (10.0.0.0/8, ::1, unix:) whose Forwarded is believed")                         \
	X(TEXT, forwarded, "auto", "what proxies send: x (X-Forwarded-*), rfc7239 or auto")        \
	X(TEXT, base_path, "", "path before every route, where a gateway leaves one: /gpupick")    \
	X(TEXT, cors_origins, "",                                                                  \
	  "other sites whose pages may read answers: https://a.example, or *")                     \
	X(TEXT, auth, "off", "who may call: off, keys, header (a trusted proxy's word), or both")  \
	X(TEXT, auth_header, "X-Auth-Request-Email", "names the caller, from trusted proxies")     \
	X(TEXT, auth_scopes_header, "", "names the caller's scopes, from trusted proxies")         \
	X(TEXT, identity_scopes, "read", "scopes of callers that a proxy names")                   \
	X(TEXT, anonymous_scopes, "auto",                                                          \
	  "scopes without a credential; auto: read when auth is off, none when it is on")          \
	X(TEXT, api_keys, "", "file of API keys, beside those in the database")                    \
	X(FLAG, ops_auth, "false", "/metrics needs a credential with the scope admin")             \
	X(COUNT, limit_requests, "0", "requests a caller may make in the next; 0 = no limit")      \
	X(SECONDS, limit_seconds, "60", "time in which a caller's limit is restored")              \
	X(TEXT, access_log, "all", "access lines: all, errors or off")                             \
	X(COUNT, compress_bytes, "1024",                                                           \
	  "least answer that is compressed for who takes gzip; 0 = none")                          \
	X(TEXT, server_timing, "asked",                                                            \
	  "Server-Timing in answers: off, asked (Prefer: server-timing) or all")                   \
	X(FLAG, reuse_port, "false", "SO_REUSEPORT: a new process may bind before the old ends")   \
	X(SECONDS, drain_seconds, "0", "wait after readiness turns 503, before closing")           \
	X(SECONDS, grace_seconds, "25", "most that running requests may take while stopping")      \
	X(SECONDS, clock_seconds, "1", "how often a replica looks for a new version")              \
	X(SECONDS, refresh_seconds, "0", "refresh period of every feed; 0 = each feed's own")      \
	X(COUNT, fetch_attempts, "4", "tries of one request to a provider")                        \
	X(SECONDS, fetch_timeout_seconds, "60", "whole time of one request to a provider")         \
	X(TEXT, providers, "", "only these feeds, separated by commas; empty = all that can run")  \
	X(TEXT, ecb_url, "", "another base URL for the ECB's exchange rates")                      \
	X(TEXT, price_files, "", "price lists to watch: [PROVIDER=]PATH, separated by commas")     \
	X(FLAG, bundled, "true", "use the bundled prices where a provider has no live ones")

#define CONFIG_TYPE_TEXT const char *
#define CONFIG_TYPE_SECRET const char *
#define CONFIG_TYPE_SECONDS double
#define CONFIG_TYPE_COUNT int64_t
#define CONFIG_TYPE_FLAG bool

enum config_setting {
#define X(kind, member, fallback, help) CONFIG_##member,
	CONFIG_TABLE(X)
#undef X
		CONFIG_SETTINGS
};

enum config_source { CONFIG_DEFAULT, CONFIG_ENVIRONMENT, CONFIG_FLAG };

struct config_derived; /* what was set for single providers */

struct config {
#define X(kind, member, fallback, help) CONFIG_TYPE_##kind member;
	CONFIG_TABLE(X)
#undef X
	struct arena *arena; /* owns the texts */
	const struct config_derived *derived;
	unsigned char source[CONFIG_SETTINGS]; /* enum config_source, by place in the table */
};

/*
 * Reads defaults, then the environment, then flags in argv (which are removed: *argc and argv keep
 * what is left, the verb's own operands). False names the bad setting in `error`.
 */
bool config_load(struct config *config, struct arena *arena, int *argc, char **argv,
		 struct error *error);

/* A derived setting GPUPICK_<PROVIDER>_<suffix> ("URL", "KEY"), also through _FILE; NULL = not set.
 */
const char *config_provider(const struct config *config, const char *provider, const char *suffix);

void config_help(FILE *stream);

/* Calls `report` for each GPUPICK_ variable that is set and that nothing reads, as far as it can be
 * known to be meant for this program: spelled nearly like a setting, or ending like one of a
 * provider's. `nearest` is "" when none is near. */
void config_unread(void (*report)(const char *name, const char *nearest, const char *why));

/* Every setting and where it came from, secrets masked, for `check-config` and the start's log. */
void config_print(const struct config *config, FILE *stream);

#endif
