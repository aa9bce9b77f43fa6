/* Files: the setting, what changed on disk, and what becomes of it: see files.h. */
#include "server/ingest/files.h"

#include "server/clock.h"
#include "server/ingest/apply.h"
#include "server/ingest/price_list.h"
#include "server/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX 32
#define PATH_BYTES 4096
#define FILE_BYTES_MAX ((size_t)256 << 20)
#define ARENA_BYTES_MAX ((size_t)1 << 30)
#define CONFIRM_SECONDS 300 /* an unchanged file is read again, so that its rows do not age */
#define PREFIX OFFER_SOURCE_OWN
#define TIER "file"	   /* of rows without one: the same type may have a live price beside it */
#define NO_PROVIDER "file" /* under which a file is told that could not be read */

struct file {
	char path[PATH_BYTES], provider[64], source[300];
	struct look {
		bool is_there;
		struct timespec changed_at; /* content, owner, rights or name */
		off_t size;
		ino_t inode;
	} looked;	/* as it was when it was last read, or could not be */
	int64_t due_us; /* monotonic; 0 = not read yet */
};

struct files {
	struct file list[FILES_MAX];
	size_t count;
	bool is_pruned; /* rows of files that are no longer named are gone */
};

/* One entry of the setting; its length. */
static size_t cut(const char *setting, struct file *out, bool *is_good)
{
	size_t length = strcspn(setting, ",");
	const char *equals = memchr(setting, '=', length);
	const char *path =
		equals && !memchr(setting, '/', (size_t)(equals - setting)) ? equals + 1 : setting;
	size_t provider = path == setting ? 0 : (size_t)(path - 1 - setting);
	size_t rest = length - (size_t)(path - setting);
	const char *name;

	*out = (struct file){0};
	*is_good = rest && rest < sizeof(out->path) && provider < sizeof(out->provider) &&
		   (path == setting || provider);
	if (!*is_good)
		return length;
	memcpy(out->path, path, rest);
	memcpy(out->provider, setting, provider);
	name = strrchr(out->path, '/');
	*is_good = (size_t)snprintf(out->source, sizeof(out->source), PREFIX "%s",
				    name ? name + 1 : out->path) < 200;
	return length;
}

static bool parse(const char *setting, struct files *out, struct error *error)
{
	out->count = 0;
	while (*setting) {
		struct file *file = &out->list[out->count];
		bool is_good;
		size_t length;

		if (out->count == FILES_MAX)
			return error_set(error, ERROR_INVALID, "over %d files", FILES_MAX);
		length = cut(setting, file, &is_good);
		if (!is_good)
			return error_set(error, ERROR_INVALID, "no [PROVIDER=]PATH: \"%.*s\"",
					 length < 80 ? (int)length : 80, setting);
		for (size_t i = 0; i < out->count; i++)
			if (strcmp(out->list[i].source, file->source) == 0)
				return error_set(error, ERROR_INVALID,
						 "two files are called \"%.80s\"",
						 file->source + sizeof(PREFIX) - 1);
		out->count++;
		setting += length + (setting[length] == ',');
	}
	return true;
}

bool files_check(const char *setting, struct error *error)
{
	struct files *files = calloc(1, sizeof(*files));
	bool ok = files ? parse(setting, files, error)
			: error_set(error, ERROR_INTERNAL, "no memory");

	free(files);
	return ok;
}

struct files *files_new(const char *setting)
{
	struct files *files = calloc(1, sizeof(*files));
	struct error error;

	error_init(&error, NULL);
	if (files && !parse(setting, files, &error))
		files->count = 0; /* config has refused it before */
	return files;
}

void files_free(struct files *files)
{
	free(files);
}

/* Terminated, in the arena; NULL and an error. */
static char *read_whole(const struct file *file, off_t size, struct arena *arena, size_t *length,
			struct error *error)
{
	FILE *stream = fopen(file->path, "re");
	char *text = NULL;

	if (!stream) {
		error_set(error, ERROR_FEED, "%.150s: %s", file->path, strerror(errno));
		return NULL;
	}
	if (size < 0 || (uintmax_t)size > FILE_BYTES_MAX)
		error_set(error, ERROR_FEED, "%.150s: over %zu bytes", file->path, FILE_BYTES_MAX);
	else if (!(text = arena_alloc(arena, (size_t)size + 1)))
		error_set(error, ERROR_FEED, "%.150s: no memory", file->path);
	if (text) {
		*length = fread(text, 1, (size_t)size, stream);
		if (*length != (size_t)size || fgetc(stream) != EOF) {
			error_set(error, ERROR_FEED, "%.150s: changed while it was read",
				  file->path);
			text = NULL;
		}
	}
	fclose(stream);
	return text;
}

/* What became of one provider's rows of a file. */
struct told {
	const char *provider, *outcome, *detail;
	const struct price_list *list; /* NULL = none was read */
	struct store_outcome stored;
};

static void tell(struct store *store, const struct file *file, const struct told *told,
		 FILE *report)
{
	const struct normalise_report none = {0};
	const struct normalise_report *rows = told->list ? &told->list->report : &none;
	char rejections[FEED_REJECTIONS_TEXT] = "";
	const struct store_run run = {
		.provider = told->provider,
		.source = file->source,
		.started_us = clock_wall_us(),
		.finished_us = clock_wall_us(),
		.outcome = told->outcome,
		.detail = told->detail,
		.refresh_seconds = CONFIRM_SECONDS,
		.rows_seen = told->list ? told->list->feed.rows_seen : 0,
		.rows_accepted = rows->accepted,
		.rows_rejected = rows->rejected,
		.rows_unmapped = rows->unmapped,
		.rejections = told->list ? feed_rejections(&told->list->feed, rejections,
							   sizeof(rejections))
					 : "",
		.inserted = told->stored.inserted,
		.changed = told->stored.changed,
		.unchanged = told->stored.unchanged,
		.withdrawn = told->stored.withdrawn,
	};
	struct error error;

	error_init(&error, NULL);
	if (!store_record_run(store, &run, &error))
		log_event(LOG_ERROR, "run not recorded", "source", file->source, "detail",
			  error.detail, NULL);
	log_event(strcmp(told->outcome, "ok") == 0 ? LOG_INFO : LOG_WARNING, "price file read",
		  "provider", told->provider, "source", file->source, "outcome", told->outcome,
		  "detail", told->detail, NULL);
	if (report)
		fprintf(report,
			"%s, %s: %s, %" PRId64 " rows, %" PRId64 " taken, %" PRId64
			" refused, %" PRId64 " unmapped%s%s\n",
			file->source, told->provider, told->outcome, run.rows_seen,
			run.rows_accepted, run.rows_rejected, run.rows_unmapped,
			*told->detail ? ": " : "", told->detail);
}

static bool store_list(struct store *store, const struct file *file, const struct price_list *list,
		       FILE *report, struct error *error)
{
	const struct store_refresh refresh = {
		.provider = list->provider,
		.source = file->source,
		.offers = list->feed.offers,
		.offers_count = list->feed.count,
		.observed_at_us = list->feed.now_us,
		.unmapped = list->report.unmapped_list,
		.unmapped_count = list->report.unmapped_count,
	};
	struct told told = {.provider = list->provider,
			    .outcome = "ok",
			    .detail = list->feed.first_rejection,
			    .list = list};

	if (!store_apply(store, &refresh, &told.stored, error))
		return false;
	tell(store, file, &told, report);
	return true;
}

static bool has_provider(const struct price_list *list, const char *provider)
{
	while (list && strcmp(list->provider, provider) != 0)
		list = list->next;
	return list != NULL;
}

/* Rows of a source for providers that it no longer has, all of them when `list` is NULL. */
static bool withdraw(struct store *store, const char *source, const struct price_list *list,
		     struct arena *arena, struct error *error)
{
	struct store_source *sources;
	size_t count;

	if (!store_read_sources(store, source, arena, &sources, &count, error))
		return false;
	for (size_t i = 0; i < count; i++)
		if (strcmp(sources[i].source, source) == 0 &&
		    !has_provider(list, sources[i].provider) &&
		    !apply_retire(store, sources[i].provider, source,
				  "no longer in the file, or the file no longer named", error))
			return false;
	return true;
}

static bool apply_text(struct store *store, const struct file *file, const char *text,
		       size_t length, struct arena *arena, FILE *report, struct error *error)
{
	const struct price_list_options options = {
		.provider = *file->provider ? file->provider : NULL,
		.source = file->source,
		.tier = TIER,
		.now_us = clock_wall_us(),
	};
	struct price_list *list;

	if (!price_list_read(text, length, &options, arena, &list, error)) {
		const struct told told = {.provider =
						  *file->provider ? file->provider : NO_PROVIDER,
					  .outcome = "parse",
					  .detail = error->detail};

		tell(store, file, &told, report);
		return false;
	}
	if (!withdraw(store, file->source, list, arena, error))
		return false;
	for (const struct price_list *at = list; at; at = at->next)
		if (!store_list(store, file, at, report, error))
			return false;
	return true;
}

static struct look look_at(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return (struct look){0};
	return (struct look){true, status.st_ctim, status.st_size, status.st_ino};
}

static bool is_as_it_was(const struct look *a, const struct look *b)
{
	return a->is_there == b->is_there && a->size == b->size && a->inode == b->inode &&
	       a->changed_at.tv_sec == b->changed_at.tv_sec &&
	       a->changed_at.tv_nsec == b->changed_at.tv_nsec;
}

static bool apply_file(struct store *store, struct file *file, FILE *report, struct error *error)
{
	const struct look now = look_at(file->path);
	struct arena arena;
	size_t length;
	char *text;
	bool ok = false;

	/* Good, bad or gone, it is told when that changes, or after a while. */
	if (file->due_us > clock_monotonic_us() && is_as_it_was(&now, &file->looked))
		return true;
	file->looked = now;
	file->due_us = clock_monotonic_us() + CONFIRM_SECONDS * US_PER_SECOND;
	arena_init(&arena, ARENA_BYTES_MAX);
	text = read_whole(file, now.size, &arena, &length, error);
	if (text) {
		ok = apply_text(store, file, text, length, &arena, report, error);
	} else {
		const struct told told = {.provider =
						  *file->provider ? file->provider : NO_PROVIDER,
					  .outcome = "file",
					  .detail = error->detail};

		tell(store, file, &told, report);
	}
	arena_release(&arena);
	return ok;
}

/* Sources of files that are no longer named. */
static bool withdraw_unnamed(const struct files *files, struct store *store, struct error *error)
{
	struct store_source *sources;
	struct arena arena;
	size_t count;
	bool ok;

	arena_init(&arena, ARENA_BYTES_MAX);
	ok = store_read_sources(store, PREFIX, &arena, &sources, &count, error);
	for (size_t i = 0; ok && i < count; i++) {
		size_t f = 0;

		while (f < files->count && strcmp(files->list[f].source, sources[i].source) != 0)
			f++;
		ok = f < files->count || withdraw(store, sources[i].source, NULL, &arena, error);
	}
	arena_release(&arena);
	return ok;
}

bool files_apply(struct files *files, struct store *store, FILE *report, struct error *error)
{
	bool ok = files->is_pruned || withdraw_unnamed(files, store, error);

	files->is_pruned = ok;
	for (size_t i = 0; i < files->count; i++) {
		struct error own;

		error_init(&own, NULL);
		if (apply_file(store, &files->list[i], report, &own))
			continue;
		ok = false;
		if (!error_is_set(error))
			error_set(error, own.code, "%s", own.detail);
	}
	return ok;
}
