/*
 * Forwarded: what the proxies in front say of a request, in Forwarded (RFC 7239) or X-Forwarded-*.
 * Pure: fed line by line, knows no library.
 *
 * Every proxy adds what it saw on the right. So the list is read from the right, over all lines of
 * the field, and only as far as trusted proxies vouch for it: the first address that is not theirs
 * is the client. What stands left of it anybody can have written, and it is not even parsed.
 */
#ifndef SERVER_HTTP_FORWARDED_H
#define SERVER_HTTP_FORWARDED_H

#include "server/http/trust.h"

#define FORWARDED_LINES_MAX 16
#define FORWARDED_HOST_TEXT 264
#define FORWARDED_PREFIX_TEXT 129

enum forwarded_field {
	FORWARDED_RFC,
	FORWARDED_FOR,
	FORWARDED_PROTO,
	FORWARDED_HOST,
	FORWARDED_PORT,
	FORWARDED_PREFIX,
	FORWARDED_FIELDS
};

struct forwarded_lines {
	struct {
		enum forwarded_field field;
		const char *text; /* the library's, as long as the request */
		size_t length;
	} line[FORWARDED_LINES_MAX];
	unsigned count;
	bool is_full; /* more were sent */
};

/* Notes the field if it is one of these. */
void forwarded_take(struct forwarded_lines *lines, const char *name, size_t name_length,
		    const char *value, size_t value_length);

/* Which fields are read. AUTO: those that are there; when both name a client they must agree. */
enum forwarded_style { FORWARDED_AUTO, FORWARDED_X, FORWARDED_RFC7239 };

enum forwarded_fault {
	FORWARDED_UNTRUSTED, /* sent by a peer that is not trusted */
	FORWARDED_MALFORMED,
	FORWARDED_CONFLICT,
	FORWARDED_FAULTS
};

struct forwarded {
	struct peer client;
	char scheme[6]; /* "http", "https", or "" when not told */
	char host[FORWARDED_HOST_TEXT];
	char prefix[FORWARDED_PREFIX_TEXT];
	bool faults[FORWARDED_FAULTS];
};

/* `is_trusted`: the peer is. Always fills `out`: what is at fault counts as not sent. */
void forwarded_read(const struct forwarded_lines *lines, const struct trust *trust,
		    enum forwarded_style style, const struct peer *peer, bool is_trusted,
		    struct forwarded *out);

/* "/gpupick", "/tools/gpu": a path that can stand before every route. */
bool forwarded_is_prefix(const char *text, size_t length);

#endif
