/* GET /openapi.yaml: the contract, as it lies in openapi/openapi.yaml when this program was built.
 */
#include "server/api/api.h"
#include "server/api/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER_LINE "\n  - url: /"

extern const char openapi_yaml[], openapi_yaml_end[];

/* The document with the path under which the caller found it as its server. */
static bool write_prefixed(const struct request *request, struct reply *reply, struct error *error)
{
	const char *line = strstr(openapi_yaml, SERVER_LINE "\n"), *rest;
	size_t most = (size_t)(openapi_yaml_end - openapi_yaml) + strlen(request->prefix) + 1;

	reply->body = line ? malloc(most) : NULL;
	if (!reply->body)
		return error_set(error, ERROR_INTERNAL, "the document cannot be made");
	rest = line + strlen(SERVER_LINE);
	reply->length =
		(size_t)snprintf(reply->body, most, "%.*s%s%s", (int)(rest - openapi_yaml) - 1,
				 openapi_yaml, request->prefix, rest);
	return true;
}

/* The bytes are in the program itself: openapi/openapi.yaml, linked in by server/api/embed.S. */
bool api_openapi(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	struct query_reader reader;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	reply->content_type = "application/yaml";
	if (*request->prefix) {
		/* Another prefix, another document: nothing for a cache between the proxies. */
		reply->cache_control = "private, max-age=300";
		return write_prefixed(request, reply, error);
	}
	reply->static_body = openapi_yaml;
	reply->length = (size_t)(openapi_yaml_end - openapi_yaml);
	return true;
}
