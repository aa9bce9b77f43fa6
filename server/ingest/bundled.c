#include "server/ingest/bundled.h"

#include "server/clock.h"
#include "server/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUNDLED_BYTES_MAX ((size_t)64 << 20)

/* The columns that the list has, by the names in its first line. */
enum column {
	COLUMN_PROVIDER,
	COLUMN_REGION,
	COLUMN_ZONE,
	COLUMN_INSTANCE_TYPE,
	COLUMN_ACCELERATOR,
	COLUMN_COUNT,
	COLUMN_TIER,
	COLUMN_PRICE_KIND,
	COLUMN_TERM_MONTHS,
	COLUMN_MEMORY_GB,
	COLUMN_VCPUS,
	COLUMN_RAM_GIB,
	COLUMN_DISK_GB,
	COLUMN_PRICE,
	COLUMN_OBSERVED_ON,
	COLUMN_SOURCE,
	COLUMNS
};

static const char *const column_names[COLUMNS] = {
	"provider", "region",  "zone",	     "instance_type",	   "accelerator",
	"count",    "tier",    "price_kind", "term_months",	   "memory_gb",
	"vcpus",    "ram_gib", "disk_gb",    "price_usd_per_hour", "observed_on",
	"source",
};

/* Cuts one field at `*text`, in place; RFC 4180 quoting without line breaks inside. */
static char *cut_field(char **text)
{
	char *start = *text, *from = start, *to = start;

	if (*from != '"') {
		from += strcspn(from, ",");
		to = from;
	} else {
		for (from++; *from; from++) {
			if (*from == '"' && *++from != '"')
				break;
			*to++ = *from;
		}
	}
	*text = *from ? from + 1 : from;
	*to = '\0';
	return start;
}

static bool read_header(char *line, enum column order[COLUMNS], struct error *error)
{
	for (int i = 0; i < COLUMNS; i++) {
		const char *name = cut_field(&line);
		int column = 0;

		while (column < COLUMNS && strcmp(column_names[column], name) != 0)
			column++;
		if (column == COLUMNS)
			return error_set(error, ERROR_FEED, "bundled prices: column \"%.40s\"",
					 name);
		order[i] = (enum column)column;
	}
	return *line == '\0' || error_set(error, ERROR_FEED, "bundled prices: too many columns");
}

/* "" is not told: 0. NAN for what is no number. A count may be a fraction ("1/8"). */
static double number(const char *text)
{
	char *end;
	double value, parts;

	if (!*text)
		return 0;
	value = strtod(text, &end);
	if (*end == '/') {
		parts = strtod(end + 1, &end);
		value = parts > 0 ? value / parts : (double)NAN;
	}
	return *end || !isfinite(value) ? (double)NAN : value;
}

static struct bundled_provider *find_provider(const char *id, struct arena *arena,
					      struct bundled_provider **list)
{
	struct bundled_provider **at = list;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	if (!*at) {
		*at = arena_alloc(arena, sizeof(**at));
		if (*at) {
			(*at)->id = arena_strdup(arena, id);
			(*at)->feed.arena = arena;
			(*at)->feed.now_us = clock_wall_us();
		}
	}
	return *at;
}

static void read_row(struct feed *feed, char *const fields[COLUMNS])
{
	double count = number(fields[COLUMN_COUNT]), months = number(fields[COLUMN_TERM_MONTHS]);
	int kind = names_find(&price_kind_names, fields[COLUMN_PRICE_KIND]);
	int64_t observed_us = clock_parse(fields[COLUMN_OBSERVED_ON]);
	struct offer *offer;

	feed->rows_seen++;
	if (!(count > 0 && count < 100000) || !(months >= 0 && months < 1000) || kind < 0 ||
	    observed_us <= 0) {
		feed_reject(feed, REJECTED_SCHEMA, "%.60s: a field is wrong",
			    fields[COLUMN_INSTANCE_TYPE]);
		return;
	}
	offer = feed_add(feed);
	if (!offer)
		return;
	offer->region = feed_text(feed, fields[COLUMN_REGION]);
	offer->zone = feed_text(feed, fields[COLUMN_ZONE]);
	offer->instance_type = feed_text(feed, fields[COLUMN_INSTANCE_TYPE]);
	offer->accelerator = feed_text(feed, fields[COLUMN_ACCELERATOR]);
	offer->count_milli = (int32_t)lround(count * COUNT_MILLI_ONE);
	offer->tier = feed_text(feed, fields[COLUMN_TIER]);
	offer->price_kind = (enum price_kind)kind;
	offer->term_months = (int32_t)months;
	offer->memory_gb = number(fields[COLUMN_MEMORY_GB]);
	offer->vcpus = number(fields[COLUMN_VCPUS]);
	offer->ram_gib = number(fields[COLUMN_RAM_GIB]);
	offer->disk_gb = number(fields[COLUMN_DISK_GB]);
	offer->price_micros = price_parse(fields[COLUMN_PRICE]);
	offer->original_amount = feed_text(feed, fields[COLUMN_PRICE]);
	offer->observed_at_us = observed_us;
}

static bool read_line(char *line, const enum column order[COLUMNS], struct arena *arena,
		      struct bundled_provider **list, struct error *error)
{
	char *fields[COLUMNS];
	struct bundled_provider *provider;

	for (int i = 0; i < COLUMNS; i++)
		fields[order[i]] = cut_field(&line);
	provider = find_provider(fields[COLUMN_PROVIDER], arena, list);
	if (!provider || !provider->id)
		return error_set(error, ERROR_FEED, "bundled prices: no memory");
	read_row(&provider->feed, fields);
	return true;
}

bool bundled_read(const char *csv, size_t length, struct arena *arena,
		  struct bundled_provider **out, struct error *error)
{
	char *text = arena_strndup(arena, csv, length), *line;
	enum column order[COLUMNS];

	*out = NULL;
	if (!text)
		return error_set(error, ERROR_FEED, "bundled prices: no memory");
	line = strsep(&text, "\n");
	if (!read_header(line, order, error))
		return false;
	while ((line = strsep(&text, "\n")))
		if (*line && *line != '#' && !read_line(line, order, arena, out, error))
			return false;
	for (struct bundled_provider *at = *out; at; at = at->next) {
		const struct provider provider = {.id = at->id, .source = "bundled"};

		if (!normalise(&provider, &at->feed, &at->report, error))
			return false;
		if (at->feed.is_exhausted)
			return error_set(error, ERROR_FEED, "bundled prices: no memory");
	}
	return true;
}

static bool apply_provider(struct store *store, const struct bundled_provider *provider,
			   struct bundled_outcome *out, struct error *error)
{
	const struct store_refresh refresh = {
		.provider = provider->id,
		.source = "bundled",
		.offers = provider->feed.offers,
		.offers_count = provider->feed.count,
		.observed_at_us = provider->feed.now_us,
		.unmapped = provider->report.unmapped_list,
		.unmapped_count = provider->report.unmapped_count,
	};
	struct store_outcome outcome;
	bool has_live;

	if (!store_has_live(store, provider->id, &has_live, error))
		return false;
	if (has_live)
		return true;
	if (!store_apply(store, &refresh, &outcome, error))
		return false;
	out->providers++;
	out->rows += provider->report.accepted;
	out->rejected += provider->report.rejected;
	out->changed += outcome.inserted + outcome.changed + outcome.withdrawn;
	if (provider->report.rejected)
		log_event(LOG_WARNING, "bundled rows refused", "provider", provider->id, "first",
			  provider->feed.first_rejection, NULL);
	return true;
}

bool bundled_apply(struct store *store, struct bundled_outcome *out, struct error *error)
{
	struct bundled_provider *list;
	struct arena arena;
	size_t length;
	const char *csv = bundled_csv(&length);
	bool ok;

	*out = (struct bundled_outcome){0};
	arena_init(&arena, BUNDLED_BYTES_MAX);
	ok = bundled_read(csv, length, &arena, &list, error);
	for (; ok && list; list = list->next)
		ok = apply_provider(store, list, out, error);
	arena_release(&arena);
	return ok;
}
