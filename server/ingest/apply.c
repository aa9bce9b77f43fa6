/* Apply: see apply.h. */
#include "server/ingest/apply.h"

#include "server/clock.h"
#include "server/ingest/guard.h"
#include "server/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW_TENTHS 7 /* of the usual number of rows: below, a good refresh is remarked on */

static void result_from_harvest(const struct harvest *harvest, struct apply_result *out)
{
	const struct feed *feed = &harvest->feed;

	*out = (struct apply_result){
		.provider = harvest->provider->id,
		.source = harvest->provider->source,
		.outcome = harvest->outcome,
		.is_ok = strcmp(harvest->outcome, "ok") == 0,
		.seconds = (double)(harvest->finished_us - harvest->started_us) / 1e6,
		.requests = harvest->requests,
		.rows_seen = feed->rows_seen,
		.rows_accepted = harvest->report.accepted,
		.rows_rejected = harvest->report.rejected,
		.rows_unmapped = harvest->report.unmapped,
		.retry_after_seconds = harvest->retry_after_seconds,
	};
	if (!out->is_ok)
		snprintf(out->detail, sizeof(out->detail), "%s", harvest->error.detail);
	else if (feed->note[0])
		snprintf(out->detail, sizeof(out->detail), "%s", feed->note);
	else if (feed->first_rejection[0])
		snprintf(out->detail, sizeof(out->detail), "first row refused: %s",
			 feed->first_rejection);
}

static void result_fail(struct apply_result *out, const char *outcome, const char *detail)
{
	out->is_ok = false;
	out->outcome = outcome;
	snprintf(out->detail, sizeof(out->detail), "%s", detail);
}

static bool store_rows(struct store *store, struct harvest *harvest, struct apply_result *out,
		       struct error *error)
{
	struct store_refresh refresh = {
		.provider = harvest->provider->id,
		.source = harvest->provider->source,
		.offers = harvest->feed.offers,
		.offers_count = harvest->feed.count,
		.observed_at_us = harvest->feed.now_us,
		.unmapped = harvest->report.unmapped_list,
		.unmapped_count = harvest->report.unmapped_count,
		.replaces_bundled = !harvest->provider->is_spot_only,
	};
	struct store_outcome outcome;

	if (!store_apply(store, &refresh, &outcome, error))
		return false;
	out->inserted = outcome.inserted;
	out->changed = outcome.changed;
	out->unchanged = outcome.unchanged;
	out->withdrawn = outcome.withdrawn;
	return true;
}

static bool read_prices(struct store *store, struct harvest *harvest, struct guard_price **out,
			size_t *count, struct error *error)
{
	struct store_price *prices;

	if (!store_read_prices(store, harvest->provider->id, harvest->provider->source,
			       &harvest->arena, &prices, count, error))
		return false;
	*out = arena_array(&harvest->arena, *count ? *count : 1, sizeof(**out));
	for (size_t i = 0; *out && i < *count; i++)
		(*out)[i] = (struct guard_price){prices[i].id, prices[i].micros};
	return *out || error_set(error, ERROR_FEED, "no memory to compare with the last refresh");
}

static int by_id(const void *left, const void *right)
{
	const struct offer *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

/* Rows whose price jumped, or was absurd, keep their last good values, with their date, until a
 * second refresh agrees. */
static bool keep_waiting(struct store *store, struct harvest *harvest,
			 const struct guard_verdict *verdict, struct error *error)
{
	struct feed *feed = &harvest->feed;
	uint64_t *ids;
	struct offer *rows;
	size_t count, kept = 0;

	if (!verdict->waiting_count)
		return true;
	ids = arena_array(&harvest->arena, verdict->waiting_count, sizeof(*ids));
	for (size_t i = 0; ids && i < verdict->waiting_count; i++)
		ids[i] = feed->offers[verdict->waiting[i]].id;
	if (!ids)
		return error_set(error, ERROR_FEED, "no memory for rows that wait");
	if (!store_read_offers(store, ids, verdict->waiting_count, &harvest->arena, &rows, &count,
			       error))
		return false;
	if (count)
		qsort(rows, count, sizeof(*rows), by_id);
	for (size_t i = 0; i < verdict->waiting_count; i++) {
		struct offer *place = &feed->offers[verdict->waiting[i]];
		const struct offer *row =
			count ? bsearch(place, rows, count, sizeof(*rows), by_id) : NULL;

		if (row)
			*place = *row;
	}
	for (size_t i = 0; i < feed->count; i++) /* a place whose row is gone meanwhile */
		if (feed->offers[i].price_micros > 0)
			feed->offers[kept++] = feed->offers[i];
	feed->count = kept;
	return true;
}

/* False with an error for the database's faults only; a refresh that is held is a result. */
static bool guard_and_store(struct store *store, struct harvest *harvest, bool accept,
			    struct apply_result *out, struct error *error)
{
	struct arena *arena = &harvest->arena;
	const char *provider = harvest->provider->id, *source = harvest->provider->source;
	struct guard_verdict verdict;
	struct guard_price *last;
	size_t last_count;
	char *state;

	if (!read_prices(store, harvest, &last, &last_count, error) ||
	    !store_read_guard(store, provider, source, arena, &state, error) ||
	    !guard_check(state, last, last_count, accept, &harvest->feed, &verdict, error))
		return false;
	out->rows_waiting = (int64_t)verdict.waiting_count;
	if (!harvest->feed.count && !last_count) {
		const char *first = harvest->feed.first_rejection;

		result_fail(out, "empty", "the feed has no usable row");
		if (*first)
			snprintf(out->detail, sizeof(out->detail),
				 "the feed has no usable row; first refused: %s", first);
		return true;
	}
	if (verdict.is_held) {
		result_fail(out, verdict.is_empty ? "empty" : "held", verdict.reason);
	} else {
		if (!keep_waiting(store, harvest, &verdict, error) ||
		    !store_rows(store, harvest, out, error))
			return false;
		/* After the rows: if this is lost, too much is fetched next time, never too little.
		 */
		if (harvest->provider->remembers &&
		    !store_write_memo(store, provider, source, harvest->feed.memo_next, error))
			return false;
		if (verdict.reason[0])
			snprintf(out->detail, sizeof(out->detail), "%s", verdict.reason);
	}
	/* After the rows: if this is lost, the guard is stricter than it must be, never laxer. */
	return strcmp(state, verdict.state) == 0 ||
	       store_write_guard(store, provider, source, verdict.state, error);
}

static void record_run(struct store *store, const struct harvest *harvest, int64_t refresh_seconds,
		       struct apply_result *result)
{
	char rejections[FEED_REJECTIONS_TEXT];
	const struct store_run run = {
		.provider = result->provider,
		.source = result->source,
		.started_us = harvest->started_us,
		.finished_us = harvest->finished_us,
		.outcome = result->outcome,
		.detail = result->is_ok ? "" : result->detail,
		.refresh_seconds = refresh_seconds,
		.requests = harvest->requests,
		.bytes = harvest->bytes,
		.rows_seen = result->rows_seen,
		.rows_accepted = result->rows_accepted,
		.rows_rejected = result->rows_rejected,
		.rows_unmapped = result->rows_unmapped,
		.rejections = feed_rejections(&harvest->feed, rejections, sizeof(rejections)),
		.inserted = result->inserted,
		.changed = result->changed,
		.unchanged = result->unchanged,
		.withdrawn = result->withdrawn,
	};
	struct error error;

	error_init(&error, NULL);
	if (!store_record_run(store, &run, &error) ||
	    !store_read_usual(store, run.provider, run.source, &result->rows_usual, &error))
		log_event(LOG_ERROR, "run not recorded", "provider", result->provider, "detail",
			  error.detail, NULL);
}

static void count_run(const struct apply_options *options, const struct harvest *harvest,
		      const struct apply_result *result)
{
	const struct metrics_ingest run = {
		.result = result->outcome,
		.finished_us = harvest->finished_us,
		.duration_us = harvest->finished_us - harvest->started_us,
		.refresh_seconds = options->refresh_seconds,
		.requests = harvest->requests,
		.bytes = harvest->bytes,
		.rows_seen = result->rows_seen,
		.rows_accepted = result->rows_accepted,
		.rows_rejected = result->rows_rejected,
		.rows_unmapped = result->rows_unmapped,
		.rows_usual = result->rows_usual,
		.refused = harvest->feed.rejected,
		.changes = result->inserted + result->changed + result->withdrawn,
	};

	if (options->metrics)
		metrics_ingest_run(options->metrics, options->index, &run);
}

static void log_result(const struct apply_result *result)
{
	char accepted[24], rejected[24], unmapped[24], changes[24], seconds[24];

	snprintf(accepted, sizeof(accepted), "%" PRId64, result->rows_accepted);
	snprintf(rejected, sizeof(rejected), "%" PRId64, result->rows_rejected);
	snprintf(unmapped, sizeof(unmapped), "%" PRId64, result->rows_unmapped);
	snprintf(changes, sizeof(changes), "%" PRId64,
		 result->inserted + result->changed + result->withdrawn);
	snprintf(seconds, sizeof(seconds), "%.3f", result->seconds);
	log_event(result->is_ok ? LOG_INFO : LOG_WARNING, "feed refreshed", "provider",
		  result->provider, "source", result->source, "outcome", result->outcome, "detail",
		  result->detail, "rows_accepted", accepted, "rows_rejected", rejected,
		  "rows_unmapped", unmapped, "changes", changes, "seconds", seconds, NULL);
}

void apply(struct store *store, struct harvest *harvest, const struct apply_options *options,
	   struct apply_result *out)
{
	struct error error;

	error_init(&error, NULL);
	result_from_harvest(harvest, out);
	if (out->is_ok && !guard_and_store(store, harvest, options->accept, out, &error))
		result_fail(out, "store", error.detail);
	record_run(store, harvest, options->refresh_seconds, out);
	if (out->is_ok && out->rows_accepted * 10 < out->rows_usual * FEW_TENTHS)
		snprintf(out->detail, sizeof(out->detail),
			 "fewer rows than usual: %" PRId64 " where the median is %" PRId64,
			 out->rows_accepted, out->rows_usual);
	count_run(options, harvest, out);
	log_result(out);
}

static bool retire_one(struct store *store, const char *provider, const char *source,
		       const char *why, struct error *error)
{
	const int64_t now_us = clock_wall_us();
	const struct store_refresh nothing = {
		.provider = provider, .source = source, .observed_at_us = now_us};
	struct store_run run = {
		.provider = provider,
		.source = source,
		.started_us = now_us,
		.finished_us = now_us,
		.outcome = STORE_REMOVED,
		.detail = why,
	};
	struct store_outcome outcome;

	if (!store_apply(store, &nothing, &outcome, error))
		return false;
	run.withdrawn = outcome.withdrawn;
	log_event(LOG_INFO, "feed is retired", "provider", provider, "source", source, "detail",
		  why, NULL);
	return store_record_run(store, &run, error);
}

bool apply_retire(struct store *store, const char *provider, const char *source, const char *why,
		  struct error *error)
{
	struct store_source *sources;
	struct arena arena;
	size_t count;
	bool ok;

	arena_init(&arena, (size_t)16 << 20);
	ok = store_read_sources(store, source, &arena, &sources, &count, error);
	for (size_t i = 0; ok && i < count; i++)
		if (strcmp(sources[i].provider, provider) == 0 &&
		    strcmp(sources[i].source, source) == 0)
			ok = retire_one(store, provider, source, why, error);
	arena_release(&arena);
	return ok;
}
