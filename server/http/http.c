/* The ports: see http.h. Starting, and stopping without losing a request. */
#include "server/http/http.h"

#include "server/clock.h"
#include "server/http/worker.h"
#include "server/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_US 5000
/* How long a handshake that has begun may take to end: several round trips inside a region. */
#define HANDSHAKE_US 20000
/* How long who was refused by the guard may take to close. */
#define REFUSED_US (2 * US_PER_SECOND)
/* How long connections that are kept alive may still bring a request, and learn that they close. */
#define LINGER_US (US_PER_SECOND / 2)

static int64_t microseconds(double seconds)
{
	return (int64_t)(seconds * (double)US_PER_SECOND);
}

static enum forwarded_style forwarded_style(const char *text)
{
	if (strcmp(text, "rfc7239") == 0)
		return FORWARDED_RFC7239;
	return strcmp(text, "x") == 0 ? FORWARDED_X : FORWARDED_AUTO;
}

static bool configure(struct http *http, const struct config *config, struct error *error)
{
	http->connections_max = (unsigned)config->connections;
	http->allowance_us[PHASE_HEAD] = microseconds(config->head_timeout_seconds);
	http->allowance_us[PHASE_BODY] = microseconds(config->body_timeout_seconds);
	http->allowance_us[PHASE_ANSWER] = microseconds(config->send_timeout_seconds);
	http->allowance_us[PHASE_IDLE] = microseconds(config->idle_timeout_seconds);
	http->allowance_us[PHASE_LINGER] = REFUSED_US;
	/* Probes and scrapes every few seconds are no news. */
	http->logs_errors = http->port == ROUTE_API && strcmp(config->access_log, "off") != 0;
	http->logs_success = http->port == ROUTE_API && strcmp(config->access_log, "all") == 0;
	http->forwarded_style = forwarded_style(config->forwarded);
	return trust_parse(&http->trust, config->trusted_proxies, error);
}

static void release(struct http *http)
{
	for (unsigned i = 0; i < http->workers_count; i++)
		worker_release(&http->workers[i]);
	listener_close(&http->listener);
	if (http->reserve_fd >= 0)
		close(http->reserve_fd);
	pthread_mutex_destroy(&http->reserve_lock);
	free(http->workers);
	free(http);
}

static void stop_threads(struct http *http)
{
	atomic_store(&http->is_stopping, true);
	for (unsigned i = 0; i < http->workers_count; i++) {
		if (http->workers[i].has_thread) {
			worker_wake(&http->workers[i]);
			pthread_join(http->workers[i].thread, NULL);
		}
	}
}

static bool start_workers(struct http *http, unsigned threads, struct error *error)
{
	http->workers = calloc(threads, sizeof(*http->workers));
	if (!http->workers)
		return error_set(error, ERROR_INTERNAL, "out of memory");
	for (; http->workers_count < threads; http->workers_count++) {
		struct worker *worker = &http->workers[http->workers_count];

		if (!worker_init(worker, http, error)) {
			http->workers_count++; /* release() closes what it has */
			return false;
		}
	}
	/* All are there before any runs: each may hand a connection to any other. */
	for (unsigned i = 0; i < threads; i++) {
		if (!worker_start(&http->workers[i], error))
			return false;
	}
	return true;
}

static void wake_all(struct http *http)
{
	for (unsigned i = 0; i < http->workers_count; i++)
		worker_wake(&http->workers[i]);
}

/* A new catalogue: workers look who has waited for it. */
static void tell_published(void *listener)
{
	wake_all(listener);
}

struct http *http_start(struct server *server, enum route_port port, const char *address,
			unsigned threads, struct error *error)
{
	struct http *http = calloc(1, sizeof(*http));
	const struct config *config = server->config;

	if (!http) {
		error_set(error, ERROR_INTERNAL, "out of memory");
		return NULL;
	}
	http->server = server;
	http->port = port;
	http->listener.fd = -1;
	pthread_mutex_init(&http->reserve_lock, NULL);
	http->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (!configure(http, config, error) ||
	    !listener_open(&http->listener, address, port == ROUTE_API ? "api" : "ops",
			   port == ROUTE_API ? 0 : 1, config->reuse_port, error)) {
		release(http);
		return NULL;
	}
	if (port == ROUTE_API)
		auth_listens_at(server->auth, http->listener.text);
	if (!start_workers(http, threads ? threads : 1, error)) {
		stop_threads(http);
		release(http);
		return NULL;
	}
	if (port == ROUTE_API && server->slot)
		snapshot_listen(server->slot, tell_published, http);
	return http;
}

const char *http_address(const struct http *http)
{
	return http->listener.text;
}

void http_stop(struct http *http, double grace_seconds)
{
	int64_t began_us = clock_monotonic_us(), waited_us = 0, grace_us;
	char left[16];

	grace_us = microseconds(grace_seconds);
	atomic_store(&http->server->is_draining, true); /* answers say Connection: close */
	if (listener_turn_away(&http->listener))
		usleep(HANDSHAKE_US);
	/* Who has connected already is still served; an inherited listener's queue is for the next
	 * process. */
	while (!http->listener.is_inherited && worker_accept(http, NULL) > 0)
		continue;
	listener_refuse(&http->listener);
	/* Only now, since it ends what is held: those clients come back at once. */
	atomic_store(&http->is_closed, true);
	wake_all(http);
	while (workers_connections(http) > 0 && waited_us < grace_us) {
		if (waited_us >= LINGER_US && !atomic_exchange(&http->closes_quiet, true))
			wake_all(http);
		usleep(POLL_US);
		waited_us = clock_monotonic_us() - began_us;
	}
	snprintf(left, sizeof(left), "%u", workers_connections(http));
	log_event(LOG_INFO, "port closed", "address", http->listener.text, "connections_left", left,
		  NULL);
	if (http->port == ROUTE_API && http->server->slot)
		snapshot_listen(http->server->slot, NULL, NULL);
	stop_threads(http);
	release(http);
}
