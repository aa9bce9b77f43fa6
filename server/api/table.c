/* Table: see table.h. */
#include "server/api/table.h"

#include "server/clock.h"

#include <string.h>

#define CELL 64

static const char *gib(char out[CELL], double bytes)
{
	snprintf(out, CELL, "%.1f GiB", bytes / GIB);
	return out;
}

static const char *usd(char out[CELL], int64_t micros)
{
	if (micros == PRICE_UNKNOWN)
		snprintf(out, CELL, "?");
	else
		snprintf(out, CELL, "$%.2f", usd_from_micros(micros));
	return out;
}

static const char *duration(char out[CELL], double seconds)
{
	if (!(seconds > 0))
		snprintf(out, CELL, "-");
	else if (seconds < 120)
		snprintf(out, CELL, "%.0f s", seconds);
	else if (seconds < 7200)
		snprintf(out, CELL, "%.0f min", seconds / 60);
	else if (seconds < 172800)
		snprintf(out, CELL, "%.1f h", seconds / 3600);
	else
		snprintf(out, CELL, "%.1f d", seconds / 86400);
	return out;
}

static const char *seconds_text(char out[CELL], double seconds)
{
	snprintf(out, CELL, seconds < 1 ? "%.3f s" : "%.2f s", seconds);
	return out;
}

static const char *fit_text(enum fit fit)
{
	return fit == FIT_FITS ? "fits" : fit == FIT_TIGHT ? "tight" : "no";
}

static void head(FILE *stream, const struct workload *workload)
{
	const char *separator = "";
	struct parameter_count parameters;

	architecture_count(workload->architecture, &parameters);
	fprintf(stream, "%s, %.3g B parameters: %s", workload->model,
		(double)parameters.total / 1e9, names_text(&task_names, workload->task));
	if (workload->task == TASK_FINETUNE)
		fprintf(stream, " %s", names_text(&method_names, workload->method));
	if (workload->task == TASK_INFERENCE)
		fprintf(stream, ", %lld sequences of %.0f tokens", (long long)workload->concurrency,
			workload->context);
	else
		fprintf(stream, ", sequences of %lld tokens", (long long)workload->sequence_length);
	fputs("\nassumed: ", stream);
	for (enum workload_field_id id = 0; id < WORKLOAD_FIELD_COUNT; id++) {
		const struct workload_field *field = &workload_fields[id];
		int value;

		if (workload_has(workload, id) || !workload_takes(workload, id) ||
		    field->kind != FIELD_ENUM)
			continue;
		memcpy(&value, (const char *)workload + field->offset, sizeof(value));
		fprintf(stream, "%s%s %s", separator, field->name, names_text(field->names, value));
		separator = ", ";
	}
	fputs("\n\n", stream);
}

static void memory_lines(FILE *stream, const struct memory_estimate *memory)
{
	static const char *const names[] = {
#define X(term) #term,
		MEMORY_TERMS(X)
#undef X
	};
	const double values[] = {
#define X(term) memory->term##_bytes,
		MEMORY_TERMS(X)
#undef X
	};
	char total[CELL], low[CELL], high[CELL], cell[CELL];

	fprintf(stream, "memory at least, were it one GPU of any size: %s (%s to %s)\n",
		gib(total, memory->device_bytes), gib(low, memory->low_bytes),
		gib(high, memory->high_bytes));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (values[i] > 0)
			fprintf(stream, "  %-15s %12s\n", names[i], gib(cell, values[i]));
	fputc('\n', stream);
}

static const char *layout_text(char out[CELL], const struct workload *workload,
			       const struct layout *layout)
{
	if (workload->task == TASK_INFERENCE)
		snprintf(out, CELL, "%s, cache %s",
			 names_text(&format_names, (int)layout->weight_format),
			 names_text(&format_names, (int)layout->kv_format));
	else if (layout->tensor_parallel > 1)
		snprintf(out, CELL, "tensor %d, %s, recompute %s", layout->tensor_parallel,
			 names_text(&sharding_names, (int)layout->sharding),
			 names_text(&recompute_names, (int)layout->recompute));
	else
		snprintf(out, CELL, "%s, recompute %s",
			 names_text(&sharding_names, (int)layout->sharding),
			 names_text(&recompute_names, (int)layout->recompute));
	return out;
}

void table_sizing(FILE *stream, const struct request_input *input, const struct sizing *sizing)
{
	const struct workload *workload = &input->request.workload;
	char layout[CELL], total[CELL], high[CELL];

	head(stream, workload);
	memory_lines(stream, &sizing->memory);
	fprintf(stream, "%4s  %-30s %12s %12s  %s\n", "GPUS", "LAYOUT", "PER GPU", "AT MOST",
		"SMALLEST CARDS");
	for (int i = 0; i < sizing->layouts_count; i++) {
		const struct sizing_layout *item = &sizing->layouts[i];

		fprintf(stream, "%4d  %-30s %12s %12s  ",
			item->layout.gpus_per_node * item->layout.nodes,
			layout_text(layout, workload, &item->layout),
			gib(total, item->memory.device_bytes), gib(high, item->memory.high_bytes));
		for (int k = 0; k < item->holders_count && k < 3; k++)
			fprintf(stream, "%s%s%s", k ? ", " : "", item->holders[k].accelerator->name,
				item->holders[k].fit == FIT_TIGHT ? " (tight)" : "");
		fputs(item->holders_count ? "\n" : "no card holds it\n", stream);
	}
}

/* Widths of the two columns whose texts differ most. */
struct widths {
	int gpus, where;
};

static int gpus_text(char out[CELL], const struct recommendation *item)
{
	const struct layout *layout = &item->plan.layout;

	if (layout->nodes > 1)
		return snprintf(out, CELL, "%d x %d x %s", layout->nodes, layout->gpus_per_node,
				item->offer->accelerator);
	return snprintf(out, CELL, "%d x %s", layout->gpus_per_node, item->offer->accelerator);
}

static int where_text(char out[CELL], const struct offer *offer)
{
	return snprintf(out, CELL, "%s%s%s", offer->provider, *offer->region ? " " : "",
			offer->region);
}

static struct widths measure(const struct recommend_answer *answer)
{
	struct widths widths = {.gpus = 4, .where = 5};
	char cell[CELL];

	for (int i = 0; i < answer->recommendations_count; i++) {
		const struct recommendation *item = &answer->recommendations[i];
		int gpus = gpus_text(cell, item), where = where_text(cell, item->offer);

		widths.gpus = gpus > widths.gpus ? gpus : widths.gpus;
		widths.where = where > widths.where ? where : widths.where;
	}
	widths.gpus = widths.gpus < CELL ? widths.gpus : CELL - 1;
	widths.where = widths.where < CELL ? widths.where : CELL - 1;
	return widths;
}

static void recommendation_line(FILE *stream, const struct workload *workload,
				const struct widths *widths, int rank,
				const struct recommendation *item)
{
	const struct cost *cost = &item->cost;
	char hour[CELL], total[CELL], time[CELL], gpus[CELL], where[CELL], how[CELL];

	gpus_text(gpus, item);
	where_text(where, item->offer);
	fprintf(stream, "%3d  %-5s %-*s  %-*s  %-9s %10s %10s %8s %9.0f  %-16s %s\n", rank,
		fit_text(item->plan.fit), widths->gpus, gpus, widths->where, where,
		names_text(&price_kind_names, (int)item->offer->price_kind),
		usd(hour, cost->usd_per_hour_micros),
		usd(total, cost->basis == COST_UNIT ? cost->per_million_tokens_micros
						    : cost->total_micros),
		workload->task == TASK_INFERENCE ? seconds_text(time, item->plan.speed.ttft_seconds)
						 : duration(time, cost->wall_seconds),
		item->plan.speed.tokens_per_second,
		names_text(&bottleneck_names, (int)item->plan.speed.bottleneck),
		layout_text(how, workload, &item->plan.layout));
}

/* Below a row, so that no price is read without what is doubtful about it. */
static void warnings_line(FILE *stream, const struct recommendation *item)
{
	for (int i = 0; i < item->warnings_count; i++)
		fprintf(stream, "%s%s", i ? ", " : "     warnings: ", item->warnings[i].code);
	if (item->warnings_count)
		fputc('\n', stream);
}

static void bundled_line(FILE *stream, const struct catalogue *catalogue)
{
	char oldest[CLOCK_TEXT], newest[CLOCK_TEXT];

	if (!catalogue->bundled_offers)
		return;
	clock_format(catalogue->oldest_bundled_us, oldest);
	clock_format(catalogue->newest_bundled_us, newest);
	fprintf(stream,
		"%u of %u prices are bundled, observed between %.10s and %.10s; "
		"live feeds replace them\n",
		catalogue->bundled_offers, catalogue->offers_count, oldest, newest);
}

static void notes(FILE *stream, const struct recommend_answer *answer)
{
	for (int i = 0; i < answer->exclusions_count; i++) {
		const struct exclusion *item = &answer->exclusions[i];

		fprintf(stream, "%s %s: %s (%u shapes, %u offers)\n", i ? "        " : "\nexcluded",
			item->reason, item->text, item->shapes, item->offers);
		if (item->nearest_text)
			fprintf(stream, "         nearest: %s\n", item->nearest_text);
	}
	for (int i = 0; i < answer->remedies_count; i++)
		fprintf(stream, "%s %s: %s\n", i ? "        " : "\nremedies",
			answer->remedies[i].code, answer->remedies[i].text);
}

void table_recommendations(FILE *stream, const struct request_input *input,
			   const struct recommend_answer *answer, const struct catalogue *catalogue,
			   int64_t now_us)
{
	const struct workload *workload = &input->request.workload;
	char as_of[CLOCK_TEXT], age[CELL];
	const char *total = "TOTAL", *time = workload->task == TASK_INFERENCE ? "TTFT" : "TIME";
	struct widths widths = measure(answer);

	head(stream, workload);
	memory_lines(stream, &answer->memory);
	if (!answer->recommendations_count) {
		fputs("nothing that is on sale holds this within the limits given\n", stream);
	} else {
		if (answer->recommendations[0].cost.basis == COST_UNIT)
			total = "USD/MTOK";
		else if (answer->recommendations[0].cost.basis == COST_MONTH)
			total = "A MONTH";
		fprintf(stream, "%3s  %-5s %-*s  %-*s  %-9s %10s %10s %8s %9s  %-16s %s\n", "#",
			"FIT", widths.gpus, "GPUS", widths.where, "WHERE", "PRICE", "USD/HOUR",
			total, time, "TOKENS/S", "BOTTLENECK", "HOW");
	}
	for (int i = 0; i < answer->recommendations_count; i++) {
		recommendation_line(stream, workload, &widths, i + 1, &answer->recommendations[i]);
		warnings_line(stream, &answer->recommendations[i]);
	}
	notes(stream, answer);
	clock_format(catalogue->as_of_us, as_of);
	fprintf(stream, "\nprices of %s (%s old), version %lld, %u offers considered\n", as_of,
		duration(age, (double)(now_us - catalogue->as_of_us) / 1e6),
		(long long)catalogue->version, answer->offers_considered);
	bundled_line(stream, catalogue);
}
