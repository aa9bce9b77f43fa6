/* Addresses and trusted networks: see trust.h. */
#include "server/http/trust.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#define V4_BITS 96 /* of ::ffff:0:0/96 */

static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

struct peer peer_of(const struct sockaddr *address)
{
	struct peer peer = {0};

	if (address && address->sa_family == AF_INET) {
		memcpy(peer.bytes, v4_prefix, sizeof(v4_prefix));
		memcpy(peer.bytes + sizeof(v4_prefix),
		       &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
	} else if (address && address->sa_family == AF_INET6) {
		memcpy(peer.bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
		       sizeof(peer.bytes));
	} else {
		peer.is_unix = true;
	}
	return peer;
}

bool peer_parse(struct peer *peer, const char *text, size_t length)
{
	char copy[PEER_TEXT];

	*peer = (struct peer){0};
	if (length == 0 || length >= sizeof(copy))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (inet_pton(AF_INET6, copy, peer->bytes) == 1)
		return true;
	memcpy(peer->bytes, v4_prefix, sizeof(v4_prefix));
	return inet_pton(AF_INET, copy, peer->bytes + sizeof(v4_prefix)) == 1;
}

struct peer peer_network(const struct peer *peer)
{
	struct peer network = *peer;

	if (!peer->is_unix && memcmp(peer->bytes, v4_prefix, sizeof(v4_prefix)) != 0)
		memset(network.bytes + 8, 0, 8);
	return network;
}

void peer_format(const struct peer *peer, char out[PEER_TEXT])
{
	bool is_v4 = memcmp(peer->bytes, v4_prefix, sizeof(v4_prefix)) == 0;
	const uint8_t *from = is_v4 ? peer->bytes + sizeof(v4_prefix) : peer->bytes;

	if (peer->is_unix || !inet_ntop(is_v4 ? AF_INET : AF_INET6, from, out, PEER_TEXT))
		snprintf(out, PEER_TEXT, "unix");
}

/* All but the first `bits` of an address are equal to 0. */
static bool ends_in_zeros(const uint8_t bytes[16], unsigned bits)
{
	for (unsigned bit = bits; bit < 128; bit++) {
		if (bytes[bit / 8] & (0x80U >> bit % 8))
			return false;
	}
	return true;
}

static bool add_network(struct trust *trust, const char *text, size_t length)
{
	const char *slash = memchr(text, '/', length);
	size_t host = slash ? (size_t)(slash - text) : length;
	bool is_v4 = !memchr(text, ':', host);
	unsigned long bits = is_v4 ? 32 : 128;
	struct peer peer;

	if (trust->count == TRUST_NETWORKS_MAX || !peer_parse(&peer, text, host))
		return false;
	if (slash) {
		size_t digits = length - host - 1;
		unsigned long given;

		if (digits < 1 || digits > 3 || strspn(slash + 1, "0123456789") < digits)
			return false;
		given = strtoul(slash + 1, NULL, 10);
		if (given > bits)
			return false;
		bits = given;
	}
	bits += is_v4 ? V4_BITS : 0;
	if (!ends_in_zeros(peer.bytes, (unsigned)bits))
		return false;
	memcpy(trust->networks[trust->count].bytes, peer.bytes, sizeof(peer.bytes));
	trust->networks[trust->count++].bits = (unsigned)bits;
	return true;
}

bool trust_parse(struct trust *trust, const char *list, struct error *error)
{
	*trust = (struct trust){0};
	while (*(list += strspn(list, ", \t"))) {
		size_t length = strcspn(list, ", \t");

		if (length == 5 && memcmp(list, "unix:", 5) == 0)
			trust->unix_peers = true;
		else if (!add_network(trust, list, length))
			return error_set(error, ERROR_INVALID,
					 "'%.*s' is not an address, a network without host bits "
					 "(10.0.0.0/8, fd00::/8) or 'unix:'; at most %d are taken",
					 (int)(length < 64 ? length : 64), list,
					 TRUST_NETWORKS_MAX);
		list += length;
	}
	return true;
}

static bool is_within(const uint8_t network[16], unsigned bits, const uint8_t bytes[16])
{
	unsigned whole = bits / 8, rest = bits % 8;

	return memcmp(network, bytes, whole) == 0 &&
	       (rest == 0 || (network[whole] ^ bytes[whole]) >> (8 - rest) == 0);
}

bool trust_has(const struct trust *trust, const struct peer *peer)
{
	if (peer->is_unix)
		return trust->unix_peers;
	for (unsigned i = 0; i < trust->count; i++) {
		if (is_within(trust->networks[i].bytes, trust->networks[i].bits, peer->bytes))
			return true;
	}
	return false;
}
