/* Request framing: see framing.h. */
#include "server/http/framing.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_token_byte(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

static void fail(struct framing *framing, const char *problem)
{
	if (!framing->problem)
		framing->problem = problem;
}

static bool is_named(const char *name, size_t length, const char *wanted)
{
	return length == strlen(wanted) && strncasecmp(name, wanted, length) == 0;
}

bool framing_read_length(const char *value, size_t length, uint64_t *bytes)
{
	*bytes = 0;
	if (length == 0 || length > 18)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (value[i] < '0' || value[i] > '9')
			return false;
		*bytes = *bytes * 10 + (uint64_t)(value[i] - '0');
	}
	return true;
}

static void take_length(struct framing *framing, const char *value, size_t length)
{
	if (++framing->lengths > 1)
		fail(framing, "more than one Content-Length");
	else if (!framing_read_length(value, length, &framing->length))
		fail(framing, FRAMING_BAD_LENGTH);
}

static void take_coding(struct framing *framing, const char *value, size_t length)
{
	framing->codings++;
	framing->is_chunked = is_named(value, length, "chunked");
	if (!framing->is_chunked)
		framing->is_unsupported = true;
}

/* Nothing else can be in a name, an address or a port: RFC 3986 3.2.2. */
static void take_host(struct framing *framing, const char *value, size_t length)
{
	framing->hosts++;
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)value[i]) &&
		    !(value[i] && strchr("-._~%!$&'()*+,;=:[]", value[i])))
			fail(framing, "Host holds a forbidden byte");
	}
}

void framing_method(struct framing *framing, const char *method)
{
	for (; *method; method++) {
		if (!is_token_byte(*method))
			fail(framing, "the method holds a forbidden byte");
	}
}

void framing_field(struct framing *framing, const char *name, size_t name_length, const char *value,
		   size_t value_length)
{
	framing->fields++;
	if (name_length == 0)
		fail(framing, "a header field without a name");
	for (size_t i = 0; i < name_length; i++) {
		if (!is_token_byte(name[i])) {
			fail(framing,
			     "a header field name holds a space or another forbidden byte");
			return;
		}
	}
	for (size_t i = 0; i < value_length; i++) {
		if (((unsigned char)value[i] < 0x20 && value[i] != '\t') || value[i] == 0x7f) {
			fail(framing, "a header field value holds a control byte");
			return;
		}
	}
	if (is_named(name, name_length, "Content-Length"))
		take_length(framing, value, value_length);
	else if (is_named(name, name_length, "Transfer-Encoding"))
		take_coding(framing, value, value_length);
	else if (is_named(name, name_length, "Host"))
		take_host(framing, value, value_length);
	else if (is_named(name, name_length, "Content-Type"))
		framing->content_types++;
	else if (is_named(name, name_length, "Content-Encoding"))
		framing->content_encodings++;
	else if (is_named(name, name_length, "Expect"))
		framing->expects_continue = true;
}

/* Past the two NULs that were CRLF; NULL when they are not there. */
static const char *skip_line_end(const char *at, const char *end)
{
	return end - at >= 2 && !at[0] && !at[1] ? at + 2 : NULL;
}

void framing_head(struct framing *framing, const char *head, size_t length)
{
	const char *end = head + length, *at = skip_line_end(head, end);
	unsigned lines = 0;

	while (at && at < end && *at) {
		const char *colon = memchr(at, '\0', (size_t)(end - at));
		const char *value_end =
			colon ? memchr(colon + 1, '\0', (size_t)(end - colon - 1)) : NULL;

		if (*at == ' ' || *at == '\t')
			break; /* folded */
		at = value_end ? skip_line_end(value_end, end) : NULL;
		lines++;
	}
	if (!at || skip_line_end(at, end) != end || lines != framing->fields)
		fail(framing, FRAMING_BAD_LINE);
}

bool framing_check(struct framing *framing, bool is_http_1_0, struct error *error)
{
	if (framing->lengths && framing->codings)
		fail(framing, "Content-Length and Transfer-Encoding together");
	if (framing->codings > 1)
		fail(framing, "more than one Transfer-Encoding");
	if (framing->codings && is_http_1_0)
		fail(framing, "Transfer-Encoding in HTTP/1.0");
	/* HTTP/1.0 health checks of load balancers have no Host. */
	if (framing->hosts > 1 || (framing->hosts == 0 && !is_http_1_0))
		fail(framing, framing->hosts ? "more than one Host" : "no Host");
	if (framing->content_types > 1)
		fail(framing, "more than one Content-Type");
	if (framing->problem)
		return error_set(error, ERROR_MALFORMED, "%s", framing->problem);
	if (framing->is_unsupported)
		return error_set(error, ERROR_NOT_IMPLEMENTED,
				 "Transfer-Encoding must be exactly 'chunked'");
	return true;
}

bool framing_has_body(const struct framing *framing)
{
	return framing->is_chunked || framing->length > 0;
}
