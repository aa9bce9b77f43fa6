/* The answer of a transfer: status, the headers that matter, the body. */
#include "server/ingest/fetch_parts.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define CONTENT_TYPE_MAX 200

const char *fetch_header(void *curl, const char *name, unsigned origin, struct arena *arena)
{
	struct curl_header *header;
	const char *copy;

	if (curl_easy_header(curl, name, 0, origin, -1, &header) != CURLHE_OK)
		return "";
	copy = arena_strdup(arena, header->value);
	return copy ? copy : "";
}

static const char *header_text(CURL *curl, const char *name, struct arena *arena)
{
	return fetch_header(curl, name, CURLH_HEADER, arena);
}

/* Seconds, or an HTTP date: then counted from the answer's own Date, whatever our clock says. */
static double retry_after_seconds(CURL *curl, struct arena *arena)
{
	const char *text = header_text(curl, "Retry-After", arena);
	const char *date = header_text(curl, "Date", arena);
	time_t then, now;
	char *end;
	double seconds;

	if (*text >= '0' && *text <= '9') {
		seconds = strtod(text, &end);
		return *end || !(seconds >= 0 && seconds < 1e9) ? -1 : seconds;
	}
	then = curl_getdate(text, NULL);
	if (!*text || then == -1)
		return -1;
	now = *date ? curl_getdate(date, NULL) : -1;
	if (now == -1)
		now = time(NULL);
	return then > now ? (double)(then - now) : 0;
}

enum fetch_failure fetch_answer(void *curl, const struct fetch_request *request, const char *body,
				size_t length, struct arena *arena, struct fetch_response *out,
				struct error *error)
{
	const char *type = header_text(curl, "Content-Type", arena);
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 300 && status < 400) {
		error_set(error, ERROR_FEED, "%s: answered with a redirect (%ld), not followed",
			  request->label, status);
		return FETCH_REFUSED;
	}
	*out = (struct fetch_response){
		.status = (unsigned)status,
		.content_type = strlen(type) <= CONTENT_TYPE_MAX ? type : "",
		.link = header_text(curl, "Link", arena),
		.retry_after_seconds = retry_after_seconds(curl, arena),
		.reason = "",
	};
	if (request->is_grpc) {
		enum fetch_failure failure =
			fetch_call(curl, request, &body, &length, arena, out, error);

		if (failure != FETCH_OK)
			return failure;
	}
	out->body = body ? arena_strndup(arena, body, length) : "";
	out->length = length;
	if (out->body)
		return FETCH_OK;
	error_set(error, ERROR_FEED, "%s: no memory for an answer of %zu bytes", request->label,
		  length);
	return FETCH_OTHER;
}
