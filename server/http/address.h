/*
 * Address: where a port listens, as text ("127.0.0.1:8080", "[::1]:8080",
 * "unix:/run/gpupick.sock"), and the listening socket made from it or inherited from systemd.
 */
#ifndef SERVER_HTTP_ADDRESS_H
#define SERVER_HTTP_ADDRESS_H

#include "core/error.h"

#include <stdbool.h>

#define ADDRESS_TEXT 128

bool address_is_valid(const char *text);

/* A blocking client socket to who listens there, or -1. */
int address_connect(const char *text);

struct listener {
	int fd;
	bool is_inherited; /* from a service manager: never shut down, the next process takes it
			      over */
	bool is_shared;	   /* a TCP port that another process may listen on too (SO_REUSEPORT) */
	char text[ADDRESS_TEXT]; /* really bound, in the form of the configuration */
	char unix_path[108];	 /* to remove at the end, or "" */
};

/*
 * Binds and listens. A socket that systemd passed under FileDescriptorName=`name` (or, without
 * names, as number `index`) is taken instead.
 */
bool listener_open(struct listener *listener, const char *address, const char *name, int index,
		   bool reuse_port, struct error *error);

/*
 * Of a shared port: begins no more connections, so that none lies in this socket's queue when it is
 * closed, which the kernel would reset. Handshakes under way are finished; whoever begins one is
 * not answered and tries again (a second later, on Linux), by then with who shares the port.
 * False where that does not apply or cannot be had.
 */
bool listener_turn_away(struct listener *listener);

/* Refuses newcomers at once, unless the socket is inherited: what still waits in the kernel's queue
 * would hang otherwise. The descriptor stays, since other threads may be about to use it. */
void listener_refuse(struct listener *listener);
void listener_close(struct listener *listener);

#endif
