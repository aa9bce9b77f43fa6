/* XML as AWS's query interfaces write it: elements without attributes, by name. Not a parser: what
 * is looked for is found between its tags, the rest is skipped. */
#ifndef SERVER_INGEST_PROVIDERS_XML_H
#define SERVER_INGEST_PROVIDERS_XML_H

#include "server/ingest/provider.h"

/* A stretch of the text. */
struct xml {
	const char *from, *to;
};

/* The inside of the next <name>...</name> in *rest, which moves past it; names do not nest in
 * themselves. False when there is none. */
bool xml_next(struct xml *rest, const char *name, struct xml *out);

/* The text of the first <name> in `in`, entities decoded, in the feed's arena; "" when none. */
const char *xml_text(struct feed *feed, struct xml in, const char *name);

#endif
