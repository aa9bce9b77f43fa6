/*
 * Schedule: the worker that runs for ever. Every process with ingest tries to lead (an advisory
 * lock on its database connection); the one that does runs the feeds when they are due, the others
 * ask again every few seconds and take over when the leader is gone.
 */
#include "server/ingest/ingest.h"

#include "server/clock.h"
#include "server/ingest/bundled.h"
#include "server/ingest/files.h"
#include "server/ingest/round.h"
#include "server/log.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SPARE_SECONDS 3.0
#define HOUSEKEEPING_SECONDS 3600.0
#define FIRST_RETRY_SECONDS 30.0
#define RETRY_AFTER_MAX_SECONDS 21600.0
/* Failures in a row after which a provider is only probed: once a period or half an hour, one try a
 * request. */
#define BREAKER_FAILURES 4
#define PROBE_SECONDS 1800.0

struct turn {
	bool is_enabled;
	int64_t due_us; /* monotonic */
	int failures;	/* in a row */
};

struct ingest {
	const struct config *config;
	struct ingest_options options;
	struct metrics *metrics;
	struct store *store;
	struct crew crew;
	struct turn *turns;
	struct files *files;
	int64_t housekeeping_due_us;
	bool is_leader;
	pthread_t thread;
};

static int64_t after_us(double seconds)
{
	return clock_monotonic_us() + (int64_t)(seconds * (double)US_PER_SECOND);
}

/* A feed that fails is tried again sooner than its period, but ever later; one that said when to
 * come back is not bothered before, within reason. A tenth less, at random, keeps fleets apart. */
static double next_seconds(const struct turn *turn, double period, double retry_after_seconds)
{
	double seconds = period;

	if (turn->failures) {
		double retry = FIRST_RETRY_SECONDS;

		for (int i = 1; i < turn->failures && retry < period; i++)
			retry *= 2;
		if (turn->failures >= BREAKER_FAILURES)
			retry = PROBE_SECONDS;
		if (retry < period)
			seconds = retry;
	}
	seconds = seconds * 0.8 + jitter(seconds * 0.2);
	if (retry_after_seconds > RETRY_AFTER_MAX_SECONDS)
		retry_after_seconds = RETRY_AFTER_MAX_SECONDS;
	return retry_after_seconds > seconds ? retry_after_seconds : seconds;
}

static bool warn(const char *message, const struct error *error)
{
	log_event(LOG_WARNING, message, "detail", error->detail, NULL);
	return false;
}

/* Partitions ahead, retention, and prices for providers that have no live ones. */
static bool keep_house(struct ingest *ingest, struct error *error)
{
	struct bundled_outcome outcome;

	if (clock_monotonic_us() < ingest->housekeeping_due_us)
		return true;
	if (!store_housekeeping(ingest->store, error) ||
	    !round_retire(ingest->config, ingest->store, error))
		return false;
	if (ingest->config->bundled &&
	    !bundled_apply(ingest->config, ingest->store, &outcome, error))
		return false;
	ingest->housekeeping_due_us = after_us(HOUSEKEEPING_SECONDS);
	return true;
}

static bool lead(struct ingest *ingest)
{
	bool was_leader = ingest->is_leader;
	struct error error;

	error_init(&error, NULL);
	if (!store_lead(ingest->store, &ingest->is_leader, &error)) {
		ingest->is_leader = false;
		return warn("ingest has no database", &error);
	}
	if (ingest->is_leader && !was_leader)
		log_event(LOG_INFO, "ingest leads", NULL);
	if (!ingest->is_leader && was_leader)
		log_event(LOG_WARNING, "ingest leads no more", NULL);
	if (ingest->is_leader && !keep_house(ingest, &error))
		return warn("housekeeping failed", &error);
	if (ingest->is_leader && !files_apply(ingest->files, ingest->store, NULL, &error))
		warn("a price file failed", &error);
	return ingest->is_leader;
}

/* Starts what is due; the time until the next feed is. */
static double start_due(struct ingest *ingest)
{
	int64_t now_us = clock_monotonic_us();
	double wait = SPARE_SECONDS;

	for (size_t i = 0; i < providers_count; i++) {
		struct turn *turn = &ingest->turns[i];
		struct ingest_options options = ingest->options;
		struct error error;
		double left = (double)(turn->due_us - now_us) / (double)US_PER_SECOND;

		if (!turn->is_enabled || !crew_is_idle(&ingest->crew, &ingest->crew.tasks[i]))
			continue;
		if (left > 0) {
			wait = left < wait ? left : wait;
			continue;
		}
		error_init(&error, NULL);
		options.is_probe = turn->failures >= BREAKER_FAILURES;
		if (!round_start(&ingest->crew, i, ingest->config, &options, ingest->store,
				 &error)) {
			turn->due_us = after_us(FIRST_RETRY_SECONDS);
			warn("feed not started", &error);
		}
	}
	return wait;
}

static void tell_breaker(const struct provider *provider, int failures_before, bool is_ok)
{
	if (is_ok && failures_before >= BREAKER_FAILURES)
		log_event(LOG_INFO, "feed is back", "provider", provider->id, "source",
			  provider->source, NULL);
	if (!is_ok && failures_before + 1 == BREAKER_FAILURES)
		log_event(LOG_WARNING, "feed is only probed until it answers", "provider",
			  provider->id, "source", provider->source, NULL);
}

static void finish(struct ingest *ingest, struct task *task)
{
	size_t index = (size_t)(task - ingest->crew.tasks);
	struct turn *turn = &ingest->turns[index];
	int64_t period = round_refresh_seconds(ingest->config, providers[index]);
	struct apply_result result;

	/* A walk that the stop cut short says nothing about the provider. */
	if (!atomic_load(&ingest->crew.stop)) {
		apply(ingest->store, &task->harvest,
		      &(struct apply_options){.refresh_seconds = period,
					      .metrics = ingest->metrics,
					      .index = index},
		      &result);
		tell_breaker(providers[index], turn->failures, result.is_ok);
		turn->failures = result.is_ok ? 0 : turn->failures + 1;
		turn->due_us =
			after_us(next_seconds(turn, (double)period, result.retry_after_seconds));
	}
	crew_give_back(&ingest->crew, task);
}

static void *schedule_run(void *closure)
{
	struct ingest *ingest = closure;

	while (!atomic_load(&ingest->crew.stop)) {
		double wait = lead(ingest) ? start_due(ingest) : jitter(SPARE_SECONDS);
		struct task *task = crew_wait(&ingest->crew, wait);

		if (task)
			finish(ingest, task);
	}
	return NULL;
}

static bool start_thread(struct ingest *ingest, struct error *error)
{
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&ingest->thread, NULL, schedule_run, ingest);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !failed ||
	       error_set(error, ERROR_INTERNAL, "no thread for ingest: %s", strerror(failed));
}

static void ingest_free(struct ingest *ingest)
{
	store_free(ingest->store);
	files_free(ingest->files);
	free(ingest->turns);
	free(ingest);
}

struct ingest *ingest_start(const struct config *config, const struct ingest_options *options,
			    struct metrics *metrics, struct error *error)
{
	struct ingest *ingest;

	if (!round_check_names(config, options, error))
		return NULL;
	ingest = calloc(1, sizeof(*ingest));
	if (!ingest) {
		error_set(error, ERROR_INTERNAL, "no memory");
		return NULL;
	}
	ingest->config = config;
	ingest->options = *options;
	ingest->metrics = metrics;
	ingest->store = store_new(config->database_url, "gpupick ingest");
	ingest->turns = calloc(providers_count, sizeof(*ingest->turns));
	ingest->files = files_new(config->price_files);
	if (!ingest->store || !ingest->turns || !ingest->files) {
		error_set(error, ERROR_INTERNAL, "no memory");
		ingest_free(ingest);
		return NULL;
	}
	for (size_t i = 0; i < providers_count; i++) {
		const char *skipped = round_skip_reason(config, options, providers[i]);

		ingest->turns[i].is_enabled = !skipped;
		if (skipped)
			log_event(LOG_INFO, "feed is off", "provider", providers[i]->id, "reason",
				  skipped, NULL);
	}
	if (!crew_init(&ingest->crew, providers_count, config->ecb_url, error)) {
		ingest_free(ingest);
		return NULL;
	}
	if (!start_thread(ingest, error)) {
		crew_release(&ingest->crew);
		ingest_free(ingest);
		return NULL;
	}
	return ingest;
}

void ingest_stop(struct ingest *ingest)
{
	if (!ingest)
		return;
	crew_stop(&ingest->crew);
	store_interrupt(ingest->store);
	pthread_join(ingest->thread, NULL);
	crew_release(&ingest->crew);
	ingest_free(ingest);
}
