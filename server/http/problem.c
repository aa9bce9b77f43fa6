/* Problems: see problem.h. */
#include "server/http/problem.h"

#include "server/http/forwarded.h"
#include "server/http/limit.h"
#include "server/http/target.h"
#include "server/json/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEM_BYTES_MAX 262144

/* An error without a status does not compile: the array below must cover the table. */
static const unsigned statuses[] = {
	[ERROR_NONE] = 500,
	[ERROR_MALFORMED] = 400,
	[ERROR_INVALID_PARAMETER] = 400,
	[ERROR_INVALID] = 422,
	[ERROR_UNSUPPORTED] = 422,
	[ERROR_UNKNOWN_MODEL] = 422,
	[ERROR_NOT_FOUND] = 404,
	[ERROR_UNAUTHORIZED] = 401,
	[ERROR_FORBIDDEN] = 403,
	[ERROR_QUOTA] = 429,
	[ERROR_METHOD] = 405,
	[ERROR_NOT_ACCEPTABLE] = 406,
	[ERROR_MEDIA_TYPE] = 415,
	[ERROR_TOO_LARGE] = 413,
	[ERROR_TARGET_TOO_LONG] = 414,
	[ERROR_HEAD_TOO_LARGE] = 431,
	[ERROR_NOT_IMPLEMENTED] = 501,
	[ERROR_TIMEOUT] = 408,
	[ERROR_WAITING] = 429,
	[ERROR_CURSOR_EXPIRED] = 410,
	[ERROR_UNAVAILABLE] = 503,
	[ERROR_INTERNAL] = 500,
	[ERROR_FEED] = 500,
	[ERROR_STORE] = 503,
};
_Static_assert(sizeof(statuses) / sizeof(*statuses) == ERROR_CODES, "every error has a status");

/* Sent when even a problem document finds no memory. */
static const char last_resort[] =
	"{\"type\":\"/problems/internal\",\"title\":\"The service failed\",\"status\":500,"
	"\"code\":\"internal\",\"detail\":\"out of memory\"}\n";

unsigned problem_status(enum error_code code)
{
	return statuses[code];
}

static void write_code(struct writer *writer, const char *slug)
{
	char code[64];
	size_t i;

	for (i = 0; slug[i] && i < sizeof(code) - 1; i++)
		code[i] = slug[i] == '-' ? '_' : slug[i];
	code[i] = '\0';
	writer_string(writer, code);
}

static void write_type(struct writer *writer, const char *slug)
{
	char type[96];

	snprintf(type, sizeof(type), "/problems/%s", slug);
	writer_string(writer, type);
}

static void write_items(struct writer *writer, const struct error *error)
{
	if (!error->first)
		return;
	writer_key(writer, "errors");
	writer_begin_array(writer);
	for (const struct error_item *item = error->first; item; item = item->next) {
		writer_begin_object(writer);
		writer_key(writer,
			   error->code == ERROR_INVALID_PARAMETER ? "parameter" : "pointer");
		writer_string(writer, item->pointer);
		writer_key(writer, "code");
		writer_string(writer, item->code);
		writer_key(writer, "detail");
		writer_string(writer, item->detail);
		if (item->suggestion) {
			writer_key(writer, "suggestion");
			writer_string(writer, item->suggestion);
		}
		writer_end_object(writer);
	}
	writer_end_array(writer);
	if (error->dropped) {
		writer_key(writer, "errors_omitted");
		writer_unsigned(writer, error->dropped);
	}
}

/* The path as the caller asked it, whatever a gateway has cut off. */
static void write_instance(struct writer *writer, const struct request *request)
{
	char instance[FORWARDED_PREFIX_TEXT + TARGET_BYTES_MAX];
	int length = snprintf(instance, sizeof(instance), "%s%.*s", request->prefix,
			      (int)request->path_length, request->path);

	writer_key(writer, "instance");
	writer_string_n(writer, instance, (size_t)length);
}

/* How to start again: the same request without the place that it went on from. */
static void write_restart(struct writer *writer, const struct request *request)
{
	static const char *const places[] = {"cursor=", "since=", "wait="};
	const char *query = strchr(request->target, '?');
	char text[TARGET_BYTES_MAX + 2] = "?";
	size_t used = 0;

	for (query = query ? query + 1 : ""; *query; query += *query == '&') {
		size_t length = strcspn(query, "&");
		bool is_place = false;

		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
			is_place |= strncmp(query, places[i], strlen(places[i])) == 0;
		if (!is_place && used + length < sizeof(text)) {
			text[used] = used ? '&' : '?';
			memcpy(text + used + 1, query, length);
			used += length + 1;
		}
		query += length;
	}
	writer_key(writer, "restart");
	writer_string_n(writer, text, used ? used : 1);
}

/* Members that single types have. */
static void write_extensions(struct writer *writer, const struct error *error,
			     const struct request *request)
{
	if (error->code == ERROR_FORBIDDEN && request && request->missing_scope) {
		writer_key(writer, "required_scope");
		writer_string(writer, request->missing_scope);
	}
	if (error->code == ERROR_CURSOR_EXPIRED && request && request->target)
		write_restart(writer, request);
	if (error->code == ERROR_QUOTA) { /* as draft-ietf-httpapi-ratelimit-headers names it */
		writer_key(writer, "violated-policies");
		writer_begin_array(writer);
		writer_string(writer, LIMIT_POLICY);
		writer_end_array(writer);
	}
}

static void write_problem(struct writer *writer, const struct error *error,
			  const struct request *request)
{
	const char *slug = error_slug(error->code);

	writer_begin_object(writer);
	writer_key(writer, "type");
	write_type(writer, slug);
	writer_key(writer, "title");
	writer_string(writer, error_title(error->code));
	writer_key(writer, "status");
	writer_unsigned(writer, problem_status(error->code));
	writer_key(writer, "code");
	write_code(writer, slug);
	writer_key(writer, "detail");
	writer_string(writer, error->detail);
	if (request && *request->request_id) {
		writer_key(writer, "request_id");
		writer_string(writer, request->request_id);
	}
	if (request && request->trace_id) {
		writer_key(writer, "trace_id");
		writer_string(writer, request->trace_id);
	}
	if (request && request->path)
		write_instance(writer, request);
	write_extensions(writer, error, request);
	write_items(writer, error);
	writer_end_object(writer);
	writer_raw(writer, "\n", 1);
}

void problem_reply(const struct error *error, const struct request *request, struct reply *reply)
{
	struct writer writer;

	writer_init(&writer, PROBLEM_BYTES_MAX);
	write_problem(&writer, error, request);
	free(reply->body); /* what a handler had begun */
	*reply = (struct reply){.status = problem_status(error->code),
				.content_type = "application/problem+json",
				.cache_control = "no-store"};
	reply->body = writer_take(&writer, &reply->length);
	if (!reply->body) {
		writer_release(&writer);
		reply->status = 500;
		reply->static_body = last_resort;
		reply->length = strlen(last_resort);
	}
	if (reply->status == 503 || error->code == ERROR_WAITING)
		reply_header(reply, "Retry-After", "1");
}
