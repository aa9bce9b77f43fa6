/* What proxies say of a request: see forwarded.h. */
#include "server/http/forwarded.h"

#include "server/http/element.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOPS_MAX 32

static const char *const field_names[FORWARDED_FIELDS] = {
	[FORWARDED_RFC] = "Forwarded",		 [FORWARDED_FOR] = "X-Forwarded-For",
	[FORWARDED_PROTO] = "X-Forwarded-Proto", [FORWARDED_HOST] = "X-Forwarded-Host",
	[FORWARDED_PORT] = "X-Forwarded-Port",	 [FORWARDED_PREFIX] = "X-Forwarded-Prefix",
};

void forwarded_take(struct forwarded_lines *lines, const char *name, size_t name_length,
		    const char *value, size_t value_length)
{
	/* Nearly every field leaves here. */
	if (name_length < 9 ||
	    (strncasecmp(name, "Forwarded", 9) != 0 && strncasecmp(name, "X-Forward", 9) != 0))
		return;
	for (int field = 0; field < FORWARDED_FIELDS; field++) {
		if (strlen(field_names[field]) != name_length ||
		    strncasecmp(name, field_names[field], name_length) != 0)
			continue;
		if (lines->count == FORWARDED_LINES_MAX) {
			lines->is_full = true;
			return;
		}
		lines->line[lines->count].field = (enum forwarded_field)field;
		lines->line[lines->count].text = value;
		lines->line[lines->count++].length = value_length;
	}
}

/* --- pieces --- */

static bool is_port(struct text text)
{
	unsigned long port;

	if (text.length > 5 || !text_consists_of(text, DIGITS))
		return false;
	port = strtoul(text.at, NULL, 10);
	return port >= 1 && port <= 65535;
}

/* "_hidden": a proxy that does not tell (RFC 7239, 6.3). */
static bool is_obfuscated(struct text text)
{
	return text.length > 1 && *text.at == '_' && text_consists_of(text, LETTERS DIGITS "._-");
}

/* Splits "[v6]:port", "v4:port" or a name with a port; brackets go. False: no such form. */
static bool split_port(struct text text, struct text *host, struct text *port, bool *is_bracketed)
{
	const char *close =
		text.length > 0 && *text.at == '[' ? memchr(text.at, ']', text.length) : NULL;
	const char *end = text.at + text.length, *colon;

	*is_bracketed = close != NULL;
	*port = (struct text){NULL, 0};
	if (close) {
		*host = (struct text){text.at + 1, (size_t)(close - text.at) - 1};
		colon = close + 1;
		if (colon == end)
			return true;
		if (*colon != ':')
			return false;
	} else {
		colon = memchr(text.at, ':', text.length);
		*host = (struct text){text.at, colon ? (size_t)(colon - text.at) : text.length};
		if (!colon)
			return true;
	}
	*port = (struct text){colon + 1, (size_t)(end - colon) - 1};
	return true;
}

/* An address with or without a port. `is_rfc`: IPv6 only in brackets, ports may be obfuscated. */
static bool parse_node(struct text text, bool is_rfc, struct peer *peer)
{
	struct text host, port;
	bool is_bracketed;

	if (!is_rfc && peer_parse(peer, text.at, text.length))
		return true;
	if (!split_port(text, &host, &port, &is_bracketed) ||
	    (port.at && !is_port(port) && !(is_rfc && is_obfuscated(port))) ||
	    !peer_parse(peer, host.at, host.length))
		return false;
	return is_bracketed == (memchr(host.at, ':', host.length) != NULL);
}

static bool parse_host(struct text text, char out[FORWARDED_HOST_TEXT])
{
	struct text host, port;
	struct peer peer;
	bool is_bracketed;

	if (text.length == 0 || text.length >= FORWARDED_HOST_TEXT - 8 ||
	    !split_port(text, &host, &port, &is_bracketed) || (port.at && !is_port(port)) ||
	    !(is_bracketed ? peer_parse(&peer, host.at, host.length)
			   : text_consists_of(host, LETTERS DIGITS ".-_")))
		return false;
	memcpy(out, text.at, text.length);
	out[text.length] = '\0';
	return true;
}

static bool parse_scheme(struct text text, char out[6])
{
	if (!text_equals(text, "http") && !text_equals(text, "https"))
		return false;
	snprintf(out, 6, "%s", text.length == 5 ? "https" : "http");
	return true;
}

bool forwarded_is_prefix(const char *text, size_t length)
{
	size_t segment;

	if (length == 0 || length >= FORWARDED_PREFIX_TEXT)
		return false;
	for (size_t at = 0; at < length; at += 1 + segment) {
		struct text name = {text + at + 1, 0};

		segment = 0;
		while (at + 1 + segment < length && name.at[segment] != '/')
			segment++;
		name.length = segment;
		if (text[at] != '/' || !text_consists_of(name, LETTERS DIGITS "._~-") ||
		    text_equals(name, ".") || text_equals(name, ".."))
			return false;
	}
	return true;
}

/* --- the walk, from the right --- */

enum step { STEP_ON, STEP_DONE, STEP_MALFORMED };

struct walk {
	const struct trust *trust;
	struct forwarded *out;
	unsigned hops;
};

/* One more proxy's word for who asked it. */
static enum step step_to(struct walk *walk, struct text node, bool is_rfc)
{
	struct peer peer;

	if (++walk->hops > HOPS_MAX)
		return STEP_MALFORMED;
	/* Who asked is not told: the last one known is as near as one gets. */
	if (text_equals(node, "unknown") || (is_rfc && is_obfuscated(node)))
		return STEP_DONE;
	if (!parse_node(node, is_rfc, &peer))
		return STEP_MALFORMED;
	walk->out->client = peer;
	return trust_has(walk->trust, &peer) ? STEP_ON : STEP_DONE;
}

static enum step walk_x_line(struct walk *walk, struct text line)
{
	size_t end = line.length;

	for (;;) {
		size_t from = end;
		struct text node;
		enum step step;

		while (from > 0 && line.at[from - 1] != ',')
			from--;
		node = text_trimmed(line.at + from, end - from);
		step = node.length > 0 ? step_to(walk, node, false) : STEP_ON;
		if (step != STEP_ON || from == 0)
			return step;
		end = from - 1;
	}
}

/* --- RFC 7239 --- */

static enum step step_element(struct walk *walk, const struct element *element)
{
	struct text text[PAIRS];
	enum step step;

	for (int i = 0; i < PAIRS; i++)
		text[i] = (struct text){element->text[i],
					element->has[i] ? strlen(element->text[i]) : 0};
	step = element->has[PAIR_FOR] ? step_to(walk, text[PAIR_FOR], true) : STEP_DONE;
	/* Each proxy tells how it was asked itself: the one nearest to the client counts. */
	*walk->out->scheme = *walk->out->host = '\0';
	if ((element->has[PAIR_PROTO] && !parse_scheme(text[PAIR_PROTO], walk->out->scheme)) ||
	    (element->has[PAIR_HOST] && !parse_host(text[PAIR_HOST], walk->out->host)))
		return STEP_MALFORMED;
	return step;
}

static enum step walk_rfc_line(struct walk *walk, struct text line)
{
	size_t end = line.length, from;
	struct element element;

	for (;;) {
		enum step step = STEP_ON;

		if (!element_last(line, end, &from, &element))
			return STEP_MALFORMED;
		if (!element.is_blank)
			step = step_element(walk, &element);
		if (step != STEP_ON || from == 0)
			return step;
		end = from - 1;
	}
}

/* --- the whole --- */

static bool has(const struct forwarded_lines *lines, enum forwarded_field field)
{
	for (unsigned i = 0; i < lines->count; i++) {
		if (lines->line[i].field == field)
			return true;
	}
	return false;
}

/* False: malformed, and `out` as it was. */
static bool walk(const struct forwarded_lines *lines, enum forwarded_field field,
		 const struct trust *trust, struct forwarded *out)
{
	struct forwarded before = *out;
	struct walk walk = {.trust = trust, .out = out};
	enum step step = STEP_ON;

	for (unsigned i = lines->count; i > 0 && step == STEP_ON; i--) {
		struct text line = {lines->line[i - 1].text, lines->line[i - 1].length};

		if (lines->line[i - 1].field == field)
			step = field == FORWARDED_RFC ? walk_rfc_line(&walk, line)
						      : walk_x_line(&walk, line);
	}
	if (step == STEP_MALFORMED)
		*out = before;
	return step != STEP_MALFORMED;
}

/* The right-most value: the nearest proxy's, for lists as for repeated lines. */
static bool last_value(const struct forwarded_lines *lines, enum forwarded_field field,
		       struct text *out)
{
	for (unsigned i = lines->count; i > 0; i--) {
		const char *text = lines->line[i - 1].text;
		size_t end = lines->line[i - 1].length, from = end;

		if (lines->line[i - 1].field != field)
			continue;
		while (from > 0 && text[from - 1] != ',')
			from--;
		*out = text_trimmed(text + from, end - from);
		return true;
	}
	return false;
}

static bool read_host(const struct forwarded_lines *lines, struct forwarded *out)
{
	const char *usual = strcmp(out->scheme, "https") == 0 ? "443" : "80";
	struct text text, host, port;
	bool is_bracketed, is_good = true;
	size_t used;

	if (last_value(lines, FORWARDED_HOST, &text))
		is_good = parse_host(text, out->host);
	if (!last_value(lines, FORWARDED_PORT, &text))
		return is_good;
	if (!is_port(text))
		return false;
	used = strlen(out->host);
	split_port((struct text){out->host, used}, &host, &port, &is_bracketed);
	if (used > 0 && !port.at && !text_equals(text, usual))
		snprintf(out->host + used, sizeof(out->host) - used, ":%.*s", (int)text.length,
			 text.at);
	return is_good;
}

static void read_x(const struct forwarded_lines *lines, const struct trust *trust,
		   struct forwarded *out)
{
	struct text text;

	if (!walk(lines, FORWARDED_FOR, trust, out) ||
	    (last_value(lines, FORWARDED_PROTO, &text) && !parse_scheme(text, out->scheme)))
		out->faults[FORWARDED_MALFORMED] = true;
	if (!read_host(lines, out))
		out->faults[FORWARDED_MALFORMED] = true;
}

static bool is_same(const struct peer *a, const struct peer *b)
{
	return a->is_unix == b->is_unix && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/* Both are there: a client can have written the one that its proxy does not know of. */
static void check_agreement(const struct forwarded_lines *lines, const struct trust *trust,
			    const struct peer *peer, struct forwarded *out)
{
	struct forwarded other = {.client = *peer};

	if (walk(lines, FORWARDED_FOR, trust, &other) && is_same(&other.client, &out->client))
		return;
	out->client = *peer;
	*out->scheme = *out->host = '\0';
	out->faults[FORWARDED_CONFLICT] = true;
}

void forwarded_read(const struct forwarded_lines *lines, const struct trust *trust,
		    enum forwarded_style style, const struct peer *peer, bool is_trusted,
		    struct forwarded *out)
{
	bool is_rfc = style == FORWARDED_RFC7239 ||
		      (style == FORWARDED_AUTO && has(lines, FORWARDED_RFC));
	struct text text;

	*out = (struct forwarded){.client = *peer};
	if (lines->count == 0)
		return;
	out->faults[FORWARDED_UNTRUSTED] = !is_trusted;
	out->faults[FORWARDED_MALFORMED] = is_trusted && lines->is_full;
	if (!is_trusted || lines->is_full)
		return;
	if (!is_rfc)
		read_x(lines, trust, out);
	else if (!walk(lines, FORWARDED_RFC, trust, out))
		out->faults[FORWARDED_MALFORMED] = true;
	if (is_rfc && style == FORWARDED_AUTO && has(lines, FORWARDED_FOR))
		check_agreement(lines, trust, peer, out);
	/* RFC 7239 has no word for it. */
	if (!last_value(lines, FORWARDED_PREFIX, &text) || text_equals(text, "/") ||
	    text.length == 0)
		return;
	if (forwarded_is_prefix(text.at, text.length)) {
		memcpy(out->prefix, text.at, text.length);
		out->prefix[text.length] = '\0';
	} else {
		out->faults[FORWARDED_MALFORMED] = true;
	}
}
