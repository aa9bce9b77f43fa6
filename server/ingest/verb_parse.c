/*
 * gpupick parse: what recorded payloads would become, without network or database. Files that
 * `ingest --record` wrote say by their names which page they are; --page names the kind for others.
 */
#include "server/ingest/ingest.h"

#include "core/terms.h"
#include "server/clock.h"
#include "server/json/writer.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_BYTES_MAX ((size_t)64 << 20)
#define PIECE_BYTES ((size_t)64 << 10)
#define FEED_BYTES_MAX ((size_t)512 << 20)
#define LINE_BYTES_MAX ((size_t)16 << 10)

static char *read_all(FILE *file, size_t *length)
{
	size_t capacity = (size_t)1 << 16;
	char *bytes = malloc(capacity);

	*length = 0;
	while (bytes) {
		*length += fread(bytes + *length, 1, capacity - 1 - *length, file);
		if (*length < capacity - 1 || capacity > INPUT_BYTES_MAX)
			break;
		capacity *= 2;
		char *grown = realloc(bytes, capacity);
		if (!grown)
			free(bytes);
		bytes = grown;
	}
	if (bytes && (ferror(file) || !feof(file))) {
		free(bytes);
		bytes = NULL;
	}
	if (bytes)
		bytes[*length] = '\0';
	return bytes;
}

/* The kind by number or by name; -1 when there is none such. */
static int find_page(const struct provider *provider, const char *text)
{
	for (int page = 0; provider->pages[page]; page++) {
		char number[12];

		snprintf(number, sizeof(number), "%d", page);
		if (strcmp(text, number) == 0 || strcmp(text, provider->pages[page]) == 0)
			return page;
	}
	return -1;
}

/* "vultr-availability-ewr.json" is of the kind "availability"; 0 when the name says nothing. */
static int page_of_label(const struct provider *provider, const char *label)
{
	for (int page = 0; provider->pages[page]; page++) {
		size_t length = strlen(provider->pages[page]);

		if (strncmp(label, provider->pages[page], length) == 0 &&
		    (!label[length] || label[length] == '-'))
			return page;
	}
	return 0;
}

static const char *label_of_file(struct feed *feed, const struct provider *provider,
				 const char *path)
{
	char *copy = arena_strdup(feed->arena, path), *label, *dot;
	size_t length = strlen(provider->id);

	if (!copy)
		return "";
	label = basename(copy);
	if (strncmp(label, provider->id, length) == 0 && label[length] == '-')
		label += length + 1;
	dot = strrchr(label, '.');
	if (dot)
		*dot = '\0';
	return label;
}

/* Closes the file. */
static bool parse_stream(struct feed *feed, const struct provider *provider,
			 const struct fetch_request *request, FILE *file, struct error *error)
{
	const struct fetch_response response = {
		.status = 200, .body = "", .content_type = "", .link = "", .reason = ""};
	char *piece = malloc(PIECE_BYTES);
	size_t offset = 0, length;
	bool ok = piece != NULL || error_set(error, ERROR_INTERNAL, "no memory");

	while (ok && (length = fread(piece, 1, PIECE_BYTES, file)) > 0) {
		ok = provider->chunk(feed, request, offset, piece, length, error);
		offset += length;
	}
	if (ok && ferror(file))
		ok = error_set(error, ERROR_NOT_FOUND, "%.60s cannot be read", request->label);
	free(piece);
	if (file != stdin)
		fclose(file);
	return ok && provider->parse(feed, request, &response, error);
}

static bool parse_file(struct feed *feed, const struct provider *provider, const char *path,
		       int page, struct error *error)
{
	bool is_input = strcmp(path, "-") == 0;
	FILE *file = is_input ? stdin : fopen(path, "re");
	struct fetch_request request = {.method = "GET", .url = "", .page = page};
	struct fetch_response response = {
		.status = 200, .content_type = "", .link = "", .reason = ""};
	char *bytes;
	bool ok;

	if (!file)
		return error_set(error, ERROR_NOT_FOUND, "%.150s: %s", path, strerror(errno));
	request.label = is_input ? "-" : label_of_file(feed, provider, path);
	if (provider->chunk && page == provider->streamed_page)
		return parse_stream(feed, provider, &request, file, error);
	bytes = read_all(file, &response.length);
	if (!is_input)
		fclose(file);
	if (!bytes)
		return error_set(error, ERROR_TOO_LARGE,
				 "%.150s cannot be read, or is over %zu MiB", path,
				 INPUT_BYTES_MAX >> 20);
	response.body = bytes;
	ok = provider->parse(feed, &request, &response, error);
	free(bytes);
	return ok;
}

static void put_number(struct writer *writer, const char *name, double value)
{
	writer_key(writer, name);
	if (value > 0)
		writer_number(writer, value, 3);
	else
		writer_null(writer);
}

static void put_text(struct writer *writer, const char *name, const char *value)
{
	writer_key(writer, name);
	writer_string(writer, value);
}

static bool print_offer(const struct offer *offer, FILE *stream)
{
	char id[OFFER_ID_TEXT];
	struct writer writer;
	size_t length;
	char *line;

	offer_id_format(offer->id, id);
	writer_init(&writer, LINE_BYTES_MAX);
	writer_begin_object(&writer);
	put_text(&writer, "id", id);
	put_text(&writer, "provider", offer->provider);
	put_text(&writer, "region", offer->region);
	put_text(&writer, "zone", offer->zone);
	put_text(&writer, "instance_type", offer->instance_type);
	put_text(&writer, "accelerator", offer->accelerator);
	writer_key(&writer, "is_mapped");
	writer_bool(&writer, offer->is_mapped);
	put_number(&writer, "count", (double)offer->count_milli / COUNT_MILLI_ONE);
	put_text(&writer, "tier", offer->tier);
	put_text(&writer, "price_kind", names_text(&price_kind_names, (int)offer->price_kind));
	writer_key(&writer, "term_months");
	writer_integer(&writer, offer->term_months);
	writer_key(&writer, "price_usd_per_hour");
	writer_micros(&writer, offer->price_micros);
	put_text(&writer, "price_basis", offer->price_basis);
	put_text(&writer, "original_currency", offer->original_currency);
	put_text(&writer, "original_amount", offer->original_amount);
	put_number(&writer, "memory_gb", offer->memory_gb);
	put_number(&writer, "vcpus", offer->vcpus);
	put_number(&writer, "ram_gib", offer->ram_gib);
	put_number(&writer, "disk_gb", offer->disk_gb);
	put_text(&writer, "interconnect", offer->interconnect);
	put_text(&writer, "country", offer->country);
	put_text(&writer, "availability",
		 names_text(&availability_names, (int)offer->availability));
	writer_key(&writer, "quantity");
	if (offer->quantity >= 0)
		writer_integer(&writer, offer->quantity);
	else
		writer_null(&writer);
	put_text(&writer, "interruption_band", terms_band_text(offer->interruption_band));
	put_text(&writer, "source", offer->source);
	writer_end_object(&writer);
	line = writer_take(&writer, &length);
	if (!line) {
		writer_release(&writer);
		return false;
	}
	fprintf(stream, "%s\n", line);
	free(line);
	return true;
}

static void print_counts(const struct feed *feed, const struct normalise_report *report)
{
	fprintf(stderr, "%lld rows seen, %lld taken, %lld unmapped", (long long)feed->rows_seen,
		(long long)report->accepted, (long long)report->unmapped);
	for (int reason = 0; reason < REJECTIONS; reason++)
		if (feed->rejected[reason])
			fprintf(stderr, ", %lld refused: %s", (long long)feed->rejected[reason],
				rejection_names[reason]);
	fprintf(stderr, "\n");
	if (feed->first_rejection[0])
		fprintf(stderr, "first refused: %s\n", feed->first_rejection);
	for (size_t i = 0; i < report->unmapped_count; i++)
		fprintf(stderr, "unmapped: \"%s\" (%lld rows)\n", report->unmapped_list[i].spelling,
			(long long)report->unmapped_list[i].rows);
}

/* argv without "--page KIND", which goes to *page (-1 when it is not there), and "--euro RATE". */
static bool take_options(const struct provider *provider, int *argc, char **argv, int *page,
			 struct exchange *euro, struct error *error)
{
	int kept = 0;

	*page = -1;
	for (int i = 0; i < *argc; i++) {
		const char *value = i + 1 < *argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--page") == 0) {
			*page = find_page(provider, value);
			if (*page < 0)
				return error_set(error, ERROR_INVALID, "no such page: %.60s",
						 value);
			i++;
		} else if (strcmp(argv[i], "--euro") == 0) {
			euro->usd_micros = price_parse(value);
			if (euro->usd_micros == PRICE_UNKNOWN)
				return error_set(error, ERROR_INVALID,
						 "--euro takes the dollars of a euro: \"%.60s\"",
						 value);
			i++;
		} else {
			argv[kept++] = argv[i];
		}
	}
	*argc = kept;
	return true;
}

/* Says whose rate a price in euros was worked out with: not the ECB's, as in the worker. */
static void tell_euro(struct feed *feed, bool is_needed)
{
	size_t worked_out = 0;

	for (size_t i = 0; i < feed->count; i++) {
		struct offer *offer = &feed->offers[i];
		const char *bank = strstr(offer->price_basis, " (ECB ");

		if (!bank || strcmp(offer->original_currency, "EUR") != 0)
			continue;
		worked_out++;
		offer->price_basis = feed_text(feed, arena_printf(feed->arena, "%.*s (as given)",
								  (int)(bank - offer->price_basis),
								  offer->price_basis));
	}
	if (worked_out)
		fprintf(stderr, "%zu prices at %.6g USD a euro, as given\n", worked_out,
			usd_from_micros(feed->euro.usd_micros));
	else if (is_needed && feed->euro.usd_micros <= 0)
		fprintf(stderr, "no rate for prices in euros, which are unknown so: --euro RATE\n");
}

/* In the order of a walk, whatever the order of the files: later pages refer to earlier ones. */
static bool parse_files(struct feed *feed, const struct provider *provider, int argc, char **argv,
			struct error *error)
{
	int page;

	if (!take_options(provider, &argc, argv, &page, &feed->euro, error))
		return false;
	if (!argc && !parse_file(feed, provider, "-", page >= 0 ? page : 0, error))
		return false;
	for (int kind = 0; provider->pages[kind]; kind++)
		for (int i = 0; i < argc; i++) {
			const char *label = label_of_file(feed, provider, argv[i]);

			if ((page >= 0 ? page : page_of_label(provider, label)) == kind &&
			    !parse_file(feed, provider, argv[i], kind, error))
				return false;
		}
	return !provider->finish || provider->finish(feed, error);
}

int ingest_verb_parse(const struct config *config, int argc, char **argv)
{
	const struct provider *provider = argc > 0 ? provider_find(argv[0]) : NULL;
	struct normalise_report report;
	struct arena arena;
	struct error error;
	struct feed feed;
	bool ok;

	(void)config;
	if (!provider) {
		fprintf(stderr,
			"usage: gpupick parse PROVIDER [--page KIND] [--euro RATE] [FILE...]\n"
			"providers:");
		for (size_t i = 0; i < providers_count; i++)
			fprintf(stderr, " %s",
				provider_find(providers[i]->id) == providers[i]
					? providers[i]->id
					: providers[i]->source);
		fprintf(stderr, "\n");
		return 2;
	}
	arena_init(&arena, FEED_BYTES_MAX);
	error_init(&error, NULL);
	/* As under an override, since nothing is fetched: a recording may come from any server. */
	feed = (struct feed){.arena = &arena,
			     .base_url = provider->base_url,
			     .base_url_is_override = true,
			     .memo = "",
			     .now_us = clock_wall_us()};
	ok = parse_files(&feed, provider, argc - 1, argv + 1, &error) &&
	     normalise(provider, &feed, &report, &error);
	if (ok) {
		tell_euro(&feed, provider->needs_euro);
		for (size_t i = 0; ok && i < feed.count; i++)
			ok = print_offer(&feed.offers[i], stdout) ||
			     error_set(&error, ERROR_INTERNAL, "no memory");
		print_counts(&feed, &report);
	}
	if (!ok)
		fprintf(stderr, "gpupick parse %s: %s\n", provider->id, error.detail);
	arena_release(&arena);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
