/* Crew: harvests on threads of their own; who started them takes each as it is done, in any order.
 */
#ifndef SERVER_INGEST_CREW_H
#define SERVER_INGEST_CREW_H

#include "server/ingest/harvest.h"

#include <pthread.h>

enum task_state { TASK_IDLE, TASK_RUNNING, TASK_DONE };

struct task {
	struct crew *crew;
	struct harvest harvest;
	enum task_state state; /* guarded by crew->mutex */
	pthread_t thread;
};

struct crew {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct exchange_cache exchange;
	struct task *tasks; /* one a provider, in the order of the table */
	size_t count;
	size_t running;	 /* started and not yet taken; guarded by mutex */
	bool is_stopped; /* guarded by mutex */
	atomic_bool stop;
};

/* `exchange_url`: where exchange rates are asked for; "" = the bank's own. */
bool crew_init(struct crew *crew, size_t count, const char *exchange_url, struct error *error);

/* Sets stop, waits for the threads. */
void crew_release(struct crew *crew);

/* task->harvest was filled by the caller; the task must be idle. */
bool crew_start(struct crew *crew, struct task *task, struct error *error);

/* The next task that is done, joined; NULL when the time is over or crew_stop() was called. The
 * caller reads the harvest, then gives the task back. */
struct task *crew_wait(struct crew *crew, double seconds);
void crew_give_back(struct crew *crew, struct task *task);

bool crew_is_busy(struct crew *crew);
bool crew_is_idle(struct crew *crew, const struct task *task);

/* From any thread: stop is set, crew_wait() returns. */
void crew_stop(struct crew *crew);

#endif
