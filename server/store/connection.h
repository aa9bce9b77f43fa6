/*
 * Connection: one libpq connection, opened by its first query and again after a loss. Private to
 * server/store.
 *
 * Only unnamed statements and transaction-wide settings, so that everything but the leader's
 * advisory lock works through a transaction pooler. Every wait has a deadline of ours: a server
 * that is stopped or cut off costs a call its timeout, never the thread.
 *
 * Results and parameters are binary. Times on the wire count from 2000, ours from 1970.
 */
#ifndef SERVER_STORE_CONNECTION_H
#define SERVER_STORE_CONNECTION_H

#include "core/arena.h"
#include "core/error.h"
#include "server/store/store.h"

#include <libpq-fe.h>
#include <stdatomic.h>

#define STORE_QUICK_MS 5000	/* the clock, one row */
#define STORE_READ_MS 120000	/* the whole table */
#define STORE_WRITE_MS 120000	/* one batch */
#define STORE_MIGRATE_MS 600000 /* one file; also waits for another runner */

/* Advisory locks: this class, and one of these. (3 is taken inside make_price_days().) */
#define STORE_LOCK_CLASS 1735423344 /* "gpup" */
#define STORE_LOCK_MIGRATE 1
#define STORE_LOCK_LEADER 2

struct store {
	char *url, *name;
	PGconn *connection; /* NULL while closed */
	atomic_bool interrupted;
	bool is_writer; /* must reach the primary, whatever the URL prefers */
	bool is_leader;
	int64_t token;
	int64_t days_made_for; /* UTC day number for which partitions were made */
};

/* Parameters of one query; values live in an arena that dies with them. The first failure sticks
 * and makes the query fail. */
#define PARAMETERS_MAX 32

struct parameters {
	struct arena arena;
	bool failed;
	int count;
	Oid types[PARAMETERS_MAX];
	const char *values[PARAMETERS_MAX];
	int lengths[PARAMETERS_MAX];
	int formats[PARAMETERS_MAX];
};

void parameters_init(struct parameters *parameters);
void parameters_release(struct parameters *parameters);
void parameters_text(struct parameters *parameters, const char *text);
void parameters_integer(struct parameters *parameters, int64_t value);
void parameters_time(struct parameters *parameters, int64_t wall_us); /* 0 = NULL */

/* One array parameter at a time: begin with the number of its elements, add them, end. */
enum column_type {
	COLUMN_TEXT,
	COLUMN_BIGINT,
	COLUMN_INTEGER,
	COLUMN_DOUBLE,
	COLUMN_BOOL,
	COLUMN_TIME
};

struct column {
	struct parameters *parameters;
	enum column_type type;
	unsigned char *bytes;
	size_t length, capacity;
	size_t count;
};

void column_begin(struct column *column, struct parameters *parameters, enum column_type type,
		  size_t count);
void column_null(struct column *column);
void column_text(struct column *column, const char *text);
void column_integer(struct column *column, int64_t value); /* BIGINT, INTEGER, BOOL */
void column_double(struct column *column, double value);
void column_time(struct column *column, int64_t wall_us); /* 0 = NULL */
void column_end(struct column *column);

/* The result, or NULL and an error. `parameters` may be NULL. Closes a connection that was lost. */
PGresult *connection_query(struct store *store, const char *sql,
			   const struct parameters *parameters, int timeout_ms,
			   struct error *error);

/* The same, for its effect alone; *rows (may be NULL) is how many rows it touched. */
bool connection_run(struct store *store, const char *sql, const struct parameters *parameters,
		    int timeout_ms, int64_t *rows, struct error *error);

/* Several statements of a migration, in one go, without parameters. */
bool connection_script(struct store *store, const char *sql, int timeout_ms, struct error *error);

/* A transaction with its own lock and statement timeouts: it writes, or sees one moment (VIEW), or
 * each statement sees its own (READ). Begin fails when the connection cannot be opened; rollback
 * never fails (it closes the connection when it must). */
enum transaction { TRANSACTION_WRITE, TRANSACTION_VIEW, TRANSACTION_READ };
bool connection_begin(struct store *store, enum transaction kind, int timeout_ms,
		      struct error *error);
bool connection_commit(struct store *store, struct error *error);
void connection_rollback(struct store *store);

void connection_close(struct store *store);

/* Cells of a binary result. NULL gives 0, false, NAN or "". */
bool cell_is_null(const PGresult *result, int row, int column);
int64_t cell_integer(const PGresult *result, int row, int column); /* bigint or integer */
double cell_double(const PGresult *result, int row, int column);
bool cell_bool(const PGresult *result, int row, int column);
int64_t cell_time(const PGresult *result, int row, int column);
const char *cell_text(const PGresult *result, int row, int column); /* dies with the result */

#endif
