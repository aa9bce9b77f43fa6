/* Table: everything about one recommendation. */
#include "server/api/table_parts.h"

#include <string.h>

#define ALTERNATIVES_SHOWN 5

static void title(const struct table *table, const char *text)
{
	fprintf(table->stream, "\n%s%s%s\n", table_color(table, COLOR_BOLD), text,
		table_plain(table));
}

static void notes(const struct table *table, const char *name, const struct note *items, int count)
{
	for (int i = 0; i < count; i++) {
		if (i == 0)
			title(table, name);
		table_paragraph(table, "  - ", 4, items[i].text);
	}
}

static void money(const struct table *table, const char *name, int64_t micros, const char *remark)
{
	char cell[CELL], first[2 * CELL];

	if (micros == PRICE_UNKNOWN)
		return;
	if (micros > 0 && micros < MICROS_PER_USD)
		snprintf(cell, sizeof(cell), "$%.*f", micros < MICROS_PER_USD / 100 ? 6 : 4,
			 usd_from_micros(micros));
	else
		cell_usd(cell, micros);
	snprintf(first, sizeof(first), "  %-30s %14s%s", name, cell, *remark ? "   " : "");
	table_paragraph(table, first, 4, remark);
}

static void cost_lines(const struct table *table, const struct workload *workload,
		       const struct cost *cost)
{
	bool writes = workload->task == TASK_INFERENCE && !workload_only_reads(workload);
	static const char *const titles[COST_BASES] = {
		[COST_RUN] = "cost of the whole run",
		[COST_MONTH] = "cost of a month",
		[COST_UNIT] = "cost, with no amount of work given",
	};
	char remark[4 * CELL] = "", billed[CELL], price[CELL];

	title(table, titles[cost->basis]);
	if (cost->basis != COST_UNIT) {
		snprintf(remark, sizeof(remark), "%s billed x %s an hour",
			 cell_duration(billed, cost->billed_seconds),
			 cell_usd(price, cost->usd_per_hour_micros));
		money(table, "machines", cost->compute_micros, remark);
		money(table, "storage", cost->storage_micros,
		      cost->stopped_storage_micros > 0 ? "partly between sessions" : "");
		money(table, "data that leaves", cost->egress_micros, "");
		money(table, "expected interruptions", cost->interruption_micros, "");
		money(table, "in all", cost->total_micros, "");
	} else {
		money(table, "an hour", cost->usd_per_hour_micros, "");
	}
	if (cost->unit != COST_MILLION_TOKENS)
		money(table, cost_unit_words(cost->unit) + 1, cost->per_unit_micros, "");
	if (workload->architecture->media)
		return;
	money(table, writes ? "a million tokens written" : "a million tokens",
	      cost->per_million_tokens_micros, writes ? "with all that is read for them" : "");
	if (!writes)
		return;
	money(table, "  of it, a million read", cost->per_million_input_micros, "");
	money(table, "  of it, a million written", cost->per_million_output_micros, "");
}

static void size(const struct table *table, const char *name, double bytes)
{
	char cell[CELL];

	if (bytes > 0)
		fprintf(table->stream, "  %-30s %14s\n", name, cell_gib(cell, bytes));
}

static void memory_lines(const struct table *table, const struct plan *plan)
{
	const struct memory_estimate *memory = &plan->memory;
	char text[4 * CELL], low[CELL], high[CELL], usable[CELL];

	title(table, "memory of the fullest GPU");
#define X(term) size(table, #term, memory->term##_bytes);
	MEMORY_TERMS(X)
#undef X
	size(table, "allocated by the program", memory->allocated_bytes);
	size(table, "reserved by its allocator", memory->reserved_bytes);
	size(table, "as nvidia-smi shows it", memory->device_bytes);
	snprintf(text, sizeof(text), "measured, such figures lie from %s to %s; the card has %s",
		 cell_gib(low, memory->low_bytes), cell_gib(high, memory->high_bytes),
		 cell_gib(usable, plan->usable_bytes));
	table_paragraph(table, "  ", 2, text);
	if (memory->host_bytes > 0)
		size(table, "in the machine's own memory", memory->host_bytes);
}

static void phase(const struct table *table, const char *name, const struct speed_phase *item)
{
	char all[CELL], compute[CELL], memory[CELL], communication[CELL], overhead[CELL];
	char text[8 * CELL];

	snprintf(text, sizeof(text), "%s: %s (compute %s, memory %s, links %s, overhead %s)", name,
		 cell_seconds(all, item->seconds), cell_seconds(compute, item->compute_seconds),
		 cell_seconds(memory, item->memory_seconds),
		 cell_seconds(communication, item->communication_seconds),
		 cell_seconds(overhead, item->overhead_seconds));
	table_paragraph(table, "  ", 4, text);
}

/* Of a pipeline: a batch from the prompts to the items. */
static void item_lines(const struct table *table, const struct workload *workload,
		       const struct speed_estimate *speed)
{
	phase(table, "one step", &speed->step);
	if (workload->task == TASK_INFERENCE) {
		phase(table, "encoding", &speed->media[MEDIA_ENCODE]);
		phase(table, "all steps", &speed->media[MEDIA_DENOISE]);
		phase(table, "decoding", &speed->media[MEDIA_DECODE]);
	}
	fprintf(table->stream, "  %.4g %s an hour, %.0f %% of the card's peak\n",
		speed->items_per_second * SECONDS_PER_HOUR,
		workload->task == TASK_INFERENCE ? "items" : "samples", 100 * speed->mfu);
}

static void speed_lines(const struct table *table, const struct workload *workload,
			const struct plan *plan)
{
	const struct speed_estimate *speed = &plan->speed;

	title(table, "speed");
	if (workload->architecture->media) {
		item_lines(table, workload, speed);
	} else if (workload->task != TASK_INFERENCE) {
		phase(table, "one step", &speed->step);
		fprintf(table->stream,
			"  %.0f tokens a step, %.0f tokens/s, %.0f %% of the card's peak\n",
			speed->tokens_per_step, speed->tokens_per_second, 100 * speed->mfu);
	} else if (workload_only_reads(workload)) {
		phase(table, "one input", &speed->prefill);
		fprintf(table->stream, "  %.0f tokens/s, %.3g requests/s when saturated\n",
			speed->input_tokens_per_second, speed->requests_per_second);
	} else {
		phase(table, "one prompt", &speed->prefill);
		phase(table, "one token of all", &speed->decode);
		fprintf(table->stream,
			"  %.0f tokens/s written, %.0f read, %.3g requests/s when saturated\n",
			speed->tokens_per_second, speed->input_tokens_per_second,
			speed->requests_per_second);
		if (plan->kv_tokens_capacity > 0)
			fprintf(table->stream,
				"  a copy's cache holds %.0f tokens; %.0f sequences in all\n",
				plan->kv_tokens_capacity, plan->max_concurrency);
	}
	fprintf(table->stream, "  bound by %s; measured, times are %.2f to %.2f of these\n",
		names_text(&bottleneck_names, (int)speed->bottleneck), speed->low_factor,
		speed->high_factor);
}

static void alternatives(const struct table *table, const struct catalogue *catalogue,
			 const struct recommendation *item)
{
	int count = item->alternatives_count;

	for (int i = 0; i < count && i < ALTERNATIVES_SHOWN; i++) {
		char where[CELL], price[CELL], first[3 * CELL], text[4 * CELL];
		struct offer offer;

		if (i == 0)
			title(table, "the same machine elsewhere");
		catalogue_read(catalogue, item->alternatives[i], &offer);
		snprintf(first, sizeof(first), "  %-24s %10s a machine-hour   ",
			 cell_where(where, &offer), cell_usd(price, offer.price_micros));
		snprintf(text, sizeof(text), "%s, %s", offer.instance_type,
			 names_text(&price_kind_names, (int)offer.price_kind));
		table_paragraph(table, first, 4, text);
	}
	if (count > ALTERNATIVES_SHOWN)
		fprintf(table->stream, "  and %d more: see --json\n", count - ALTERNATIVES_SHOWN);
}

void table_explain(const struct table *table, const struct request_input *input,
		   const struct recommendation *item, int rank, const struct catalogue *catalogue,
		   int64_t now_us)
{
	const struct workload *workload = &input->request.workload;
	const struct offer *offer = item->offer;
	char gpus[CELL], where[CELL], age[CELL], how[CELL], text[8 * CELL];

	snprintf(text, sizeof(text), "%s at %s (%s, %s), price %s old", cell_gpus(gpus, item),
		 cell_where(where, offer), offer->instance_type,
		 names_text(&price_kind_names, (int)offer->price_kind),
		 cell_duration(age, (double)(now_us - offer->observed_at_us) / 1e6));
	fprintf(table->stream, "%srecommendation %d%s\n", table_color(table, COLOR_BOLD), rank,
		table_plain(table));
	table_paragraph(table, "  ", 2, text);
	snprintf(text, sizeof(text), "%s; %s", cell_layout(how, workload, &item->plan.layout),
		 item->plan.fit == FIT_FITS ? "fits even by the high estimate of its memory"
					    : "tight: fits by the estimate, not by its high end");
	table_paragraph(table, "  layout: ", 4, text);
	notes(table, "why", item->reasons, item->reasons_count);
	notes(table, "mind", item->warnings, item->warnings_count);
	cost_lines(table, workload, &item->cost);
	memory_lines(table, &item->plan);
	speed_lines(table, workload, &item->plan);
	alternatives(table, catalogue, item);
	title(table, "what starts it");
	fprintf(table->stream,
		"  --launch skypilot:%d, --launch dstack:%d or --launch command:%d\n", rank, rank,
		rank);
}
