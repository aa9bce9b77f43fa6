/* Crew: see crew.h. */
#include "server/ingest/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool crew_init(struct crew *crew, size_t count, const char *exchange_url, struct error *error)
{
	pthread_condattr_t attributes;

	*crew = (struct crew){.count = count};
	crew->tasks = calloc(count, sizeof(*crew->tasks));
	if (!crew->tasks)
		return error_set(error, ERROR_INTERNAL, "no memory");
	for (size_t i = 0; i < count; i++)
		crew->tasks[i].crew = crew;
	exchange_init(&crew->exchange, exchange_url);
	pthread_mutex_init(&crew->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&crew->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return true;
}

bool crew_is_busy(struct crew *crew)
{
	bool is_busy;

	pthread_mutex_lock(&crew->mutex);
	is_busy = crew->running > 0;
	pthread_mutex_unlock(&crew->mutex);
	return is_busy;
}

bool crew_is_idle(struct crew *crew, const struct task *task)
{
	bool is_idle;

	pthread_mutex_lock(&crew->mutex);
	is_idle = task->state == TASK_IDLE;
	pthread_mutex_unlock(&crew->mutex);
	return is_idle;
}

void crew_release(struct crew *crew)
{
	atomic_store(&crew->stop, true);
	pthread_mutex_lock(&crew->mutex);
	crew->is_stopped = false; /* now every task is waited for */
	pthread_mutex_unlock(&crew->mutex);
	while (crew_is_busy(crew)) {
		struct task *task = crew_wait(crew, 60);

		if (task)
			crew_give_back(crew, task);
	}
	pthread_cond_destroy(&crew->changed);
	pthread_mutex_destroy(&crew->mutex);
	exchange_release(&crew->exchange);
	free(crew->tasks);
}

static void *task_run(void *closure)
{
	struct task *task = closure;
	struct crew *crew = task->crew;

	harvest_run(&task->harvest);
	pthread_mutex_lock(&crew->mutex);
	task->state = TASK_DONE;
	pthread_cond_signal(&crew->changed);
	pthread_mutex_unlock(&crew->mutex);
	return NULL;
}

bool crew_start(struct crew *crew, struct task *task, struct error *error)
{
	sigset_t all, before;
	int failed;

	task->harvest.stop = &crew->stop;
	task->harvest.exchange = &crew->exchange;
	task->state = TASK_RUNNING;
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&task->thread, NULL, task_run, task);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		task->state = TASK_IDLE;
		return error_set(error, ERROR_INTERNAL, "no thread for %s: %s",
				 task->harvest.provider->id, strerror(failed));
	}
	pthread_mutex_lock(&crew->mutex);
	crew->running++;
	pthread_mutex_unlock(&crew->mutex);
	return true;
}

static struct task *find_done(const struct crew *crew)
{
	for (size_t i = 0; i < crew->count; i++)
		if (crew->tasks[i].state == TASK_DONE)
			return &crew->tasks[i];
	return NULL;
}

static struct timespec deadline(double seconds)
{
	struct timespec at;
	long nanoseconds;

	clock_gettime(CLOCK_MONOTONIC, &at);
	nanoseconds = at.tv_nsec + (long)((seconds - (double)(time_t)seconds) * 1e9);
	at.tv_sec += (time_t)seconds + nanoseconds / 1000000000;
	at.tv_nsec = nanoseconds % 1000000000;
	return at;
}

struct task *crew_wait(struct crew *crew, double seconds)
{
	const struct timespec until = deadline(seconds);
	struct task *task;

	pthread_mutex_lock(&crew->mutex);
	while (!(task = find_done(crew)) && !crew->is_stopped)
		if (pthread_cond_timedwait(&crew->changed, &crew->mutex, &until) == ETIMEDOUT)
			break;
	if (task)
		crew->running--;
	pthread_mutex_unlock(&crew->mutex);
	if (task)
		pthread_join(task->thread, NULL);
	return task;
}

void crew_give_back(struct crew *crew, struct task *task)
{
	harvest_release(&task->harvest);
	pthread_mutex_lock(&crew->mutex);
	task->state = TASK_IDLE;
	pthread_mutex_unlock(&crew->mutex);
}

void crew_stop(struct crew *crew)
{
	atomic_store(&crew->stop, true);
	pthread_mutex_lock(&crew->mutex);
	crew->is_stopped = true;
	pthread_cond_signal(&crew->changed);
	pthread_mutex_unlock(&crew->mutex);
}
