/* The keyring and its thread: see keyring.h. */
#include "server/keyring.h"

#include "server/clock.h"
#include "server/key_file.h"
#include "server/log.h"
#include "server/store/store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ARENA_BYTES ((size_t)256 << 20)
#define BACKOFF_MAX_US (5 * US_PER_SECOND)
#define LOOK_MAX_US US_PER_SECOND /* a revoked key shall not outlive it by much */

enum origin { ORIGIN_FILE, ORIGIN_DATABASE, ORIGINS };
static const char *const origin_names[ORIGINS] = {"file", "database"};

struct keyring {
	struct store *store; /* NULL without a database */
	const char *file;    /* "" without one */
	char *copy;	     /* of the database's keys, on disk; NULL = none */
	int64_t look_us, wait_us;

	/* The thread's own. */
	int64_t version; /* of the database's keys; -1 = not read */
	struct timespec file_time;
	off_t file_bytes;
	ino_t file_inode;
	bool has_failed[ORIGINS];

	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	struct key_list lists[ORIGINS];
	int64_t read_us[ORIGINS]; /* wall clock of the last good look; 0 = never */
	bool is_known[ORIGINS];	  /* there is a list, be it an old one */
	bool has_looked;
	bool is_stopping;
};

/* --- looking up --- */

static enum keyring_verdict judge(const struct key *key, const char *text, int64_t now_us)
{
	if (!key_matches(key, text))
		return KEYRING_UNKNOWN;
	if (key->revoked_us)
		return KEYRING_REVOKED;
	return key->expires_us && key->expires_us <= now_us ? KEYRING_EXPIRED : KEYRING_GOOD;
}

enum keyring_verdict keyring_check(struct keyring *keyring, const char *text, int64_t now_us,
				   struct key *out)
{
	const struct key *found = NULL;
	enum keyring_verdict verdict;
	char id[KEY_ID_TEXT];
	bool is_unread;

	*out = (struct key){.scopes = 0};
	if (!key_parse(text, id))
		return KEYRING_UNKNOWN;
	pthread_mutex_lock(&keyring->lock);
	for (int i = 0; i < ORIGINS && !found; i++)
		found = key_list_find(&keyring->lists[i], id);
	if (found)
		*out = *found;
	is_unread = keyring->store && !keyring->is_known[ORIGIN_DATABASE];
	pthread_mutex_unlock(&keyring->lock);
	/* An unknown id is compared too, with nothing, so that it takes as long. */
	verdict = judge(out, text, now_us);
	return verdict == KEYRING_UNKNOWN && !found && is_unread ? KEYRING_UNREAD : verdict;
}

/* --- keeping near --- */

/* Takes the list over. */
static void publish(struct keyring *keyring, enum origin origin, struct key_list *list,
		    int64_t read_us)
{
	struct key_list old;
	char count[24];

	pthread_mutex_lock(&keyring->lock);
	old = keyring->lists[origin];
	keyring->lists[origin] = *list;
	keyring->is_known[origin] = true;
	keyring->read_us[origin] = read_us;
	pthread_mutex_unlock(&keyring->lock);
	snprintf(count, sizeof(count), "%zu", list->count);
	log_event(LOG_INFO, "API keys read", "from", origin_names[origin], "keys", count, NULL);
	key_list_free(&old);
}

static void note_read(struct keyring *keyring, enum origin origin)
{
	pthread_mutex_lock(&keyring->lock);
	keyring->read_us[origin] = clock_wall_us();
	pthread_mutex_unlock(&keyring->lock);
}

/* Once a failure, with the age of what is kept. */
static void note_failure(struct keyring *keyring, enum origin origin, const struct error *error)
{
	char since[CLOCK_TEXT];

	if (!keyring->has_failed[origin]) {
		clock_format(keyring->read_us[origin], since);
		log_event(LOG_WARNING,
			  keyring->is_known[origin] ? "API keys not read; the last known ones count"
						    : "API keys not read; none are known",
			  "from", origin_names[origin], "last_read_at",
			  keyring->read_us[origin] ? since : "never", "detail", error->detail,
			  NULL);
	}
	keyring->has_failed[origin] = true;
}

static bool has_file_changed(struct keyring *keyring, struct stat *status)
{
	if (stat(keyring->file, status) != 0)
		return true; /* reading it says why */
	return status->st_mtim.tv_sec != keyring->file_time.tv_sec ||
	       status->st_mtim.tv_nsec != keyring->file_time.tv_nsec ||
	       status->st_size != keyring->file_bytes || status->st_ino != keyring->file_inode;
}

static bool look_at_file(struct keyring *keyring, struct error *error)
{
	struct stat status = {.st_size = 0};
	struct key_list list;

	if (!*keyring->file)
		return true;
	if (!has_file_changed(keyring, &status)) {
		if (!keyring->has_failed[ORIGIN_FILE])
			note_read(keyring, ORIGIN_FILE);
		return true;
	}
	keyring->file_time = status.st_mtim;
	keyring->file_bytes = status.st_size;
	keyring->file_inode = status.st_ino;
	if (!key_file_read(keyring->file, &list, error))
		return false;
	keyring->has_failed[ORIGIN_FILE] = false;
	publish(keyring, ORIGIN_FILE, &list, clock_wall_us());
	return true;
}

static void save_copy(const struct keyring *keyring, const struct key_list *list)
{
	struct error error;

	error_init(&error, NULL);
	if (keyring->copy && !key_file_write(keyring->copy, list, &error))
		log_event(LOG_WARNING, "copy of the API keys not saved", "detail", error.detail,
			  NULL);
}

static bool look_at_database(struct keyring *keyring, struct error *error)
{
	struct key_list list = {.count = 0};
	struct arena arena;
	struct key *keys;
	bool done;

	if (!keyring->store)
		return true;
	arena_init(&arena, ARENA_BYTES);
	done = store_read_keys(keyring->store, &keyring->version, &arena, &keys, &list.count,
			       error);
	if (done && keys) {
		list.keys = malloc((list.count + 1) * sizeof(*list.keys));
		done = list.keys || error_set(error, ERROR_INTERNAL, "no memory for the API keys");
		if (done && list.count)
			memcpy(list.keys, keys, list.count * sizeof(*list.keys));
		if (done) {
			key_list_sort(&list);
			save_copy(keyring, &list);
			publish(keyring, ORIGIN_DATABASE, &list, clock_wall_us());
		} else {
			keyring->version = -1; /* again, in the next round */
		}
	} else if (done) {
		note_read(keyring, ORIGIN_DATABASE);
	}
	arena_release(&arena);
	return done;
}

/* What an earlier process knew: better than to refuse everybody until the database is back. */
static void load_copy(struct keyring *keyring)
{
	struct key_list list;
	struct stat status;
	struct error error;

	error_init(&error, NULL);
	if (!keyring->copy || stat(keyring->copy, &status) != 0)
		return;
	if (key_file_read(keyring->copy, &list, &error))
		publish(keyring, ORIGIN_DATABASE, &list,
			(int64_t)status.st_mtim.tv_sec * US_PER_SECOND);
	else
		log_event(LOG_WARNING, "copy of the API keys not used", "detail", error.detail,
			  NULL);
}

static void look(struct keyring *keyring)
{
	struct error error;

	error_init(&error, NULL);
	if (!look_at_file(keyring, &error))
		note_failure(keyring, ORIGIN_FILE, &error);
	error_init(&error, NULL);
	if (look_at_database(keyring, &error)) {
		keyring->has_failed[ORIGIN_DATABASE] = false;
		keyring->wait_us = keyring->look_us;
		return;
	}
	note_failure(keyring, ORIGIN_DATABASE, &error);
	keyring->wait_us =
		2 * keyring->wait_us < BACKOFF_MAX_US ? 2 * keyring->wait_us : BACKOFF_MAX_US;
}

static void *run(void *argument)
{
	struct keyring *keyring = argument;

	for (;;) {
		int64_t until_us;
		struct timespec until;
		bool is_stopping;

		look(keyring);
		until_us = clock_monotonic_us() + keyring->wait_us;
		until = (struct timespec){.tv_sec = until_us / US_PER_SECOND,
					  .tv_nsec = until_us % US_PER_SECOND * 1000};
		pthread_mutex_lock(&keyring->lock);
		keyring->has_looked = true;
		while (!keyring->is_stopping &&
		       pthread_cond_timedwait(&keyring->wake, &keyring->lock, &until) != ETIMEDOUT)
			continue;
		is_stopping = keyring->is_stopping;
		pthread_mutex_unlock(&keyring->lock);
		if (is_stopping)
			return NULL;
	}
}

/* --- start and stop --- */

static void keyring_free(struct keyring *keyring)
{
	for (int i = 0; i < ORIGINS; i++)
		key_list_free(&keyring->lists[i]);
	store_free(keyring->store);
	pthread_cond_destroy(&keyring->wake);
	pthread_mutex_destroy(&keyring->lock);
	free(keyring->copy);
	free(keyring);
}

static bool prepare(struct keyring *keyring, const struct config *config, struct error *error)
{
	keyring->file = config->api_keys;
	keyring->version = -1;
	keyring->look_us = (int64_t)(config->clock_seconds * (double)US_PER_SECOND);
	if (keyring->look_us > LOOK_MAX_US)
		keyring->look_us = LOOK_MAX_US;
	keyring->wait_us = keyring->look_us;
	if (config->database_url[0]) {
		keyring->store = store_new(config->database_url, "gpupick serve keys");
		if (!keyring->store ||
		    (config->data[0] && asprintf(&keyring->copy, "%s/api_keys", config->data) < 0))
			return error_set(error, ERROR_INTERNAL, "out of memory");
	}
	load_copy(keyring);
	return look_at_file(keyring, error); /* a mistake in it is told at the start */
}

struct keyring *keyring_start(const struct config *config, struct error *error)
{
	struct keyring *keyring = calloc(1, sizeof(*keyring));
	pthread_condattr_t monotonic;

	if (!keyring) {
		error_set(error, ERROR_INTERNAL, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&keyring->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&keyring->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (prepare(keyring, config, error)) {
		if (pthread_create(&keyring->thread, NULL, run, keyring) == 0)
			return keyring;
		error_set(error, ERROR_INTERNAL, "the thread of the API keys cannot be started");
	}
	keyring_free(keyring);
	return NULL;
}

void keyring_stop(struct keyring *keyring)
{
	if (!keyring)
		return;
	pthread_mutex_lock(&keyring->lock);
	keyring->is_stopping = true;
	pthread_cond_signal(&keyring->wake);
	pthread_mutex_unlock(&keyring->lock);
	if (keyring->store)
		store_interrupt(keyring->store);
	pthread_join(keyring->thread, NULL);
	keyring_free(keyring);
}

bool keyring_has_looked(struct keyring *keyring)
{
	bool has_looked;

	pthread_mutex_lock(&keyring->lock);
	has_looked = keyring->has_looked;
	pthread_mutex_unlock(&keyring->lock);
	return has_looked;
}

void keyring_render(struct keyring *keyring, struct writer *writer)
{
	size_t counts[ORIGINS];
	int64_t read_us[ORIGINS];

	pthread_mutex_lock(&keyring->lock);
	for (int i = 0; i < ORIGINS; i++) {
		counts[i] = keyring->lists[i].count;
		read_us[i] = keyring->read_us[i];
	}
	pthread_mutex_unlock(&keyring->lock);
	writer_format(writer, "# HELP gpupick_api_keys API keys that are known, revoked ones "
			      "included.\n# TYPE gpupick_api_keys gauge\n");
	for (int i = 0; i < ORIGINS; i++)
		writer_format(writer, "gpupick_api_keys{from=\"%s\"} %zu\n", origin_names[i],
			      counts[i]);
	writer_format(writer, "# HELP gpupick_api_keys_read_timestamp_seconds When they were last "
			      "looked at with success.\n"
			      "# TYPE gpupick_api_keys_read_timestamp_seconds gauge\n");
	for (int i = 0; i < ORIGINS; i++)
		if (read_us[i])
			writer_format(writer,
				      "gpupick_api_keys_read_timestamp_seconds{from=\"%s\"} %.3f\n",
				      origin_names[i], (double)read_us[i] / 1e6);
}
