/* Private address: the ranges: see private_address.h. */
#include "server/ingest/private_address.h"

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

static bool is_private_v4(uint32_t host)
{
	static const struct {
		uint32_t network, mask;
	} ranges[] = {
		{0x00000000, 0xff000000}, /* 0/8: this network */
		{0x0a000000, 0xff000000}, /* 10/8 */
		{0x64400000, 0xffc00000}, /* 100.64/10: carrier NAT */
		{0x7f000000, 0xff000000}, /* 127/8 */
		{0xa9fe0000, 0xffff0000}, /* 169.254/16: link-local, cloud metadata */
		{0xac100000, 0xfff00000}, /* 172.16/12 */
		{0xc0000000, 0xffffff00}, /* 192.0.0/24: protocol assignments */
		{0xc0a80000, 0xffff0000}, /* 192.168/16 */
		{0xc6120000, 0xfffe0000}, /* 198.18/15: benchmarking */
		{0xe0000000, 0xe0000000}, /* multicast, reserved, broadcast */
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if ((host & ranges[i].mask) == ranges[i].network)
			return true;
	return false;
}

static uint32_t big_endian(const uint8_t bytes[4])
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static bool is_private_v6(const uint8_t address[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};

	if (!memcmp(address, mapped, sizeof(mapped)) || !memcmp(address, nat64, sizeof(nat64)))
		return is_private_v4(big_endian(address + 12));
	if (address[0] == 0x20 && address[1] == 0x02) /* 6to4 carries an IPv4 address */
		return is_private_v4(big_endian(address + 2));
	/* Only global unicast (2000::/3) can be a provider: not ULA, link-local, multicast, ... */
	return (address[0] & 0xe0) != 0x20;
}

bool is_private_address(const struct sockaddr *address, size_t length)
{
	if (address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
		struct sockaddr_in v4;

		memcpy(&v4, address, sizeof(v4));
		return is_private_v4(ntohl(v4.sin_addr.s_addr));
	}
	if (address->sa_family == AF_INET6 && length >= sizeof(struct sockaddr_in6)) {
		struct sockaddr_in6 v6;

		memcpy(&v6, address, sizeof(v6));
		return is_private_v6(v6.sin6_addr.s6_addr);
	}
	return true;
}
