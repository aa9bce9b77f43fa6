/* One libpq connection with deadlines, reopened after a loss: see connection.h. */
#include "server/store/connection.h"

#include "server/clock.h"
#include "server/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_SLICE_MS 200 /* how soon an interrupt is noticed */

static bool is_port_list(const char *text)
{
	while (*text) {
		char *end;
		long port = strtol(text, &end, 10);

		if ((end != text || *end != ',') && (port < 1 || port > 65535))
			return false;
		if (*end && *end != ',')
			return false;
		text = *end ? end + 1 : end;
	}
	return true;
}

bool store_check_url(const char *database_url, struct error *error)
{
	PQconninfoOption *options = PQconninfoParse(database_url, NULL);
	bool is_good = options;

	for (const PQconninfoOption *o = options; is_good && o->keyword; o++)
		is_good = strcmp(o->keyword, "port") != 0 || !o->val || is_port_list(o->val);
	PQconninfoFree(options);
	return is_good ||
	       error_set(error, ERROR_INVALID,
			 "neither postgresql://USER@HOST:PORT/DATABASE nor KEY=VALUE ...");
}

struct store *store_new(const char *database_url, const char *name)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->url = strdup(database_url);
	store->name = strdup(name);
	if (!store->url || !store->name) {
		store_free(store);
		return NULL;
	}
	return store;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	connection_close(store);
	free(store->url);
	free(store->name);
	free(store);
}

void store_interrupt(struct store *store)
{
	atomic_store(&store->interrupted, true);
}

void connection_close(struct store *store)
{
	if (store->connection)
		PQfinish(store->connection);
	store->connection = NULL;
	store->is_leader = false; /* its advisory lock went with the session */
}

static void log_notice(void *unused, const PGresult *result)
{
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	(void)unused;
	log_event(LOG_DEBUG, "database notice", "notice", text ? text : "", NULL);
}

/* libpq's messages end in a newline and may span several lines. */
static bool fail(struct error *error, const char *what, const char *message)
{
	char line[200];
	size_t length = 0;

	for (const char *c = message; *c && length + 1 < sizeof(line); c++) {
		bool is_space = *c == '\n' || *c == '\t' || *c == ' ';

		if (is_space && (length == 0 || line[length - 1] == ' '))
			continue;
		line[length++] = is_space ? ' ' : *c;
	}
	while (length && line[length - 1] == ' ')
		length--;
	line[length] = '\0';
	return error_set(error, ERROR_STORE, "%s: %s", what, line);
}

/* What the URL says wins over our defaults, since it comes after them; except that a writer must
 * reach the primary. */
static bool connect_now(struct store *store, struct error *error)
{
	const char *names[] = {"connect_timeout",      "tcp_user_timeout",
			       "keepalives_idle",      "keepalives_interval",
			       "keepalives_count",     "application_name",
			       "client_encoding",      "dbname",
			       "target_session_attrs", NULL};
	const char *values[] = {"5",	     "10000", "10",	  "5",		"3",
				store->name, "UTF8",  store->url, "read-write", NULL};

	if (!store->is_writer)
		names[8] = values[8] = NULL;
	store->connection = PQconnectdbParams(names, values, 1);
	if (!store->connection)
		return error_set(error, ERROR_STORE, "connect: out of memory");
	if (PQstatus(store->connection) != CONNECTION_OK) {
		fail(error, "connect", PQerrorMessage(store->connection));
		connection_close(store);
		return false;
	}
	PQsetNoticeReceiver(store->connection, log_notice, NULL);
	if (PQsetnonblocking(store->connection, 1) != 0) {
		connection_close(store);
		return error_set(error, ERROR_STORE, "connect: out of memory");
	}
	return true;
}

/* Sends what is pending and waits until a result can be taken without blocking. */
static bool wait_ready(struct store *store, int64_t deadline_us, struct error *error)
{
	PGconn *connection = store->connection;

	for (;;) {
		int unsent = PQflush(connection);
		int64_t left_ms = (deadline_us - clock_monotonic_us()) / 1000;
		struct pollfd socket = {.fd = PQsocket(connection), .events = POLLIN};

		if (unsent < 0)
			return fail(error, "send", PQerrorMessage(connection));
		if (unsent == 0 && !PQisBusy(connection))
			return true;
		if (atomic_load(&store->interrupted))
			return error_set(error, ERROR_STORE, "interrupted");
		if (left_ms <= 0)
			return error_set(error, ERROR_STORE, "the database did not answer in time");
		if (unsent)
			socket.events = POLLIN | POLLOUT;
		if (poll(&socket, 1, left_ms < WAIT_SLICE_MS ? (int)left_ms : WAIT_SLICE_MS) < 0 &&
		    errno != EINTR)
			return error_set(error, ERROR_STORE, "poll: %s", strerror(errno));
		if (socket.revents && !PQconsumeInput(connection))
			return fail(error, "receive", PQerrorMessage(connection));
	}
}

/* All results of what was sent: the last one, or the first that failed. */
static PGresult *collect(struct store *store, int timeout_ms, struct error *error)
{
	int64_t deadline_us = clock_monotonic_us() + (int64_t)timeout_ms * 1000;
	PGresult *kept = NULL;
	bool failed = false;

	for (;;) {
		PGresult *next;

		if (!wait_ready(store, deadline_us, error)) {
			PQclear(kept);
			connection_close(store); /* its state is not known any more */
			return NULL;
		}
		next = PQgetResult(store->connection);
		if (!next)
			break;
		if (failed) {
			PQclear(next);
			continue;
		}
		PQclear(kept);
		kept = next;
		failed = PQresultStatus(next) != PGRES_TUPLES_OK &&
			 PQresultStatus(next) != PGRES_COMMAND_OK;
	}
	if (kept && !failed)
		return kept;
	fail(error, "query", kept ? PQresultErrorMessage(kept) : PQerrorMessage(store->connection));
	/* PQstatus alone still says OK for a while after a loss. */
	if (!kept || !PQresultErrorField(kept, PG_DIAG_SQLSTATE) ||
	    PQstatus(store->connection) != CONNECTION_OK)
		connection_close(store);
	PQclear(kept);
	return NULL;
}

static bool open_if_closed(struct store *store, struct error *error)
{
	if (atomic_load(&store->interrupted))
		return error_set(error, ERROR_STORE, "interrupted");
	return store->connection || connect_now(store, error);
}

PGresult *connection_query(struct store *store, const char *sql,
			   const struct parameters *parameters, int timeout_ms, struct error *error)
{
	int sent;

	if (parameters && parameters->failed) {
		error_set(error, ERROR_STORE, "a query's parameters do not fit in memory");
		return NULL;
	}
	if (!open_if_closed(store, error))
		return NULL;
	if (parameters)
		sent = PQsendQueryParams(store->connection, sql, parameters->count,
					 parameters->types, parameters->values, parameters->lengths,
					 parameters->formats, 1);
	else
		sent = PQsendQueryParams(store->connection, sql, 0, NULL, NULL, NULL, NULL, 1);
	if (!sent) {
		fail(error, "send", PQerrorMessage(store->connection));
		connection_close(store);
		return NULL;
	}
	return collect(store, timeout_ms, error);
}

bool connection_run(struct store *store, const char *sql, const struct parameters *parameters,
		    int timeout_ms, int64_t *rows, struct error *error)
{
	PGresult *result = connection_query(store, sql, parameters, timeout_ms, error);

	if (!result)
		return false;
	if (rows)
		*rows = strtoll(PQcmdTuples(result), NULL, 10);
	PQclear(result);
	return true;
}

bool connection_script(struct store *store, const char *sql, int timeout_ms, struct error *error)
{
	PGresult *result;

	if (!open_if_closed(store, error))
		return false;
	if (!PQsendQuery(store->connection, sql)) {
		fail(error, "send", PQerrorMessage(store->connection));
		connection_close(store);
		return false;
	}
	result = collect(store, timeout_ms, error);
	if (!result)
		return false;
	PQclear(result);
	return true;
}

bool connection_begin(struct store *store, enum transaction kind, int timeout_ms,
		      struct error *error)
{
	static const char *const begin[] = {
		[TRANSACTION_WRITE] = "begin isolation level read committed read write",
		[TRANSACTION_VIEW] = "begin isolation level repeatable read read only",
		[TRANSACTION_READ] = "begin isolation level read committed read only",
	};
	struct parameters parameters;
	char statement[24];
	bool done;

	if (!connection_run(store, begin[kind], NULL, STORE_QUICK_MS, NULL, error))
		return false;
	snprintf(statement, sizeof(statement), "%dms", timeout_ms);
	parameters_init(&parameters);
	parameters_text(&parameters, statement);
	done = connection_run(store,
			      "select set_config('statement_timeout', $1, true),"
			      " set_config('lock_timeout', $1, true),"
			      " set_config('idle_in_transaction_session_timeout', $1, true)",
			      &parameters, STORE_QUICK_MS, NULL, error);
	parameters_release(&parameters);
	if (!done)
		connection_rollback(store);
	return done;
}

bool connection_commit(struct store *store, struct error *error)
{
	PGresult *result = connection_query(store, "commit", NULL, STORE_WRITE_MS, error);
	bool is_committed;

	if (!result) {
		connection_rollback(store);
		return false;
	}
	/* COMMIT of a failed transaction succeeds, and says ROLLBACK. */
	is_committed = strcmp(PQcmdStatus(result), "COMMIT") == 0;
	PQclear(result);
	return is_committed || error_set(error, ERROR_STORE, "the transaction was rolled back");
}

void connection_rollback(struct store *store)
{
	struct error ignored;

	if (!store->connection)
		return;
	error_init(&ignored, NULL);
	if (!connection_run(store, "rollback", NULL, STORE_QUICK_MS, NULL, &ignored))
		connection_close(store);
}
