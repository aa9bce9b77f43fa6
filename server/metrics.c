/*
 * Metrics: see metrics.h. Counters are relaxed atomics: a scrape sees each one whole, and they need
 * not agree with each other to the last request.
 */
#include "server/metrics.h"

#include "server/clock.h"
#include "server/http/forwarded.h"
#include "server/http/routes.h"
#include "server/ingest/provider.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const double buckets[] = {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
				 0.025,	  0.05,	  0.1,	   0.25,   0.5,	  1,	  2.5};
#define BUCKETS (sizeof(buckets) / sizeof(*buckets))

/* Statuses that this service sends; another one is counted as 500. */
static const unsigned codes[] = {200, 204, 304, 400, 404, 405, 406, 408, 410,
				 413, 414, 415, 422, 429, 431, 500, 501, 503};
#define CODES (sizeof(codes) / sizeof(*codes))

static const char *const rejections[METRICS_REJECTIONS] = {
	[METRICS_REJECTED_FRAMING] = "framing",
	[METRICS_REJECTED_TARGET] = "target",
	[METRICS_REJECTED_HEAD_TIMEOUT] = "head_timeout",
	[METRICS_REJECTED_BODY_TIMEOUT] = "body_timeout",
	[METRICS_REJECTED_TOO_LARGE] = "too_large",
	[METRICS_REJECTED_CONNECTIONS] = "connections",
	[METRICS_REJECTED_BUSY] = "busy",
};

static const char *const forwarded_faults[FORWARDED_FAULTS] = {
	[FORWARDED_UNTRUSTED] = "untrusted",
	[FORWARDED_MALFORMED] = "malformed",
	[FORWARDED_CONFLICT] = "conflict",
};

static const char *const results[] = {"ok",   "http",	      "timeout", "parse",
				      "auth", "rate_limited", "empty",	 "held"};
#define RESULTS (sizeof(results) / sizeof(*results))

struct histogram {
	_Atomic uint64_t bucket[BUCKETS + 1]; /* the last one: beyond all */
	_Atomic uint64_t sum_us;
};

struct provider_metrics {
	_Atomic uint64_t runs[RESULTS], bytes, changes;
	_Atomic int64_t last_attempt_us, last_success_us, duration_us;
	_Atomic int64_t seen, accepted, rejected, unmapped;
};

struct metrics {
	size_t routes, providers;
	int64_t started_us;
	struct histogram *requests; /* [route + 1][code]; row 0: matched none */
	struct provider_metrics *ingest;
	_Atomic int64_t in_flight, waiting, connections;
	_Atomic uint64_t rejected[METRICS_REJECTIONS];
	_Atomic uint64_t forwarded_ignored[FORWARDED_FAULTS];
	_Atomic uint64_t not_modified;
	pthread_mutex_t *lock; /* guards `snapshot`; apart, so that reading may be const */
	struct metrics_snapshot snapshot;
};

struct metrics *metrics_new(size_t route_count, size_t provider_count)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (!metrics)
		return NULL;
	metrics->routes = route_count;
	metrics->providers = provider_count;
	metrics->started_us = clock_wall_us();
	metrics->requests = calloc((route_count + 1) * CODES, sizeof(*metrics->requests));
	metrics->ingest = calloc(provider_count + 1, sizeof(*metrics->ingest));
	metrics->lock = calloc(1, sizeof(*metrics->lock));
	if (!metrics->requests || !metrics->ingest || !metrics->lock ||
	    pthread_mutex_init(metrics->lock, NULL) != 0) {
		free(metrics->lock);
		metrics->lock = NULL;
		metrics_free(metrics);
		return NULL;
	}
	return metrics;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	if (metrics->lock)
		pthread_mutex_destroy(metrics->lock);
	free(metrics->lock);
	free(metrics->requests);
	free(metrics->ingest);
	free(metrics);
}

static void count(_Atomic uint64_t *counter, uint64_t by)
{
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static uint64_t value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static size_t code_index(unsigned status)
{
	size_t fallback = 0;

	for (size_t i = 0; i < CODES; i++) {
		if (codes[i] == status)
			return i;
		if (codes[i] == 500)
			fallback = i;
	}
	return fallback;
}

void metrics_request(struct metrics *metrics, int route, unsigned status, int64_t duration_us)
{
	struct histogram *histogram =
		&metrics->requests[(size_t)(route + 1) * CODES + code_index(status)];
	double seconds = (double)duration_us / (double)US_PER_SECOND;
	size_t bucket = 0;

	while (bucket < BUCKETS && seconds > buckets[bucket])
		bucket++;
	count(&histogram->bucket[bucket], 1);
	count(&histogram->sum_us, duration_us > 0 ? (uint64_t)duration_us : 0);
	if (status == 304)
		count(&metrics->not_modified, 1);
}

void metrics_in_flight(struct metrics *metrics, int change)
{
	atomic_fetch_add_explicit(&metrics->in_flight, change, memory_order_relaxed);
}

void metrics_waiting(struct metrics *metrics, int change)
{
	atomic_fetch_add_explicit(&metrics->waiting, change, memory_order_relaxed);
}

void metrics_connections(struct metrics *metrics, int change)
{
	atomic_fetch_add_explicit(&metrics->connections, change, memory_order_relaxed);
}

void metrics_rejected(struct metrics *metrics, enum metrics_rejection reason)
{
	count(&metrics->rejected[reason], 1);
}

void metrics_forwarded_ignored(struct metrics *metrics, int fault)
{
	count(&metrics->forwarded_ignored[fault], 1);
}

void metrics_set_snapshot(struct metrics *metrics, const struct metrics_snapshot *snapshot)
{
	pthread_mutex_lock(metrics->lock);
	metrics->snapshot = *snapshot;
	pthread_mutex_unlock(metrics->lock);
}

void metrics_ingest_run(struct metrics *metrics, size_t provider, const struct metrics_ingest *run)
{
	struct provider_metrics *own;

	if (provider >= metrics->providers)
		return;
	own = &metrics->ingest[provider];
	for (size_t i = 0; i < RESULTS; i++) {
		if (strcmp(results[i], run->result) == 0)
			count(&own->runs[i], 1);
	}
	atomic_store(&own->last_attempt_us, run->finished_us);
	atomic_store(&own->duration_us, run->duration_us);
	count(&own->bytes, run->bytes > 0 ? (uint64_t)run->bytes : 0);
	if (strcmp(run->result, "ok") != 0)
		return;
	atomic_store(&own->last_success_us, run->finished_us);
	atomic_store(&own->seen, run->rows_seen);
	atomic_store(&own->accepted, run->rows_accepted);
	atomic_store(&own->rejected, run->rows_rejected);
	atomic_store(&own->unmapped, run->rows_unmapped);
	count(&own->changes, run->changes > 0 ? (uint64_t)run->changes : 0);
}

/* --- rendering --- */

static void head(struct writer *writer, const char *name, const char *type, const char *help)
{
	writer_format(writer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void render_histogram(struct writer *writer, const struct histogram *histogram,
			     const char *labels)
{
	uint64_t total = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		total += value(&histogram->bucket[i]);
		writer_format(writer,
			      "gpupick_http_request_duration_seconds_bucket{%s,le=\"%g\"} %llu\n",
			      labels, buckets[i], (unsigned long long)total);
	}
	total += value(&histogram->bucket[BUCKETS]);
	writer_format(writer,
		      "gpupick_http_request_duration_seconds_bucket{%s,le=\"+Inf\"} %llu\n"
		      "gpupick_http_request_duration_seconds_sum{%s} %.6f\n"
		      "gpupick_http_request_duration_seconds_count{%s} %llu\n",
		      labels, (unsigned long long)total, labels,
		      (double)value(&histogram->sum_us) / (double)US_PER_SECOND, labels,
		      (unsigned long long)total);
}

static bool is_used(const struct histogram *histogram)
{
	for (size_t i = 0; i <= BUCKETS; i++) {
		if (value(&histogram->bucket[i]))
			return true;
	}
	return false;
}

static void render_requests(const struct metrics *metrics, struct writer *writer)
{
	head(writer, "gpupick_http_request_duration_seconds", "histogram",
	     "From the request line to the queued answer.");
	for (size_t row = 0; row <= metrics->routes; row++) {
		const struct route *route = row ? &routes[row - 1] : NULL;

		for (size_t code = 0; code < CODES; code++) {
			const struct histogram *histogram = &metrics->requests[row * CODES + code];
			char labels[160];

			if (!is_used(histogram))
				continue;
			snprintf(labels, sizeof(labels), "route=\"%s\",method=\"%s\",code=\"%u\"",
				 route ? route->operation : "none", route ? route->method : "none",
				 codes[code]);
			render_histogram(writer, histogram, labels);
		}
	}
}

static void render_gauge(struct writer *writer, const char *name, const char *help, double number)
{
	head(writer, name, "gauge", help);
	writer_format(writer, "%s %.17g\n", name, number);
}

static double seconds(int64_t us)
{
	return (double)us / (double)US_PER_SECOND;
}

static void render_http(const struct metrics *metrics, struct writer *writer)
{
	render_requests(metrics, writer);
	render_gauge(writer, "gpupick_http_requests_in_flight", "Requests under way.",
		     (double)atomic_load(&metrics->in_flight));
	render_gauge(writer, "gpupick_http_requests_waiting", "Of those, for the database.",
		     (double)atomic_load(&metrics->waiting));
	render_gauge(writer, "gpupick_http_connections", "Open client connections.",
		     (double)atomic_load(&metrics->connections));
	head(writer, "gpupick_http_rejected_total", "counter",
	     "Requests and connections turned away before any handler.");
	for (size_t i = 0; i < METRICS_REJECTIONS; i++)
		writer_format(writer, "gpupick_http_rejected_total{reason=\"%s\"} %llu\n",
			      rejections[i], (unsigned long long)value(&metrics->rejected[i]));
	head(writer, "gpupick_http_forwarded_ignored_total", "counter",
	     "Requests whose Forwarded or X-Forwarded fields were not believed.");
	for (size_t i = 0; i < FORWARDED_FAULTS; i++)
		writer_format(writer, "gpupick_http_forwarded_ignored_total{reason=\"%s\"} %llu\n",
			      forwarded_faults[i],
			      (unsigned long long)value(&metrics->forwarded_ignored[i]));
	head(writer, "gpupick_http_not_modified_total", "counter", "Answers that were a 304.");
	writer_format(writer, "gpupick_http_not_modified_total %llu\n",
		      (unsigned long long)value(&metrics->not_modified));
}

static void render_snapshot(const struct metrics *metrics, struct writer *writer)
{
	struct metrics_snapshot snapshot;

	pthread_mutex_lock(metrics->lock);
	snapshot = metrics->snapshot;
	pthread_mutex_unlock(metrics->lock);
	render_gauge(writer, "gpupick_snapshot_version", "Version of the prices in memory.",
		     (double)snapshot.version);
	render_gauge(writer, "gpupick_snapshot_timestamp_seconds",
		     "When the database committed that version.", seconds(snapshot.as_of_us));
	render_gauge(writer, "gpupick_snapshot_built_timestamp_seconds",
		     "When this replica learned of it.", seconds(snapshot.built_at_us));
	render_gauge(writer, "gpupick_snapshot_rows", "Offers on sale.", (double)snapshot.offers);
	render_gauge(writer, "gpupick_snapshot_unmapped_rows",
		     "Offers whose accelerator no rule knew.", (double)snapshot.unmapped_offers);
	render_gauge(writer, "gpupick_snapshot_unpriced_rows", "Offers without a known price.",
		     (double)snapshot.unpriced_offers);
	render_gauge(writer, "gpupick_database_up", "1 when the database answered last.",
		     snapshot.database_is_up ? 1 : 0);
}

static void render_provider_times(const struct metrics *metrics, struct writer *writer)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} times[] = {
		{"gpupick_ingest_last_attempt_timestamp_seconds", "When the feed was last tried.",
		 offsetof(struct provider_metrics, last_attempt_us)},
		{"gpupick_ingest_last_success_timestamp_seconds", "When it was last stored.",
		 offsetof(struct provider_metrics, last_success_us)},
		{"gpupick_ingest_last_duration_seconds", "How long the last try took.",
		 offsetof(struct provider_metrics, duration_us)},
	};

	for (size_t t = 0; t < sizeof(times) / sizeof(*times); t++) {
		head(writer, times[t].name, "gauge", times[t].help);
		for (size_t i = 0; i < metrics->providers; i++) {
			const void *at = (const char *)&metrics->ingest[i] + times[t].offset;
			int64_t us = atomic_load((const _Atomic int64_t *)at);

			if (us) /* never: no sample rather than 1970 */
				writer_format(writer, "%s{provider=\"%s\",source=\"%s\"} %.6f\n",
					      times[t].name, providers[i]->id, providers[i]->source,
					      seconds(us));
		}
	}
}

static void render_provider_rows(const struct metrics *metrics, struct writer *writer)
{
	head(writer, "gpupick_ingest_rows", "gauge", "Rows of the last stored refresh.");
	for (size_t i = 0; i < metrics->providers; i++) {
		const struct provider_metrics *own = &metrics->ingest[i];
		const char *id = providers[i]->id, *source = providers[i]->source;

		if (!atomic_load(&own->last_success_us))
			continue;
		writer_format(
			writer,
			"gpupick_ingest_rows{provider=\"%s\",source=\"%s\",state=\"seen\"} %lld\n"
			"gpupick_ingest_rows{provider=\"%s\",source=\"%s\",state=\"accepted\"} "
			"%lld\n"
			"gpupick_ingest_rows{provider=\"%s\",source=\"%s\",state=\"rejected\"} "
			"%lld\n",
			id, source, (long long)atomic_load(&own->seen), id, source,
			(long long)atomic_load(&own->accepted), id, source,
			(long long)atomic_load(&own->rejected));
	}
	head(writer, "gpupick_ingest_unmapped_gpu_names", "gauge",
	     "Rows of the last stored refresh whose accelerator no rule knew.");
	for (size_t i = 0; i < metrics->providers; i++) {
		if (atomic_load(&metrics->ingest[i].last_success_us))
			writer_format(writer,
				      "gpupick_ingest_unmapped_gpu_names{provider=\"%s\",source=\"%"
				      "s\"} %lld\n",
				      providers[i]->id, providers[i]->source,
				      (long long)atomic_load(&metrics->ingest[i].unmapped));
	}
}

static void render_ingest(const struct metrics *metrics, struct writer *writer)
{
	head(writer, "gpupick_ingest_runs_total", "counter", "Refreshes by their result.");
	for (size_t i = 0; i < metrics->providers; i++) {
		for (size_t r = 0; r < RESULTS; r++) {
			uint64_t runs = value(&metrics->ingest[i].runs[r]);

			if (runs)
				writer_format(writer,
					      "gpupick_ingest_runs_total{provider=\"%s\",source=\"%"
					      "s\",result="
					      "\"%s\"} %llu\n",
					      providers[i]->id, providers[i]->source, results[r],
					      (unsigned long long)runs);
		}
	}
	head(writer, "gpupick_ingest_response_bytes_total", "counter",
	     "Bytes of the providers' answers, decoded.");
	for (size_t i = 0; i < metrics->providers; i++)
		writer_format(
			writer,
			"gpupick_ingest_response_bytes_total{provider=\"%s\",source=\"%s\"} %llu\n",
			providers[i]->id, providers[i]->source,
			(unsigned long long)value(&metrics->ingest[i].bytes));
	head(writer, "gpupick_ingest_changes_total", "counter", "Offers that a refresh changed.");
	for (size_t i = 0; i < metrics->providers; i++)
		writer_format(writer,
			      "gpupick_ingest_changes_total{provider=\"%s\",source=\"%s\"} %llu\n",
			      providers[i]->id, providers[i]->source,
			      (unsigned long long)value(&metrics->ingest[i].changes));
	render_provider_times(metrics, writer);
	render_provider_rows(metrics, writer);
}

static int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int open = -3; /* ".", ".." and the directory itself */

	if (!directory)
		return 0;
	while (readdir(directory))
		open++;
	closedir(directory);
	return open;
}

static long resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long size = 0, resident = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	fclose(file);
	return resident;
}

static void render_process(const struct metrics *metrics, struct writer *writer)
{
	struct rusage usage = {0};
	struct rlimit files = {0};

	getrusage(RUSAGE_SELF, &usage);
	getrlimit(RLIMIT_NOFILE, &files);
	head(writer, "gpupick_build_info", "gauge", "The version that runs.");
	writer_format(writer, "gpupick_build_info{version=\"%s\"} 1\n", GPUPICK_VERSION);
	head(writer, "process_cpu_seconds_total", "counter", "User and system time.");
	writer_format(writer, "process_cpu_seconds_total %.6f\n",
		      (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			      seconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
	render_gauge(writer, "process_start_time_seconds", "When the process started.",
		     seconds(metrics->started_us));
	render_gauge(writer, "process_resident_memory_bytes", "Resident memory.",
		     (double)resident_pages() * (double)sysconf(_SC_PAGESIZE));
	render_gauge(writer, "process_open_fds", "Open descriptors.", open_descriptors());
	render_gauge(writer, "process_max_fds", "Most descriptors.", (double)files.rlim_cur);
}

void metrics_render(const struct metrics *metrics, struct writer *writer)
{
	render_http(metrics, writer);
	render_snapshot(metrics, writer);
	render_ingest(metrics, writer);
	render_process(metrics, writer);
}
