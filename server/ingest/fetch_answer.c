/*
 * The answer of a transfer: status, the headers that matter, the body; of a gRPC call the message
 * without its frame, and the status of the call, which comes after the body or, when there is none,
 * with the headers.
 */
#include "server/ingest/fetch_parts.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define CONTENT_TYPE_MAX 200
#define REASON_MAX 120
#define FRAME_BYTES 5 /* compressed or not, and the length in four bytes, the highest first */
#define GRPC_OK 0

/* By google.rpc.Code, whose definition says which HTTP status each is. */
static const unsigned short grpc_statuses[] = {200, 499, 500, 400, 504, 404, 409, 403, 429,
					       400, 409, 400, 501, 500, 503, 500, 401};

static const char *header_of(CURL *curl, const char *name, unsigned origin, struct arena *arena)
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
	return header_of(curl, name, CURLH_HEADER, arena);
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

const char *fetch_frame(const char *message, size_t *length, struct arena *arena)
{
	char *framed = arena_alloc(arena, *length + FRAME_BYTES);

	if (!framed)
		return NULL;
	for (size_t i = 0; i < FRAME_BYTES - 1; i++)
		framed[1 + i] = (char)(*length >> (8 * (FRAME_BYTES - 2 - i)));
	if (*length)
		memcpy(framed + FRAME_BYTES, message, *length);
	*length += FRAME_BYTES;
	return framed;
}

/* The one message of the answer, in place of its frame. */
static bool unframe(const char **body, size_t *length)
{
	size_t told = 0;

	if (*length < FRAME_BYTES || (*body)[0] != 0)
		return false; /* compression was not offered */
	for (size_t i = 1; i < FRAME_BYTES; i++)
		told = told << 8 | (unsigned char)(*body)[i];
	*body += FRAME_BYTES;
	*length -= FRAME_BYTES;
	return *length == told;
}

/* Of the call, as an HTTP status; 0 when none was told: the answer was cut off, or is no gRPC. */
static unsigned grpc_status(CURL *curl, struct arena *arena, const char **reason)
{
	const char *text = header_of(curl, "grpc-status", CURLH_TRAILER | CURLH_HEADER, arena);
	const char *words = header_of(curl, "grpc-message", CURLH_TRAILER | CURLH_HEADER, arena);
	const size_t codes = sizeof(grpc_statuses) / sizeof(grpc_statuses[0]);
	char *end;
	unsigned long code = strtoul(text, &end, 10);

	if (!*text || *end)
		return 0;
	if (code != GRPC_OK)
		*reason = arena_printf(arena, "gRPC status %.3s: %.*s", text, REASON_MAX, words);
	if (!*reason)
		*reason = "";
	return code < codes ? grpc_statuses[code] : 500;
}

static enum fetch_failure take_grpc(CURL *curl, const struct fetch_request *request,
				    const char **body, size_t *length, struct arena *arena,
				    struct fetch_response *out, struct error *error)
{
	if (out->status != 200)
		return FETCH_OK; /* a proxy's own word, or of a server that was not asked so */
	out->status = grpc_status(curl, arena, &out->reason);
	if (out->status == 0) {
		error_set(error, ERROR_FEED, "%s: the answer ends without the status of a call",
			  request->label);
		return FETCH_TRUNCATED;
	}
	if (out->status == 200 && !unframe(body, length)) {
		error_set(error, ERROR_FEED, "%s: the answer is not one whole message",
			  request->label);
		return FETCH_TRUNCATED;
	}
	return FETCH_OK;
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
			take_grpc(curl, request, &body, &length, arena, out, error);

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
