/* Handlers of the API, one file per resource; the routes table is their only caller. */
#ifndef SERVER_API_API_H
#define SERVER_API_API_H

#include "server/http/request.h"

route_handler api_recommendations; /* POST /v1/recommendations */
route_handler api_sizing;	   /* POST /v1/sizing */
route_handler api_comparisons;	   /* POST /v1/comparisons */
route_handler api_prices;	   /* GET  /v1/prices */
route_handler api_price;	   /* GET  /v1/prices/{} */
route_handler api_history;	   /* GET  /v1/prices/{}/history */
route_handler api_accelerators;	   /* GET  /v1/accelerators */
route_handler api_accelerator;	   /* GET  /v1/accelerators/{*} */
route_handler api_models;	   /* GET  /v1/models */
route_handler api_model;	   /* GET  /v1/models/{*} */
route_handler api_providers;	   /* GET  /v1/providers */
route_handler api_provider;	   /* GET  /v1/providers/{} */
route_handler api_openapi;	   /* GET  /openapi.yaml */
route_handler api_openapi_json;	   /* GET  /openapi.json */
route_handler api_openapi_3_0;	   /* GET  /openapi-3.0.json */
route_handler api_docs;		   /* GET  /docs */
route_handler ops_livez, ops_readyz, ops_startupz, ops_metrics;

/* What api_history waits for: a struct history (server/history.h). */
bool api_history_ask(struct request *request, struct arena *arena, void **wanted,
		     struct error *error);

#endif
