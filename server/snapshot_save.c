/* Writing a catalogue to disk: see snapshot_format.h. */
#include "server/snapshot_format.h"

#include "core/hash.h"
#include "server/snapshot.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A growing buffer; the first failure sticks. */
struct buffer {
	unsigned char *bytes;
	size_t length, capacity;
	bool failed;
};

static void put(struct buffer *buffer, const void *bytes, size_t length)
{
	if (buffer->failed)
		return;
	if (length > buffer->capacity - buffer->length) {
		size_t capacity = 2 * buffer->capacity + length;
		unsigned char *grown = realloc(buffer->bytes, capacity);

		if (!grown) {
			buffer->failed = true;
			return;
		}
		buffer->bytes = grown;
		buffer->capacity = capacity;
	}
	memcpy(buffer->bytes + buffer->length, bytes, length);
	buffer->length += length;
}

static void put_number(struct buffer *buffer, uint64_t value, size_t width)
{
	uint64_t wire = htole64(value); /* the low bytes come first */

	put(buffer, &wire, width);
}

static void put64(struct buffer *buffer, int64_t value)
{
	put_number(buffer, (uint64_t)value, 8);
}

static void put32(struct buffer *buffer, uint32_t value)
{
	put_number(buffer, value, 4);
}

static void put_double(struct buffer *buffer, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_number(buffer, bits, 8);
}

/* Strings by number. `slots` is a hash table of numbers + 1. */
struct strings {
	struct buffer bytes; /* length, text and terminator of each */
	const char **texts;
	uint32_t *slots;
	size_t count, capacity; /* of slots; a power of two, twice the texts */
	bool failed;
};

static bool strings_grow(struct strings *strings)
{
	size_t capacity = strings->capacity ? 2 * strings->capacity : 1024;
	uint32_t *slots = calloc(capacity, sizeof(*slots));
	const char **texts = realloc(strings->texts, capacity / 2 * sizeof(*texts));

	if (texts)
		strings->texts = texts;
	if (!slots || !texts) {
		free(slots);
		return false;
	}
	for (size_t i = 0; i < strings->count; i++) {
		size_t slot = hash_bytes(HASH_START, texts[i], strlen(texts[i]));

		while (slots[slot & (capacity - 1)])
			slot++;
		slots[slot & (capacity - 1)] = (uint32_t)i + 1;
	}
	free(strings->slots);
	strings->slots = slots;
	strings->capacity = capacity;
	return true;
}

static uint32_t string_number(struct strings *strings, const char *text)
{
	size_t length = strlen(text), slot = hash_bytes(HASH_START, text, length);

	if (2 * strings->count >= strings->capacity && !strings_grow(strings)) {
		strings->failed = true;
		return 0;
	}
	for (;; slot++) {
		uint32_t number = strings->slots[slot & (strings->capacity - 1)];

		if (number == 0)
			break;
		if (strcmp(strings->texts[number - 1], text) == 0)
			return number - 1;
	}
	strings->texts[strings->count] = text;
	strings->slots[slot & (strings->capacity - 1)] = (uint32_t)++strings->count;
	put32(&strings->bytes, (uint32_t)length);
	put(&strings->bytes, text, length + 1);
	return (uint32_t)strings->count - 1;
}

struct saving {
	struct buffer rows;
	struct strings strings;
};

static void save_text(struct saving *saving, const char *text)
{
	put32(&saving->rows, string_number(&saving->strings, text));
}

static void save_offer(struct saving *saving, const struct offer *offer)
{
	struct buffer *rows = &saving->rows;

	put64(rows, (int64_t)offer->id);
#define X(name) save_text(saving, offer->name);
	OFFER_TEXT_FIELDS(X)
#undef X
	put32(rows, (uint32_t)offer->count_milli);
	put32(rows, (uint32_t)offer->price_kind);
	put32(rows, (uint32_t)offer->term_months);
	put32(rows, offer->is_mapped);
	put_double(rows, offer->memory_gb);
	put_double(rows, offer->vcpus);
	put_double(rows, offer->ram_gib);
	put_double(rows, offer->disk_gb);
	put64(rows, offer->price_micros);
	put64(rows, offer->upfront_micros);
	put32(rows, (uint32_t)offer->availability);
	put32(rows, (uint32_t)offer->quantity);
	put64(rows, offer->observed_at_us);
	put64(rows, offer->first_seen_us);
	put64(rows, offer->last_seen_us);
	put64(rows, offer->version);
	put64(rows, offer->public_version);
	put32(rows, (uint32_t)offer->interruption_band);
}

static void save_provider(struct saving *saving, const struct provider_status *status)
{
	const int64_t numbers[] = {status->last_attempt_us, status->last_success_us,
				   status->refresh_seconds, status->rows_seen,
				   status->rows_accepted,   status->rows_rejected,
				   status->rows_unmapped};

	save_text(saving, status->provider);
	save_text(saving, status->source);
	save_text(saving, status->outcome);
	save_text(saving, status->detail);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		put64(&saving->rows, numbers[i]);
	save_text(saving, status->rejections);
	put64(&saving->rows, status->rows_usual);
	put64(&saving->rows, status->offers);
	put64(&saving->rows, status->is_stale);
}

static void save_unmapped(struct saving *saving, const struct unmapped *unmapped)
{
	save_text(saving, unmapped->provider);
	save_text(saving, unmapped->spelling);
	put64(&saving->rows, unmapped->rows);
	put64(&saving->rows, unmapped->first_seen_us);
	put64(&saving->rows, unmapped->last_seen_us);
	put32(&saving->rows, unmapped->is_private);
}

static void save_rows(struct saving *saving, const struct catalogue *catalogue)
{
	save_text(saving, catalogue->epoch);
	put64(&saving->rows, catalogue->version);
	put64(&saving->rows, catalogue->as_of_us);
	put64(&saving->rows, catalogue->built_at_us);
	put32(&saving->rows, catalogue->offers_count);
	for (uint32_t i = 0; i < catalogue->offers_count; i++) {
		struct offer offer;

		catalogue_read(catalogue, i, &offer);
		save_offer(saving, &offer);
	}
	put64(&saving->rows, catalogue->changes_from);
	put32(&saving->rows, catalogue->gone_count);
	for (uint32_t i = 0; i < catalogue->gone_count; i++)
		save_offer(saving, &catalogue->gone[i]);
	put32(&saving->rows, catalogue->providers_count);
	for (uint32_t i = 0; i < catalogue->providers_count; i++)
		save_provider(saving, &catalogue->providers[i]);
	put32(&saving->rows, catalogue->unmapped_count);
	for (uint32_t i = 0; i < catalogue->unmapped_count; i++)
		save_unmapped(saving, &catalogue->unmapped[i]);
}

static bool write_bytes(int file, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length > 0) {
		ssize_t written = write(file, at, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		at += written;
		length -= (size_t)written;
	}
	return true;
}

/* Beside, synced, then renamed: a crash leaves the old file or the new one. */
static bool replace_file(const char *path, const struct buffer *content, mode_t mode,
			 struct error *error)
{
	char *beside = NULL;
	bool done;
	int file;

	if (asprintf(&beside, "%s.new", path) < 0)
		return error_set(error, ERROR_INTERNAL, "no memory for a file name");
	unlink(beside); /* one that a crash left may have another mode */
	file = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	done = file >= 0 && write_bytes(file, content->bytes, content->length) && fsync(file) == 0;
	if (file >= 0)
		done = close(file) == 0 && done;
	done = done && rename(beside, path) == 0;
	if (!done) {
		error_set(error, ERROR_INTERNAL, "%s: %s", path, strerror(errno));
		unlink(beside);
	}
	free(beside);
	return done;
}

bool snapshot_save(const struct catalogue *catalogue, const char *path, struct error *error)
{
	static const unsigned char zeros[SNAPSHOT_HEADER_BYTES];
	struct saving saving = {.strings = {.count = 0}};
	struct buffer whole = {.length = 0}, header = {.length = 0};
	bool done = false;

	save_rows(&saving, catalogue);
	put(&whole, zeros, SNAPSHOT_HEADER_BYTES);
	put32(&whole, (uint32_t)saving.strings.count);
	put(&whole, saving.strings.bytes.bytes, saving.strings.bytes.length);
	put(&whole, saving.rows.bytes, saving.rows.length);
	put(&header, SNAPSHOT_MAGIC, SNAPSHOT_MAGIC_BYTES);
	put32(&header, SNAPSHOT_FORMAT);
	if (saving.rows.failed || saving.strings.failed || saving.strings.bytes.failed ||
	    whole.failed || header.failed) {
		error_set(error, ERROR_INTERNAL, "no memory to save the snapshot");
		goto out;
	}
	put_number(&header, whole.length - SNAPSHOT_HEADER_BYTES, 8);
	put_number(&header,
		   hash_bytes(HASH_START, whole.bytes + SNAPSHOT_HEADER_BYTES,
			      whole.length - SNAPSHOT_HEADER_BYTES),
		   8);
	if (header.failed) {
		error_set(error, ERROR_INTERNAL, "no memory to save the snapshot");
		goto out;
	}
	memcpy(whole.bytes, header.bytes, SNAPSHOT_HEADER_BYTES);
	/* A company's own prices are not for every account of the machine. */
	done = replace_file(path, &whole, catalogue->public_view == catalogue ? 0644 : 0640, error);
out:
	free(header.bytes);
	free(whole.bytes);
	free(saving.rows.bytes);
	free(saving.strings.bytes.bytes);
	free(saving.strings.texts);
	free(saving.strings.slots);
	return done;
}
