/* Query: see query.h. */
#include "server/api/query.h"

#include "core/hash.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void query_begin(struct query_reader *reader, struct request *request, const char *const *known,
		 struct error *error)
{
	*reader = (struct query_reader){.request = request, .error = error};
	error->arena = error->arena ? error->arena : &request->arena;
	error_init(&reader->warnings, &request->arena);
	request_check_query(request, known,
			    request_is_lenient(request) ? &reader->warnings : error);
}

bool query_end(struct query_reader *reader)
{
	unsigned bad = reader->error->count + reader->error->dropped;

	if (!error_is_set(reader->error))
		return true;
	if (bad == 1)
		return error_set(reader->error, ERROR_INVALID_PARAMETER,
				 "one query parameter is invalid");
	return error_set(reader->error, ERROR_INVALID_PARAMETER, "%u query parameters are invalid",
			 bad);
}

bool query_fault(struct query_reader *reader, const char *name, const char *code,
		 const char *suggestion, const char *format, ...)
{
	va_list arguments;
	char detail[400];

	va_start(arguments, format);
	vsnprintf(detail, sizeof(detail), format, arguments);
	va_end(arguments);
	return error_add(reader->error, name, code, suggestion, "%s", detail);
}

/* Plain decimals only: strtod alone would take "inf", "nan", hexadecimal and leading blanks. */
static bool parse_number(const char *text, double *out)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789.eE+-")] || strchr("eE+", *text))
		return false;
	*out = strtod(text, &end);
	return !*end && isfinite(*out);
}

bool query_number(struct query_reader *reader, const char *name, double least, double most,
		  double *out)
{
	const char *text = request_query(reader->request, name);
	double value;

	if (!text)
		return false;
	if (!parse_number(text, &value))
		return query_fault(reader, name, "type", NULL, "must be a number");
	if (!(value >= least && value <= most))
		return query_fault(reader, name, "out_of_range", NULL,
				   "must be from %.10g to %.10g", least, most);
	*out = value;
	return true;
}

bool query_whole(struct query_reader *reader, const char *name, int64_t least, int64_t most,
		 int64_t *out)
{
	const char *text = request_query(reader->request, name);
	double value;

	if (!text)
		return false;
	if (!*text || text[strspn(text, "0123456789")] || strlen(text) > 15 ||
	    !parse_number(text, &value))
		return query_fault(reader, name, "type", NULL, "must be a whole number");
	if (!(value >= (double)least && value <= (double)most))
		return query_fault(reader, name, "out_of_range", NULL, "must be from %lld to %lld",
				   (long long)least, (long long)most);
	*out = (int64_t)value;
	return true;
}

size_t query_list(struct query_reader *reader, const char *name, const char ***out)
{
	struct arena *arena = reader->error->arena;
	const char *text = request_query(reader->request, name);
	size_t count = 0;

	*out = NULL;
	if (!text)
		return 0;
	*out = arena_array(arena, QUERY_LIST_MAX, sizeof(**out));
	while (*out) {
		size_t length = strcspn(text, ",");

		if (length == 0) {
			query_fault(reader, name, "empty", NULL, "has an empty entry");
			return 0;
		}
		if (count == QUERY_LIST_MAX) {
			query_fault(reader, name, "too_many", NULL, "has more than %d entries",
				    QUERY_LIST_MAX);
			return 0;
		}
		(*out)[count] = arena_strndup(arena, text, length);
		if (!(*out)[count])
			break;
		count++;
		text += length;
		if (!*text++)
			return count;
	}
	error_set(reader->error, ERROR_TOO_LARGE, "the request needs too much memory");
	return 0;
}

const char *query_choices(struct arena *arena, const struct names *names)
{
	const char *list = "";
	int i;

	for (i = 0; i < names->count && list; i++)
		if (names->text[i])
			list = arena_printf(arena, "%s%s'%s'", list, *list ? ", " : "",
					    names->text[i]);
	return list ? list : "(too many to name)";
}

unsigned query_enum_bits(struct query_reader *reader, const char *name, const struct names *names)
{
	const char **texts;
	size_t i, count = query_list(reader, name, &texts);
	unsigned bits = 0;

	for (i = 0; i < count; i++) {
		int value = names_find(names, texts[i]);
		if (value >= 0)
			bits |= 1u << value;
		else
			query_fault(reader, name, "unknown_value", names_nearest(names, texts[i]),
				    "'%.60s' is none of %s", texts[i],
				    query_choices(reader->error->arena, names));
	}
	return bits;
}

const char *query_search(struct query_reader *reader)
{
	const char *part = request_query(reader->request, "q");
	size_t characters = 0;

	for (const char *c = part; c && *c; c++)
		characters += ((unsigned char)*c & 0xc0) != 0x80; /* UTF-8: not inside one */
	if (characters <= QUERY_SEARCH_MAX)
		return part;
	query_fault(reader, "q", "too_long", NULL, "must have at most %d characters",
		    QUERY_SEARCH_MAX);
	return NULL;
}

bool query_finds(const char *part, const char *text)
{
	return !part || (text && strcasestr(text, part));
}

void query_nothing_found(struct query_reader *reader, const char *part, const char *nearest)
{
	error_add(&reader->warnings, "q", "nothing_found", nearest,
		  "nothing here has '%.60s' in it", part);
}

const char *query_encode(struct arena *arena, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~";
	char *out = arena_alloc(arena, 3 * strlen(text) + 1), *end = out;

	for (; out && *text; text++) {
		if (strchr(plain, *text)) {
			*end++ = *text;
		} else {
			*end++ = '%';
			*end++ = hex[(unsigned char)*text >> 4];
			*end++ = hex[(unsigned char)*text & 15];
		}
	}
	return out;
}

const char *query_link(struct request *request, const char *const *left_out)
{
	struct arena *arena = &request->arena;
	const char *link = "?";

	for (int i = 0; i < request->queries && link; i++) {
		/* Of a lenient request, names may be anything. */
		const char *name = query_encode(arena, request->query[i].name);
		const char *value = query_encode(arena, request->query[i].value);
		bool is_left_out = false;

		for (const char *const *left = left_out; *left; left++)
			is_left_out |= strcmp(request->query[i].name, *left) == 0;
		if (!is_left_out)
			link = name && value ? arena_printf(arena, "%s%s=%s&", link, name, value)
					     : NULL;
	}
	return link;
}

const char *query_next(struct request *request, const char *cursor, struct reply *reply)
{
	static const char *const left_out[] = {"cursor", "wait", NULL};
	struct arena *arena = &request->arena;
	const char *link = cursor ? query_link(request, left_out) : NULL, *header;

	link = link ? arena_printf(arena, "%scursor=%s", link, cursor) : NULL;
	header = link ? arena_printf(arena, "<%s>; rel=\"next\"", link) : NULL;
	if (header)
		reply_header(reply, "Link", header);
	return link;
}

bool query_csv(struct query_reader *reader)
{
	static const char *const texts[] = {"json", "csv"};
	static const struct names formats = {texts, 2};
	const char *asked = request_query(reader->request, "format");
	int format = asked ? names_find(&formats, asked) : -1;

	if (!asked)
		return strcmp(reader->request->accepted, "text/csv") == 0;
	if (format < 0)
		query_fault(reader, "format", "unknown_value", names_nearest(&formats, asked),
			    "must be 'json' or 'csv'");
	return format == 1;
}

bool query_not_modified(struct request *request, struct reply *reply)
{
	const struct catalogue *catalogue = request->catalogue;
	uint64_t hash = hash_text(hash_text(HASH_START, request->target), request->accepted);

	/* A feed may turn stale while no price changes. */
	for (uint32_t i = 0; i < catalogue->providers_count; i++)
		if (catalogue->providers[i].is_stale)
			hash = hash_text(hash, catalogue->providers[i].provider);
	hash = hash_text(hash, catalogue == catalogue->public_view ? "public" : "all");
	reply->etag = arena_printf(&request->arena, "W/\"%.8s-%" PRId64 "-%016" PRIx64 "\"",
				   catalogue->epoch, catalogue->version, hash);
	return reply->etag && reply_not_modified(request, reply, reply->etag);
}

bool query_reply(struct writer *writer, struct reply *reply, struct error *error)
{
	reply->body = writer_take(writer, &reply->length);
	if (!reply->body)
		return error_set(error, ERROR_INTERNAL, "the answer is too large");
	return true;
}
