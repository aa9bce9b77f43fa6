/*
 * Ingest: the worker. request → fetch → parse → normalise → guard → store, provider by provider;
 * one broken provider never holds up another, and a refresh is stored whole or not at all.
 */
#ifndef SERVER_INGEST_INGEST_H
#define SERVER_INGEST_INGEST_H

#include "core/catalogue.h"
#include "server/config.h"
#include "server/ingest/provider.h"
#include "server/metrics.h"

#include <stdio.h>

struct ingest_options {
	const char *only;   /* provider id, or NULL for all */
	const char *record; /* folder for raw payloads, or NULL */
	bool is_probe;	    /* the feed failed several times in a row: one try a request, no more */
	bool accept; /* an operator has looked at a refresh that is held: the guard lets all pass */
};

/* One round over the feeds that can run; prints a table to `report` when it is not NULL. False when
 * any feed failed or nothing could be stored. */
bool ingest_once(const struct config *config, const struct ingest_options *options, FILE *report,
		 struct metrics *metrics, struct error *error);

/* `gpupick parse PROVIDER [--page KIND] [FILE...]`: what payloads would become, one JSON object a
 * line with the columns of offer. argv holds what follows the verb. The exit status. */
int ingest_verb_parse(const struct config *config, int argc, char **argv);

/* The scheduler on a thread of its own, until ingest_stop(). */
struct ingest;
struct ingest *ingest_start(const struct config *config, const struct ingest_options *options,
			    struct metrics *metrics, struct error *error);
void ingest_stop(struct ingest *ingest);

/* normalise.c: canonical accelerators, memory checks, sane prices, duplicates, ids. In place;
 * offers that are refused are removed and counted in the feed. */
struct normalise_report {
	int64_t accepted, rejected, unmapped;
	struct unmapped *unmapped_list; /* in the feed's arena */
	size_t unmapped_count;
};
bool normalise(const struct provider *provider, struct feed *feed, struct normalise_report *out,
	       struct error *error);

#endif
