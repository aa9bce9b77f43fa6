/*
 * Private address: one that no provider can have. Loopback, private, link-local (and with it a
 * cloud's metadata service), carrier NAT, unique local, multicast, and IPv6 forms that carry such
 * an IPv4 address.
 */
#ifndef SERVER_INGEST_PRIVATE_ADDRESS_H
#define SERVER_INGEST_PRIVATE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* True also for families other than IPv4 and IPv6. */
bool is_private_address(const struct sockaddr *address, size_t length);

#endif
