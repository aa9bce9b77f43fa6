/*
 * Query: typed query parameters, each fault named; and what every handler does before and after its
 * own work. Lists are separated by commas.
 */
#ifndef SERVER_API_QUERY_H
#define SERVER_API_QUERY_H

#include "core/names.h"
#include "server/http/request.h"
#include "server/json/writer.h"

#define QUERY_LIST_MAX 50
#define QUERY_SEARCH_MAX 200

/* What every reading of parameters needs. Warnings are used for unknown parameters when lenient. */
struct query_reader {
	const struct request *request;
	struct error *error;
	struct error warnings;
};

/* Refuses (lenient: notes) parameters that are not in `known` (ended by NULL). */
void query_begin(struct query_reader *reader, struct request *request, const char *const *known,
		 struct error *error);

/* True when no parameter was bad; else sets the headline. */
bool query_end(struct query_reader *reader);

bool query_fault(struct query_reader *reader, const char *name, const char *code,
		 const char *suggestion, const char *format, ...) PRINTF_LIKE(5, 6);

/* False when absent or bad (reported). */
bool query_number(struct query_reader *reader, const char *name, double least, double most,
		  double *out);
bool query_whole(struct query_reader *reader, const char *name, int64_t least, int64_t most,
		 int64_t *out);

/* The parts of a list, trimmed of nothing; 0 when absent. Empty parts are faults. */
size_t query_list(struct query_reader *reader, const char *name, const char ***out);

/* Bits of the named values; 0 when absent. */
unsigned query_enum_bits(struct query_reader *reader, const char *name, const struct names *names);

/* "'on_demand', 'spot', 'reserved'" */
const char *query_choices(struct arena *arena, const struct names *names);

/* `q`, the text of a search; NULL when absent or bad (reported). */
const char *query_search(struct query_reader *reader);

/* Does `part`, which may be NULL, occur in a text, letter case ignored? */
bool query_finds(const char *part, const char *text);

/* Warns that a search by `q` found nothing, with the nearest name where there is one. */
void query_nothing_found(struct query_reader *reader, const char *part, const char *nearest);

/* Text as a query component: everything but unreserved characters percent-encoded. */
const char *query_encode(struct arena *arena, const char *text);

/* "?provider=aws&", or "?": what was asked, but for some parameters, ready for one more. NULL when
 * memory is out. */
const char *query_link(struct request *request, const char *const *left_out);

/* The next page, "?provider=aws&cursor=...": relative, so that it holds under any prefix of a
 * gateway. Also a header, for what has no room for it (CSV). NULL when memory is out. */
const char *query_next(struct request *request, const char *cursor, struct reply *reply);

/* Is CSV wanted? Accept decides, or `format` for clients that cannot set it. */
bool query_csv(struct query_reader *reader);

/* Gives the answer a weak ETag, of the catalogue's version and of what was asked. True when the
 * caller has that answer already: the reply is then complete. */
bool query_not_modified(struct request *request, struct reply *reply);

/* Hands the finished answer over; an answer that did not fit is an internal fault. */
bool query_reply(struct writer *writer, struct reply *reply, struct error *error);

#endif
