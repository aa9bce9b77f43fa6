/*
 * Routes: the table, and matching a raw path against it. A linear scan: two dozen short patterns
 * cost less than parsing the request did.
 */
#include "server/http/routes.h"

#include "server/api/api.h"
#include "server/reads.h"

#include <stdio.h>
#include <string.h>

#define BODY_MAX ((size_t)256 * 1024)
#define JSON "application/json"
#define REVALIDATE "public, no-cache"
/* A shared cache in front asks once a second however many poll, and helps while replicas are away.
 */
#define A_SECOND "public, max-age=1, stale-while-revalidate=10, stale-if-error=300"
#define NEVER "no-store"
#define NOW NULL

static const struct route_later history = {api_history_ask, reads_history};

/* method, pattern, operation, handler, body limit, Cache-Control, port, needs a snapshot, produces,
 * needs the database, who may call, units of the caller's limit */
const struct route routes[] = {
	{"POST", "/v1/recommendations", "createRecommendation", api_recommendations, BODY_MAX,
	 NEVER, ROUTE_API, true, JSON, NOW, ACCESS_READ, 10},
	{"POST", "/v1/sizing", "createSizing", api_sizing, BODY_MAX, NEVER, ROUTE_API, false, JSON,
	 NOW, ACCESS_READ, 2},
	{"POST", "/v1/comparisons", "createComparison", api_comparisons, BODY_MAX, NEVER, ROUTE_API,
	 true, JSON, NOW, ACCESS_READ, 40},
	{"GET", "/v1/prices", "listPrices", api_prices, 0, A_SECOND, ROUTE_API, true,
	 JSON " text/csv", NOW, ACCESS_READ, 1},
	{"GET", "/v1/prices/{}", "getPrice", api_price, 0, REVALIDATE, ROUTE_API, true, JSON, NOW,
	 ACCESS_READ, 1},
	{"GET", "/v1/prices/{}/history", "getPriceHistory", api_history, 0, REVALIDATE, ROUTE_API,
	 false, JSON " text/csv", &history, ACCESS_READ, 5},
	{"GET", "/v1/accelerators", "listAccelerators", api_accelerators, 0, REVALIDATE, ROUTE_API,
	 true, JSON, NOW, ACCESS_READ, 1},
	{"GET", "/v1/accelerators/{*}", "getAccelerator", api_accelerator, 0, REVALIDATE, ROUTE_API,
	 true, JSON, NOW, ACCESS_READ, 1},
	{"GET", "/v1/models", "listModels", api_models, 0, REVALIDATE, ROUTE_API, false, JSON, NOW,
	 ACCESS_READ, 1},
	{"GET", "/v1/models/{*}", "getModel", api_model, 0, REVALIDATE, ROUTE_API, false, JSON, NOW,
	 ACCESS_READ, 1},
	{"GET", "/v1/providers", "listProviders", api_providers, 0, REVALIDATE, ROUTE_API, true,
	 JSON, NOW, ACCESS_READ, 1},
	{"GET", "/v1/providers/{}", "getProvider", api_provider, 0, REVALIDATE, ROUTE_API, true,
	 JSON, NOW, ACCESS_READ, 1},
	{"GET", "/openapi.yaml", "getOpenapi", api_openapi, 0, "public, max-age=300", ROUTE_API,
	 false, "application/yaml text/yaml text/plain", NOW, ACCESS_OPEN, 1},
	{"GET", "/openapi.json", "getOpenapiJson", api_openapi_json, 0, "public, max-age=300",
	 ROUTE_API, false, JSON, NOW, ACCESS_OPEN, 1},
	{"GET", "/openapi-3.0.json", "getOpenapi30", api_openapi_3_0, 0, "public, max-age=300",
	 ROUTE_API, false, JSON, NOW, ACCESS_OPEN, 1},
	{"GET", "/docs", "getDocs", api_docs, 0, "public, max-age=300", ROUTE_API, false,
	 "text/html", NOW, ACCESS_OPEN, 1},
	{"GET", "/livez", "getLiveness", ops_livez, 0, NEVER, ROUTE_OPS, false, JSON, NOW,
	 ACCESS_OPEN, 1},
	{"GET", "/readyz", "getReadiness", ops_readyz, 0, NEVER, ROUTE_OPS, false, JSON, NOW,
	 ACCESS_OPEN, 1},
	{"GET", "/startupz", "getStartup", ops_startupz, 0, NEVER, ROUTE_OPS, false, JSON, NOW,
	 ACCESS_OPEN, 1},
	{"GET", "/metrics", "getMetrics", ops_metrics, 0, NEVER, ROUTE_OPS, false, "text/plain",
	 NOW, ACCESS_METRICS, 1},
};
const size_t routes_count = sizeof(routes) / sizeof(*routes);

static bool take_parameter(struct route_match *match, const char *text, size_t length)
{
	if (length == 0 || match->parameters == REQUEST_PARAMETERS_MAX)
		return false;
	match->parameter[match->parameters].text = text;
	match->parameter[match->parameters++].length = length;
	return true;
}

/* Segment by segment, both from their leading slash. */
static bool matches(const char *pattern, const char *path, size_t length, struct route_match *match)
{
	const char *end = path + length;

	match->parameters = 0;
	while (*pattern) {
		size_t wanted = strcspn(pattern + 1, "/"), given;
		const char *slash;

		if (path == end || *path != '/')
			return false;
		path++;
		pattern++;
		slash = memchr(path, '/', (size_t)(end - path));
		given = (size_t)((slash ? slash : end) - path);
		if (wanted == 3 && memcmp(pattern, "{*}", 3) == 0)
			return take_parameter(match, path, (size_t)(end - path));
		if (wanted == 2 && memcmp(pattern, "{}", 2) == 0) {
			if (!take_parameter(match, path, given))
				return false;
		} else if (given != wanted || memcmp(pattern, path, wanted) != 0) {
			return false;
		}
		pattern += wanted;
		path += given;
	}
	return path == end;
}

static void allow(struct route_match *match, const char *method)
{
	size_t used = strlen(match->allowed);

	snprintf(match->allowed + used, sizeof(match->allowed) - used, "%s%s%s", used ? ", " : "",
		 method, strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

void routes_find(enum route_port port, const char *method, const char *path, size_t path_length,
		 struct route_match *out)
{
	struct route_match tried = {0};

	*out = (struct route_match){0};
	for (size_t i = 0; i < routes_count; i++) {
		if (routes[i].port != port ||
		    !matches(routes[i].pattern, path, path_length, &tried))
			continue;
		if (strcmp(routes[i].method, method) == 0) {
			*out = tried;
			out->route = &routes[i];
			return;
		}
		allow(out, routes[i].method);
	}
	if (*out->allowed)
		allow(out, "OPTIONS");
}

void routes_print(void)
{
	for (size_t i = 0; i < routes_count; i++)
		printf("%s\t%s\t%s\n", routes[i].method, routes[i].pattern, routes[i].operation);
}
