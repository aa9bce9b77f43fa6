/*
 * Kept: what is remembered between requests for as long as one snapshot lives: the plans of a
 * workload, whose prices and filters are applied afresh; answers as written, for requests that come
 * again word for word; which offers a page of prices has; offers as JSON. It belongs to the
 * snapshot and dies with it.
 */
#ifndef SERVER_KEPT_H
#define SERVER_KEPT_H

#include "core/plan_table.h"

#include "server/fragments.h"
#include "server/json/writer.h"
#include "server/memo.h"

/* In all, of one snapshot: plans of a workload take about 0.4 MiB, an answer about 0.1. */
#define KEPT_PLANS_BYTES_MAX ((size_t)64 << 20)
#define KEPT_ANSWERS_BYTES_MAX ((size_t)64 << 20)
#define KEPT_PAGES_BYTES_MAX ((size_t)16 << 20)
#define KEPT_FRAGMENTS_BYTES_MAX ((size_t)64 << 20)

/* Of all snapshots since the start. */
struct kept_counts {
	struct memo_counts plans, answers, pages, fragments;
};

struct kept {
	struct memo *plans;	     /* struct plan_table */
	struct memo *answers;	     /* struct kept_answer */
	struct memo *pages;	     /* server/api/price_page */
	struct fragments *fragments; /* of its catalogue's offers, by place */
	struct plan_keeper keeper;
};

/* An answer as it was sent, and where in it ages stand: told again it has those of then. */
struct kept_answer {
	int64_t written_us;
	size_t length, ages_count;
	const struct writer_age *ages; /* in the order of the text */
	const char *text;	       /* both behind the struct */
};

/* Of an answer that `writer` noted the ages of; NULL when memory is out. Its bytes are for
 * memo_add(). */
struct kept_answer *kept_answer_new(const struct writer *writer, const char *text, size_t length,
				    int64_t written_us, size_t *bytes);

/* The text with ages of now, the caller's to free(); NULL when memory is out. */
char *kept_answer_tell(const struct kept_answer *answer, int64_t now_us, size_t *length);

/* Of a catalogue of so many offers; NULL when memory is out. */
struct kept *kept_new(struct kept_counts *counts, size_t offers);
void kept_free(struct kept *kept);

/* For the metrics: Prometheus text. `coded`: of answers in gzip, which outlive snapshots. */
void kept_render(const struct kept_counts *counts, const struct memo_counts *coded,
		 struct writer *writer);

#endif
