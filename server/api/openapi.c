/* GET /openapi.yaml: the contract, as it lies in openapi/openapi.yaml when this program was built.
 */
#include "server/api/api.h"
#include "server/api/query.h"

extern const char openapi_yaml[], openapi_yaml_end[];

/* The bytes are in the program itself: openapi/openapi.yaml, linked in by server/api/embed.S. */
bool api_openapi(struct request *request, struct reply *reply, struct error *error)
{
	static const char *const known[] = {NULL};
	struct query_reader reader;

	query_begin(&reader, request, known, error);
	if (!query_end(&reader))
		return false;
	reply->content_type = "application/yaml";
	reply->static_body = openapi_yaml;
	reply->length = (size_t)(openapi_yaml_end - openapi_yaml);
	return true;
}
