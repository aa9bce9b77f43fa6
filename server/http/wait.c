/* Waiting requests: see wait.h. */
#include "server/http/wait.h"

#include "server/clock.h"
#include "server/http/answer.h"
#include "server/http/connection.h"
#include "server/later.h"

#define WAIT_US (5 * US_PER_SECOND)

/* On a thread of the pool. */
static void tell(struct job *job)
{
	struct worker *worker = job->owner;

	pthread_mutex_lock(&worker->lock);
	job->next = worker->told;
	worker->told = job;
	pthread_mutex_unlock(&worker->lock);
	worker_wake(worker);
}

static bool ask(struct exchange *exchange, struct job *job)
{
	struct request *request = &exchange->request;
	struct server *server = request->server;
	const struct route_later *later = request->route->later;

	if (!later->ask(request, &job->arena, &job->wanted, &exchange->error))
		return false;
	if (!server->later)
		return error_set(&exchange->error, ERROR_UNAVAILABLE,
				 "this replica has no database, only a snapshot of its prices");
	job->read = later->read;
	job->tell = tell;
	job->owner = exchange->connection->worker;
	job->asker = exchange;
	job->deadline_us = clock_monotonic_us() + WAIT_US;
	if (later_submit(server->later, job))
		return true;
	metrics_rejected(server->metrics, METRICS_REJECTED_BUSY);
	return error_set(&exchange->error, ERROR_UNAVAILABLE,
			 "too many requests wait for the database");
}

bool wait_begin(struct exchange *exchange, struct MHD_Connection *handle)
{
	const struct route *route = exchange->request.route;
	struct job *job;

	if (exchange->is_refused || exchange->has_waited || !route || !route->later)
		return false;
	exchange->has_waited = true;
	job = job_new();
	if (!job || !ask(exchange, job)) {
		if (!job)
			error_set(&exchange->error, ERROR_INTERNAL, "out of memory");
		job_free(job);
		exchange->is_refused = true;
		return false;
	}
	exchange->job = job;
	connection_wait(exchange->connection, job->deadline_us);
	metrics_waiting(exchange->request.server->metrics, 1);
	MHD_suspend_connection(handle);
	return true;
}

/* The library calls exchange_step() again; the worker sees to it that it does so at once. */
static void resume(struct connection *connection)
{
	connection->worker->has_resumed = true;
	MHD_resume_connection(connection->exchange->request.connection);
	connection_enter(connection, PHASE_ANSWER);
}

static void end_job(struct connection *connection)
{
	metrics_waiting(connection->worker->http->server->metrics, -1);
	resume(connection);
}

/* --- held for news --- */

/* Who it counts for, where nobody says who calls a network; NULL when memory is out. */
static const char *holder_of(struct exchange *exchange)
{
	const struct peer network = peer_network(&exchange->client);
	char text[PEER_TEXT];

	if (*exchange->request.caller)
		return exchange->request.caller;
	peer_format(&network, text);
	return arena_strdup(&exchange->request.arena, text);
}

bool hold_begin(struct exchange *exchange, struct MHD_Connection *handle)
{
	struct request *request = &exchange->request;
	struct server *server = request->server;

	exchange->holder = holder_of(exchange);
	if (!exchange->holder) {
		exchange->is_refused = true;
		return error_set(&exchange->error, ERROR_INTERNAL, "out of memory");
	}
	if (!holds_enter(server->holds, exchange->holder, &exchange->error)) {
		metrics_rejected(server->metrics, METRICS_REJECTED_POLLS);
		exchange->is_refused = true;
		return false;
	}
	metrics_poll_begins(server->metrics);
	exchange->held_since_us = clock_monotonic_us();
	connection_wait(exchange->connection, request->hold_until_us);
	MHD_suspend_connection(handle);
	return true;
}

/* The time that it was held is no time that the answer took. */
static void end_hold(struct connection *connection, enum metrics_poll how)
{
	struct exchange *exchange = connection->exchange;
	struct request *request = &exchange->request;

	holds_leave(request->server->holds, exchange->holder);
	metrics_poll_ends(request->server->metrics, how);
	exchange->started_us += clock_monotonic_us() - exchange->held_since_us;
	request->hold = NULL;
	request->now_us = clock_wall_us();
	exchange->is_hold_over = how != METRICS_POLL_NEWS;
	resume(connection);
}

void holds_look(struct worker *worker)
{
	struct server *server = worker->http->server;
	struct connection *at = worker->phases[PHASE_WAIT].oldest, *next;
	const struct catalogue *catalogue;
	uint64_t number;

	if (worker->http->port != ROUTE_API || !server->slot)
		return;
	number = snapshot_number(server->slot);
	if (number == worker->seen_number)
		return;
	worker->seen_number = number;
	catalogue = at ? snapshot_acquire(server->slot) : NULL;
	for (; at && catalogue; at = next) {
		const struct request *request = &at->exchange->request;

		next = at->next;
		if (request->hold &&
		    request->hold->is_due(request->hold, server, answer_view(request, catalogue)))
			end_hold(at, METRICS_POLL_NEWS);
	}
	if (catalogue)
		snapshot_release(server->slot, catalogue);
}

void holds_end_all(struct worker *worker)
{
	struct connection *at = worker->phases[PHASE_WAIT].oldest, *next;

	for (; at; at = next) {
		next = at->next;
		if (at->exchange->request.hold)
			end_hold(at, METRICS_POLL_STOP);
	}
}

/* --- both --- */

void wait_end(struct connection *connection, const char *why)
{
	struct exchange *exchange = connection->exchange;

	if (exchange->request.hold) {
		end_hold(connection, METRICS_POLL_LEFT);
		return;
	}
	later_abandon(exchange->request.server->later, exchange->job);
	exchange->job = NULL;
	exchange->is_refused = true;
	error_set(&exchange->error, ERROR_UNAVAILABLE, "%s", why);
	end_job(connection);
}

void wait_expire(struct connection *connection)
{
	if (connection->exchange->request.hold)
		end_hold(connection, METRICS_POLL_TIMEOUT);
	else
		wait_end(connection, "the database did not answer in time");
}

static void take(struct job *job)
{
	struct exchange *exchange = job->asker;

	if (job->is_abandoned) {
		job_free(job);
		return;
	}
	exchange->request.wanted = job->wanted;
	if (!job->is_read) {
		exchange->is_refused = true;
		error_set(&exchange->error, job->error.code, "%s", job->error.detail);
	}
	end_job(exchange->connection);
}

void waits_take_told(struct worker *worker)
{
	struct job *at, *next;

	pthread_mutex_lock(&worker->lock);
	at = worker->told;
	worker->told = NULL;
	pthread_mutex_unlock(&worker->lock);
	for (; at; at = next) {
		next = at->next;
		take(at);
	}
}

void waits_end_all(struct worker *worker)
{
	struct connection *connection;

	waits_take_told(worker);
	holds_end_all(worker);
	while ((connection = worker->phases[PHASE_WAIT].oldest))
		wait_end(connection, "the service stops");
}
