/* XML: see xml.h. */
#include "server/ingest/providers/xml.h"

#include <stdio.h>
#include <string.h>

static const char *find(const char *from, const char *to, const char *text, size_t length)
{
	return from < to ? memmem(from, (size_t)(to - from), text, length) : NULL;
}

bool xml_next(struct xml *rest, const char *name, struct xml *out)
{
	char open[72], close[72];
	int length = snprintf(open, sizeof(open), "<%.64s>", name);
	const char *start = find(rest->from, rest->to, open, (size_t)length), *end;

	snprintf(close, sizeof(close), "</%.64s>", name);
	end = start ? find(start + length, rest->to, close, (size_t)length + 1) : NULL;
	if (!end)
		return false;
	*out = (struct xml){start + length, end};
	rest->from = end + length + 1;
	return true;
}

static const struct {
	const char *name;
	char byte;
} entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};

static const char *decode(const char *from, char *to)
{
	for (size_t i = 0; *from == '&' && i < sizeof(entities) / sizeof(entities[0]); i++)
		if (strncmp(from, entities[i].name, strlen(entities[i].name)) == 0) {
			*to = entities[i].byte;
			return from + strlen(entities[i].name);
		}
	*to = *from;
	return from + 1;
}

const char *xml_text(struct feed *feed, struct xml in, const char *name)
{
	struct xml inside;
	char *copy, *to;

	if (!xml_next(&in, name, &inside) || inside.from == inside.to)
		return "";
	copy = arena_strndup(feed->arena, inside.from, (size_t)(inside.to - inside.from));
	if (!copy) {
		feed->is_exhausted = true;
		return "";
	}
	to = copy;
	for (const char *from = copy; *from; to++)
		from = decode(from, to);
	*to = '\0';
	return copy;
}
