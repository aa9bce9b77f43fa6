/*
 * GET /v1/prices/{id}/history: what became of one offer's price.
 *
 * In two halves: api_history_ask() reads the request and notes what must be read; api_history()
 * prints what was. A cursor says behind which item to go on, and how far the log had been rolled up
 * then: when a roll-up has passed the cursor's place since, changes and hours would overlap, and
 * the client starts again.
 */
#include "server/history.h"

#include "core/hash.h"
#include "server/api/api.h"
#include "server/api/csv.h"
#include "server/api/cursor.h"
#include "server/api/query.h"
#include "server/api/render.h"
#include "server/clock.h"
#include "server/key.h"

#include <inttypes.h>
#include <string.h>

#define PAGE_DEFAULT 100
#define PAGE_MAX 1000
#define US_PER_HOUR (3600 * US_PER_SECOND)
#define US_PER_DAY (24 * US_PER_HOUR)
#define FIRST_MONDAY_US (4 * US_PER_DAY) /* 1970-01-05 */

enum { KEY_AT, KEY_SEQUENCE, KEY_CHANGES_FROM, KEY_HOURS_FROM, KEYS };

struct asked {
	struct history history; /* first: all that the store is given */
	struct cursor cursor;
	bool has_cursor, is_csv;
	uint64_t filter;
	struct error warnings;
};

/* --- asking --- */

static int64_t step_us(enum history_step step)
{
	static const int64_t lengths[HISTORY_STEPS] = {
		[HISTORY_CHANGE] = 1,
		[HISTORY_HOUR] = US_PER_HOUR,
		[HISTORY_DAY] = US_PER_DAY,
		[HISTORY_WEEK] = 7 * US_PER_DAY,
	};

	return lengths[step];
}

static int64_t step_start(enum history_step step, int64_t at_us)
{
	int64_t first_us = step == HISTORY_WEEK ? FIRST_MONDAY_US : 0, length = step_us(step);
	int64_t since_us = at_us - first_us;

	if (since_us < 0) /* the week that 1970 began in */
		return 0;
	return first_us + since_us / length * length;
}

/* False when absent or bad (reported). */
static bool read_time(struct query_reader *reader, struct request *request, const char *name,
		      int64_t *out)
{
	const char *text = request_query(request, name);
	size_t length = text ? strlen(text) : 0;
	char *plain;

	if (!text)
		return false;
	/* "+01:00" that was not percent-encoded. */
	plain = arena_strdup(&request->arena, text);
	if (plain && length > 6 && plain[length - 6] == ' ')
		plain[length - 6] = '+';
	*out = plain ? clock_parse(plain) : -1;
	if (*out >= 0)
		return true;
	*out = 0;
	return query_fault(reader, name, "syntax", NULL,
			   "must be a date or a time of RFC 3339, such as 2026-11-30 or "
			   "2026-11-30T08:00:00Z");
}

/* Steps are told whole: the bounds widen to theirs. */
static void read_range(struct query_reader *reader, struct request *request,
		       struct history *history)
{
	enum history_step step = history->step;
	bool has_from = read_time(reader, request, "from", &history->from_us);
	bool has_to = read_time(reader, request, "to", &history->to_us);

	if (has_to && history->to_us <= history->from_us && (has_from || history->to_us == 0))
		query_fault(reader, "to", "out_of_range", NULL, "must be later than 'from'");
	if (has_from)
		history->from_us = step_start(step, history->from_us);
	if (has_to && step != HISTORY_CHANGE)
		history->to_us = step_start(step, history->to_us - 1) + step_us(step);
}

static enum history_step read_step(struct query_reader *reader, struct request *request)
{
	const char *text = request_query(request, "step");
	int step = text ? names_find(&history_step_names, text) : HISTORY_CHANGE;

	if (step >= 0)
		return (enum history_step)step;
	query_fault(reader, "step", "unknown_value", names_nearest(&history_step_names, text),
		    "must be 'change', 'hour', 'day' or 'week'");
	return HISTORY_CHANGE;
}

/* Another range or step is another list. */
static uint64_t filter_hash(struct request *request, const struct history *history)
{
	const char *text = arena_printf(
		&request->arena, "%016" PRIx64 " %" PRId64 " %" PRId64 " %d", history->offer_id,
		history->from_us, history->to_us, (int)history->step);

	return hash_text(HASH_START, text ? text : "");
}

static bool read_cursor(struct query_reader *reader, struct request *request, struct asked *asked)
{
	const char *text = request_query(request, "cursor");
	struct cursor *cursor = &asked->cursor;

	if (!text)
		return true;
	if (!cursor_decode(&request->arena, text, cursor))
		return query_fault(reader, "cursor", "syntax", NULL,
				   "is not a cursor of this service: follow 'next' as it is");
	if (cursor->filter != asked->filter || cursor->keys_count != KEYS)
		return query_fault(reader, "cursor", "mismatch", NULL,
				   "belongs to another offer, range or step");
	asked->has_cursor = true;
	asked->history.after_us = cursor->keys[KEY_AT].number;
	asked->history.after_sequence = cursor->keys[KEY_SEQUENCE].number;
	return true;
}

bool api_history_ask(struct request *request, struct arena *arena, void **wanted,
		     struct error *error)
{
	static const char *const known[] = {"from",   "to",	"step", "limit",
					    "cursor", "format", NULL};
	struct asked *asked = arena_array(arena, 1, sizeof(*asked));
	int64_t limit = PAGE_DEFAULT;
	struct query_reader reader;

	if (!asked)
		return error_set(error, ERROR_INTERNAL, "memory is out");
	*asked = (struct asked){.is_csv = false};
	query_begin(&reader, request, known, error);
	asked->history.step = read_step(&reader, request);
	read_range(&reader, request, &asked->history);
	query_whole(&reader, "limit", 1, PAGE_MAX, &limit);
	asked->history.limit = (size_t)limit;
	asked->history.is_public = !(request->scopes & SCOPE_PRIVATE_PRICES);
	asked->is_csv = query_csv(&reader);
	if (!query_end(&reader))
		return false;
	if (!offer_id_parse(request->parameter[0], &asked->history.offer_id))
		return error_set(error, ERROR_NOT_FOUND,
				 "'%.40s' is no offer's id: they are 16 hexadecimal digits",
				 request->parameter[0]);
	asked->filter = filter_hash(request, &asked->history);
	if (!read_cursor(&reader, request, asked))
		return query_end(&reader);
	asked->warnings = reader.warnings;
	*wanted = &asked->history;
	return true;
}

/* --- answering --- */

/* A roll-up has passed the place of the cursor since it was made. */
static bool is_passed(int64_t at_us, int64_t then_us, int64_t now_us)
{
	return at_us >= then_us && at_us < now_us;
}

static bool check_cursor(const struct asked *asked, struct error *error)
{
	const struct history *history = &asked->history;
	const struct cursor *cursor = &asked->cursor;
	int64_t at_us = cursor->keys[KEY_AT].number;

	if (!asked->has_cursor)
		return true;
	if (strcmp(cursor->epoch, history->epoch) != 0)
		return error_set(error, ERROR_CURSOR_EXPIRED,
				 "the price table was rebuilt since: start again without a cursor");
	if (cursor->version > history->version)
		return error_set(error, ERROR_UNAVAILABLE,
				 "this replica has not reached the cursor's version yet");
	if ((history->step == HISTORY_CHANGE &&
	     is_passed(at_us, cursor->keys[KEY_CHANGES_FROM].number, history->changes_from_us)) ||
	    is_passed(at_us, cursor->keys[KEY_HOURS_FROM].number, history->hours_from_us))
		return error_set(error, ERROR_CURSOR_EXPIRED,
				 "these changes were rolled up since: start again without a "
				 "cursor");
	return true;
}

static const char *next_link(struct request *request, const struct asked *asked,
			     struct reply *reply)
{
	const struct history *history = &asked->history;
	struct cursor cursor = {.version = asked->has_cursor ? asked->cursor.version
							     : history->version,
				.filter = asked->filter,
				.id = history->offer_id,
				.keys_count = KEYS};
	const struct history_item *last;

	if (!history->has_more)
		return NULL;
	last = &history->items[history->count - 1];
	memcpy(cursor.epoch, history->epoch, sizeof(cursor.epoch));
	cursor.keys[KEY_AT].number = last->at_us;
	cursor.keys[KEY_SEQUENCE].number = last->sequence;
	cursor.keys[KEY_CHANGES_FROM].number = history->changes_from_us;
	cursor.keys[KEY_HOURS_FROM].number = history->hours_from_us;
	return query_next(request, cursor_encode(&request->arena, &cursor), reply);
}

/* Of its key and its life, what does not change while it is looked at. */
static void write_offer(struct writer *writer, const struct offer *offer)
{
	char id[OFFER_ID_TEXT];

	offer_id_format(offer->id, id);
	writer_key(writer, "offer");
	writer_begin_object(writer);
	render_text(writer, "id", id);
	render_text(writer, "provider", offer->provider);
	render_text(writer, "region", offer->region);
	render_text(writer, "zone", offer->zone);
	render_text(writer, "instance_type", offer->instance_type);
	render_text(writer, "accelerator", offer->accelerator);
	render_flag(writer, "accelerator_known", offer->is_mapped);
	render_number(writer, "count", offer->count_milli / (double)COUNT_MILLI_ONE, 3);
	render_text(writer, "tier", offer->tier);
	render_text(writer, "price_kind", names_text(&price_kind_names, (int)offer->price_kind));
	render_known(writer, "term_months",
		     offer->price_kind == PRICE_RESERVED ? offer->term_months : 0, 0);
	render_time(writer, "first_seen_at", offer->first_seen_us);
	render_time(writer, "withdrawn_at", offer->withdrawn_at_us);
	writer_end_object(writer);
}

static void write_item(struct writer *writer, const struct history_item *item)
{
	writer_begin_object(writer);
	render_time(writer, "at", item->at_us);
	render_text(writer, "step", names_text(&history_step_names, (int)item->step));
	render_text(writer, "event", names_text(&history_event_names, (int)item->event));
	render_integer(writer, "changes", item->changes);
	render_micros(writer, "open_usd_per_hour", item->first_micros);
	render_micros(writer, "last_usd_per_hour", item->last_micros);
	render_micros(writer, "low_usd_per_hour", item->low_micros);
	render_micros(writer, "high_usd_per_hour", item->high_micros);
	render_text(writer, "availability",
		    names_text(&availability_names, (int)item->availability));
	writer_key(writer, "quantity");
	if (item->quantity >= 0)
		writer_integer(writer, item->quantity);
	else
		writer_null(writer);
	writer_end_object(writer);
}

static void write_history(struct writer *writer, const struct asked *asked, const char *next)
{
	const struct history *history = &asked->history;

	writer_begin_object(writer);
	render_text(writer, "currency", "USD");
	write_offer(writer, &history->offer);
	render_text(writer, "step", names_text(&history_step_names, (int)history->step));
	render_time(writer, "complete_since", history->changes_from_us);
	render_time(writer, "hours_since", history->hours_from_us);
	render_time(writer, "days_since", history->days_from_us);
	writer_key(writer, "items");
	writer_begin_array(writer);
	for (size_t i = 0; i < history->count; i++)
		write_item(writer, &history->items[i]);
	writer_end_array(writer);
	render_text(writer, "next", next);
	writer_key(writer, "warnings");
	render_warnings(writer, &asked->warnings);
	writer_end_object(writer);
}

bool api_history(struct request *request, struct reply *reply, struct error *error)
{
	struct asked *asked = request->wanted; /* history is its first member */
	const char *next;
	struct writer writer;

	if (!asked->history.is_known)
		return error_set(error, ERROR_NOT_FOUND, "no offer has ever had the id '%.40s'",
				 request->parameter[0]);
	if (!check_cursor(asked, error))
		return false;
	next = next_link(request, asked, reply);
	writer_init(&writer, ANSWER_BYTES_MAX);
	if (asked->is_csv) {
		csv_history(&writer, asked->history.items, asked->history.count);
		reply->content_type = CSV_TYPE;
	} else {
		write_history(&writer, asked, next);
	}
	if (!query_reply(&writer, reply, error))
		return false;
	/* No ages inside: an answer that says the same is the same bytes. */
	reply->etag = arena_printf(&request->arena, "W/\"%016" PRIx64 "\"",
				   hash_text(HASH_START, reply->body));
	return true;
}
