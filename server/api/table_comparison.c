/* Table: a comparison, a line a variant, the differences as sentences. */
#include "server/api/table_parts.h"

#include <string.h>

#define CELLS 7

struct line {
	char cells[CELLS][CELL];
};

/* "$1.16", "$0.012/Mtok", "$1204.10/month" */
static void cost_cell(char out[CELL], const struct comparison_variant *variant)
{
	static const char *const units[COST_UNITS] = {
		[COST_MILLION_TOKENS] = "/Mtok",	   [COST_THOUSAND_IMAGES] = "/1000 images",
		[COST_VIDEO_MINUTE] = "/minute",	   [COST_AUDIO_HOUR] = "/hour",
		[COST_THOUSAND_SAMPLES] = "/1000 samples",
	};
	const char *unit = variant->cost_basis == COST_UNIT    ? units[variant->unit]
			   : variant->cost_basis == COST_MONTH ? "/month"
							       : "";
	double usd = usd_from_micros(variant->cost_micros);

	if (!variant->is_feasible || variant->cost_micros == PRICE_UNKNOWN)
		snprintf(out, CELL, "-");
	else
		snprintf(out, CELL, usd < 1 ? "$%.4f%s" : "$%.2f%s", usd, unit);
}

static void time_cell(char out[CELL], const struct comparison_variant *variant)
{
	static const char *const units[TIME_BASES] = {
		[TIME_RUN] = "", [TIME_MILLION_TOKENS] = "/Mtok", [TIME_REQUEST] = "/request"};
	char time[CELL];

	if (!variant->is_feasible || !(variant->seconds > 0))
		snprintf(out, CELL, "-");
	else
		snprintf(out, CELL, "%s%s",
			 variant->seconds < 10 ? cell_seconds(time, variant->seconds)
					       : cell_duration(time, variant->seconds),
			 units[variant->time_basis]);
}

static void fill(struct line *line, const struct compared *compared, int index)
{
	const struct comparison_variant *variant = &compared->variants[index];
	const struct workload *workload = &compared->input->variants[index].request.workload;
	const struct recommendation *best = compared->answers[index].recommendations;

	snprintf(line->cells[0], CELL, "%s", variant->name);
	snprintf(line->cells[1], CELL, "-");
	if (variant->is_computed)
		cell_gib(line->cells[1], variant->memory_bytes);
	cost_cell(line->cells[2], variant);
	time_cell(line->cells[3], variant);
	if (variant->is_feasible) {
		cell_gpus(line->cells[4], best);
		cell_where(line->cells[5], best->offer);
		snprintf(line->cells[6], CELL, "%s",
			 cell_layout((char[CELL]){""}, workload, &best->plan.layout));
	} else {
		snprintf(line->cells[4], CELL, "%s",
			 variant->is_computed ? "nothing fits" : "not computed");
		line->cells[5][0] = line->cells[6][0] = '\0';
	}
}

/* `count` columns beside each other; what else there is goes below. */
static void print(const struct table *table, const int *widths, int count, const struct line *line)
{
	char below[CELLS * CELL] = "";
	int last = count - 1;

	while (last > 0 && !*line->cells[last])
		last--;
	for (int i = 0; i <= last; i++) {
		if (i >= 1 && i <= 3)
			fprintf(table->stream, "%*s", widths[i], line->cells[i]);
		else
			fprintf(table->stream, "%-*s", i == last ? 0 : widths[i], line->cells[i]);
		fputs(i == last ? "\n" : "  ", table->stream);
	}
	for (int i = count; i < CELLS; i++)
		if (*line->cells[i])
			snprintf(below + strlen(below), sizeof(below) - strlen(below), "%s%s",
				 *below ? ", " : "", line->cells[i]);
	if (*below)
		table_paragraph(table, "    ", 6, below);
}

static void print_lines(const struct table *table, const struct compared *compared)
{
	static const struct line titles = {
		{"VARIANT", "MEMORY", "COST", "TIME", "GPUS", "WHERE", "HOW"}};
	int widths[CELLS], width = -2, count = CELLS;
	struct line line;

	for (int i = 0; i < CELLS; i++)
		widths[i] = (int)strlen(titles.cells[i]);
	for (int k = 0; k < compared->input->count; k++) {
		fill(&line, compared, k);
		for (int i = 0; i < CELLS; i++)
			widths[i] = (int)strlen(line.cells[i]) > widths[i]
					    ? (int)strlen(line.cells[i])
					    : widths[i];
	}
	for (int i = 0; i < CELLS; i++)
		width += widths[i] + 2;
	while (table->width && width > table->width && count > 4)
		width -= widths[--count] + 2;
	fputs(table_color(table, COLOR_BOLD), table->stream);
	line = titles;
	for (int i = count; i < CELLS; i++)
		line.cells[i][0] = '\0';
	print(table, widths, count, &line);
	fputs(table_plain(table), table->stream);
	for (int k = 0; k < compared->input->count; k++) {
		fill(&line, compared, k);
		print(table, widths, count, &line);
	}
}

void table_comparison(const struct table *table, const struct compared *compared,
		      const struct catalogue *catalogue, int64_t now_us)
{
	const struct comparison *found = &compared->comparison;

	print_lines(table, compared);
	fputc('\n', table->stream);
	if (*found->text)
		table_paragraph(table, "", 2, found->text);
	for (int i = 1; i < compared->input->count; i++)
		table_paragraph(table, "- ", 2, found->ratios[i].text);
	for (int i = 0; i < compared->input->count; i++) {
		const struct comparison_variant *variant = &compared->variants[i];

		if (!variant->is_computed || variant->is_feasible)
			continue;
		fprintf(table->stream, "\n%s%s%s\n", table_color(table, COLOR_BOLD), variant->name,
			table_plain(table));
		table_why_not(table, &compared->answers[i]);
	}
	fputc('\n', table->stream);
	table_prices(table, catalogue, now_us);
}
