/* The pool of reads: see later.h. */
#include "server/later.h"

#include "server/clock.h"
#include "server/log.h"
#include "server/store/store.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define QUEUE_MAX 256
#define JOB_BYTES_MAX ((size_t)16 << 20)
#define TIMEOUT_MS_LEAST 50
/* A connection that was lost since its last use fails at once; the next try opens another. */
#define RETRY_WITHIN_US (US_PER_SECOND / 5)

struct later {
	pthread_mutex_t lock; /* guards all that follows, and the pool's part of its jobs */
	pthread_cond_t work;
	struct job *first, *last; /* queued */
	unsigned queued;
	bool is_stopping;
	bool is_down; /* the last read failed: said once */

	struct store *stores[THREADS];
	pthread_t threads[THREADS];
	unsigned threads_count;
};

struct hand { /* what a thread starts with */
	struct later *later;
	struct store *store;
};

struct job *job_new(void)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	arena_init(&job->arena, JOB_BYTES_MAX);
	error_init(&job->error, NULL);
	return job;
}

void job_free(struct job *job)
{
	if (!job)
		return;
	arena_release(&job->arena);
	free(job);
}

/* --- the threads --- */

static struct job *next_job(struct later *later)
{
	struct job *job;

	pthread_mutex_lock(&later->lock);
	while (!later->first && !later->is_stopping)
		pthread_cond_wait(&later->work, &later->lock);
	job = later->is_stopping ? NULL : later->first;
	if (job) {
		later->first = job->next;
		if (!later->first)
			later->last = NULL;
		later->queued--;
		job->state = JOB_RUNNING;
	}
	pthread_mutex_unlock(&later->lock);
	return job;
}

static bool try_to_read(struct job *job, struct store *store)
{
	int64_t left_ms = (job->deadline_us - clock_monotonic_us()) / 1000;

	if (left_ms <= 0)
		return error_set(&job->error, ERROR_UNAVAILABLE,
				 "the database did not answer in "
				 "time");
	return job->read(store, job->wanted, &job->arena,
			 left_ms > TIMEOUT_MS_LEAST ? (int)left_ms : TIMEOUT_MS_LEAST, &job->error);
}

static void read_job(struct job *job, struct store *store)
{
	int64_t began_us = clock_monotonic_us();

	job->is_read = try_to_read(job, store);
	if (job->is_read || job->error.code != ERROR_STORE ||
	    clock_monotonic_us() - began_us > RETRY_WITHIN_US)
		return;
	error_init(&job->error, NULL);
	job->is_read = try_to_read(job, store);
}

/* Under the lock. What the database says of itself is for the log, not for callers. */
static void note_outcome(struct later *later, struct job *job)
{
	bool is_down = !job->is_read && job->error.code == ERROR_STORE;

	if (is_down && !later->is_down)
		log_event(LOG_WARNING, "requests cannot read from the database", "detail",
			  job->error.detail, NULL);
	else if (job->is_read && later->is_down)
		log_event(LOG_INFO, "requests read from the database again", NULL);
	if (is_down || job->is_read)
		later->is_down = is_down;
	if (is_down)
		error_set(&job->error, ERROR_UNAVAILABLE, "the database cannot be asked now");
}

/* The asker abandons under the same lock, so it is told of no job that it has forgotten. */
static void finish(struct later *later, struct job *job)
{
	bool is_wanted;

	pthread_mutex_lock(&later->lock);
	note_outcome(later, job);
	is_wanted = !job->is_abandoned;
	if (is_wanted) {
		job->state = JOB_TOLD;
		job->tell(job);
	}
	pthread_mutex_unlock(&later->lock);
	if (!is_wanted)
		job_free(job);
}

static void *run(void *argument)
{
	struct hand hand = *(struct hand *)argument;
	struct job *job;

	free(argument);
	while ((job = next_job(hand.later))) {
		read_job(job, hand.store);
		finish(hand.later, job);
	}
	return NULL;
}

/* --- asking --- */

bool later_submit(struct later *later, struct job *job)
{
	bool fits;

	pthread_mutex_lock(&later->lock);
	fits = later->queued < QUEUE_MAX && !later->is_stopping;
	if (fits) {
		job->state = JOB_QUEUED;
		job->next = NULL;
		if (later->last)
			later->last->next = job;
		else
			later->first = job;
		later->last = job;
		later->queued++;
		pthread_cond_signal(&later->work);
	}
	pthread_mutex_unlock(&later->lock);
	return fits;
}

static void unqueue(struct later *later, struct job *job)
{
	struct job *before = NULL, *at = later->first;

	for (; at != job; at = at->next)
		before = at;
	if (before)
		before->next = job->next;
	else
		later->first = job->next;
	if (later->last == job)
		later->last = before;
	later->queued--;
}

void later_abandon(struct later *later, struct job *job)
{
	bool is_queued;

	pthread_mutex_lock(&later->lock);
	is_queued = job->state == JOB_QUEUED;
	if (is_queued)
		unqueue(later, job);
	job->is_abandoned = true;
	pthread_mutex_unlock(&later->lock);
	if (is_queued)
		job_free(job);
}

/* --- start and stop --- */

static bool start_thread(struct later *later, const char *database_url, unsigned number)
{
	struct hand *hand = malloc(sizeof(*hand));
	struct store *store = store_new(database_url, "gpupick serve requests");

	later->stores[number] = store;
	if (hand && store) {
		*hand = (struct hand){later, store};
		if (pthread_create(&later->threads[number], NULL, run, hand) == 0) {
			later->threads_count++;
			return true;
		}
	}
	free(hand);
	return false;
}

struct later *later_start(const char *database_url, struct error *error)
{
	struct later *later = calloc(1, sizeof(*later));

	if (!later) {
		error_set(error, ERROR_INTERNAL, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&later->lock, NULL);
	pthread_cond_init(&later->work, NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		if (!start_thread(later, database_url, i)) {
			error_set(error, ERROR_INTERNAL,
				  "cannot start the threads that read for "
				  "requests");
			later_stop(later);
			return NULL;
		}
	}
	return later;
}

void later_stop(struct later *later)
{
	if (!later)
		return;
	pthread_mutex_lock(&later->lock);
	later->is_stopping = true;
	pthread_cond_broadcast(&later->work);
	pthread_mutex_unlock(&later->lock);
	for (unsigned i = 0; i < THREADS; i++) {
		if (later->stores[i])
			store_interrupt(later->stores[i]);
	}
	for (unsigned i = 0; i < later->threads_count; i++)
		pthread_join(later->threads[i], NULL);
	for (unsigned i = 0; i < THREADS; i++)
		store_free(later->stores[i]);
	pthread_cond_destroy(&later->work);
	pthread_mutex_destroy(&later->lock);
	free(later);
}
