/* What handlers ask of a request and a reply: see request.h. */
#include "server/http/request.h"

#include "core/hash.h"
#include "core/names.h"
#include "server/clock.h"
#include "server/http/exchange.h"
#include "server/http/fields.h"
#include "server/http/http.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

/* A remembered length: the upper bits tell whose it is. */
#define LENGTH_BITS 24
#define LENGTH_MASK ((UINT64_C(1) << LENGTH_BITS) - 1)

const char *request_header(const struct request *request, const char *name)
{
	return request->connection
		       ? MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name)
		       : NULL;
}

struct joining {
	const char *name, *first;
	size_t lines, length;
	char *end; /* NULL in the first pass, which measures */
};

static enum MHD_Result join(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct joining *joining = cls;

	(void)kind;
	if (!value || strcasecmp(name, joining->name) != 0)
		return MHD_YES;
	if (joining->end) {
		joining->end = stpcpy(joining->end, value);
		*joining->end++ = ',';
		return MHD_YES;
	}
	joining->first = joining->lines++ ? joining->first : value;
	joining->length += strlen(value) + 1;
	return MHD_YES;
}

const char *request_list(const struct request *request, const char *name)
{
	struct joining joining = {.name = name};
	struct MHD_Connection *connection = request->connection;
	char *text;

	if (connection)
		MHD_get_connection_values(connection, MHD_HEADER_KIND, join, &joining);
	if (joining.lines < 2)
		return joining.first;
	text = arena_alloc((struct arena *)(uintptr_t)&request->arena, joining.length);
	if (!text)
		return joining.first;
	joining.end = text;
	MHD_get_connection_values(connection, MHD_HEADER_KIND, join, &joining);
	joining.end[-1] = '\0';
	return text;
}

const char *request_query(const struct request *request, const char *name)
{
	for (int i = 0; i < request->queries; i++) {
		if (strcmp(request->query[i].name, name) == 0)
			return request->query[i].value;
	}
	return NULL;
}

bool request_check_query(const struct request *request, const char *const *known,
			 struct error *error)
{
	struct names names = {known, 0};
	bool is_good = true;

	while (known[names.count])
		names.count++;
	for (int i = 0; i < request->queries; i++) {
		const char *name = request->query[i].name, *nearest;

		if (names_find(&names, name) >= 0)
			continue;
		nearest = names_nearest(&names, name);
		is_good = error_add(error, name, "unknown_parameter", nearest, "unknown parameter");
	}
	if (!is_good)
		error->code = ERROR_INVALID_PARAMETER;
	return is_good;
}

bool request_prefers(const struct request *request, const char *preference)
{
	const char *prefer = request_list(request, "Prefer");

	return prefer && field_prefers(prefer, preference);
}

bool request_is_lenient(const struct request *request)
{
	return request_prefers(request, "handling=lenient");
}

bool request_may_hold(const struct request *request, int64_t seconds)
{
	return request->may_hold && seconds > 0 &&
	       clock_monotonic_us() < request->begun_us + seconds * US_PER_SECOND;
}

void request_hold(struct request *request, const struct hold *hold, int64_t seconds)
{
	request->hold = hold;
	request->hold_until_us = request->begun_us + seconds * US_PER_SECOND;
}

bool request_prefers_wait(const struct request *request, int64_t *seconds)
{
	const char *prefer = request_list(request, "Prefer");

	return prefer && field_wait(prefer, seconds);
}

void reply_header(struct reply *reply, const char *name, const char *value)
{
	if (reply->headers_count == REPLY_HEADERS_MAX)
		return;
	reply->headers[reply->headers_count].name = name;
	reply->headers[reply->headers_count++].value = value;
}

/* --- lengths of answers, for 304 --- */

static uint64_t answer_hash(const struct request *request, const char *etag)
{
	uint64_t hash = hash_text(HASH_START, request->target);

	return hash_text(hash_text(hash_text(hash, request->accepted), request->coding), etag);
}

void request_remember_length(const struct request *request, const char *etag, size_t length)
{
	uint64_t hash = answer_hash(request, etag);

	if (length <= LENGTH_MASK)
		atomic_store_explicit(&request->server->answer_lengths[hash % HTTP_ANSWER_LENGTHS],
				      (hash & ~LENGTH_MASK) | length, memory_order_relaxed);
}

bool request_has_etag(const struct request *request, const char *etag)
{
	const char *known = request_list(request, "If-None-Match");

	return known && field_etag_matches(known, etag);
}

bool reply_not_modified(const struct request *request, struct reply *reply, const char *etag)
{
	uint64_t hash, remembered;

	if (!request_has_etag(request, etag))
		return false;
	hash = answer_hash(request, etag);
	remembered = atomic_load_explicit(
		&request->server->answer_lengths[hash % HTTP_ANSWER_LENGTHS], memory_order_relaxed);
	if ((remembered & ~LENGTH_MASK) != (hash & ~LENGTH_MASK) || (remembered & LENGTH_MASK) == 0)
		return false;
	reply->status = 304;
	reply->etag = etag;
	reply->length = remembered & LENGTH_MASK;
	return true;
}
