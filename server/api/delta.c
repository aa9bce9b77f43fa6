/* Delta: see delta.h. */
#include "server/api/delta.h"

#include "core/hash.h"
#include "server/api/poll.h"
#include "server/api/price_versions.h"
#include "server/api/prices.h"
#include "server/api/render.h"
#include "server/http/http.h"
#include "server/key.h"

#include <string.h>

/* Changes looked at for one answer, some milliseconds: a page may end without being full. */
#define WALK_MAX 20000
#define NEVER_AFTER UINT64_MAX /* the id of a place behind all offers of its version */

/* Of a struct cursor that is one of these. */
enum { KEY_PLACE, KEYS };

struct delta {
	const struct price_filter *filter;
	const struct catalogue *catalogue;
	struct cursor cursor; /* as it was given */
	uint32_t *changed;    /* places: the filter takes them */
	uint32_t *removed;    /* it no longer does */
	size_t changed_count, removed_count, limit;
	struct cursor next;
	bool has_more;
};

static bool sees_all(const struct request *request)
{
	return request->scopes & SCOPE_PRIVATE_PRICES;
}

/* Unlike that of a list's pages: neither can be taken for the other. What the caller may see is
 * part of what was filtered. */
static uint64_t filter_hash(const struct price_filter *filter, bool is_all)
{
	return hash_text(filter->hash, is_all ? "since, all" : "since");
}

static void set_cursor(struct cursor *out, const struct request *request,
		       const struct price_filter *filter, int64_t from, int64_t place, uint64_t id,
		       int64_t seen)
{
	*out = (struct cursor){.first_version = from,
			       .version = seen,
			       .filter = filter_hash(filter, sees_all(request)),
			       .id = id,
			       .keys = {[KEY_PLACE] = {.number = place}},
			       .keys_count = KEYS};
	memcpy(out->epoch, request->catalogue->epoch, sizeof(out->epoch));
}

static const char *link_to(struct request *request, const struct cursor *cursor)
{
	static const char *const left_out[] = {"cursor", "since", "wait", NULL};
	const char *link = query_link(request, left_out);
	const char *text = cursor_encode(&request->arena, cursor);

	return link && text ? arena_printf(&request->arena, "%ssince=%s", link, text) : NULL;
}

/* Without it, nobody could tell what a change is of. */
static bool has_id(const struct price_filter *filter)
{
	for (size_t i = 0; i < filter->fields.count; i++)
		if (filter->fields.field[i] == FIELD_OF_OFFER_id)
			return true;
	return filter->fields.count == 0;
}

const char *delta_link(struct request *request, const struct price_filter *filter, int64_t from,
		       int64_t seen)
{
	struct cursor cursor;

	if (!has_id(filter))
		return NULL;
	set_cursor(&cursor, request, filter, from, from, NEVER_AFTER, seen);
	return link_to(request, &cursor);
}

/* --- reading the cursor --- */

static bool read_cursor(struct query_reader *reader, struct request *request,
			const struct price_filter *filter, struct cursor *out)
{
	if (!cursor_decode(&request->arena, request_query(request, "since"), out) ||
	    out->keys_count != KEYS)
		return query_fault(reader, "since", "syntax", NULL,
				   "is not a cursor of this service: follow 'delta' as it is");
	if (out->filter == filter_hash(filter, !sees_all(request)))
		return error_set(reader->error, ERROR_CURSOR_EXPIRED,
				 "the caller may see other prices now: start again with the "
				 "whole list");
	if (out->filter != filter_hash(filter, sees_all(request)))
		return query_fault(reader, "since", "mismatch", NULL,
				   "belongs to another filter: follow 'delta' with the "
				   "parameters that it has");
	if (!has_id(filter))
		return query_fault(reader, "fields", "required", NULL,
				   "must name 'id' for changes to be told apart");
	return true;
}

static bool is_too_old(const struct cursor *cursor, const struct catalogue *catalogue)
{
	return cursor->first_version < catalogue->changes_from;
}

/* --- the page --- */

/* The first change behind the cursor's place. */
static uint32_t enter(const struct catalogue *catalogue, const struct cursor *cursor)
{
	uint32_t low = 0, high = catalogue->changes_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct offer_change *change = &catalogue->changes[middle];
		int64_t version = catalogue->changes_from + change->since;
		uint64_t id = catalogue_changed_id(catalogue, change->place);

		if (version < cursor->keys[KEY_PLACE].number ||
		    (version == cursor->keys[KEY_PLACE].number && id <= cursor->id))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void take(struct delta *delta, const struct offer_change *change)
{
	bool is_in;
	int64_t since = price_filter_since(delta->filter, delta->catalogue, change, &is_in);

	if (is_in)
		delta->changed[delta->changed_count++] = change->place;
	else if (since > delta->cursor.first_version)
		delta->removed[delta->removed_count++] = change->place;
}

/* False when memory is out. */
static bool collect(struct delta *delta, struct request *request)
{
	struct arena *arena = &request->arena;
	const struct catalogue *catalogue = delta->catalogue;
	const struct offer_change *change = NULL;
	uint32_t at = enter(catalogue, &delta->cursor), walked = 0;

	delta->changed = arena_array(arena, delta->limit, sizeof(*delta->changed));
	delta->removed = arena_array(arena, delta->limit, sizeof(*delta->removed));
	if (!delta->changed || !delta->removed)
		return false;
	while (at < catalogue->changes_count && walked++ < WALK_MAX &&
	       delta->changed_count + delta->removed_count < delta->limit) {
		change = &catalogue->changes[at++];
		take(delta, change);
	}
	delta->has_more = at < catalogue->changes_count;
	if (delta->has_more && change)
		set_cursor(&delta->next, request, delta->filter, delta->cursor.first_version,
			   catalogue->changes_from + change->since,
			   catalogue_changed_id(catalogue, change->place), catalogue->version);
	else
		set_cursor(&delta->next, request, delta->filter, catalogue->version,
			   catalogue->version, NEVER_AFTER, catalogue->version);
	return true;
}

/* --- the answer --- */

static void render_removed(struct writer *writer, const struct delta *delta)
{
	writer_begin_array(writer);
	for (size_t i = 0; i < delta->removed_count; i++) {
		uint32_t place = delta->removed[i];
		/* One that became private is gone for who asks here. */
		bool is_on_sale = place < delta->catalogue->offers_count;
		char id[OFFER_ID_TEXT];

		offer_id_format(catalogue_changed_id(delta->catalogue, place), id);
		writer_begin_object(writer);
		render_text(writer, "id", id);
		render_text(writer, "reason", is_on_sale ? "filtered" : "withdrawn");
		writer_end_object(writer);
	}
	writer_end_array(writer);
}

static bool write_answer(struct query_reader *reader, struct request *request,
			 const struct delta *delta, struct reply *reply, struct error *error)
{
	struct kept *kept = snapshot_kept(request->server->slot, delta->catalogue);
	struct writer writer;

	writer_init(&writer, ANSWER_BYTES_MAX);
	writer_begin_object(&writer);
	render_text(&writer, "currency", "USD");
	writer_key(&writer, "catalogue");
	render_catalogue(&writer, delta->catalogue, request->now_us);
	writer_key(&writer, "changes");
	writer_begin_array(&writer);
	for (size_t i = 0; i < delta->changed_count; i++)
		prices_render(&writer, request, kept, &delta->filter->fields, delta->changed[i]);
	writer_end_array(&writer);
	writer_key(&writer, "removed");
	render_removed(&writer, delta);
	render_flag(&writer, "has_more", delta->has_more);
	render_text(&writer, "delta", link_to(request, &delta->next));
	writer_key(&writer, "warnings");
	render_warnings(&writer, &reader->warnings);
	writer_end_object(&writer);
	return query_reply(&writer, reply, error);
}

bool delta_answer(struct query_reader *reader, struct request *request,
		  const struct price_filter *filter, size_t limit, int64_t wait_seconds,
		  struct reply *reply, struct error *error)
{
	const struct catalogue *catalogue = request->catalogue;
	struct delta delta = {.filter = filter, .catalogue = catalogue, .limit = limit};
	bool is_other;

	if (!read_cursor(reader, request, filter, &delta.cursor))
		return error->first ? query_end(reader) : false;
	/* A replica that has not read the new epoch yet, or one that lags, soon will. */
	is_other = strcmp(delta.cursor.epoch, catalogue->epoch) != 0;
	if ((is_other || delta.cursor.version > catalogue->version) &&
	    poll_hold_for_version(request, delta.cursor.epoch, delta.cursor.version, wait_seconds))
		return true;
	if (is_other || is_too_old(&delta.cursor, catalogue)) {
		poll_count_expired(request);
		return error_set(error, ERROR_CURSOR_EXPIRED,
				 is_other ? "the price table was rebuilt since: start again with "
					    "the whole list"
					  : "the cursor is older than the changes that are kept: "
					    "start again with the whole list");
	}
	if (delta.cursor.version > catalogue->version) {
		delta.next = delta.cursor;
		reply->cache_control = "no-store"; /* another replica knows more */
	} else if (!collect(&delta, request)) {
		return error_set(error, ERROR_INTERNAL, "memory is out");
	} else if (!delta.has_more && !delta.changed_count && !delta.removed_count &&
		   poll_hold_for_news(request, filter, wait_seconds)) {
		return true;
	}
	return write_answer(reader, request, &delta, reply, error);
}
