/*
 * Later: reads from the database that a request waits for, done by a few threads with a connection
 * each, so that no HTTP worker ever waits.
 *
 * A bounded queue: what does not fit is refused at once. A job belongs to its asker until it is
 * submitted, then to the pool until `tell` is called, then to the asker again. An asker that wants
 * its job no more (its client left, its time is over, the server stops) abandons it and forgets it.
 */
#ifndef SERVER_LATER_H
#define SERVER_LATER_H

#include "core/arena.h"
#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct later;
struct store;

/* Reads into `wanted` what it asks for; what that needs of memory comes from `arena`. No statement
 * may take longer than `timeout_ms`. Runs on a thread of the pool. */
typedef bool later_read(struct store *store, void *wanted, struct arena *arena, int timeout_ms,
			struct error *error);

enum job_state { JOB_NEW, JOB_QUEUED, JOB_RUNNING, JOB_TOLD };

struct job {
	struct arena arena; /* of `wanted` and of all that is read */
	later_read *read;
	void *wanted;
	int64_t deadline_us;	       /* monotonic; what has not begun by then is not begun */
	void (*tell)(struct job *job); /* on the pool's thread, which must not be held up */
	void *owner, *asker;	       /* for `tell` and who takes the job then */

	bool is_read; /* else `error` says why not */
	struct error error;

	/* The pool's. */
	enum job_state state;
	bool is_abandoned; /* who takes it after `tell` frees it and does no more */
	struct job *next;
};

struct job *job_new(void); /* NULL when memory is out */
void job_free(struct job *job);

/* Connections are opened by the first jobs. NULL only when no thread can be made. */
struct later *later_start(const char *database_url, struct error *error);

/* False, and the job stays the caller's, when the queue is full or the pool stops. */
bool later_submit(struct later *later, struct job *job);

/* Only on the thread that takes told jobs, and of a job that it has not taken yet. */
void later_abandon(struct later *later, struct job *job);

/* No asker may be left. */
void later_stop(struct later *later);

#endif
