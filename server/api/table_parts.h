/* What the files of server/api/table*.c share; private to them. */
#ifndef SERVER_API_TABLE_PARTS_H
#define SERVER_API_TABLE_PARTS_H

#include "server/api/table.h"

#define CELL 96

/* Cells: each fills `out` and returns it. */
const char *cell_gib(char out[CELL], double bytes);
const char *cell_usd(char out[CELL], int64_t micros);
const char *cell_duration(char out[CELL], double seconds);
const char *cell_seconds(char out[CELL], double seconds); /* of latencies: with milliseconds */
const char *cell_gpus(char out[CELL], const struct recommendation *item);
const char *cell_where(char out[CELL], const struct offer *offer);
const char *cell_layout(char out[CELL], const struct workload *workload,
			const struct layout *layout);
const char *cell_fit(enum fit fit);

enum table_color { COLOR_BOLD, COLOR_DIM, COLOR_GOOD, COLOR_DOUBTFUL };

/* "" without colours. Widths are those of the bare text, so colours go around padded cells. */
const char *table_color(const struct table *table, enum table_color color);
const char *table_plain(const struct table *table);

/* A paragraph: `first` in front of the first line, `indent` spaces in front of the others. */
void table_paragraph(const struct table *table, const char *first, int indent, const char *text);

/* The workload and what was assumed; its memory by term. */
void table_head(const struct table *table, const struct workload *workload);
void table_memory(const struct table *table, const struct memory_estimate *memory);

/* Why the rest is out, and what would help. */
void table_why_not(const struct table *table, const struct recommend_answer *answer);

/* Of which prices the answer is made. */
void table_prices(const struct table *table, const struct catalogue *catalogue, int64_t now_us);

#endif
