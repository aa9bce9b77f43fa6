/*
 * Trust: numeric addresses, and the networks whose proxies are believed ("10.0.0.0/8, ::1, unix:").
 * Pure.
 */
#ifndef SERVER_HTTP_TRUST_H
#define SERVER_HTTP_TRUST_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define TRUST_NETWORKS_MAX 64
#define PEER_TEXT 48

/* Who is at the other end. IPv4 is kept as ::ffff:a.b.c.d, so that it is the same on both kinds of
 * socket. */
struct peer {
	uint8_t bytes[16];
	bool is_unix;
};

struct peer peer_of(const struct sockaddr *address);

/* "192.0.2.7" or "2001:db8::7", without port, brackets or zone. */
bool peer_parse(struct peer *peer, const char *text, size_t length);

/* Who counts as one caller: of IPv6 the /64, whose host part is its customer's to choose. */
struct peer peer_network(const struct peer *peer);

/* "192.0.2.7", "2001:db8::7" or "unix". */
void peer_format(const struct peer *peer, char out[PEER_TEXT]);

struct trust {
	struct {
		uint8_t bytes[16];
		unsigned bits;
	} networks[TRUST_NETWORKS_MAX];
	unsigned count;
	bool unix_peers;
};

/* False and an error: an item that is no address, no network, or has bits set behind its prefix. */
bool trust_parse(struct trust *trust, const char *list, struct error *error);
bool trust_has(const struct trust *trust, const struct peer *peer);

#endif
