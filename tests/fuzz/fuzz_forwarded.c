/*
 * What a client can write into Forwarded and X-Forwarded-*, in front of what its proxy then adds:
 * whatever it is, the proxy's word stands. Built with libFuzzer or with replay.c.
 */
#include "server/http/forwarded.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDED_BYTES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One line of a field from the trusted 10.0.0.1; the client's address as text. */
static void read_line(const char *name, const char *line, size_t length, struct forwarded *out,
		      char client[PEER_TEXT])
{
	struct forwarded_lines lines = {0};
	struct trust trust;
	struct error error;
	struct peer peer;

	error_init(&error, NULL);
	assert(trust_parse(&trust, "10.0.0.0/8, 2001:db8::/32", &error));
	assert(peer_parse(&peer, "10.0.0.1", 8));
	forwarded_take(&lines, name, strlen(name), line, length);
	assert(lines.count == 1);
	forwarded_read(&lines, &trust, FORWARDED_AUTO, &peer, true, out);
	peer_format(&out->client, client);
}

/* The client's text, then what its proxy adds. */
static void check_added(const char *name, const char *text, size_t size, const char *added)
{
	char *line = malloc(size + ADDED_BYTES), client[PEER_TEXT];
	struct forwarded out;

	assert(line);
	memcpy(line, text, size);
	snprintf(line + size, ADDED_BYTES, "%s", added);
	read_line(name, line, size + strlen(added), &out, client);
	assert(strcmp(client, "192.0.2.7") == 0);
	free(line);
}

/* The client's text inside quotes of its proxy's own element, such as the Host it asked for. */
static void check_quoted(const char *text, size_t size)
{
	static const char open[] = "for=192.0.2.7;ext=\"", close[] = "\";by=\"_x\"";
	char *line = malloc(2 * size + sizeof(open) + sizeof(close)), client[PEER_TEXT];
	size_t used = strlen(open);
	struct forwarded out;

	assert(line);
	memcpy(line, open, used);
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '"' || text[i] == '\\')
			line[used++] = '\\';
		line[used++] = text[i];
	}
	memcpy(line + used, close, sizeof(close));
	read_line("Forwarded", line, used + strlen(close), &out, client);
	/* Too long to be read is malformed as a whole. */
	assert(strcmp(client, "192.0.2.7") == 0 ||
	       (strcmp(client, "10.0.0.1") == 0 && out.faults[FORWARDED_MALFORMED] && size > 200));
	free(line);
}

static void check_alone(const char *name, const char *text, size_t size)
{
	struct forwarded out;
	char client[PEER_TEXT];

	read_line(name, text, size, &out, client);
	assert(!*out.scheme || !strcmp(out.scheme, "http") || !strcmp(out.scheme, "https"));
	assert(!strpbrk(out.host, "/\\\"'<>@?# ,;") && strlen(out.host) < FORWARDED_HOST_TEXT);
	assert(!*out.prefix ||
	       (*out.prefix == '/' && !strstr(out.prefix, "//") && !strstr(out.prefix, "/../") &&
		!strpbrk(out.prefix, "%\\\"'<>?#:@")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"Forwarded",	 "X-Forwarded-For",
					    "X-Forwarded-Proto", "X-Forwarded-Host",
					    "X-Forwarded-Port",	 "X-Forwarded-Prefix"};
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check_alone(names[i], text, size);
	check_added("X-Forwarded-For", text, size, ", 192.0.2.7");
	check_added("X-Forwarded-For", text, size, ",192.0.2.7:80, [2001:db8::1]");
	check_added("Forwarded", text, size, ",for=192.0.2.7;proto=https");
	check_added("Forwarded", text, size, ", for=192.0.2.7, for=\"[2001:db8::1]\"");
	check_quoted(text, size);
	free(text);
	return 0;
}
