/* Round: what `ingest --once` and the scheduler share: which feeds run, with which settings.
 * Private to server/ingest. */
#ifndef SERVER_INGEST_ROUND_H
#define SERVER_INGEST_ROUND_H

#include "server/ingest/apply.h"
#include "server/ingest/crew.h"

/* Why a feed does not run, or NULL when it does. Names that no provider has are an error. */
const char *round_skip_reason(const struct config *config, const struct ingest_options *options,
			      const struct provider *provider);
bool round_check_names(const struct config *config, const struct ingest_options *options,
		       struct error *error);

/* Does the key of a better feed make this one needless? Its offers are then withdrawn. */
bool round_is_superseded(const struct config *config, const struct provider *provider);
bool round_retire(const struct config *config, struct store *store, struct error *error);

int64_t round_refresh_seconds(const struct config *config, const struct provider *provider);

/* Starts the harvest of providers[index], with what the store remembers of it. */
bool round_start(struct crew *crew, size_t index, const struct config *config,
		 const struct ingest_options *options, struct store *store, struct error *error);

/* report.c: the table that `ingest --once` prints. */
void report_print(FILE *stream, const struct apply_result *results, size_t count);

#endif
