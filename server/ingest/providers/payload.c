/* Payload: see payload.h. */
#include "server/ingest/providers/payload.h"

#include "core/accelerator.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEPTH_MAX 32

/* jansson recurses up to 2048 levels, about 700 KiB of stack: no price list needs that. */
static bool is_too_deep(const char *bytes, size_t length)
{
	bool in_text = false;
	int depth = 0;

	for (size_t i = 0; i < length; i++) {
		char c = bytes[i];

		if (in_text) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_text = false;
		} else if (c == '"') {
			in_text = true;
		} else if (c == '[' || c == '{') {
			if (++depth > DEPTH_MAX)
				return true;
		} else if (c == ']' || c == '}') {
			depth--;
		}
	}
	return false;
}

static json_t *parse_any(const struct fetch_response *response, struct error *error)
{
	json_error_t problem;
	json_t *root;

	if (is_too_deep(response->body, response->length)) {
		error_set(error, ERROR_FEED, "the answer is nested over %d levels", DEPTH_MAX);
		return NULL;
	}
	root = json_loadb(response->body, response->length, JSON_DECODE_INT_AS_REAL, &problem);
	if (!root) {
		error_set(error, ERROR_FEED,
			  "the answer is no JSON (content type \"%.60s\"): %.100s, byte %d",
			  response->content_type, problem.text, problem.position);
		return NULL;
	}
	return root;
}

json_t *payload_parse(const struct fetch_response *response, struct error *error)
{
	json_t *root = parse_any(response, error);

	if (root && !json_is_object(root)) {
		json_decref(root);
		error_set(error, ERROR_FEED, "the answer is not a JSON object");
		return NULL;
	}
	return root;
}

json_t *payload_parse_list(const struct fetch_response *response, struct error *error)
{
	json_t *root = parse_any(response, error);

	if (root && !json_is_array(root)) {
		json_decref(root);
		error_set(error, ERROR_FEED, "the answer is not a JSON list");
		return NULL;
	}
	return root;
}

const json_t *payload_member(const json_t *object, const char *name, json_type type,
			     struct error *error)
{
	const json_t *member = json_object_get(object, name);

	if (member && json_typeof(member) == type)
		return member;
	error_set(error, ERROR_FEED, "the answer has no %s \"%s\"",
		  type == JSON_ARRAY ? "list" : "object", name);
	return NULL;
}

const char *payload_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

bool payload_number(const json_t *object, const char *name, double *out)
{
	const json_t *member = json_object_get(object, name);
	double value;

	if (json_is_number(member)) {
		value = json_number_value(member);
	} else {
		const char *text = json_string_value(member);
		char *end;

		/* strtod() alone would take "nan", "0x10" and " 1". */
		if (!text || !*text || text[strspn(text, "0123456789.-")])
			return false;
		value = strtod(text, &end);
		if (*end)
			return false;
	}
	if (!isfinite(value))
		return false;
	*out = value;
	return true;
}

bool payload_integer(const json_t *object, const char *name, int *out)
{
	double value;

	if (!payload_number(object, name, &value) || fabs(value) > INT_MAX ||
	    fabs(value - nearbyint(value)) > 0)
		return false;
	*out = (int)value;
	return true;
}

bool payload_flag(const json_t *object, const char *name, bool fallback)
{
	const json_t *member = json_object_get(object, name);

	return json_is_boolean(member) ? json_is_true(member) : fallback;
}

int64_t payload_price(struct feed *feed, const json_t *object, const char *name,
		      const char **amount)
{
	const json_t *member = json_object_get(object, name);
	char text[40] = "";
	int64_t micros = PRICE_UNKNOWN;

	if (json_is_number(member)) {
		double usd = json_number_value(member);

		micros = price_from_double(usd);
		snprintf(text, sizeof(text), "%.15g", usd);
	} else if (json_is_string(member)) {
		micros = price_parse(json_string_value(member));
		snprintf(text, sizeof(text), "%s", json_string_value(member));
	}
	if (amount)
		*amount = micros == PRICE_UNKNOWN ? "" : feed_text(feed, text);
	return micros;
}

int64_t payload_cents(struct feed *feed, const json_t *object, const char *name,
		      const char **amount)
{
	int64_t micros = price_divide(payload_price(feed, object, name, NULL), 100);

	if (amount)
		*amount = micros == PRICE_UNKNOWN
				  ? ""
				  : feed_text(feed, arena_printf(feed->arena, "%.8g",
								 usd_from_micros(micros)));
	return micros;
}

bool payload_key_header(struct feed *feed, const struct provider *provider, const char *prefix,
			struct fetch_request *out, struct error *error)
{
	const char *header;

	for (const char *c = feed->key ? feed->key : ""; *c || c == feed->key; c++)
		if (*c <= ' ' || *c > '~')
			return error_set(error, ERROR_FEED, "%s is not a usable key",
					 provider->key_variable);
	if (!feed->key || out->headers_count >= FETCH_HEADERS_MAX)
		return error_set(error, ERROR_FEED, "%s is not set", provider->key_variable);
	header = arena_printf(feed->arena, "%s%s", prefix, feed->key);
	if (!header)
		feed->is_exhausted = true;
	else
		out->headers[out->headers_count++] = header;
	return true;
}

bool payload_request_once(struct feed *feed, const struct provider *provider, const char *path,
			  const char *prefix, struct fetch_request *out, struct error *error)
{
	if (feed->page > 0)
		return false;
	*out = (struct fetch_request){
		.method = "GET",
		.url = arena_printf(feed->arena, "%s%s", feed->base_url, path),
		.headers = {"Accept: application/json"},
		.headers_count = 1,
		.label = provider->pages[0],
	};
	return payload_key_header(feed, provider, prefix, out, error);
}

const char *payload_spelling(struct feed *feed, const char *provider, double memory_gb,
			     const char *const *spellings)
{
	const char *first = "";

	for (; *spellings; spellings++) {
		const struct accelerator *card;

		if (!**spellings)
			continue;
		card = accelerator_resolve_memory(provider, *spellings, memory_gb);
		if (card)
			return card->name;
		if (!*first)
			first = *spellings;
	}
	return feed_text(feed, first);
}

/* The length of "scheme://host" and, without a port, that of the same in `base`. */
static size_t origin_length(const char *url)
{
	const char *host = strstr(url, "://");

	return host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;
}

static bool is_same_origin(const char *link, size_t link_length, const char *base)
{
	size_t length = origin_length(base);

	if (link_length < length || strncasecmp(link, base, length) != 0)
		return false;
	return link_length == length ||
	       (link_length == length + 4 && !strncmp(link + length, ":443", 4));
}

static char *put_escaped(char *to, char byte)
{
	static const char digits[] = "0123456789ABCDEF";

	*to++ = '%';
	*to++ = digits[(unsigned char)byte >> 4];
	*to++ = digits[(unsigned char)byte & 15];
	return to;
}

const char *payload_escape(struct feed *feed, const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
	char *escaped = arena_alloc(feed->arena, 3 * strlen(text) + 1), *to = escaped;

	if (!escaped) {
		feed->is_exhausted = true;
		return "";
	}
	for (; *text; text++) {
		if (strchr(plain, *text))
			*to++ = *text;
		else
			to = put_escaped(to, *text);
	}
	return escaped;
}

/* Links come with blanks as they are from some; nothing else that has no place in a URL may stay.
 */
static const char *tidy(struct feed *feed, const char *path)
{
	char *url = arena_alloc(feed->arena, strlen(feed->base_url) + 3 * strlen(path) + 1),
	     *to = url;

	if (!url) {
		feed->is_exhausted = true;
		return NULL;
	}
	to = stpcpy(to, feed->base_url);
	for (; *path; path++) {
		if ((unsigned char)*path <= ' ' || (unsigned char)*path >= 0x7f)
			to = put_escaped(to, *path);
		else
			*to++ = *path;
	}
	return url;
}

const char *payload_next_url(struct feed *feed, const char *provider_base_url, const char *link,
			     struct error *error)
{
	size_t length = origin_length(link), own = strlen(feed->base_url);

	/* A server that stands in for the provider may know its own address. */
	if (feed->base_url_is_override && strncmp(link, feed->base_url, own) == 0 &&
	    link[own] == '/')
		return tidy(feed, link + own);
	if (length &&
	    (feed->base_url_is_override || is_same_origin(link, length, provider_base_url)))
		return tidy(feed, link + length);
	error_set(error, ERROR_FEED, "the next page \"%.100s\" is not on %s", link,
		  provider_base_url);
	return NULL;
}
