/*
 * The refresh thread: see refresh.h.
 *
 * What the next catalogue is made of: the offers of the current one (they lie by id in two halves),
 * with the changes merged in. Three things bring a new one: prices changed (the clock's version),
 * feeds were refreshed without a change (its status: the offers' dates move), or a feed turned
 * stale by the mere passing of time, which needs no database. The last two are paced, since they
 * cost a whole build.
 */
#include "server/refresh.h"

#include "server/clock.h"
#include "server/log.h"
#include "server/refresh_merge.h"
#include "server/store/store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ARENA_BYTES ((size_t)16 << 30)
#define BACKOFF_MAX_US (5 * US_PER_SECOND) /* prices catch up soon after the database is back */
#define SAVE_EVERY_US (5 * US_PER_SECOND)  /* the terminal's verbs read the file */
#define PACE                                                                                       \
	20 /* builds for dates alone, and saving, take at most a twentieth of the time each        \
	    */

struct refresh {
	struct snapshot_slot *slot;
	struct metrics *metrics;
	struct store *store; /* NULL without a database */
	char *path;	     /* of the snapshot file; NULL = none */
	int64_t poll_us;

	struct book book;    /* what the current catalogue does not hold */
	int64_t status;	     /* the clock's, of that catalogue */
	int64_t build_us;    /* how long the last build took */
	int64_t built_at_us; /* by the monotonic clock */
	int64_t backoff_us;
	bool is_up, was_behind;
	bool is_unsaved;
	int64_t saved_at_us, save_us;

	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping; /* under lock */
};

static void report(struct refresh *refresh)
{
	const struct catalogue *catalogue;
	struct metrics_snapshot now = {.database_is_up = refresh->is_up};

	if (!refresh->metrics)
		return;
	catalogue = snapshot_acquire(refresh->slot);
	if (catalogue) {
		now.version = catalogue->version;
		now.as_of_us = catalogue->as_of_us;
		now.built_at_us = catalogue->built_at_us;
		now.offers = catalogue->offers_count;
		now.unmapped_offers = catalogue->unmapped_offers;
		now.unpriced_offers = catalogue->unpriced_offers;
	}
	snapshot_release(refresh->slot, catalogue);
	metrics_set_snapshot(refresh->metrics, &now);
}

static void save(struct refresh *refresh)
{
	const struct catalogue *catalogue = snapshot_acquire(refresh->slot);
	bool is_empty = !catalogue || catalogue->offers_count == 0;
	int64_t started_us = clock_monotonic_us();
	struct error error;

	error_init(&error, NULL);
	refresh->is_unsaved = false;
	if (catalogue && !snapshot_save(catalogue, refresh->path, &error))
		log_event(LOG_WARNING, "snapshot not saved", "detail", error.detail, NULL);
	snapshot_release(refresh->slot, catalogue);
	refresh->saved_at_us = clock_monotonic_us();
	refresh->save_us = refresh->saved_at_us - started_us;
	if (is_empty) /* as at the first start: what follows is saved at once */
		refresh->saved_at_us = 0;
}

static void save_if_due(struct refresh *refresh)
{
	int64_t since_us = clock_monotonic_us() - refresh->saved_at_us;
	bool is_due = refresh->saved_at_us == 0 ||
		      (since_us > SAVE_EVERY_US && since_us > PACE * refresh->save_us);

	if (refresh->path && refresh->is_unsaved && is_due)
		save(refresh);
}

static void load(struct refresh *refresh)
{
	struct catalogue *catalogue;
	struct error error;

	if (!refresh->path)
		return;
	error_init(&error, NULL);
	catalogue = snapshot_load(refresh->path, &error);
	if (!catalogue) {
		log_event(error.code == ERROR_NOT_FOUND ? LOG_INFO : LOG_WARNING,
			  "snapshot file not used", "detail", error.detail, NULL);
		return;
	}
	log_event(LOG_INFO, "snapshot file loaded", "file", refresh->path, NULL);
	if (!snapshot_publish(refresh->slot, catalogue))
		catalogue_free(catalogue);
}

/* Builds and publishes the catalogue that `base` and `view` make. */
static bool publish(struct refresh *refresh, const struct catalogue *base,
		    const struct store_view *view, struct error *error)
{
	int64_t started_us = clock_monotonic_us();
	struct catalogue *next = book_build(&refresh->book, base, view, error);

	if (!next)
		return false;
	if (!snapshot_publish(refresh->slot, next)) {
		catalogue_free(next);
		return error_set(error, ERROR_INTERNAL, "the snapshot was not taken");
	}
	refresh->built_at_us = clock_monotonic_us();
	refresh->build_us = refresh->built_at_us - started_us;
	refresh->is_unsaved = true;
	if (view)
		refresh->status = view->clock.status;
	return true;
}

static bool is_paced(const struct refresh *refresh)
{
	return clock_monotonic_us() - refresh->built_at_us > PACE * refresh->build_us;
}

/* Reads what `base` lacks and publishes. */
static bool catch_up(struct refresh *refresh, const struct catalogue *base, bool only_status,
		     struct error *error)
{
	struct store_view view;
	struct arena arena;
	bool done;

	arena_init(&arena, ARENA_BYTES);
	if (only_status)
		done = store_read_status(refresh->store, &arena, &view, error);
	else if (refresh->book.is_complete)
		done = store_read_since(refresh->store, base->epoch, base->version, &arena, &view,
					error);
	else
		done = store_read_all(refresh->store, &arena, &view, error);
	/* Between the look at the clock and this view a batch may have come: the next round's. */
	if (done && only_status)
		done = view.clock.version != base->version || publish(refresh, base, &view, error);
	else
		done = done && publish(refresh, base, &view, error);
	arena_release(&arena);
	return done;
}

static bool poll_database(struct refresh *refresh, const struct catalogue *base,
			  struct error *error)
{
	struct store_clock clock;
	bool is_same_epoch;

	if (!store_read_clock(refresh->store, &clock, error))
		return false;
	is_same_epoch = base && strcmp(base->epoch, clock.epoch) == 0;
	if (is_same_epoch && clock.version < base->version) {
		/* A standby that lags; or a restored database whose epoch was not renewed. */
		if (!refresh->was_behind)
			log_event(LOG_WARNING, "the database is behind this replica", NULL);
		refresh->was_behind = true;
		return true;
	}
	refresh->was_behind = false;
	if (!refresh->book.is_complete || !is_same_epoch || clock.version != base->version)
		return catch_up(refresh, base, false, error);
	if (clock.status != refresh->status && is_paced(refresh))
		return catch_up(refresh, base, true, error);
	return true;
}

/* Feeds grow stale also while nothing can be read. */
static void notice_stale(struct refresh *refresh)
{
	const struct catalogue *base = snapshot_acquire(refresh->slot);
	int64_t now_us = clock_wall_us();
	struct error error;
	bool has_turned = false;

	error_init(&error, NULL);
	for (uint32_t i = 0; base && i < base->providers_count; i++)
		has_turned |=
			store_is_stale(&base->providers[i], now_us) != base->providers[i].is_stale;
	if (has_turned && is_paced(refresh) && !publish(refresh, base, NULL, &error))
		log_event(LOG_ERROR, "snapshot not rebuilt", "detail", error.detail, NULL);
	snapshot_release(refresh->slot, base);
}

static void note_database(struct refresh *refresh, bool is_up, const struct error *error)
{
	if (is_up && !refresh->is_up)
		log_event(LOG_INFO, "database reached", NULL);
	else if (!is_up && (refresh->is_up || refresh->backoff_us == 0))
		log_event(LOG_WARNING, "database away; answering from memory", "detail",
			  error->detail, NULL);
	refresh->is_up = is_up;
	if (is_up)
		refresh->backoff_us = 0;
	else
		refresh->backoff_us =
			refresh->backoff_us ? 2 * refresh->backoff_us : refresh->poll_us;
	if (refresh->backoff_us > BACKOFF_MAX_US)
		refresh->backoff_us = BACKOFF_MAX_US;
}

/* One round; how long to wait before the next. */
static int64_t work(struct refresh *refresh)
{
	int64_t started_us = clock_monotonic_us(), wait_us = refresh->poll_us;

	if (refresh->store) {
		const struct catalogue *base = snapshot_acquire(refresh->slot);
		struct error error;
		bool is_up;

		error_init(&error, NULL);
		is_up = poll_database(refresh, base, &error);
		snapshot_release(refresh->slot, base);
		note_database(refresh, is_up, &error);
		if (!is_up) /* replicas that lost the same server come back spread out */
			wait_us = refresh->backoff_us / 2 +
				  clock_monotonic_us() % (refresh->backoff_us / 2 + 1);
	}
	notice_stale(refresh);
	report(refresh);
	save_if_due(refresh);
	/* At most half of the time goes into builds. */
	if (wait_us < clock_monotonic_us() - started_us && refresh->is_up)
		wait_us = clock_monotonic_us() - started_us;
	return wait_us;
}

static bool is_stopping(struct refresh *refresh)
{
	bool stopping;

	pthread_mutex_lock(&refresh->lock);
	stopping = refresh->stopping;
	pthread_mutex_unlock(&refresh->lock);
	return stopping;
}

static void wait_for(struct refresh *refresh, int64_t wait_us)
{
	int64_t until_us = clock_monotonic_us() + wait_us;
	struct timespec until = {.tv_sec = until_us / US_PER_SECOND,
				 .tv_nsec = until_us % US_PER_SECOND * 1000};

	pthread_mutex_lock(&refresh->lock);
	while (!refresh->stopping &&
	       pthread_cond_timedwait(&refresh->wake, &refresh->lock, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&refresh->lock);
}

static void *run(void *argument)
{
	struct refresh *refresh = argument;

	load(refresh);
	report(refresh);
	while (!is_stopping(refresh))
		wait_for(refresh, work(refresh));
	if (refresh->path && refresh->is_unsaved)
		save(refresh);
	return NULL;
}

static void refresh_free(struct refresh *refresh)
{
	pthread_cond_destroy(&refresh->wake);
	pthread_mutex_destroy(&refresh->lock);
	book_release(&refresh->book);
	store_free(refresh->store);
	free(refresh->path);
	free(refresh);
}

static bool prepare(struct refresh *refresh, const struct config *config)
{
	refresh->poll_us = (int64_t)(config->clock_seconds * (double)US_PER_SECOND);
	if (refresh->poll_us < US_PER_SECOND / 100)
		refresh->poll_us = US_PER_SECOND / 100;
	if (config->data[0]) {
		mkdir(config->data, 0755); /* when that fails, saving says why */
		if (asprintf(&refresh->path, "%s/snapshot", config->data) < 0) {
			refresh->path = NULL;
			return false;
		}
	}
	if (config->database_url[0]) {
		refresh->store = store_new(config->database_url, "gpupick serve");
		return refresh->store != NULL;
	}
	log_event(LOG_WARNING, "no GPUPICK_DATABASE_URL: only the snapshot file is served", NULL);
	return true;
}

struct refresh *refresh_start(const struct config *config, struct snapshot_slot *slot,
			      struct metrics *metrics, struct error *error)
{
	struct refresh *refresh = calloc(1, sizeof(*refresh));
	pthread_condattr_t monotonic;

	if (!refresh) {
		error_set(error, ERROR_INTERNAL, "no memory for the refresh thread");
		return NULL;
	}
	refresh->slot = slot;
	refresh->metrics = metrics;
	pthread_mutex_init(&refresh->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&refresh->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (!prepare(refresh, config) ||
	    pthread_create(&refresh->thread, NULL, run, refresh) != 0) {
		error_set(error, ERROR_INTERNAL, "the refresh thread cannot be started");
		refresh_free(refresh);
		return NULL;
	}
	return refresh;
}

void refresh_stop(struct refresh *refresh)
{
	if (!refresh)
		return;
	pthread_mutex_lock(&refresh->lock);
	refresh->stopping = true;
	pthread_cond_signal(&refresh->wake);
	pthread_mutex_unlock(&refresh->lock);
	if (refresh->store)
		store_interrupt(refresh->store);
	pthread_join(refresh->thread, NULL);
	refresh_free(refresh);
}
