/* What the files of Nebius share: calls, and the exchange of a service account's key for a token.
 */
#ifndef SERVER_INGEST_PROVIDERS_NEBIUS_H
#define SERVER_INGEST_PROVIDERS_NEBIUS_H

#include "server/ingest/provider.h"
#include "server/ingest/providers/protobuf.h"

#define NEBIUS_SITES_MAX 64

/* Kinds of pages. */
enum { NEBIUS_TENANTS, NEBIUS_PROJECTS, NEBIUS_PLATFORMS, NEBIUS_ESTIMATE, NEBIUS_TOKEN };

/* Fields of every resource. */
enum {
	NEBIUS_METADATA = 1,
	NEBIUS_METADATA_ID = 1,
	NEBIUS_METADATA_PARENT = 2,
	NEBIUS_METADATA_NAME = 3
};

/* A region and a project there, which prices are asked for. */
struct nebius_site {
	const char *region, *project;
};

struct nebius_account {
	const char *tenant;
	struct nebius_site sites[NEBIUS_SITES_MAX];
	size_t sites_count, site;
	const char *token; /* of the next page of a list, or "" */
	int pages;	   /* of that list so far */
	size_t estimated;  /* offers whose price was asked for */
};

/* The project that prices of a region are asked for; "" when there is none. */
const char *nebius_project_of(const struct nebius_account *account, const char *region);

/* By it the answer to an estimate finds its offer. */
const char *nebius_estimate_label(struct feed *feed, const struct offer *offer);

bool nebius_parse(struct feed *feed, const struct fetch_request *asked,
		  const struct fetch_response *response, struct error *error);

/* Fills a call of `method` ("nebius.iam.v1.TenantService/List") at `service`
 * ("cpl.iam.api.nebius.cloud"), without authorization. */
void nebius_call(struct feed *feed, const char *service, const char *method,
		 const struct protobuf_writer *message, struct fetch_request *out);

/* Is the key a service account's credentials (JSON, as `nebius iam auth-public-key generate` writes
 * them), which must be exchanged first? Else it is a token. */
bool nebius_has_account(const struct feed *feed);

/* The exchange; false and an error when the credentials are none. */
bool nebius_token_request(struct feed *feed, struct fetch_request *out, struct error *error);

/* The feed's key becomes the token. */
bool nebius_take_token(struct feed *feed, struct protobuf message, struct error *error);

#endif
