/*
 * Walk: feeds held to their fixtures, as tables. A test program of a group of feeds states what
 * each trap must become and how every row is accounted for; walk_run() does the rest: the same walk
 * as ingest's, over tests/providers/fixtures/<provider>/<label>.{json,csv,js,xml,pb}, then over the
 * files of ../shared where that folder exists, then over broken and mutated answers.
 */
#ifndef TESTS_PROVIDERS_WALK_H
#define TESTS_PROVIDERS_WALK_H

#include "server/ingest/ingest.h"
#include "tests/suite.h"

#define WALK_NOW_US (INT64_C(1790000000) * 1000000) /* 2026-09-21 */
#define WALK_EURO_MICROS 1140000		    /* USD for one EUR */

#define OD PRICE_ON_DEMAND
#define SPOT PRICE_SPOT
#define RES PRICE_RESERVED
#define YES AVAILABILITY_YES
#define NO AVAILABILITY_NO
#define UNK AVAILABILITY_UNKNOWN

#define NOT_TOLD 0 /* what a row of a table that says nothing has */
#define TOLD_NONE (-1)

struct wanted {
	const char *provider, /* or the source, where a provider has several feeds */
		*region, *type;
	int count_milli;
	const char *tier;
	enum price_kind kind;
	int term_months;
	const char *accelerator;
	int64_t price_micros;
	enum availability availability;
	const char *country;
	int quantity; /* NOT_TOLD, TOLD_NONE or how many */
};

/* Rows: seen, accepted, unmapped; refused for schema, no price, absurd price, memory, duplicate. */
struct totals {
	const char *provider;
	int seen, accepted, unmapped, schema, no_price, absurd, memory, duplicate;
};

/* An answer to the first request that must fail the feed with a reason. */
struct broken {
	const char *provider, *text, *detail;
};

/* A file of ../shared/fixtures/providers as the answer to the request with this label; of `member`
 * of it when that is set. */
struct borrowed {
	const char *provider, *label, *file, *member;
};

struct group {
	const char *name;
	const struct wanted *wanted;
	size_t wanted_count;
	const struct totals *totals;
	size_t totals_count;
	const struct broken *broken;
	size_t broken_count;
	const struct borrowed *borrowed;
	size_t borrowed_count;
	const struct wanted *borrowed_wanted;
	size_t borrowed_wanted_count;
};

#define COUNTED(table) table, sizeof(table) / sizeof((table)[0])

/* The suite with the group's own extra cases (may be NULL). */
int walk_run(const struct group *group, TCase *extra);

/* For extra cases: the last walk's result. walk_release() after each walk. */
extern struct feed walk_feed;
extern struct error walk_error;
extern struct normalise_report walk_report;

void walk_committed(const struct provider *provider);
void walk_begin(const struct provider *provider);
bool walk_answer(const struct provider *provider, const struct fetch_request *request,
		 const char *text, const char *link);
bool walk_finish(const struct provider *provider);
void walk_release(void);
const struct offer *walk_find(const struct wanted *wanted);

#endif
