/* Table: recommendations, in rows that fit the terminal. */
#include "server/api/table_parts.h"

#include <string.h>

enum column {
	COLUMN_RANK,
	COLUMN_FIT,
	COLUMN_GPUS,
	COLUMN_WHERE,
	COLUMN_KIND,
	COLUMN_HOUR,
	COLUMN_TOTAL,
	COLUMN_MTOK,
	COLUMN_TIME, /* TTFT of a service, with the wait in the queue, as its limit is meant */
	COLUMN_TPOT,
	COLUMN_SPEED,
	COLUMN_BOTTLENECK,
	COLUMN_HOW,
	COLUMNS
};

struct row {
	char cells[COLUMNS][CELL];
};

/* How the columns are laid out: which are shown, how wide, and on which line of a row. */
struct grid {
	const char *titles[COLUMNS];
	bool is_shown[COLUMNS], is_right[COLUMNS];
	int widths[COLUMNS], lines[COLUMNS], lines_count;
};

static void fill(struct row *row, const struct workload *workload, int rank,
		 const struct recommendation *item)
{
	const struct cost *cost = &item->cost;
	const struct speed_estimate *speed = &item->plan.speed;
	char(*cells)[CELL] = row->cells;

	snprintf(cells[COLUMN_RANK], CELL, "%d", rank);
	snprintf(cells[COLUMN_FIT], CELL, "%s", cell_fit(item->plan.fit));
	cell_gpus(cells[COLUMN_GPUS], item);
	cell_where(cells[COLUMN_WHERE], item->offer);
	snprintf(cells[COLUMN_KIND], CELL, "%s",
		 names_text(&price_kind_names, (int)item->offer->price_kind));
	cell_usd(cells[COLUMN_HOUR], cost->usd_per_hour_micros);
	cell_usd(cells[COLUMN_TOTAL], cost->total_micros);
	if (cost->per_unit_micros == PRICE_UNKNOWN)
		snprintf(cells[COLUMN_MTOK], CELL, "-");
	else
		snprintf(cells[COLUMN_MTOK], CELL, "$%.*f",
			 cost->per_unit_micros < MICROS_PER_USD / 100 ? 6 : 3,
			 usd_from_micros(cost->per_unit_micros));
	if (workload->task == TASK_INFERENCE && workload->architecture->media &&
	    cost->basis != COST_RUN)
		cell_seconds(cells[COLUMN_TIME], speed->batch_seconds);
	else if (workload->task == TASK_INFERENCE && cost->basis != COST_RUN)
		cell_seconds(cells[COLUMN_TIME], speed->ttft_seconds + item->plan.wait_seconds);
	else
		cell_duration(cells[COLUMN_TIME], cost->elapsed_seconds);
	cell_seconds(cells[COLUMN_TPOT], speed->tpot_seconds);
	snprintf(cells[COLUMN_SPEED], CELL, "%.0f",
		 workload->architecture->media ? speed->items_per_second * SECONDS_PER_HOUR
					       : speed->tokens_per_second);
	snprintf(cells[COLUMN_BOTTLENECK], CELL, "%s",
		 names_text(&bottleneck_names, (int)speed->bottleneck));
	snprintf(cells[COLUMN_HOW], CELL, "%s",
		 cell_layout((char[CELL]){""}, workload, &item->plan.layout));
}

static void choose_columns(struct grid *grid, const struct workload *workload,
			   enum cost_basis basis, enum cost_unit unit)
{
	static const char *const unit_titles[COST_UNITS] = {
		[COST_MILLION_TOKENS] = "$/MTOK",   [COST_THOUSAND_IMAGES] = "$/1000",
		[COST_VIDEO_MINUTE] = "$/MINUTE",   [COST_AUDIO_HOUR] = "$/AUDIO-H",
		[COST_THOUSAND_SAMPLES] = "$/1000",
	};
	static const char *const titles[COLUMNS] = {
		"#",	  "FIT",  "GPUS", "WHERE",    "PRICE",	    "USD/HOUR", "TOTAL",
		"$/MTOK", "TIME", "TPOT", "TOKENS/S", "BOTTLENECK", "HOW"};
	bool is_serving = workload->task == TASK_INFERENCE;
	bool writes = is_serving && !workload_only_reads(workload);

	for (enum column i = 0; i < COLUMNS; i++) {
		grid->titles[i] = titles[i];
		grid->is_shown[i] = true;
		grid->is_right[i] = i >= COLUMN_HOUR && i <= COLUMN_SPEED;
	}
	grid->titles[COLUMN_MTOK] = unit_titles[unit];
	grid->is_right[COLUMN_RANK] = true;
	if (is_serving && basis != COST_RUN)
		grid->titles[COLUMN_TIME] = "TTFT";
	if (workload->architecture->media) {
		grid->titles[COLUMN_SPEED] = is_serving ? "ITEMS/H" : "SAMPLES/H";
		if (is_serving && basis != COST_RUN)
			grid->titles[COLUMN_TIME] = "ITEM";
		writes = false;
	}
	if (basis == COST_MONTH)
		grid->titles[COLUMN_TOTAL] = "A MONTH";
	grid->is_shown[COLUMN_TOTAL] = basis != COST_UNIT;
	grid->is_shown[COLUMN_MTOK] = is_serving || basis == COST_UNIT;
	grid->is_shown[COLUMN_TIME] = is_serving || basis != COST_UNIT;
	grid->is_shown[COLUMN_TPOT] = writes;
}

static int line_width(const struct grid *grid)
{
	int width = 0;

	for (int i = 0; i < COLUMNS; i++)
		if (grid->is_shown[i] && grid->lines[i] == 0)
			width += grid->widths[i] + (width ? 2 : 0);
	return width;
}

/* The least that has to go below, in this order: how and why so fast; then what it is. */
static void arrange(struct grid *grid, int width)
{
	grid->lines_count = 1;
	if (!width || line_width(grid) <= width)
		return;
	grid->lines[COLUMN_BOTTLENECK] = grid->lines[COLUMN_HOW] = 1;
	grid->lines_count = 2;
	if (line_width(grid) <= width)
		return;
	grid->lines[COLUMN_GPUS] = grid->lines[COLUMN_WHERE] = grid->lines[COLUMN_KIND] = 1;
	grid->lines[COLUMN_BOTTLENECK] = grid->lines[COLUMN_HOW] = 2;
	grid->lines_count = 3;
}

static void measure(struct grid *grid, const struct workload *workload,
		    const struct recommend_answer *answer)
{
	for (int i = 0; i < COLUMNS; i++)
		grid->widths[i] = (int)strlen(grid->titles[i]);
	if (grid->widths[COLUMN_RANK] < 3)
		grid->widths[COLUMN_RANK] = 3;
	if (grid->widths[COLUMN_FIT] < 5)
		grid->widths[COLUMN_FIT] = 5;
	for (int k = 0; k < answer->recommendations_count; k++) {
		struct row row;

		fill(&row, workload, k + 1, &answer->recommendations[k]);
		for (int i = 0; i < COLUMNS; i++) {
			int width = (int)strlen(row.cells[i]);

			grid->widths[i] = width > grid->widths[i] ? width : grid->widths[i];
		}
	}
}

static void print_first_line(const struct table *table, const struct grid *grid,
			     const char *const cells[COLUMNS], const char *fit_color)
{
	int last = 0;

	for (int i = 0; i < COLUMNS; i++)
		if (grid->is_shown[i] && grid->lines[i] == 0)
			last = i;
	for (int i = 0; i < COLUMNS; i++) {
		if (!grid->is_shown[i] || grid->lines[i] != 0)
			continue;
		if (i == COLUMN_FIT && *fit_color)
			fprintf(table->stream, "%s%-*s%s", fit_color, grid->widths[i], cells[i],
				table_plain(table));
		else if (grid->is_right[i])
			fprintf(table->stream, "%*s", grid->widths[i], cells[i]);
		else
			fprintf(table->stream, "%-*s", i == last ? 0 : grid->widths[i], cells[i]);
		fputs(i == last ? "\n" : "  ", table->stream);
	}
}

/* The other lines of a row are a list, not columns. */
static void print_line(const struct table *table, const struct grid *grid, const struct row *row,
		       int line)
{
	static const enum column order[] = {COLUMN_GPUS, COLUMN_WHERE, COLUMN_KIND, COLUMN_HOW,
					    COLUMN_BOTTLENECK};
	char text[5 * CELL] = "";
	size_t used = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (grid->lines[order[i]] == line)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s",
						 !used				 ? ""
						 : order[i] == COLUMN_BOTTLENECK ? "; "
										 : ", ",
						 order[i] == COLUMN_BOTTLENECK ? "bound by " : "",
						 row->cells[order[i]]);
	table_paragraph(table, "     ", 7, text);
}

/* Below a row, so that no price is read without what is doubtful about it. */
static void print_warnings(const struct table *table, const struct recommendation *item)
{
	char text[NOTES_MAX * CELL] = "";
	size_t used = 0;

	for (int i = 0; i < item->warnings_count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
					 item->warnings[i].code);
	if (!*text)
		return;
	fputs(table_color(table, COLOR_DIM), table->stream);
	table_paragraph(table, "     warnings: ", 7, text);
	fputs(table_plain(table), table->stream);
}

static void print_rows(const struct table *table, const struct workload *workload,
		       const struct recommend_answer *answer)
{
	const char *cells[COLUMNS];
	struct grid grid = {.lines_count = 1};
	struct row row;

	choose_columns(&grid, workload, answer->recommendations[0].cost.basis,
		       answer->recommendations[0].cost.unit);
	measure(&grid, workload, answer);
	arrange(&grid, table->width);
	fputs(table_color(table, COLOR_BOLD), table->stream);
	print_first_line(table, &grid, grid.titles, "");
	fputs(table_plain(table), table->stream);
	for (int k = 0; k < answer->recommendations_count; k++) {
		const struct recommendation *item = &answer->recommendations[k];
		enum table_color color = item->plan.fit == FIT_FITS ? COLOR_GOOD : COLOR_DOUBTFUL;

		fill(&row, workload, k + 1, item);
		for (int i = 0; i < COLUMNS; i++)
			cells[i] = row.cells[i];
		print_first_line(table, &grid, cells, table_color(table, color));
		for (int line = 1; line < grid.lines_count; line++)
			print_line(table, &grid, &row, line);
		print_warnings(table, item);
	}
}

void table_recommendations(const struct table *table, const struct request_input *input,
			   const struct recommend_answer *answer, const struct catalogue *catalogue,
			   int64_t now_us)
{
	const struct workload *workload = &input->request.workload;

	table_head(table, workload);
	table_memory(table, &answer->memory);
	if (answer->recommendations_count)
		print_rows(table, workload, answer);
	else
		fputs(catalogue->offers_count
			      ? "nothing that is on sale holds this within the limits given\n"
			      : "there are no prices here: /v1/providers and the log say why\n",
		      table->stream);
	table_why_not(table, answer);
	fprintf(table->stream, "\n%u offers considered\n", answer->offers_considered);
	table_prices(table, catalogue, now_us);
}
