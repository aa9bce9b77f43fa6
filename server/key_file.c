/* Key files: see key_file.h. */
#include "server/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEYS_MOST 100000

void key_list_free(struct key_list *list)
{
	free(list->keys);
	*list = (struct key_list){.count = 0};
}

static int compare_ids(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	return strcmp(a->id, b->id);
}

void key_list_sort(struct key_list *list)
{
	if (list->count)
		qsort(list->keys, list->count, sizeof(*list->keys), compare_ids);
}

const struct key *key_list_find(const struct key_list *list, const char *id)
{
	struct key wanted = {.scopes = 0};

	snprintf(wanted.id, sizeof(wanted.id), "%s", id);
	return list->count
		       ? bsearch(&wanted, list->keys, list->count, sizeof(*list->keys), compare_ids)
		       : NULL;
}

static bool add(struct key_list *list, size_t *capacity, const struct key *key)
{
	if (list->count == *capacity) {
		size_t more = *capacity ? 2 * *capacity : 64;
		struct key *grown = realloc(list->keys, more * sizeof(*grown));

		if (!grown)
			return false;
		list->keys = grown;
		*capacity = more;
	}
	list->keys[list->count++] = *key;
	return true;
}

static bool read_lines(FILE *file, const char *path, struct key_list *out, struct error *error)
{
	char line[KEY_LINE_TEXT];
	size_t capacity = 0, number = 0;

	while (fgets(line, sizeof(line), file)) {
		struct error inner;
		struct key key;
		size_t blank = strspn(line, " \t\r\n");

		number++;
		if (!line[blank] || line[blank] == '#')
			continue;
		error_init(&inner, NULL);
		if (!strchr(line, '\n') && strlen(line) == sizeof(line) - 1)
			error_set(&inner, ERROR_INVALID, "the line is too long");
		else
			key_parse_line(line, &key, &inner);
		if (error_is_set(&inner))
			return error_set(error, ERROR_INVALID, "%s, line %zu: %s", path, number,
					 inner.detail);
		if (out->count == KEYS_MOST || !add(out, &capacity, &key))
			return error_set(error, ERROR_INTERNAL, "%s: too many keys", path);
	}
	return !ferror(file) || error_set(error, ERROR_INTERNAL, "%s cannot be read", path);
}

static bool check_twins(const char *path, const struct key_list *list, struct error *error)
{
	for (size_t i = 1; i < list->count; i++)
		if (strcmp(list->keys[i - 1].id, list->keys[i].id) == 0)
			return error_set(error, ERROR_INVALID, "%s: two keys have the id %s", path,
					 list->keys[i].id);
	return true;
}

bool key_file_read(const char *path, struct key_list *out, struct error *error)
{
	/* Without a wait for the writer of a pipe that has this name. */
	int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r");
	struct stat status;
	bool is_good;

	*out = (struct key_list){.count = 0};
	if (!file) {
		error_set(error, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_INVALID, "%s: %s", path,
			  strerror(errno));
		if (descriptor >= 0)
			close(descriptor);
		return false;
	}
	is_good = (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) ||
		  error_set(error, ERROR_INVALID, "%s is no regular file", path);
	is_good = is_good && read_lines(file, path, out, error);
	fclose(file);
	key_list_sort(out);
	is_good = is_good && check_twins(path, out, error);
	if (!is_good)
		key_list_free(out);
	return is_good;
}

static bool stat_folder(const char *path, struct stat *out)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	bool done = folder && stat(folder, out) == 0;

	free(folder);
	return done;
}

/* As the file that it replaces, a new one as its folder: a service that runs without rights reads
 * what root writes. Who may not give files away keeps them. */
static bool hand_over(int descriptor, const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0) {
		if (fchmod(descriptor, status.st_mode & 0777) != 0)
			return false;
	} else if (!stat_folder(path, &status)) {
		return true;
	}
	return fchown(descriptor, status.st_uid, status.st_gid) == 0 || errno == EPERM ||
	       errno == EINVAL; /* an owner that this user namespace does not know */
}

bool key_file_write(const char *path, const struct key_list *list, struct error *error)
{
	char *beside = NULL, line[KEY_LINE_TEXT];
	FILE *file = NULL;
	int descriptor = -1;
	bool done = asprintf(&beside, "%s.XXXXXX", path) >= 0;

	if (done)
		descriptor = mkostemp(beside, O_CLOEXEC); /* 0600 */
	file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
	done = file && fputs("# gpupick API keys: id, SHA-256, scopes, created, expires, name\n",
			     file) >= 0;
	for (size_t i = 0; i < list->count && done; i++) {
		if (list->keys[i].revoked_us)
			continue;
		key_format_line(&list->keys[i], line);
		done = fputs(line, file) >= 0;
	}
	done = done && fflush(file) == 0 && hand_over(descriptor, path) && fsync(descriptor) == 0;
	if (file)
		done = fclose(file) == 0 && done;
	else if (descriptor >= 0)
		close(descriptor);
	done = done && rename(beside, path) == 0;
	if (!done) {
		error_set(error, ERROR_INTERNAL, "%s: %s", path, strerror(errno));
		if (descriptor >= 0)
			unlink(beside);
	}
	free(beside);
	return done;
}
