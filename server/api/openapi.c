/*
 * GET /openapi.yaml, /openapi.json, /openapi-3.0.json and /docs: the contract, what is derived from
 * it and the page that is made of it, as they were when this program was built (openapi/derive.py).
 * The bytes are in the program itself, linked in by server/api/embed.sh.
 */
#include "server/api/api.h"
#include "server/api/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char openapi_yaml[], openapi_yaml_end[], openapi_json[], openapi_json_end[],
	openapi_3_0[], openapi_3_0_end[], docs_html[], docs_html_end[], docs_policy[],
	documents_tag[];

/* What stands before the "/" that is the document's server. */
#define YAML_SERVER "\n  - url: "
#define JSON_SERVER "\"servers\":[{\"url\":\""

struct document {
	const char *text, *end, *content_type;
	const char *server; /* NULL: says nothing of where it was fetched */
};

/* The document with the path under which the caller found it as its server. */
static bool write_prefixed(const struct document *document, const char *prefix, struct reply *reply,
			   struct error *error)
{
	const char *rest = strstr(document->text, document->server);
	size_t most = (size_t)(document->end - document->text) + strlen(prefix) + 1;

	reply->body = rest ? malloc(most) : NULL;
	if (!reply->body)
		return error_set(error, ERROR_INTERNAL, "the document cannot be made");
	rest += strlen(document->server);
	reply->length =
		(size_t)snprintf(reply->body, most, "%.*s%s%s", (int)(rest - document->text),
				 document->text, prefix, rest + 1);
	return true;
}

static bool tell(const struct document *document, struct request *request, struct reply *reply,
		 struct error *error)
{
	static const char *const known[] = {NULL};
	struct query_reader reader;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	reply->content_type = document->content_type;
	if (*request->prefix && document->server) {
		/* Another prefix, another document: nothing for a cache between the proxies. */
		reply->cache_control = "private, max-age=300";
		return write_prefixed(document, request->prefix, reply, error);
	}
	reply->etag = documents_tag;
	reply->static_body = document->text;
	reply->length = (size_t)(document->end - document->text);
	return true;
}

bool api_openapi(struct request *request, struct reply *reply, struct error *error)
{
	const struct document document = {openapi_yaml, openapi_yaml_end, "application/yaml",
					  YAML_SERVER};

	return tell(&document, request, reply, error);
}

bool api_openapi_json(struct request *request, struct reply *reply, struct error *error)
{
	const struct document document = {openapi_json, openapi_json_end, "application/json",
					  JSON_SERVER};

	return tell(&document, request, reply, error);
}

bool api_openapi_3_0(struct request *request, struct reply *reply, struct error *error)
{
	const struct document document = {openapi_3_0, openapi_3_0_end, "application/json",
					  JSON_SERVER};

	return tell(&document, request, reply, error);
}

bool api_docs(struct request *request, struct reply *reply, struct error *error)
{
	const struct document document = {docs_html, docs_html_end, "text/html; charset=utf-8",
					  NULL};

	reply_header(reply, "Content-Security-Policy", docs_policy);
	reply_header(reply, "X-Content-Type-Options", "nosniff");
	reply_header(reply, "Referrer-Policy", "no-referrer");
	return tell(&document, request, reply, error);
}
