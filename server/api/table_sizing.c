/* Table: the memory of a workload by layout, and the smallest cards that have room. */
#include "server/api/table_parts.h"

#include <string.h>

#define CARDS_SHOWN 3
#define CARDS_WIDTH 30 /* less is not worth a column */

static void cards_text(char *out, size_t room, const struct sizing_layout *item)
{
	size_t used = 0;

	snprintf(out, room, "no card holds it");
	for (int k = 0; k < item->holders_count && k < CARDS_SHOWN && used < room; k++)
		used += (size_t)snprintf(out + used, room - used, "%s%s%s", k ? ", " : "",
					 item->holders[k].accelerator->name,
					 item->holders[k].fit == FIT_TIGHT ? " (tight)" : "");
}

void table_sizing(const struct table *table, const struct request_input *input,
		  const struct sizing *sizing)
{
	const struct workload *workload = &input->request.workload;
	char layout[CELL], total[CELL], high[CELL], first[4 * CELL], cards[3 * CELL];
	bool is_narrow;
	int width = 6;

	table_head(table, workload);
	table_memory(table, &sizing->memory);
	for (int i = 0; i < sizing->layouts_count; i++) {
		int length = (int)strlen(cell_layout(layout, workload, &sizing->layouts[i].layout));

		width = length > width ? length : width;
	}
	/* Where the cards do not fit beside, they go below. */
	is_narrow = table->width && width + 4 + 2 * 13 + 2 + CARDS_WIDTH > table->width;
	fprintf(table->stream, "%s%4s  %-*s  %11s  %11s%s%s\n", table_color(table, COLOR_BOLD),
		"GPUS", width, "LAYOUT", "PER GPU", "AT MOST", is_narrow ? "" : "  SMALLEST CARDS",
		table_plain(table));
	for (int i = 0; i < sizing->layouts_count; i++) {
		const struct sizing_layout *item = &sizing->layouts[i];

		snprintf(first, sizeof(first), "%4d  %-*s  %11s  %11s%s",
			 item->layout.gpus_per_node * item->layout.nodes, width,
			 cell_layout(layout, workload, &item->layout),
			 cell_gib(total, item->memory.device_bytes),
			 cell_gib(high, item->memory.high_bytes), is_narrow ? "\n" : "  ");
		cards_text(cards, sizeof(cards), item);
		if (is_narrow)
			fputs(first, table->stream);
		table_paragraph(table, is_narrow ? "      smallest cards: " : first, 8, cards);
	}
}
