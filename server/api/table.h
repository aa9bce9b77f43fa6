/*
 * Table: answers as text for a person.
 *
 * As wide as the terminal: what does not fit beside goes below, so that no line wraps and nothing
 * is cut. Into a pipe or a file rows are as long as they need to be.
 */
#ifndef SERVER_API_TABLE_H
#define SERVER_API_TABLE_H

#include "core/recommend.h"
#include "core/sizing.h"
#include "server/api/compare.h"
#include "server/json/request_input.h"

#include <stdio.h>

struct table {
	FILE *stream;
	int width; /* columns; 0 = no limit */
	bool has_color;
};

/* By the stream itself, COLUMNS, NO_COLOR and TERM. */
struct table table_open(FILE *stream);

void table_sizing(const struct table *table, const struct request_input *input,
		  const struct sizing *sizing);
void table_recommendations(const struct table *table, const struct request_input *input,
			   const struct recommend_answer *answer, const struct catalogue *catalogue,
			   int64_t now_us);
void table_comparison(const struct table *table, const struct compared *compared,
		      const struct catalogue *catalogue, int64_t now_us);

/* What is odd about a workload that is valid; nothing when nothing is. */
void table_odd(const struct table *table, const struct error *warnings);

/* Everything about one recommendation: reasons, warnings, cost, memory, speed, layout. */
void table_explain(const struct table *table, const struct request_input *input,
		   const struct recommendation *item, int rank, const struct catalogue *catalogue,
		   int64_t now_us);

#endif
