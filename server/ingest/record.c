/* Record: raw payloads as they came, for fixtures and for debugging a feed (`gpupick parse`). */
#include "server/ingest/harvest.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int file, const char *bytes, size_t length)
{
	while (length) {
		ssize_t written = write(file, bytes, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		bytes += written;
		length -= (size_t)written;
	}
	return true;
}

bool record_write(const char *folder, const char *provider, const char *label, size_t offset,
		  const char *body, size_t length, struct error *error)
{
	char path[4096];
	int file, stem;

	if (mkdir(folder, 0755) != 0 && errno != EEXIST)
		return error_set(error, ERROR_FEED, "cannot make %.150s: %s", folder,
				 strerror(errno));
	stem = snprintf(path, sizeof(path), "%s/", folder);
	if (stem < 0 || (size_t)snprintf(path + stem, sizeof(path) - (size_t)stem, "%s-%s.json",
					 provider, label) >= sizeof(path) - (size_t)stem)
		return error_set(error, ERROR_FEED, "the name of the record folder is too long");
	/* A label may carry a provider's own words (a region): nothing that leaves the folder. */
	for (char *c = path + stem; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-')
			*c = '_';
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (offset ? O_APPEND : O_TRUNC), 0644);
	if (file < 0)
		return error_set(error, ERROR_FEED, "cannot write %.150s: %s", path,
				 strerror(errno));
	if (!write_all(file, body, length)) {
		close(file);
		return error_set(error, ERROR_FEED, "cannot write %.150s: %s", path,
				 strerror(errno));
	}
	return close(file) == 0 ||
	       error_set(error, ERROR_FEED, "cannot write %.150s: %s", path, strerror(errno));
}
