/* Table: the parts that several tables have: the workload, its memory, why not, of which prices. */
#include "server/api/table_parts.h"
#include "server/clock.h"

#include <string.h>

#define ASSUMED_MAX 1024

/* "rank 16", or nothing for what is zero and so means that nobody sets it. */
static int assumed_text(char *out, size_t room, const struct workload *workload,
			const struct workload_field *field)
{
	const char *member = (const char *)workload + field->offset;
	int64_t count;
	double number;
	int value;
	bool flag;

	if (field->kind == FIELD_ENUM) {
		memcpy(&value, member, sizeof(value));
		return snprintf(out, room, "%s %s", field->name, names_text(field->names, value));
	}
	if (field->kind == FIELD_COUNT) {
		memcpy(&count, member, sizeof(count));
		return count ? snprintf(out, room, "%s %lld", field->name, (long long)count) : 0;
	}
	if (field->kind == FIELD_NUMBER) {
		memcpy(&number, member, sizeof(number));
		return number > 0 ? snprintf(out, room, "%s %.6g", field->name, number) : 0;
	}
	memcpy(&flag, member, sizeof(flag));
	return flag ? snprintf(out, room, "%s", field->name) : 0;
}

static void assumed_line(const struct table *table, const struct workload *workload)
{
	char text[ASSUMED_MAX] = "";
	size_t used = 0;

	for (enum workload_field_id id = 0; id < WORKLOAD_FIELD_COUNT; id++) {
		char field[CELL];

		if (workload_has(workload, id) || !workload_takes(workload, id) ||
		    (id == WORKLOAD_epochs && !(workload->tokens > 0)) ||
		    assumed_text(field, sizeof(field), workload, &workload_fields[id]) <= 0 ||
		    used + strlen(field) + 3 > sizeof(text))
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
					 field);
	}
	table_paragraph(table, "assumed: ", 2, text);
}

/* Of a pipeline: "1000 items of 1024 x 1024", "items of 1280 x 720, 81 frames". */
static void item_text(char *out, size_t room, const struct workload *workload)
{
	const struct media *media = workload->architecture->media;
	char count[CELL] = "", rate[CELL] = "", frames[CELL] = "";

	if (workload->items > 0)
		snprintf(count, sizeof(count), "%.0f ", workload->items);
	if (workload->items_per_hour > 0)
		snprintf(rate, sizeof(rate), ", %.6g an hour", workload->items_per_hour);
	if (media->sample_rate > 0) {
		snprintf(out, room, "%sitems of %.4g s%s", count, workload->seconds, rate);
		return;
	}
	if (workload->frames > 1)
		snprintf(frames, sizeof(frames), ", %lld frames", (long long)workload->frames);
	snprintf(out, room, "%sitems of %lld x %lld%s%s", count, (long long)workload->width,
		 (long long)workload->height, frames, rate);
}

static void what_text(char *out, size_t room, const struct workload *workload)
{
	char tokens[CELL];

	if (workload->architecture->media) {
		item_text(out, room, workload);
		return;
	}
	if (workload_sound_seconds(workload) > 0)
		snprintf(tokens, sizeof(tokens), "%.4g s of sound", workload->seconds);
	else if (workload_only_reads(workload))
		snprintf(tokens, sizeof(tokens), "%lld tokens", (long long)workload->prompt_tokens);
	else
		snprintf(tokens, sizeof(tokens), "%.0f tokens in and %lld out", workload->prompt,
			 (long long)workload->output_tokens);
	if (workload->task != TASK_INFERENCE)
		snprintf(out, room, "sequences of %lld tokens",
			 (long long)workload->sequence_length);
	else if (workload->requests > 0)
		snprintf(out, room, "%.0f requests of %s", workload->requests, tokens);
	else if (workload->concurrency > 0)
		snprintf(out, room, "%lld sequences of %.0f tokens",
			 (long long)workload->concurrency, workload->context);
	else if (workload->requests_per_second > 0)
		snprintf(out, room, "%.6g requests a second of %s", workload->requests_per_second,
			 tokens);
	else
		snprintf(out, room, "%s", tokens);
}

void table_head(const struct table *table, const struct workload *workload)
{
	bool is_tuned = workload->task == TASK_FINETUNE;
	struct parameter_count parameters;
	char text[4 * CELL], what[2 * CELL], first[4 * CELL];

	architecture_count(workload->architecture, &parameters);
	what_text(what, sizeof(what), workload);
	snprintf(text, sizeof(text), "%.3g B parameters: %s%s%s, %s",
		 (double)parameters.total / 1e9, names_text(&task_names, workload->task),
		 is_tuned ? " " : "", is_tuned ? names_text(&method_names, workload->method) : "",
		 what);
	snprintf(first, sizeof(first), "%s, ", workload->model);
	table_paragraph(table, first, 2, text);
	assumed_line(table, workload);
	fputc('\n', table->stream);
}

void table_memory(const struct table *table, const struct memory_estimate *memory)
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
	char total[CELL], low[CELL], high[CELL], cell[CELL], text[4 * CELL];
	double rest = memory->device_bytes; /* what the allocator holds beyond the terms */

	snprintf(text, sizeof(text), "were it one GPU of any size: %s (%s to %s)",
		 cell_gib(total, memory->device_bytes), cell_gib(low, memory->low_bytes),
		 cell_gib(high, memory->high_bytes));
	table_paragraph(table, "memory at least, ", 2, text);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		rest -= values[i];
		if (values[i] > 0)
			fprintf(table->stream, "  %-15s %12s\n", names[i],
				cell_gib(cell, values[i]));
	}
	if (rest > 0)
		fprintf(table->stream, "  %-15s %12s\n", "allocator", cell_gib(cell, rest));
	fputc('\n', table->stream);
}

static void labelled(const struct table *table, const char *label, const char *text)
{
	char first[CELL];

	snprintf(first, sizeof(first), "  %s: ", label);
	table_paragraph(table, first, 6, text);
}

void table_why_not(const struct table *table, const struct recommend_answer *answer)
{
	for (int i = 0; i < answer->exclusions_count; i++) {
		const struct exclusion *item = &answer->exclusions[i];

		if (i == 0)
			fputs("\nleft out\n", table->stream);
		labelled(table, item->reason, item->text);
		if (item->nearest_text)
			table_paragraph(table, "      nearest: ", 6, item->nearest_text);
	}
	for (int i = 0; i < answer->remedies_count; i++) {
		if (i == 0)
			fputs("\nwhat would help\n", table->stream);
		labelled(table, answer->remedies[i].code, answer->remedies[i].text);
	}
}

void table_prices(const struct table *table, const struct catalogue *catalogue, int64_t now_us)
{
	char as_of[CLOCK_TEXT], oldest[CLOCK_TEXT], newest[CLOCK_TEXT], age[CELL], text[4 * CELL];

	clock_format(catalogue->as_of_us, as_of);
	fprintf(table->stream, "prices of %.19sZ (%s old), version %lld\n", as_of,
		cell_duration(age, (double)(now_us - catalogue->as_of_us) / 1e6),
		(long long)catalogue->version);
	if (!catalogue->bundled_offers)
		return;
	clock_format(catalogue->oldest_bundled_us, oldest);
	clock_format(catalogue->newest_bundled_us, newest);
	snprintf(text, sizeof(text),
		 "%u of %u prices are bundled, observed between %.10s and %.10s; live feeds "
		 "replace them",
		 catalogue->bundled_offers, catalogue->offers_count, oldest, newest);
	table_paragraph(table, "", 0, text);
}

void table_odd(const struct table *table, const struct error *warnings)
{
	char first[2 * CELL];

	if (warnings->first)
		fputs("\nmind\n", table->stream);
	for (const struct error_item *item = warnings->first; item; item = item->next) {
		snprintf(first, sizeof(first), "  %.80s: ", item->pointer);
		table_paragraph(table, first, 4, item->detail);
	}
}
