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
	metrics_waiting(connection->worker->http->server->metrics, -1);
	MHD_resume_connection(connection->exchange->request.connection);
	connection_enter(connection, PHASE_ANSWER);
}

void wait_end(struct connection *connection, const char *why)
{
	struct exchange *exchange = connection->exchange;

	later_abandon(exchange->request.server->later, exchange->job);
	exchange->job = NULL;
	exchange->is_refused = true;
	error_set(&exchange->error, ERROR_UNAVAILABLE, "%s", why);
	resume(connection);
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
	resume(exchange->connection);
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
	while ((connection = worker->phases[PHASE_WAIT].oldest))
		wait_end(connection, "the service stops");
}
