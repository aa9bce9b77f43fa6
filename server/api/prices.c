/* GET /v1/prices and /v1/prices/{id}: the live table. */
#include "server/api/api.h"
#include "server/api/csv.h"
#include "server/api/price_page.h"
#include "server/api/render.h"

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
	if (out->version > catalogue->version)
		return error_set(reader->error, ERROR_UNAVAILABLE,
				 "this replica has not reached the cursor's version yet");
	return true;
}

/* NULL on the last page. */
static const char *next_link(struct request *request, const struct price_filter *filter,
			     const struct price_page *page, int64_t first_version,
			     struct reply *reply)
{
	struct cursor cursor = {.version = first_version, .filter = filter->hash};

	if (!page->has_more)
		return NULL;
	memcpy(cursor.epoch, request->catalogue->epoch, sizeof(cursor.epoch));
	price_filter_position(filter, page->offers[page->count - 1], &cursor);
	return query_next(request, cursor_encode(&request->arena, &cursor), reply);
}

/* Without ages: a page that did not change is the same bytes. */
static bool write_csv(const struct price_page *page, struct reply *reply, struct error *error)
{
	size_t i;
	struct writer writer;

	writer_init(&writer, ANSWER_BYTES_MAX);
	csv_header(&writer);
	for (i = 0; i < page->count; i++)
		csv_offer(&writer, page->offers[i]);
	reply->content_type = CSV_TYPE;
	return query_reply(&writer, reply, error);
}

static bool write_page(struct request *request, const struct price_page *page, const char *next,
		       const struct error *warnings, struct reply *reply, struct error *error)
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
		render_offer(&writer, page->offers[i], request->now_us);
	writer_end_array(&writer);
	render_text(&writer, "next", next);
	writer_key(&writer, "warnings");
	render_warnings(&writer, warnings);
	writer_end_object(&writer);
	return query_reply(&writer, reply, error);
}

bool api_prices(struct request *request, struct reply *reply, struct error *error)
{
	int64_t limit = PAGE_DEFAULT, first_version = request->catalogue->version;
	const struct cursor *after = NULL;
	struct query_reader reader;
	struct price_filter filter;
	struct price_page page;
	struct cursor cursor;
	const char *next;
	bool is_csv;

	query_begin(&reader, request, price_parameters, error);
	price_filter_read(&reader, request->catalogue, &filter);
	query_whole(&reader, "limit", 1, PAGE_MAX, &limit);
	is_csv = query_csv(&reader);
	if (read_cursor(&reader, request, &filter, &cursor)) {
		after = &cursor;
		first_version = cursor.version;
	}
	if (error->first && !query_end(&reader))
		return false;
	if (error_is_set(error))
		return false;
	if (query_not_modified(request, reply))
		return true;
	if (!price_page_read(&filter, request->catalogue, after, (size_t)limit, &request->arena,
			     &page))
		return error_set(error, ERROR_INTERNAL, "memory is out");
	next = next_link(request, &filter, &page, first_version, reply);
	if (is_csv)
		return write_csv(&page, reply, error);
	return write_page(request, &page, next, &reader.warnings, reply, error);
}

bool api_price(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	const struct offer *offer = NULL;
	struct query_reader reader;
	struct writer writer;
	uint64_t id;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	if (offer_id_parse(request->parameter[0], &id))
		offer = catalogue_find(request->catalogue, id);
	if (!offer)
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
	render_offer(&writer, offer, request->now_us);
	writer_key(&writer, "warnings");
	render_warnings(&writer, &reader.warnings);
	writer_end_object(&writer);
	return query_reply(&writer, reply, error);
}
