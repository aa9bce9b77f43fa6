/* Fragments: see fragments.h. */
#include "server/fragments.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct fragments {
	struct memo_counts *counts;
	int64_t bytes_most;
	_Atomic int64_t bytes;
	size_t offers;
	_Atomic(struct fragment *) places[]; /* zero pages until they are written */
};

struct fragments *fragments_new(size_t offers, size_t bytes_most, struct memo_counts *counts)
{
	struct fragments *fragments =
		calloc(1, sizeof(*fragments) + offers * sizeof(fragments->places[0]));

	if (!fragments)
		return NULL;
	fragments->offers = offers;
	fragments->bytes_most = (int64_t)bytes_most;
	fragments->counts = counts;
	return fragments;
}

static int64_t size_of(const struct fragment *fragment)
{
	return (int64_t)(sizeof(*fragment) + fragment->length);
}

void fragments_free(struct fragments *fragments)
{
	size_t i;

	if (!fragments)
		return;
	/* Reading the places of a large market that nobody asked for would bring them to life. */
	for (i = 0; i < fragments->offers && atomic_load(&fragments->bytes) > 0; i++) {
		struct fragment *fragment = atomic_load(&fragments->places[i]);

		if (!fragment)
			continue;
		atomic_fetch_sub(&fragments->bytes, size_of(fragment));
		atomic_fetch_sub(&fragments->counts->bytes, size_of(fragment));
		atomic_fetch_sub(&fragments->counts->items, 1);
		free(fragment);
	}
	free(fragments);
}

const struct fragment *fragments_find(struct fragments *fragments, size_t index)
{
	const struct fragment *fragment =
		atomic_load_explicit(&fragments->places[index], memory_order_acquire);

	atomic_fetch_add_explicit(fragment ? &fragments->counts->hits : &fragments->counts->misses,
				  1, memory_order_relaxed);
	return fragment;
}

const struct fragment *fragments_add(struct fragments *fragments, size_t index,
				     const struct writer *written, const char *text, size_t length)
{
	struct fragment *fragment = malloc(sizeof(*fragment) + length), *none = NULL;

	if (!fragment)
		return NULL;
	*fragment = (struct fragment){.length = length};
	if (written->ages_count == 1) {
		fragment->age_at = written->ages[0].at;
		fragment->age_length = written->ages[0].length;
		fragment->then_us = written->ages[0].then_us;
	}
	memcpy(fragment->text, text, length);
	if (atomic_fetch_add(&fragments->bytes, size_of(fragment)) + size_of(fragment) >
		    fragments->bytes_most ||
	    !atomic_compare_exchange_strong(&fragments->places[index], &none, fragment)) {
		atomic_fetch_sub(&fragments->bytes, size_of(fragment));
		free(fragment);
		return none; /* another thread's, if it was first */
	}
	atomic_fetch_add(&fragments->counts->bytes, size_of(fragment));
	atomic_fetch_add(&fragments->counts->items, 1);
	return fragment;
}

void fragment_write(const struct fragment *fragment, struct writer *writer, int64_t now_us)
{
	size_t rest = fragment->age_at + fragment->age_length;

	if (!fragment->age_length) {
		writer_fragment(writer, fragment->text, fragment->length);
		return;
	}
	writer_fragment(writer, fragment->text, fragment->age_at);
	writer_raw_age(writer, fragment->then_us, now_us);
	writer_raw(writer, fragment->text + rest, fragment->length - rest);
}
