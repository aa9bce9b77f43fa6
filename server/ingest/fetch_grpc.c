/*
 * What gRPC puts around HTTP/2: the frame of a message, and the status of a call, which comes after
 * the body or, when there is none, with the headers.
 */
#include "core/base64.h"
#include "server/ingest/fetch_parts.h"
#include "server/ingest/providers/protobuf.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REASON_MAX 120
#define FRAME_BYTES 5 /* compressed or not, and the length in four bytes, the highest first */
#define GRPC_OK 0
#define RETRY_AFTER_MOST_SECONDS 1000000000
#define RETRY_INFO "/google.rpc.RetryInfo"

/* Numbers of fields, of google.rpc.Status, Any, RetryInfo and Duration. */
enum { STATUS_DETAILS = 3, ANY_TYPE = 1, ANY_VALUE = 2, RETRY_DELAY = 1 };
enum { DURATION_SECONDS = 1, DURATION_NANOS = 2 };

/* By google.rpc.Code, whose definition says which HTTP status each is. */
static const unsigned short grpc_statuses[] = {200, 499, 500, 400, 504, 404, 409, 403, 429,
					       400, 409, 400, 501, 500, 503, 500, 401};

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

	if (*length < FRAME_BYTES)
		return false;
	for (size_t i = 1; i < FRAME_BYTES; i++)
		told = told << 8 | (unsigned char)(*body)[i];
	*body += FRAME_BYTES;
	*length -= FRAME_BYTES;
	return *length == told;
}

static const char *trailer(CURL *curl, const char *name, struct arena *arena)
{
	return fetch_header(curl, name, CURLH_TRAILER | CURLH_HEADER, arena);
}

static bool is_retry_info(struct protobuf detail, struct arena *arena)
{
	const char *type = protobuf_text(detail, ANY_TYPE, arena);
	const size_t length = type ? strlen(type) : 0, own = sizeof(RETRY_INFO) - 1;

	return length >= own && strcmp(type + length - own, RETRY_INFO) == 0;
}

/* How long to wait, by the details of the status; -1 when they do not say. */
static double retry_after_seconds(CURL *curl, struct arena *arena)
{
	const char *text = trailer(curl, "grpc-status-details-bin", arena);
	struct protobuf status = {.at = ""};
	struct protobuf_field detail;

	status.at = base64_decode(arena, BASE64_STANDARD, text, strcspn(text, "="), &status.length);
	while (status.at && protobuf_next(&status, &detail)) {
		struct protobuf delay;
		uint64_t seconds, nanos;

		if (detail.number != STATUS_DETAILS || detail.type != PROTOBUF_BYTES ||
		    !is_retry_info(detail.bytes, arena))
			continue;
		delay = protobuf_message(protobuf_message(detail.bytes, ANY_VALUE), RETRY_DELAY);
		seconds = protobuf_number(delay, DURATION_SECONDS);
		nanos = protobuf_number(delay, DURATION_NANOS);
		if (seconds < RETRY_AFTER_MOST_SECONDS && nanos < 1000000000)
			return (double)seconds + (double)nanos / 1e9;
	}
	return -1;
}

/* Of the call, as an HTTP status; 0 when none was told: the answer was cut off. */
static unsigned grpc_status(CURL *curl, struct arena *arena, const char **reason)
{
	const char *text = trailer(curl, "grpc-status", arena);
	const char *words = trailer(curl, "grpc-message", arena);
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

enum fetch_failure fetch_call(void *curl, const struct fetch_request *request, const char **body,
			      size_t *length, struct arena *arena, struct fetch_response *out,
			      struct error *error)
{
	double retry_after;

	if (out->status != 200)
		return FETCH_OK; /* a proxy's own word, or of a server that was not asked so */
	if (strncasecmp(out->content_type, "application/grpc", 16) != 0) {
		error_set(error, ERROR_FEED, "%s: the answer is \"%.60s\", no gRPC message",
			  request->label, out->content_type);
		return FETCH_UNWANTED;
	}
	out->status = grpc_status(curl, arena, &out->reason);
	if (out->status == 0) {
		error_set(error, ERROR_FEED, "%s: truncated: the answer ends without a status",
			  request->label);
		return FETCH_TRUNCATED;
	}
	retry_after = retry_after_seconds(curl, arena);
	if (retry_after >= 0)
		out->retry_after_seconds = retry_after;
	if (out->status == 200 && *length && (*body)[0] != 0) {
		error_set(error, ERROR_FEED, "%s: the message is compressed, unasked",
			  request->label);
		return FETCH_UNWANTED;
	}
	if (out->status == 200 && !unframe(body, length)) {
		error_set(error, ERROR_FEED, "%s: truncated: the answer is not one whole message",
			  request->label);
		return FETCH_TRUNCATED;
	}
	return FETCH_OK;
}
