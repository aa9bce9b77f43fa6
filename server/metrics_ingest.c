/* Metrics of the providers' feeds: counted, and in the Prometheus text format. */
#include "server/clock.h"
#include "server/metrics_parts.h"

#include <stddef.h>
#include <string.h>

/* The last one stands for every outcome that has no name of its own. */
static const char *const results[METRICS_RESULTS] = {"ok",    "http",	      "timeout", "parse",
						     "auth",  "rate_limited", "empty",	 "held",
						     "store", "other"};

/* "{provider=...,source=..." of a feed, without the closing brace. */
static void begin_labels(struct writer *writer, const char *name, size_t provider)
{
	writer_format(writer, "%s{provider=\"%s\",source=\"%s\"", name, providers[provider]->id,
		      providers[provider]->source);
}

void metrics_ingest_run(struct metrics *metrics, size_t provider, const struct metrics_ingest *run)
{
	struct provider_metrics *own;
	size_t result = 0;

	if (provider >= metrics->providers)
		return;
	own = &metrics->ingest[provider];
	while (result < METRICS_RESULTS - 1 && strcmp(results[result], run->result) != 0)
		result++;
	metrics_count(&own->runs[result], 1);
	atomic_store(&own->last_attempt_us, run->finished_us);
	atomic_store(&own->duration_us, run->duration_us);
	atomic_store(&own->refresh_seconds, run->refresh_seconds);
	atomic_store(&own->usual, run->rows_usual);
	atomic_store(&own->is_held, strcmp(run->result, "held") == 0);
	metrics_count(&own->bytes, run->bytes > 0 ? (uint64_t)run->bytes : 0);
	metrics_count(&own->requests, run->requests > 0 ? (uint64_t)run->requests : 0);
	for (size_t i = 0; run->refused && i < REJECTIONS; i++)
		metrics_count(&own->refused[i], (uint64_t)run->refused[i]);
	if (strcmp(run->result, "ok") != 0)
		return;
	atomic_store(&own->last_success_us, run->finished_us);
	atomic_store(&own->seen, run->rows_seen);
	atomic_store(&own->accepted, run->rows_accepted);
	atomic_store(&own->rejected, run->rows_rejected);
	atomic_store(&own->unmapped, run->rows_unmapped);
	metrics_count(&own->changes, run->changes > 0 ? (uint64_t)run->changes : 0);
}

static void render_runs(const struct metrics *metrics, struct writer *writer)
{
	metrics_head(writer, "gpupick_ingest_runs_total", "counter", "Refreshes by their result.");
	for (size_t i = 0; i < metrics->providers; i++) {
		for (size_t r = 0; r < METRICS_RESULTS; r++) {
			uint64_t runs = metrics_value(&metrics->ingest[i].runs[r]);

			if (!runs)
				continue;
			begin_labels(writer, "gpupick_ingest_runs_total", i);
			writer_format(writer, ",result=\"%s\"} %llu\n", results[r],
				      (unsigned long long)runs);
		}
	}
}

static void render_counters(const struct metrics *metrics, struct writer *writer)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} counters[] = {
		{"gpupick_ingest_requests_total", "Requests sent to the providers.",
		 offsetof(struct provider_metrics, requests)},
		{"gpupick_ingest_response_bytes_total", "Bytes of the providers' answers, decoded.",
		 offsetof(struct provider_metrics, bytes)},
		{"gpupick_ingest_changes_total", "Offers that a refresh changed.",
		 offsetof(struct provider_metrics, changes)},
	};

	for (size_t c = 0; c < sizeof(counters) / sizeof(*counters); c++) {
		metrics_head(writer, counters[c].name, "counter", counters[c].help);
		for (size_t i = 0; i < metrics->providers; i++) {
			const void *at = (const char *)&metrics->ingest[i] + counters[c].offset;

			begin_labels(writer, counters[c].name, i);
			writer_format(
				writer, "} %llu\n",
				(unsigned long long)metrics_value((const _Atomic uint64_t *)at));
		}
	}
}

static void render_refused(const struct metrics *metrics, struct writer *writer)
{
	metrics_head(writer, "gpupick_ingest_rejected_rows_total", "counter",
		     "Rows that were not believed, by why.");
	for (size_t i = 0; i < metrics->providers; i++) {
		for (size_t r = 0; r < REJECTIONS; r++) {
			uint64_t rows = metrics_value(&metrics->ingest[i].refused[r]);

			if (!rows)
				continue;
			begin_labels(writer, "gpupick_ingest_rejected_rows_total", i);
			writer_format(writer, ",reason=\"%s\"} %llu\n", rejection_names[r],
				      (unsigned long long)rows);
		}
	}
}

static void render_times(const struct metrics *metrics, struct writer *writer)
{
	static const struct {
		const char *name, *help;
		size_t offset;
		int64_t unit;
	} times[] = {
		{"gpupick_ingest_last_attempt_timestamp_seconds", "When the feed was last tried.",
		 offsetof(struct provider_metrics, last_attempt_us), US_PER_SECOND},
		{"gpupick_ingest_last_success_timestamp_seconds", "When it was last stored.",
		 offsetof(struct provider_metrics, last_success_us), US_PER_SECOND},
		{"gpupick_ingest_last_duration_seconds", "How long the last try took.",
		 offsetof(struct provider_metrics, duration_us), US_PER_SECOND},
		{"gpupick_ingest_interval_seconds", "How often the feed is tried.",
		 offsetof(struct provider_metrics, refresh_seconds), 1},
	};

	for (size_t t = 0; t < sizeof(times) / sizeof(*times); t++) {
		metrics_head(writer, times[t].name, "gauge", times[t].help);
		for (size_t i = 0; i < metrics->providers; i++) {
			const void *at = (const char *)&metrics->ingest[i] + times[t].offset;
			int64_t time = atomic_load((const _Atomic int64_t *)at);

			if (!time) /* never: no sample rather than 1970 */
				continue;
			begin_labels(writer, times[t].name, i);
			writer_format(writer, "} %.6f\n", (double)time / (double)times[t].unit);
		}
	}
}

static void render_rows(const struct metrics *metrics, struct writer *writer)
{
	static const struct {
		const char *state;
		size_t offset;
	} states[] = {
		{"seen", offsetof(struct provider_metrics, seen)},
		{"accepted", offsetof(struct provider_metrics, accepted)},
		{"rejected", offsetof(struct provider_metrics, rejected)},
		{"usual", offsetof(struct provider_metrics, usual)},
	};

	metrics_head(writer, "gpupick_ingest_rows", "gauge",
		     "Rows of the last stored refresh; usual: the median of a fortnight's.");
	for (size_t i = 0; i < metrics->providers; i++) {
		for (size_t s = 0; s < sizeof(states) / sizeof(*states); s++) {
			const void *at = (const char *)&metrics->ingest[i] + states[s].offset;

			if (!atomic_load(&metrics->ingest[i].last_success_us))
				continue;
			begin_labels(writer, "gpupick_ingest_rows", i);
			writer_format(writer, ",state=\"%s\"} %lld\n", states[s].state,
				      (long long)atomic_load((const _Atomic int64_t *)at));
		}
	}
}

static void render_states(const struct metrics *metrics, struct writer *writer)
{
	metrics_head(writer, "gpupick_ingest_unmapped_gpu_names", "gauge",
		     "Rows of the last stored refresh whose accelerator no rule knew.");
	for (size_t i = 0; i < metrics->providers; i++) {
		if (!atomic_load(&metrics->ingest[i].last_success_us))
			continue;
		begin_labels(writer, "gpupick_ingest_unmapped_gpu_names", i);
		writer_format(writer, "} %lld\n",
			      (long long)atomic_load(&metrics->ingest[i].unmapped));
	}
	metrics_head(writer, "gpupick_ingest_held", "gauge",
		     "1 while the last refresh is held back, until others agree with it.");
	for (size_t i = 0; i < metrics->providers; i++) {
		if (!atomic_load(&metrics->ingest[i].last_attempt_us))
			continue;
		begin_labels(writer, "gpupick_ingest_held", i);
		writer_format(writer, "} %d\n", atomic_load(&metrics->ingest[i].is_held) ? 1 : 0);
	}
}

void metrics_render_ingest(const struct metrics *metrics, struct writer *writer)
{
	render_runs(metrics, writer);
	render_counters(metrics, writer);
	render_refused(metrics, writer);
	render_times(metrics, writer);
	render_rows(metrics, writer);
	render_states(metrics, writer);
}
