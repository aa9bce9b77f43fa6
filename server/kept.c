/* Kept: see kept.h. */
#include "server/kept.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void free_table(void *value)
{
	plan_table_free(value);
}

static struct memo_key memo_key_of(const struct plan_key *key)
{
	return (struct memo_key){key->bytes, key->length, key->hash};
}

static const struct plan_table *find(void *context, const struct plan_key *key, void **handle)
{
	struct kept *kept = context;
	struct memo_key of_key = memo_key_of(key);
	struct memo_item *item = memo_find(kept->plans, &of_key);

	*handle = item;
	return item ? memo_value(item) : NULL;
}

static void release(void *context, void *handle)
{
	struct kept *kept = context;

	memo_release(kept->plans, handle);
}

static void keep(void *context, struct plan_table *table)
{
	struct kept *kept = context;
	struct memo_key key = memo_key_of(&table->key);
	struct memo_item *item =
		memo_add(kept->plans, &key, table, sizeof(*table) + table->arena.used);

	if (item)
		memo_release(kept->plans, item);
}

struct kept *kept_new(struct kept_counts *counts, size_t offers)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return NULL;
	kept->plans = memo_new(KEPT_PLANS_BYTES_MAX, free_table, &counts->plans);
	kept->answers = memo_new(KEPT_ANSWERS_BYTES_MAX, free, &counts->answers);
	kept->pages = memo_new(KEPT_PAGES_BYTES_MAX, free, &counts->pages);
	kept->fragments = fragments_new(offers, KEPT_FRAGMENTS_BYTES_MAX, &counts->fragments);
	kept->keeper = (struct plan_keeper){kept, find, release, keep};
	if (!kept->plans || !kept->answers || !kept->pages || !kept->fragments) {
		kept_free(kept);
		return NULL;
	}
	return kept;
}

void kept_free(struct kept *kept)
{
	if (!kept)
		return;
	memo_free(kept->plans);
	memo_free(kept->answers);
	memo_free(kept->pages);
	fragments_free(kept->fragments);
	free(kept);
}

struct kept_answer *kept_answer_new(const struct writer *writer, const char *text, size_t length,
				    int64_t written_us, size_t *bytes)
{
	size_t ages_bytes = writer->ages_count * sizeof(*writer->ages);
	struct kept_answer *answer;
	char *copy;

	*bytes = sizeof(*answer) + ages_bytes + length;
	answer = malloc(*bytes);
	if (!answer)
		return NULL;
	if (ages_bytes)
		memcpy(answer + 1, writer->ages, ages_bytes);
	copy = (char *)(answer + 1) + ages_bytes;
	memcpy(copy, text, length);
	*answer = (struct kept_answer){.written_us = written_us,
				       .length = length,
				       .ages_count = writer->ages_count,
				       .ages = (const struct writer_age *)(answer + 1),
				       .text = copy};
	return answer;
}

char *kept_answer_tell(const struct kept_answer *answer, int64_t now_us, size_t *length)
{
	struct writer writer;
	size_t from = 0;

	writer_init(&writer, SIZE_MAX / 2);
	writer_expect(&writer, answer->length + answer->ages_count); /* a digit more of each */
	for (size_t i = 0; i < answer->ages_count; i++) {
		const struct writer_age *age = &answer->ages[i];

		writer_raw(&writer, answer->text + from, age->at - from);
		writer_age(&writer, age->then_us, now_us);
		from = age->at + age->length;
	}
	writer_raw(&writer, answer->text + from, answer->length - from);
	return writer_take(&writer, length);
}

struct family {
	const char *name, *type, *help;
	size_t offset; /* in struct memo_counts */
	bool is_gauge;
};

static const struct family families[] = {
	{"gpupick_kept_hits_total", "counter", "Plans, answers, pages and fragments at hand.",
	 offsetof(struct memo_counts, hits), false},
	{"gpupick_kept_misses_total", "counter", "Those that were not.",
	 offsetof(struct memo_counts, misses), false},
	{"gpupick_kept_evictions_total", "counter", "Those that gave way to others.",
	 offsetof(struct memo_counts, evictions), false},
	{"gpupick_kept_items", "gauge", "Held now.", offsetof(struct memo_counts, items), true},
	{"gpupick_kept_bytes", "gauge", "Memory of those held now.",
	 offsetof(struct memo_counts, bytes), true},
};

static double value_of(const struct family *family, const struct memo_counts *counts)
{
	const char *at = (const char *)counts + family->offset;

	if (family->is_gauge)
		return (double)atomic_load((const _Atomic int64_t *)(const void *)at);
	return (double)atomic_load((const _Atomic uint64_t *)(const void *)at);
}

void kept_render(const struct kept_counts *counts, const struct memo_counts *coded,
		 struct writer *writer)
{
	const struct {
		const char *name;
		const struct memo_counts *counts;
	} kinds[] = {{"plans", &counts->plans},
		     {"answers", &counts->answers},
		     {"pages", &counts->pages},
		     {"fragments", &counts->fragments},
		     {"gzip", coded}};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct family *family = &families[i];

		writer_format(writer, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help,
			      family->name, family->type);
		for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
			writer_format(writer, "%s{what=\"%s\"} %.17g\n", family->name,
				      kinds[kind].name, value_of(family, kinds[kind].counts));
	}
}
