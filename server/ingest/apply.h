/*
 * Apply: what becomes of a harvest: compared with the last good set, stored whole or not at all,
 * recorded, counted and logged.
 */
#ifndef SERVER_INGEST_APPLY_H
#define SERVER_INGEST_APPLY_H

#include "server/ingest/harvest.h"
#include "server/store/store.h"

struct apply_result {
	const char *provider, *source;
	const char *outcome; /* as in store_run; "store" when the database refused; "skipped" */
	char detail[256];
	bool is_ok;
	double seconds;
	int64_t requests, rows_seen, rows_accepted, rows_rejected, rows_unmapped, rows_waiting;
	int64_t rows_usual; /* median of the last fortnight's; 0 = none */
	int64_t inserted, changed, unchanged, withdrawn;
	double retry_after_seconds; /* -1 = not asked for */
};

struct apply_options {
	int64_t refresh_seconds;
	bool accept;		 /* an operator has looked: the guard holds nothing back */
	struct metrics *metrics; /* may be NULL */
	size_t index;		 /* in the providers table, for metrics */
};

/* Withdraws what a source that is there no more still has on sale. Nothing is done where there is
 * no such source. */
bool apply_retire(struct store *store, const char *provider, const char *source, const char *why,
		  struct error *error);

/* Always fills `out`. */
void apply(struct store *store, struct harvest *harvest, const struct apply_options *options,
	   struct apply_result *out);

#endif
