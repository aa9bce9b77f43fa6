/*
 * Keyring: the API keys that this process knows, from a file, the database, or both; kept near them
 * by a thread of its own, so that a key that is made or revoked counts within seconds, without a
 * restart. With the database away the last known keys go on counting, after a restart too: a copy
 * of the hashes lies in the data folder.
 */
#ifndef SERVER_KEYRING_H
#define SERVER_KEYRING_H

#include "server/config.h"
#include "server/json/writer.h"
#include "server/key.h"

struct keyring;

/* NULL and an error: the key file does not parse, or no thread. */
struct keyring *keyring_start(const struct config *config, struct error *error);
void keyring_stop(struct keyring *keyring); /* NULL is fine */

enum keyring_verdict {
	KEYRING_GOOD,
	KEYRING_UNKNOWN, /* also of a wrong secret */
	KEYRING_REVOKED,
	KEYRING_EXPIRED,
	KEYRING_UNREAD, /* no key is known yet: the database has not been reached since the start */
};

/* Safe from any thread. `out` is filled when good, revoked or expired. */
enum keyring_verdict keyring_check(struct keyring *keyring, const char *text, int64_t now_us,
				   struct key *out);

/* Every place of keys has been looked at once, be it in vain: before, a good key may be refused. */
bool keyring_has_looked(struct keyring *keyring);

/* For the metrics: Prometheus text. */
void keyring_render(struct keyring *keyring, struct writer *writer);

#endif
