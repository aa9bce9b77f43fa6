/* Table: cells, paragraphs and colours. */
#include "server/api/table_parts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_LEAST 60
#define WIDTH_MOST 1000
#define PARAGRAPH_WIDTH 160 /* of sentences, where nothing limits a line */

static int width_of(FILE *stream)
{
	const char *columns = getenv("COLUMNS");
	long width = columns ? strtol(columns, NULL, 10) : 0;
	struct winsize size = {.ws_col = 0};

	if (width <= 0 && isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width <= 0)
		return 0;
	return width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : (int)width;
}

/* NO_COLOR: any value but "" (no-color.org). */
static bool color_of(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(fileno(stream)) && !(no_color && *no_color) && terminal && *terminal &&
	       strcmp(terminal, "dumb") != 0;
}

struct table table_open(FILE *stream)
{
	return (struct table){stream, width_of(stream), color_of(stream)};
}

const char *table_color(const struct table *table, enum table_color color)
{
	static const char *const codes[] = {
		[COLOR_BOLD] = "\033[1m",
		[COLOR_DIM] = "\033[2m",
		[COLOR_GOOD] = "\033[32m",
		[COLOR_DOUBTFUL] = "\033[33m",
	};

	return table->has_color ? codes[color] : "";
}

const char *table_plain(const struct table *table)
{
	return table->has_color ? "\033[0m" : "";
}

void table_paragraph(const struct table *table, const char *first, int indent, const char *text)
{
	int at = (int)strlen(first), width = table->width ? table->width : PARAGRAPH_WIDTH;
	bool is_start = true; /* of a line */

	fputs(first, table->stream);
	while (*text) {
		int word = (int)strcspn(text, " ");

		if (!is_start && at + 1 + word > width) {
			fprintf(table->stream, "\n%*s", indent, "");
			at = indent;
		} else if (!is_start) {
			fputc(' ', table->stream);
			at++;
		}
		fprintf(table->stream, "%.*s", word, text);
		at += word;
		text += word;
		text += strspn(text, " ");
		is_start = false;
	}
	fputc('\n', table->stream);
}

const char *cell_gib(char out[CELL], double bytes)
{
	snprintf(out, CELL, "%.1f GiB", bytes / GIB);
	return out;
}

const char *cell_usd(char out[CELL], int64_t micros)
{
	if (micros == PRICE_UNKNOWN)
		snprintf(out, CELL, "?");
	else
		snprintf(out, CELL, "$%.2f", usd_from_micros(micros));
	return out;
}

const char *cell_duration(char out[CELL], double seconds)
{
	if (!(seconds > 0))
		snprintf(out, CELL, "-");
	else if (seconds < 120)
		snprintf(out, CELL, "%.0f s", seconds);
	else if (seconds < 7200)
		snprintf(out, CELL, seconds < 600 ? "%.1f min" : "%.0f min", seconds / 60);
	else if (seconds < 172800)
		snprintf(out, CELL, "%.1f h", seconds / 3600);
	else
		snprintf(out, CELL, "%.1f d", seconds / 86400);
	return out;
}

const char *cell_seconds(char out[CELL], double seconds)
{
	if (!(seconds > 0))
		snprintf(out, CELL, "-");
	else if (seconds < 1)
		snprintf(out, CELL, seconds < 0.1 ? "%.1f ms" : "%.0f ms", seconds * 1e3);
	else
		snprintf(out, CELL, "%.2f s", seconds);
	return out;
}

/* A slice of a card is a fraction. */
const char *cell_gpus(char out[CELL], const struct recommendation *item)
{
	double count = item->offer->count_milli / (double)COUNT_MILLI_ONE;
	int nodes = item->plan.layout.nodes;

	if (nodes > 1)
		snprintf(out, CELL, "%d x %.3g x %s", nodes, count, item->offer->accelerator);
	else
		snprintf(out, CELL, "%.3g x %s", count, item->offer->accelerator);
	return out;
}

const char *cell_where(char out[CELL], const struct offer *offer)
{
	snprintf(out, CELL, "%s%s%s", offer->provider, *offer->region ? " " : "", offer->region);
	return out;
}

const char *cell_fit(enum fit fit)
{
	return fit == FIT_FITS ? "fits" : fit == FIT_TIGHT ? "tight" : "no";
}

static void add(char out[CELL], const char *format, ...) PRINTF_LIKE(2, 3);

static void add(char out[CELL], const char *format, ...)
{
	size_t used = strlen(out);
	va_list arguments;

	if (used && used + 2 < CELL) {
		memcpy(out + used, ", ", 3);
		used += 2;
	}
	va_start(arguments, format);
	vsnprintf(out + used, CELL - used, format, arguments);
	va_end(arguments);
}

static void add_degree(char out[CELL], const char *name, int degree)
{
	if (degree > 1)
		add(out, "%s %d", name, degree);
}

/* What is one, none or off is not said. */
const char *cell_layout(char out[CELL], const struct workload *workload,
			const struct layout *layout)
{
	out[0] = '\0';
	if (workload->task == TASK_INFERENCE) {
		add(out, "%s", names_text(&format_names, (int)layout->weight_format));
		if (!workload_only_reads(workload) && !workload->architecture->media)
			add(out, "cache %s", names_text(&format_names, (int)layout->kv_format));
	}
	add_degree(out, "tensor", layout->tensor_parallel);
	add_degree(out, "pipeline", layout->pipeline_parallel);
	add_degree(out, "context", layout->context_parallel);
	add_degree(out, "guidance", layout->guidance_parallel);
	if (workload->task == TASK_INFERENCE && layout_shards_weights(layout))
		add(out, "weights sharded");
	add_degree(out, "expert", layout->expert_parallel);
	if (workload->task == TASK_INFERENCE) {
		add_degree(out, "copies", layout->replicas);
		return out;
	}
	add_degree(out, "data", layout->data_parallel);
	if (layout->sharding != SHARDING_NONE)
		add(out, "%s", names_text(&sharding_names, (int)layout->sharding));
	if (layout->micro_batch * layout->accumulation > 1)
		add(out, "batch %lld x %lld", (long long)layout->micro_batch,
		    (long long)layout->accumulation);
	if (layout->recompute != RECOMPUTE_NONE)
		add(out, "recompute %s", names_text(&recompute_names, (int)layout->recompute));
	if (layout->offload != OFFLOAD_NONE)
		add(out, "offload %s", names_text(&offload_names, (int)layout->offload));
	return *out ? out : "plain";
}
