/* Addresses and listening sockets: see address.h. */
#include "server/http/address.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <arpa/inet.h>

#define BACKLOG 4096
#define FIRST_INHERITED 3 /* SD_LISTEN_FDS_START */

struct parts {
	char host[ADDRESS_TEXT];
	char port[6];
	const char *path; /* of a Unix socket, or NULL */
};

static bool split(const char *text, struct parts *out)
{
	const char *colon = strrchr(text, ':');
	size_t host_length;
	char *end;
	long port;

	*out = (struct parts){0};
	if (strncmp(text, "unix:", 5) == 0) {
		out->path = text + 5;
		return *out->path &&
		       strlen(out->path) < sizeof(((struct sockaddr_un *)0)->sun_path);
	}
	if (!colon || strlen(text) >= sizeof(out->host) || colon[1] < '0' || colon[1] > '9')
		return false;
	port = strtol(colon + 1, &end, 10);
	if (*end || port < 0 || port > 65535)
		return false;
	snprintf(out->port, sizeof(out->port), "%ld", port);
	host_length = (size_t)(colon - text);
	if (*text == '[') {
		if (host_length < 3 || colon[-1] != ']')
			return false;
		text++;
		host_length -= 2;
	} else if (host_length == 0 || memchr(text, ':', host_length)) {
		return false; /* a bare IPv6 address is ambiguous */
	}
	memcpy(out->host, text, host_length);
	return true;
}

bool address_is_valid(const char *text)
{
	struct parts parts;

	return split(text, &parts);
}

int address_connect(const char *text)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV},
			*found = NULL;
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	struct parts parts;
	bool is_open = false;
	int fd;

	if (!split(text, &parts))
		return -1;
	if (parts.path) {
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		strncpy(local.sun_path, parts.path, sizeof(local.sun_path) - 1);
		is_open = connect(fd, (const struct sockaddr *)&local, sizeof(local)) == 0;
	} else {
		if (getaddrinfo(parts.host, parts.port, &hints, &found))
			return -1;
		fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		is_open = connect(fd, found->ai_addr, found->ai_addrlen) == 0;
		freeaddrinfo(found);
	}
	if (!is_open && fd >= 0)
		close(fd);
	return is_open ? fd : -1;
}

static void describe(struct listener *listener)
{
	struct sockaddr_storage bound = {0};
	socklen_t length = sizeof(bound);
	char host[INET6_ADDRSTRLEN] = "";

	if (getsockname(listener->fd, (struct sockaddr *)&bound, &length) < 0)
		return;
	if (bound.ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)&bound;

		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(listener->text, ADDRESS_TEXT, "%s:%u", host, ntohs(v4->sin_port));
	} else if (bound.ss_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&bound;

		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		snprintf(listener->text, ADDRESS_TEXT, "[%s]:%u", host, ntohs(v6->sin6_port));
	} else if (bound.ss_family == AF_UNIX) {
		const struct sockaddr_un *local = (const struct sockaddr_un *)&bound;

		snprintf(listener->text, ADDRESS_TEXT, "unix:%.107s", local->sun_path);
	}
}

/* A socket file that nobody answers on is left over from a process that was killed. */
static void remove_stale(const struct sockaddr_un *address)
{
	struct stat status;
	int probe;

	if (stat(address->sun_path, &status) < 0 || !S_ISSOCK(status.st_mode))
		return;
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (probe < 0)
		return;
	if (connect(probe, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
	    errno == ECONNREFUSED)
		unlink(address->sun_path);
	close(probe);
}

static bool open_unix(struct listener *listener, const char *path, struct error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	remove_stale(&address);
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0 ||
	    bind(listener->fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener->fd, BACKLOG) < 0)
		return error_set(error, ERROR_UNAVAILABLE, "cannot listen on unix:%s: %s", path,
				 strerror(errno));
	memcpy(listener->unix_path, address.sun_path, sizeof(listener->unix_path));
	return true;
}

static bool try_bind(struct listener *listener, const struct addrinfo *at, bool reuse_port)
{
	int yes = 1;

	listener->fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return false;
	setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (reuse_port)
		setsockopt(listener->fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
	listener->is_shared = reuse_port;
	return bind(listener->fd, at->ai_addr, at->ai_addrlen) == 0 &&
	       listen(listener->fd, BACKLOG) == 0;
}

static bool open_inet(struct listener *listener, const struct parts *parts, bool reuse_port,
		      struct error *error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *found;
	int failure = getaddrinfo(parts->host, parts->port, &hints, &found), cause = 0;
	bool is_bound = false;

	if (failure)
		return error_set(error, ERROR_UNAVAILABLE, "cannot listen on %s:%s: %s",
				 parts->host, parts->port, gai_strerror(failure));
	for (const struct addrinfo *at = found; at && !is_bound; at = at->ai_next) {
		is_bound = try_bind(listener, at, reuse_port);
		cause = errno;
		if (!is_bound && listener->fd >= 0)
			close(listener->fd);
	}
	freeaddrinfo(found);
	if (is_bound)
		return true;
	listener->fd = -1;
	return error_set(error, ERROR_UNAVAILABLE, "cannot listen on %s:%s: %s", parts->host,
			 parts->port, strerror(cause));
}

/* The descriptor that the service manager passed for this listener, or -1. */
static int inherited(const char *name, int index)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	const char *names = getenv("LISTEN_FDNAMES");
	long fds = count ? strtol(count, NULL, 10) : 0;

	if (!pid || strtol(pid, NULL, 10) != getpid() || fds < 1 || fds > 64)
		return -1;
	if (!names)
		return index < fds ? FIRST_INHERITED + index : -1;
	for (int at = 0; at < fds; at++) {
		size_t length = strcspn(names, ":");

		if (length == strlen(name) && memcmp(names, name, length) == 0)
			return FIRST_INHERITED + at;
		names += length + (names[length] == ':');
	}
	return -1;
}

bool listener_open(struct listener *listener, const char *address, const char *name, int index,
		   bool reuse_port, struct error *error)
{
	struct parts parts;

	*listener = (struct listener){.fd = inherited(name, index)};
	if (listener->fd >= 0) {
		listener->is_inherited = true;
		fcntl(listener->fd, F_SETFD, FD_CLOEXEC);
		fcntl(listener->fd, F_SETFL, fcntl(listener->fd, F_GETFL) | O_NONBLOCK);
	} else if (!split(address, &parts)) {
		return error_set(error, ERROR_INVALID, "'%s' is not an address", address);
	} else if (!(parts.path ? open_unix(listener, parts.path, error)
				: open_inet(listener, &parts, reuse_port, error))) {
		if (listener->fd >= 0)
			close(listener->fd);
		listener->fd = -1;
		return false;
	}
	describe(listener);
	return true;
}

bool listener_turn_away(struct listener *listener)
{
	/* Drops the segments with SYN and without ACK; the flags are the header's byte 13. What is
	 * accepted from now on inherits this, and never sees one. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};

	return listener->is_shared && setsockopt(listener->fd, SOL_SOCKET, SO_ATTACH_FILTER,
						 &program, sizeof(program)) == 0;
}

void listener_refuse(struct listener *listener)
{
	if (listener->is_inherited)
		return;
	if (*listener->unix_path)
		unlink(listener->unix_path);
	*listener->unix_path = '\0';
	shutdown(listener->fd, SHUT_RDWR);
}

void listener_close(struct listener *listener)
{
	if (listener->fd < 0)
		return;
	listener_refuse(listener);
	close(listener->fd);
	listener->fd = -1;
}
