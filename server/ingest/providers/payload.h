/*
 * Payload: reading a provider's JSON without trusting it. Every getter takes NULL and the wrong
 * type and answers "not there"; none crashes, none converts in silence. The tree belongs to the
 * caller of payload_parse() (json_auto_t); texts that are kept are copied by feed_text().
 */
#ifndef SERVER_INGEST_PROVIDERS_PAYLOAD_H
#define SERVER_INGEST_PROVIDERS_PAYLOAD_H

#include "server/ingest/provider.h"

#include <jansson.h>

/* The object at the top, or NULL and an error that says what is wrong with the bytes. */
json_t *payload_parse(const struct fetch_response *response, struct error *error);

/* The same for an answer that is a list. */
json_t *payload_parse_list(const struct fetch_response *response, struct error *error);

/* A member that must be there, or NULL and an error that names it. */
const json_t *payload_member(const json_t *object, const char *name, json_type type,
			     struct error *error);

/* "" when absent, null or no text. */
const char *payload_text(const json_t *object, const char *name);

/* False, and *out alone, when absent, null or no number. Takes numbers given as text. */
bool payload_number(const json_t *object, const char *name, double *out);

/* The same for whole numbers; a fraction or what does not fit int is none. */
bool payload_integer(const json_t *object, const char *name, int *out);

/* True only for true. `fallback` when absent, null or no boolean. */
bool payload_flag(const json_t *object, const char *name, bool fallback);

/* Dollars, as a number or as text; PRICE_UNKNOWN when absent, no number, zero or negative. `amount`
 * (may be NULL) gets the text as quoted, in the feed's arena. */
int64_t payload_price(struct feed *feed, const json_t *object, const char *name,
		      const char **amount);

/* The same for a price in US cents; `amount` is in dollars. */
int64_t payload_cents(struct feed *feed, const json_t *object, const char *name,
		      const char **amount);

/* Adds the header `prefix` + the provider's key to a request; false and an error when the key
 * cannot stand in a header. */
bool payload_key_header(struct feed *feed, const struct provider *provider, const char *prefix,
			struct fetch_request *out, struct error *error);

/* The whole walk of a feed that is one GET of `path` with the key in a header: false the second
 * time.
 */
bool payload_request_once(struct feed *feed, const struct provider *provider, const char *path,
			  const char *prefix, struct fetch_request *out, struct error *error);

/* Which of several spellings (NULL at the end) of a card a rule knows, with the memory of one GPU
 * where it is told (0 = not): a canonical name, or the first that is not empty, as it stands. */
const char *payload_spelling(struct feed *feed, const char *provider, double memory_gb,
			     const char *const *spellings);

/* base_url + the path and query of `link`, which must be on the provider's own host (any host under
 * an override, whose server may repeat the provider's links). NULL and an error otherwise. */
const char *payload_next_url(struct feed *feed, const char *provider_base_url, const char *link,
			     struct error *error);

/* Percent-encoded for a query, in the feed's arena. */
const char *payload_escape(struct feed *feed, const char *text);

#endif
