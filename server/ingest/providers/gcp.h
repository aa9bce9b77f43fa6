/* What the feeds of Google Cloud share. */
#ifndef SERVER_INGEST_PROVIDERS_GCP_H
#define SERVER_INGEST_PROVIDERS_GCP_H

#include <stdbool.h>

/* Some machines are sold as spot and through the workload scheduler only, whatever a list says. */
bool gcp_is_sold_on_demand(const char *type);

#endif
