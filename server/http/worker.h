/*
 * Worker: one thread with its own libmicrohttpd daemon, its connections and their deadlines. Inside
 * server/http only.
 *
 * Everything of a worker but the queue of handed-over sockets belongs to its thread alone: the
 * library calls back from MHD_run(), which that thread calls. A connection is in the list of its
 * phase; lists are in order of time, since within a phase every connection has the same allowance,
 * so the next deadline is always at a list's head.
 */
#ifndef SERVER_HTTP_WORKER_H
#define SERVER_HTTP_WORKER_H

#include "server/http/address.h"
#include "server/http/forwarded.h"
#include "server/http/guard.h"
#include "server/http/http.h"
#include "server/http/trust.h"

#include <pthread.h>
#include <stdint.h>

struct MHD_Connection;
struct MHD_Daemon;
struct exchange;
struct job;

enum phase {
	PHASE_HEAD,   /* from the accept, or from the next request's first bytes */
	PHASE_BODY,   /* from the end of the head */
	PHASE_WAIT,   /* suspended; in order of each one's own deadline (wait.h) */
	PHASE_ANSWER, /* from the queued answer: the client must take it */
	PHASE_IDLE,   /* kept alive */
	PHASE_LINGER, /* refused by the guard, which reads on until the client closes */
	PHASES
};

struct connection {
	struct connection *previous, *next;
	struct worker *worker;
	struct MHD_Connection *handle; /* NULL until its first head is known to be readable */
	struct exchange *exchange;     /* the request under way, or NULL */
	int fd;
	enum phase phase;
	struct connection *previous_left,
		*next_left; /* while has_left: others whose peer has, too */
	bool has_left;	    /* the peer sends no more; it may still read */
	int64_t since_us;   /* PHASE_WAIT: until when */
	bool is_surplus;    /* over the limit: its first request is answered 503 */
	bool was_cut;
	struct guarded guarded;
	struct sockaddr_storage address;
	socklen_t address_length;
	struct peer peer;
	bool is_trusted;	/* the peer is a proxy whose word counts */
	char client[PEER_TEXT]; /* the peer, as text */
};

struct handed { /* an accepted socket on its way to its worker */
	struct handed *next;
	struct sockaddr_storage address;
	socklen_t length;
	int fd;
	bool is_surplus;
};

struct worker {
	struct http *http;
	struct MHD_Daemon *daemon;
	struct coder *coder; /* NULL: nothing is compressed */
	pthread_t thread;
	bool has_thread;
	int epoll; /* the daemon's descriptor, the listener, and `wake` */
	int wake;
	int64_t now_us; /* monotonic, at the start of this round */
	struct {
		struct connection *oldest, *newest;
	} phases[PHASES];
	struct connection *left;	/* see watch_peer() */
	uint64_t id_base, id_count;	/* request ids */
	struct connection *entering;	/* the socket being given to the library */
	char looked_at[HEAD_BYTES_MAX]; /* by the guard; on the stack it would be zeroed each time
					 */
	bool has_retired;		/* accepts no more */
	int64_t accepts_again_us;	/* looks away from the listener until then; 0: looks */
	bool has_resumed;		/* a suspended connection, since the library ran last */
	uint64_t seen_number;		/* of the catalogue that held requests were last shown */

	pthread_mutex_t lock; /* guards the next two */
	struct handed *queue;
	struct job *told; /* by the pool, for this worker's connections */

	_Atomic unsigned connections; /* handed over or open; for the balance between workers */
};

struct http {
	struct server *server;
	enum route_port port;
	struct listener listener;
	struct worker *workers;
	unsigned workers_count;
	unsigned connections_max;
	int64_t allowance_us[PHASES];
	struct trust trust;
	enum forwarded_style forwarded_style;
	int reserve_fd; /* given up to refuse a newcomer when descriptors run out */
	pthread_mutex_t reserve_lock;
	_Atomic bool is_closed;	   /* accepts no more */
	_Atomic bool is_stopping;  /* threads end */
	_Atomic bool closes_quiet; /* connections without a request are closed */
	bool logs_success, logs_errors;
};

/* Opens the daemon and the descriptors; the thread is started by worker_start(). */
bool worker_init(struct worker *worker, struct http *http, struct error *error);
bool worker_start(struct worker *worker, struct error *error);
void worker_wake(struct worker *worker);
void worker_release(struct worker *worker); /* after its thread has ended */

/* Of all workers. */
unsigned workers_connections(const struct http *http);

/* Accepts what waits, a bounded number at once; how many that were. `self`: the worker whose thread
 * this is, or NULL. */
int worker_accept(struct http *http, struct worker *self);

/* Moves a connection to the end of the list of `phase`, its time starting now. */
void connection_enter(struct connection *connection, enum phase phase);

/* Puts it among those that wait, until `deadline_us` (monotonic). */
void connection_wait(struct connection *connection, int64_t deadline_us);

#endif
