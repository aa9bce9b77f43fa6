/*
 * Fragments: offers as JSON, rendered when they are first asked for and kept as long as their
 * snapshot lives. Each has a place by its index among the catalogue's offers; nothing gives way, so
 * that reading takes no lock: when the bound is reached, the rest is rendered each time.
 */
#ifndef SERVER_FRAGMENTS_H
#define SERVER_FRAGMENTS_H

#include "server/json/writer.h"
#include "server/memo.h"

struct fragments;

struct fragment {
	size_t length;
	size_t age_at, age_length; /* where its age stands; age_length 0: it has none */
	int64_t then_us;	   /* what it is the age of */
	char text[];
};

/* NULL when memory is out. */
struct fragments *fragments_new(size_t offers, size_t bytes_most, struct memo_counts *counts);
void fragments_free(struct fragments *fragments);

/* NULL when it is not there. */
const struct fragment *fragments_find(struct fragments *fragments, size_t index);

/* Copies what was written, of which `written` noted the ages (one at most). NULL when there is no
 * room. */
const struct fragment *fragments_add(struct fragments *fragments, size_t index,
				     const struct writer *written, const char *text, size_t length);

/* As the next value, with its age of now. */
void fragment_write(const struct fragment *fragment, struct writer *writer, int64_t now_us);

#endif
