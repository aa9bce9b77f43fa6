/* GET /v1/prices and /v1/prices/{id}: the live table. */
#include "server/api/prices.h"

#include "server/api/api.h"
#include "server/api/csv.h"
#include "server/api/delta.h"
#include "server/api/poll.h"
#include "server/api/price_page.h"
#include "server/api/render.h"
#include "server/http/http.h"

#include <string.h>

#define PAGE_DEFAULT 100
#define PAGE_MAX 1000

/* The cursor must belong to this filter and to a world that this replica has seen. */
static bool read_cursor(struct query_reader *reader, struct request *request,
			const struct price_filter *filter, struct cursor *out)
{
	const char *text = request_query(request, "cursor");
	const struct catalogue *catalogue = request->catalogue;

	if (!text)
		return false;
	if (!cursor_decode(&request->arena, text, out))
		return query_fault(reader, "cursor", "syntax", NULL,
				   "is not a cursor of this service: follow 'next' as it is");
	if (out->filter != filter->hash || out->keys_count != filter->order_count)
		return query_fault(reader, "cursor", "mismatch", NULL,
				   "belongs to another filter or sort order");
	if (strcmp(out->epoch, catalogue->epoch) != 0)
		return error_set(reader->error, ERROR_CURSOR_EXPIRED,
				 "the price table was rebuilt since: start again without a cursor");
	return true;
}

/* Is it the changes since that are asked for? */
static bool read_since(struct query_reader *reader, const struct request *request, bool is_csv)
{
	if (!request_query(request, "since"))
		return false;
	if (request_query(request, "cursor"))
		query_fault(reader, "since", "conflict", NULL, "goes without 'cursor'");
	if (is_csv)
		query_fault(reader, "since", "conflict", NULL,
			    "is answered in JSON only: a table has no place for what was removed");
	return true;
}

/* NULL on the last page. */
static const char *next_link(struct request *request, const struct price_filter *filter,
			     const struct price_page *page, int64_t first_version,
			     struct reply *reply)
{
	struct cursor cursor = {.first_version = first_version,
				.version = request->catalogue->version,
				.filter = filter->hash};
	struct offer last;

	if (!page->has_more)
		return NULL;
	memcpy(cursor.epoch, request->catalogue->epoch, sizeof(cursor.epoch));
	catalogue_read(request->catalogue, page->places[page->count - 1], &last);
	price_filter_position(filter, &last, &cursor);
	return query_next(request, cursor_encode(&request->arena, &cursor), reply);
}

void prices_render(struct writer *writer, const struct request *request, struct kept *kept,
		   const struct offer_fields *fields, uint32_t place)
{
	const struct render_source source = {.catalogue = request->catalogue,
					     .fragments = kept ? kept->fragments : NULL,
					     .now_us = request->now_us};
	struct offer offer;

	if (fields->count == 0) {
		render_sourced_offer(writer, &source, place);
		return;
	}
	catalogue_read(request->catalogue, place, &offer);
	offer_fields_render(writer, fields, &offer, request->now_us);
}

/* Without ages unless asked: a page that did not change is the same bytes. */
static bool write_csv(const struct request *request, const struct price_filter *filter,
		      const struct price_page *page, struct reply *reply, struct error *error)
{
	size_t i;
	struct writer writer;

	writer_init(&writer, ANSWER_BYTES_MAX);
	offer_fields_csv_header(&writer, &filter->fields);
	for (i = 0; i < page->count; i++) {
		struct offer offer;

		catalogue_read(request->catalogue, page->places[i], &offer);
		offer_fields_csv(&writer, &filter->fields, &offer, request->now_us);
	}
	reply->content_type = CSV_TYPE;
	return query_reply(&writer, reply, error);
}

static bool write_page(struct request *request, struct kept *kept,
		       const struct price_filter *filter, const struct price_page *page,
		       const char *next, const char *delta, const struct error *warnings,
		       struct reply *reply, struct error *error)
{
	size_t i;
	struct writer writer;

	writer_init(&writer, ANSWER_BYTES_MAX);
	writer_begin_object(&writer);
	render_text(&writer, "currency", "USD");
	writer_key(&writer, "catalogue");
	render_catalogue(&writer, request->catalogue, request->now_us);
	writer_key(&writer, "items");
	writer_begin_array(&writer);
	for (i = 0; i < page->count; i++)
		prices_render(&writer, request, kept, &filter->fields, page->places[i]);
	writer_end_array(&writer);
	render_text(&writer, "next", next);
	render_text(&writer, "delta", delta);
	writer_key(&writer, "warnings");
	render_warnings(&writer, warnings);
	writer_end_object(&writer);
	return query_reply(&writer, reply, error);
}

bool api_prices(struct request *request, struct reply *reply, struct error *error)
{
	int64_t limit = 0, first_version = request->catalogue->version, wait_seconds;
	const struct cursor *after = NULL;
	struct query_reader reader;
	struct price_filter filter;
	struct price_page page;
	struct cursor cursor;
	struct kept *kept;
	const char *next, *newer;
	int64_t newer_version;
	bool is_csv, is_delta;

	query_begin(&reader, request, price_parameters, error);
	price_filter_read(&reader, request->catalogue, &filter);
	query_whole(&reader, "limit", 1, PAGE_MAX, &limit);
	is_csv = query_csv(&reader);
	if (read_cursor(&reader, request, &filter, &cursor)) {
		after = &cursor;
		first_version = cursor.first_version;
	}
	wait_seconds = poll_read_wait(&reader);
	is_delta = read_since(&reader, request, is_csv);
	if (error->first && !query_end(&reader))
		return false;
	if (error_is_set(error))
		return false;
	reply->cache_control = poll_cache_control(wait_seconds);
	if (is_delta)
		return delta_answer(&reader, request, &filter, limit ? (size_t)limit : PAGE_MAX,
				    wait_seconds, reply, error);
	if (after && after->version > request->catalogue->version)
		return poll_hold_for_version(request, after->epoch, after->version, wait_seconds) ||
		       error_set(error, ERROR_UNAVAILABLE,
				 "this replica has not reached the cursor's version yet");
	reply->etag = poll_etag(request, &filter);
	newer = reply->etag ? poll_newer_etag(request, reply->etag, &newer_version) : NULL;
	if (newer) { /* not taken back: told what a replica that lags does know */
		if (poll_hold_for_version(request, request->catalogue->epoch, newer_version,
					  wait_seconds))
			return true;
		reply->etag = newer;
		reply->cache_control = "no-store";
	}
	if (reply->etag && request_has_etag(request, reply->etag) &&
	    poll_hold_for_news(request, &filter, wait_seconds))
		return true;
	if (reply->etag && reply_not_modified(request, reply, reply->etag))
		return true;
	kept = snapshot_kept(request->server->slot, request->catalogue);
	if (!price_page_find(&filter, request, after, limit ? (size_t)limit : PAGE_DEFAULT,
			     kept ? kept->pages : NULL, &page))
		return error_set(error, ERROR_INTERNAL, "memory is out");
	next = next_link(request, &filter, &page, first_version, reply);
	if (is_csv)
		return write_csv(request, &filter, &page, reply, error);
	return write_page(request, kept, &filter, &page, next,
			  delta_link(request, &filter, first_version, request->catalogue->version),
			  &reader.warnings, reply, error);
}

bool api_price(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	static const struct offer_fields all = {.count = 0};
	uint32_t place = CATALOGUE_NOWHERE;
	struct query_reader reader;
	struct writer writer;
	uint64_t id;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	if (offer_id_parse(request->parameter[0], &id))
		place = catalogue_find(request->catalogue, id);
	if (place == CATALOGUE_NOWHERE)
		return error_set(error, ERROR_NOT_FOUND, "no offer on sale has the id '%.40s'",
				 request->parameter[0]);
	if (query_not_modified(request, reply))
		return true;
	writer_init(&writer, ANSWER_BYTES_MAX);
	writer_begin_object(&writer);
	render_text(&writer, "currency", "USD");
	writer_key(&writer, "catalogue");
	render_catalogue(&writer, request->catalogue, request->now_us);
	writer_key(&writer, "offer");
	prices_render(&writer, request, snapshot_kept(request->server->slot, request->catalogue),
		      &all, place);
	writer_key(&writer, "warnings");
	render_warnings(&writer, &reader.warnings);
	writer_end_object(&writer);
	return query_reply(&writer, reply, error);
}
