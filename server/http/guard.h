/*
 * Guard: looks at what a client sends before the library reads it (head.h, chunks.h), and answers
 * by itself what the library would answer in HTML or hang up on. Inside server/http only, and only
 * on the worker's thread.
 *
 * The first head of a connection is looked at before the library is given the socket; until it is
 * whole the connection is the guard's, with the same deadline and count as any other. Later the
 * guard looks when bytes come: at heads while no request is under way (one that is not whole is
 * held back by suspending the connection), and at chunked bodies. Of requests that came in one
 * piece it looks at all that it can see, and refuses in its turn the first that is unreadable.
 *
 * What slips through, and is answered by the library in its own words: what the library reads
 * before the guard has seen it, because it came in the microseconds between the two, behind a
 * request that was not answered yet, or together with the end of a body; and on Unix sockets all
 * but the first look, since nobody can tell there how much of the stream the library has read.
 * Never is a request refused on a guess.
 */
#ifndef SERVER_HTTP_GUARD_H
#define SERVER_HTTP_GUARD_H

#include "server/http/chunks.h"
#include "server/http/head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;
struct worker;

/* Of each connection. Positions count the bytes of the stream from its start. */
struct guarded {
	bool is_held;		 /* suspended by the guard */
	bool is_uncounted;	 /* `consumed_bytes` is not known */
	bool is_followed;	 /* the chunked body under way */
	uint64_t consumed_bytes; /* where the last request known to the library ends */
	uint64_t followed_bytes; /* how far `chunks` has come */
	struct chunks chunks;
	unsigned ahead;	     /* readable requests before the unreadable one; 0: none is known */
	struct head refused; /* that one */
	size_t drained_bytes;
};

/* The library does not have it yet, or does not read from it for now. */
bool guard_has(const struct connection *connection);

/* Bytes have come, or the peer's farewell. May free the connection. */
void guard_look(struct connection *connection);

/* Lets the library read from it. */
void guard_pass(struct connection *connection);

/* The rest of a head will not come, or has not in time: the client is told so if it has sent any of
 * it. May free it. */
void guard_give_up(struct connection *connection, enum error_code code, const char *problem);

/* The library has read a head of so many bytes. */
void guard_count(struct connection *connection, size_t head_bytes, uint64_t body_bytes,
		 bool is_chunked);

/* A request is answered, and the connection goes on unless `is_last`. */
void guard_finish(struct connection *connection, bool was_chunked, bool is_last);

/* Ends all that it has, before the library stops. */
void guard_end_all(struct worker *worker);

#endif
