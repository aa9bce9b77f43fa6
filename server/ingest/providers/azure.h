/* Azure's parts: where its regions are. */
#ifndef SERVER_INGEST_PROVIDERS_AZURE_H
#define SERVER_INGEST_PROVIDERS_AZURE_H

/* ISO 3166 alpha-2 of a region's armRegionName; "" when the table does not know it. */
const char *azure_country(const char *region);

#endif
