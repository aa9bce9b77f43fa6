/*
 * Workers: see worker.h.
 *
 * The daemon runs in external mode: with a thread of its own, 0.9.75 loses the wake-up when exactly
 * a multiple of 128 sockets becomes ready. Sockets are accepted here and handed to the worker with
 * the fewest, because a gateway's few long-lived connections must spread over all threads; the
 * library is given them with MHD_connection_open().
 */
#include "server/http/worker.h"

#include "server/clock.h"
#include "server/http/coding.h"
#include "server/http/connection.h"
#include "server/http/exchange.h"
#include "server/http/guard.h"
#include "server/http/head.h"
#include "server/http/wait.h"
#include "server/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#define ACCEPTS_A_ROUND 64
#define ACCEPT_PAUSE_US (US_PER_SECOND / 10) /* where even the reserve is gone */
#define SURPLUS_MAX 64U /* connections over the limit that are told 503 rather than cut */
#define WAIT_MS_MAX 60000
#define EVENTS_A_ROUND 64

PRINTF_LIKE(2, 0)
static void log_library(void *cls, const char *format, va_list arguments)
{
	char text[256];

	(void)cls;
	vsnprintf(text, sizeof(text), format, arguments);
	text[strcspn(text, "\n")] = '\0';
	log_event(LOG_DEBUG, "libmicrohttpd", "detail", text, NULL);
}

/* --- accepting --- */

/* `what` tells the events apart. */
static bool watch(struct worker *worker, int fd, uint32_t events, void *what)
{
	struct epoll_event event = {.events = events, .data.ptr = what};

	return epoll_ctl(worker->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void take_handed(struct worker *worker)
{
	struct handed *at, *next;

	pthread_mutex_lock(&worker->lock);
	at = worker->queue;
	worker->queue = NULL;
	pthread_mutex_unlock(&worker->lock);
	for (; at; at = next) {
		next = at->next;
		connection_open(worker, at->fd, &at->address, at->length, at->is_surplus);
		free(at);
	}
}

/* Counts a connection to whoever has the fewest. Where another thread did so meanwhile, the choice
 * is made anew: several accept at once, and all of them would choose the same. */
static struct worker *reserve_least_loaded(struct http *http)
{
	struct worker *best;
	unsigned least;

	do {
		best = &http->workers[0];
		least = atomic_load(&best->connections);
		for (unsigned i = 1; i < http->workers_count; i++) {
			unsigned own = atomic_load(&http->workers[i].connections);

			if (own < least) {
				best = &http->workers[i];
				least = own;
			}
		}
	} while (!atomic_compare_exchange_strong(&best->connections, &least, least + 1));
	return best;
}

unsigned workers_connections(const struct http *http)
{
	unsigned total = 0;

	for (unsigned i = 0; i < http->workers_count; i++)
		total += atomic_load(&http->workers[i].connections);
	return total;
}

/* `to` counts the connection already. */
static void hand_over(struct worker *to, int fd, const struct sockaddr_storage *address,
		      socklen_t length, bool is_surplus)
{
	struct handed *handed = malloc(sizeof(*handed));

	if (!handed) {
		atomic_fetch_sub(&to->connections, 1);
		close(fd);
		return;
	}
	*handed = (struct handed){
		.address = *address, .length = length, .fd = fd, .is_surplus = is_surplus};
	pthread_mutex_lock(&to->lock);
	handed->next = to->queue;
	to->queue = handed;
	pthread_mutex_unlock(&to->lock);
	worker_wake(to);
}

/* `self`: the worker whose thread this is, or NULL. */
static void place(struct http *http, struct worker *self, int fd,
		  const struct sockaddr_storage *address, socklen_t length)
{
	unsigned total = workers_connections(http);
	bool is_surplus = false;
	struct worker *to;

	if (total >= http->connections_max) {
		/* Who has waited longest without asking anything makes room. */
		if (self && self->phases[PHASE_IDLE].oldest) {
			connection_cut(self->phases[PHASE_IDLE].oldest);
		} else if (total < http->connections_max + SURPLUS_MAX) {
			is_surplus = true;
		} else {
			metrics_rejected(http->server->metrics, METRICS_REJECTED_CONNECTIONS);
			close(fd);
			return;
		}
	}
	to = reserve_least_loaded(http);
	if (to == self)
		connection_open(self, fd, address, length, is_surplus);
	else
		hand_over(to, fd, address, length, is_surplus);
}

/* Out of descriptors: the waiting client is let in by the reserve and shown out, or the listener
 * would stay readable and the threads would spin. False when somebody took the reserve's place. */
static bool refuse_by_reserve(struct http *http)
{
	int fd = -1;

	pthread_mutex_lock(&http->reserve_lock);
	if (http->reserve_fd >= 0) {
		close(http->reserve_fd);
		fd = accept4(http->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	}
	if (fd >= 0)
		close(fd);
	http->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pthread_mutex_unlock(&http->reserve_lock);
	if (fd < 0)
		return false;
	metrics_rejected(http->server->metrics, METRICS_REJECTED_CONNECTIONS);
	return true;
}

/* The listener stays readable: this thread looks away until descriptors may be free again. */
static void pause_accepting(struct worker *worker)
{
	epoll_ctl(worker->epoll, EPOLL_CTL_DEL, worker->http->listener.fd, NULL);
	worker->accepts_again_us = worker->now_us + ACCEPT_PAUSE_US;
}

int worker_accept(struct http *http, struct worker *self)
{
	int accepted = 0;
	bool is_stuck = false;

	while (accepted < ACCEPTS_A_ROUND) {
		struct sockaddr_storage address = {0};
		socklen_t length = sizeof(address);
		int fd = accept4(http->listener.fd, (struct sockaddr *)&address, &length,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			place(http, self, fd, &address, length);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			is_stuck = !refuse_by_reserve(http);
		else if (errno != EINTR && errno != ECONNABORTED)
			break;
		if (is_stuck) {
			if (self)
				pause_accepting(self);
			break;
		}
		accepted++;
	}
	return accepted;
}

/* --- the thread --- */

/* Milliseconds until something is due. */
static int next_due_ms(struct worker *worker)
{
	int64_t due_us = (int64_t)WAIT_MS_MAX * 1000, now_us = clock_monotonic_us();
	MHD_UNSIGNED_LONG_LONG library_ms;

	if (worker->has_resumed) /* the library does not count them as due */
		return 0;
	if (MHD_get_timeout(worker->daemon, &library_ms) == MHD_YES && library_ms < WAIT_MS_MAX)
		due_us = (int64_t)library_ms * 1000;
	if (worker->accepts_again_us && worker->accepts_again_us - now_us < due_us)
		due_us = worker->accepts_again_us - now_us;
	for (int phase = 0; phase < PHASES; phase++) {
		const struct connection *oldest = worker->phases[phase].oldest;

		if (oldest) {
			int64_t left_us =
				oldest->since_us + worker->http->allowance_us[phase] - now_us;

			due_us = left_us < due_us ? left_us : due_us;
		}
	}
	return due_us <= 0 ? 0 : (int)((due_us + 999) / 1000);
}

static void stop_accepting(struct worker *worker)
{
	epoll_ctl(worker->epoll, EPOLL_CTL_DEL, worker->http->listener.fd, NULL);
	worker->has_retired = true;
	worker->accepts_again_us = 0;
}

static bool watch_listener(struct worker *worker)
{
	return watch(worker, worker->http->listener.fd, EPOLLIN | EPOLLEXCLUSIVE,
		     &worker->http->listener);
}

static void accept_again(struct worker *worker)
{
	if (!worker->accepts_again_us || worker->now_us < worker->accepts_again_us)
		return;
	worker->accepts_again_us = watch_listener(worker) ? 0 : worker->now_us + ACCEPT_PAUSE_US;
}

/* May free it. */
static void handle_connection(struct connection *connection, uint32_t events)
{
	if (events & ~(uint32_t)EPOLLIN && connection->phase != PHASE_LINGER)
		connection_left(connection);
	guard_look(connection);
}

static void handle_events(struct worker *worker, const struct epoll_event *events, int count)
{
	bool may_accept = false;

	for (int i = 0; i < count; i++) {
		void *what = events[i].data.ptr;
		uint64_t drained;

		if (what == &worker->wake)
			(void)!read(worker->wake, &drained, sizeof(drained));
		else if (what == &worker->http->listener)
			may_accept = true;
		else if (what != worker->daemon)
			handle_connection(what, events[i].events);
	}
	if (may_accept && !worker->has_retired)
		worker_accept(worker->http, worker);
}

static void *run(void *cls)
{
	struct worker *worker = cls;
	struct http *http = worker->http;

	worker->now_us = clock_monotonic_us();
	while (!atomic_load(&http->is_stopping)) {
		struct epoll_event events[EVENTS_A_ROUND];
		int count = epoll_wait(worker->epoll, events, EVENTS_A_ROUND, next_due_ms(worker));

		worker->now_us = clock_monotonic_us();
		if (atomic_load(&http->is_closed) && !worker->has_retired) {
			stop_accepting(worker);
			holds_end_all(worker);
		}
		accept_again(worker);
		handle_events(worker, events, count);
		take_handed(worker);
		waits_take_told(worker);
		holds_look(worker);
		worker->has_resumed = false;
		MHD_run(worker->daemon);
		connections_cut_left(worker);
		connections_expire(worker);
		if (atomic_load(&http->closes_quiet))
			connections_close_quiet(worker);
		log_flush();
	}
	waits_end_all(worker);
	guard_end_all(worker);
	MHD_run(worker->daemon); /* sends what that brought */
	return NULL;
}

void worker_wake(struct worker *worker)
{
	uint64_t one = 1;

	(void)!write(worker->wake, &one, sizeof(one));
}

static struct MHD_Daemon *daemon_new(struct worker *worker)
{
	/* The options are variadic: every value has exactly the type that the manual names. */
	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG |
			MHD_ALLOW_SUSPEND_RESUME,
		0, NULL, NULL, exchange_step, worker, MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL,
		MHD_OPTION_URI_LOG_CALLBACK, exchange_new, worker, MHD_OPTION_NOTIFY_COMPLETED,
		exchange_free, worker, MHD_OPTION_NOTIFY_CONNECTION, connection_notify, worker,
		MHD_OPTION_CONNECTION_LIMIT, worker->http->connections_max * 2 + 1024U,
		MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HEAD_POOL_BYTES, MHD_OPTION_END);
}

bool worker_init(struct worker *worker, struct http *http, struct error *error)
{
	const union MHD_DaemonInfo *info;

	worker->http = http;
	pthread_mutex_init(&worker->lock, NULL);
	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	worker->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	worker->coder = coder_new();
	worker->daemon = daemon_new(worker);
	if (getrandom(&worker->id_base, sizeof(worker->id_base), 0) !=
	    (ssize_t)sizeof(worker->id_base))
		worker->id_base = (uint64_t)clock_wall_us();
	info = worker->daemon ? MHD_get_daemon_info(worker->daemon, MHD_DAEMON_INFO_EPOLL_FD)
			      : NULL;
	if (worker->epoll < 0 || worker->wake < 0 || !info ||
	    !watch(worker, info->epoll_fd, EPOLLIN, worker->daemon) ||
	    !watch(worker, worker->wake, EPOLLIN, &worker->wake) || !watch_listener(worker))
		return error_set(error, ERROR_INTERNAL, "cannot make an HTTP worker: %s",
				 strerror(errno));
	return true;
}

bool worker_start(struct worker *worker, struct error *error)
{
	int failure = pthread_create(&worker->thread, NULL, run, worker);

	worker->has_thread = failure == 0;
	return worker->has_thread ? true
				  : error_set(error, ERROR_INTERNAL,
					      "cannot start an HTTP worker: %s", strerror(failure));
}

void worker_release(struct worker *worker)
{
	waits_take_told(worker); /* abandoned by now */
	if (worker->daemon) {
		take_handed(worker);
		guard_end_all(worker);
		MHD_stop_daemon(worker->daemon);
	}
	coder_free(worker->coder);
	log_flush();
	if (worker->epoll >= 0)
		close(worker->epoll);
	if (worker->wake >= 0)
		close(worker->wake);
	pthread_mutex_destroy(&worker->lock);
}
