/* Guard: the checks, and the text that is remembered between refreshes: see guard.h. */
#include "server/ingest/guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGREEING_REFRESHES 3
#define SMALL_SET 4 /* of fewer rows, half is no sign of anything */
#define HELD_TIMES 10
#define JUMP_TIMES 3
#define ABSURD_MICROS 1 /* as remembered: below any price that is believed */

/* A price as the guard remembers it. */
struct seen {
	uint64_t id;
	int64_t micros;
};

struct seen_list {
	struct seen *rows; /* sorted by id */
	size_t count;
};

/* The text between refreshes: "held N" and the rows of the refresh that is held, or the rows whose
 * jump waits; one "<id> <micros>" a line. */
struct memory {
	long agreed; /* refreshes held so far that agree; 0 = rows are jumps */
	struct seen_list list;
};

static int by_id(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static const struct seen *seen_find(const struct seen_list *list, uint64_t id)
{
	const struct seen key = {.id = id};

	return list->count ? bsearch(&key, list->rows, list->count, sizeof(key), by_id) : NULL;
}

static bool seen_from_offers(struct arena *arena, const struct offer *offers, size_t count,
			     struct seen_list *out)
{
	*out = (struct seen_list){
		.rows = arena_array(arena, count ? count : 1, sizeof(struct seen))};
	if (!out->rows)
		return false;
	for (size_t i = 0; i < count; i++)
		if (offers[i].price_micros > 0)
			out->rows[out->count++] =
				(struct seen){offers[i].id, offers[i].price_micros};
	qsort(out->rows, out->count, sizeof(*out->rows), by_id);
	return true;
}

static bool seen_from_prices(struct arena *arena, const struct guard_price *prices, size_t count,
			     struct seen_list *out)
{
	*out = (struct seen_list){
		.rows = arena_array(arena, count ? count : 1, sizeof(struct seen))};
	if (!out->rows)
		return false;
	for (size_t i = 0; i < count; i++)
		if (prices[i].micros > 0)
			out->rows[out->count++] = (struct seen){prices[i].id, prices[i].micros};
	qsort(out->rows, out->count, sizeof(*out->rows), by_id);
	return true;
}

static bool memory_parse(struct arena *arena, const char *text, struct memory *out)
{
	size_t lines = 0;
	int used = 0;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	*out = (struct memory){.list.rows = arena_array(arena, lines + 1, sizeof(struct seen))};
	if (!out->list.rows)
		return false;
	if (sscanf(text, "held %4ld\n%n", &out->agreed, &used) == 1 && out->agreed > 0)
		text += used;
	else
		out->agreed = 0;
	while (*text) {
		struct seen row;

		used = 0;
		if (sscanf(text, "%16" SCNx64 " %18" SCNd64 "%n", &row.id, &row.micros, &used) !=
			    2 ||
		    text[used] != '\n' || row.micros <= 0) {
			*out = (struct memory){0};
			return true;
		}
		out->list.rows[out->list.count++] = row;
		text += used + 1;
	}
	qsort(out->list.rows, out->list.count, sizeof(struct seen), by_id);
	return true;
}

#define LINE_BYTES 40

static const char *memory_print(struct arena *arena, long agreed, const struct seen_list *list)
{
	size_t size = LINE_BYTES * (list->count + 1), used = 0;
	char *text = arena_alloc(arena, size);

	if (!text)
		return NULL;
	if (agreed)
		used += (size_t)snprintf(text, size, "held %ld\n", agreed);
	for (size_t i = 0; i < list->count; i++)
		used += (size_t)snprintf(text + used, size - used, "%016" PRIx64 " %" PRId64 "\n",
					 list->rows[i].id, list->rows[i].micros);
	return text;
}

/* True when the larger is at least `times` the smaller. */
static bool has_moved(int64_t a, int64_t b, int64_t times)
{
	int64_t low = a < b ? a : b, high = a < b ? b : a;

	return high / times >= low;
}

static bool has_jumped(int64_t a, int64_t b)
{
	int64_t low = a < b ? a : b, high = a < b ? b : a;

	return low < high / JUMP_TIMES || (low == high / JUMP_TIMES && high % JUMP_TIMES != 0);
}

static bool is_within_a_tenth(int64_t a, int64_t b)
{
	int64_t distance = a > b ? a - b : b - a;

	return distance <= (a > b ? b : a) / 10;
}

/* What speaks against `now` as the successor of `before`; "" when nothing does. */
static void suspect(const struct seen_list *before, const struct seen_list *now, char *reason,
		    size_t reason_size)
{
	size_t moved = 0, common = 0;

	*reason = '\0';
	if (!now->count) {
		if (before->count)
			snprintf(reason, reason_size, "empty; the last good refresh had %zu rows",
				 before->count);
		return;
	}
	if (before->count >= SMALL_SET && now->count <= before->count / 2) {
		snprintf(reason, reason_size, "%zu rows; the last good refresh had %zu", now->count,
			 before->count);
		return;
	}
	for (size_t i = 0; i < now->count; i++) {
		const struct seen *old = seen_find(before, now->rows[i].id);

		common += old != NULL;
		moved += old && has_moved(old->micros, now->rows[i].micros, HELD_TIMES);
	}
	if (moved * 10 > common)
		snprintf(reason, reason_size, "%zu of %zu rows moved tenfold", moved, common);
}

/* Rows that jumped wait; those whose jump was told before do not. */
static bool hold_jumps(const struct seen_list *before, const struct memory *memory,
		       struct feed *feed, struct guard_verdict *out, struct seen_list *waiting)
{
	const size_t most = feed->count + feed->refused_count + 1;

	waiting->rows = arena_array(feed->arena, most, sizeof(struct seen));
	out->waiting = arena_array(feed->arena, most, sizeof(*out->waiting));
	if (!waiting->rows || !out->waiting)
		return false;
	for (size_t i = 0; i < feed->count; i++) {
		const struct offer *offer = &feed->offers[i];
		const struct seen *old = seen_find(before, offer->id), *told;

		if (!old || !has_jumped(old->micros, offer->price_micros))
			continue;
		told = memory->agreed ? NULL : seen_find(&memory->list, offer->id);
		if (told && is_within_a_tenth(told->micros, offer->price_micros))
			continue;
		feed_reject(feed, REJECTED_JUMP,
			    "%.60s in \"%.30s\": %" PRId64 " to %" PRId64 " micro-dollars",
			    offer->instance_type, offer->region, old->micros, offer->price_micros);
		waiting->rows[waiting->count++] = (struct seen){offer->id, offer->price_micros};
		out->waiting[out->waiting_count++] = i;
	}
	return true;
}

static int by_number(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Rows of an absurd price wait once, too: places for their last good values are added. */
static bool hold_refused(const struct seen_list *before, const struct seen_list *now,
			 const struct memory *memory, struct feed *feed, struct guard_verdict *out,
			 struct seen_list *waiting)
{
	if (feed->refused_count)
		qsort(feed->refused, feed->refused_count, sizeof(*feed->refused), by_number);
	for (size_t i = 0; i < feed->refused_count; i++) {
		const uint64_t id = feed->refused[i];
		const struct seen *told = memory->agreed ? NULL : seen_find(&memory->list, id);
		struct offer *offer;

		if ((i && feed->refused[i - 1] == id) || !seen_find(before, id) ||
		    seen_find(now, id) || (told && told->micros == ABSURD_MICROS))
			continue;
		offer = feed_add(feed);
		if (!offer)
			return false;
		offer->id = id;
		waiting->rows[waiting->count++] = (struct seen){id, ABSURD_MICROS};
		out->waiting[out->waiting_count++] = feed->count - 1;
	}
	return true;
}

static bool guard_hold(const struct memory *memory, const struct seen_list *now, struct feed *feed,
		       struct guard_verdict *out)
{
	long agreed = 1;

	if (memory->agreed) {
		char difference[sizeof(out->reason)];

		suspect(&memory->list, now, difference, sizeof(difference));
		if (!*difference && (memory->list.count || !now->count))
			agreed = memory->agreed + 1;
	}
	if (agreed >= AGREEING_REFRESHES) {
		size_t length = strlen(out->reason);

		snprintf(out->reason + length, sizeof(out->reason) - length,
			 "; accepted, since %d refreshes agree", AGREEING_REFRESHES);
		out->state = "";
		return true;
	}
	out->is_held = true;
	out->is_empty = now->count == 0;
	out->state = memory_print(feed->arena, agreed, now);
	return out->state != NULL;
}

bool guard_check(const char *state, const struct guard_price *last, size_t last_count, bool accept,
		 struct feed *feed, struct guard_verdict *out, struct error *error)
{
	struct seen_list before, now, waiting = {0};
	struct memory memory;
	bool ok;

	*out = (struct guard_verdict){.state = ""};
	if (accept)
		return true;
	ok = memory_parse(feed->arena, state, &memory) &&
	     seen_from_prices(feed->arena, last, last_count, &before) &&
	     seen_from_offers(feed->arena, feed->offers, feed->count, &now);
	if (ok) {
		suspect(&before, &now, out->reason, sizeof(out->reason));
		if (out->reason[0]) {
			ok = guard_hold(&memory, &now, feed, out);
		} else {
			ok = hold_jumps(&before, &memory, feed, out, &waiting) &&
			     hold_refused(&before, &now, &memory, feed, out, &waiting) &&
			     (out->state = memory_print(feed->arena, 0, &waiting)) != NULL;
		}
	}
	return ok || error_set(error, ERROR_FEED, "no memory to compare with the last refresh");
}
