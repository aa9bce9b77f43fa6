/* Reading a catalogue from disk, or refusing it: see snapshot_format.h. */
#include "server/snapshot_format.h"

#include "core/hash.h"
#include "server/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((off_t)8 << 30)
#define ARENA_BYTES ((size_t)16 << 30)

/* Reads what must be there; past the end it fails for good and hands out zeros. */
struct cursor {
	const unsigned char *bytes;
	size_t length, at;
	bool failed;
	const char **texts;
	uint32_t texts_count;
};

static uint64_t take_number(struct cursor *cursor, size_t width)
{
	uint64_t value = 0;

	if (width > cursor->length - cursor->at) {
		cursor->failed = true;
		return 0;
	}
	for (size_t i = 0; i < width; i++)
		value |= (uint64_t)cursor->bytes[cursor->at + i] << (8 * i);
	cursor->at += width;
	return value;
}

static int64_t take64(struct cursor *cursor)
{
	return (int64_t)take_number(cursor, 8);
}

static int32_t take32(struct cursor *cursor)
{
	return (int32_t)take_number(cursor, 4);
}

static double take_double(struct cursor *cursor)
{
	uint64_t bits = take_number(cursor, 8);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static const char *take_text(struct cursor *cursor)
{
	uint32_t number = (uint32_t)take32(cursor);

	if (number >= cursor->texts_count) {
		cursor->failed = true;
		return "";
	}
	return cursor->texts[number];
}

/* How many rows follow; more than the bytes left could hold is a fault, not an allocation. */
static uint32_t take_count(struct cursor *cursor, size_t row_bytes_min)
{
	uint32_t count = (uint32_t)take32(cursor);

	if (count > (cursor->length - cursor->at) / row_bytes_min) {
		cursor->failed = true;
		return 0;
	}
	return count;
}

/* Strings stay where they are: each is followed by its terminator. */
static bool take_strings(struct cursor *cursor, struct arena *arena)
{
	uint32_t count = take_count(cursor, 5);

	cursor->texts = arena_array(arena, count, sizeof(*cursor->texts));
	for (uint32_t i = 0; i < count && cursor->texts; i++) {
		size_t length = (uint32_t)take32(cursor);
		const char *text = (const char *)cursor->bytes + cursor->at;

		if (cursor->failed || length >= cursor->length - cursor->at ||
		    memchr(text, '\0', length + 1) != text + length)
			return false;
		cursor->at += length + 1;
		cursor->texts[i] = text;
	}
	cursor->texts_count = count;
	return cursor->texts && !cursor->failed;
}

static void take_offer(struct cursor *cursor, struct offer *out)
{
	out->id = (uint64_t)take64(cursor);
#define X(name) out->name = take_text(cursor);
	OFFER_TEXT_FIELDS(X)
#undef X
	out->count_milli = take32(cursor);
	out->price_kind = (enum price_kind)take32(cursor);
	out->term_months = take32(cursor);
	out->is_mapped = take32(cursor) != 0;
	out->memory_gb = take_double(cursor);
	out->vcpus = take_double(cursor);
	out->ram_gib = take_double(cursor);
	out->disk_gb = take_double(cursor);
	out->price_micros = take64(cursor);
	out->upfront_micros = take64(cursor);
	out->availability = (enum availability)take32(cursor);
	out->quantity = take32(cursor);
	out->observed_at_us = take64(cursor);
	out->first_seen_us = take64(cursor);
	out->last_seen_us = take64(cursor);
	out->version = take64(cursor);
	out->public_version = take64(cursor);
	out->interruption_band = take32(cursor);
	if ((unsigned)out->price_kind >= PRICE_KINDS ||
	    (unsigned)out->availability >= AVAILABILITIES)
		cursor->failed = true;
}

static void take_provider(struct cursor *cursor, struct provider_status *out)
{
	out->provider = take_text(cursor);
	out->source = take_text(cursor);
	out->outcome = take_text(cursor);
	out->detail = take_text(cursor);
	out->last_attempt_us = take64(cursor);
	out->last_success_us = take64(cursor);
	out->refresh_seconds = take64(cursor);
	out->rows_seen = take64(cursor);
	out->rows_accepted = take64(cursor);
	out->rows_rejected = take64(cursor);
	out->rows_unmapped = take64(cursor);
	out->rejections = take_text(cursor);
	out->rows_usual = take64(cursor);
	out->offers = take64(cursor);
	out->is_stale = take64(cursor) != 0;
}

static struct offer *take_offers(struct cursor *cursor, struct arena *arena, size_t *count)
{
	struct offer *offers;

	*count = take_count(cursor, 17 * 4 + 13 * 8);
	offers = arena_array(arena, *count, sizeof(*offers));
	for (size_t i = 0; i < *count && offers; i++)
		take_offer(cursor, &offers[i]);
	return offers;
}

static bool take_rows(struct cursor *cursor, struct arena *arena, struct catalogue_input *out)
{
	struct offer *offers, *gone;
	struct provider_status *providers;
	struct unmapped *unmapped;

	out->epoch = take_text(cursor);
	out->version = take64(cursor);
	out->as_of_us = take64(cursor);
	out->built_at_us = take64(cursor);
	offers = take_offers(cursor, arena, &out->offers_count);
	out->changes_from = take64(cursor);
	gone = take_offers(cursor, arena, &out->gone_count);
	out->providers_count = take_count(cursor, 5 * 4 + 10 * 8);
	providers = arena_array(arena, out->providers_count, sizeof(*providers));
	for (size_t i = 0; i < out->providers_count && providers; i++)
		take_provider(cursor, &providers[i]);
	out->unmapped_count = take_count(cursor, 3 * 4 + 3 * 8);
	unmapped = arena_array(arena, out->unmapped_count, sizeof(*unmapped));
	for (size_t i = 0; i < out->unmapped_count && unmapped; i++) {
		unmapped[i].provider = take_text(cursor);
		unmapped[i].spelling = take_text(cursor);
		unmapped[i].rows = take64(cursor);
		unmapped[i].first_seen_us = take64(cursor);
		unmapped[i].last_seen_us = take64(cursor);
		unmapped[i].is_private = take32(cursor) != 0;
	}
	out->offers = offers;
	out->gone = gone;
	out->providers = providers;
	out->unmapped = unmapped;
	return offers && gone && providers && unmapped && !cursor->failed &&
	       cursor->at == cursor->length;
}

/* The whole file, malloc'ed, or NULL. */
static unsigned char *read_file(const char *path, size_t *length, struct error *error)
{
	/* Without a wait for the writer of a pipe that has this name: a stop would wait with it. */
	int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unsigned char *bytes = NULL;
	size_t filled = 0;
	struct stat status;

	if (file < 0 || fstat(file, &status) != 0) {
		error_set(error, ERROR_NOT_FOUND, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(status.st_mode) || status.st_size < SNAPSHOT_HEADER_BYTES ||
	    status.st_size > FILE_BYTES_MAX) {
		error_set(error, ERROR_MALFORMED, "%s is no snapshot", path);
		goto out;
	}
	*length = (size_t)status.st_size;
	bytes = malloc(*length);
	while (bytes && filled < *length) {
		ssize_t got = read(file, bytes + filled, *length - filled);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		filled += (size_t)got;
	}
	if (!bytes || filled < *length) {
		error_set(error, ERROR_INTERNAL, "%s cannot be read", path);
		free(bytes);
		bytes = NULL;
	}
out:
	if (file >= 0)
		close(file);
	return bytes;
}

static bool check_header(struct cursor *cursor, const char *path, struct error *error)
{
	uint64_t format, length;

	if (memcmp(cursor->bytes, SNAPSHOT_MAGIC, SNAPSHOT_MAGIC_BYTES) != 0)
		return error_set(error, ERROR_MALFORMED, "%s is no snapshot", path);
	cursor->at = SNAPSHOT_MAGIC_BYTES;
	format = take_number(cursor, 4);
	if (format != SNAPSHOT_FORMAT)
		return error_set(error, ERROR_MALFORMED, "%s has format %u, this program reads %u",
				 path, (unsigned)format, SNAPSHOT_FORMAT);
	length = take_number(cursor, 8);
	if (length != cursor->length - SNAPSHOT_HEADER_BYTES)
		return error_set(error, ERROR_MALFORMED, "%s is cut off", path);
	if (take_number(cursor, 8) != hash_bytes(HASH_START, cursor->bytes + cursor->at, length))
		return error_set(error, ERROR_MALFORMED, "%s is damaged", path);
	return true;
}

struct catalogue *snapshot_load(const char *path, struct error *error)
{
	struct catalogue *catalogue = NULL;
	struct catalogue_input input = {.offers_count = 0};
	struct cursor cursor = {.at = 0};
	struct arena arena;
	unsigned char *bytes = read_file(path, &cursor.length, error);

	if (!bytes)
		return NULL;
	cursor.bytes = bytes;
	arena_init(&arena, ARENA_BYTES);
	if (check_header(&cursor, path, error)) {
		if (take_strings(&cursor, &arena) && take_rows(&cursor, &arena, &input))
			catalogue = catalogue_build(&input, error);
		else
			error_set(error, ERROR_MALFORMED, "%s is damaged", path);
	}
	arena_release(&arena);
	free(bytes);
	return catalogue;
}
