/*
 * Price lists from anybody's hands: CSV or JSON as it stands in a file. The first byte says whether
 * rows that name no provider have one. Built with libFuzzer or with replay.c.
 */
#include "server/ingest/price_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LIST_BYTES_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct price_list *list)
{
	assert(*list->provider);
	assert(list->report.accepted == (int64_t)list->feed.count);
	assert(list->report.unmapped <= list->report.accepted);
	for (size_t i = 0; i < list->feed.count; i++) {
		const struct offer *offer = &list->feed.offers[i];

		assert(strcmp(offer->provider, list->provider) == 0);
		assert(offer->price_micros > 0 && offer->count_milli > 0 && *offer->accelerator);
		assert(offer->memory_gb >= 0 && offer->ram_gib >= 0 && offer->disk_gb >= 0);
		assert(offer->observed_at_us <= list->feed.now_us);
		assert(i == 0 || list->feed.offers[i - 1].id < offer->id);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct price_list_options options = {
		.source = "file:fuzz", .tier = "file", .now_us = INT64_C(1790000000) * 1000000};
	struct price_list *list;
	struct arena arena;
	struct error error;
	char *text;

	if (!size)
		return 0;
	options.provider = data[0] & 1 ? "pool" : NULL;
	text = calloc(1, size); /* terminated, and no byte longer than what a file gives */
	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	arena_init(&arena, LIST_BYTES_MAX);
	error_init(&error, NULL);
	if (price_list_read(text, size - 1, &options, &arena, &list, &error))
		for (; list; list = list->next)
			check(list);
	else
		assert(error_is_set(&error));
	arena_release(&arena);
	free(text);
	return 0;
}
